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

std::pair<VisitLoop, Value> attn::createVisits(OpBuilder &b, Location loc,
                                               bool descending, Value lo,
                                               Value hi, Value one,
                                               ValueRange inits) {
  Value top;
  if (descending) {
    Value sum = arith::AddIOp::create(b, loc, lo, hi);
    top = arith::SubIOp::create(b, loc, sum, one);
  }
  auto loop = scf::ForOp::create(b, loc, lo, hi, one, inits);
  KVOrder order = descending ? KVOrder::Descending : KVOrder::Ascending;
  loop->setAttr(visitsAttr, b.getStringAttr(stringifyKVOrder(order)));
  if (!inits.empty() && !loop.getBody()->empty())
    loop.getBody()->clear();
  VisitLoop visits{loop, descending};
  if (!descending)
    return {visits, loop.getInductionVar()};
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  auto index = arith::SubIOp::create(b, loc, top, loop.getInductionVar());
  index->setAttr(visitIndexAttr, b.getUnitAttr());
  return {visits, index.getResult()};
}

Value attn::firstVisit(OpBuilder &b, Location loc, bool descending, Value lo,
                       Value hi, Value one) {
  return descending ? Value(arith::SubIOp::create(b, loc, hi, one)) : lo;
}

Value attn::lastVisit(OpBuilder &b, Location loc, bool descending, Value lo,
                      Value hi, Value one) {
  return firstVisit(b, loc, !descending, lo, hi, one);
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

pipe::ReleaseOp attn::releaseBeside(Operation *op, Value payload) {
  while (auto slice = payload.getDefiningOp<SliceTileOp>())
    payload = slice.getTile();
  if (auto wait = payload.getDefiningOp<pipe::WaitOp>())
    for (Operation *user : wait.getSlot().getUsers())
      if (auto release = dyn_cast<pipe::ReleaseOp>(user))
        if (release->getBlock() == op->getBlock())
          return release;
  return {};
}

Operation *attn::rewriteOf(pipe::WaitOp wait) {
  for (Operation *user : wait.getSlot().getUsers())
    if (isa<RewriteQueryOp, RewriteKVOp>(user))
      return user;
  return nullptr;
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

bool attn::hasRoles(pipe::ScheduleAttr schedule) {
  return schedule.getRoles().size() > 1;
}

pipe::RoleAttr attn::oneRole(pipe::ScheduleAttr schedule) {
  if (!hasRoles(schedule))
    return cast<pipe::RoleAttr>(schedule.getRoles()[0]);
  int32_t warps = 0;
  for (Attribute attr : schedule.getRoles()) {
    auto role = cast<pipe::RoleAttr>(attr);
    if (role.getName().getValue() == schedule.getRoleOf("default"))
      warps = role.getWarps() * role.getReplicas();
  }
  MLIRContext *context = schedule.getContext();
  return pipe::RoleAttr::get(context, StringAttr::get(context, "all"), warps,
                             /*replicas=*/1, /*regs=*/0);
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
