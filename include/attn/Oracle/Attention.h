//===- Attention.h - attention in double precision --------------*- C++ -*-===//
//
// The semantics of attn.attention, row by row, from plain data and the encoded
// hooks: what every other level is compared with.
//
//   scores [1, 3, 2], V [10, 20, 30]  ->  O = 21.547, LSE = 3.4076
//
// Order per (q, k): scale * <query(q), key(k)>, score hook, mask hook.  A pair
// that the mask hides or whose score is -inf never meets K or V in arithmetic.
// Rows without a visible key give O = 0 and LSE = -inf, or LSE = sink.
//
// Invariant: a row depends on its own request's data only, and the result does
// not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_ORACLE_ATTENTION_H
#define ATTN_ORACLE_ATTENTION_H

#include "attn/ABI/KernelParams.h"
#include "attn/ABI/WorkItem.h"
#include "attn/Mask/HookProgram.h"
#include "attn/Oracle/Element.h"

#include <string>
#include <vector>

namespace attn::oracle {

/// Token i, head h of request r lies at element r * strides.batch +
/// (begin + i) * strides.token + h * strides.head of its tensor.
struct Problem {
  std::vector<attn_request_record> requests;
  int32_t heads = 1;
  int32_t kvHeads = 1;
  int32_t dim = 0;  // of q and k
  int32_t dimV = 0; // of v and o
  attn_strides qStrides{}, kStrides{}, vStrides{};
  Element element = Element::F32;
  const void *q = nullptr;
  const void *k = nullptr;
  const void *v = nullptr;
  float scale = 1.0f;
  bool softmax = true; // false: normaliser none

  /// Null: no such hook.
  const mask::HookProgram *score = nullptr;
  const mask::HookProgram *mask = nullptr;
  const mask::HookProgram *sink = nullptr;
  const mask::HookProgram *query = nullptr;
  const mask::HookProgram *key = nullptr;
  const mask::HookProgram *value = nullptr;
  const mask::HookProgram *output = nullptr;
  mask::Bindings bindings;

  void setHook(const mask::HookProgram *program); // by its kind
};

/// Row `row` (0 .. q_len - 1) of a request, query head `head`.
struct RowId {
  int32_t request;
  int32_t row;
  int32_t head;
};

/// One entry a row, in the order of the rows asked for.
struct Reference {
  int32_t dimV = 0;
  std::vector<RowId> rows;
  std::vector<double> o;        // [rows][dimV]
  std::vector<double> lse;      // [rows]; empty for normaliser none
  std::vector<double> maxScore; // max |s| over visible keys, before and after
                                // the score hook, and of the sink logit
  std::vector<uint8_t> empty;   // no visible key and no output hook: O is 0
  double rmsV = 0;              // over the finite elements of all requests' V
  // Half a step of an element of Q or K that a hook made and that was rounded: where
  // its error decides, another way to compute it gives the neighbour.
  double scoreRounding = 0;
};

/// All rows, by request, row, head.
std::vector<RowId> allRows(const Problem &problem);

/// All rows of a (request, head) with at most `perHead` rows, else `perHead`
/// different ones by `seed`, among them the first and the last.
std::vector<RowId> sampleRows(const Problem &problem, int32_t perHead,
                              uint64_t seed);

/// False with a message if the problem is not well formed.  threads = 0: one a
/// core.
bool attention(const Problem &problem, const std::vector<RowId> &rows,
               Reference &out, std::string &error, unsigned threads = 0);

/// (o, lse) becomes the merge of (o, lse) and (o2, lse2); the unit is
/// (0, -inf).
void merge(double *o, double &lse, const double *o2, double lse2, int64_t dim);

/// Adds a sink logit: a state without value.
void mergeSink(double *o, double &lse, double sink, int64_t dim);

} // namespace attn::oracle

#endif // ATTN_ORACLE_ATTENTION_H
