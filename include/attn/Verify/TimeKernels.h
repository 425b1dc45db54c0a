//===- TimeKernels.h - clocks of a batch at level L3 ------------*- C++ -*-===//
//
// Plans a batch for `ctas` CTAs and runs the kernel's L3 form in the order of
// time (include/attn/Sim/Timing.h).
//
//   TimeOptions t;
//   auto timed = timeKernels(source, /*lowered=*/{}, options, t);
//   timed->front().report.loops[0].cycles
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_VERIFY_TIMEKERNELS_H
#define ATTN_VERIFY_TIMEKERNELS_H

#include "attn/Sim/Timing.h"
#include "attn/Verify/VerifyLevels.h"

namespace attn {

struct TimeOptions {
  /// Target whose clocks are used; empty: that of the kernel.
  std::string device;
  unsigned ctasPerSm = 1;
  bool timeline = false;
  /// Tiles have values, and the outputs are compared with the oracle where no
  /// row is split.
  bool values = false;
};

struct KernelTiming {
  std::string kernel, device;
  sim::TimingReport report;
  /// Flops of the visible pairs, and those over what the tensor units of all SMs
  /// could do until the slowest CTA is done.
  double visibleFlops = 0, utilisation = 0;
};

/// Times each kernel of the L0 module that has an L3 form.  `lowered` may be null:
/// then the module is lowered.  Failure is diagnosed.
mlir::FailureOr<std::vector<KernelTiming>>
timeKernels(mlir::ModuleOp source, mlir::ModuleOp lowered,
            const VerifyOptions &options, const TimeOptions &time);

} // namespace attn

#endif // ATTN_VERIFY_TIMEKERNELS_H
