//===- PassOrder.h - what a pass finds gone -------------------- -*- C++ -*-===//
//
// A pass of the kernels takes some ops away for good:
//
//   attn-tile             attn.attention
//   attn-expand-softmax   whatever has a value of state type
//   attn-expand-segments  attn.segments
//
// and a lowering relies on that.  It says so in one line, and a kernel that has not been
// through such a pass is an error at the op that is left:
//
//   requirePasses(kernel, "attn-to-cpu", {"attn-tile", "attn-expand-softmax"})
//   error: 'attn.state_init' op is in the way of attn-to-cpu: run attn-expand-softmax first
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_ANALYSIS_PASSORDER_H
#define ATTN_ANALYSIS_PASSORDER_H

#include "mlir/IR/Operation.h"

namespace attn {

/// Fails with a diagnostic if an op under `root` is one that a pass of `before` takes
/// away; `pass` is the one that asks.
mlir::LogicalResult requirePasses(mlir::Operation *root, llvm::StringRef pass,
                                  llvm::ArrayRef<llvm::StringRef> before);

} // namespace attn

#endif // ATTN_ANALYSIS_PASSORDER_H
