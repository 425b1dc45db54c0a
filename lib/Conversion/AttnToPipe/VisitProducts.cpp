//===- VisitProducts.cpp - the two products of a visit --------------------===//
//
// See VisitProducts.h.  PV leads to all the rest: its future to the join, its
// tile to the wait, that one's slot to the release.
//
//===----------------------------------------------------------------------===//

#include "VisitProducts.h"

using namespace mlir;
using namespace attn;

static pipe::ReleaseOp releaseOf(pipe::WaitOp wait) {
  for (Operation *user : wait.getSlot().getUsers())
    if (auto release = dyn_cast<pipe::ReleaseOp>(user))
      return release;
  return {};
}

FailureOr<VisitProducts> attn::findProducts(VisitLoop loop, StringRef who) {
  VisitProducts found;
  for (pipe::IssueOp issue : loop.loop.getBody()->getOps<pipe::IssueOp>())
    for (Operation &op : issue.getBody().front()) {
      if (auto qk = dyn_cast<QKOp>(op)) {
        found.qk = issue;
        found.key = qk.getKey().getDefiningOp<pipe::WaitOp>();
      }
      if (isa<PVOp>(op))
        found.issue = issue;
    }
  if (found.issue) {
    for (Operation *user : found.issue.getFuture().getUsers())
      found.join = dyn_cast<pipe::JoinOp>(user);
    found.wait = found.pv().getValue().getDefiningOp<pipe::WaitOp>();
  }
  if (found.key)
    found.keyRelease = releaseOf(found.key);
  if (found.wait) {
    found.rewrite = dyn_cast_or_null<RewriteKVOp>(rewriteOf(found.wait));
    found.release = releaseOf(found.wait);
  }
  if (!found.keyRelease || !found.join || !found.release)
    return loop.loop.emitError()
           << who << " needs products of an agent on tiles from channels";
  return found;
}
