//===- TimingReport.cpp - where the clocks went ---------------------------===//
//
// Before the run: which waits stand elsewhere in the machine code (placeWaits).
// After it: totals by CTA, role, unit and loop; as JSON and as a timeline that
// Perfetto and chrome://tracing read.
//
//===----------------------------------------------------------------------===//

#include "TimingState.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace attn;
using namespace attn::sim;

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

/// The assembler schedules the rescaling of an accumulator among the
/// exponentials as soon as its factor is there, and takes the wait that gives
/// the accumulator along, also where the rescaling stands in a branch:
///
///   %al = ...; %p = exp2; %o = wgmma_wait; %on = map(%o, %al)
///     -> the wait is behind %al, in front of the exponentials
///
/// An accumulator that only the next product takes leaves its wait in place.
void Timing::placeWaits(frag::KernelOp kernel) {
  kernel.walk([&](frag::WgmmaWaitOp wait) {
    Operation *last = nullptr; // defines the factor
    for (Operation *user : wait.getResult().getUsers()) {
      auto map = dyn_cast<frag::MapOp>(user);
      if (!map || !wait->getBlock()->findAncestorOpInBlock(*map))
        continue;
      for (mlir::Value input : map.getInputs()) {
        Operation *def = input.getDefiningOp();
        if (def == wait.getOperation() || !def ||
            def->getBlock() != wait->getBlock())
          continue;
        if (!def->isBeforeInBlock(wait))
          return;
        if (!last || last->isBeforeInBlock(def))
          last = def;
      }
    }
    if (!last)
      return;
    // Not over another wait or product of the warpgroup.
    for (Operation *op = wait->getPrevNode(); op && op != last;
         op = op->getPrevNode())
      if (isa<frag::WgmmaOp, frag::WgmmaWaitOp>(op))
        return;
    if (isa<frag::WgmmaOp, frag::WgmmaWaitOp>(last) || moved.count(last))
      return;
    moved[last] = wait;
    movedWaits.insert(wait);
  });
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

Timing::Timing(const TimingOptions &options, frag::KernelOp kernel,
               TimingReport &out)
    : options(options), costs(*options.sm), out(out) {
  placeWaits(kernel);
}

void Timing::start(Machine &m) {
  machine = &m;
  clocks.resize(m.byActor.size());
  size_t perSm = std::max(1u, options.ctasPerSm);
  sms.resize((m.ctas.size() + perSm - 1) / perSm);
  for (SmClock &s : sms)
    s.quadrants.resize(costs.sm.quadrants);
  for (Warp *warp : m.byActor)
    warp->interp->setWatcher(this);
}

void Timing::lap(Warp &warp, Operation *loop) {
  if (warp.inGroup() != 0 || warp.rank > 0)
    return;
  Block &body = loop->getRegion(0).front();
  if (body.getOps<frag::WgmmaOp>().empty() &&
      body.getOps<frag::MmaOp>().empty())
    return;
  WarpClock &c = clock(warp);
  WarpClock::Lap &own = c.laps[loop];
  if (++own.count > 2) {
    laps[loop].cycles += c.now - own.last;
    ++laps[loop].count;
  }
  own.last = c.now;
}

void Timing::addSpan(int64_t &last, const Warp &warp, const Twine &track,
                     StringRef name, double begin, double end, double gap) {
  if (!options.timeline)
    return;
  std::string group = "cta " + std::to_string(warp.cta.index);
  if (last >= 0) {
    TimingSpan &span = spans[last];
    if (span.name == name && span.group == group && begin <= span.end + gap) {
      span.end = std::max(span.end, end);
      return;
    }
  }
  last = int64_t(spans.size());
  spans.push_back({std::move(group), track.str(), name.str(), begin, end});
}

void Timing::warpSpan(Warp &warp, StringRef name, double begin) {
  WarpClock &c = clock(warp);
  if (warp.inGroup() == 0 && c.now > begin)
    addSpan(c.lastSpan, warp, warp.name(), name, begin, c.now, 4);
}

void Timing::finish() {
  for (auto &cta : machine->ctas) {
    double end = 0;
    // Averages over the warps that ran a role's code.
    std::map<std::pair<std::string, int32_t>, std::pair<TimingRole, unsigned>>
        roles;
    for (auto &warp : cta->warps) {
      const WarpClock &c = clock(*warp);
      end = std::max(end, c.now);
      if (!warp->role.empty() && !c.active)
        continue;
      auto &[role, warps] = roles[{warp->role, warp->rank}];
      ++warps;
      role.cycles += c.now;
      role.issue += c.issued;
      for (const auto &entry : c.stalls)
        role.stalls[entry.getKey().str()] += entry.getValue();
    }
    for (auto &[key, value] : roles) {
      auto &[role, warps] = value;
      role.cta = cta->index;
      role.role = key.first;
      role.rank = key.second;
      role.cycles /= warps;
      role.issue /= warps;
      for (auto &[cause, cycles] : role.stalls)
        cycles /= warps;
      out.roles.push_back(std::move(role));
    }
    out.ctaCycles.push_back(end);
    out.cycles = std::max(out.cycles, end);
  }
  double flops = 0, issued = 0, copies = 0, busy[numUnits] = {}, tensor = 0;
  for (const SmClock &s : sms) {
    flops += s.flops;
    issued += s.issued;
    copies += s.copyBusy;
    tensor += s.tensorBusy;
    for (unsigned u = 0; u < numUnits; ++u)
      busy[u] += s.busy[u];
  }
  double all = std::max(out.cycles, 1.0) * double(sms.size());
  double quads = all * costs.sm.quadrants;
  out.flops = flops;
  out.tensorShare = flops / (costs.sm.tensorFlops * all);
  out.units = {{"tensor", tensor / quads},
               {"mufu", busy[unsigned(Unit::Mufu)] / quads},
               {"issue", issued / quads},
               {"fma", busy[unsigned(Unit::Fma)] / quads},
               {"alu", busy[unsigned(Unit::Alu)] / quads},
               {"convert", busy[unsigned(Unit::Convert)] / quads},
               {"memory", busy[unsigned(Unit::Shared)] / all},
               {"copies", copies / all}};
  for (auto &[loop, sum] : laps) {
    std::string where = locText(loop->getLoc());
    size_t slash = where.rfind('/');
    out.loops.push_back(
        {slash == std::string::npos ? where : where.substr(slash + 1),
         sum.count, sum.cycles / double(sum.count)});
  }
  llvm::sort(out.loops, [](const TimingLoop &a, const TimingLoop &b) {
    return std::make_pair(-a.cycles * double(a.count), a.where) <
           std::make_pair(-b.cycles * double(b.count), b.where);
  });
  out.spans = std::move(spans);
}

Report attn::sim::timeMachine(Operation *op, ArrayRef<char> params,
                              MachineOptions options,
                              const TimingOptions &timing, TimingReport &out) {
  auto kernel = dyn_cast<frag::KernelOp>(op);
  if (!kernel)
    return runMachine(op, params, options);
  Timing timed(timing, kernel, out);
  options.timing = &timed;
  options.scheduler = &timed;
  options.maxSteps = ~uint64_t(0);
  return runMachine(op, params, options);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Three digits behind the point are enough for a share, one for clocks.
static double rounded(double value, double digits) {
  return std::round(value * digits) / digits;
}

llvm::json::Value attn::sim::toJSON(const TimingReport &report) {
  llvm::json::Object units;
  for (const TimingUnit &unit : report.units)
    units[unit.name] = rounded(unit.share, 1000);
  llvm::json::Array roles, loops, ctas;
  for (const TimingRole &role : report.roles) {
    llvm::json::Object stalls;
    for (auto &[cause, cycles] : role.stalls)
      stalls[cause] = rounded(cycles, 10);
    roles.push_back(llvm::json::Object{{"cta", role.cta},
                                       {"role", role.role},
                                       {"rank", role.rank},
                                       {"cycles", rounded(role.cycles, 10)},
                                       {"issue", rounded(role.issue, 10)},
                                       {"stalls", std::move(stalls)}});
  }
  for (const TimingLoop &loop : report.loops)
    loops.push_back(llvm::json::Object{{"at", loop.where},
                                       {"iterations", int64_t(loop.count)},
                                       {"cycles", rounded(loop.cycles, 10)}});
  for (double cycles : report.ctaCycles)
    ctas.push_back(rounded(cycles, 10));
  return llvm::json::Object{{"cycles", rounded(report.cycles, 10)},
                            {"cta_cycles", std::move(ctas)},
                            {"flops", report.flops},
                            {"tensor_share", rounded(report.tensorShare, 1000)},
                            {"units", std::move(units)},
                            {"loops", std::move(loops)},
                            {"roles", std::move(roles)}};
}

llvm::json::Value attn::sim::toTimeline(const TimingReport &report) {
  llvm::json::Array events;
  std::map<std::string, int> groups;
  std::map<std::pair<int, std::string>, int> tracks;
  for (const TimingSpan &span : report.spans) {
    auto [group, freshGroup] = groups.emplace(span.group, int(groups.size()));
    int pid = group->second;
    if (freshGroup)
      events.push_back(llvm::json::Object{
          {"ph", "M"},
          {"name", "process_name"},
          {"pid", pid},
          {"args", llvm::json::Object{{"name", span.group}}}});
    auto [track, fresh] =
        tracks.emplace(std::make_pair(pid, span.track), int(tracks.size()));
    if (fresh)
      events.push_back(llvm::json::Object{
          {"ph", "M"},
          {"name", "thread_name"},
          {"pid", pid},
          {"tid", track->second},
          {"args", llvm::json::Object{{"name", span.track}}}});
    events.push_back(llvm::json::Object{{"ph", "X"},
                                        {"name", span.name},
                                        {"pid", pid},
                                        {"tid", track->second},
                                        {"ts", span.begin},
                                        {"dur", span.end - span.begin}});
  }
  return llvm::json::Object{{"traceEvents", std::move(events)},
                            {"displayTimeUnit", "ns"}};
}
