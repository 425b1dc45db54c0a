//===- Launch.h - plan and parameters of a workload -------------*- C++ -*-===//
//
// What the runtime does before a launch, for tools and tests that go without a
// device: a plan by the shared planner, and parameters with host pointers.
//
//   std::vector<char> plan;
//   planWorkload(w, {pack, tileQ, tileK}, options, plan, summary, error);
//   attn_kernel_params fixed = fixedParams(w);
//   fixed.plan = ...;
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_WORKLOAD_LAUNCH_H
#define ATTN_WORKLOAD_LAUNCH_H

#include "attn/Plan/Planner.h"
#include "attn/Workload/Workload.h"

namespace attn::workload {

/// What the planner asks of a specialisation.
struct Tiling {
  int32_t pack = 1, tileQ = 0, tileK = 0;
  float costQ = 1, costKv = 1;
  plan::SplitCost split; ///< by default the last wave stays whole
};

/// The plan buffer of WorkItem.h, its slices narrowed by the mask.  False with
/// the planner's message.
bool planWorkload(const Workload &w, const Tiling &tiling,
                  const plan::Options &options, std::vector<char> &plan,
                  plan::Summary &summary, std::string &error);

/// Tensors, strides, heads and scale; plan and partial results are left null.
attn_kernel_params fixedParams(const Workload &w);

attn_table_param tableParam(const BoundTable &table);

} // namespace attn::workload

#endif // ATTN_WORKLOAD_LAUNCH_H
