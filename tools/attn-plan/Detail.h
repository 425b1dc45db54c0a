//===- Detail.h - cost, worker and blocks of each item ----------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTN_PLAN_DETAIL_H
#define ATTN_TOOLS_ATTN_PLAN_DETAIL_H

#include "attn/Mask/BlockMap.h"
#include "attn/Plan/Load.h"
#include "attn/Workload/Launch.h"
#include "attnrt/attnrt.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace attnplan {

struct ItemDetail {
  double cost = 0; ///< cost_q * rows + cost_kv * keys of visited blocks
  attn::plan::Turn turn{};
  /// Of the item's keys, block 0 at its first key.
  std::vector<attn::mask::BlockRange> blocks;
};

/// One entry an item of the plan, which `workers` share as they become free, or in
/// turn.
std::vector<ItemDetail> detail(const attn::workload::Workload &w,
                               const attn::workload::Tiling &tiling,
                               const std::vector<char> &plan, int32_t workers,
                               bool inTurn);

/// When the last of the workers ends.
double endOf(const std::vector<ItemDetail> &details);

/// A line a worker: items, cost, and a bar relative to the busiest one.
void printLoad(const std::vector<ItemDetail> &details, int32_t workers);

/// Everything that is known of a plan; rows are packed rows, keys are tokens.
nlohmann::ordered_json toJson(const attn::workload::Workload &w,
                              const attnrt_specialisation_info &spec,
                              const std::vector<char> &plan,
                              const attn::plan::Summary &summary,
                              const std::vector<ItemDetail> &details,
                              int32_t workers);

} // namespace attnplan

#endif // ATTN_TOOLS_ATTN_PLAN_DETAIL_H
