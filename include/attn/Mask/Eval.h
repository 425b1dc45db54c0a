//===- Eval.h - scalar evaluation of hooks ----------------------*- C++ -*-===//
//
// Runs a checked program at one point.  The float type is a template argument:
// double for the oracle, float where the compiled code is to be matched.
//
//   causal mask, q = 3, k = 4:  push 3, push 4, ge  ->  false
//
// Invariant: no read outside the bound data, whatever the arguments: table and
// vector indices are clamped, an empty or missing table reads as 0.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_MASK_EVAL_H
#define ATTN_MASK_EVAL_H

#include "attn/Mask/HookProgram.h"

namespace attn::mask {

/// Arguments of one evaluation.  For vector hooks `q` is the position of the
/// row, `i` the element, `x` the vector.
template <class Float> struct Env {
  Float s = 0;
  int32_t b = 0, h = 0, q = 0, k = 0, qLen = 0, kvLen = 0, i = 0;
  Bindings bindings;
  const Float *x = nullptr;
  int64_t xSize = 0;
};

/// Result of a mask; false for other kinds of hook.
template <class Float>
bool evalMask(const HookProgram &program, const Env<Float> &env);

/// Result of every other kind; 0 for masks.
template <class Float>
Float evalFloat(const HookProgram &program, const Env<Float> &env);

extern template bool evalMask(const HookProgram &, const Env<double> &);
extern template bool evalMask(const HookProgram &, const Env<float> &);
extern template double evalFloat(const HookProgram &, const Env<double> &);
extern template float evalFloat(const HookProgram &, const Env<float> &);

/// The integer operations of HookExpr.h: wrapping, zero divisors give 0.
int32_t evalIntOp(attn_hook_op op, int32_t a, int32_t b);
bool evalIntCmp(attn_hook_predicate p, int64_t a, int64_t b);

} // namespace attn::mask

#endif // ATTN_MASK_EVAL_H
