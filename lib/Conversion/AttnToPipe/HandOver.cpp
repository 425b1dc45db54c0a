//===- HandOver.cpp - replicas issue their products in turn ---------------===//
//
// With `handover = "ring"` the replicas of the computing role take turns at the
// tensor cores, so that while one issues the others do their softmax.
//
//   issue QK(j); wait v; issue PV(j - 1)
//   ->
//   take_turn; issue QK(j); wait v; issue PV(j - 1); pass_turn
//
// A run of products ends where something else than a wait stands between them.
//
// Invariant: all replicas go through the same runs, for they have the same
// visits; the last PV of an item is a run of its own.
//
//===----------------------------------------------------------------------===//

#include "VisitLoop.h"
#include "attn/Conversion/Passes.h"

namespace attn {
#define GEN_PASS_DEF_PIPEHANDOVER
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static bool issuesProduct(Operation *op) {
  auto issue = dyn_cast<pipe::IssueOp>(op);
  return issue && issue.getAgent() == pipe::Agent::Mma;
}

/// Puts each run of products of a block between take and pass.
static void takeTurns(Block *block) {
  Operation *op = block->empty() ? nullptr : &block->front();
  while (op) {
    Operation *next = op->getNextNode();
    if (issuesProduct(op)) {
      Operation *last = op;
      for (Operation *after = next;
           after && (issuesProduct(after) || isa<pipe::WaitOp>(after));
           after = after->getNextNode())
        if (issuesProduct(after))
          last = after;
      OpBuilder b(op);
      pipe::TakeTurnOp::create(b, op->getLoc());
      b.setInsertionPointAfter(last);
      next = pipe::PassTurnOp::create(b, last->getLoc())->getNextNode();
    }
    op = next;
  }
}

namespace {
struct HandOver : attn::impl::PipeHandOverBase<HandOver> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = getPipeSchedule(kernel, "pipe-hand-over");
    if (failed(schedule))
      return signalPassFailure();
    if (schedule->getHandover().getValue() != "ring" || kernel.getMergeOfAttr())
      return;
    for (pipe::RolesOp roles : kernel.getOps<pipe::RolesOp>())
      for (auto [region, attr] :
           llvm::zip_equal(roles.getBodies(), roles.getRoles())) {
        auto role = cast<pipe::RoleAttr>(attr);
        if (role.getReplicas() < 2)
          continue; // nobody to hand over to
        llvm::SetVector<Block *> blocks;
        region.walk([&](pipe::IssueOp op) { blocks.insert(op->getBlock()); });
        for (Block *block : blocks)
          takeTurns(block);
      }
  }
};
} // namespace
