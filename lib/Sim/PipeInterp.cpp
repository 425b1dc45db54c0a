//===- PipeInterp.cpp - channels and work of one role ---------------------===//
//
// One role in order: no wait may block, so each op finds its slot in the state
// that it needs or the run ends with the channel's name and the slot's number.
//
//   free -acquire-> producer -commit-> full -wait-> consumer -release-> free
//
// A payload is a tile of its own for each turn of its slot; release fills it
// with NaN and marks it, so a late reader is named.
//
// Invariant: at the end of the role every slot is free.
//
//===----------------------------------------------------------------------===//

#include "AttnInterp.h"

#include "attn/Dialect/Pipe/IR/Pipe.h"

#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::sim;

namespace {
enum class SlotState { Free, Producer, Full, Consumer };

struct Slot {
  SlotState state = SlotState::Free;
  std::shared_ptr<Tile> payload;
  bool written = false;
  uint64_t turn = 0; ///< counts acquires, so that a late handle is told apart
};

struct Channel : Object {
  std::string name;
  std::vector<Slot> slots;
  size_t producer = 0; ///< next slot to acquire
  size_t consumer = 0; ///< next slot to wait for
};

/// A slot as held by one side.
struct SlotHandle : Object {
  std::shared_ptr<Channel> channel;
  size_t index = 0;
  uint64_t turn = 0;
  bool producer = false;

  Slot &slot() { return channel->slots[index]; }
  bool holds(SlotState state, bool asProducer) {
    return slot().state == state && producer == asProducer &&
           turn == slot().turn;
  }
};

struct Future : Object {};

struct PipeState : HandlerState {
  std::vector<std::shared_ptr<Channel>> channels;
};
} // namespace

static const char *nameOf(SlotState state) {
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

/// Fails with the channel, the slot and its state.
static LogicalResult wrongState(Operation *op, Interp &interp,
                                const Channel &channel, size_t index,
                                const char *needed) {
  return interp.fail(
      op, "slot " + Twine(index) + " of channel '" + channel.name + "' is " +
              nameOf(channel.slots[index].state) + " but must be " + needed);
}

LogicalResult attn::sim::writeSlot(Operation *op, mlir::Value value,
                                   Tile &&tile, Interp &interp) {
  auto *handle = &interp.get<SlotHandle>(value);
  Slot &slot = handle->slot();
  if (!handle->holds(SlotState::Producer, true))
    return wrongState(op, interp, *handle->channel, handle->index,
                      "held by its producer");
  assert(tile.data.size() == slot.payload->data.size() &&
         "the slot's type gives the shape of both");
  slot.payload->data = std::move(tile.data);
  slot.written = true;
  return success();
}

static LogicalResult runChannelOp(Operation *op, Interp &interp) {
  auto acquireFrom = [&](mlir::Value value) {
    return interp.get(value).share<Channel>();
  };
  if (auto acquire = dyn_cast<pipe::AcquireOp>(op)) {
    auto channel = acquireFrom(acquire.getChannel());
    size_t index = channel->producer;
    Slot &slot = channel->slots[index];
    if (slot.state != SlotState::Free)
      return wrongState(op, interp, *channel, index, "free");
    auto type =
        dyn_cast<attn::TileType>(acquire.getChannel().getType().getPayload());
    if (!type)
      return interp.fail(op, "channel '" + channel->name +
                                 "' does not hold a tile");
    slot.state = SlotState::Producer;
    slot.written = false;
    slot.payload =
        std::make_shared<Tile>(type.getRows(), type.getCols(),
                               std::numeric_limits<float>::quiet_NaN());
    channel->producer = (index + 1) % channel->slots.size();
    auto handle = std::make_shared<SlotHandle>();
    handle->channel = channel;
    handle->index = index;
    handle->turn = ++slot.turn;
    handle->producer = true;
    interp.set(acquire.getSlot(), Datum(handle));
    return success();
  }
  if (auto commit = dyn_cast<pipe::CommitOp>(op)) {
    auto *handle = interp.get(commit.getSlot()).as<SlotHandle>();
    Slot &slot = handle->slot();
    if (!handle->holds(SlotState::Producer, true))
      return wrongState(op, interp, *handle->channel, handle->index,
                        "held by its producer");
    if (!slot.written)
      return interp.fail(op, "slot " + Twine(handle->index) + " of channel '" +
                                 handle->channel->name + "' was not written");
    slot.state = SlotState::Full;
    return success();
  }
  if (auto wait = dyn_cast<pipe::WaitOp>(op)) {
    auto channel = acquireFrom(wait.getChannel());
    size_t index = channel->consumer;
    Slot &slot = channel->slots[index];
    if (slot.state != SlotState::Full)
      return wrongState(op, interp, *channel, index, "full");
    slot.state = SlotState::Consumer;
    channel->consumer = (index + 1) % channel->slots.size();
    auto handle = std::make_shared<SlotHandle>();
    handle->channel = channel;
    handle->index = index;
    handle->turn = slot.turn;
    interp.set(wait.getPayload(), Datum(slot.payload));
    interp.set(wait.getSlot(), Datum(handle));
    return success();
  }
  auto release = cast<pipe::ReleaseOp>(op);
  auto *handle = interp.get(release.getSlot()).as<SlotHandle>();
  Slot &slot = handle->slot();
  if (!handle->holds(SlotState::Consumer, false))
    return wrongState(op, interp, *handle->channel, handle->index,
                      "held by a consumer");
  slot.state = SlotState::Free;
  std::fill(slot.payload->data.begin(), slot.payload->data.end(),
            std::numeric_limits<float>::quiet_NaN());
  slot.payload->released = "slot " + std::to_string(handle->index) +
                           " of channel '" + handle->channel->name + "'";
  return success();
}

static LogicalResult runRoles(pipe::RolesOp roles, Interp &interp) {
  if (roles.getBodies().size() != 1)
    return interp.fail(roles, "simulation of " +
                                  Twine(roles.getBodies().size()) +
                                  " roles is not built; 1 is");
  if (failed(interp.run(roles.getBodies()[0])))
    return failure();
  for (auto &channel : interp.state<PipeState>().channels)
    for (size_t i = 0; i < channel->slots.size(); ++i)
      if (channel->slots[i].state != SlotState::Free)
        return interp.fail(roles, "ends with slot " + Twine(i) +
                                      " of channel '" + channel->name + "' " +
                                      nameOf(channel->slots[i].state));
  return success();
}

LogicalResult attn::sim::runPipeOp(Operation *op, Interp &interp) {
  if (auto channel = dyn_cast<pipe::ChannelOp>(op)) {
    auto made = std::make_shared<Channel>();
    made->name = channel.getName().str();
    made->slots.resize(channel.getResult().getType().getDepth());
    interp.state<PipeState>().channels.push_back(made);
    interp.set(channel.getResult(), Datum(made));
    return success();
  }
  if (auto roles = dyn_cast<pipe::RolesOp>(op))
    return runRoles(roles, interp);
  if (isa<pipe::AcquireOp, pipe::CommitOp, pipe::WaitOp, pipe::ReleaseOp>(op))
    return runChannelOp(op, interp);
  if (auto issue = dyn_cast<pipe::IssueOp>(op)) {
    if (failed(interp.run(issue.getBody())))
      return failure();
    interp.set(issue.getFuture(), Datum::make<Future>());
    return success();
  }
  if (auto next = dyn_cast<pipe::NextWorkOp>(op)) {
    if (next.getOrder() != pipe::WorkOrder::Static)
      return interp.fail(op, "simulation of dynamic order is not built");
    auto *plan = interp.get(next.getPlan()).as<PlanHandle>();
    if (!plan)
      return interp.fail(op, "needs a plan");
    int64_t count =
        next.getMerges() ? plan->header->merges : plan->header->items;
    int64_t previous = interp.getInt(next.getPrevious());
    int64_t index = previous < 0 ? interp.cta() : previous + interp.ctas();
    interp.set(next.getIndex(), Datum::ofInt(index < count ? index : -1));
    return success();
  }
  return interp.fail(op, "cannot be interpreted");
}
