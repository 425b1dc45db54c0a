//===- VerifySchedule.cpp - level verifier of L2 --------------------------===//
//
// Two kinds of checks.  By structure: a slot comes from an acquire or a wait of
// the right role, is committed or released, and is not used afterwards; a
// future is used in its block.  By running the roles on numbers: integer
// arithmetic is exact, every other integer takes values from a fixed sequence,
// and each acquire must find a free slot and each wait a full one.
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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"

namespace attn::pipe {
#define GEN_PASS_DEF_PIPEVERIFYSCHEDULE
#include "attn/Dialect/Pipe/PipePasses.h.inc"
} // namespace attn::pipe

using namespace mlir;
using namespace attn::pipe;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

static ChannelOp channelOf(Value slot) {
  if (auto acquire = slot.getDefiningOp<AcquireOp>())
    return acquire.getChannel().getDefiningOp<ChannelOp>();
  if (auto wait = slot.getDefiningOp<WaitOp>())
    return wait.getChannel().getDefiningOp<ChannelOp>();
  return {};
}

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
    } else if (auto issue = dyn_cast<IssueOp>(op)) {
      for (Operation *user : issue.getFuture().getUsers())
        if (user->getBlock() != op->getBlock())
          return WalkResult(
              user->emitError("future leaves the block of its 'pipe.issue'"));
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
// A run on numbers
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

/// Runs one role.  Integers are exact where arith makes them and come from a
/// sequence elsewhere; everything else has no value.
class NumberRun {
public:
  NumberRun(unsigned seed) : seed(seed) {}

  LogicalResult run(Region &role);
  /// Every slot is free again.
  LogicalResult checkEnd(RolesOp roles);

private:
  struct Ring {
    SmallVector<State> slots;
    unsigned producer = 0, consumer = 0;
  };

  LogicalResult runBlock(Block &block, SmallVectorImpl<int64_t> &results);
  LogicalResult runOp(Operation *op);
  LogicalResult runLoop(Operation *op);
  LogicalResult step(Operation *op, State from, State to, Ring &ring,
                     unsigned index, StringRef channel);
  Ring &ringOf(ChannelOp channel) {
    Ring &ring = rings[channel];
    if (ring.slots.empty())
      ring.slots.assign(channel.getResult().getType().getDepth(), State::Free);
    return ring;
  }

  int64_t get(Value value) {
    auto [entry, isNew] = numbers.try_emplace(value, 0);
    if (isNew) // defined above the roles
      if (auto constant = value.getDefiningOp<arith::ConstantOp>())
        if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
          entry->second = integer.getValue().getSExtValue();
    return entry->second;
  }
  void take(Block &block, ArrayRef<int64_t> values) {
    for (auto [arg, value] : llvm::zip_equal(block.getArguments(), values))
      numbers[arg] = value;
  }
  int64_t draw(Type type);
  LogicalResult arithmetic(Operation *op, bool &known);

  static constexpr unsigned maxWork = 3;
  static constexpr unsigned maxOps = 200000;

  uint32_t seed;
  unsigned work = 0, ops = 0;
  DenseMap<Value, int64_t> numbers;
  DenseMap<Value, unsigned> slotIndex;
  llvm::DenseMap<Operation *, Ring> rings;
  std::string trips;
};
} // namespace

/// The sequence holds borders of blocks, their neighbours and small numbers.
int64_t NumberRun::draw(Type type) {
  static constexpr int64_t pool[] = {0,  1,   2,   3,   4,   7,   63,  64,
                                     65, 127, 128, 129, 191, 192, 448, 449};
  seed = seed * 1664525u + 1013904223u;
  uint32_t bits = seed >> 16;
  return type.isInteger(1) ? bits & 1 : pool[bits % std::size(pool)];
}

LogicalResult NumberRun::arithmetic(Operation *op, bool &known) {
  known = true;
  auto wrap = [&](int64_t v) {
    unsigned width = op->getResult(0).getType().getIntOrFloatBitWidth();
    if (width == 1)
      return v & 1;
    return width >= 64 ? v
                       : int64_t(uint64_t(v) << (64 - width)) >> (64 - width);
  };
  auto set = [&](int64_t v) {
    numbers[op->getResult(0)] = wrap(v);
    return success();
  };
  if (auto x = dyn_cast<arith::ConstantOp>(op)) {
    auto integer = dyn_cast<IntegerAttr>(x.getValue());
    return set(integer ? integer.getValue().getSExtValue() : 0);
  }
  int64_t a = op->getNumOperands() > 0 ? get(op->getOperand(0)) : 0;
  int64_t b = op->getNumOperands() > 1 ? get(op->getOperand(1)) : 0;
  unsigned inWidth =
      op->getNumOperands() > 0 && op->getOperand(0).getType().isInteger()
          ? op->getOperand(0).getType().getIntOrFloatBitWidth()
          : 64;
  uint64_t mask = inWidth >= 64 ? ~uint64_t(0) : (uint64_t(1) << inWidth) - 1;
  uint64_t ua = uint64_t(a) & mask, ub = uint64_t(b) & mask;
  auto floorDiv = [](int64_t n, int64_t d) {
    return n / d - ((n % d != 0) && ((n < 0) != (d < 0)));
  };
  bool divisible = b != 0 && b != -1;
  if (isa<arith::AddIOp>(op))
    return set(int64_t(uint64_t(a) + uint64_t(b)));
  if (isa<arith::SubIOp>(op))
    return set(int64_t(uint64_t(a) - uint64_t(b)));
  if (isa<arith::MulIOp>(op))
    return set(int64_t(uint64_t(a) * uint64_t(b)));
  if (isa<arith::DivSIOp>(op))
    return set(divisible ? a / b : b ? -a : 0);
  if (isa<arith::FloorDivSIOp>(op))
    return set(divisible ? floorDiv(a, b) : b ? -a : 0);
  if (isa<arith::CeilDivSIOp>(op))
    return set(divisible ? -floorDiv(-a, b) : b ? -a : 0);
  if (isa<arith::RemSIOp>(op))
    return set(divisible ? a % b : 0);
  if (isa<arith::DivUIOp>(op))
    return set(ub ? int64_t(ua / ub) : 0);
  if (isa<arith::RemUIOp>(op))
    return set(ub ? int64_t(ua % ub) : 0);
  if (isa<arith::CeilDivUIOp>(op))
    return set(ub ? int64_t(ua / ub + (ua % ub != 0)) : 0);
  if (isa<arith::MinSIOp>(op))
    return set(std::min(a, b));
  if (isa<arith::MaxSIOp>(op))
    return set(std::max(a, b));
  if (isa<arith::MinUIOp>(op))
    return set(ua < ub ? a : b);
  if (isa<arith::MaxUIOp>(op))
    return set(ua > ub ? a : b);
  if (isa<arith::AndIOp>(op))
    return set(a & b);
  if (isa<arith::OrIOp>(op))
    return set(a | b);
  if (isa<arith::XOrIOp>(op))
    return set(a ^ b);
  if (isa<arith::ShLIOp>(op))
    return set(int64_t(uint64_t(a) << (ub % inWidth)));
  if (isa<arith::ShRSIOp>(op))
    return set(a >> (ub % inWidth));
  if (isa<arith::ShRUIOp>(op))
    return set(int64_t(ua >> (ub % inWidth)));
  if (isa<arith::ExtSIOp>(op))
    return set(inWidth == 1 ? -a : a);
  if (isa<arith::ExtUIOp>(op))
    return set(int64_t(ua));
  if (isa<arith::TruncIOp, arith::IndexCastOp>(op))
    return set(a);
  if (isa<arith::SelectOp>(op))
    return set(a ? b : get(op->getOperand(2)));
  if (auto x = dyn_cast<arith::CmpIOp>(op)) {
    switch (x.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return set(a == b);
    case arith::CmpIPredicate::ne:
      return set(a != b);
    case arith::CmpIPredicate::slt:
      return set(a < b);
    case arith::CmpIPredicate::sle:
      return set(a <= b);
    case arith::CmpIPredicate::sgt:
      return set(a > b);
    case arith::CmpIPredicate::sge:
      return set(a >= b);
    case arith::CmpIPredicate::ult:
      return set(ua < ub);
    case arith::CmpIPredicate::ule:
      return set(ua <= ub);
    case arith::CmpIPredicate::ugt:
      return set(ua > ub);
    case arith::CmpIPredicate::uge:
      return set(ua >= ub);
    }
  }
  known = false;
  return success();
}

LogicalResult NumberRun::step(Operation *op, State from, State to, Ring &ring,
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

LogicalResult NumberRun::runLoop(Operation *op) {
  SmallVector<int64_t> state, results;
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Region &region = get(branch.getCondition()) ? branch.getThenRegion()
                                                : branch.getElseRegion();
    if (!region.empty() && failed(runBlock(region.front(), results)))
      return failure();
    state = results;
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    int64_t lo = get(loop.getLowerBound()), hi = get(loop.getUpperBound());
    int64_t by = std::max<int64_t>(get(loop.getStep()), 1);
    trips += " " + std::to_string(hi > lo ? (hi - lo + by - 1) / by : 0);
    for (Value init : loop.getInitArgs())
      state.push_back(get(init));
    for (int64_t i = lo; i < hi && ops < maxOps; i += by) {
      SmallVector<int64_t> args{i};
      llvm::append_range(args, state);
      take(*loop.getBody(), args);
      if (failed(runBlock(*loop.getBody(), results)))
        return failure();
      state = results;
    }
  } else {
    auto whileOp = cast<scf::WhileOp>(op);
    for (Value init : whileOp.getInits())
      state.push_back(get(init));
    // A loop that data controls ends by itself after a few turns.
    for (unsigned turn = 0;; ++turn) {
      take(whileOp.getBefore().front(), state);
      if (failed(runBlock(whileOp.getBefore().front(), results)))
        return failure();
      bool again = results.front() && turn < 8 && ops < maxOps;
      state.assign(results.begin() + 1, results.end());
      if (!again)
        break;
      take(whileOp.getAfter().front(), state);
      if (failed(runBlock(whileOp.getAfter().front(), results)))
        return failure();
      state = results;
    }
  }
  for (auto [result, number] : llvm::zip_equal(op->getResults(), state))
    numbers[result] = number;
  return success();
}

LogicalResult NumberRun::runOp(Operation *op) {
  ++ops;
  if (isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op))
    return runLoop(op);
  if (auto next = dyn_cast<NextWorkOp>(op)) {
    trips.clear();
    numbers[next.getIndex()] = work < maxWork ? work++ : -1;
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
  bool known = false;
  if (op->getNumResults() == 1 &&
      op->getResult(0).getType().isSignlessInteger() &&
      isa_and_nonnull<arith::ArithDialect>(op->getDialect()) &&
      failed(arithmetic(op, known)))
    return failure();
  if (!known)
    for (Value result : op->getResults())
      if (result.getType().isSignlessInteger())
        numbers[result] = draw(result.getType());
  return success();
}

LogicalResult NumberRun::runBlock(Block &block,
                                  SmallVectorImpl<int64_t> &results) {
  results.clear();
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (Value operand : op.getOperands())
        results.push_back(get(operand));
      return success();
    }
    if (failed(runOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult NumberRun::run(Region &role) {
  SmallVector<int64_t> results;
  return runBlock(role.front(), results);
}

LogicalResult NumberRun::checkEnd(RolesOp roles) {
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
struct VerifySchedule
    : attn::pipe::impl::PipeVerifyScheduleBase<VerifySchedule> {
  /// Each run takes three items with lengths of their own; the pass runs after
  /// every scheduling pass of every compile, so it has milliseconds.
  static constexpr unsigned runs = 8;

  void runOnOperation() override {
    Operation *root = getOperation();
    if (failed(checkStructure(root)))
      return signalPassFailure();
    WalkResult result = root->walk([&](RolesOp roles) -> WalkResult {
      if (roles.getBodies().size() != 1)
        return WalkResult(roles.emitError()
                          << "verification of " << roles.getBodies().size()
                          << " roles is not built; 1 is");
      for (unsigned seed = 0; seed < runs; ++seed) {
        NumberRun run(seed * 2654435761u);
        if (failed(run.run(roles.getBodies()[0])) ||
            failed(run.checkEnd(roles)))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
