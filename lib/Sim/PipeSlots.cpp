//===- PipeSlots.cpp - the state of slots, and who may change it ----------===//
//
// An op that needs a slot in another state blocks its fiber until it is there:
//
//   acquire k  ... blocks while slot 1 is not free
//   commit     ... the slot is full once its copies have landed
//
// What must hold in every schedule is checked in every schedule: a commit or a
// release while an operation that was not joined still uses the slot is a race
// even if the operation happens to be over.
//
// A payload is a tile of its own for each turn and reader of its slot; release
// fills it with NaN and marks it, so a late reader is named.
//
// Invariant: a handle is good for one turn of its slot.
//
//===----------------------------------------------------------------------===//

#include "PipeState.h"

#include "mlir/IR/BuiltinTypes.h"

#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::sim;

static constexpr float poison = std::numeric_limits<float>::quiet_NaN();

//===----------------------------------------------------------------------===//
// Texts and small questions
//===----------------------------------------------------------------------===//

llvm::StringRef attn::sim::nameOf(SlotState state) {
  switch (state) {
  case SlotState::Free:
    return "free";
  case SlotState::Producer:
    return "held by its producer";
  case SlotState::Full:
    return "full";
  case SlotState::Consumer:
    return "held by a consumer";
  }
  return "";
}

bool Future::readsTile(const Tile *tile) const {
  return llvm::any_of(reads, [&](auto &t) { return t.get() == tile; });
}

bool Future::writesSlot(const SlotHandle *handle) const {
  return llvm::any_of(writes, [&](auto &h) { return h.get() == handle; });
}

int Channel::readerOf(uint32_t fiber) const {
  auto found = llvm::find(readers, fiber);
  return found == readers.end() ? -1 : int(found - readers.begin());
}

bool SlotHandle::held() const {
  const Slot &s = slot();
  if (s.turn != turn)
    return false;
  if (producer)
    return s.state == SlotState::Producer;
  return s.state == SlotState::Consumer && s.holds[reader] == Hold::Holds;
}

std::string attn::sim::slotText(const Channel &channel, size_t lane,
                                size_t index) {
  std::string text =
      "slot " + std::to_string(index) + " of channel '" + channel.name + "'";
  if (channel.lanes.size() > 1)
    text += " lane " + std::to_string(lane);
  return text;
}

std::string attn::sim::stateText(const Channel &channel, size_t lane,
                                 size_t index, llvm::StringRef needed) {
  const Slot &slot = channel.lanes[lane].slots[index];
  std::string text =
      slotText(channel, lane, index) + " is " + nameOf(slot.state).str();
  // The state alone would not say what is missing.
  if (slot.state == SlotState::Full && !slot.landed())
    text += ", but its copy is under way,";
  return text + " but must be " + needed.str();
}

static LogicalResult wrongState(Operation *op, Interp &interp,
                                const SlotHandle &handle,
                                llvm::StringRef needed) {
  return interp.fail(
      op, stateText(*handle.channel, handle.lane, handle.index, needed),
      Verdict::ResourceError);
}

LogicalResult attn::sim::checkHeld(Operation *op, Interp &interp,
                                   const SlotHandle &handle) {
  if (handle.held())
    return success();
  return wrongState(
      op, interp, handle,
      nameOf(handle.producer ? SlotState::Producer : SlotState::Consumer));
}

static void moved(Slot &slot, SlotState state, Operation *op,
                  const RoleFiber &role) {
  slot.state = state;
  slot.lastOp = op;
  slot.lastBy = role.name;
}

LogicalResult attn::sim::writeSlot(Operation *op, mlir::Value value,
                                   Tile &&tile, Interp &interp) {
  auto &handle = interp.get<SlotHandle>(value);
  Slot &slot = handle.slot();
  // A copy under way may fill a slot that was committed after it.
  bool lands = handle.producer && slot.turn == handle.turn &&
               slot.state == SlotState::Full &&
               llvm::any_of(slot.pending,
                            [&](auto &f) { return f->writesSlot(&handle); });
  if (!lands && (!handle.producer || !handle.held()))
    return wrongState(op, interp, handle, nameOf(SlotState::Producer));
  assert(slot.payload && tile.data.size() == slot.payload->data.size() &&
         "the slot's type gives the shape of both");
  slot.payload->data = std::move(tile.data);
  slot.written = true;
  return success();
}

Tile *attn::sim::slotTile(Operation *op, mlir::Value value, Interp &interp) {
  auto &handle = interp.get<SlotHandle>(value);
  if (failed(checkHeld(op, interp, handle)))
    return nullptr;
  PipeState &pipe = interp.state<PipeState>();
  auto race = [&](const Twine &what) -> Tile * {
    (void)interp.fail(
        op,
        "writes " + slotText(*handle.channel, handle.lane, handle.index) + what,
        Verdict::Race);
    return nullptr;
  };
  if (pipe.fibers)
    for (auto &future : pipe.self().open) {
      if (future->writesSlot(&handle))
        return race(" while a copy that was not joined fills it");
      if (handle.view && future->readsTile(handle.view.get()))
        return race(" while an operation that was not joined reads it");
    }
  return handle.producer ? handle.slot().payload.get() : handle.view.get();
}

float attn::sim::tailOf(Interp &interp) {
  return interp.state<PipeState>().agent == pipe::Agent::Tma ? poison : 0.0f;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// Blocks until `ready`, a question about one slot.  With the attribute
/// `pipe.unguarded` the op goes on without, which is a race unless it is so.
static LogicalResult blockFor(Operation *op, Interp &interp,
                              const std::shared_ptr<Channel> &channel,
                              size_t lane, size_t index, llvm::StringRef needed,
                              std::function<bool()> ready) {
  PipeState &pipe = interp.state<PipeState>();
  if (op->hasAttr(unguardedAttr)) {
    if (!pipe.fibers->yield())
      return failure();
    if (ready())
      return success();
    return interp.fail(op, stateText(*channel, lane, index, needed),
                       Verdict::Race);
  }
  std::string need = needed.str();
  bool go = pipe.fibers->block(
      std::move(ready), op, [&pipe, channel, lane, index, need, op] {
        return op->getName().getStringRef().str() + ": " +
               stateText(*channel, lane, index, need) +
               holderText(pipe, *channel, lane, index);
      });
  return success(go);
}

void attn::sim::record(PipeState &pipe, PipeTrace::Kind kind, uint32_t number,
                       uint64_t turn, Operation *op, bool late) {
  pipe.trace.replicas[pipe.fibers->self()].events.push_back(
      {kind, number, turn, op, op->hasAttr(unguardedAttr), late});
}

/// Takes the next slot of the role's own lane.
static FailureOr<std::shared_ptr<SlotHandle>>
takeFree(Operation *op, Interp &interp,
         const std::shared_ptr<Channel> &channel) {
  PipeState &pipe = interp.state<PipeState>();
  RoleFiber &role = pipe.self();
  if (channel->op.getProducer() != role.role)
    return interp.fail(op, "role " + role.name +
                               " is not the producer of channel '" +
                               channel->name + "'");
  size_t laneIndex = channel->lanes.size() > 1 ? role.rank : 0;
  if (laneIndex >= channel->lanes.size())
    return interp.fail(op, "channel '" + channel->name + "' has " +
                               Twine(channel->lanes.size()) +
                               " lanes but its producer has " +
                               Twine(role.replicas) + " replicas");
  Lane &lane = channel->lanes[laneIndex];
  uint64_t turn = lane.produced;
  size_t index = channel->slotOf(turn);
  Slot &slot = lane.slots[index];
  auto isFree = [&slot] { return slot.state == SlotState::Free; };
  if (channel->feedback) {
    // Its credit stands in for an empty barrier, so it never waits.
    if (!pipe.fibers->yield())
      return failure();
    if (!isFree())
      return interp.fail(
          op, "has no credit: " + stateText(*channel, laneIndex, index, "free"),
          Verdict::Race);
  } else if (failed(blockFor(op, interp, channel, laneIndex, index, "free",
                             isFree))) {
    return failure();
  }
  ++lane.produced;
  slot.turn = turn;
  slot.written = false;
  slot.pending.clear();
  slot.holds.assign(channel->readers.size(), Hold::None);
  Type payload = channel->op.getResult().getType().getPayload();
  slot.payload = nullptr;
  if (auto tile = dyn_cast<TileType>(payload))
    slot.payload =
        std::make_shared<Tile>(tile.getRows(), tile.getCols(), poison);
  moved(slot, SlotState::Producer, op, role);
  auto handle = std::make_shared<SlotHandle>();
  handle->channel = channel;
  handle->lane = laneIndex;
  handle->index = index;
  handle->turn = turn;
  handle->producer = true;
  return handle;
}

/// Waits for the next turn of a reader on one lane.
static FailureOr<std::shared_ptr<SlotHandle>>
takeFull(Operation *op, Interp &interp, const std::shared_ptr<Channel> &channel,
         size_t laneIndex, unsigned reader) {
  PipeState &pipe = interp.state<PipeState>();
  uint64_t turn = channel->next[reader];
  size_t index = channel->slotOf(turn);
  Slot &slot = channel->lanes[laneIndex].slots[index];
  auto isFull = [&slot, turn] {
    return slot.turn == turn && slot.landed() &&
           (slot.state == SlotState::Full || slot.state == SlotState::Consumer);
  };
  if (failed(blockFor(op, interp, channel, laneIndex, index, "full", isFull)))
    return failure();
  bool none = isa<NoneType>(channel->op.getResult().getType().getPayload());
  if (!slot.written && !none)
    return interp.fail(
        op, slotText(*channel, laneIndex, index) + " was not written",
        Verdict::Race);
  moved(slot, SlotState::Consumer, op, pipe.self());
  slot.holds[reader] = Hold::Holds;
  auto handle = std::make_shared<SlotHandle>();
  handle->channel = channel;
  handle->lane = laneIndex;
  handle->index = index;
  handle->turn = turn;
  handle->reader = reader;
  // Each reader has a tile of its own, which its own release poisons.
  if (slot.payload)
    handle->view = channel->readers.size() == 1
                       ? slot.payload
                       : std::make_shared<Tile>(*slot.payload);
  return handle;
}

static void giveBack(Operation *op, PipeState &pipe, SlotHandle &handle) {
  Slot &slot = handle.slot();
  slot.holds[handle.reader] = Hold::Released;
  bool last =
      llvm::all_of(slot.holds, [](Hold h) { return h == Hold::Released; });
  moved(slot, last ? SlotState::Free : SlotState::Consumer, op, pipe.self());
  auto spoil = [&](Tile &tile) {
    std::fill(tile.data.begin(), tile.data.end(), poison);
    tile.released = slotText(*handle.channel, handle.lane, handle.index);
  };
  if (handle.view)
    spoil(*handle.view);
  if (last && slot.payload)
    spoil(*slot.payload);
}

/// The role's reader number of a channel, or failure.
static FailureOr<unsigned> readerIndex(Operation *op, Interp &interp,
                                       const Channel &channel) {
  PipeState &pipe = interp.state<PipeState>();
  int reader = channel.readerOf(pipe.fibers->self());
  if (reader < 0)
    return interp.fail(op, "role " + pipe.self().name +
                               " is not a consumer of channel '" +
                               channel.name + "'");
  return unsigned(reader);
}

static LogicalResult acquire(pipe::AcquireOp op, Interp &interp) {
  auto channel = interp.get(op.getChannel()).share<Channel>();
  Type payload = op.getChannel().getType().getPayload();
  if (!isa<TileType, NoneType>(payload))
    return interp.fail(op,
                       "channel '" + channel->name + "' does not hold a tile");
  auto handle = takeFree(op, interp, channel);
  if (failed(handle))
    return failure();
  record(interp.state<PipeState>(), PipeTrace::Kind::Acquire, channel->number,
         (*handle)->turn, op);
  interp.set(op.getSlot(), Datum(std::shared_ptr<Object>(*handle)));
  return success();
}

static LogicalResult commit(pipe::CommitOp op, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  if (!pipe.fibers->yield())
    return failure();
  auto handle = interp.get(op.getSlot()).share<SlotHandle>();
  Slot &slot = handle->slot();
  if (failed(checkHeld(op, interp, *handle)))
    return failure();
  RoleFiber &role = pipe.self();
  bool fills = slot.written;
  for (mlir::Value value : op.getFutures()) {
    auto future = interp.get(value).share<Future>();
    fills |= future->writesSlot(handle.get());
    slot.pending.push_back(future);
    llvm::erase(role.open, future);
  }
  for (auto &future : role.open)
    if (future->writesSlot(handle.get()))
      return interp.fail(
          op,
          "commits " + slotText(*handle->channel, handle->lane, handle->index) +
              " while a copy that was neither joined nor "
              "named fills it",
          Verdict::Race);
  bool none = isa<NoneType>(op.getSlot().getType().getPayload());
  if (!fills && !none)
    return interp.fail(op,
                       slotText(*handle->channel, handle->lane, handle->index) +
                           " was not written",
                       Verdict::Race);
  moved(slot, SlotState::Full, op, role);
  record(pipe, PipeTrace::Kind::Commit, handle->channel->number, handle->turn,
         op);
  return success();
}

static LogicalResult wait(pipe::WaitOp op, Interp &interp) {
  auto channel = interp.get(op.getChannel()).share<Channel>();
  if (channel->lanes.size() != 1)
    return interp.fail(op, "channel '" + channel->name + "' has " +
                               Twine(channel->lanes.size()) +
                               " lanes but a payload comes from 1");
  auto reader = readerIndex(op, interp, *channel);
  if (failed(reader))
    return failure();
  auto handle = takeFull(op, interp, channel, 0, *reader);
  if (failed(handle))
    return failure();
  ++channel->next[*reader];
  record(interp.state<PipeState>(), PipeTrace::Kind::Wait, channel->number,
         (*handle)->turn, op, !(*handle)->slot().pending.empty());
  interp.set(op.getPayload(),
             (*handle)->view ? Datum(std::shared_ptr<Object>((*handle)->view))
                             : Datum());
  interp.set(op.getSlot(), Datum(std::shared_ptr<Object>(*handle)));
  return success();
}

static LogicalResult release(pipe::ReleaseOp op, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  if (!pipe.fibers->yield())
    return failure();
  auto handle = interp.get(op.getSlot()).share<SlotHandle>();
  if (failed(checkHeld(op, interp, *handle)))
    return failure();
  for (auto &future : pipe.self().open)
    if (handle->view && future->readsTile(handle->view.get())) {
      (void)interp.fail(
          op,
          "releases " +
              slotText(*handle->channel, handle->lane, handle->index) +
              " while an operation that was not joined reads it",
          Verdict::Race);
      interp.report().note("issued by role " + future->by,
                           future->op->getLoc());
      return failure();
    }
  record(pipe, PipeTrace::Kind::Release, handle->channel->number, handle->turn,
         op);
  giveBack(op, pipe, *handle);
  return success();
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static LogicalResult send(pipe::SendOp op, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  auto channel = interp.get(op.getChannel()).share<Channel>();
  auto handle = takeFree(op, interp, channel);
  if (failed(handle))
    return failure();
  Slot &slot = (*handle)->slot();
  slot.words.clear();
  for (mlir::Value word : op.getWords())
    slot.words.push_back(int32_t(interp.getInt(word)));
  slot.written = true;
  moved(slot, SlotState::Full, op, pipe.self());
  record(pipe, PipeTrace::Kind::Send, channel->number, (*handle)->turn, op);
  return success();
}

static LogicalResult recv(pipe::RecvOp op, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  auto channel = interp.get(op.getChannel()).share<Channel>();
  auto reader = readerIndex(op, interp, *channel);
  if (failed(reader))
    return failure();
  SmallVector<std::shared_ptr<SlotHandle>> handles;
  for (size_t lane = 0; lane < channel->lanes.size(); ++lane) {
    auto handle = takeFull(op, interp, channel, lane, *reader);
    if (failed(handle))
      return failure();
    handles.push_back(*handle);
  }
  uint64_t turn = channel->next[*reader]++;
  unsigned result = 0;
  for (auto &handle : handles) {
    for (int32_t word : handle->slot().words)
      if (result < op.getNumResults())
        interp.set(op->getResult(result++), Datum::ofInt(word));
    giveBack(op, pipe, *handle);
  }
  if (result != op.getNumResults())
    return interp.fail(op, "receives " + Twine(op.getNumResults()) +
                               " words but " + Twine(result) + " were sent");
  record(pipe, PipeTrace::Kind::Recv, channel->number, turn, op);
  return success();
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

std::optional<LogicalResult> attn::sim::runSlotOp(Operation *op,
                                                  Interp &interp) {
  if (auto x = dyn_cast<pipe::AcquireOp>(op))
    return acquire(x, interp);
  if (auto x = dyn_cast<pipe::CommitOp>(op))
    return commit(x, interp);
  if (auto x = dyn_cast<pipe::WaitOp>(op))
    return wait(x, interp);
  if (auto x = dyn_cast<pipe::ReleaseOp>(op))
    return release(x, interp);
  if (auto x = dyn_cast<pipe::SendOp>(op))
    return send(x, interp);
  if (auto x = dyn_cast<pipe::RecvOp>(op))
    return recv(x, interp);
  return std::nullopt;
}
