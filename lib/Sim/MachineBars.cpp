//===- MachineBars.cpp - mbarriers, named barriers, words, roles ----------===//
//
// An mbarrier counts arrivals and bytes.  Positions of the simulator count laps,
// so that a wait that the hardware would let through by parity alone is seen:
//
//   pos (slot 1, lap 2)  waits until phase 2 of the slot's barrier is over;
//                        with phase 0 over the parity is right and the data wrong
//
// A phase must have the same arrivals, and be seen by the same waits, whatever
// the schedule: what the clocks do not order is reported although it went well.
//
//   warp 0: expect k.full, expect k.full   two phases, or one twice?
//
//===----------------------------------------------------------------------===//

#include "MachineHopper.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

LogicalResult attn::sim::addRegion(Warp &warp, Operation *op, Storage region) {
  Cta &cta = warp.cta;
  size_t end = region.begin + region.slotBytes * size_t(region.slots);
  if (end > cta.smem.size())
    return warp.machine.violate(Verdict::ResourceError, op,
                                "'" + region.name + "' ends at byte " +
                                    Twine(end) + " but the kernel has " +
                                    Twine(cta.smem.size()));
  for (const Storage &other : cta.regions)
    if (region.begin < other.begin + other.slotBytes * size_t(other.slots) &&
        other.begin < end && region.overlay == other.overlay)
      return warp.machine.violate(
          Verdict::ResourceError, op,
          "'" + region.name + "' at byte " + Twine(region.begin) +
              " overlaps '" + other.name + "' at " + Twine(other.begin));
  cta.regions.push_back(std::move(region));
  return success();
}

static LogicalResult declareWords(frag::WordsOp op, Warp &warp) {
  std::shared_ptr<Object> &object = warp.cta.objects[op];
  if (!object) {
    frag::WordsType type = op.getWords().getType();
    auto words = std::make_shared<WordsObject>();
    words->name = op.getName().str();
    words->words = type.getCount();
    words->slots = type.getSlots();
    words->lanes = type.getLanes();
    if (int32_t(op.getOffset()) < 0)
      return warp.machine.violate(Verdict::ResourceError, op,
                                  "words '" + words->name + "' have no offset");
    words->base = op.getOffset();
    size_t slotBytes = size_t(4) * words->words * words->lanes;
    if (failed(addRegion(warp, op,
                         {Storage::Words, words->name, words->base, slotBytes,
                          words->slots})))
      return failure();
    warp.cta.shadow.makeFine(words->base,
                             words->base + slotBytes * words->slots);
    object = words;
  }
  warp.interp->set(op.getWords(), Datum(object));
  return success();
}

static LogicalResult declareBars(frag::BarsOp op, Warp &warp) {
  std::shared_ptr<Object> &object = warp.cta.objects[op];
  if (!object) {
    frag::BarsType type = op.getBars().getType();
    auto bars = std::make_shared<BarsObject>();
    bars->name = op.getName().str();
    bars->op = op;
    bars->cta = &warp.cta;
    bars->slots = type.getSlots();
    bars->lanes = type.getLanes();
    bars->bars.resize(size_t(bars->slots) * bars->lanes);
    for (MBar &bar : bars->bars)
      bar.count = op.getCount();
    if (int32_t(op.getOffset()) < 0)
      return warp.machine.violate(Verdict::ResourceError, op,
                                  "bars '" + bars->name + "' have no offset");
    bars->base = op.getOffset();
    if (failed(addRegion(warp, op,
                         {Storage::Bars, bars->name, bars->base,
                          size_t(8) * bars->lanes, bars->slots})))
      return failure();
    warp.cta.bars.push_back(bars);
    object = bars;
  }
  warp.interp->set(op.getBars(), Datum(object));
  return success();
}

static LogicalResult runInit(frag::InitOp op, Warp &warp) {
  if (warp.index == 0) {
    Order known = warp.publish();
    for (mlir::Value value : op.getStorage()) {
      if (auto *bars = warp.interp->get(value).as<BarsObject>()) {
        for (MBar &bar : bars->bars) {
          bar.ready = true;
          bar.pending = bar.count;
          bar.completed = known;
        }
        continue;
      }
      auto &words = warp.interp->get<WordsObject>(value);
      size_t bytes = size_t(4) * words.words * words.lanes * words.slots;
      if (failed(
              warp.machine.write(warp, op, words.base, bytes, warp.access(op))))
        return failure();
      std::memset(warp.cta.smem.data() + words.base, 0, bytes);
    }
  }
  bool flag = false;
  return warp.machine.meet(warp, op, 0, warp.cta.warps.size(), flag);
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

std::string attn::sim::describe(const BarsObject &bars, int32_t slot,
                                int32_t lane) {
  std::string text = "slot " + std::to_string(slot) + " of bars '" + bars.name;
  text += bars.lanes > 1 ? "' lane " + std::to_string(lane) : "'";
  return text + bars.cta->which();
}

/// Ends the phase if nothing is missing.
static LogicalResult settle(Machine &machine, Operation *op, BarsObject &bars,
                            int32_t slot, int32_t lane) {
  MBar &bar = bars.bars[slot * bars.lanes + lane];
  if (bar.pending != 0 || bar.bytes > 0)
    return success();
  if (bar.bytes < 0)
    return machine.violate(Verdict::ResourceError, op,
                           describe(bars, slot, lane) + " gets " +
                               Twine(-bar.bytes) + " bytes more than phase " +
                               Twine(bar.phase) + " expects");
  if (machine.options.foresee)
    for (const Access &wait : bar.waits)
      if (!bar.arriving.covers(wait.actor, wait.step))
        return machine.violate(
            Verdict::Race, op,
            "phase " + Twine(bar.phase) + " of " + describe(bars, slot, lane) +
                " ends and nothing orders it behind the wait for phase " +
                Twine(bar.phase - 1) + " by " + machine.actorName(wait.actor),
            &wait);
  bar.waits.clear();
  ++bar.phase;
  bar.pending = bar.count;
  bar.completed = std::move(bar.arriving);
  bar.arriving = Order();
  return success();
}

static LogicalResult ready(Machine &machine, Operation *op, BarsObject &bars,
                           int32_t slot, int32_t lane) {
  if (slot < 0 || slot >= bars.slots || lane < 0 || lane >= bars.lanes)
    return machine.violate(Verdict::ResourceError, op,
                           "bars '" + bars.name + "' have no slot " +
                               Twine(slot) + " lane " + Twine(lane));
  if (!bars.bars[slot * bars.lanes + lane].ready)
    return machine.violate(Verdict::Race, op,
                           describe(bars, slot, lane) +
                               " is used before it was initialised");
  return success();
}

LogicalResult attn::sim::inPhase(Warp &warp, Operation *op,
                                 const BarsObject &bars, int32_t slot,
                                 int32_t lane) {
  const MBar &bar = bars.bars[slot * bars.lanes + lane];
  if (!warp.machine.options.foresee ||
      warp.order.seen.covers(bar.completed.seen))
    return success();
  return warp.machine.violate(
      Verdict::Race, op,
      warp.name() + " counts for phase " + Twine(bar.phase) + " of " +
          describe(bars, slot, lane) + " and nothing orders it behind " +
          (bar.phase ? "the end of phase " + std::to_string(bar.phase - 1)
                     : "its initialisation"));
}

LogicalResult attn::sim::arrive(Warp &warp, Operation *op, BarsObject &bars,
                                int64_t pos, int32_t lane, int64_t bytes) {
  Machine &machine = warp.machine;
  int32_t slot = bars.slotOf(pos);
  if (failed(ready(machine, op, bars, slot, lane)))
    return failure();
  MBar &bar = bars.bars[slot * bars.lanes + lane];
  if (bar.pending == 0)
    return machine.violate(Verdict::ResourceError, op,
                           warp.name() + " arrives at " +
                               describe(bars, slot, lane) + " when all " +
                               Twine(bar.count) + " arrivals of phase " +
                               Twine(bar.phase) + " are in");
  // The n-th use of a slot belongs to one phase, whoever arrives.
  int32_t lag = bar.phase - lapOf(pos);
  auto [known, fresh] = bars.lag.try_emplace(op, lag);
  if (!fresh && known->second != lag) {
    int32_t meant = lapOf(pos) + known->second;
    return machine.violate(
        Verdict::ResourceError, op,
        warp.name() + " arrives at " + describe(bars, slot, lane) +
            " for phase " + Twine(meant) + " but phase " + Twine(bar.phase) +
            " runs: " + (meant < bar.phase ? "over" : "under") + "-arrival");
  }
  if (failed(inPhase(warp, op, bars, slot, lane)))
    return failure();
  if (bars.cta != &warp.cta && failed(visit(warp, *bars.cta, warp.access(op))))
    return failure();
  bar.bytes += bytes;
  --bar.pending;
  bar.arriving.join(warp.publish());
  bar.last.push_back({warp.actor, op, bar.phase});
  if (bar.last.size() > 4)
    bar.last.pop_front();
  if (failed(settle(machine, op, bars, slot, lane)))
    return failure();
  return machine.yield();
}

LogicalResult attn::sim::landBytes(Operation *op, BarsObject &bars,
                                   int32_t slot, int32_t phase, int64_t bytes,
                                   const Order &order) {
  Cta &cta = *bars.cta;
  MBar &bar = bars.bars[slot * bars.lanes];
  if (bar.phase != phase)
    return cta.machine.violate(Verdict::ResourceError, op,
                               "copy was started in phase " + Twine(phase) +
                                   " of " + describe(bars, slot, 0) +
                                   " and lands in phase " + Twine(bar.phase));
  bar.bytes -= bytes;
  bar.arriving.join(order);
  return settle(cta.machine, op, bars, slot, 0);
}

static std::string stateOf(const Machine &machine, const BarsObject &bars,
                           int32_t slot, int32_t lane) {
  const MBar &bar = bars.bars[slot * bars.lanes + lane];
  std::string text = "phase " + std::to_string(bar.phase) + " runs with " +
                     std::to_string(bar.count - bar.pending) + " of " +
                     std::to_string(bar.count) + " arrivals";
  if (bar.bytes)
    text += " and " + std::to_string(bar.bytes) + " bytes to come";
  if (!bar.last.empty())
    text += ", the last one by " + machine.actorName(bar.last.back().warp) +
            " in phase " + std::to_string(bar.last.back().phase);
  return text;
}

static LogicalResult runWait(frag::MbarWaitOp op, Warp &warp) {
  Machine &machine = warp.machine;
  auto bars = warp.interp->get(op.getBars()).share<BarsObject>();
  int64_t pos = warp.interp->getInt(op.getPos());
  int32_t slot = bars->slotOf(pos), lap = lapOf(pos);
  for (int32_t lane = 0; lane < bars->lanes; ++lane)
    if (failed(ready(machine, op, *bars, slot, lane)))
      return failure();
  MBar *first = &bars->bars[slot * bars->lanes];
  auto over = [lap](const MBar &bar) {
    return ((bar.phase - 1 - lap) & 1) == 0;
  };
  auto until = [first, over, lanes = bars->lanes] {
    for (int32_t lane = 0; lane < lanes; ++lane)
      if (!over(first[lane]))
        return false;
    return true;
  };
  auto why = [&machine, bars, slot, lap, over, first, until] {
    std::string text = "waits";
    for (int32_t lane = 0; lane < bars->lanes; ++lane)
      if (!over(first[lane]))
        text += (lane ? ", " : " ") + std::string("for phase ") +
                std::to_string(lap) + " of " + describe(*bars, slot, lane) +
                ", where " + stateOf(machine, *bars, slot, lane);
    return until() ? std::string("is under way") : text;
  };
  if (failed(machine.block(op, until, why)))
    return failure();
  for (int32_t lane = 0; lane < bars->lanes; ++lane) {
    MBar &bar = first[lane];
    if (bar.phase - 1 != lap)
      return machine.violate(Verdict::Race, op,
                             warp.name() + " waits for phase " + Twine(lap) +
                                 " of " + describe(*bars, slot, lane) +
                                 " and gets through by the parity of phase " +
                                 Twine(bar.phase - 1));
    warp.order.join(bar.completed);
    llvm::erase_if(bar.waits, [&](const Access &wait) {
      return wait.actor == warp.actor;
    });
    bar.waits.push_back(warp.access(op));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Words, rows, fences
//===----------------------------------------------------------------------===//

static LogicalResult loadWords(frag::LdWordsOp op, Warp &warp) {
  auto &words = warp.interp->get<WordsObject>(op.getWords());
  int64_t pos = warp.interp->getInt(op.getPos());
  int32_t count = op.getCount();
  Access by = warp.lanesAccess(op);
  unsigned next = 0;
  for (int32_t lane = 0; lane < words.lanes; ++lane)
    for (int32_t word = 0; word < count; ++word) {
      size_t at = words.at(pos, lane, word);
      if (failed(warp.machine.read(warp, op, at, 4, by)))
        return failure();
      int32_t value;
      std::memcpy(&value, warp.cta.smem.data() + at, 4);
      warp.interp->set(op.getValues()[next++], Datum::ofInt(value));
    }
  return warp.machine.yield();
}

static LogicalResult storeWords(frag::StWordsOp op, Warp &warp) {
  auto &words = warp.interp->get<WordsObject>(op.getWords());
  int64_t pos = warp.interp->getInt(op.getPos());
  int32_t first = 0, end = words.lanes;
  if (op.getLane()) {
    first = int32_t(warp.interp->getInt(op.getLane()));
    if (first < 0 || first >= words.lanes)
      return warp.machine.violate(Verdict::ResourceError, op,
                                  "words '" + words.name + "' have no lane " +
                                      Twine(first));
    end = first + 1;
  }
  for (int32_t lane = first; lane < end; ++lane)
    for (auto [i, operand] : llvm::enumerate(op.getValues())) {
      int32_t value = int32_t(warp.interp->getInt(operand));
      size_t at = words.at(pos, lane, int32_t(i));
      uint8_t *memory = warp.cta.smem.data() + at;
      bool same = std::memcmp(memory, &value, 4) == 0;
      if (failed(warp.machine.write(warp, op, at, 4, warp.access(op), same)))
        return failure();
      std::memcpy(memory, &value, 4);
    }
  return warp.machine.yield();
}

static LogicalResult zeroRows(frag::ZeroRowsOp op, Warp &warp) {
  FragRing &ring = warp.interp->get<FragRing>(op.getRing());
  int32_t slot = slotOf(warp.interp->getInt(op.getPos()));
  int64_t first = std::max<int64_t>(0, warp.interp->getInt(op.getFirst()));
  layout::Swizzle swizzle = frag::swizzleOf(ring.type);
  unsigned bytes = swizzle.getElementBytes();
  unsigned chunks = swizzle.storedCols() * bytes / 16;
  size_t base = slotBase(ring, slot);
  unsigned threads = warp.groupWarps * layout::warpSize;
  Access by = warp.lanesAccess(op);
  for (int64_t row = first; row < ring.type.getRows(); ++row)
    for (unsigned c = 0; c < chunks; ++c) {
      uint64_t number = uint64_t(row - first) * chunks + c;
      if (number % threads / layout::warpSize != warp.inGroup())
        continue;
      size_t at = base + swizzle.byteOffset(unsigned(row), c * 16 / bytes);
      if (failed(warp.machine.write(warp, op, at, 16, by)))
        return failure();
      std::memset(warp.cta.smem.data() + at, 0, 16);
    }
  return warp.machine.yield();
}

//===----------------------------------------------------------------------===//
// Roles and registers
//===----------------------------------------------------------------------===//

static LogicalResult setRegisters(frag::SetRegistersOp op, Warp &warp) {
  Machine &machine = warp.machine;
  unsigned count = op.getCount();
  bool dec = op.getDir() == frag::RegistersDir::Dec;
  if (dec ? count > warp.registers : count < warp.registers)
    return machine.violate(Verdict::ResourceError, op,
                           warp.name() +
                               (dec ? " gives back registers down to "
                                    : " asks for registers up to ") +
                               Twine(count) + " but has " +
                               Twine(warp.registers));
  warp.syncLanes();
  int64_t more =
      (int64_t(count) - int64_t(warp.registers)) * int64_t(layout::warpSize);
  Cta *cta = &warp.cta;
  if (more > 0 && failed(machine.block(
                      op, [cta, more] { return cta->freeRegisters >= more; },
                      [cta, more] {
                        return "waits for " + std::to_string(more) +
                               " registers where the CTA has " +
                               std::to_string(cta->freeRegisters) + " free";
                      })))
    return failure();
  cta->freeRegisters -= more;
  warp.registers = count;
  return success();
}

static LogicalResult runDispatch(frag::RoleDispatchOp op, Warp &warp) {
  for (auto [i, body] : llvm::enumerate(op.getBodies())) {
    frag::RoleAttr role = op.getRole(i);
    int32_t index = int32_t(warp.index) - role.getFirstWarp();
    if (index < 0 || int32_t(warp.index) >= role.getEndWarp())
      continue;
    warp.role = role.getName().str();
    if (role.getReplicas() > 1)
      warp.rank = index / role.getWarps();
    int32_t local = index % role.getWarps();
    if (local >= role.getActive()) {
      for (Operation &leading : body.front()) {
        auto registers = dyn_cast<frag::SetRegistersOp>(leading);
        if (!registers)
          break;
        if (failed(setRegisters(registers, warp)))
          return failure();
      }
      return success();
    }
    warp.groupFirst = warp.index - unsigned(local);
    warp.groupWarps = role.getActive();
    FragState &state = warp.state();
    state.firstThread = unsigned(local) * layout::warpSize;
    state.shapes.clear();
    SmallVector<Datum> args;
    if (body.getNumArguments())
      args.push_back(Datum::ofInt(index / role.getWarps()));
    return warp.interp->run(body, args);
  }
  return success();
}

static LogicalResult namedBarrier(Operation *op, Warp &warp, int32_t id,
                                  mlir::Value rank, uint32_t threads,
                                  bool arriveOnly) {
  if (rank)
    id += int32_t(warp.interp->getInt(rank));
  if (id < 1 || id > 15 || threads % layout::warpSize)
    return warp.machine.violate(Verdict::ResourceError, op,
                                "named barrier " + Twine(id) + " for " +
                                    Twine(threads) +
                                    " threads but ids are 1 to 15 and threads "
                                    "whole warps");
  bool flag = false;
  return warp.machine.meet(warp, op, id, threads / layout::warpSize, flag,
                           arriveOnly);
}

static LogicalResult runAny(frag::AnyOp op, Warp &warp) {
  bool found = !warp.machine.options.values && warp.machine.options.vote;
  if (warp.machine.options.values)
    for (Word word : warp.interp->get<FragVec>(op.getVec()).data)
      found |= word.i != 0;
  int32_t id = 0;
  unsigned count = warp.cta.warps.size();
  if (op.getScope() == frag::VoteScope::Warpgroup) {
    id = int32_t(op.getBarrier().value_or(1));
    if (op.getRank())
      id += int32_t(warp.interp->getInt(op.getRank()));
    count = warp.groupWarps;
  }
  if (op.getScope() == frag::VoteScope::Warp)
    warp.syncLanes();
  else if (failed(warp.machine.meet(warp, op, id, count, found)))
    return failure();
  warp.interp->set(op.getResult(), Datum::ofInt(found));
  return success();
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

static LogicalResult nextWork(frag::NextWorkOp op, Warp &warp) {
  warp.syncLanes();
  if (failed(warp.machine.yield()))
    return failure();
  auto *queue = reinterpret_cast<int32_t *>(warp.interp->getInt(op.getQueue()));
  if (!queue)
    return warp.interp->fail(op, "goes through a null pointer");
  int32_t taken = queue[0]++;
  int64_t limit = warp.interp->getInt(op.getLimit());
  warp.interp->set(op.getIndex(), Datum::ofInt(taken < limit ? taken : -1));
  return success();
}

static LogicalResult workDone(frag::NextWorkDoneOp op, Warp &warp) {
  auto *queue = reinterpret_cast<int32_t *>(warp.interp->getInt(op.getQueue()));
  if (!queue)
    return warp.interp->fail(op, "goes through a null pointer");
  if (++queue[1] == warp.machine.options.ctas)
    queue[0] = queue[1] = 0;
  return warp.machine.yield();
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

LogicalResult attn::sim::runHopperOp(Operation *op, Warp &warp, bool &known) {
  Interp &interp = *warp.interp;
  if (auto words = dyn_cast<frag::WordsOp>(op))
    return declareWords(words, warp);
  if (auto bars = dyn_cast<frag::BarsOp>(op))
    return declareBars(bars, warp);
  if (auto init = dyn_cast<frag::InitOp>(op))
    return runInit(init, warp);
  if (auto dispatch = dyn_cast<frag::RoleDispatchOp>(op))
    return runDispatch(dispatch, warp);
  if (auto registers = dyn_cast<frag::SetRegistersOp>(op))
    return setRegisters(registers, warp);
  if (auto elect = dyn_cast<frag::ElectOp>(op)) {
    warp.syncLanes();
    return interp.run(elect.getBody());
  }
  if (auto wait = dyn_cast<frag::MbarWaitOp>(op))
    return runWait(wait, warp);
  auto laneOf = [&](mlir::Value lane) {
    return lane ? int32_t(interp.getInt(lane)) : 0;
  };
  auto arriveOf = [&](auto a) -> LogicalResult {
    auto bars = interp.get(a.getBars()).template share<BarsObject>();
    if (a.getCta())
      bars = barsOf(warp, op, *bars, int32_t(interp.getInt(a.getCta())));
    if (!bars)
      return failure();
    return arrive(warp, op, *bars, interp.getInt(a.getPos()),
                  laneOf(a.getLane()), 0);
  };
  if (auto a = dyn_cast<frag::MbarArriveOp>(op)) {
    if (a.getSync())
      warp.syncLanes();
    return arriveOf(a);
  }
  if (auto a = dyn_cast<frag::MbarArriveOneOp>(op))
    return arriveOf(a);
  if (auto a = dyn_cast<frag::MbarExpectOp>(op))
    return arrive(warp, op, interp.get<BarsObject>(a.getBars()),
                  interp.getInt(a.getPos()), 0, int32_t(a.getBytes()));
  if (auto b = dyn_cast<frag::BarrierSyncOp>(op))
    return namedBarrier(op, warp, b.getId(), b.getRank(), b.getThreads(),
                        false);
  if (auto b = dyn_cast<frag::BarrierArriveOp>(op))
    return namedBarrier(op, warp, b.getId(), b.getRank(), b.getThreads(), true);
  if (isa<frag::FenceOp>(op)) {
    warp.order.async.join(warp.order.seen);
    return success();
  }
  if (auto load = dyn_cast<frag::LdWordsOp>(op))
    return loadWords(load, warp);
  if (auto store = dyn_cast<frag::StWordsOp>(op))
    return storeWords(store, warp);
  if (auto zero = dyn_cast<frag::ZeroRowsOp>(op))
    return zeroRows(zero, warp);
  if (auto any = dyn_cast<frag::AnyOp>(op))
    return runAny(any, warp);
  if (auto next = dyn_cast<frag::NextWorkOp>(op))
    return nextWork(next, warp);
  if (auto done = dyn_cast<frag::NextWorkDoneOp>(op))
    return workDone(done, warp);
  LogicalResult ran = runClusterOp(op, warp, known);
  if (known)
    return ran;
  known = true;
  return runAsyncOp(op, warp, known);
}
