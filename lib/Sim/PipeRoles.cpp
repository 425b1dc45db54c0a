//===- PipeRoles.cpp - roles as fibers, and what they leave behind --------===//
//
// One fiber a replica of a role, under the launch's scheduler.
//
//   roles [load, compute x 2]  ->  fibers 'load', 'compute'[0], 'compute'[1]
//
// If none can go on, the report says for each at which op it waits, for which
// slot, who has that slot since when, and which roles have ended: both sides.
//
// Invariant: at the end every slot is free and every operation was joined; a
// feedback channel keeps depth - 1 tokens, the words that nobody will judge.
//
//===----------------------------------------------------------------------===//

#include "PipeState.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

std::string attn::sim::holderText(const PipeState &pipe, const Channel &channel,
                                  size_t lane, size_t index) {
  const Slot &slot = channel.lanes[lane].slots[index];
  std::string text = " (turn " + std::to_string(slot.turn) + ", phase " +
                     std::to_string(channel.phaseOf(slot.turn));
  auto names = [&](Hold hold) {
    std::string list;
    for (auto [i, h] : llvm::enumerate(slot.holds))
      if (h == hold)
        list +=
            (list.empty() ? "" : ", ") + pipe.roles[channel.readers[i]].name;
    return list;
  };
  if (slot.state == SlotState::Consumer) {
    std::string holding = names(Hold::Holds), missing = names(Hold::None);
    if (!holding.empty())
      text += "; held by " + holding;
    if (!missing.empty())
      text += "; not yet read by " + missing;
  } else if (slot.state == SlotState::Full) {
    std::string missing = names(Hold::None);
    if (!missing.empty())
      text += "; not yet read by " + missing;
  }
  if (slot.lastOp) {
    text += "; last moved by role " + slot.lastBy + " in " +
            slot.lastOp->getName().getStringRef().str();
    std::string where = locText(slot.lastOp->getLoc());
    if (!where.empty())
      text += " at " + where;
  }
  return text + ")";
}

/// Fibers of the roles, and the readers and lanes of every channel.
static LogicalResult bindRoles(pipe::RolesOp roles, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  pipe.roles.clear();
  for (auto [region, attr] : llvm::enumerate(roles.getRoles())) {
    auto role = cast<pipe::RoleAttr>(attr);
    for (int32_t rank = 0; rank < role.getReplicas(); ++rank) {
      RoleFiber fiber;
      fiber.role = role.getName().getValue().str();
      fiber.name = "'" + fiber.role + "'";
      if (role.getReplicas() > 1)
        fiber.name += "[" + std::to_string(rank) + "]";
      fiber.region = unsigned(region);
      fiber.rank = rank;
      fiber.replicas = role.getReplicas();
      pipe.roles.push_back(std::move(fiber));
    }
  }
  pipe.trace = PipeTrace();
  for (RoleFiber &fiber : pipe.roles)
    pipe.trace.replicas.push_back({fiber.name, uint32_t(fiber.rank), {}});
  for (auto &channel : pipe.channels) {
    pipe::ChannelOp op = channel->op;
    PipeTrace::Channel seen;
    seen.name = channel->name;
    seen.depth = uint32_t(channel->depth());
    seen.lanes = uint32_t(channel->lanes.size());
    for (auto [i, fiber] : llvm::enumerate(pipe.roles)) {
      if (llvm::is_contained(op.getConsumers().getAsValueRange<StringAttr>(),
                             StringRef(fiber.role))) {
        channel->readers.push_back(uint32_t(i));
        seen.readers.push_back(uint32_t(i));
      }
      if (op.getProducer() == fiber.role)
        seen.writers.push_back(uint32_t(i));
    }
    channel->next.assign(channel->readers.size(), 0);
    channel->feedback = op.getInitial() != 0;
    seen.feedback = channel->feedback;
    if (op.getInitial() != 0 && op.getInitial() != channel->depth())
      return interp.fail(op, "has " + Twine(op.getInitial()) +
                                 " initial tokens but depth " +
                                 Twine(channel->depth()));
    auto words =
        dyn_cast<pipe::WordsType>(op.getResult().getType().getPayload());
    for (Lane &lane : channel->lanes) {
      for (auto [i, slot] : llvm::enumerate(lane.slots)) {
        slot.holds.assign(channel->readers.size(), Hold::None);
        if (!channel->feedback)
          continue;
        slot.state = SlotState::Full;
        slot.turn = i;
        slot.written = true;
        slot.words.assign(words ? words.getCount() : 0, 0);
      }
      if (channel->feedback)
        lane.produced = channel->depth();
    }
    pipe.trace.channels.push_back(std::move(seen));
  }
  return success();
}

static void reportStuck(pipe::RolesOp roles, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  Report &report = interp.report();
  const std::vector<Waiter> &waiters = pipe.fibers->waiters();
  if (pipe.roles.size() == 1 && !waiters.empty()) {
    // The text of the op says it all.
    const Waiter &w = waiters.front();
    StringRef what = w.what;
    report.give(Verdict::Deadlock, what.split(" (turn").first, w.op->getLoc());
    return;
  }
  report.give(Verdict::Deadlock, "pipe.roles: no role can go on",
              roles.getLoc());
  for (uint32_t i = 0; i < pipe.roles.size(); ++i) {
    auto found = llvm::find_if(waiters, [&](auto &w) { return w.id == i; });
    if (found == waiters.end())
      report.note("role " + pipe.roles[i].name + " has ended");
    else
      report.note("role " + pipe.roles[i].name + " waits in " + found->what,
                  found->op ? std::optional<Location>(found->op->getLoc())
                            : std::nullopt);
  }
}

/// Slots that were not given back and operations that nobody waited for.
static LogicalResult checkEnd(pipe::RolesOp roles, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  for (auto &channel : pipe.channels) {
    for (auto [l, lane] : llvm::enumerate(channel->lanes)) {
      size_t full = 0;
      for (auto [i, slot] : llvm::enumerate(lane.slots)) {
        if (slot.state == SlotState::Full && channel->feedback) {
          ++full;
          continue;
        }
        if (slot.state == SlotState::Free)
          continue;
        (void)interp.fail(roles,
                          "ends with " + slotText(*channel, l, i) + " " +
                              nameOf(slot.state).str(),
                          Verdict::ResourceError);
        if (pipe.roles.size() > 1)
          interp.report().note("the slot" + holderText(pipe, *channel, l, i),
                               channel->op.getLoc());
        return failure();
      }
      if (channel->feedback && full != channel->depth() - 1)
        return interp.fail(roles,
                           "ends with " + Twine(full) + " tokens in channel '" +
                               channel->name +
                               "' but a feedback channel keeps " +
                               Twine(channel->depth() - 1),
                           Verdict::ResourceError);
    }
  }
  for (RoleFiber &role : pipe.roles)
    if (!role.open.empty())
      return interp.fail(role.open.front()->op,
                         "role " + role.name +
                             " ends without a join or a commit of it",
                         Verdict::ResourceError);
  return success();
}

LogicalResult attn::sim::runRoles(pipe::RolesOp roles, Interp &interp) {
  PipeState &pipe = interp.state<PipeState>();
  if (pipe.fibers)
    return interp.fail(roles, "stands inside of a role");
  if (failed(bindRoles(roles, interp)))
    return failure();
  const LaunchOptions &options = interp.options();
  std::unique_ptr<Scheduler> own;
  if (!options.scheduler)
    own = makeScheduler(options.schedule,
                        options.seed + uint64_t(interp.cta()) * 7919);
  Fibers fibers(options.scheduler ? *options.scheduler : *own,
                options.maxSteps);
  std::vector<std::unique_ptr<Interp>> interps;
  for (size_t i = 0; i < pipe.roles.size(); ++i)
    interps.push_back(std::make_unique<Interp>(interp));
  for (size_t i = 0; i < pipe.roles.size(); ++i)
    fibers.add(pipe.roles[i].name, [&, i] {
      Region &body = roles.getBodies()[pipe.roles[i].region];
      SmallVector<Datum> args;
      if (body.getNumArguments())
        args.push_back(Datum::ofInt(pipe.roles[i].rank));
      if (failed(interps[i]->run(body, args)))
        fibers.stop();
    });
  pipe.fibers = &fibers;
  Fibers::End end = fibers.run();
  if (end == Fibers::End::Stuck)
    reportStuck(roles, interp);
  else if (end == Fibers::End::Limit)
    (void)interp.fail(
        roles, "makes no end within " + Twine(options.maxSteps) + " steps",
        Verdict::NoEnd);
  pipe.fibers = nullptr;
  interp.report().steps += fibers.steps();
  if (options.traces)
    options.traces->push_back(pipe.trace);
  LogicalResult result =
      success(end == Fibers::End::Done && interp.report().ok());
  if (succeeded(result))
    result = checkEnd(roles, interp);
  // Handles point at channels and slots at futures: let go of the circle.
  for (auto &channel : pipe.channels)
    for (Lane &lane : channel->lanes)
      for (Slot &slot : lane.slots)
        slot.pending.clear();
  for (RoleFiber &role : pipe.roles)
    role.open.clear();
  return result;
}
