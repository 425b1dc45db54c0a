//===- Schedule.h - choose, override and price a schedule -------*- C++ -*-===//
//
// The one place where scheduling decisions are made.
//
//   chooseSchedules(kernel, sm_80)            what to compile, best first
//   applyOverrides(s, "tile_k=32,skew.load_kv=0")
//   checkSchedule(kernel, s, sm_80)           legal for kernel and target?
//   resourcesOf(kernel, s)                    98304 bytes, 256 threads, ...
//   costOf(kernel, s)                         28 cycles a row, 17 a key of a tile
//
// Invariant: a schedule that passes checkSchedule and whose resources fit is
// carried out by the passes below without another choice.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULE_SCHEDULE_H
#define ATTN_SCHEDULE_SCHEDULE_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Target/TargetSpec.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace attn {

/// Values that a hook computes once a row or once a column of a block, and
/// reads for every element of it.
struct HookValues {
  int32_t rows = 0, columns = 0;
};

/// Of a score or mask hook; `packed`: rows of a tile belong to several heads.
HookValues hookValuesOf(HookOp hook, bool packed);

/// Instructions that a hook takes for every element of a block.
struct ElementWork {
  int32_t mufu = 0, other = 0;
};

/// Of a score or mask hook.
ElementWork elementWorkOf(HookOp hook);

/// What a schedule decides about, read off the problem.
struct ProblemFacts {
  attn::TensorType query, key, value;
  Normaliser normaliser = Normaliser::Softmax;
  bool hasScoreHook = false;
  bool hasMaskHook = false;
  bool hasOpaqueMask = false; ///< which blocks are whole the plan knows
  int32_t group = 1;
  /// An output hook takes elements of other threads.
  bool outputReadsOthers = false;
  HookValues hookValues; ///< of score and mask hook
  ElementWork scoreWork; ///< of the score hook

  /// Columns of the tiles of Q and K, and of V and O, in the products of a GPU:
  /// the head dims and what they are padded by.  The CPU pads nothing.
  int32_t columns() const;
  int32_t valueColumns() const;

  /// Of an L0 kernel with a resolved variant; false with the reason.
  static bool of(KernelOp kernel, ProblemFacts &facts, std::string &error);
};

/// How many of 16 columns have their exponentials on the FMA pipe.
int32_t chooseExp2Share(const ProblemFacts &facts, const TargetSpec &target);

/// What to compile for a kernel and a target; all of it legal.
struct ScheduleChoices {
  /// From the fastest on, a later one with more registers to spare.  The first
  /// that assembles without spills is the kernel's default specialisation.
  llvm::SmallVector<ScheduleAttr, 4> ladder;
  /// Specialisations beside it that are better for some lengths; each is left
  /// out if it spills.
  llvm::SmallVector<ScheduleAttr, 2> beside;
  /// Worth measuring only: faster rungs that the hooks leave too few registers,
  /// by estimate, among them.
  llvm::SmallVector<ScheduleAttr, 4> measured;
};
ScheduleChoices chooseSchedules(const ProblemFacts &facts,
                                const TargetSpec &target);

/// The first of the ladder.
ScheduleAttr chooseSchedule(const ProblemFacts &facts,
                            const TargetSpec &target);

/// "2 x 64 rows x 128 keys, frozen reference, dynamic order, 2 stages; 196960
/// bytes of shared memory; because head dim 128, masked".  The bytes are those
/// of the launch.
std::string describeSchedule(const ProblemFacts &facts, ScheduleAttr schedule,
                             uint64_t sharedBytes);

/// Cycles that an item takes are row * tile_q + key * keys; units of its own
/// where a target has no measured numbers.
struct ItemCost {
  float row = 1, key = 1;
};
ItemCost costOf(const ProblemFacts &facts, ScheduleAttr schedule,
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
  uint64_t tileRegisters = 0; ///< of tiles alone
  uint64_t hookRegisters = 0; ///< of hooks, estimated; not in the sum above
  /// Registers that the computing role may use; 0: as many as the target has.
  uint64_t registersOfRole = 0;
  /// Registers that the roles set for themselves, of all threads; 0 if none does.
  uint64_t registersSet = 0;
};
constexpr uint64_t registerOverhead = 40;
/// With operands of products in shared memory, little but tiles is live.
constexpr uint64_t registerOverheadOfRole = 30;
/// What ptxas makes do with when nothing is left.
constexpr uint64_t registerOverheadLeast = 14;

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
