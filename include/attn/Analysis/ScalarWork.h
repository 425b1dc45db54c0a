//===- ScalarWork.h - instructions of a scalar op on a GPU ------*- C++ -*-===//
//
//   math.tanh   9 fma, 1 mufu         arith.divf by a uniform value   1 fma
//   math.exp    1 fma, 1 mufu         arith.select                    1 alu
//
// What lib/Conversion/FragToNVVM/Math.cpp makes of arith and math.  The schedule
// is chosen and the simulator counts clocks by the same numbers.
//
// Invariant: negation, absolute value, constants and other names of the same
// bits cost nothing: they are modifiers of an operand.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_ANALYSIS_SCALARWORK_H
#define ATTN_ANALYSIS_SCALARWORK_H

#include "mlir/IR/Operation.h"

namespace attn {

/// Instructions by the unit that takes them.
struct ScalarWork {
  unsigned fma = 0;     ///< f32 add, multiply, fma; integer multiply
  unsigned mufu = 0;    ///< exp2, log2, reciprocal, square root, sine
  unsigned alu = 0;     ///< integers, compare, select, minimum
  unsigned convert = 0; ///< between types
  unsigned total() const { return fma + mufu + alu + convert; }
};

/// Of one op of arith or math over single values; others count as one
/// instruction of the integer unit.  A division by what is `uniform` over the
/// elements is a multiplication.
ScalarWork scalarWorkOf(mlir::Operation *op,
                        llvm::function_ref<bool(mlir::Value)> uniform);

} // namespace attn

#endif // ATTN_ANALYSIS_SCALARWORK_H
