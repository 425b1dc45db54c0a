//===- VisitLoop.cpp - loops over key blocks after roles are assigned -----===//
//
// See VisitLoop.h for the form of a visit loop.
//
//   [b1, b2) then [b0, b1), descending  ->  one chain, first = b2, last = b0
//
// Invariant: a chain that is returned covers one contiguous run of blocks.
//
//===----------------------------------------------------------------------===//

#include "VisitLoop.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace attn;

Value VisitLoop::index() {
  if (!descending)
    return loop.getInductionVar();
  for (Operation &op : *loop.getBody())
    if (op.hasAttr(visitIndexAttr))
      return op.getResult(0);
  return {};
}

VisitLoop attn::asVisitLoop(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return {};
  auto order = loop->getAttrOfType<StringAttr>(visitsAttr);
  if (!order)
    return {};
  return {loop, order.getValue() == "descending"};
}

LogicalResult attn::findVisitChains(Operation *root,
                                    SmallVectorImpl<VisitChain> &chains) {
  llvm::MapVector<Block *, VisitChain> byBlock;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (VisitLoop loop = asVisitLoop(op))
      byBlock[op->getBlock()].loops.push_back(loop);
  });
  for (auto &[block, chain] : byBlock) {
    VisitLoop front = chain.loops.front(), back = chain.loops.back();
    chain.descending = front.descending;
    chain.first = front.descending ? front.hi() : front.lo();
    chain.last = front.descending ? back.lo() : back.hi();
    for (unsigned i = 1; i < chain.loops.size(); ++i) {
      VisitLoop a = chain.loops[i - 1], b = chain.loops[i];
      bool meet = a.descending == b.descending &&
                  (a.descending ? a.lo() == b.hi() : a.hi() == b.lo());
      if (!meet)
        return b.loop.emitError(
            "visits do not continue where the loop before them ends");
    }
    chains.push_back(std::move(chain));
  }
  return success();
}

FailureOr<pipe::ScheduleAttr> attn::getPipeSchedule(KernelOp kernel,
                                                    StringRef pass) {
  auto schedule = kernel.getScheduleAttr();
  if (!schedule)
    return kernel.emitError() << pass << " needs a schedule";
  auto pipe = dyn_cast<pipe::ScheduleAttr>(schedule.getPipe());
  if (!pipe)
    return kernel.emitError()
           << pass << " needs a #pipe.schedule but the schedule has pipe = "
           << schedule.getPipe();
  return pipe;
}

StringRef attn::channelOf(TensorRole role) {
  switch (role) {
  case TensorRole::Query:
    return "q";
  case TensorRole::Key:
    return "k";
  case TensorRole::Value:
    return "v";
  case TensorRole::Output:
  case TensorRole::Lse:
    break;
  }
  return "";
}
