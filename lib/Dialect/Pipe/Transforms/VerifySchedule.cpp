//===- VerifySchedule.cpp - level verifier of L2 --------------------------===//
//
// Two kinds of checks.  By structure: a slot comes from an acquire or a wait of
// the right role, is committed or released, and is not used afterwards; a
// future is used in its block, and what reads or fills a slot later is named
// where the slot is finished.  By running the roles on numbers (NumberRun.h):
// with one role each acquire must find a free slot and each wait a full one;
// several roles must not block one another (Network.cpp).  In the end every
// slot is free.
//
//   for %i = 0 to %n { acquire; commit }        // no wait
//   error: slot 0 of channel 'k' is full but must be free (loops of 2 turns)
//
// A role whose visits depend on the work item alone passes for every item if it
// passes for loops of 0, 1, 2, 3, 7 and mixed lengths, which the sequence
// yields.
//
// Invariant: no op but those of pipe, scf and arith is looked into.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Pipe/Transforms/Passes.h"

#include "NumberRun.h"

namespace attn::pipe {
#define GEN_PASS_DEF_PIPEVERIFYSCHEDULE
#include "attn/Dialect/Pipe/PipePasses.h.inc"
} // namespace attn::pipe

using namespace mlir;
using namespace attn::pipe;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// Name of the role that `op` is in.
static StringRef roleOf(Operation *op) {
  Region *region = op->getParentRegion();
  while (region && !isa<RolesOp>(region->getParentOp()))
    region = region->getParentOp()->getParentRegion();
  if (!region)
    return "";
  auto roles = cast<RolesOp>(region->getParentOp());
  return cast<RoleAttr>(roles.getRoles()[region->getRegionNumber()])
      .getName()
      .getValue();
}

/// The slot of an acquire or a wait: finished exactly once, in its block, and
/// used neither by the other side's op nor after it was finished.
static LogicalResult checkSpan(Operation *op, Value slot, Value payload,
                               bool producer) {
  Block *block = op->getBlock();
  Operation *end = nullptr;
  StringRef done = producer ? "committed" : "released";
  for (Operation *user : slot.getUsers()) {
    bool commits = isa<CommitOp>(user), releases = isa<ReleaseOp>(user);
    if (!commits && !releases)
      continue;
    if (commits != producer)
      return user->emitError()
             << (producer ? "releases a slot that was acquired"
                          : "commits a slot that was waited for");
    if (end)
      return user->emitError() << "slot is " << done << " twice";
    if (user->getBlock() != block)
      return user->emitError()
             << "slot is not " << done << " in the block of its '"
             << op->getName().getStringRef() << "'";
    end = user;
  }
  if (!end)
    return op->emitError() << "slot is never " << done;
  SmallVector<Operation *> users(slot.getUsers());
  if (payload)
    llvm::append_range(users, payload.getUsers());
  for (Operation *user : users) {
    Operation *here = block->findAncestorOpInBlock(*user);
    if (user != end && here && end->isBeforeInBlock(here))
      return user->emitError() << "slot is used after it was " << done;
  }
  return success();
}

/// Operations under way when a slot is finished must be named: copies into it
/// by its commit, reads of its payload by its release.
static LogicalResult checkTokens(Operation *op, Value used, bool producer) {
  for (Operation *user : used.getUsers()) {
    auto issue = user->getParentOfType<IssueOp>();
    if (!issue || issue->getBlock() != op->getBlock())
      continue;
    bool named = false;
    for (Operation *other : issue.getFuture().getUsers()) {
      named |= isa<CommitOp>(other);
      if (auto join = dyn_cast<JoinOp>(other))
        for (Operation *taker : join.getDone().getUsers())
          named |= producer ? isa<CommitOp>(taker) : isa<ReleaseOp>(taker);
    }
    if (!named)
      return issue.emitError()
             << (producer ? "fills a slot that is committed without its future"
                          : "reads a slot that is released without its token");
  }
  return success();
}

/// The channel of a send or recv belongs to the role around it.
static LogicalResult checkWords(Operation *op, ChannelOp channel, bool sends) {
  if (!channel)
    return op->emitError("channel is not a declared one");
  StringRef role = roleOf(op);
  if (sends && role != channel.getProducer())
    return op->emitError() << "role '" << role << "' sends on channel '"
                           << channel.getName() << "' but its producer is '"
                           << channel.getProducer() << "'";
  if (!sends && llvm::none_of(channel.getConsumers(), [&](Attribute consumer) {
        return cast<StringAttr>(consumer).getValue() == role;
      }))
    return op->emitError() << "role '" << role << "' receives from channel '"
                           << channel.getName() << "' but is not a consumer";
  return success();
}

/// Channels beside the roles name roles that there are, and have a lane for
/// each replica of their producer.
static LogicalResult checkRoles(RolesOp roles) {
  for (ChannelOp channel : roles->getBlock()->getOps<ChannelOp>()) {
    int producer = roles.indexOf(channel.getProducer());
    SmallVector<StringRef> names{channel.getProducer()};
    for (Attribute consumer : channel.getConsumers())
      names.push_back(cast<StringAttr>(consumer).getValue());
    for (StringRef name : names)
      if (roles.indexOf(name) < 0)
        return channel.emitError()
               << "channel '" << channel.getName() << "' names role '" << name
               << "' but there is none";
    int32_t lanes = channel.getResult().getType().getLanes();
    int32_t replicas = roles.getRole(producer).getReplicas();
    if (lanes != replicas)
      return channel.emitError()
             << "channel '" << channel.getName() << "' has " << lanes
             << " lanes but its producer has " << replicas << " replicas";
  }
  return success();
}

static LogicalResult checkStructure(Operation *root) {
  WalkResult result = root->walk([&](Operation *op) -> WalkResult {
    LogicalResult ok = success();
    if (auto acquire = dyn_cast<AcquireOp>(op)) {
      auto channel = acquire.getChannel().getDefiningOp<ChannelOp>();
      if (!channel)
        return WalkResult(op->emitError("channel is not a declared one"));
      if (roleOf(op) != channel.getProducer())
        return WalkResult(op->emitError()
                          << "role '" << roleOf(op)
                          << "' acquires from channel '" << channel.getName()
                          << "' but its producer is '" << channel.getProducer()
                          << "'");
      ok = checkSpan(op, acquire.getSlot(), Value(), true);
      if (succeeded(ok))
        ok = checkTokens(op, acquire.getSlot(), true);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      auto channel = wait.getChannel().getDefiningOp<ChannelOp>();
      if (!channel)
        return WalkResult(op->emitError("channel is not a declared one"));
      StringRef role = roleOf(op);
      if (llvm::none_of(channel.getConsumers(), [&](Attribute consumer) {
            return cast<StringAttr>(consumer).getValue() == role;
          }))
        return WalkResult(op->emitError()
                          << "role '" << role << "' waits for channel '"
                          << channel.getName() << "' but is not a consumer");
      ok = checkSpan(op, wait.getSlot(), wait.getPayload(), false);
      if (succeeded(ok))
        ok = checkTokens(op, wait.getPayload(), false);
    } else if (auto issue = dyn_cast<IssueOp>(op)) {
      for (Operation *user : issue.getFuture().getUsers())
        if (user->getBlock() != op->getBlock())
          return WalkResult(
              user->emitError("future leaves the block of its 'pipe.issue'"));
      unsigned joins =
          llvm::count_if(issue.getFuture().getUsers(), llvm::IsaPred<JoinOp>);
      if (joins > 1)
        return WalkResult(op->emitError()
                          << "is joined " << joins << " times but can be once");
      if (issue.getFuture().use_empty())
        return WalkResult(op->emitError("is never waited for"));
    } else if (auto send = dyn_cast<SendOp>(op)) {
      ok = checkWords(op, send.getChannel().getDefiningOp<ChannelOp>(), true);
    } else if (auto recv = dyn_cast<RecvOp>(op)) {
      ok = checkWords(op, recv.getChannel().getDefiningOp<ChannelOp>(), false);
    } else if (isa<CommitOp, ReleaseOp>(op)) {
      if (!channelOf(op->getOperand(0)))
        return WalkResult(
            op->emitError("slot comes from neither an acquire nor a wait"));
    }
    return WalkResult(ok);
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// One role: nothing may ever block
//===----------------------------------------------------------------------===//

namespace {
enum class State { Free, Producer, Full, Consumer };

const char *nameOf(State state) {
  switch (state) {
  case State::Free:
    return "free";
  case State::Producer:
    return "held by its producer";
  case State::Full:
    return "full";
  case State::Consumer:
    return "held by a consumer";
  }
  return "";
}

/// The text's order alone must satisfy every acquire and wait.
class OneRole : public NumberRun {
public:
  // A loop that data controls ends by itself after a few turns.
  OneRole(uint32_t seed) : NumberRun(seed, seed, /*maxTurns=*/8) {}

  /// Every slot is free again.
  LogicalResult checkEnd(RolesOp roles);

private:
  struct Ring {
    SmallVector<State> slots;
    unsigned producer = 0, consumer = 0;
  };

  LogicalResult runPipe(Operation *op, bool &known) override;
  LogicalResult step(Operation *op, State from, State to, Ring &ring,
                     unsigned index, StringRef channel);
  Ring &ringOf(ChannelOp channel) {
    Ring &ring = rings[channel];
    if (ring.slots.empty())
      ring.slots.assign(channel.getResult().getType().getDepth(), State::Free);
    return ring;
  }

  unsigned work = 0;
  DenseMap<Value, unsigned> slotIndex;
  llvm::DenseMap<Operation *, Ring> rings;
};
} // namespace

LogicalResult OneRole::step(Operation *op, State from, State to, Ring &ring,
                            unsigned index, StringRef channel) {
  if (ring.slots[index] != from) {
    InFlightDiagnostic diag = op->emitError()
                              << "slot " << index << " of channel '" << channel
                              << "' is " << nameOf(ring.slots[index])
                              << " but must be " << nameOf(from);
    if (!trips.empty())
      diag << " (loops of" << trips << " turns)";
    return diag;
  }
  ring.slots[index] = to;
  return success();
}

LogicalResult OneRole::runPipe(Operation *op, bool &known) {
  known = true;
  if (auto next = dyn_cast<NextWorkOp>(op)) {
    trips.clear();
    set(next.getIndex(), work < maxWork ? work++ : -1);
    return success();
  }
  if (auto acquire = dyn_cast<AcquireOp>(op)) {
    auto channel = acquire.getChannel().getDefiningOp<ChannelOp>();
    Ring &ring = ringOf(channel);
    unsigned index = ring.producer;
    ring.producer = (index + 1) % ring.slots.size();
    slotIndex[acquire.getSlot()] = index;
    return step(op, State::Free, State::Producer, ring, index,
                channel.getName());
  }
  if (auto wait = dyn_cast<WaitOp>(op)) {
    auto channel = wait.getChannel().getDefiningOp<ChannelOp>();
    Ring &ring = ringOf(channel);
    unsigned index = ring.consumer;
    ring.consumer = (index + 1) % ring.slots.size();
    slotIndex[wait.getSlot()] = index;
    return step(op, State::Full, State::Consumer, ring, index,
                channel.getName());
  }
  if (isa<CommitOp, ReleaseOp>(op)) {
    bool commits = isa<CommitOp>(op);
    Value slot = op->getOperand(0);
    ChannelOp channel = channelOf(slot);
    return step(op, commits ? State::Producer : State::Consumer,
                commits ? State::Full : State::Free, ringOf(channel),
                slotIndex.lookup(slot), channel.getName());
  }
  known = false;
  return success();
}

LogicalResult OneRole::checkEnd(RolesOp roles) {
  // By name, so that the message does not depend on addresses.
  SmallVector<ChannelOp> channels;
  for (auto &[op, ring] : rings)
    channels.push_back(cast<ChannelOp>(op));
  llvm::sort(channels, [](ChannelOp a, ChannelOp b) {
    return a.getName() < b.getName();
  });
  for (ChannelOp channel : channels)
    for (auto [i, state] : llvm::enumerate(rings[channel].slots))
      if (state != State::Free)
        return roles.emitError() << "ends with slot " << i << " of channel '"
                                 << channel.getName() << "' " << nameOf(state);
  return success();
}

namespace {
/// The verdict on an op as an analysis: a pass that changes nothing and says so
/// is not followed by another run of the roles.
struct ScheduleVerdict {
  /// Each run takes three items with lengths of their own; the pass runs after
  /// every scheduling pass of every compile, so it has milliseconds.
  static constexpr unsigned runs = 8, networkRuns = 12;
  LogicalResult ok;

  explicit ScheduleVerdict(Operation *root) : ok(verify(root)) {}

private:
  static uint32_t seed(unsigned run) { return run * 2654435761u; }

  static LogicalResult verify(Operation *root) {
    if (failed(checkStructure(root)))
      return failure();
    WalkResult result = root->walk(
        [&](RolesOp roles) -> WalkResult { return verifyRoles(roles); });
    return failure(result.wasInterrupted());
  }

  static LogicalResult verifyRoles(RolesOp roles) {
    if (failed(checkRoles(roles)))
      return failure();
    if (roles.getBodies().size() != 1 || roles.getRole(0).getReplicas() != 1) {
      for (unsigned run = 0; run < networkRuns; ++run)
        if (failed(runNetwork(roles, seed(run))))
          return failure();
      return success();
    }
    for (unsigned i = 0; i < runs; ++i) {
      OneRole run(seed(i));
      if (failed(run.run(roles.getBodies()[0])) || failed(run.checkEnd(roles)))
        return failure();
    }
    return success();
  }
};

struct VerifySchedule
    : attn::pipe::impl::PipeVerifyScheduleBase<VerifySchedule> {
  void runOnOperation() override {
    if (failed(getAnalysis<ScheduleVerdict>().ok))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
