//===- Ends.h - when a plan ends by the cost model --------------*- C++ -*-===//
//
// Plans of a known device, and the same seconds two ways: workers that take items as
// they become free, and workers that take every W-th.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PLAN_ENDS_H
#define ATTN_TEST_PLAN_ENDS_H

#include "Harness.h"

#include "attn/Plan/Load.h"

#include <algorithm>

namespace attn::plan {

/// 16k tokens in all, hidden 2048, bf16, in cycles of an H200.
inline Harness prefill(int32_t dim, int32_t tokens, int32_t heads) {
  Harness h;
  h.qLens.assign(16384 / tokens, tokens);
  h.kvLens = h.qLens;
  h.problem.heads = h.problem.kvHeads = heads;
  h.problem.tileQ = h.problem.tileK = 128;
  h.problem.costQ = 0.22f * float(dim);
  h.problem.costKv = 2.0f * 128 * 2 * float(dim) / 4096 / 0.955f;
  h.problem.keyBytes = 4 * dim;
  h.problem.split = SplitCost::cycles(dim);
  h.options.workers = 132;
  h.options.l2Bytes = 60 << 20;
  return h;
}

/// What each item takes, and a split its partial.
inline std::vector<double> costsOf(const Harness &h) {
  const Problem &p = h.problem;
  std::unique_ptr<MaskVisibility> mask;
  if (h.program.valid())
    mask = std::make_unique<MaskVisibility>(h.program, h.bindings, p.tileK);
  std::vector<double> costs;
  for (const attn_work_item &item : h.items()) {
    Hull hull{item.kv_begin, item.kv_end};
    int64_t keys = hull.end - hull.begin;
    if (mask && keys > 0) {
      TileRows rows = {item.request,
                       item.head * p.pack,
                       item.head * p.pack + p.pack - 1,
                       item.row0 / p.pack,
                       (item.row0 + item.rows - 1) / p.pack,
                       h.qLens[item.request],
                       h.kvLens[item.request]};
      keys = mask->visibility().look(mask->visibility().context, rows, hull);
    }
    double row = p.costQ + (item.slot < 0 ? 0 : p.split.row);
    costs.push_back(row * item.rows + double(p.costKv) * double(keys));
  }
  return costs;
}

/// When the workers end that take the items as they become free.
inline double endOf(const Harness &h) {
  std::vector<double> costs = costsOf(h);
  std::vector<Turn> turns = replay(costs, h.options.workers);
  double end = 0;
  for (size_t i = 0; i < turns.size(); ++i)
    end = std::max(end, turns[i].begin + costs[i]);
  return end;
}

/// When those end that take every workers-th.
inline double endInTurn(const Harness &h) {
  std::vector<double> costs = costsOf(h), loads(h.options.workers, 0);
  for (size_t i = 0; i < costs.size(); ++i)
    loads[i % loads.size()] += costs[i];
  return *std::max_element(loads.begin(), loads.end());
}

/// The same plan with all of the last wave whole.
inline Harness withoutCut(Harness h) {
  h.problem.split = SplitCost();
  EXPECT_TRUE(h.run()) << h.error.text;
  return h;
}

/// What the merges take behind the last item.
inline double mergingOf(const Harness &h) {
  double most = 0, slots = 0, rows = 0;
  for (const attn_merge_item &merge : h.merges()) {
    most = std::max(most, double(merge.count));
    slots += merge.count;
    rows = std::max(rows, double(merge.rows));
  }
  double enough = h.options.enough ? h.options.enough : h.options.workers;
  const SplitCost &split = h.problem.split;
  return slots == 0 ? 0
                    : split.launch + double(split.row) * rows *
                                         std::max(most, slots / enough);
}

} // namespace attn::plan

#endif // ATTN_TEST_PLAN_ENDS_H
