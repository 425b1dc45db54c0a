//===- Skew.cpp - issue the copies of the next visit in this one ----------===//
//
// With `skew = {load_kv = -1}` a visit waits for copies that the visit before
// it started, and starts those of the visit after it before it computes.
//
//   for visits { copy(j); wait; compute }
//   ->
//   copy(first)
//   for visits { wait; if more { copy(next) }; compute }
//
// `more` and `next` go over the borders between loops: descending, the next of
// j is j - 1 while j > b0, whichever loop visits it.
//
// Invariant: copies are started once for every visit and in visiting order, at
// most one visit ahead; with no visit, none is.  No `pipe.visit_index` is left:
// this is the last pass that reads it.
//
//===----------------------------------------------------------------------===//

#include "CopyGroup.h"
#include "attn/Conversion/Passes.h"

namespace attn {
#define GEN_PASS_DEF_PIPESKEW
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static LogicalResult checkDepths(const CopyGroup &group) {
  for (Operation *op : group.ops)
    if (auto acquire = dyn_cast<pipe::AcquireOp>(op)) {
      int32_t depth = acquire.getChannel().getType().getDepth();
      auto channel = acquire.getChannel().getDefiningOp<pipe::ChannelOp>();
      if (depth < 2)
        return op->emitError() << "skew of load_kv needs 2 slots but channel '"
                               << channel.getName() << "' has " << depth;
    }
  return success();
}

static LogicalResult skewChain(VisitChain &chain) {
  SmallVector<CopyGroup> groups;
  for (VisitLoop loop : chain.loops) {
    FailureOr<CopyGroup> group = collectCopies(loop);
    if (failed(group) || failed(checkDepths(*group)))
      return failure();
    groups.push_back(*group);
  }
  if (groups.front().ops.empty())
    return success();

  // Before the loops, and before the waits that stand in front of them: the
  // first visit's copies.
  scf::ForOp front = chain.loops.front().loop;
  Operation *before = front;
  for (Operation &op : *front->getBlock()) {
    if (&op == front.getOperation())
      break;
    if (isa<pipe::WaitOp>(op)) {
      before = &op;
      break;
    }
  }
  OpBuilder b(before);
  Location loc = front.getLoc();
  Value one = arith::ConstantIntOp::create(b, loc, 1, 32);
  Value first = chain.first;
  if (chain.descending)
    first = arith::SubIOp::create(b, loc, chain.first, one);
  cloneCopies(b, groups.front(), first);

  // In each visit, after its waits: the copies of the next one.
  for (auto [loop, group] : llvm::zip_equal(chain.loops, groups)) {
    Operation *lastWait = nullptr;
    for (pipe::WaitOp wait : loop.loop.getBody()->getOps<pipe::WaitOp>())
      lastWait = wait;
    if (!lastWait)
      return loop.loop.emitError("starts copies that no visit waits for");
    b.setInsertionPointAfter(lastWait);
    Location at = lastWait->getLoc();
    Value next, more;
    if (chain.descending) {
      more = arith::CmpIOp::create(b, at, arith::CmpIPredicate::sgt,
                                   group.index, chain.last);
    } else {
      next = arith::AddIOp::create(b, at, group.index, one);
      more = arith::CmpIOp::create(b, at, arith::CmpIPredicate::slt, next,
                                   chain.last);
    }
    auto ahead = scf::IfOp::create(b, at, more, /*withElseRegion=*/false);
    b.setInsertionPoint(ahead.thenBlock()->getTerminator());
    if (chain.descending)
      next = arith::SubIOp::create(b, at, group.index, one);
    cloneCopies(b, group, next);
    eraseCopies(group);
  }
  return success();
}

namespace {
struct Skew : attn::impl::PipeSkewBase<Skew> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = getPipeSchedule(kernel, "pipe-skew");
    if (failed(schedule))
      return signalPassFailure();
    for (NamedAttribute entry : schedule->getSkew()) {
      StringRef op = entry.getName().getValue();
      int64_t by = cast<IntegerAttr>(entry.getValue()).getInt();
      if (by == 0 || (op == "load_kv" && by == -1 && !hasRoles(*schedule)) ||
          op == "pv") // pipe-skew-products
        continue;
      kernel.emitError() << "skew = {" << op << " = " << by << "} of "
                         << schedule->getRoles().size()
                         << " roles is not built; use {load_kv = -1} of 1 role";
      return signalPassFailure();
    }
    bool skews = schedule->getSkew("load_kv") != 0;
    if (skews && failed(skewAll(kernel)))
      return signalPassFailure();
    // A mark that no analysis looks at.
    kernel.walk([](Operation *op) { op->removeAttr(visitIndexAttr); });
    if (!skews)
      markAllAnalysesPreserved();
  }

private:
  static LogicalResult skewAll(KernelOp kernel) {
    SmallVector<VisitChain> chains;
    if (failed(findVisitChains(kernel, chains)))
      return failure();
    for (VisitChain &chain : chains)
      if (failed(skewChain(chain)))
        return failure();
    return success();
  }
};
} // namespace
