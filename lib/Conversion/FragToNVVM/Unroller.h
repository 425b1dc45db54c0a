//===- Unroller.h - copies of a region for elements -------------*- C++ -*-===//
//
// An op that depends on the row alone is cloned once a row of the thread, one
// that depends on the column alone once a column, a uniform one once: the
// unrolled code is what is left.  It keeps compile time in bounds; LLVM would
// find the same.
//
//   %u = addi %uniform, 1      once
//   %r = muli %row, %u         once a row
//   %e = mulf %x, %r           once an element
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_FRAGTONVVM_UNROLLER_H
#define ATTN_LIB_CONVERSION_FRAGTONVVM_UNROLLER_H

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

namespace attn::frag {

/// Element of the old row at an index, which is not clamped yet; without an index
/// the one that the new element takes the place of.
using ReadElement = llvm::function_ref<mlir::Value(mlir::Value index)>;

/// What a value in a map's region depends on.
enum Dependence : unsigned { Uniform = 0, Row = 1, Col = 2, Element = 4 };

/// Copies of a region's ops by what they depend on.
class Unroller {
public:
  Unroller(mlir::ConversionPatternRewriter &rewriter, mlir::Block &body,
           unsigned rows, unsigned cols)
      : rewriter(rewriter), body(body), rows(rows), cols(cols) {}

  void setElement(mlir::Value arg) { dependence[arg] = Element; }
  void setRow(mlir::Value arg, llvm::ArrayRef<mlir::Value> values) {
    dependence[arg] = Row;
    for (auto [map, value] : llvm::zip(rows, values))
      map.map(arg, value);
  }
  void setCol(mlir::Value arg, llvm::ArrayRef<mlir::Value> values) {
    dependence[arg] = Col;
    for (auto [map, value] : llvm::zip(cols, values))
      map.map(arg, value);
  }

  /// Everything that does not depend on an element.
  void emitShared() {
    for (mlir::Operation &op : body.without_terminator()) {
      unsigned depends = dependenceOf(&op);
      for (mlir::Value result : op.getResults())
        dependence[result] = depends;
      if (depends == Uniform)
        clone(&op, uniform, {});
      else if (depends == Row)
        for (mlir::IRMapping &row : rows)
          clone(&op, row, {&uniform});
      else if (depends == Col)
        for (mlir::IRMapping &col : cols)
          clone(&op, col, {&uniform});
    }
  }

  /// A uniform f32 operand of the first op that depends on the element; null if
  /// it has none.
  mlir::Value firstFactor() {
    for (mlir::Operation &op : body.without_terminator()) {
      if (!(dependenceOf(&op) & Element))
        continue;
      for (mlir::Value operand : op.getOperands())
        if (operand.getType().isF32() && !dependence.lookup(operand))
          return operand;
      return {};
    }
    return {};
  }
  mlir::Value ofUniform(mlir::Value value) {
    return uniform.lookupOrDefault(value);
  }

  /// The rest for one element, whose tile arguments `element` maps; the
  /// yielded values.  `onFma`: where exp2 is computed.
  llvm::SmallVector<mlir::Value> emitElement(mlir::IRMapping &element,
                                             unsigned rowSlot, unsigned colSlot,
                                             bool onFma,
                                             ReadElement read = {}) {
    readElement = read;
    exp2OnFma = onFma;
    llvm::SmallVector<mlir::IRMapping *> outer = {&uniform, &rows[rowSlot]};
    if (!cols.empty())
      outer.push_back(&cols[colSlot]);
    for (mlir::Operation &op : body.without_terminator()) {
      unsigned depends = dependenceOf(&op);
      if (depends & Element || depends == (Row | Col))
        clone(&op, element, outer);
    }
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value value : body.getTerminator()->getOperands()) {
      adopt(value, element, outer);
      results.push_back(element.lookupOrDefault(value));
    }
    return results;
  }

private:
  unsigned dependenceOf(mlir::Operation *op) {
    unsigned depends = mlir::isa<ElementOp>(op) ? Element : Uniform;
    op->walk([&](mlir::Operation *nested) {
      for (mlir::Value operand : nested->getOperands())
        depends |= dependence.lookup(operand);
    });
    return depends;
  }

  /// Makes `value` known to `map` if an outer map has it.
  static void adopt(mlir::Value value, mlir::IRMapping &map,
                    llvm::ArrayRef<mlir::IRMapping *> outer) {
    if (map.contains(value))
      return;
    for (mlir::IRMapping *other : outer)
      if (mlir::Value found = other->lookupOrNull(value)) {
        map.map(value, found);
        return;
      }
  }

  void clone(mlir::Operation *op, mlir::IRMapping &map,
             llvm::ArrayRef<mlir::IRMapping *> outer) {
    op->walk([&](mlir::Operation *nested) {
      for (mlir::Value operand : nested->getOperands())
        adopt(operand, map, outer);
    });
    if (auto read = mlir::dyn_cast<ElementOp>(op)) {
      bool own = read.getIndex() == body.getArgument(1);
      map.map(read.getResult(),
              readElement(own ? mlir::Value()
                              : map.lookupOrDefault(read.getIndex())));
      return;
    }
    if (auto exp2 = mlir::dyn_cast<mlir::math::Exp2Op>(op)) {
      Emitter e(rewriter, op->getLoc());
      map.map(exp2.getResult(),
              emitExp2(e, map.lookupOrDefault(exp2.getOperand()), exp2OnFma));
      return;
    }
    rewriter.clone(*op, map);
  }

  mlir::ConversionPatternRewriter &rewriter;
  mlir::Block &body;
  bool exp2OnFma = false;
  ReadElement readElement;
  mlir::IRMapping uniform;
  llvm::SmallVector<mlir::IRMapping> rows, cols;
  llvm::DenseMap<mlir::Value, unsigned> dependence;
};

} // namespace attn::frag

#endif // ATTN_LIB_CONVERSION_FRAGTONVVM_UNROLLER_H
