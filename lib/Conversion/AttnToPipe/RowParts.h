//===- RowParts.h - a share of the rows of an item --------------*- C++ -*-===//
//
// An item of 128 rows is computed by two replicas of 64, or merged in four turns
// of 32: the same text on smaller tiles.
//
//   attn.rows<128>, tile<128x64xf32>, rowvec<128xf32>      of 2 parts
//     -> slice_rows, tile<64x64xf32>, rowvec<64xf32>
//
// Invariant: what a channel holds keeps its shape; it is sliced where it is read.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_ATTNTOPIPE_ROWPARTS_H
#define ATTN_LIB_CONVERSION_ATTNTOPIPE_ROWPARTS_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/Builders.h"

namespace attn {

struct RowParts {
  int32_t rows; ///< of the item
  int32_t parts;

  /// The type of a part; a type without the item's rows stays.
  mlir::Type of(mlir::Type type) const;
  /// Gives the op and what is in it the types of a part.
  void retype(mlir::Operation *top) const;
  /// Rows of part `rank`.
  SliceRowsOp slice(mlir::OpBuilder &b, mlir::Location loc, RowMapOp rows,
                    mlir::Value rank) const;
};

} // namespace attn

#endif // ATTN_LIB_CONVERSION_ATTNTOPIPE_ROWPARTS_H
