//===- attn-plan.cpp - print a plan ---------------------------------------===//
//
//   attn-plan llama3.attn --target=sm_80 --batch='q=5,40;kv=300,40' --split=256
//
//   kernel prefill target sm_80 tile 128x64 pack 4 items 4 merges 1 slots 2 specialisation 0 of 2
//   cost total 24310 longest 6100 split 256 sections 1
//   workers 4 share 6078 end 6100, 1.0037 of the share
//   item 0: request 0 head 0 rows [0, 20) keys [0, 256) slot 0 split 0/2
//   ...
//   merge 0: request 0 head 0 rows [0, 20) slots [0, 2)
//
//   attn-plan llama3.attn --workers=2 --load --summary
//
//   worker 0: items 9 cost 24310 |########################################|
//   worker 1: items 7 cost 20114 |#################################       |
//
// The specialisation is that of the runtime for the batch's largest request, among
// those of one target and type (by default the first's); --specialisation names
// another.  Workers are those of the runtime on the device that the target names,
// a CTA an SM where PTX alone does not say what fits.
//
// --json prints the same and the classes of every item's blocks, one object a
// kernel; scripts/plot-block-map.py and plot-load.py draw them.  Needs no device.
//
//===----------------------------------------------------------------------===//

#include "Detail.h"
#include "Ranges.h"
#include "Runner.h"

#include "attn/Plan/Price.h"
#include "attn/Target/TargetSpec.h"
#include "attn/Workload/Launch.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <thread>

using namespace attn;
using attnrun::atLeast;

namespace {

struct Request {
  std::string bundle, kernel, target, dtype, batch = "q=5,1;kv=7,300";
  int32_t split = 0, maxSplits = 0;
  int32_t workers = 0;         ///< 0: those of the target's device
  int32_t specialisation = -1; ///< -1: the one that the runtime would take
  uint64_t seed = 1;
  bool defaults = false, summary = false, load = false, json = false;
};

/// Index of the cheapest specialisation for the batch's largest request, as the
/// runtime chooses, of the target and type asked for; -1 if none.
int64_t chooseSpecialisation(const attnrt_bundle *bundle, uint32_t kernel,
                             const attnrt_kernel_info &info,
                             const Request &request,
                             const workload::Batch &batch,
                             attnrt_specialisation_info &best) {
  static const char *const names[] = {"f32", "f16", "bf16"};
  auto [q, kv] = batch.largest();
  int64_t found = -1;
  double least = 0;
  for (uint32_t i = 0; i < info.specialisations; ++i) {
    attnrt_specialisation_info s;
    if (attnrt_bundle_specialisation(bundle, kernel, i, &s) != ATTNRT_OK)
      return -1;
    if (request.specialisation >= 0 && int64_t(i) != request.specialisation)
      continue;
    bool asked = (request.target.empty() || request.target == s.target) &&
                 (request.dtype.empty() || request.dtype == names[s.element]);
    if (!asked || (found >= 0 && (std::string(best.target) != s.target ||
                                  best.element != s.element)))
      continue;
    double price =
        plan::Price{s.tile_q, s.tile_k, s.pack, s.cost_q, s.cost_kv}.of(
            q > 0 ? q : 4096, kv > 0 ? kv : 4096, info.heads);
    if (found >= 0 && price >= least)
      continue;
    found = i;
    least = price;
    best = s;
  }
  return found;
}

/// What the runtime's device would have.
int32_t workersOf(const TargetSpec *target,
                  const attnrt_specialisation_info &spec) {
  if (!target || !target->isGpu())
    return int32_t(std::max(1u, std::thread::hardware_concurrency()));
  unsigned ctas =
      spec.registers
          ? target->occupancy(spec.threads, spec.shared_bytes, spec.registers)
          : 1;
  return int32_t(target->sms * std::max(1u, ctas));
}

void print(const char *name, const attnrt_specialisation_info &spec,
           const std::string &which, const std::vector<char> &buffer,
           const plan::Summary &summary, bool brief, int32_t workers,
           double end) {
  auto *header = reinterpret_cast<const attn_plan_header *>(buffer.data());
  auto *items = reinterpret_cast<const attn_work_item *>(buffer.data() +
                                                         header->items_offset);
  auto *merges = reinterpret_cast<const attn_merge_item *>(
      buffer.data() + header->merges_offset);
  std::printf(
      "kernel %s target %s tile %dx%d pack %d items %u merges %u slots %u "
      "specialisation %s\n",
      name, spec.target, spec.tile_q, spec.tile_k, spec.pack, summary.items,
      summary.merges, summary.slots, which.c_str());
  std::printf("cost total %.0f longest %.0f split %u sections %u\n",
              summary.totalCost, summary.longestCost, summary.splitKeys,
              summary.sections);
  double share = summary.totalCost / workers;
  std::printf("workers %d share %.0f end %.0f, %.4f of the share\n", workers,
              share, end, share > 0 ? end / share : 1);
  for (uint32_t i = 0; !brief && i < header->items; ++i)
    std::printf("item %u: request %d head %d rows [%d, %d) keys [%d, %d) slot "
                "%d split %u/%u\n",
                i, items[i].request, items[i].head, items[i].row0,
                items[i].row0 + items[i].rows, items[i].kv_begin,
                items[i].kv_end, items[i].slot, ATTN_ITEM_SPLIT(items[i].flags),
                ATTN_ITEM_SPLITS(items[i].flags));
  for (uint32_t i = 0; !brief && i < header->merges; ++i)
    std::printf("merge %u: request %d head %d rows [%d, %d) slots [%d, %d)\n",
                i, merges[i].request, merges[i].head, merges[i].row0,
                merges[i].row0 + merges[i].rows, merges[i].first_slot,
                merges[i].first_slot + merges[i].count);
}

/// Plans kernel `index`; false with a message.
bool planKernel(const attnrt_bundle *bundle, uint32_t index,
                const Request &request, std::string &error) {
  workload::KernelDesc desc;
  if (!attnrun::describe(bundle, index, desc, error))
    return false;
  attnrt_kernel_info info;
  attnrt_bundle_kernel(bundle, index, &info);
  if (request.specialisation >= 0 &&
      uint32_t(request.specialisation) >= info.specialisations) {
    error = "specialisation " + std::to_string(request.specialisation) +
            " was asked for but kernel '" + desc.name + "' has " +
            std::to_string(info.specialisations);
    return false;
  }
  workload::Batch batch;
  if (!workload::parseBatch(request.batch, batch, error))
    return false;
  attnrt_specialisation_info spec;
  int64_t chosen =
      chooseSpecialisation(bundle, index, info, request, batch, spec);
  if (chosen < 0) {
    error = "kernel " + desc.name + " has " +
            std::to_string(info.specialisations) +
            " specialisations, none for target \"" + request.target +
            "\" and type \"" + request.dtype + "\"";
    return false;
  }
  workload::Options options;
  options.seed = request.seed;
  options.sampleParams = !request.defaults;
  options.plain = true;
  options.noTensors = true;
  options.element = oracle::Element(spec.element);
  workload::Workload w;
  if (!workload::Workload::make(desc, batch, options, w, error))
    return false;

  std::string unknown;
  const TargetSpec *target = findTarget(spec.target, unknown);
  int32_t workers = request.workers ? request.workers : workersOf(target, spec);
  plan::Options planOptions;
  planOptions.workers = workers;
  planOptions.splitKeys = request.split;
  planOptions.maxSplits = request.maxSplits;
  // What the runtime would take from the device.
  bool gpu = !target || target->isGpu();
  if (target && (spec.dynamic || spec.cta_an_item))
    planOptions.l2Bytes = target->l2Bytes;
  if (target && gpu)
    planOptions.enough = std::min(workers, int32_t(target->sms));
  planOptions.inTurn = gpu && !spec.dynamic && !spec.cta_an_item;
  plan::Summary summary;
  std::vector<char> buffer;
  workload::Tiling tiling{spec.pack,
                          spec.tile_q,
                          spec.tile_k,
                          spec.cost_q,
                          spec.cost_kv,
                          gpu ? plan::SplitCost::cycles(desc.dimV)
                              : plan::SplitCost::keys()};
  if (!workload::planWorkload(w, tiling, planOptions, buffer, summary, error))
    return false;
  std::vector<attnplan::ItemDetail> details =
      attnplan::detail(w, tiling, buffer, workers, planOptions.inTurn);
  if (request.json) {
    std::printf("%s\n",
                attnplan::toJson(w, spec, buffer, summary, details, workers)
                    .dump()
                    .c_str());
    return true;
  }
  std::string which =
      std::to_string(chosen) + " of " + std::to_string(info.specialisations);
  print(desc.name.c_str(), spec, which, buffer, summary, request.summary,
        workers, attnplan::endOf(details));
  if (request.load)
    attnplan::printLoad(details, workers);
  return true;
}

} // namespace

int main(int argc, char **argv) {
  Request request;
  CLI::App app{"Print the plan of a batch"};
  app.add_option("bundle", request.bundle, "bundle file (.attn)")->required();
  app.add_option("--kernel", request.kernel, "plan this kernel only");
  app.add_option("--target", request.target,
                 "target to plan for (default: that of the first "
                 "specialisation)");
  app.add_option("--dtype", request.dtype, "element type")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--batch", request.batch, "lengths, q=5,1;kv=7,300");
  app.add_option("--split", request.split, "keys of a split (0: for balance)")
      ->check(atLeast(0));
  app.add_option("--max-splits", request.maxSplits,
                 "splits of a tile at most (0: many, 1: none)")
      ->check(atLeast(0));
  app.add_option("--workers", request.workers,
                 "CTAs or threads (0: all of the target's device: CTAs that "
                 "fit on its SMs; on the cpu this machine's threads)")
      ->check(atLeast(0));
  app.add_option("--specialisation", request.specialisation,
                 "index of the specialisation to plan (default: the one that "
                 "the runtime would take for the largest request)")
      ->check(atLeast(0));
  app.add_option("--seed", request.seed,
                 "seed of sampled parameters and tables");
  app.add_flag("--defaults", request.defaults, "parameters by their default");
  app.add_flag("--summary", request.summary, "totals only");
  app.add_flag("--load", request.load, "what each worker does, as bars");
  app.add_flag("--json", request.json, "one JSON object a kernel, with blocks");
  CLI11_PARSE(app, argc, argv);

  std::string error;
  attnrt_bundle *bundle = nullptr;
  bool ok = attnrt_bundle_open(request.bundle.c_str(), &bundle) == ATTNRT_OK;
  uint32_t only = UINT32_MAX;
  if (ok && !request.kernel.empty())
    ok = attnrt_bundle_find(bundle, request.kernel.c_str(), &only) == ATTNRT_OK;
  if (!ok)
    error = attnrt_last_error();
  for (uint32_t i = 0; ok && i < attnrt_bundle_kernels(bundle); ++i)
    if (only == UINT32_MAX || i == only)
      ok = planKernel(bundle, i, request, error);
  attnrt_bundle_close(bundle);
  ok = ok && attnrun::flushOutput(error);
  if (!ok)
    std::fprintf(stderr, "attn-plan: error: %s\n", error.c_str());
  return ok ? 0 : 1;
}
