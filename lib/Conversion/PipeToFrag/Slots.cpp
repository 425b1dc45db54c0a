//===- Slots.cpp - slots and what is issued on agents ---------------------===//
//
// What is the same whoever is at the ends of a channel: a slot is a ring and a
// position, and its payload is that tile, but for a query that products take
// from registers.
//
//   pipe.issue cp_async { attn.copy_kv }  -> CopyAsync.cpp
//   pipe.issue tma { attn.copy_kv }       -> CopyTma.cpp
//   pipe.issue mma { attn.qk }            -> Products.cpp
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

LogicalResult KernelLowering::convert(pipe::AcquireOp op) {
  slots[op.getSlot()] = channels->acquire(op);
  return success();
}

LogicalResult KernelLowering::convert(pipe::CommitOp op) {
  if (!op.getSlot().getDefiningOp<pipe::AcquireOp>())
    return op.emitOpError("slot does not come from pipe.acquire");
  return channels->commit(op, slots.lookup(op.getSlot()));
}

LogicalResult KernelLowering::convert(pipe::WaitOp op) {
  SlotTile slot = channels->wait(op);
  slots[op.getSlot()] = slot;
  // A slot that is rewritten is read behind that.
  if (llvm::any_of(op.getSlot().getUsers(),
                   llvm::IsaPred<RewriteQueryOp, RewriteKVOp>))
    return success();
  return takePayload(op, slot);
}

LogicalResult KernelLowering::takePayload(pipe::WaitOp op,
                                          const SlotTile &slot) {
  if (role.async() || !heldInRegisters(op.getChannel())) {
    slots[op.getPayload()] = slot;
    return success();
  }
  auto tile = dyn_cast<TileType>(op.getPayload().getType());
  Type type = regType(tile.getRows(), tile.getCols(), tile.getElement(),
                      Holding::OperandA);
  if (!type)
    return failure();
  mapping.map(op.getPayload(), frag::LdmatrixOp::create(b, op.getLoc(), type,
                                                        slot.ring, slot.pos));
  return success();
}

LogicalResult KernelLowering::convert(pipe::ReleaseOp op) {
  if (!op.getSlot().getDefiningOp<pipe::WaitOp>())
    return op.emitOpError("slot does not come from pipe.wait");
  channels->release(op, slots.lookup(op.getSlot()));
  return success();
}

LogicalResult KernelLowering::convert(pipe::SendOp op) {
  SmallVector<Value> words;
  for (Value word : op.getWords())
    words.push_back(at(word));
  return channels->send(op, words);
}

LogicalResult KernelLowering::convert(pipe::RecvOp op) {
  FailureOr<ValueRange> words = channels->recv(op);
  if (failed(words))
    return failure();
  for (auto [old, word] : llvm::zip_equal(op.getWords(), *words))
    mapping.map(old, word);
  return success();
}

LogicalResult KernelLowering::convert(SliceTileOp op) {
  auto slot = slots.find(op.getTile());
  if (slot == slots.end() || !role.async())
    return op.emitOpError("needs a tile in a slot, as operand of wgmma");
  auto tile = op.getResult().getType();
  auto ring = cast<frag::RingType>(slot->second.ring.getType());
  auto type = frag::ViewType::getChecked(
      [&] { return op.emitOpError(); }, b.getContext(), tile.getRows(),
      ring.getCols(), tile.getElement(), ring.getSwizzle());
  if (!type)
    return failure();
  Scalars s{b, op.getLoc()};
  Value first = s.mul(at(op.getRank()), s.i32(tile.getRows()));
  mapping.map(op.getResult(),
              frag::ViewRowsOp::create(b, op.getLoc(), type, slot->second.ring,
                                       slot->second.pos, first));
  return success();
}

LogicalResult KernelLowering::convert(ZeroRowsOp op) {
  if (!op.getSlot().getDefiningOp<pipe::AcquireOp>())
    return op.emitOpError("slot does not come from pipe.acquire");
  SlotTile slot = slots.lookup(op.getSlot());
  frag::ZeroRowsOp::create(b, op.getLoc(), slot.ring, slot.pos,
                           at(op.getValid()));
  return success();
}

//===----------------------------------------------------------------------===//
// Issued operations
//===----------------------------------------------------------------------===//

/// The slot that an op of an issue fills; null if it fills none.
static Value slotOf(Operation *copy) {
  if (auto query = dyn_cast<CopyQueryOp>(copy))
    return query.getSlot();
  if (auto kv = dyn_cast<CopyKVOp>(copy))
    return kv.getSlot();
  return {};
}

LogicalResult KernelLowering::convert(pipe::IssueOp op) {
  if (!channels->serves(op.getAgent()))
    return refuse(op, "agent " + stringifyAgent(op.getAgent()));
  auto body = op.getBody().front().without_terminator();
  if (op.getAgent() != pipe::Agent::CpAsync && !llvm::hasSingleElement(body))
    return op.emitOpError()
           << "of " << std::distance(body.begin(), body.end())
           << " operations on agent " << stringifyAgent(op.getAgent())
           << " is not built for level L3 (built: 1)";
  for (Operation &inner : body) {
    if (op.getAgent() == pipe::Agent::Mma && isa<QKOp, PVOp>(inner)) {
      FailureOr<Value> product = startProduct(&inner);
      if (failed(product))
        return failure();
      mapping.map(op.getFuture(), *product);
      continue;
    }
    Value filled = slotOf(&inner);
    if (op.getAgent() == pipe::Agent::Mma || !filled)
      return inner.emitOpError("cannot be issued on agent ")
             << stringifyAgent(op.getAgent());
    if (!filled.getDefiningOp<pipe::AcquireOp>())
      return inner.emitOpError("slot does not come from pipe.acquire");
    SlotTile slot = slots.lookup(filled);
    auto query = dyn_cast<CopyQueryOp>(inner);
    auto kv = dyn_cast<CopyKVOp>(inner);
    if (op.getAgent() == pipe::Agent::CpAsync) {
      if (failed(query ? copyAsync(query, slot) : copyAsync(kv, slot)))
        return failure();
      continue;
    }
    FailureOr<Landing> landing = channels->landing(op, slot);
    if (failed(landing) || failed(query ? copyTma(query, slot, *landing)
                                        : copyTma(kv, slot, *landing)))
      return failure();
  }
  return success();
}

LogicalResult KernelLowering::convert(pipe::JoinOp op) {
  // A future that crosses control flow was refused there.
  auto issue = op.getFuture().getDefiningOp<pipe::IssueOp>();
  if (issue->getBlock() != op->getBlock())
    return op.emitOpError("joins an operation that another block issued");
  if (issue.getAgent() == pipe::Agent::Mma)
    return joinProduct(op, issue);
  Operation &copy = issue.getBody().front().front();
  return channels->join(op, slots.lookup(slotOf(&copy)));
}
