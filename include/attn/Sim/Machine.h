//===- Machine.h - run level L3 with its concurrency ------------*- C++ -*-===//
//
// Every warp of every CTA is a fiber over 32-lane values.  cp.async groups, the
// TMA engine and the tensor cores are agents that finish late.  Shared and
// global memory have a shadow that knows who wrote and who read each granule, as
// vector clocks, so that a missing order is found whatever the schedule was:
//
//   MachineOptions options;
//   options.kind = ScheduleKind::Random;
//   options.seed = 7;
//   Report r = runMachine(kernel, params, options);
//   r.verdict      // Correct means: nothing wrong in how it ran; the values are
//                  // the caller's to compare
//
// The order of a run is the order of every run: each arrival has one phase that it
// can count for, and each wait one phase that it can see, or the run ends with a
// verdict.  So one clean run of one CTA, or of one cluster, stands for all
// schedules of the same input: they differ in the order of independent steps, and
// nothing reads what another step may still change.  Launches of several differ in
// who takes which item of a dynamic queue; a run stands for its own division.
//
// Invariant: a run is a function of kernel, inputs and (kind, seed); it ends
// with a verdict and never aborts on a kernel that verifies.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_MACHINE_H
#define ATTN_SIM_MACHINE_H

#include "attn/Sim/Scheduler.h"
#include "attn/Sim/Verdict.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace attn::sim {

struct FragCache;
class Timing;

/// What is decoded once a kernel and kept between its runs.  Must not outlive
/// the kernel, and is void after the kernel has been changed.
class MachineCache {
public:
  MachineCache();
  ~MachineCache();
  FragCache &get() { return *cache; }

private:
  std::unique_ptr<FragCache> cache;
};

struct MachineOptions {
  ScheduleKind kind = ScheduleKind::RoundRobin;
  uint64_t seed = 0;
  /// Not null: in place of `kind`; `seed` then only decides what agents do.
  Scheduler *scheduler = nullptr;
  int32_t ctas = 1;
  uint64_t maxSteps = 20000000;
  MachineCache *cache = nullptr; ///< may be null
  /// Reports also what only another schedule would make go wrong: a phase that
  /// might get another's arrival, or pass before a wait for the one before.
  bool foresee = true;
  /// Not null: gets each op of `frag` that ran.
  llvm::DenseSet<mlir::Operation *> *reached = nullptr;
  /// False: tiles are blank (see MachineBlank.cpp), and each vote says `vote`.
  bool values = true;
  bool vote = false;
  Timing *timing = nullptr; ///< set by timeMachine
};

/// Runs all CTAs of a `frag.kernel`.
Report runMachine(mlir::Operation *kernel, llvm::ArrayRef<char> params,
                  const MachineOptions &options);

} // namespace attn::sim

#endif // ATTN_SIM_MACHINE_H
