//===- MachineRun.cpp - launch, clocks, barriers and verdicts -------------===//
//
// One fiber a warp, all CTAs of the launch at once: CTAs meet in global memory.
// A violation stops the run; the fibers unwind and the report says what, where,
// and which other access or who else is part of it.
//
//===----------------------------------------------------------------------===//

#include "TimingState.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

/// 32-bit registers of an SM.
static constexpr unsigned registerFile = 65536;

MachineCache::MachineCache() : cache(std::make_unique<FragCache>()) {}
MachineCache::~MachineCache() = default;

//===----------------------------------------------------------------------===//
// Warps and CTAs
//===----------------------------------------------------------------------===//

Warp::Warp(Machine &machine, Cta &cta, unsigned index)
    : machine(machine), cta(cta), index(index) {
  groupWarps = uint32_t(machine.kernel.getThreads()) / layout::warpSize;
  actor = uint32_t(cta.index) * groupWarps + index;
  order.seen.set(actor, 1);
  LaunchOptions launch;
  launch.ctas = machine.options.ctas;
  interp = std::make_unique<Interp>(machine.params, launch, cta.index);
  FragState &own = state();
  own.cache = &machine.cache;
  own.firstThread = index * layout::warpSize;
  own.threadCount = layout::warpSize;
  own.onGlobal = [this](Operation *op, const char *address, unsigned bytes,
                        bool write) {
    return this->machine.onGlobal(*this, op, address, bytes, write);
  };
  interp->addHandler("frag", [this](Operation *op, Interp &) {
    return this->machine.runOp(op, *this);
  });
}

std::string Warp::name() const {
  std::string text =
      machine.options.ctas > 1 ? "cta " + std::to_string(cta.index) + " " : "";
  if (!role.empty()) {
    text += "role '" + role + "'";
    if (rank >= 0)
      text += "[" + std::to_string(rank) + "]";
    text += " ";
  }
  return text + "warp " + std::to_string(index);
}

Access Warp::lanesAccess(Operation *op) {
  uint32_t lanes = machine.lanesOf(*this);
  uint32_t now = order.seen[lanes] + 1;
  // A warp's own accesses follow its program.
  order.seen.set(lanes, now);
  return {lanes, now, op, false};
}

void Warp::syncLanes() { lanesSynced = order.seen[machine.lanesOf(*this)]; }

Order Warp::publish() {
  Order known = order;
  known.seen.set(machine.lanesOf(*this), lanesSynced);
  order.seen.set(actor, step() + 1);
  return known;
}

Cta::Cta(Machine &machine, Cluster &cluster, int32_t index, size_t smemBytes)
    : machine(machine), cluster(cluster), index(index), smem(smemBytes, 0xff),
      shadow(smemBytes) {}

std::string Cta::place(size_t byte) const {
  for (const Storage &region : regions) {
    if (byte < region.begin ||
        byte >= region.begin + region.slotBytes * size_t(region.slots))
      continue;
    size_t slot = (byte - region.begin) / region.slotBytes;
    return "slot " + std::to_string(slot) + " of " +
           (region.kind == Storage::Tiles ? "ring" : "words") + " '" +
           region.name + "'" + which();
  }
  return "byte " + std::to_string(byte) + " of shared memory" + which();
}

//===----------------------------------------------------------------------===//
// Verdicts
//===----------------------------------------------------------------------===//

Machine::Machine(frag::KernelOp kernel, ArrayRef<char> params,
                 const MachineOptions &options, FragCache &cache)
    : kernel(kernel), params(params), options(options), cache(cache),
      owned(options.scheduler ? nullptr
                              : makeScheduler(options.kind, options.seed)),
      scheduler(options.scheduler ? *options.scheduler : *owned),
      fibers(scheduler, options.maxSteps),
      coins(options.seed * 0x9e3779b97f4a7c15ull + 1) {
  for (unsigned i = 0; i < 4; ++i)
    coin();
}

std::string Machine::actorName(uint32_t actor) const {
  if (actor >= 4 * warps)
    return "a TMA copy";
  std::string name = byActor[actor % warps]->name();
  switch (actor / warps) {
  case 2:
    return "cp.async of " + name;
  case 3:
    return "the tensor core for " + name;
  default:
    return name;
  }
}

LogicalResult Machine::violate(Verdict verdict, Operation *op,
                               const Twine &message, const Access *other) {
  if (result.ok()) {
    result.give(verdict, op->getName().getStringRef() + ": " + message,
                op->getLoc());
    if (other && other->op)
      result.note(Twine("the other is ") + other->op->getName().getStringRef() +
                      " by " + actorName(other->actor),
                  other->op->getLoc());
  }
  fibers.stop();
  return failure();
}

LogicalResult Machine::report(const Warp &warp, const Cta &where, Operation *op,
                              const Conflict &conflict) {
  std::string place = where.place(conflict.at), who = warp.name();
  std::string other = conflict.other.op
                          ? (conflict.other.op->getName().getStringRef() +
                             " by " + actorName(conflict.other.actor))
                                .str()
                          : "";
  switch (conflict.kind) {
  case Conflict::Unwritten:
    return violate(Verdict::Race, op,
                   who + " reads " + place + " that was never written");
  case Conflict::ReadWrite:
    return violate(Verdict::Race, op,
                   who + " reads " + place + " and nothing orders it behind " +
                       other + ", which writes there",
                   &conflict.other);
  case Conflict::WriteRead:
    return violate(Verdict::Race, op,
                   who + " writes " + place + " and nothing orders it behind " +
                       other + ", which reads there",
                   &conflict.other);
  case Conflict::WriteWrite:
    return violate(Verdict::Race, op,
                   who + " writes " + place + " and nothing orders it behind " +
                       other + ", which writes there too",
                   &conflict.other);
  case Conflict::Fence:
    return violate(Verdict::Race, op,
                   who + " has the async proxy touch " + place +
                       " without a proxy fence behind " + other +
                       ", which writes there",
                   &conflict.other);
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult Machine::read(Warp &warp, Operation *op, size_t begin,
                            size_t bytes, const Access &by) {
  if (!options.values)
    return success();
  if (begin + bytes > warp.cta.smem.size())
    return violate(Verdict::ResourceError, op,
                   "reads byte " + Twine(begin + bytes) +
                       " of shared memory but the kernel has " +
                       Twine(warp.cta.smem.size()));
  if (auto conflict = warp.cta.shadow.read(begin, bytes, by, warp.order))
    return report(warp, warp.cta, op, *conflict);
  return success();
}

LogicalResult Machine::write(Warp &warp, Operation *op, size_t begin,
                             size_t bytes, const Access &by, bool same) {
  return writeTo(warp, warp.cta, op, begin, bytes, by, same);
}

LogicalResult Machine::writeTo(Warp &warp, Cta &where, Operation *op,
                               size_t begin, size_t bytes, const Access &by,
                               bool same) {
  if (!options.values)
    return success();
  if (begin + bytes > where.smem.size())
    return violate(Verdict::ResourceError, op,
                   "writes byte " + Twine(begin + bytes) +
                       " of shared memory but the kernel has " +
                       Twine(where.smem.size()));
  if (auto conflict = where.shadow.write(begin, bytes, by, warp.order, same))
    return report(warp, where, op, *conflict);
  return success();
}

LogicalResult Machine::onGlobal(Warp &warp, Operation *op, const char *address,
                                unsigned bytes, bool write) {
  // Inputs are never stored to, so that only outputs have cells.
  for (uint64_t at = reinterpret_cast<uintptr_t>(address) / 2,
                end = (reinterpret_cast<uintptr_t>(address) + bytes + 1) / 2;
       at < end; ++at) {
    auto found = global.find(at);
    if (found == global.end()) {
      if (write)
        global[at].writer = warp.access(op);
      continue;
    }
    Cell &cell = found->second;
    auto conflict = [&](const Access &other, const char *what) {
      return violate(Verdict::Race, op,
                     warp.name() + (write ? " writes" : " reads") +
                         " global memory and nothing orders it behind " +
                         other.op->getName().getStringRef() + " by " +
                         actorName(other.actor) + ", which " + what + " there",
                     &other);
    };
    if (!warp.order.covers(cell.writer.actor, cell.writer.step))
      return conflict(cell.writer, "writes");
    if (!write) {
      cell.readers.push_back(warp.access(op));
      continue;
    }
    for (const Access &reader : cell.readers)
      if (!warp.order.covers(reader.actor, reader.step))
        return conflict(reader, "reads");
    cell.readers.clear();
    cell.writer = warp.access(op);
  }
  return success();
}

Access Machine::newAgent(const Order &order, Operation *op) {
  // A number may be used again once the issuer knows that its last copy landed.
  for (Access &agent : agents)
    if (order.covers(agent.actor, agent.step)) {
      ++agent.step;
      agent.op = op;
      return agent;
    }
  agents.push_back({4 * warps + uint32_t(agents.size()), 1, op, true});
  return agents.back();
}

//===----------------------------------------------------------------------===//
// Points where a warp may stop
//===----------------------------------------------------------------------===//

LogicalResult Machine::yield() { return success(fibers.yield()); }

LogicalResult Machine::block(Operation *op, std::function<bool()> until,
                             std::function<std::string()> why) {
  return success(fibers.block(std::move(until), op, std::move(why)));
}

LogicalResult Machine::meet(Warp &warp, Operation *op, int32_t id,
                            unsigned count, bool &flag, bool arriveOnly) {
  std::shared_ptr<Turn> &slot = warp.cta.turns[id];
  if (!slot) {
    slot = std::make_shared<Turn>();
    slot->op = op;
    slot->warps = count;
  }
  std::shared_ptr<Turn> turn = slot;
  if (turn->warps != count ||
      isa<frag::AnyOp>(turn->op) != isa<frag::AnyOp>(op)) {
    Access other{turn->came.front()->actor, 0, turn->op, false};
    return violate(Verdict::ResourceError, op,
                   warp.name() + " comes to barrier " + Twine(id) + " with " +
                       Twine(count) + " warps while it is in use by " +
                       turn->op->getName().getStringRef() + " with " +
                       Twine(turn->warps),
                   &other);
  }
  if (llvm::is_contained(turn->came, &warp)) {
    Access other{warp.actor, 0, turn->op, false};
    return violate(Verdict::ResourceError, op,
                   warp.name() + " comes to barrier " + Twine(id) +
                       " a second time before the others came",
                   &other);
  }
  // Unordered, it might as well have been one of the turn before.
  std::shared_ptr<Turn> &before = warp.cta.before[id];
  if (options.foresee && before &&
      !warp.order.seen.covers(before->order.seen)) {
    Access other{before->came.back()->actor, 0, before->op, false};
    return violate(Verdict::Race, op,
                   warp.name() + " comes to barrier " + Twine(id) +
                       " and nothing orders it behind the turn before, of " +
                       before->came.back()->name(),
                   &other);
  }
  warp.syncLanes();
  turn->order.join(warp.publish());
  turn->flag |= flag;
  turn->came.push_back(&warp);
  if (turn->came.size() == turn->warps) {
    turn->done = true;
    before = turn;
    slot = nullptr;
  }
  if (arriveOnly)
    return yield();
  if (failed(block(
          op, [turn] { return turn->done; },
          [turn, id] {
            return "waits at barrier " + std::to_string(id) + " where " +
                   std::to_string(turn->came.size()) + " of " +
                   std::to_string(turn->warps) + " warps have come";
          })))
    return failure();
  warp.order.join(turn->order);
  flag = turn->flag;
  return success();
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

void Machine::runWarp(Warp &warp) {
  if (failed(warp.interp->run(kernel.getBody())) && !fibers.stopping()) {
    // The interpreter itself refused an op.
    const Report &own = warp.interp->report();
    result.give(own.ok() ? Verdict::NotRun : own.verdict,
                own.ok() ? "run ended early" : own.message, own.loc);
    fibers.stop();
  }
  warp.ended = true;
  --warp.cta.live;
  --warp.cta.cluster.live;
  warp.cta.cluster.settle();
}

Report Machine::run() {
  result.schedule = options.scheduler ? "given" : nameOf(options.kind).str();
  result.seed = options.seed;
  if (params.size() < size_t(kernel.getParamsBytes())) {
    result.give(Verdict::NotRun,
                "frag.kernel: needs " + Twine(kernel.getParamsBytes()) +
                    " bytes of parameters but has " + Twine(params.size()),
                kernel.getLoc());
    return result;
  }
  unsigned threads = kernel.getThreads();
  if (options.ctas < 1 || threads == 0 || threads % layout::warpSize) {
    result.give(Verdict::NotRun,
                "frag.kernel: launch has " + Twine(options.ctas) +
                    " blocks of " + Twine(threads) + " threads",
                kernel.getLoc());
    return result;
  }
  int32_t perCluster = kernel.getCluster();
  if (options.ctas % perCluster) {
    result.give(Verdict::NotRun,
                "frag.kernel: launch has " + Twine(options.ctas) +
                    " blocks which is not a multiple of the cluster of " +
                    Twine(perCluster),
                kernel.getLoc());
    return result;
  }
  // Blank copies carry no order from one CTA to another.
  if (perCluster != 1 && (options.timing || !options.values)) {
    result.give(Verdict::NotRun,
                "frag.kernel: clusters have no timing: cluster is " +
                    Twine(perCluster) + " but must be 1",
                kernel.getLoc());
    return result;
  }
  unsigned perCta = threads / layout::warpSize;
  warps = perCta * options.ctas;
  for (int32_t c = 0; c < options.ctas; ++c) {
    if (c % perCluster == 0)
      clusters.push_back(std::make_unique<Cluster>());
    Cluster &cluster = *clusters.back();
    ctas.push_back(std::make_unique<Cta>(*this, cluster, c, kernel.getSmem()));
    Cta &cta = *ctas.back();
    cluster.ctas.push_back(&cta);
    cluster.live += perCta;
    cta.live = perCta;
    unsigned registers = std::min(registerFile / threads / 8 * 8, 255u);
    cta.freeRegisters = 0;
    for (unsigned w = 0; w < perCta; ++w) {
      cta.warps.push_back(std::make_unique<Warp>(*this, cta, w));
      Warp *warp = cta.warps.back().get();
      warp->registers = registers;
      byActor.push_back(warp);
      warp->fiber = fibers.add(warp->name(), [this, warp] { runWarp(*warp); });
    }
  }
  if (options.timing)
    options.timing->start(*this);
  judge(fibers.run());
  if (options.timing && result.ok())
    options.timing->finish();
  result.steps = fibers.steps();
  for (auto &cta : ctas) {
    llvm::DenseMap<Operation *, uint64_t> most;
    for (auto &warp : cta->warps)
      for (auto &[loop, count] : warp->interp->report().turns)
        most[loop] = std::max(most[loop], count);
    for (auto &[loop, count] : most)
      result.turns[loop] += count;
  }
  return result;
}

std::string Machine::otherSide(const Waiter &waiter) {
  Warp *warp = byActor[waiter.id];
  return warp->name() + " " +
         (waiter.what.empty() ? std::string("is under way") : waiter.what);
}

void Machine::judge(Fibers::End end) {
  if (end == Fibers::End::Stuck || end == Fibers::End::Limit) {
    const auto &waiters = fibers.waiters();
    // One line for all warps that wait for the same at the same op.
    std::vector<std::pair<const Waiter *, unsigned>> lines;
    for (const Waiter &waiter : waiters) {
      bool known = false;
      for (auto &[line, count] : lines)
        if (line->op == waiter.op && line->what == waiter.what &&
            byActor[line->id]->role == byActor[waiter.id]->role &&
            byActor[line->id]->rank == byActor[waiter.id]->rank &&
            &byActor[line->id]->cta == &byActor[waiter.id]->cta) {
          ++count;
          known = true;
          break;
        }
      if (!known)
        lines.push_back({&waiter, 1});
    }
    bool first = true;
    for (auto &[line, count] : lines) {
      std::string text = otherSide(*line);
      if (count > 1)
        text += " (and " + std::to_string(count - 1) + " more of its warps)";
      std::optional<Location> loc;
      if (line->op)
        loc = line->op->getLoc();
      if (first)
        result.give(end == Fibers::End::Limit ? Verdict::NoEnd
                                              : Verdict::Deadlock,
                    (end == Fibers::End::Limit
                         ? "not done after " + std::to_string(fibers.steps()) +
                               " steps, the limit: "
                         : std::string()) +
                        text,
                    loc);
      else
        result.note(text, loc);
      first = false;
    }
    for (auto &cta : ctas)
      for (auto &warp : cta->warps)
        if (warp->ended && !fibers.stopping())
          result.note(warp->name() + " has ended");
    return;
  }
  if (result.ok())
    judgeEnd();
}

/// What every CTA must have brought to an end.
void Machine::judgeEnd() {
  if (options.foresee)
    for (auto &cta : ctas) {
      judgeVisits(*cta);
      if (!result.ok())
        return;
    }
  for (auto &cta : ctas)
    for (auto &bars : cta->bars)
      for (size_t i = 0; i < bars->bars.size(); ++i) {
        const MBar &bar = bars->bars[i];
        if (!bar.ready)
          continue;
        std::string where = "slot " + std::to_string(i / bars->lanes) +
                            " of bars '" + bars->name + "'" + cta->which();
        if (bar.bytes != 0)
          return result.give(Verdict::ResourceError,
                             "frag.bars: " + where + " ends with " +
                                 Twine(bar.bytes) + " bytes not landed",
                             bars->op->getLoc());
        if (bar.pending != bar.count)
          return result.give(Verdict::ResourceError,
                             "frag.bars: " + where + " ends with " +
                                 Twine(bar.count - bar.pending) + " of " +
                                 Twine(bar.count) +
                                 " arrivals in its last phase",
                             bars->op->getLoc());
      }
}

LogicalResult Machine::runOp(Operation *op, Warp &warp) {
  if (fibers.stopping())
    return failure();
  if (options.reached)
    options.reached->insert(op);
  // Registers that a product still reads or writes.
  if (!warp.operands.empty() &&
      op->getName().getStringRef() != "frag.wgmma_wait") {
    llvm::erase_if(warp.operands,
                   [&](auto &held) { return held.second <= warp.retired; });
    for (mlir::Value operand : op->getOperands()) {
      const Datum &datum = warp.interp->get(operand);
      if (!datum.isObject())
        continue;
      for (auto &[object, group] : warp.operands)
        if (datum.as<Object>() == object.get())
          return violate(Verdict::Race, op,
                         warp.name() + " touches registers of a product that "
                                       "no wait covers yet");
    }
  }
  bool known = true;
  if (!options.values) {
    LogicalResult ran = runBlankOp(op, warp, known);
    if (known)
      return ran;
    known = true;
  }
  LogicalResult ran = runHopperOp(op, warp, known);
  if (known)
    return ran;
  return runMachineOp(op, warp);
}

void Machine::onCopy(Warp &warp, frag::TmaLoadOp op, uint64_t number,
                     int64_t bytes) {
  if (options.timing)
    options.timing->startCopy(number, bytes,
                              warp.interp->get<FragRing>(op.getRing()).name);
}

Report attn::sim::runMachine(Operation *op, ArrayRef<char> params,
                             const MachineOptions &options) {
  auto kernel = dyn_cast<frag::KernelOp>(op);
  if (!kernel) {
    Report report;
    report.give(Verdict::NotRun,
                "'" + op->getName().getStringRef() + "' is not a frag.kernel",
                op->getLoc());
    return report;
  }
  FragCache own;
  Machine machine(kernel, params, options,
                  options.cache ? options.cache->get() : own);
  return machine.run();
}
