//===- SplitCost.h - what a split costs beside its keys ---------*- C++ -*-===//
//
//   partial   f32, written by its item and read by the merge kernel
//   launch    of the merge kernel, where a plan has no merges yet
//   dram      what it gives: keys that one item alone reads do not come faster to
//             more workers once all of that is taken
//
// In the unit of the specialisation's cost_q and cost_kv: cycles on GPUs, keys
// on the CPU, whose costs have no other unit.
//
// Cycles, on an H200: an SM moves 43 bytes a cycle to and from the second-level
// cache (the number of the compiler's cost model), a stream of reads gets 4.6 TB/s
// of DRAM, 20 bytes a cycle for each of 132 SMs at 1.755 GHz, and a second launch
// in a stream takes 4 us, 7000 cycles.  Keys: one of a tile of 64 rows at head dim
// 128 takes 0.2 us (180 GFLOP/s a thread), a row of a partial a sixteenth of that
// at 40 GB/s, the threads' second start 6 us, and DRAM gives a thread 10 GB/s.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_PLAN_SPLITCOST_H
#define ATTN_PLAN_SPLITCOST_H

#include <cstdint>

namespace attn::plan {

struct SplitCost {
  /// More than any plan costs: nothing is known, so no whole item is split.
  static constexpr float kNever = 1e30f;

  float row = 0;         ///< of a partial, moved once
  float launch = kNever; ///< of the merge kernel
  float dram = kNever;   ///< bytes for each processor in a unit of cost

  static SplitCost cycles(int32_t dimV) {
    return {float(dimV + 1) * 4.0f / 43.0f, 7000.0f, 20.0f};
  }
  static SplitCost keys() { return {1.0f / 16.0f, 32.0f, 2000.0f}; }
};

} // namespace attn::plan

#endif // ATTN_PLAN_SPLITCOST_H
