//===- ChannelAnalysis.cpp - waits, barriers and positions of one role ----===//
//
// Why acquire needs no wait of its own: slots are taken in order, so the next
// one is the oldest free slot.  It is free for the executing thread by the
// order of the text; other warps may still read it only if no barrier stands
// between its release and here, that is if it is among the `dirty` ones: the
// youngest `dirty` of `depth - held` free slots.
//
//   depth 2, one held by this visit, barrier at the visit's wait:
//     dirty 0 < free 1   -> the copy of the next visit needs no barrier
//   depth 1, given back after the loops:
//     dirty 1 >= free 1  -> barrier before the next item's copy
//
//===----------------------------------------------------------------------===//

#include "ChannelAnalysis.h"
#include "Channels.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

void ChannelAnalysis::Channel::join(const Channel &o) {
  held = std::max(held, o.held);
  dirty = std::max(dirty, o.dirty);
  if (o.ages.empty())
    return;
  if (ages.empty()) {
    // A wait on this channel is only reached where the slot was committed.
    ages = o.ages;
    return;
  }
  if (ages.size() == o.ages.size()) {
    for (unsigned i = 0; i < ages.size(); ++i)
      ages[i] = std::min(ages[i], o.ages[i]);
    return;
  }
  int32_t least =
      std::min(*llvm::min_element(ages), *llvm::min_element(o.ages));
  ages.assign(std::max(ages.size(), o.ages.size()), least);
}

void ChannelAnalysis::join(State &a, const State &b) {
  for (unsigned i = 0; i < a.size(); ++i)
    a[i].join(b[i]);
}

void ChannelAnalysis::barrier(State &state) {
  for (Channel &channel : state)
    channel.dirty = 0;
}

LogicalResult ChannelAnalysis::runOp(Operation *op, State &state) {
  if (auto acquire = dyn_cast<pipe::AcquireOp>(op)) {
    unsigned index = indexOf(acquire.getChannel());
    Channel &channel = state[index];
    if (channel.dirty > 0 && channel.dirty >= depths[index] - channel.held) {
      syncs.insert(op);
      barrier(state);
    }
    channel.held = std::min(channel.held + 1, depths[index]);
    return success();
  }
  if (auto commit = dyn_cast<pipe::CommitOp>(op)) {
    auto acquire = commit.getSlot().getDefiningOp<pipe::AcquireOp>();
    if (!acquire)
      return op->emitOpError("slot does not come from pipe.acquire");
    unsigned index = indexOf(acquire.getChannel());
    for (Channel &channel : state)
      for (int32_t &age : channel.ages)
        ++age;
    if (int32_t(state[index].ages.size()) < depths[index])
      state[index].ages.push_back(0);
    return success();
  }
  if (auto wait = dyn_cast<pipe::WaitOp>(op)) {
    unsigned index = indexOf(wait.getChannel());
    Channel &channel = state[index];
    int32_t pending = channel.ages.empty() ? 0 : channel.ages.front();
    auto [it, fresh] = pendings.try_emplace(op, pending);
    if (!fresh)
      it->second = std::min(it->second, pending);
    if (!channel.ages.empty())
      channel.ages.erase(channel.ages.begin());
    barrier(state);
    if (registers[index]) {
      channel.held = std::max(channel.held - 1, 0);
      channel.dirty = std::min(channel.dirty + 1, depths[index]);
    }
    return success();
  }
  if (auto release = dyn_cast<pipe::ReleaseOp>(op)) {
    auto wait = release.getSlot().getDefiningOp<pipe::WaitOp>();
    if (!wait)
      return op->emitOpError("slot does not come from pipe.wait");
    unsigned index = indexOf(wait.getChannel());
    if (registers[index])
      return success();
    state[index].held = std::max(state[index].held - 1, 0);
    state[index].dirty = std::min(state[index].dirty + 1, depths[index]);
    return success();
  }
  if (isa<pipe::IssueOp>(op))
    return success();
  if (auto ifOp = dyn_cast<scf::IfOp>(op)) {
    State other = state;
    if (failed(runBlock(ifOp.getThenRegion().front(), state)))
      return failure();
    if (!ifOp.getElseRegion().empty() &&
        failed(runBlock(ifOp.getElseRegion().front(), other)))
      return failure();
    join(state, other);
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return runLoop({&loop.getRegion().front()}, state);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return runLoop({&loop.getBefore().front(), &loop.getAfter().front()},
                   state);
  if (op->getNumRegions())
    return op->emitOpError("is not built for one role at level L3");
  return success();
}

LogicalResult ChannelAnalysis::runLoop(ArrayRef<Block *> blocks, State &state) {
  State entry = state;
  while (true) {
    State exit = entry;
    if (blocks.size() == 2 && failed(runBlock(*blocks[0], exit)))
      return failure();
    State back = exit;
    if (failed(runBlock(*blocks.back(), back)))
      return failure();
    State joined = entry;
    join(joined, back);
    // Ages only fall, the rest only grows, all within the depth: this ends.
    if (joined == entry) {
      state = exit;
      return success();
    }
    entry = joined;
  }
}

LogicalResult ChannelAnalysis::runBlock(Block &block, State &state) {
  for (Operation &op : block)
    if (failed(runOp(&op, state)))
      return failure();
  return success();
}

bool ChannelAnalysis::touches(Operation *op, unsigned a, unsigned b) const {
  WalkResult result = op->walk([&](Operation *inner) {
    Value channel;
    if (auto acquire = dyn_cast<pipe::AcquireOp>(inner))
      channel = acquire.getChannel();
    else if (auto wait = dyn_cast<pipe::WaitOp>(inner))
      channel = wait.getChannel();
    if (channel && (indexOf(channel) == a || indexOf(channel) == b))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// True if at every border of a block both channels have seen the same number
/// of acquires and of waits.
bool ChannelAnalysis::moveInStep(unsigned a, unsigned b, Block &block) const {
  int32_t acquires = 0, waits = 0;
  auto side = [&](Value channel) {
    unsigned index = indexOf(channel);
    return index == a ? 1 : index == b ? -1 : 0;
  };
  for (Operation &op : block) {
    if (auto acquire = dyn_cast<pipe::AcquireOp>(op)) {
      acquires += side(acquire.getChannel());
      continue;
    }
    if (auto wait = dyn_cast<pipe::WaitOp>(op)) {
      waits += side(wait.getChannel());
      continue;
    }
    if (!op.getNumRegions() || !touches(&op, a, b))
      continue;
    if (acquires || waits)
      return false;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (!moveInStep(a, b, inner))
          return false;
  }
  return !acquires && !waits;
}

LogicalResult ChannelAnalysis::run(ArrayRef<pipe::ChannelOp> channels,
                                   Block &body) {
  for (auto [i, op] : llvm::enumerate(channels)) {
    pipe::ChannelOp channel = op;
    indices[channel.getResult()] = i;
    depths.push_back(channel.getResult().getType().getDepth());
    leaders.push_back(i);
  }
  for (pipe::ChannelOp channel : channels)
    registers.push_back(heldInRegisters(channel.getResult()));
  for (unsigned b = 1; b < channels.size(); ++b)
    for (unsigned a = 0; a < b; ++a)
      if (leaders[a] == a && depths[a] == depths[b] && moveInStep(a, b, body)) {
        leaders[b] = a;
        break;
      }
  State state(channels.size());
  return runBlock(body, state);
}
