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

namespace attn::frag {

/// Bits; 0 for what all elements share.
enum Dependence : unsigned { Uniform = 0, Row = 1, Col = 2, Element = 4 };

class Dependences {
public:
  explicit Dependences(MapOp map);
  unsigned of(mlir::Value value) const { return bits.lookup(value); }
  /// Of its results: what its operands depend on, nested regions included.
  unsigned of(mlir::Operation *op) const;
  /// One value for all columns of a row.
  bool isOfRow(mlir::Value value) const {
    return !(of(value) & (Col | Element));
  }

private:
  llvm::DenseMap<mlir::Value, unsigned> bits;
};

} // namespace attn::frag

#endif // ATTN_DIALECT_FRAG_IR_DEPENDENCES_H
