//===- Cost.cpp - cycles of a work item -----------------------------------===//
//
//   item = row * tile_q + key * keys of its blocks
//
//   key   the products' operations of a key over what an SM does a cycle, over
//         the utilisation of the shape in long sequences
//   row   start and end of an item that nothing overlaps: copies of Q and of
//         the first block, its product and softmax, the epilogue; in proportion
//         to the head dim
//
// Measured on an H200 (prototype of the schedule, 16k tokens, hidden 2048).  The
// utilisations, of items that are full:
//
//   d 64    4 x 64 x 64  0.695    3 x 64 x 128  0.685    others  0.65, a guess
//   d 128   0.957 at 128 keys, 0.954 at 96, 0.958 at 64        d 256   0.955
//
// The times at 512 to 4k tokens against 16k, without what is lost to tiles that
// are not full, give the cost of a row: 13.2 cycles at d 64 (512, 1k and 2k
// tokens within 2 percent, either shape), 28 at d 128, 62 at d 256: 0.22 d.
// With it the shape of 256 rows wins at powers of two, 14 percent at 512 tokens and 2 at
// 16k, because 192 rows do not divide them; that of 192 wins where 256 rows are padding.
//
// Products of warps, no numbers but those of 128 rows: FlashAttention's rate and a
// fifth more on an H200, 1400 operations a cycle and SM at any head dim.  A tile
// of few rows waits for K and V, which come from the second-level cache at two
// thirds of 64 bytes a cycle; so 16 rows are the better tile up to 48.  Start and
// end of an item are half of the above, since CTAs share an SM.
//
// Where warps share out the keys, the simulator's clocks of two CTAs on an SM agree with
// that rate (10.7 and 5.4 cycles a key at d 128 and 64, where it is 11.9 and 5.9), and an
// item costs 2100 to 2450 cycles however few its rows are: the first copies and the
// groups' exchange.
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"
#include "Wgmma.h"
#include "attn/Schedule/Schedule.h"

#include <algorithm>

using namespace mlir;
using namespace attn;

/// Start and end of an item, in cycles a row and column of the head dim.
static constexpr float rowCycles = 0.22f;
/// Multiplications plus additions of an SM's 16-bit products a cycle.
static constexpr float flopsPerCycle = 4096;

/// Of CTAs that share an SM, with products of warps.
static constexpr float sharedRowCycles = 0.11f;
static constexpr float warpFlopsPerCycle = 1400;
static constexpr float loadBytesPerCycle = 43;
/// Of an item whose keys groups of warps share out.
static constexpr float sharedItemCycles = 2000;

static float utilisationOf(int32_t dim, int32_t replicas, int32_t tileK) {
  if (dim > 64)
    return 0.955f;
  if (replicas == 3 && tileK == 128)
    return 0.685f;
  return replicas == 4 && tileK == 64 ? 0.695f : 0.65f;
}

ItemCost attn::costOf(const ProblemFacts &facts, ScheduleAttr schedule,
                      const TargetSpec &target) {
  // Without measured numbers: what the planner's balance needs, in keys.
  if (!target.isGpu())
    return {1.0f, 1.0f};
  // Padding is computed too, but not copied.
  int32_t dim = std::max(facts.columns(), facts.valueColumns());
  float flops = 2.0f * float(schedule.getTileQ()) *
                float(facts.columns() + facts.valueColumns());
  if (!target.has(Feature::Wgmma) || !hasRoles(schedule.getPipe())) {
    float bytes = 2.0f * float(facts.query.getDim() + facts.value.getDim());
    float row = sharedRowCycles * float(dim);
    if (keyGroupsOf(schedule) > 1)
      row += sharedItemCycles / float(schedule.getTileQ());
    return {row,
            std::max(flops / warpFlopsPerCycle, bytes / loadBytesPerCycle)};
  }
  float utilisation = utilisationOf(dim, schedule.getTileQ() / warpgroupRows,
                                    schedule.getTileK());
  return {rowCycles * float(dim), flops / flopsPerCycle / utilisation};
}
