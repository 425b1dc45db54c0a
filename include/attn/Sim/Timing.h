//===- Timing.h - how many clocks a kernel takes at level L3 ----*- C++ -*-===//
//
// The machine of Machine.h under a schedule of its own: who is first in time
// runs first.  Each op of a warp is a stream of instructions that wait for their
// operands, for the scheduler of the warp's quadrant and for a unit; copies and
// products of a warpgroup are taken by their units in the order of their issue.
//
//   TimingOptions t;
//   t.sm = findTiming("sm_90a");
//   TimingReport timed;
//   Report r = timeMachine(kernel, params, options, t, timed);
//   timed.loops[0].cycles      // clocks between two visits
//
// With options.values = false tiles have no values: long runs are fast, and the
// votes of `frag.any` say options.vote.
//
// Invariant: a timed run is one more schedule of the machine, with the same
// checks; times do not depend on values except through branches.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_TIMING_H
#define ATTN_SIM_TIMING_H

#include "attn/Sim/Machine.h"
#include "attn/Target/SmTiming.h"

#include "llvm/Support/JSON.h"

#include <map>
#include <string>
#include <vector>

namespace attn::sim {

struct TimingOptions {
  const SmTiming *sm = nullptr;
  unsigned ctasPerSm = 1;
  bool timeline = false; ///< keep the spans
};

/// One bar of the timeline.
struct TimingSpan {
  std::string group; ///< "cta 0"
  std::string track; ///< "role 'compute'[1] warp 8", "tensor of quadrant 0"
  std::string name;  ///< "wgmma", "wait k.full"
  double begin = 0, end = 0;
};

/// Where the clocks of a role went, averaged over its active warps.
struct TimingRole {
  int32_t cta = 0;
  std::string role;                     ///< empty: a kernel without roles
  int32_t rank = -1;                    ///< of a replica
  double cycles = 0;                    ///< from the launch to its end
  double issue = 0;                     ///< clocks in which it issued
  std::map<std::string, double> stalls; ///< by cause
};

/// A loop that holds products, seen from the first replica of each CTA.
struct TimingLoop {
  std::string where; ///< line of the loop
  uint64_t count = 0;
  double cycles = 0; ///< from one iteration to the next, without the first two
};

/// Share of the time in which a unit is taken, averaged over the SMs.
struct TimingUnit {
  std::string name;
  double share = 0;
};

struct TimingReport {
  std::vector<double> ctaCycles;
  double cycles = 0; ///< of the slowest CTA
  /// Flops of all products, also of what a mask hides; and those over what the
  /// tensor units of all SMs could do in `cycles`.
  double flops = 0, tensorShare = 0;
  std::vector<TimingUnit> units;
  std::vector<TimingRole> roles;
  std::vector<TimingLoop> loops; ///< the one with most clocks first
  std::vector<TimingSpan> spans;
};

/// Runs a `frag.kernel` in the order of time.
Report timeMachine(mlir::Operation *kernel, llvm::ArrayRef<char> params,
                   MachineOptions options, const TimingOptions &timing,
                   TimingReport &out);

llvm::json::Value toJSON(const TimingReport &report);
/// Chrome's trace format; one microsecond is one clock.
llvm::json::Value toTimeline(const TimingReport &report);

} // namespace attn::sim

#endif // ATTN_SIM_TIMING_H
