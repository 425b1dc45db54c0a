//===- InlineHook.h - clone a hook's body at a builder ----------*- C++ -*-===//
//
// Used where hooks become code: CPU lowering (scalars and vectors), L2 -> L3
// (scalars).  Arguments may be scalars or vectors of one shape; operations are
// cloned with the types that follow, and a scalar meets a vector by broadcast:
//
//   args (%b: i32, %h: i32, %q: i32, %k: vector<8xi32>)
//     %r = arith.cmpi sge, %q, %k : i32     ->  %0 = vector.broadcast %q
//                                               %1 = arith.cmpi sge, %0, %k
//
// Invariant: the code computes what the encoded form (attn/ABI/HookExpr.h)
// means where arith leaves it undefined: a zero divisor gives 0, shift counts
// are taken modulo 32, fptosi saturates.  A uniform result stays a scalar.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_ANALYSIS_INLINEHOOK_H
#define ATTN_ANALYSIS_INLINEHOOK_H

#include "attn/Dialect/Attn/IR/Attn.h"

#include <functional>

namespace attn {

/// What the place of inlining puts for the reads of a hook.  Each returns a
/// scalar or a vector of the arguments' shape.  An empty function, or failure,
/// refuses the hook; on failure the function has reported why.
struct HookReads {
  /// The parameter by name.
  std::function<mlir::FailureOr<mlir::Value>(ParamOp)> param;
  /// A table element; the indices are inlined values, not yet clamped.
  std::function<mlir::FailureOr<mlir::Value>(ReadOp, mlir::ValueRange indices)>
      read;
  /// q_len, or kv_len if isKv().
  std::function<mlir::FailureOr<mlir::Value>(LengthOp)> length;
  /// Element of the hook's vector; the index is not yet clamped.  The first
  /// argument of inlineHook may be null then.
  std::function<mlir::FailureOr<mlir::Value>(ElementOp, mlir::Value index)>
      element;
};

/// Clones `hook` in front of the builder's insertion point and returns the
/// value that it yields.  Reports errors at the operation of the hook.
mlir::FailureOr<mlir::Value> inlineHook(mlir::OpBuilder &builder, HookOp hook,
                                        mlir::ValueRange args,
                                        const HookReads &reads);

/// Vectors that a hook makes have the element type of their tensor: what the
/// elements of `tile`, before a query, key or value hook, are rounded to behind it.
/// f32 for a tile that no tensor was loaded into, as that of an output hook.
mlir::Type elementBehindHook(mlir::Value tile);

} // namespace attn

#endif // ATTN_ANALYSIS_INLINEHOOK_H
