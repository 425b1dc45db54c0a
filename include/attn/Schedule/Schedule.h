//===- Schedule.h - choose, override and price a schedule -------*- C++ -*-===//
//
// The one place where scheduling decisions are made.
//
//   chooseSchedule(kernel, sm_80)             the default for a kernel
//   applyOverrides(s, "tile_k=32,skew.load_kv=0")
//   checkSchedule(kernel, s, sm_80)           legal for kernel and target?
//   resourcesOf(kernel, s)                    98304 bytes, 256 threads, ...
//
// Invariant: a schedule that passes checkSchedule and whose resources fit is
// carried out by the passes below without another choice.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULE_SCHEDULE_H
#define ATTN_SCHEDULE_SCHEDULE_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Target/TargetSpec.h"

#include <string>

namespace attn {

/// What a schedule decides about, read off the problem.
struct ProblemFacts {
  attn::TensorType query, key, value;
  Normaliser normaliser = Normaliser::Softmax;
  bool hasScoreHook = false;
  bool hasMaskHook = false;
  int32_t group = 1;

  /// Of an L0 kernel with a resolved variant; false with the reason.
  static bool of(KernelOp kernel, ProblemFacts &facts, std::string &error);
};

/// The default schedule of the target.
ScheduleAttr chooseSchedule(const ProblemFacts &facts,
                            const TargetSpec &target);

/// Replaces fields named in `text`, a comma-separated list of field=value.
/// Nested fields of the pipe part: channels.k=3, skew.load_kv=-1,
/// agents.load_kv=cp_async, atoms.qk=mma.m16n8k16, place.default=all,
/// roles=all:8 (name:warps[:replicas[:regs]], several joined by '+'), persist,
/// handover, unroll.  Null with "unknown schedule field 'x' (fields: ...)" and
/// the like in `error`.
ScheduleAttr applyOverrides(ScheduleAttr schedule, llvm::StringRef text,
                            std::string &error);

/// False with the reason, two numbers where there are two.
bool checkSchedule(const ProblemFacts &facts, ScheduleAttr schedule,
                   const TargetSpec &target, std::string &error);

/// What a block of threads needs; all 0 for targets without blocks.
struct Resources {
  uint64_t threads = 0;
  uint64_t sharedBytes = 0;
  /// 32-bit registers of tiles, plus an estimate for the rest.
  uint64_t registersPerThread = 0;
  /// Registers that the computing role may use; 0: as many as the target has.
  uint64_t registersOfRole = 0;
  /// Registers that the roles set for themselves, of all threads; 0 if none does.
  uint64_t registersSet = 0;
};
constexpr uint64_t registerOverhead = 40;
/// With operands of products in shared memory, little but tiles is live.
constexpr uint64_t registerOverheadOfRole = 30;

Resources resourcesOf(const ProblemFacts &facts, ScheduleAttr schedule);

/// Registers that each thread is launched with: where roles set their own, as
/// many as there are for all; else what the tiles need.
uint64_t registersAtLaunch(const Resources &resources,
                           const TargetSpec &target);

/// False with the first sum that does not fit.
bool checkResources(const Resources &resources, const TargetSpec &target,
                    std::string &error);

} // namespace attn

#endif // ATTN_SCHEDULE_SCHEDULE_H
