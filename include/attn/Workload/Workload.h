//===- Workload.h - a batch of random inputs and its check ------*- C++ -*-===//
//
// What attn-run and the level verifier share: from a kernel's description and a
// list of lengths make tensors, parameters and tables at random, and compare
// results with the oracle.
//
//   Workload w;
//   Workload::make(kernel, batch, options, w, error);
//   ... run something on w.q, w.k, w.v into w.o, w.lse ...
//   Verdict v = w.check();
//
// Every buffer lies between two canaries.  Memory that a kernel may not use
// (gaps between ragged requests, rows past a dense request's length, stride
// padding) holds NaN, and outputs are poisoned, so that a read outside a
// request shows in the result and a write outside it shows in the check.
//
// Invariant: the same description, lengths, options and seed give the same
// bytes.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_WORKLOAD_WORKLOAD_H
#define ATTN_WORKLOAD_WORKLOAD_H

#include "attn/Oracle/Attention.h"
#include "attn/Oracle/Compare.h"
#include "attn/Workload/Inputs.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn::workload {

using oracle::Element;

/// Tokens of each request.
struct Batch {
  std::vector<int32_t> qLens, kvLens;
  int32_t size() const { return int32_t(qLens.size()); }
  /// Lengths of the request with most pairs of query and key, which a specialisation
  /// is chosen for; 0, 0 without one.
  std::pair<int32_t, int32_t> largest() const;
};

/// `q=5,1;kv=7,300`, or `q=;kv=` for an empty batch; `q=5,1` alone has as many keys
/// as queries.  A repeated length is written `4096x8`, a range with its ends
/// `0..600`, or `0..600:7` in steps of 7.
bool parseBatch(const std::string &text, Batch &batch, std::string &error);

struct ParamDesc {
  std::string name;
  attn_scalar type = ATTN_I32;
  bool hasDefault = false;
  uint32_t defaultBits = 0, sampleLo = 0,
           sampleHi = 0; ///< patterns of the type
};

struct TableDesc {
  std::string name;
  attn_scalar element = ATTN_I32;
  std::vector<attn_index_space> index; ///< outermost first
  uint32_t sampleLo = 0, sampleHi = 0;
  bool sorted = false;
};

struct KernelDesc {
  std::string name;
  int32_t heads = 1, kvHeads = 1, dim = 0, dimV = 0;
  bool ragged = true;
  bool softmax = true;
  float defaultScale = 1.0f;
  std::vector<ParamDesc> params;
  std::vector<TableDesc> tables;
  std::vector<std::vector<uint8_t>> hooks; ///< HookExpr.h, one of a kind
};

struct Options {
  uint64_t seed = 1;
  Element element = Element::F32;
  Element output = Element::F32;
  /// Elements added to each token stride of q, k, v.
  int32_t tokenPad = 8;
  /// Draw parameters from their sample range; else take defaults.
  bool sampleParams = true;
  /// Values that win over both; bit patterns of the declared type.
  std::map<std::string, uint32_t> params;
  /// Lengths, parameters and tables alone, no tensors: what a plan needs.  Of any
  /// size that is counted in 32 bits.
  bool noTensors = false;
  /// No NaN outside the requests and no padding: what a benchmark wants.
  bool plain = false;
  InputKind inputs = InputKind::Random;
  /// Rows a request and head that a check compares, spread over the request; 0:
  /// all; -1: all of a batch with at most 2^20 (q, k) pairs, else 256.
  int32_t checkRows = -1;
  /// Not negative: keys and values more than so many tokens from all that a row
  /// sees are NaN.  0 is right for code that masks values, a block's keys for
  /// code that does not visit what nobody sees.
  int32_t unseenMargin = -1;
};

/// Bytes between two canaries.
class Buffer {
public:
  static constexpr size_t canaryBytes = 256;

  void allocate(size_t bytes, uint8_t fill);
  char *data() { return storage.data() + canaryBytes; }
  const char *data() const { return storage.data() + canaryBytes; }
  size_t size() const { return storage.size() - 2 * canaryBytes; }
  /// With the canaries: what is copied to and from a device.
  char *whole() { return storage.data(); }
  size_t wholeSize() const { return storage.size(); }
  bool canariesIntact() const;

private:
  std::vector<char> storage = std::vector<char>(2 * canaryBytes);
};

struct Tensor {
  Buffer buffer;
  attn_strides strides{};
  int64_t elements = 0;
};

struct BoundTable {
  TableDesc desc;
  Buffer buffer;
  uint32_t extent[ATTN_TABLE_MAX_RANK] = {1, 1, 1};
};

/// What a check found; `message` is empty if ok.
struct Verdict {
  bool ok = false;
  bool sampled = false; ///< only random rows were compared
  int64_t rows = 0;
  oracle::Comparison comparison;
  std::string message;
};

class Workload {
public:
  static bool make(const KernelDesc &kernel, const Batch &batch,
                   const Options &options, Workload &out, std::string &error);

  /// Fills o and lse with a pattern that no result has.
  void poisonOutputs();
  /// Compares o and lse with the oracle, and looks for writes outside the
  /// requests' rows and into the canaries.  Which rows: see Options::checkRows.
  /// The inputs must not change between two checks.
  Verdict check();
  /// The oracle's problem; it refers to this object.
  const oracle::Problem &problem() const { return oracleProblem; }
  /// (q, k) pairs that the mask shows, summed over heads: the work of a run.
  /// Counted exactly for small batches, by sampled rows otherwise.
  double visiblePairs() const;

  KernelDesc kernel;
  Batch batch;
  Options options;
  std::vector<int32_t> qIndptr, kvIndptr; ///< ragged; gaps between requests
  std::vector<attn_request_record> requests;
  Tensor q, k, v, o, lse;
  std::vector<uint32_t> paramBits;
  std::vector<BoundTable> tables;
  float scale = 1.0f;

private:
  void layOut(const Batch &batch);
  void makeTensors();
  void fillInput(Tensor &tensor, bool query, int32_t heads, int32_t dim,
                 uint64_t stream);
  /// Turns random inputs into those of options.inputs.
  void shapeInputs();
  /// fn(request, row, rows of the request, element of the row's column 0).
  template <class Fn>
  void eachRow(const Tensor &tensor, bool query, int32_t heads, const Fn &fn);
  /// Column 0 of q or k; `value` takes request, row and rows of the request.
  void setColumn(Tensor &tensor, bool query,
                 const std::function<float(int32_t, int32_t, int32_t)> &value);
  /// The middle row of each request of q or k times a factor.
  void scaleMiddle(Tensor &tensor, bool query, float factor);
  void fillTables(uint64_t stream);
  void poisonUnseen();
  bool bindHooks(std::string &error);
  void gather(const oracle::Reference &ref, std::vector<float> &rows,
              std::vector<float> &lses) const;
  std::string strayWrite() const;

  std::vector<mask::HookProgram> hooks;
  std::vector<mask::TableData> tableData;
  oracle::Problem oracleProblem;
  std::optional<oracle::Reference> reference; ///< made by the first check
};

} // namespace attn::workload

#endif // ATTN_WORKLOAD_WORKLOAD_H
