//===- Unroller.h - copies of a region for elements -------------*- C++ -*-===//
//
// An op that depends on the row alone is cloned once a row of the thread, one
// that depends on the column alone once a column, a uniform one once: the
// unrolled code is what is left.  It keeps compile time in bounds; LLVM would
// find the same.  Only base + slope * float(column) it would not: that is the value
// at the thread's first column plus slope times a constant.
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

/// Copies of a region's ops by what they depend on.
class Unroller {
public:
  Unroller(mlir::ConversionPatternRewriter &rewriter, mlir::Block &body,
           Dependences depends, unsigned rows, unsigned cols)
      : rewriter(rewriter), body(body), depends(std::move(depends)), rows(rows),
        cols(cols) {}

  void setRow(mlir::Value arg, llvm::ArrayRef<mlir::Value> values);
  void setCol(mlir::Value arg, llvm::ArrayRef<mlir::Value> values);
  /// Columns are `first` and these constants behind it.
  void setCol(mlir::Value arg, mlir::Value first,
              llvm::ArrayRef<int64_t> offsets);

  /// Everything that does not depend on an element.
  void emitShared();

  /// A uniform f32 operand of the first op that depends on the element; null if
  /// it has none.
  mlir::Value firstFactor() const;
  mlir::Value ofUniform(mlir::Value value) const {
    return uniform.lookupOrDefault(value);
  }

  /// The rest for one element, whose tile arguments `element` maps; the
  /// yielded values.  `onFma`: where exp2 is computed.
  llvm::SmallVector<mlir::Value> emitElement(mlir::IRMapping &element,
                                             unsigned rowSlot, unsigned colSlot,
                                             bool onFma, ReadElement read = {});

private:
  using Outer = llvm::ArrayRef<mlir::IRMapping *>;

  void startRamp(mlir::math::FmaOp ramp);
  mlir::Value rampAt(mlir::math::FmaOp ramp, unsigned rowSlot,
                     unsigned colSlot);
  void clone(mlir::Operation *op, mlir::IRMapping &map, Outer outer);

  mlir::ConversionPatternRewriter &rewriter;
  mlir::Block &body;
  Dependences depends;
  bool exp2OnFma = false;
  ReadElement readElement;
  mlir::IRMapping uniform;
  llvm::SmallVector<mlir::IRMapping> rows, cols;
  mlir::Value firstColumn;
  llvm::SmallVector<int64_t> columnOffsets;
  /// Slope and value at the first column, once a row or once.
  llvm::DenseMap<mlir::Operation *,
                 llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>>
      ramps;
};

} // namespace attn::frag

#endif // ATTN_LIB_CONVERSION_FRAGTONVVM_UNROLLER_H
