//===- Bodies.h - checks of the regions of maps and copies ------*- C++ -*-===//
//
// Regions that are run for each element or row: pure, without regions of their
// own, so that they can be unrolled over registers.
//
//   frag.map ... { %y = arith.mulf %x, %c; frag.yield %y : f32 }
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_DIALECT_FRAG_IR_BODIES_H
#define ATTN_LIB_DIALECT_FRAG_IR_BODIES_H

#include "mlir/IR/Operation.h"

namespace attn::frag {

/// The region of `op` is pure and ends with frag.yield.
mlir::LogicalResult verifyPureBody(mlir::Operation *op, mlir::Block &body);

/// It yields values of these types.
mlir::LogicalResult verifyYield(mlir::Operation *op, mlir::Block &body,
                                mlir::TypeRange types);

} // namespace attn::frag

#endif // ATTN_LIB_DIALECT_FRAG_IR_BODIES_H
