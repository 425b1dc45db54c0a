//===- VerifyLevels.h - the same inputs through every level -----*- C++ -*-===//
//
// A wrong pass is found by running one batch of random inputs at each level and
// comparing each with the oracle (L0):
//
//   tiles      L1 in the interpreter
//   tiles-cpu  L1 compiled for this machine
//   pipe       L2 in attn-sim
//   frag       L3 in attn-sim
//
// The first level that disagrees names the lowering that is wrong.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_VERIFY_VERIFYLEVELS_H
#define ATTN_VERIFY_VERIFYLEVELS_H

#include "attn/Sim/Scheduler.h"
#include "attn/Sim/Verdict.h"
#include "attn/Workload/Workload.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

#include <string>
#include <vector>

namespace attn {

struct VerifyOptions {
  std::string target = "sm_80";
  std::string schedule;
  std::string element; ///< element type of q, k, v; empty: as declared
  workload::Batch batch;
  int32_t kvHeads = 2; ///< KV heads that are run at most; 0: all
  int32_t splitKeys = 0;
  bool freeSplits =
      false; ///< plans split their last wave as if it cost nothing
  int32_t unseenMargin = -1; ///< see Workload.h
  int32_t ctas = 3;
  uint64_t seed = 1;
  /// Not 0: factor of the scores.  Large ones make a frozen reference fail.
  float scale = 0;
  workload::InputKind inputs = workload::InputKind::Random;
  bool forceExact = false; ///< speculations run exact
  bool failCheck = false;  ///< every speculation is redone
  /// Not 0: pipe and frag run with roles, warps and agents at the same time, once
  /// a seed from `firstSeed` on.
  int32_t seeds = 0;
  uint64_t firstSeed = 0;
  /// Of the scheduler in one run; 0: more than a sound run of the batch takes.
  uint64_t maxSteps = 0;
  /// Of the schedules, in turn.
  std::vector<sim::ScheduleKind> kinds = {sim::ScheduleKind::Random};
};

struct LevelResult {
  std::string kernel, level;
  bool ok = false;
  workload::Verdict verdict;
  sim::Report report; ///< of the last run
  /// Visits of each loop with products, in the order of the kernel's text; of the
  /// warp or replica that made most, summed over CTAs.  Not of compiled code.
  std::vector<uint64_t> visits;
  int32_t runs = 0;
};

/// Runs every kernel of the L0 module at every level that the target has.
/// Failure is a compile error (diagnosed); a disagreement is a result.
mlir::FailureOr<std::vector<LevelResult>>
verifyEachLevel(mlir::ModuleOp source, const VerifyOptions &options);

/// Runs the kernels of a module that is already lowered to L1, L2 or L3;
/// `source` is the L0 module that it came from.
mlir::FailureOr<std::vector<LevelResult>>
verifyLowered(mlir::ModuleOp source, mlir::ModuleOp lowered,
              llvm::StringRef level, const VerifyOptions &options);

} // namespace attn

#endif // ATTN_VERIFY_VERIFYLEVELS_H
