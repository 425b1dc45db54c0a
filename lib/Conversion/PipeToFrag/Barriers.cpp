//===- Barriers.cpp - channels between roles ------------------------------===//
//
// A full and an empty mbarrier a slot:
//
//   pipe.acquire %k    -> frag.mbar_wait %empty[%p]; %p1 = frag.next %p
//   pipe.issue tma     -> frag.elect { mbar_expect %full[%p]; tma_load }
//   pipe.commit        -> nothing: the bytes fill the slot
//   pipe.wait %k       -> frag.mbar_wait %full[%p]
//   pipe.release %s    -> frag.mbar_arrive %empty[%p]
//
// A copy that its producer joins, to write into the slot too, is counted on a
// barrier of its own, and commit is a fence and an arrival.  Words are stored and
// loaded by threads between the same barriers.
//
// Full barriers take one arrival a warp of the producer (a lane each replica),
// empty ones one a warp of all readers.  A writer starts at phase 1: its first
// turn around the ring falls through.  So does the reader of a channel whose slots
// are full at the start, and it has no empty barrier: the tokens are the credit.
//
// Invariant: a release stands behind the waits whose tokens it takes, so the
// arrival needs no token; only what lanes read themselves needs the warp's
// barrier (`sync`).
//
//===----------------------------------------------------------------------===//

#include "Channels.h"

using namespace mlir;
using namespace attn;

Value Barriers::makeBars(pipe::ChannelOp op, StringRef what, int32_t slots,
                         int32_t lanes, int32_t count) {
  auto type = frag::BarsType::get(b.getContext(), slots, lanes);
  return frag::BarsOp::create(b, op.getLoc(), type,
                              (op.getName() + "." + what).str(), /*offset=*/-1,
                              count);
}

/// True if the producer of a slot waits for a copy into it.
static bool isJoined(pipe::IssueOp issue) {
  return llvm::any_of(issue.getFuture().getUsers(),
                      llvm::IsaPred<pipe::JoinOp>);
}

static bool hasJoinedCopies(Value channel) {
  for (Operation *user : channel.getUsers())
    if (auto acquire = dyn_cast<pipe::AcquireOp>(user))
      for (Operation *copy : acquire.getSlot().getUsers())
        if (auto issue = dyn_cast<pipe::IssueOp>(copy->getParentOp());
            issue && isJoined(issue))
          return true;
  return false;
}

LogicalResult Barriers::declare(pipe::ChannelOp op) {
  auto type = op.getResult().getType();
  int producer = roles.indexOf(op.getProducer());
  if (producer < 0)
    return op.emitOpError()
           << "producer '" << op.getProducer() << "' is not a role";
  pipe::RoleAttr from = roles.getRole(unsigned(producer));
  int32_t readers = 0;
  for (Attribute consumer : op.getConsumers()) {
    StringRef name = cast<StringAttr>(consumer).getValue();
    int index = roles.indexOf(name);
    if (index < 0)
      return op.emitOpError() << "consumer '" << name << "' is not a role";
    pipe::RoleAttr to = roles.getRole(unsigned(index));
    readers += to.getWarps() * to.getReplicas();
  }
  int32_t depth = type.getDepth(), lanes = type.getLanes();

  Channel channel;
  channel.op = op;
  if (auto tile = dyn_cast<TileType>(type.getPayload())) {
    // The elected thread of each warp would start the same copy.
    if (from.getWarps() * from.getReplicas() != 1)
      return op.emitOpError()
             << "is filled by " << from.getWarps() * from.getReplicas()
             << " warps of role '" << op.getProducer()
             << "' but a copy is started by 1";
    frag::SmemOp ring = makeRing(op, tile);
    if (!ring)
      return failure();
    channel.storage = ring;
  } else if (auto words = dyn_cast<pipe::WordsType>(type.getPayload())) {
    // Whole vectors of 16 bytes, but for a few words.
    int32_t count = words.getCount();
    if (count > 2)
      count = int32_t(llvm::alignTo(count, 4));
    channel.storage = frag::WordsOp::create(
        b, op.getLoc(),
        frag::WordsType::get(b.getContext(), count, depth, lanes), op.getName(),
        /*offset=*/-1);
  } else {
    return op.emitOpError()
           << "payload " << type.getPayload()
           << " is not built for level L3 (known: tiles, words)";
  }
  channel.full = makeBars(op, "full", depth, lanes, from.getWarps());
  if (op.getInitial() == 0)
    channel.empty = makeBars(op, "empty", depth, /*lanes=*/1, readers);
  if (hasJoinedCopies(op.getResult()))
    channel.joined = makeBars(op, "joined", 1, /*lanes=*/1, /*count=*/1);
  indices[op.getResult()] = channels.size();
  channels.push_back(channel);
  return success();
}

void Barriers::begin() {
  SmallVector<Value> storage;
  for (Channel &channel : channels) {
    if (channel.op.getInitial() != 0)
      storage.push_back(channel.storage); // its tokens are zeros
    for (Value bars : {channel.full, channel.empty, channel.joined})
      if (bars)
        storage.push_back(bars);
  }
  if (!storage.empty())
    frag::InitOp::create(b, storage.front().getLoc(), storage);
}

/// A role is at the ends of a channel that the declaration says.
LogicalResult Barriers::checkEnds(Block &body) {
  WalkResult result = body.walk([&](Operation *op) {
    SmallVector<unsigned> moved;
    movedBy(op, moved);
    for (unsigned i : moved) {
      pipe::ChannelOp channel = channels[i / sides].op;
      if (at(i))
        continue;
      op->emitOpError() << "role '" << role.name() << "' is no "
                        << (i % sides == Consume ? "consumer" : "producer")
                        << " of channel '" << channel.getName() << "'";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult Barriers::enter(const RoleInfo &info, Block &body) {
  role = info;
  positions.clear();
  for (auto [i, channel] : llvm::enumerate(channels)) {
    Location loc = channel.op.getLoc();
    int32_t depth = channel.op.getResult().getType().getDepth();
    bool writes = channel.op.getProducer() == role.name();
    bool reads = llvm::is_contained(channel.op.getConsumers(),
                                    Attribute(role.attr.getName()));
    auto add = [&](bool present, int32_t slots, int32_t phase) {
      Value value = present ? makePosition(slots, phase, loc) : Value();
      positions.push_back({value, unsigned(positions.size())});
    };
    add(writes, depth, 1);
    add(reads, depth, channel.op.getInitial() != 0 ? 1 : 0);
    add(writes && channel.joined, 1, 0);
  }
  return checkEnds(body);
}

void Barriers::movedBy(Operation *op, SmallVectorImpl<unsigned> &moved) {
  auto add = [&](Value channel, Side side) {
    moved.push_back(position(indexOf(channel), side));
  };
  if (auto acquire = dyn_cast<pipe::AcquireOp>(op))
    add(acquire.getChannel(), Produce);
  else if (auto send = dyn_cast<pipe::SendOp>(op))
    add(send.getChannel(), Produce);
  else if (auto wait = dyn_cast<pipe::WaitOp>(op))
    add(wait.getChannel(), Consume);
  else if (auto recv = dyn_cast<pipe::RecvOp>(op))
    add(recv.getChannel(), Consume);
  else if (auto issue = dyn_cast<pipe::IssueOp>(op);
           issue && issue.getAgent() == pipe::Agent::Tma && isJoined(issue))
    issue.walk([&](Operation *copy) {
      for (Value operand : copy->getOperands())
        if (auto acquire = operand.getDefiningOp<pipe::AcquireOp>())
          add(acquire.getChannel(), Join);
    });
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

SlotTile Barriers::acquire(pipe::AcquireOp op) {
  unsigned index = indexOf(op.getChannel());
  Channel &channel = channels[index];
  Value pos = move(index, Produce, op.getLoc());
  if (channel.empty)
    frag::MbarWaitOp::create(b, op.getLoc(), channel.empty, pos);
  return {channel.storage, pos, index};
}

FailureOr<Landing> Barriers::landing(pipe::IssueOp op, const SlotTile &slot) {
  Channel &channel = channels[slot.channel];
  if (!isJoined(op))
    return Landing{channel.full, slot.pos};
  if (channel.joining)
    return op.emitOpError()
           << "starts a second copy into channel '" << channel.op.getName()
           << "' before the first one is joined";
  channel.joining = true;
  return Landing{channel.joined, at(position(slot.channel, Join))};
}

LogicalResult Barriers::join(pipe::JoinOp op, const SlotTile &slot) {
  Channel &channel = channels[slot.channel];
  Value pos = move(slot.channel, Join, op.getLoc());
  frag::MbarWaitOp::create(b, op.getLoc(), channel.joined, pos);
  channel.joining = false;
  return success();
}

LogicalResult Barriers::commit(pipe::CommitOp op, const SlotTile &slot) {
  if (op.getFutures().size() > 1 ||
      (!op.getFutures().empty() && !op.getDone().empty()))
    return op.emitOpError() << "of " << op.getFutures().size()
                            << " copies under way and " << op.getDone().size()
                            << " joined ones is not built for level L3 (built: "
                               "1 and 0, or 0 and any)";
  if (!op.getFutures().empty())
    return success();
  // Threads wrote the slot and wgmma reads it.
  frag::FenceOp::create(b, op.getLoc(), frag::FenceKind::ProxyAsyncShared);
  frag::MbarArriveOp::create(b, op.getLoc(), channels[slot.channel].full,
                             slot.pos, /*lane=*/Value(), /*sync=*/true);
  return success();
}

SlotTile Barriers::wait(pipe::WaitOp op) {
  unsigned index = indexOf(op.getChannel());
  Channel &channel = channels[index];
  Value pos = move(index, Consume, op.getLoc());
  frag::MbarWaitOp::create(b, op.getLoc(), channel.full, pos);
  return {channel.storage, pos, index};
}

void Barriers::release(pipe::ReleaseOp op, const SlotTile &slot) {
  if (Value empty = channels[slot.channel].empty)
    frag::MbarArriveOp::create(b, op.getLoc(), empty, slot.pos,
                               /*lane=*/Value(),
                               /*sync=*/op.getDone().empty());
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

LogicalResult Barriers::send(pipe::SendOp op, ValueRange words) {
  Location loc = op.getLoc();
  unsigned index = indexOf(op.getChannel());
  Channel &channel = channels[index];
  Value pos = move(index, Produce, loc);
  if (channel.empty)
    frag::MbarWaitOp::create(b, loc, channel.empty, pos);
  bool lanes = op.getChannel().getType().getLanes() > 1;
  Value lane = lanes ? role.rank : Value();
  auto elect = frag::ElectOp::create(b, loc);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&elect.getBody());
  // Warps of one replica hold the same values.
  frag::StWordsOp::create(b, loc, words, channel.storage, pos, lane);
  frag::MbarArriveOneOp::create(b, loc, channel.full, pos, lane);
  frag::YieldOp::create(b, loc, ValueRange());
  return success();
}

FailureOr<ValueRange> Barriers::recv(pipe::RecvOp op) {
  Location loc = op.getLoc();
  unsigned index = indexOf(op.getChannel());
  Channel &channel = channels[index];
  Value pos = move(index, Consume, loc);
  frag::MbarWaitOp::create(b, loc, channel.full, pos);
  auto type = cast<pipe::WordsType>(op.getChannel().getType().getPayload());
  auto load =
      frag::LdWordsOp::create(b, loc, type.getCount(), channel.storage, pos);
  if (channel.empty) {
    frag::MbarArriveOp::create(b, loc, channel.empty, pos, /*lane=*/Value(),
                               /*sync=*/true);
  } else {
    // Behind all lanes' reads: what is sent next gives the slot back.
    Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    frag::StWordsOp::create(b, loc, SmallVector<Value>(type.getCount(), zero),
                            channel.storage, pos, /*lane=*/Value());
  }
  return ValueRange(load.getValues());
}
