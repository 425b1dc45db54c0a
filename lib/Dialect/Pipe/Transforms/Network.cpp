//===- Network.cpp - several roles run on numbers -------------------------===//
//
// Two steps.  First the replicas run with channels that hold any number of
// messages, and stop only for words that were not sent yet: that gives the trace
// of each, the order of its channel ops.  A run is a function of its words, so a
// replica that has stopped is run again from its start when there are more.
// Then the traces go side by side with slots as many as there are:
//
//   load:    acquire k, commit k, acquire k, commit k, acquire k   stops: 2 slots
//   compute: wait k, release k, wait k                             lets it go on
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

/// A step of a replica that others can wait for; `channel` where it has one.
struct Event {
  enum Kind { Acquire, Commit, Wait, Release, Gather, TakeTurn, PassTurn };
  Kind kind;
  Operation *op;
  ChannelOp channel;
};

/// One replica of a role.
struct Fiber {
  RoleAttr role;
  unsigned index = 0; ///< of the role
  unsigned rank = 0;
  Region *body = nullptr;

  // Of the first step.
  std::vector<Event> trace;
  bool finished = false;
  unsigned progress = 0;
  /// Words by channel, one message after the other.
  llvm::DenseMap<Operation *, std::vector<int64_t>> words;
  /// Operands of each gather, in order.
  std::vector<std::vector<int64_t>> gathered;

  // Of the second.
  size_t at = 0; ///< events that are behind it
  llvm::DenseMap<Operation *, unsigned> acquires, commits, waits, releases;
  unsigned gathers = 0, taken = 0, passed = 0;
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

  LogicalResult run() {
    if (failed(runOnNumbers()) || failed(runTraces()))
      return failure();
    return checkEnd();
  }

  /// Index of the next item for the `turn`-th request of a role, or -1.
  static int64_t item(unsigned turn, unsigned items) {
    return turn < items ? int64_t(turn) : -1;
  }
  static bool isConsumer(ChannelOp channel, RoleAttr role) {
    return llvm::is_contained(channel.getConsumers(),
                              Attribute(role.getName()));
  }

  std::vector<Fiber> fibers;

private:
  LogicalResult runOnNumbers();
  LogicalResult runTraces();
  FailureOr<bool> step(Fiber &fiber);
  FailureOr<bool> acquire(Fiber &fiber, Operation *op, ChannelOp channel);
  FailureOr<bool> takeTurn(Fiber &fiber, Operation *op);
  LogicalResult reportDeadlock();
  LogicalResult checkEnd();

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

  RolesOp roles;
  uint32_t seed;
};

/// One run of a replica, from its start to its end or to words that it lacks.
class FiberRun : public NumberRun {
public:
  FiberRun(Network &network, Fiber &fiber, uint32_t seed, uint32_t above)
      : NumberRun(seed, above, /*maxTurns=*/64), network(network),
        fiber(fiber) {
    fiber.trace.clear();
  }

  bool stopped = false;

private:
  LogicalResult runPipe(Operation *op, bool &known) override;
  void record(Event::Kind kind, Operation *op, ChannelOp channel = {}) {
    fiber.trace.push_back({kind, op, channel});
  }
  /// Stops the run: the failure carries no diagnostic.
  LogicalResult stop() {
    stopped = true;
    return failure();
  }
  void send(SendOp op, ChannelOp channel);
  LogicalResult recv(RecvOp op, ChannelOp channel);
  LogicalResult gather(GatherOp op);

  Network &network;
  Fiber &fiber;
  unsigned work = 0, gathers = 0;
  llvm::DenseMap<Operation *, size_t> sent, received;
};

} // namespace

//===----------------------------------------------------------------------===//
// Traces
//===----------------------------------------------------------------------===//

void FiberRun::send(SendOp op, ChannelOp channel) {
  record(Event::Acquire, op, channel);
  std::vector<int64_t> &words = fiber.words[channel];
  size_t begin = sent[channel]++ * op.getWords().size();
  if (words.size() == begin)
    for (Value word : op.getWords())
      words.push_back(get(word));
  record(Event::Commit, op, channel);
}

LogicalResult FiberRun::recv(RecvOp op, ChannelOp channel) {
  record(Event::Wait, op, channel);
  size_t message = received[channel]++, initial = channel.getInitial();
  ChannelType type = channel.getResult().getType();
  size_t count = cast<WordsType>(type.getPayload()).getCount();
  size_t result = 0;
  for (const Fiber &other : network.fibers) {
    if (other.role.getName() != channel.getProducerAttr())
      continue;
    auto words = other.words.find(channel);
    for (size_t i = 0; i < count; ++i, ++result) {
      int64_t word = 0; // an initial token
      if (message >= initial) {
        size_t place = (message - initial) * count + i;
        if (words == other.words.end() || place >= words->second.size())
          return stop();
        word = words->second[place];
      }
      if (result < op->getNumResults())
        set(op->getResult(result), word);
    }
  }
  record(Event::Release, op, channel);
  return success();
}

LogicalResult FiberRun::gather(GatherOp op) {
  record(Event::Gather, op);
  unsigned turn = gathers++;
  if (fiber.gathered.size() == turn) {
    std::vector<int64_t> values;
    for (Value value : op.getValues())
      values.push_back(get(value));
    fiber.gathered.push_back(std::move(values));
  }
  unsigned replicas = op.getReplicas();
  for (const Fiber &other : network.fibers) {
    if (other.index != fiber.index)
      continue;
    if (other.gathered.size() <= turn)
      return stop();
    for (auto [v, number] : llvm::enumerate(other.gathered[turn]))
      if (v * replicas + other.rank < op->getNumResults())
        set(op->getResult(v * replicas + other.rank), number);
  }
  return success();
}

LogicalResult FiberRun::runPipe(Operation *op, bool &known) {
  known = true;
  auto declared = [](Value channel) {
    return channel.getDefiningOp<ChannelOp>();
  };
  if (auto next = dyn_cast<NextWorkOp>(op)) {
    trips.clear();
    set(next.getIndex(), Network::item(work++, maxWork));
  } else if (auto x = dyn_cast<AcquireOp>(op)) {
    record(Event::Acquire, op, declared(x.getChannel()));
  } else if (auto x = dyn_cast<WaitOp>(op)) {
    record(Event::Wait, op, declared(x.getChannel()));
  } else if (auto x = dyn_cast<CommitOp>(op)) {
    record(Event::Commit, op, channelOf(x.getSlot()));
  } else if (auto x = dyn_cast<ReleaseOp>(op)) {
    record(Event::Release, op, channelOf(x.getSlot()));
  } else if (isa<TakeTurnOp>(op)) {
    record(Event::TakeTurn, op);
  } else if (isa<PassTurnOp>(op)) {
    record(Event::PassTurn, op);
  } else if (auto x = dyn_cast<SendOp>(op)) {
    send(x, declared(x.getChannel()));
  } else if (auto x = dyn_cast<RecvOp>(op)) {
    return recv(x, declared(x.getChannel()));
  } else if (auto x = dyn_cast<GatherOp>(op)) {
    return gather(x);
  } else {
    known = false;
  }
  return success();
}

LogicalResult Network::runOnNumbers() {
  for (bool moved = true; moved;) {
    moved = false;
    for (Fiber &fiber : fibers) {
      if (fiber.finished)
        continue;
      FiberRun run(*this, fiber, seed ^ (fiber.index * 40503u + fiber.rank),
                   seed);
      run.setRank(*fiber.body, fiber.rank);
      fiber.finished = succeeded(run.run(*fiber.body));
      if (!fiber.finished && !run.stopped)
        return failure(); // with a diagnostic
      moved |= fiber.finished || fiber.trace.size() > fiber.progress;
      fiber.progress = fiber.trace.size();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Traces side by side
//===----------------------------------------------------------------------===//

FailureOr<bool> Network::acquire(Fiber &fiber, Operation *op,
                                 ChannelOp channel) {
  unsigned &count = fiber.acquires[channel];
  unsigned depth = channel.getResult().getType().getDepth();
  unsigned full = count + channel.getInitial(), free = released(channel);
  if (full < depth + free) {
    ++count;
    return true;
  }
  // A cycle with initial tokens is its own credit: no free slot is a fault of
  // the roles, not something to wait for.
  if (channel.getInitial())
    return op->emitError() << "channel '" << channel.getName()
                           << "' would hold " << full + 1 - free
                           << " messages but its depth is " << depth;
  return false;
}

/// A replica's turn comes when the one before it has passed its own of the same
/// round; replica 0 follows the last one of the round before.
FailureOr<bool> Network::takeTurn(Fiber &fiber, Operation *op) {
  if (fiber.taken != fiber.passed)
    return op->emitError() << "takes turn " << fiber.taken
                           << " while it has turn " << fiber.passed;
  unsigned replicas = fiber.role.getReplicas();
  unsigned before = (fiber.rank + replicas - 1) % replicas;
  for (const Fiber &other : fibers)
    if (other.index == fiber.index && other.rank == before &&
        other.passed < fiber.taken + (fiber.rank > 0))
      return false;
  ++fiber.taken;
  return true;
}

/// The next event of a replica, if it can happen now.
FailureOr<bool> Network::step(Fiber &fiber) {
  auto [kind, op, channel] = fiber.trace[fiber.at];
  switch (kind) {
  case Event::Acquire:
    return acquire(fiber, op, channel);
  case Event::Commit:
    ++fiber.commits[channel];
    return true;
  case Event::Wait: {
    unsigned &count = fiber.waits[channel];
    bool full = count < committed(channel);
    count += full;
    return full;
  }
  case Event::Release:
    ++fiber.releases[channel];
    return true;
  case Event::Gather: {
    // All replicas have come to it.
    unsigned turn = fiber.gathers;
    for (const Fiber &other : fibers) {
      bool stands = other.at < other.trace.size() &&
                    other.trace[other.at].kind == Event::Gather;
      if (other.index == fiber.index && other.gathers + stands <= turn)
        return false;
    }
    ++fiber.gathers;
    return true;
  }
  case Event::TakeTurn:
    return takeTurn(fiber, op);
  case Event::PassTurn:
    if (fiber.taken != fiber.passed + 1)
      return op->emitError() << "passes turn " << fiber.passed
                             << " but has taken " << fiber.taken;
    ++fiber.passed;
    return true;
  }
  return false;
}

LogicalResult Network::runTraces() {
  for (bool moved = true; moved;) {
    moved = false;
    for (Fiber &fiber : fibers)
      while (fiber.at < fiber.trace.size()) {
        FailureOr<bool> went = step(fiber);
        if (failed(went))
          return failure();
        if (!*went)
          break;
        ++fiber.at;
        moved = true;
      }
  }
  for (const Fiber &fiber : fibers)
    if (fiber.at < fiber.trace.size())
      return reportDeadlock();
  return success();
}

LogicalResult Network::reportDeadlock() {
  InFlightDiagnostic diag = roles.emitError("roles block one another");
  for (const Fiber &fiber : fibers) {
    if (fiber.at == fiber.trace.size())
      continue;
    Event stop = fiber.trace[fiber.at];
    Diagnostic &note = diag.attachNote(stop.op->getLoc());
    note << "role " << fiber.role.getName();
    if (fiber.role.getReplicas() > 1)
      note << " replica " << fiber.rank;
    if (stop.kind == Event::Gather) {
      note << " waits for the other replicas";
      continue;
    }
    if (stop.kind == Event::TakeTurn) {
      note << " waits for its turn " << fiber.taken;
      continue;
    }
    bool producer = stop.kind == Event::Acquire;
    unsigned depth = stop.channel.getResult().getType().getDepth();
    unsigned count = producer ? fiber.commits.lookup(stop.channel)
                              : fiber.waits.lookup(stop.channel);
    note << " waits for slot " << count % depth << " of channel '"
         << stop.channel.getName() << "' to be " << (producer ? "free" : "full")
         << " (" << committed(stop.channel) << " filled, "
         << released(stop.channel) << " given back)";
  }
  return failure();
}

LogicalResult Network::checkEnd() {
  const Fiber *first = nullptr;
  for (const Fiber &fiber : fibers) {
    if (fiber.rank == 0)
      first = &fiber;
    if (first->passed != fiber.passed)
      return roles.emitError()
             << "replica " << fiber.rank << " of role " << fiber.role.getName()
             << " takes " << fiber.passed << " turns but replica 0 takes "
             << first->passed;
  }
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
