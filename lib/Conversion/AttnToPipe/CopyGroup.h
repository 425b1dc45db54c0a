//===- CopyGroup.h - the copies of one visit ------------------ -*- C++ -*-===//
//
// What a visit copies, and the arithmetic between its block number and the
// copies, so that it can be done for another block in another place.
//
//   %x = arith.muli %j, %c64       slice
//   %k0 = arith.addi %kv0, %x      slice
//   %s = pipe.acquire %k           op
//   %f = pipe.issue tma { .. }     op
//   pipe.commit %s after %f        op
//
// A branch whose arms fill a slot (zero_rows) is one op of a group.
//
// Invariant: a group depends on its visit through the index alone.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_ATTNTOPIPE_COPYGROUP_H
#define ATTN_LIB_CONVERSION_ATTNTOPIPE_COPYGROUP_H

#include "VisitLoop.h"

#include "mlir/IR/IRMapping.h"

namespace attn {

struct CopyGroup {
  llvm::SmallVector<mlir::Operation *> ops;   ///< in order
  llvm::SmallVector<mlir::Operation *> slice; ///< in order
  mlir::Value index;                          ///< number of the visited block
};

/// The ops of `block` that fill slots, of one channel if it is named.
llvm::SmallVector<mlir::Operation *> fillsOf(mlir::Block *block,
                                             llvm::StringRef channel = {});

/// The copies of a visit; a diagnostic if they depend on more than its index.
mlir::FailureOr<CopyGroup> collectCopies(VisitLoop loop,
                                         llvm::StringRef channel = {});

/// Clones the copies for another index.
void cloneCopies(mlir::OpBuilder &b, const CopyGroup &group, mlir::Value index);

/// Drops the copies, and of the slice what nothing else uses.
void eraseCopies(const CopyGroup &group);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_ATTNTOPIPE_COPYGROUP_H
