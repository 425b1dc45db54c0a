//===- Detail.cpp - cost, worker and blocks of each item ------------------===//

#include "Detail.h"

#include "attn/Plan/MaskVisibility.h"

#include <algorithm>
#include <cstdio>
#include <memory>

using namespace attn;
using namespace attnplan;
using nlohmann::ordered_json;

namespace {

/// The items of a plan buffer.
struct Items {
  explicit Items(const std::vector<char> &plan) {
    auto *header = reinterpret_cast<const attn_plan_header *>(plan.data());
    first = reinterpret_cast<const attn_work_item *>(plan.data() +
                                                     header->items_offset);
    count = header->items;
  }
  const attn_work_item *begin() const { return first; }
  const attn_work_item *end() const { return first + count; }
  const attn_work_item *first;
  uint32_t count;
};

plan::TileRows rowsOf(const attn_work_item &item,
                      const attn_request_record &request, int32_t pack) {
  plan::TileRows rows;
  rows.request = item.request;
  rows.head0 = item.head * pack;
  rows.head1 = item.head * pack + pack - 1;
  rows.token0 = item.row0 / pack;
  rows.token1 = (item.row0 + item.rows - 1) / pack;
  rows.qLen = request.q_len;
  rows.kvLen = request.kv_len;
  return rows;
}

/// Without a mask every whole block is full.
std::vector<mask::BlockRange> unmasked(const attn_work_item &item,
                                       int32_t tileK) {
  std::vector<mask::BlockRange> blocks;
  mask::rangesOfRow(nullptr, mask::Rect(), mask::Bindings(), item.kv_begin,
                    item.kv_end, tileK, blocks);
  return blocks;
}

struct Load {
  int64_t items = 0;
  double cost = 0;
};

std::vector<Load> loadsOf(const std::vector<ItemDetail> &details,
                          int32_t workers) {
  std::vector<Load> loads(workers);
  for (const ItemDetail &d : details) {
    loads[d.turn.worker].items += 1;
    loads[d.turn.worker].cost += d.cost;
  }
  return loads;
}

} // namespace

std::vector<ItemDetail> attnplan::detail(const workload::Workload &w,
                                         const workload::Tiling &tiling,
                                         const std::vector<char> &plan,
                                         int32_t workers, bool inTurn) {
  std::unique_ptr<plan::MaskVisibility> visibility;
  if (const mask::HookProgram *program = w.problem().mask)
    visibility = std::make_unique<plan::MaskVisibility>(
        *program, w.problem().bindings, tiling.tileK);
  std::vector<ItemDetail> details;
  std::vector<double> costs;
  for (const attn_work_item &item : Items(plan)) {
    ItemDetail d;
    d.blocks = visibility
                   ? visibility->blocks(
                         rowsOf(item, w.requests[item.request], tiling.pack),
                         item.kv_begin, item.kv_end)
                   : unmasked(item, tiling.tileK);
    int64_t keys = mask::countVisibleKeys(d.blocks, item.kv_begin, item.kv_end,
                                          tiling.tileK);
    d.cost = double(tiling.costQ) * item.rows + double(tiling.costKv) * keys;
    costs.push_back(d.cost);
    details.push_back(std::move(d));
  }
  std::vector<plan::Turn> turns = plan::replay(costs, workers, inTurn);
  for (size_t i = 0; i < details.size(); ++i)
    details[i].turn = turns[i];
  return details;
}

double attnplan::endOf(const std::vector<ItemDetail> &details) {
  double end = 0;
  for (const ItemDetail &d : details)
    end = std::max(end, d.turn.begin + d.cost);
  return end;
}

void attnplan::printLoad(const std::vector<ItemDetail> &details,
                         int32_t workers) {
  constexpr int width = 40;
  std::vector<Load> loads = loadsOf(details, workers);
  double most = 0;
  for (const Load &load : loads)
    most = std::max(most, load.cost);
  for (int32_t i = 0; i < workers; ++i) {
    int filled = most > 0 ? int(width * loads[i].cost / most + 0.5) : 0;
    std::string bar(filled, '#');
    std::printf("worker %d: items %ld cost %.0f |%-*s|\n", i,
                long(loads[i].items), loads[i].cost, width, bar.c_str());
  }
}

ordered_json attnplan::toJson(const workload::Workload &w,
                              const attnrt_specialisation_info &spec,
                              const std::vector<char> &plan,
                              const plan::Summary &summary,
                              const std::vector<ItemDetail> &details,
                              int32_t workers) {
  ordered_json out{{"kernel", w.kernel.name},
                   {"target", spec.target},
                   {"tile_q", spec.tile_q},
                   {"tile_k", spec.tile_k},
                   {"pack", spec.pack},
                   {"workers", workers},
                   {"total_cost", summary.totalCost},
                   {"longest_cost", summary.longestCost}};
  ordered_json requests = ordered_json::array();
  for (const attn_request_record &r : w.requests)
    requests.push_back({{"q_len", r.q_len}, {"kv_len", r.kv_len}});
  out["requests"] = std::move(requests);
  ordered_json items = ordered_json::array();
  const ItemDetail *d = details.data();
  for (const attn_work_item &item : Items(plan)) {
    ordered_json blocks = ordered_json::array();
    for (const mask::BlockRange &range : d->blocks)
      blocks.push_back({range.first, range.end, mask::nameOf(range.kind)});
    items.push_back({{"request", item.request},
                     {"head", item.head},
                     {"row0", item.row0},
                     {"rows", item.rows},
                     {"kv_begin", item.kv_begin},
                     {"kv_end", item.kv_end},
                     {"slot", item.slot},
                     {"cost", d->cost},
                     {"worker", d->turn.worker},
                     {"begin", d->turn.begin},
                     {"blocks", std::move(blocks)}});
    ++d;
  }
  out["items"] = std::move(items);
  return out;
}
