//===- Dependences.h - what a map computes how often ------------*- C++ -*-===//
//
//   frag.map (%s, %m) at (%row, %col) {
//     %a = mulf %m, %m          Row: once a row of the thread
//     %k = addi %k0, %col       Col: once a column
//     %d = subi %k, %row        Row | Col: each element
//     %y = addf %s, %a          Element | Row
//     %u = addi %k0, %k0        Uniform: once
//   }
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_DIALECT_FRAG_IR_DEPENDENCES_H
#define ATTN_DIALECT_FRAG_IR_DEPENDENCES_H

#include "attn/Dialect/Frag/IR/Frag.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace attn::frag {

/// Bits; 0 for what all elements share.
enum Dependence : unsigned { Uniform = 0, Row = 1, Col = 2, Element = 4 };

class Dependences {
public:
  explicit Dependences(MapOp map);
  /// Of a region whose arguments depend on these.
  Dependences(mlir::Block &body, llvm::ArrayRef<unsigned> ofArguments);
  unsigned of(mlir::Value value) const { return bits.lookup(value); }
  /// Of its results: what its operands depend on, nested regions included; other
  /// elements of a row are an element's.
  unsigned of(mlir::Operation *op) const;
  /// One value for all columns of a row.
  bool isOfRow(mlir::Value value) const {
    return !(of(value) & (Col | Element));
  }

  /// base + slope * float(column) with a slope and a base of the row: the value at
  /// a thread's first column plus slope times a constant.  Null if it is none.
  mlir::math::FmaOp asRamp(mlir::Operation *op) const;
  /// float(column) that ramps alone need: nothing computes it for each element.
  bool isRampPosition(mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::Value, unsigned> bits;
  mlir::Value column; ///< null without a tile
};

} // namespace attn::frag

#endif // ATTN_DIALECT_FRAG_IR_DEPENDENCES_H
