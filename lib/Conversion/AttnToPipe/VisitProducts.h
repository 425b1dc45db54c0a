//===- VisitProducts.h - the two products of a visit ----------- -*- C++ -*-===//
//
//   %x, %k = wait k                          key
//   %f = issue { qk }                        qk
//   %y, %v = wait v; [rewrite_kv %v]         wait, rewrite
//   %g = issue { pv }                        issue
//   ...; release %k                          keyRelease
//   %o, %d = join %g; release %v done %d     join, release
//
// Invariant: what is found stands in the body of the visit's loop.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_ATTNTOPIPE_VISITPRODUCTS_H
#define ATTN_LIB_CONVERSION_ATTNTOPIPE_VISITPRODUCTS_H

#include "VisitLoop.h"

namespace attn {

/// The first product's issue and its K; of the second all that goes with it, from the
/// wait for V to its release.
struct VisitProducts {
  pipe::WaitOp key;
  pipe::ReleaseOp keyRelease;
  pipe::IssueOp qk, issue;
  pipe::WaitOp wait;
  RewriteKVOp rewrite; ///< of the slot, or null
  pipe::JoinOp join;
  pipe::ReleaseOp release;

  PVOp pv() { return *issue.getBody().front().getOps<PVOp>().begin(); }
  bool isLate(mlir::Operation *op) const {
    return op == wait || op == rewrite || op == issue || op == join ||
           op == release;
  }
};

/// A diagnostic in the name of `who` if a product is not issued, or not on tiles
/// from channels.
mlir::FailureOr<VisitProducts> findProducts(VisitLoop loop,
                                            llvm::StringRef who);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_ATTNTOPIPE_VISITPRODUCTS_H
