//===- PipeInterp.cpp - issued operations, work, dispatch -----------------===//
//
// An issued operation is an action of its agent: it happens at any time until
// something waits for it, and reads and writes memory when it happens.
//
//   issue tma {copy k}  ->  future, an action of the TMA engine
//   join                ->  blocks until the action has happened
//
// Invariant: what an operation has captured by value is as it was at the issue.
//
//===----------------------------------------------------------------------===//

#include "PipeState.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

//===----------------------------------------------------------------------===//
// Issued operations
//===----------------------------------------------------------------------===//

/// Values from above that the region reads.
static SmallVector<mlir::Value> captures(Region &region) {
  SmallVector<mlir::Value> values;
  region.walk([&](Operation *op) {
    for (mlir::Value operand : op->getOperands()) {
      Region *from = operand.getParentRegion();
      if (!region.isAncestor(from) && !llvm::is_contained(values, operand))
        values.push_back(operand);
    }
  });
  return values;
}

static LogicalResult issue(pipe::IssueOp op, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  if (!pipe.fibers->yield())
    return failure();
  RoleFiber &role = pipe.self();
  auto future = std::make_shared<Future>();
  future->op = op;
  future->by = role.name;
  interp.set(op.getFuture(), Datum(std::shared_ptr<Object>(future)));
  if (op.getAgent() == pipe::Agent::Threads) {
    if (failed(interp.run(op.getBody(), {}, future->results)))
      return failure();
    future->done = true;
    return success();
  }
  // The agent sees the operands as they are now, but reads the memory behind
  // them when it comes to it.
  auto later = std::make_shared<Interp>(interp);
  for (mlir::Value value : captures(op.getBody())) {
    const Datum &datum = interp.get(value);
    if (auto handle = datum.share<SlotHandle>()) {
      if (failed(checkHeld(op, interp, *handle)))
        return failure();
      future->writes.push_back(handle);
    } else if (auto tile = datum.share<Tile>()) {
      future->reads.push_back(tile->whole ? tile->whole : tile);
    }
  }
  role.open.push_back(future);
  int queue = -1;
  // Groups of one issuer finish in order; TMA copies in any.
  if (op.getAgent() != pipe::Agent::Tma)
    queue = int(pipe.fibers->self()) * 4 + int(op.getAgent());
  pipe.fibers->addAction(
      [op, later, future, &pipe]() mutable {
        pipe.agent = op.getAgent();
        LogicalResult ran = later->run(op.getBody(), {}, future->results);
        pipe.agent.reset();
        future->done = true;
        if (failed(ran))
          pipe.fibers->stop();
      },
      nullptr, queue);
  return success();
}

static LogicalResult join(pipe::JoinOp op, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  auto future = interp.get(op.getFuture()).share<Future>();
  bool go = pipe.fibers->block([future] { return future->done; }, op,
                               [future] {
                                 return "pipe.join: the operation of role " +
                                        future->by + " has not finished";
                               });
  if (!go)
    return failure();
  llvm::erase(pipe.self().open, future);
  if (mlir::Value payload = op.getPayload()) {
    if (future->results.size() != 1)
      return interp.fail(op, "joins an operation without a value");
    interp.set(payload, Datum(future->results.front()));
  }
  interp.set(op.getDone(), Datum::make<DoneToken>());
  return success();
}

//===----------------------------------------------------------------------===//
// Replicas
//===----------------------------------------------------------------------===//

static LogicalResult gather(pipe::GatherOp op, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  RoleFiber &role = pipe.self();
  uint32_t self = pipe.fibers->self();
  uint64_t turn = pipe.gatherTurns[{op, self}]++;
  auto key = std::make_pair(op.getOperation(), turn);
  Gathering &mine = pipe.gatherings[key];
  mine.parts.resize(role.replicas);
  for (mlir::Value value : op.getValues())
    mine.parts[role.rank].push_back(Datum(interp.get(value)));
  ++mine.given;
  unsigned all = role.replicas;
  bool go =
      pipe.fibers->block([&mine, all] { return mine.given == all; }, op,
                         [&mine, all, role = role.role] {
                           return "pipe.gather: " + std::to_string(mine.given) +
                                  " of " + std::to_string(all) +
                                  " replicas of role '" + role + "' have come";
                         });
  if (!go)
    return failure();
  record(pipe, PipeTrace::Kind::Gather, 0, turn, op);
  unsigned result = 0;
  for (unsigned value = 0; value < op.getValues().size(); ++value)
    for (auto &part : mine.parts) {
      if (result >= op.getNumResults())
        return interp.fail(op, "gathers from " + Twine(all) +
                                   " replicas but has " +
                                   Twine(op.getNumResults()) + " results");
      interp.set(op->getResult(result++), Datum(part[value]));
    }
  if (++mine.taken == all)
    pipe.gatherings.erase(key);
  return success();
}

/// The turn comes when the replica before has passed its own of this round;
/// replica 0 follows the last one of the round before.
static LogicalResult takeTurn(pipe::TakeTurnOp op, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  RoleFiber &role = pipe.self();
  if (role.taken != role.passed)
    return interp.fail(op,
                       "takes turn " + Twine(role.taken) +
                           " while it has turn " + Twine(role.passed),
                       Verdict::ResourceError);
  uint32_t before =
      pipe.fibers->self() + uint32_t(role.rank ? -1 : role.replicas - 1);
  uint64_t needed = role.taken + (role.rank ? 1 : 0);
  const RoleFiber &other = pipe.roles[before];
  bool go = pipe.fibers->block(
      [&other, needed] { return other.passed >= needed; }, op,
      [&other, needed] {
        return "pipe.take_turn: role " + other.name + " has passed " +
               std::to_string(other.passed) + " turns of " +
               std::to_string(needed);
      });
  if (!go)
    return failure();
  record(pipe, PipeTrace::Kind::TakeTurn, before, needed, op);
  ++pipe.self().taken;
  return success();
}

static LogicalResult passTurn(pipe::PassTurnOp op, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  if (!pipe.fibers->yield())
    return failure();
  RoleFiber &role = pipe.self();
  if (role.taken != role.passed + 1)
    return interp.fail(op,
                       "passes turn " + Twine(role.passed) + " but has taken " +
                           Twine(role.taken),
                       Verdict::ResourceError);
  record(pipe, PipeTrace::Kind::PassTurn, 0, role.passed, op);
  ++role.passed;
  return success();
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Which CTA takes item `index` of the dynamic queue.  A CTA's items come in
/// ascending order, and every distribution is one that the queue can give.
static int64_t takerOf(int64_t index, const LaunchOptions &options) {
  if (index < int64_t(options.takers.size()))
    return options.takers[index];
  switch (options.schedule) {
  case ScheduleKind::RoundRobin:
    return index % options.ctas;
  case ScheduleKind::Adversarial:
    return int64_t(options.seed % uint64_t(options.ctas));
  case ScheduleKind::Random:
    break;
  }
  uint64_t z = (options.seed + 1) * 0x9e3779b97f4a7c15ull + uint64_t(index);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return int64_t((z >> 8) % uint64_t(options.ctas));
}

static LogicalResult nextWork(pipe::NextWorkOp op, Interp &interp) {
  auto *plan = interp.get(op.getPlan()).as<PlanHandle>();
  if (!plan)
    return interp.fail(op, "needs a plan");
  int64_t count = op.getMerges() ? plan->header->merges : plan->header->items;
  int64_t index;
  if (op.getOrder() == pipe::WorkOrder::Static) {
    int64_t previous = interp.getInt(op.getPrevious());
    index = previous < 0 ? interp.cta() : previous + interp.ctas();
  } else {
    PipeState &pipe = interp.state<PipeState>();
    index = pipe.lastItem + 1;
    while (index < count && takerOf(index, interp.options()) != interp.cta())
      ++index;
    pipe.lastItem = std::min(index, count);
  }
  interp.set(op.getIndex(), Datum::ofInt(index < count ? index : -1));
  return success();
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

static LogicalResult declare(pipe::ChannelOp op, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  auto channel = std::make_shared<Channel>();
  channel->op = op;
  channel->name = op.getName().str();
  channel->number = unsigned(pipe.channels.size());
  pipe::ChannelType type = op.getResult().getType();
  channel->lanes.resize(type.getLanes());
  for (Lane &lane : channel->lanes)
    lane.slots.resize(type.getDepth());
  pipe.channels.push_back(channel);
  interp.set(op.getResult(), Datum(std::shared_ptr<Object>(channel)));
  return success();
}

LogicalResult attn::sim::runPipeOp(Operation *op, Interp &interp) {
  if (auto x = dyn_cast<pipe::ChannelOp>(op))
    return declare(x, interp);
  if (auto x = dyn_cast<pipe::RolesOp>(op))
    return runRoles(x, interp);
  if (auto x = dyn_cast<pipe::NextWorkOp>(op))
    return nextWork(x, interp);
  if (!interp.state<PipeState>().fibers)
    return interp.fail(op, "stands outside of the roles");
  if (std::optional<LogicalResult> result = runSlotOp(op, interp))
    return *result;
  if (auto x = dyn_cast<pipe::GatherOp>(op))
    return gather(x, interp);
  if (auto x = dyn_cast<pipe::TakeTurnOp>(op))
    return takeTurn(x, interp);
  if (auto x = dyn_cast<pipe::PassTurnOp>(op))
    return passTurn(x, interp);
  if (auto x = dyn_cast<pipe::IssueOp>(op))
    return issue(x, interp);
  if (auto x = dyn_cast<pipe::JoinOp>(op))
    return join(x, interp);
  return interp.fail(op, "cannot be interpreted");
}
