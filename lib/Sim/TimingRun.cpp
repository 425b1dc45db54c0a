//===- TimingRun.cpp - clocks that go on ----------------------------------===//
//
// One warp, one op (see TimingState.h):
//
//   frag.map over 64 registers   group of 8: 8 fma, 8 mufu; the next group ...
//   frag.mbar_wait               try_wait; blocked; goes on at the completion
//   frag.wgmma                   a step of k waits for room in the quadrant's
//                                queue; the tensor unit takes steps as they come
//
// A warp issues in order: an instruction whose operand is not there holds up all
// that are behind it.
//
//===----------------------------------------------------------------------===//

#include "TimingState.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

static StringRef nameOfUnit(Unit unit) {
  switch (unit) {
  case Unit::Fma:
    return "fma unit";
  case Unit::Alu:
    return "alu unit";
  case Unit::Mufu:
    return "mufu unit";
  case Unit::Convert:
    return "convert unit";
  case Unit::Mma:
    return "tensor unit";
  case Unit::Shared:
    return "memory unit";
  case Unit::None:
    break;
  }
  return "scheduler";
}

Warp &Timing::running() { return *machine->byActor[machine->fibers.self()]; }

size_t Timing::pick(ArrayRef<Choice> ready) {
  auto timeOf = [&](const Choice &c) {
    return c.agent ? due.lookup(c.id) : clocks[c.id].now;
  };
  size_t best = 0;
  double first = timeOf(ready[0]);
  for (size_t i = 1; i < ready.size(); ++i) {
    double time = timeOf(ready[i]);
    if (time < first) {
      first = time;
      best = i;
    }
  }
  global = std::max(global, first);
  return best;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void Timing::stall(Warp &warp, double until, StringRef cause) {
  WarpClock &c = clock(warp);
  if (until <= c.now)
    return;
  c.stalls[cause] += until - c.now;
  c.now = until;
}

LogicalResult Timing::issue(Warp &warp, const Instr &instr, double ready,
                            double *at) {
  WarpClock &c = clock(warp);
  SmClock &s = sm(warp);
  SmClock::Quadrant &q = s.quadrants[warp.index % s.quadrants.size()];
  double &unit =
      instr.unit == Unit::Shared ? s.shared : q.unit[unsigned(instr.unit)];
  bool mufu = instr.unit == Unit::Mufu;
  stall(warp, ready, "operand");
  if (mufu)
    stall(warp, c.nextMufu, "mufu result");
  while (true) {
    if (failed(machine->yield()))
      return failure();
    double free = std::max(q.dispatch, unit);
    if (free <= c.now)
      break;
    stall(warp, free, unit > q.dispatch ? nameOfUnit(instr.unit) : "scheduler");
  }
  if (at)
    *at = c.now;
  if (mufu) {
    c.nextMufu = c.now + costs.sm.mufuSelf;
    if (warp.index % s.quadrants.size() == 0)
      addSpan(s.mufuSpan, warp, "mufu of quadrant 0", warp.name(), c.now,
              c.now + instr.taken, 16);
  }
  unit = c.now + instr.taken;
  s.busy[unsigned(instr.unit)] += instr.taken;
  q.dispatch = c.now + 1;
  c.now += 1;
  c.issued += 1;
  s.issued += 1;
  return success();
}

LogicalResult Timing::issueAll(Warp &warp, ArrayRef<Instr> instrs,
                               double &ready, unsigned width) {
  std::vector<double> done(instrs.size());
  double last = ready;
  for (size_t i = 0; i < instrs.size(); ++i) {
    double at;
    if (failed(issue(warp, instrs[i],
                     width && i >= width ? done[i - width] : ready, &at)))
      return failure();
    done[i] = at + instrs[i].latency;
    last = std::max(last, done[i]);
  }
  ready = last;
  return success();
}

LogicalResult Timing::runStream(Warp &warp, Operation *op) {
  constexpr unsigned group = 8;
  const Stream &stream = costs.of(op);
  double ready = 0;
  SmallVector<Stamp, 2> tiles;
  for (mlir::Value operand : op->getOperands()) {
    Stamp stamp = warp.interp->get(operand).stamp;
    if (isa<frag::RegType>(operand.getType()))
      tiles.push_back(stamp);
    else
      ready = std::max(ready, stamp.last);
  }
  Stamp &result = clock(warp).result;
  if (failed(issueAll(warp, stream.head, ready, 0)))
    return failure();
  result = {ready, ready};
  for (unsigned e = 0; e < stream.elements; e += group) {
    unsigned n = std::min(group, stream.elements - e);
    double when[group];
    for (unsigned i = 0; i < n; ++i) {
      when[i] = ready;
      double share = double(e + i + 1) / stream.elements;
      for (const Stamp &tile : tiles)
        when[i] =
            std::max(when[i], tile.first + (tile.last - tile.first) * share);
    }
    size_t steps = std::max(stream.steps.size(), stream.movedSteps.size());
    for (size_t step = 0; step < steps; ++step)
      for (unsigned i = 0; i < n; ++i) {
        bool moved = !stream.moved.empty() && stream.moved[e + i];
        const std::vector<Instr> &own =
            moved ? stream.movedSteps : stream.steps;
        if (step >= own.size())
          continue;
        double at;
        if (failed(issue(warp, own[step], when[i], &at)))
          return failure();
        when[i] = at + own[step].latency;
      }
    if (e == 0)
      result.first = when[0];
    for (unsigned i = 0; i < n; ++i)
      result.last = std::max(result.last, when[i]);
  }
  if (!stream.tail.empty() || stream.drain > 0) {
    result.last += stream.drain;
    if (failed(issueAll(warp, stream.tail, result.last, stream.width)))
      return failure();
    result.first = result.last;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Issues a step of a product when the quadrant's queue has room.  The warp that
/// issued the last one comes first, so that products are not interleaved.
LogicalResult Timing::enterTensor(Warp &warp, double &at) {
  SmClock &s = sm(warp);
  SmClock::Quadrant &q = s.quadrants[warp.index % s.quadrants.size()];
  size_t room = size_t(costs.sm.wgmmaQueue);
  while (true) {
    if (q.steps.size() >= room) {
      double free = q.steps[q.steps.size() - room];
      if (free >= clock(warp).now) {
        stall(warp, free + (q.owner == warp.actor ? 0 : 1), "product queue");
        if (failed(machine->yield()))
          return failure();
        if (q.steps[q.steps.size() - room] > clock(warp).now)
          continue;
      }
    }
    if (failed(issue(warp, {Unit::None, 0, 0}, 0, &at)))
      return failure();
    // Another warp may have taken the place while this one waited to issue.
    if (q.steps.size() < room || q.steps[q.steps.size() - room] <= at)
      break;
  }
  while (q.steps.size() > room)
    q.steps.pop_front();
  q.owner = warp.actor;
  return success();
}

LogicalResult Timing::startProduct(Warp &warp, frag::WgmmaOp op) {
  WarpClock &c = clock(warp);
  SmClock &s = sm(warp);
  SmClock::Quadrant &q = s.quadrants[warp.index % s.quadrants.size()];
  frag::InflightType type = op.getResult().getType();
  frag::RingType ring = op.getRing().getType();
  bool nk = op.getBOrder() == frag::BOrder::NK;
  unsigned k = unsigned(nk ? ring.getCols() : ring.getRows());
  unsigned bytes = unsigned(frag::bytesOf(ring.getElement()));
  unsigned steps = k * bytes / 32; // 32 bytes of k each
  double flops = 2.0 * type.getRows() * type.getCols() * k / steps;
  bool view = isa<frag::ViewType>(op.getA().getType());
  double fromShared = (type.getCols() + (view ? type.getRows() : 0)) * 32 /
                      costs.sm.sharedBytes;
  double taken = std::max(flops / costs.sm.tensorFlops, fromShared);

  double ready = 0;
  for (mlir::Value operand : op->getOperands())
    if (operand != op.getA())
      ready = std::max(ready, warp.interp->get(operand).stamp.last);
  Stamp a = warp.interp->get(op.getA()).stamp;
  double end = 0;
  for (unsigned step = 0; step < steps; ++step) {
    for (unsigned i = 1; i < costs.sm.wgmmaInstructions; ++i)
      if (failed(issue(warp, costs.plain(), 0)))
        return failure();
    double operands =
        std::max(ready, a.first + (a.last - a.first) * (step + 1) / steps);
    stall(warp, operands, "operand");
    double at;
    if (failed(enterTensor(warp, at)))
      return failure();
    double begin = std::max(q.tensor, at);
    end = q.tensor = begin + taken;
    q.steps.push_back(end);
    s.tensorBusy += taken;
    s.flops += flops / double(s.quadrants.size());
    if (warp.index % s.quadrants.size() == 0)
      addSpan(s.tensorSpan, warp, "tensor of quadrant 0",
              (nk ? "nk by " : "kn by ") + warp.name(), begin, end, 0);
  }
  c.products.push_back(end + costs.sm.wgmmaLatency);
  c.result = {c.products.back(), c.products.back()};
  return success();
}

LogicalResult Timing::waitProduct(Warp &warp, frag::WgmmaWaitOp op) {
  WarpClock &c = clock(warp);
  if (failed(issue(warp, costs.plain(), 0)))
    return failure();
  double begin = c.now;
  if (c.products.size() > op.getPending())
    stall(warp, c.products[c.products.size() - 1 - op.getPending()],
          "wait product");
  warpSpan(warp, "wait product", begin);
  return success();
}

/// Operand B comes by ldmatrix, one for two products of 16 x 8 x 16, a group
/// ahead of them; operand A, unless it is in registers, one for 16 rows.
LogicalResult Timing::runMma(Warp &warp, frag::MmaOp op) {
  WarpClock &c = clock(warp);
  SmClock &s = sm(warp);
  frag::RegType type = op.getResult().getType();
  unsigned rows = frag::layoutOf(type).gridRows();
  unsigned k = unsigned(op.getAFragments().getCols()) / 16;
  unsigned n = unsigned(type.getCols()) / 8;
  unsigned loads = n / 2 + (op.getAPos() ? rows : 0);
  double ready = 0;
  for (mlir::Value operand : op->getOperands())
    ready = std::max(ready, warp.interp->get(operand).stamp.last);
  Instr load = costs.memory(512, costs.sm.sharedLatency);
  Instr mma{Unit::Mma, costs.sm.mma, costs.sm.mmaLatency};
  double there = 0, at = 0;
  for (unsigned step = 0; step <= k; ++step) {
    double before = there;
    // The fragments of the next step, then the products of this one.
    for (unsigned i = 0; i < std::max(loads, n * rows); ++i) {
      if (step < k && i < loads) {
        if (failed(issue(warp, load, 0, &at)))
          return failure();
        there = at + load.latency;
      }
      if (step > 0 && i < n * rows) {
        if (failed(issue(warp, mma, std::max(ready, before), &at)))
          return failure();
        s.tensorBusy += mma.taken;
        s.flops += 2 * 16 * 8 * 16;
        if (warp.index == 0)
          addSpan(s.tensorSpan, warp, "tensor of quadrant 0", warp.name(), at,
                  at + mma.taken, 16);
      }
    }
  }
  c.result = {at + mma.latency, at + mma.latency};
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void Timing::startCopy(uint64_t number, int64_t bytes, StringRef what) {
  Warp &warp = running();
  SmClock &s = sm(warp);
  double taken = double(bytes) / costs.sm.l2Bytes;
  double begin = std::max(s.copies, clock(warp).now);
  s.copies = begin + taken;
  s.copyBusy += taken;
  due[number] = s.copies + costs.sm.copyLatency;
  int64_t own = -1;
  addSpan(own, warp, "copies of '" + what + "'", what, clock(warp).now,
          due[number], 0);
}

LogicalResult Timing::startCopies(Warp &warp, frag::CpAsyncOp op) {
  WarpClock &c = clock(warp);
  SmClock &s = sm(warp);
  frag::RingType ring = op.getRing().getType();
  double chunks = double(ring.getSlotBytes()) / 16;
  unsigned each = unsigned(chunks / (warp.groupWarps * layout::warpSize));
  double ready = warp.interp->get(op.getBase()).stamp.last;
  for (unsigned i = 0; i < std::max(each, 1u); ++i) {
    for (unsigned j = 0; j < 3; ++j)
      if (failed(issue(warp, costs.alu(), ready)))
        return failure();
    double at;
    if (failed(issue(warp, costs.memory(512, 0), 0, &at)))
      return failure();
    double taken = 512 / costs.sm.l2Bytes;
    s.copies = std::max(s.copies, at) + taken;
    s.copyBusy += taken;
    c.copies = std::max(c.copies, s.copies + costs.sm.l2Latency);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void Timing::wake(Warp &warp, StringRef cause, double latency) {
  WarpClock &c = clock(warp);
  double begin = c.now;
  stall(warp, global, cause);
  stall(warp, c.now + latency, cause);
  c.result = {c.now, c.now};
  warpSpan(warp, cause, begin);
}

LogicalResult Timing::runScf(Warp &warp, Operation *op, Interp &interp) {
  auto branch = [&](mlir::ValueRange values, unsigned instrs) {
    double ready = 0;
    for (mlir::Value value : values)
      ready = std::max(ready, interp.get(value).stamp.last);
    for (unsigned i = 0; i < instrs; ++i)
      if (failed(issue(warp, costs.alu(), ready)))
        return failure();
    stall(warp, clock(warp).now + costs.sm.branchLatency, "branch");
    return success();
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    clock(warp).laps[op] = {};
    return branch({loop.getLowerBound(), loop.getUpperBound()}, 1);
  }
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return branch(choice.getCondition(), 1);
  if (auto condition = dyn_cast<scf::ConditionOp>(op))
    return branch(condition.getCondition(), 1);
  if (isa<scf::YieldOp>(op) && isa<scf::ForOp>(op->getParentOp())) {
    lap(warp, op->getParentOp());
    return branch({}, 2);
  }
  return success();
}

LogicalResult Timing::before(Operation *op, Interp &interp) {
  Warp &warp = running();
  WarpClock &c = clock(warp);
  c.active |= isa<frag::RoleDispatchOp>(op->getParentOp());
  c.result = {};
  double begin = c.now;
  if (op->getName().getDialectNamespace() == "scf")
    return runScf(warp, op, interp);
  LogicalResult done = success();
  StringRef name = op->getName().stripDialect();
  if (auto product = dyn_cast<frag::WgmmaOp>(op))
    done = startProduct(warp, product);
  else if (auto wait = dyn_cast<frag::WgmmaWaitOp>(op))
    return movedWaits.contains(op) ? success() : waitProduct(warp, wait);
  else if (auto mma = dyn_cast<frag::MmaOp>(op))
    done = runMma(warp, mma);
  else if (auto copy = dyn_cast<frag::CpAsyncOp>(op))
    done = startCopies(warp, copy);
  else if (isa<frag::CpAsyncCommitOp>(op))
    c.groups.push_back(std::exchange(c.copies, 0));
  else if (auto wait = dyn_cast<frag::CpAsyncWaitOp>(op)) {
    if (c.groups.size() > wait.getPending())
      stall(warp, c.groups[c.groups.size() - 1 - wait.getPending()],
            "wait copies");
    name = "wait copies";
  } else if (auto zero = dyn_cast<frag::ZeroRowsOp>(op)) {
    frag::RingType ring = zero.getRing().getType();
    int64_t rows = ring.getRows() - interp.getInt(zero.getFirst());
    int64_t bytes = std::max<int64_t>(rows, 0) * ring.getSlotBytes() /
                    ring.getRows() / warp.groupWarps;
    for (int64_t b = 0; b < bytes && succeeded(done); b += 512)
      done = issue(warp, costs.memory(512, 0), 0);
  } else if (auto rewrite = dyn_cast<frag::RewriteRowsOp>(op)) {
    int64_t rows = interp.getInt(rewrite.getEnd()) -
                   interp.getInt(rewrite.getBegin()) - warp.inGroup();
    for (int64_t row = 0; row < rows && succeeded(done); row += warp.groupWarps)
      done = runStream(warp, op);
  } else {
    done = runStream(warp, op);
  }
  if (auto map = dyn_cast<frag::MapOp>(op))
    for (const Instr &step : costs.of(op).steps)
      if (step.unit == Unit::Mufu)
        name = "map with exp2";
  if (op->getName().getDialectNamespace() == "frag" && c.now > begin + 8)
    warpSpan(warp, name, begin);
  return done;
}

LogicalResult Timing::after(Operation *op, Interp &interp) {
  Warp &warp = running();
  WarpClock &c = clock(warp);
  if (op->getNumRegions() && !isa<frag::MapOp, frag::RewriteTileOp>(op))
    return success();
  if (auto wait = dyn_cast<frag::MbarWaitOp>(op)) {
    StringRef name = interp.get<BarsObject>(wait.getBars()).name;
    wake(warp, ("wait " + name).str(), costs.sm.mbarLatency);
  } else if (isa<frag::CtaSyncOp, frag::InitOp, frag::BarrierSyncOp>(op)) {
    wake(warp, "barrier", costs.sm.barrierLatency);
  } else if (auto any = dyn_cast<frag::AnyOp>(op)) {
    if (any.getScope() != frag::VoteScope::Warp)
      wake(warp, "vote", costs.sm.barrierLatency);
  } else if (isa<frag::SetRegistersOp>(op)) {
    wake(warp, "registers", costs.sm.registersLatency);
  }
  if (auto wait = dyn_cast<frag::WgmmaWaitOp>(op)) {
    // Stands behind the wait in any case.
    interp.stamp(wait.getResult(), {});
    for (auto [pinned, released] :
         llvm::zip(wait.getPinned(), wait.getReleased()))
      interp.stamp(released, interp.get(pinned).stamp);
  } else {
    for (mlir::Value result : op->getResults())
      interp.stamp(result, c.result);
  }
  auto found = moved.find(op);
  return found == moved.end() ? success() : waitProduct(warp, found->second);
}
