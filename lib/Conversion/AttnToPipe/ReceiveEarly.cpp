//===- ReceiveEarly.cpp - the next item's words beside the last product ---===//
//
// Behind an item's last product there is nothing to do but wait for it.  The words of
// the next item, which are there by then, are read in that time:
//
//   if visits { ..; issue PV(0); join PV(0) }      check; send verdict; recv; store
//   ->
//   if visits { ..; issue PV(0); recv; join PV(0) } else { ..; recv }
//                                                  check; send verdict; store
//
// A feedback channel that has two tokens or more lets its producer read a verdict of
// this item only after the words that are read here.
//
// Invariant: one recv an item as before, behind all waits for slots of the item, so that
// whoever fills them and sends the words has nothing of the item left to do.
//
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Passes.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attn {
#define GEN_PASS_DEF_PIPERECEIVEEARLY
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// May the words be read before `op`, which stands in front of them?
static bool mayFollow(Operation *op) {
  if (auto send = dyn_cast<pipe::SendOp>(op)) {
    auto channel = send.getChannel().getDefiningOp<pipe::ChannelOp>();
    return channel && channel.getInitial() >= 2;
  }
  return isPure(op);
}

/// The join that ends the branch, with releases behind it at most; or null.
static pipe::JoinOp lastJoin(scf::IfOp branch) {
  for (Operation &op :
       llvm::reverse(branch.thenBlock()->without_terminator())) {
    if (auto join = dyn_cast<pipe::JoinOp>(op))
      return join;
    if (!isa<pipe::ReleaseOp>(op))
      break;
  }
  return {};
}

/// Moves `recv` into both ways of the branch that it stands behind.
static void receiveEarly(pipe::RecvOp recv) {
  Operation *before = recv->getPrevNode();
  while (before && !isa<scf::IfOp>(before) && mayFollow(before))
    before = before->getPrevNode();
  auto branch = dyn_cast_or_null<scf::IfOp>(before);
  pipe::JoinOp join = branch ? lastJoin(branch) : pipe::JoinOp();
  if (!join || branch.getElseRegion().empty())
    return;
  OpBuilder b(branch);
  SmallVector<Type> types(branch.getResultTypes());
  llvm::append_range(types, recv.getResultTypes());
  auto wider =
      scf::IfOp::create(b, branch.getLoc(), types, branch.getCondition(),
                        /*withElseRegion=*/true);
  wider.getThenRegion().takeBody(branch.getThenRegion());
  wider.getElseRegion().takeBody(branch.getElseRegion());
  b.setInsertionPoint(join);
  for (Block *way : {wider.thenBlock(), wider.elseBlock()}) {
    Operation *words = b.clone(*recv);
    way->getTerminator()->insertOperands(way->getTerminator()->getNumOperands(),
                                         words->getResults());
    b.setInsertionPoint(wider.elseBlock()->getTerminator());
  }
  unsigned results = branch.getNumResults();
  branch.replaceAllUsesWith(wider.getResults().take_front(results));
  recv.replaceAllUsesWith(wider.getResults().drop_front(results));
  recv.erase();
  branch.erase();
}

namespace {
struct ReceiveEarly : attn::impl::PipeReceiveEarlyBase<ReceiveEarly> {
  void runOnOperation() override {
    SmallVector<pipe::RecvOp> receives;
    getOperation().walk([&](pipe::RecvOp op) {
      if (isa<scf::WhileOp>(op->getParentOp()))
        receives.push_back(op);
    });
    llvm::for_each(receives, receiveEarly);
  }
};
} // namespace
