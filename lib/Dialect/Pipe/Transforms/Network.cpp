//===- Network.cpp - several roles run on numbers -------------------------===//
//
// Each replica of a role is run from its start until a channel stops it, again
// and again as the others get further: a run is a function of what its channels
// give it, so a new run repeats the old one and goes on from there.
//
//   load:    a full turn, stops at the third acquire of 'k'
//   compute: waits, releases one slot of 'k', stops at the next wait
//   load:    the same turn again, the third acquire passes ...
//
// Roles that read through blocking waits alone give the same streams in every
// order (Kahn), so one order decides whether they can block one another.
//
// Invariant: what a replica has put into a channel never changes.
//
//===----------------------------------------------------------------------===//

#include "NumberRun.h"

using namespace mlir;
using namespace attn::pipe;

namespace {

/// One replica of a role and what it has done so far, over all of its runs.
struct Fiber {
  RoleAttr role;
  unsigned index = 0; ///< of the role
  unsigned rank = 0;
  Region *body = nullptr;
  bool finished = false;
  Operation *stop = nullptr; ///< where it is stopped
  llvm::DenseMap<Operation *, unsigned> commits, waits, releases;
  /// Words by channel, one message after the other.
  llvm::DenseMap<Operation *, std::vector<int64_t>> words;
  unsigned turns = 0; ///< given to the next replica
  /// Operands of each gather, in order.
  std::vector<std::vector<int64_t>> gathered;
  unsigned progress = 0;
};

class Network {
public:
  Network(RolesOp roles, uint32_t seed) : roles(roles), seed(seed) {
    for (unsigned i = 0; i < roles.getBodies().size(); ++i)
      for (int32_t rank = 0; rank < roles.getRole(i).getReplicas(); ++rank) {
        Fiber &fiber = fibers.emplace_back();
        fiber.role = roles.getRole(i);
        fiber.index = i;
        fiber.rank = unsigned(rank);
        fiber.body = &roles.getBodies()[i];
      }
  }

  LogicalResult run();

  /// Slots of a channel that are full for every reader, ever.
  unsigned committed(ChannelOp channel) const {
    unsigned least = ~0u;
    for (const Fiber &fiber : fibers)
      if (fiber.role.getName() == channel.getProducerAttr())
        least = std::min(least, fiber.commits.lookup(channel));
    return (least == ~0u ? 0 : least) + channel.getInitial();
  }
  /// Slots that every reader has given back, ever.
  unsigned released(ChannelOp channel) const {
    unsigned least = ~0u;
    for (const Fiber &fiber : fibers)
      if (isConsumer(channel, fiber.role))
        least = std::min(least, fiber.releases.lookup(channel));
    return least == ~0u ? 0 : least;
  }
  static bool isConsumer(ChannelOp channel, RoleAttr role) {
    return llvm::is_contained(channel.getConsumers(),
                              Attribute(role.getName()));
  }
  /// Index of the next item for the `turn`-th request of a role, or -1.
  static int64_t item(unsigned turn, unsigned items) {
    return turn < items ? int64_t(turn) : -1;
  }

  std::vector<Fiber> fibers;

private:
  LogicalResult reportDeadlock();
  LogicalResult checkEnd();
  RolesOp roles;
  uint32_t seed;
};

/// One run of a replica, from its start to where a channel stops it.
class FiberRun : public NumberRun {
public:
  FiberRun(Network &network, Fiber &fiber, uint32_t seed, uint32_t above)
      : NumberRun(seed, above, /*maxTurns=*/64), network(network),
        fiber(fiber) {}

  Operation *stop = nullptr;
  unsigned steps = 0;

private:
  LogicalResult runPipe(Operation *op, bool &known) override;
  /// Stops the run: the failure carries no diagnostic.
  LogicalResult block(Operation *op) {
    stop = op;
    return failure();
  }
  LogicalResult acquire(Operation *op, ChannelOp channel);
  LogicalResult wait(Operation *op, ChannelOp channel);
  LogicalResult takeTurn(Operation *op);
  LogicalResult passTurn(Operation *op);
  void commit(ChannelOp channel) {
    unsigned count = ++commits[channel];
    unsigned &all = fiber.commits[channel];
    all = std::max(all, count);
  }
  void release(ChannelOp channel) {
    unsigned count = ++releases[channel];
    unsigned &all = fiber.releases[channel];
    all = std::max(all, count);
  }

  Network &network;
  Fiber &fiber;
  unsigned work = 0, gathers = 0, taken = 0, passed = 0;
  llvm::DenseMap<Operation *, unsigned> acquires, commits, waits, releases;
};

} // namespace

LogicalResult FiberRun::acquire(Operation *op, ChannelOp channel) {
  unsigned count = acquires[channel];
  unsigned depth = channel.getResult().getType().getDepth();
  unsigned full = count + channel.getInitial();
  if (full >= depth + network.released(channel)) {
    // A cycle with initial tokens is its own credit: no free slot is a fault of
    // the roles, not something to wait for.
    if (channel.getInitial())
      return op->emitError()
             << "channel '" << channel.getName() << "' would hold "
             << full + 1 - network.released(channel)
             << " messages but its depth is " << depth;
    return block(op);
  }
  acquires[channel] = count + 1;
  return success();
}

LogicalResult FiberRun::wait(Operation *op, ChannelOp channel) {
  unsigned count = waits[channel];
  if (count >= network.committed(channel))
    return block(op);
  waits[channel] = count + 1;
  unsigned &all = fiber.waits[channel];
  all = std::max(all, count + 1);
  return success();
}

/// A replica's turn comes when the one before it has passed its own of the same
/// round; replica 0 follows the last one of the round before.
LogicalResult FiberRun::takeTurn(Operation *op) {
  if (taken != passed)
    return op->emitError() << "takes turn " << taken << " while it has turn "
                           << passed;
  unsigned replicas = fiber.role.getReplicas();
  unsigned before = (fiber.rank + replicas - 1) % replicas;
  for (const Fiber &other : network.fibers)
    if (other.index == fiber.index && other.rank == before &&
        other.turns < taken + (fiber.rank > 0))
      return block(op);
  ++taken;
  return success();
}

LogicalResult FiberRun::passTurn(Operation *op) {
  if (taken != passed + 1)
    return op->emitError() << "passes turn " << passed << " but has taken "
                           << taken;
  fiber.turns = std::max(fiber.turns, ++passed);
  return success();
}

LogicalResult FiberRun::runPipe(Operation *op, bool &known) {
  known = true;
  ++steps;
  if (auto next = dyn_cast<NextWorkOp>(op)) {
    trips.clear();
    set(next.getIndex(), Network::item(work++, maxWork));
    return success();
  }
  if (auto x = dyn_cast<AcquireOp>(op))
    return acquire(op, x.getChannel().getDefiningOp<ChannelOp>());
  if (auto x = dyn_cast<WaitOp>(op))
    return wait(op, x.getChannel().getDefiningOp<ChannelOp>());
  if (auto x = dyn_cast<CommitOp>(op)) {
    commit(channelOf(x.getSlot()));
    return success();
  }
  if (auto x = dyn_cast<ReleaseOp>(op)) {
    release(channelOf(x.getSlot()));
    return success();
  }
  if (isa<TakeTurnOp>(op))
    return takeTurn(op);
  if (isa<PassTurnOp>(op))
    return passTurn(op);
  if (auto send = dyn_cast<SendOp>(op)) {
    auto channel = send.getChannel().getDefiningOp<ChannelOp>();
    if (failed(acquire(op, channel)))
      return failure();
    std::vector<int64_t> &words = fiber.words[channel];
    size_t begin = size_t(commits[channel]) * send.getWords().size();
    if (words.size() == begin)
      for (Value word : send.getWords())
        words.push_back(get(word));
    commit(channel);
    return success();
  }
  if (auto recv = dyn_cast<RecvOp>(op)) {
    auto channel = recv.getChannel().getDefiningOp<ChannelOp>();
    unsigned message = waits[channel];
    if (failed(wait(op, channel)))
      return failure();
    ChannelType type = channel.getResult().getType();
    size_t count = cast<WordsType>(type.getPayload()).getCount();
    size_t result = 0;
    for (const Fiber &other : network.fibers) {
      if (other.role.getName() != channel.getProducerAttr())
        continue;
      for (size_t i = 0; i < count; ++i, ++result) {
        int64_t word = 0; // an initial token
        if (message >= channel.getInitial())
          word = other.words.lookup(
              channel)[(message - channel.getInitial()) * count + i];
        if (result < recv->getNumResults())
          set(recv->getResult(result), word);
      }
    }
    release(channel);
    return success();
  }
  if (auto gather = dyn_cast<GatherOp>(op)) {
    unsigned turn = gathers++;
    if (fiber.gathered.size() == turn) {
      std::vector<int64_t> values;
      for (Value value : gather.getValues())
        values.push_back(get(value));
      fiber.gathered.push_back(std::move(values));
    }
    unsigned replicas = gather.getReplicas();
    for (const Fiber &other : network.fibers) {
      if (other.index != fiber.index)
        continue;
      if (other.gathered.size() <= turn)
        return block(op);
      for (auto [v, number] : llvm::enumerate(other.gathered[turn]))
        if (v * replicas + other.rank < gather->getNumResults())
          set(gather->getResult(v * replicas + other.rank), number);
    }
    return success();
  }
  known = false;
  return success();
}

LogicalResult Network::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (Fiber &fiber : fibers) {
      if (fiber.finished)
        continue;
      FiberRun run(*this, fiber, seed ^ (fiber.index * 40503u + fiber.rank),
                   seed);
      run.setRank(*fiber.body, fiber.rank);
      bool ended = succeeded(run.run(*fiber.body));
      if (!ended && !run.stop)
        return failure(); // with a diagnostic
      fiber.finished = ended;
      fiber.stop = run.stop;
      moved |= ended || run.steps > fiber.progress;
      fiber.progress = run.steps;
    }
  }
  for (const Fiber &fiber : fibers)
    if (!fiber.finished)
      return reportDeadlock();
  return checkEnd();
}

LogicalResult Network::reportDeadlock() {
  InFlightDiagnostic diag = roles.emitError("roles block one another");
  for (const Fiber &fiber : fibers) {
    if (fiber.finished)
      continue;
    Diagnostic &note = diag.attachNote(fiber.stop->getLoc());
    note << "role " << fiber.role.getName();
    if (fiber.role.getReplicas() > 1)
      note << " replica " << fiber.rank;
    if (isa<GatherOp>(fiber.stop)) {
      note << " waits for the other replicas";
      continue;
    }
    if (isa<TakeTurnOp>(fiber.stop)) {
      note << " waits for its turn " << fiber.turns;
      continue;
    }
    auto channel = fiber.stop->getOperand(0).getDefiningOp<ChannelOp>();
    bool producer = isa<AcquireOp, SendOp>(fiber.stop);
    unsigned depth = channel.getResult().getType().getDepth();
    unsigned count =
        producer ? fiber.commits.lookup(channel) : fiber.waits.lookup(channel);
    note << " waits for slot " << count % depth << " of channel '"
         << channel.getName() << "' to be " << (producer ? "free" : "full")
         << " (" << committed(channel) << " filled, " << released(channel)
         << " given back)";
  }
  return failure();
}

LogicalResult Network::checkEnd() {
  for (const Fiber &fiber : fibers)
    if (const Fiber &first = *llvm::find_if(
            fibers, [&](const Fiber &f) { return f.index == fiber.index; });
        first.turns != fiber.turns)
      return roles.emitError()
             << "replica " << fiber.rank << " of role " << fiber.role.getName()
             << " takes " << fiber.turns << " turns but replica 0 takes "
             << first.turns;
  WalkResult result = roles->getParentRegion()->walk([&](ChannelOp channel) {
    if (roles.indexOf(channel.getProducer()) < 0)
      return WalkResult::advance();
    // The last word has no verdict: all tokens of its cycle but one are left.
    unsigned depth = channel.getResult().getType().getDepth();
    unsigned allowed = channel.getInitial() ? depth - 1 : 0;
    unsigned left = committed(channel) - released(channel);
    if (left <= allowed)
      return WalkResult::advance();
    roles.emitError() << "ends with " << left << " slots of channel '"
                      << channel.getName() << "' in use but " << allowed
                      << " may be";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult attn::pipe::runNetwork(RolesOp roles, uint32_t seed) {
  return Network(roles, seed).run();
}
