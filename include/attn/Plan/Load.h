//===- Load.h - which worker does which item --------------------*- C++ -*-===//
//
// Replays a plan: workers take the items in order, each when it has finished
// what it had.  The CPU's threads do so, CTAs with a dynamic order, and CTAs of
// one item each that a GPU starts as others end.  Those of a static order take
// every workers-th item (`inTurn`), whenever that is.
//
//   costs 5 4 3 2, 2 workers
//     worker 0   5     | 2
//     worker 1   4   | 3
//
// Invariant: an item begins when the least loaded worker is free; of equally
// loaded workers the first takes it.  In turn, when its own worker is.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_PLAN_LOAD_H
#define ATTN_PLAN_LOAD_H

#include <cstdint>
#include <vector>

namespace attn::plan {

struct Turn {
  int32_t worker;
  double begin; ///< in units of cost, from the first item's begin
};

/// One turn an item, in the items' order.  `workers` is at least 1, costs are
/// not negative.
std::vector<Turn> replay(const std::vector<double> &costs, int32_t workers,
                         bool inTurn = false);

} // namespace attn::plan

#endif // ATTN_PLAN_LOAD_H
