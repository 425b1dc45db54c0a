//===- Channels.cpp - channels to rings, copies and barriers --------------===//
//
//   pipe.acquire %k             -> nothing (or a barrier, see ChannelAnalysis)
//   pipe.issue cp_async {...}   -> frag.cp_async %base into %ring[%pos] row
//   (%r) pipe.commit                 -> frag.cp_async_commit pipe.wait %k ->
//   frag.cp_async_wait pending n; frag.cta_sync pipe.release                ->
//   nothing
//
// With one role the order of the text is the order of time, so a release needs
// no signal: the barrier of the next wait, which every warp reaches after its
// last read of the slot, stands before the next copy into it.  Waits that
// follow each other share one barrier.
//
// Positions (slot numbers) are values: each loop or branch that moves one gets
// it as an extra value.  A ring of one slot has one position, which never
// moves.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

static constexpr int32_t ringSwizzle = 128;

LogicalResult KernelLowering::makeChannel(pipe::ChannelOp op) {
  auto type = op.getResult().getType();
  auto tile = dyn_cast<TileType>(type.getPayload());
  if (!tile)
    return op.emitOpError() << "payload " << type.getPayload()
                            << " is not built for level L3 (known: tiles)";
  auto ringType = frag::RingType::getChecked(
      [&] { return op.emitOpError(); }, b.getContext(), tile.getRows(),
      tile.getCols(), tile.getElement(), ringSwizzle, type.getDepth());
  if (!ringType)
    return failure();
  ChannelState &channel = channels.emplace_back();
  channel.ring = frag::SmemOp::create(b, op.getLoc(), ringType, op.getName(),
                                      /*offset=*/-1);
  channel.produce = channel.consume = frag::PosOp::create(
      b, op.getLoc(), frag::PosType::get(b.getContext(), type.getDepth()),
      /*phase=*/0);
  return success();
}

Value KernelLowering::next(Value pos, Location loc) {
  if (cast<frag::PosType>(pos.getType()).getSlots() == 1)
    return pos;
  // Channels that move in step ask twice.
  for (Operation *user : pos.getUsers())
    if (isa<frag::NextOp>(user) && user->getBlock() == b.getInsertionBlock())
      return user->getResult(0);
  return frag::NextOp::create(b, loc, pos.getType(), pos);
}

SmallVector<Value *> KernelLowering::movedIn(Operation *op) {
  SmallVector<bool> produced(channels.size()), consumed(channels.size());
  op->walk([&](Operation *inner) {
    if (auto acquire = dyn_cast<pipe::AcquireOp>(inner))
      produced[analysis.indexOf(acquire.getChannel())] = true;
    else if (auto wait = dyn_cast<pipe::WaitOp>(inner))
      consumed[analysis.indexOf(wait.getChannel())] = true;
  });
  SmallVector<Value *> moved;
  for (unsigned i = 0; i < channels.size(); ++i) {
    auto type = cast<frag::PosType>(channels[i].produce.getType());
    if (analysis.leader(i) != i || type.getSlots() == 1)
      continue;
    if (produced[i])
      moved.push_back(&channels[i].produce);
    if (consumed[i])
      moved.push_back(&channels[i].consume);
  }
  return moved;
}

void KernelLowering::followLeaders() {
  for (unsigned i = 0; i < channels.size(); ++i) {
    unsigned leader = analysis.leader(i);
    if (leader == i)
      continue;
    channels[i].produce = channels[leader].produce;
    channels[i].consume = channels[leader].consume;
  }
}

LogicalResult KernelLowering::convert(pipe::AcquireOp op) {
  ChannelState &channel = channels[analysis.indexOf(op.getChannel())];
  if (analysis.needsSync(op))
    frag::CtaSyncOp::create(b, op.getLoc());
  slots[op.getSlot()] = {channel.ring, channel.produce};
  channel.produce = next(channel.produce, op.getLoc());
  return success();
}

LogicalResult KernelLowering::convert(pipe::IssueOp op) {
  if (op.getAgent() != pipe::Agent::CpAsync)
    return refuse(op, "agent " + stringifyAgent(op.getAgent()));
  for (Operation &inner : op.getBody().front().without_terminator()) {
    if (auto copy = dyn_cast<CopyQueryOp>(inner)) {
      if (failed(convert(copy)))
        return failure();
    } else if (auto copy = dyn_cast<CopyKVOp>(inner)) {
      if (failed(convert(copy)))
        return failure();
    } else {
      return inner.emitOpError("cannot be issued on agent cp_async");
    }
  }
  return success();
}

LogicalResult KernelLowering::convert(pipe::CommitOp op) {
  frag::CpAsyncCommitOp::create(b, op.getLoc());
  return success();
}

LogicalResult KernelLowering::convert(pipe::WaitOp op) {
  unsigned index = analysis.indexOf(op.getChannel());
  ChannelState &channel = channels[index];
  // The first of a run of waits waits for all of them.
  if (!isa_and_nonnull<pipe::WaitOp>(op->getPrevNode())) {
    int32_t pending = analysis.pending(op);
    for (Operation *other = op->getNextNode(); isa<pipe::WaitOp>(other);
         other = other->getNextNode())
      pending = std::min(pending, analysis.pending(cast<pipe::WaitOp>(other)));
    frag::CpAsyncWaitOp::create(b, op.getLoc(), pending);
    frag::CtaSyncOp::create(b, op.getLoc());
  }
  if (analysis.inRegisters(index)) {
    auto tile = dyn_cast<TileType>(op.getPayload().getType());
    Type type =
        regType(tile.getRows(), tile.getCols(), tile.getElement(), "mma_a");
    if (!type)
      return failure();
    // The ldmatrix of a run of waits stand after its one barrier.
    Value registers = frag::LdmatrixOp::create(b, op.getLoc(), type,
                                               channel.ring, channel.consume);
    mapping.map(op.getPayload(), registers);
  } else {
    slots[op.getPayload()] = {channel.ring, channel.consume};
  }
  channel.consume = next(channel.consume, op.getLoc());
  return success();
}

//===----------------------------------------------------------------------===//
// What the copies read
//===----------------------------------------------------------------------===//

/// The redo of a tile is a loop around the loops over key blocks.  Addresses of
/// its first copies do not change from turn to turn, and kept they would take
/// some forty registers that those loops need.
Value KernelLowering::inThisTurn(Operation *op, Value value) {
  auto loop = op->getParentOfType<LoopLikeOpInterface>();
  if (!isa_and_nonnull<scf::WhileOp>(loop) ||
      !loop->getParentOfType<scf::WhileOp>())
    return value;
  return frag::OpaqueOp::create(b, op->getLoc(), value.getType(), value);
}

LogicalResult KernelLowering::convert(CopyQueryOp op) {
  auto slot = slots.find(op.getSlot());
  if (slot == slots.end())
    return op.emitOpError("slot does not come from pipe.acquire");
  RowsInfo &rows = rowMaps[op.getRows()];
  auto ring = cast<frag::RingType>(slot->second.ring.getType());
  Value base =
      param("q", frag::PtrType::get(b.getContext(), ring.getElement()));
  Value batch = stride("q", "batch"), token = stride("q", "token"),
        head = stride("q", "head");
  Value row0 = inThisTurn(op, rows.row0);
  Value nrows = inThisTurn(op, rows.nrows);
  Scalars outer{b, op.getLoc()};
  Value origin = outer.add(outer.mul(outer.ext(rows.request), batch),
                           outer.mul(outer.ext(rows.qBegin), token));
  frag::CpAsyncOp::create(
      b, op.getLoc(), base, slot->second.ring, slot->second.pos,
      [&](OpBuilder &inner, Location loc, Value row) {
        Scalars s{inner, loc};
        Value t = s.add(row0, row);
        Value h =
            s.add(s.mul(rows.head, s.i32(rows.pack)), s.remU(t, rows.pack));
        Value offset =
            s.add(s.add(origin, s.mul(s.extU(s.divU(t, rows.pack)), token)),
                  s.mul(s.ext(h), head));
        Value live = s.cmp(arith::CmpIPredicate::slt, row, nrows);
        frag::YieldOp::create(inner, loc, ValueRange{offset, live});
      });
  return success();
}

LogicalResult KernelLowering::convert(CopyKVOp op) {
  auto slot = slots.find(op.getSlot());
  if (slot == slots.end())
    return op.emitOpError("slot does not come from pipe.acquire");
  auto tensor = op.getTensor().getType();
  StringRef name = tensor.getRole() == TensorRole::Key ? "k" : "v";
  auto ring = cast<frag::RingType>(slot->second.ring.getType());
  Value base =
      param(name, frag::PtrType::get(b.getContext(), ring.getElement()));
  Value batch = stride(name, "batch"), token = stride(name, "token"),
        head = stride(name, "head");
  Value k0 = inThisTurn(op, at(op.getK0())), kv1 = at(op.getKv1());
  Scalars outer{b, op.getLoc()};
  Value first = outer.add(outer.ext(at(op.getKvBegin())), outer.ext(k0));
  Value origin =
      outer.add(outer.add(outer.mul(outer.ext(at(op.getRequest())), batch),
                          outer.mul(outer.ext(at(op.getKvHead())), head)),
                outer.mul(first, token));
  Value valid = outer.sub(kv1, k0);
  frag::CpAsyncOp::create(
      b, op.getLoc(), base, slot->second.ring, slot->second.pos,
      [&](OpBuilder &inner, Location loc, Value row) {
        Scalars s{inner, loc};
        Value offset = s.add(origin, s.mul(s.extU(row), token));
        Value live = s.cmp(arith::CmpIPredicate::slt, row, valid);
        frag::YieldOp::create(inner, loc, ValueRange{offset, live});
      });
  return success();
}
