//===- ClosedForm.h - masks that are bounds on k ----------------*- C++ -*-===//
//
// Recognises masks that are a conjunction of half-lines in k, so that block
// bounds need integer arithmetic only:
//
//   q - k >= 0 and q - k < window   ->   k <= q,   k >= q - window + 1
//
// Invariant: where no sum of the mask leaves i32 (fitsI32), the mask is true
// exactly if all bounds hold, evaluated in 64 bits.  Upper bounds and lower
// bounds do not decrease with q.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_MASK_CLOSEDFORM_H
#define ATTN_MASK_CLOSEDFORM_H

#include "attn/Mask/HookProgram.h"

#include <vector>

namespace attn::mask {

struct ParamTerm {
  unsigned index;
  int64_t coeff;
};

/// k <= (isUpper) or k >= qCoeff * q + constant + sum of coeff * parameter +
/// qLenCoeff * q_len + kvLenCoeff * kv_len.
struct Bound {
  bool isUpper = true;
  int qCoeff = 0; // 0 or 1
  int64_t constant = 0;
  std::vector<ParamTerm> params; // ascending index, coeff != 0
  int64_t qLenCoeff = 0;
  int64_t kvLenCoeff = 0;
};

/// An intermediate sum of the mask; k and q may have any coefficient.
struct LinearSum {
  int64_t q = 0, k = 0, qLen = 0, kvLen = 0, constant = 0;
  std::vector<ParamTerm> params; // ascending index, coeff != 0
};

struct ClosedForm {
  std::vector<Bound> bounds;   // empty: every key is visible
  std::vector<LinearSum> sums; // must stay in i32, see fitsI32
};

/// False if the mask is not of this form; `out` is then empty.
bool closedForm(const HookProgram &mask, ClosedForm &out);

/// The bound's right-hand side.
int64_t evaluate(const Bound &bound, int32_t q, const uint32_t *params,
                 int32_t qLen, int32_t kvLen);

/// True if no intermediate sum leaves i32 for positions of a request with these
/// lengths (q from min(0, kvLen - qLen), k from 0, both below kvLen).
bool fitsI32(const ClosedForm &form, const uint32_t *params, int32_t qLen,
             int32_t kvLen);

/// True if no intermediate sum leaves i32 at any lengths and parameters: each is
/// a position or the difference of two.
bool alwaysFitsI32(const ClosedForm &form);

} // namespace attn::mask

#endif // ATTN_MASK_CLOSEDFORM_H
