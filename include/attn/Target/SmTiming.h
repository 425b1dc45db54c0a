//===- SmTiming.h - clocks of one SM, for the simulator ---------*- C++ -*-===//
//
// Plain data: how long the units of an SM are taken and when results are there.
// A warp belongs to one of four quadrants; each has a scheduler and its pipes.
//
//   const attn::SmTiming &sm = *attn::findTiming("sm_90a");
//   64 x 128 exponentials of a warpgroup:  64 a thread * sm.mufu = 512 clocks
//
// All in clocks of the SM, per instruction of a warp where nothing else is said.
// Numbers are multiples of 1/8, so that sums of them are exact.
//
// Invariant: a target without an entry is refused, never timed as another one.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TARGET_SMTIMING_H
#define ATTN_TARGET_SMTIMING_H

#include <string_view>

namespace attn {

struct SmTiming {
  unsigned quadrants = 4;

  // How long a unit of the quadrant is taken.
  double fma = 1;     ///< f32 add, multiply, fma
  double alu = 1;     ///< integers, compare, select, minimum
  double mufu = 1;    ///< exp2, log2, reciprocal
  double convert = 1; ///< two f32 to one packed register
  double mma = 0;     ///< mma.m16n8k16; 0: none

  // How long a unit of the SM is taken.
  double tensorFlops = 0; ///< a clock, dense 16-bit operands
  double sharedBytes = 0; ///< a clock
  double l2Bytes = 0;     ///< a clock, what the SM's copies get

  // From issue to the result.
  double fmaLatency = 0, aluLatency = 0, mufuLatency = 0, convertLatency = 0;
  double mmaLatency = 0;
  double shuffleLatency = 0;
  double sharedLatency = 0;
  double l2Latency = 0;      ///< load or cp.async that hits in L2
  double copyLatency = 0;    ///< TMA: from issue to the first bytes
  double atomicLatency = 0;  ///< atomic in L2 that returns
  double barrierLatency = 0; ///< from the last arrival to the next instruction
  double mbarLatency = 0;    ///< one try_wait; also from completion to wake-up
  double branchLatency = 0;
  double registersLatency = 0; ///< setmaxnreg

  // Products of a warpgroup.
  double wgmmaQueue = 0;   ///< steps of k issued and not done, a quadrant
  double wgmmaLatency = 0; ///< from the end of the last step to the wait
  double wgmmaInstructions =
      0; ///< issued a step: the product and its addresses

  /// Between two MUFU instructions of one warp, as scheduled code has them.
  double mufuSelf = 0;
};

/// Null: the target is not timed.
const SmTiming *findTiming(std::string_view target);

} // namespace attn

#endif // ATTN_TARGET_SMTIMING_H
