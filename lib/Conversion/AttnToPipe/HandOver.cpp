//===- HandOver.cpp - replicas issue their products in turn ---------------===//
//
// With `handover = "ring"` the replicas of the computing role take turns at the
// tensor cores, so that while one issues the others do their softmax.
//
//   issue QK(j); wait v; issue PV(j - 1)
//   ->
//   take_turn; issue QK(j); wait v; issue PV(j - 1); pass_turn
//
// A turn begins with a QK and ends with the last product that nothing but a wait
// parts from it.  A PV by itself, as an item's last, needs no turn: there is no
// softmax of this replica to come.
//
// A block that a replica passes (NarrowVisits.h) has a turn as well, with nothing
// in it.
//
// Invariant: one turn a visit or pass; all replicas have as many of both
// together.
//
//===----------------------------------------------------------------------===//

#include "NarrowVisits.h"
#include "attn/Conversion/Passes.h"

namespace attn {
#define GEN_PASS_DEF_PIPEHANDOVER
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

template <typename Product> static bool issues(Operation *op) {
  auto issue = dyn_cast<pipe::IssueOp>(op);
  return issue && !issue.getBody().front().template getOps<Product>().empty();
}

static void takeTurn(Operation *qk) {
  Operation *last = qk;
  for (Operation *op = qk->getNextNode();
       isa<pipe::WaitOp>(op) || issues<PVOp>(op); op = op->getNextNode())
    if (issues<PVOp>(op))
      last = op;
  OpBuilder b(qk);
  pipe::TakeTurnOp::create(b, qk->getLoc());
  b.setInsertionPointAfter(last);
  pipe::PassTurnOp::create(b, last->getLoc());
}

namespace {
struct HandOver : attn::impl::PipeHandOverBase<HandOver> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = getPipeSchedule(kernel, "pipe-hand-over");
    if (failed(schedule))
      return signalPassFailure();
    if (schedule->getHandover().getValue() != "ring" || kernel.getMergeOfAttr())
      return markAllAnalysesPreserved();
    for (pipe::RolesOp roles : kernel.getOps<pipe::RolesOp>()) {
      int compute = roles.indexOf(schedule->getRoleOf("default"));
      if (compute < 0 || roles.getRole(compute).getReplicas() < 2)
        continue; // nobody to hand over to
      SmallVector<Operation *> products;
      roles.getBodies()[compute].walk([&](pipe::IssueOp op) {
        if (issues<QKOp>(op))
          products.push_back(op);
      });
      for (Operation *op : products)
        takeTurn(op);
      roles.getBodies()[compute].walk([&](scf::ForOp loop) {
        if (!loop->hasAttr(passesAttr))
          return;
        // Where a visit has its QK: the V of this block may come only when the
        // others have used its K.
        Operation *k = *loop.getBody()->getOps<pipe::ReleaseOp>().begin();
        OpBuilder b(k->getNextNode());
        pipe::TakeTurnOp::create(b, loop.getLoc());
        pipe::PassTurnOp::create(b, loop.getLoc());
      });
    }
  }
};
} // namespace
