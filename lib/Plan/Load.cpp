//===- Load.cpp - which worker does which item ----------------------------===//

#include "attn/Plan/Load.h"

#include <cassert>
#include <functional>
#include <queue>
#include <utility>

std::vector<attn::plan::Turn>
attn::plan::replay(const std::vector<double> &costs, int32_t workers,
                   bool inTurn) {
  assert(workers > 0 && "nobody takes the items");
  std::vector<Turn> turns;
  turns.reserve(costs.size());
  if (inTurn) {
    std::vector<double> ends(workers, 0.0);
    for (double cost : costs) {
      auto worker = int32_t(turns.size() % size_t(workers));
      turns.push_back({worker, ends[worker]});
      ends[worker] += cost;
    }
    return turns;
  }
  using Free = std::pair<double, int32_t>; // when, who
  std::priority_queue<Free, std::vector<Free>, std::greater<Free>> free;
  for (int32_t i = 0; i < workers; ++i)
    free.push({0.0, i});
  for (double cost : costs) {
    auto [begin, worker] = free.top();
    free.pop();
    turns.push_back({worker, begin});
    free.push({begin + cost, worker});
  }
  return turns;
}
