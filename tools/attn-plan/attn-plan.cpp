//===- attn-plan.cpp - print a plan ---------------------------------------===//
//
//   attn-plan llama3.attn --target=sm_80 --batch='q=5,40;kv=300,40' --split=256
//
//   kernel prefill target sm_80 tile 128x64 pack 4 items 4 merges 1 slots 2
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
// --json prints the same and the classes of every item's blocks, one object a
// kernel; scripts/plot-block-map.py and plot-load.py draw them.  Needs no device: the planner is told
// the number of workers.
//
//===----------------------------------------------------------------------===//

#include "Detail.h"
#include "Runner.h"

#include "attn/Target/TargetSpec.h"
#include "attn/Workload/Launch.h"

#include <CLI/CLI.hpp>

#include <cstdio>

using namespace attn;

namespace {

struct Request {
  std::string bundle, kernel, target, dtype, batch = "q=5,1;kv=7,300";
  int32_t split = 0, maxSplits = 0, workers = 108;
  uint64_t seed = 1;
  bool defaults = false, summary = false, load = false, json = false;
};

/// Index of the first specialisation for the target and type; -1 if none.
int64_t findSpecialisation(const attnrt_bundle *bundle, uint32_t kernel,
                           uint32_t count, const Request &request,
                           attnrt_specialisation_info &spec) {
  static const char *const names[] = {"f32", "f16", "bf16"};
  for (uint32_t i = 0; i < count; ++i) {
    if (attnrt_bundle_specialisation(bundle, kernel, i, &spec) != ATTNRT_OK)
      return -1;
    if ((request.target.empty() || request.target == spec.target) &&
        (request.dtype.empty() || request.dtype == names[spec.element]))
      return i;
  }
  return -1;
}

void print(const char *name, const attnrt_specialisation_info &spec,
           const std::vector<char> &buffer, const plan::Summary &summary,
           bool brief, int32_t workers, double end) {
  auto *header = reinterpret_cast<const attn_plan_header *>(buffer.data());
  auto *items = reinterpret_cast<const attn_work_item *>(buffer.data() +
                                                         header->items_offset);
  auto *merges = reinterpret_cast<const attn_merge_item *>(
      buffer.data() + header->merges_offset);
  std::printf(
      "kernel %s target %s tile %dx%d pack %d items %u merges %u slots %u\n",
      name, spec.target, spec.tile_q, spec.tile_k, spec.pack, summary.items,
      summary.merges, summary.slots);
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
  attnrt_specialisation_info spec;
  if (findSpecialisation(bundle, index, info.specialisations, request, spec) <
      0) {
    error = "kernel " + desc.name + " has " +
            std::to_string(info.specialisations) +
            " specialisations, none for target \"" + request.target +
            "\" and type \"" + request.dtype + "\"";
    return false;
  }
  workload::Batch batch;
  if (!workload::parseBatch(request.batch, batch, error))
    return false;
  workload::Options options;
  options.seed = request.seed;
  options.sampleParams = !request.defaults;
  options.plain = true;
  workload::Workload w;
  if (!workload::Workload::make(desc, batch, options, w, error))
    return false;

  plan::Options planOptions;
  planOptions.workers = request.workers;
  planOptions.splitKeys = request.split;
  planOptions.maxSplits = request.maxSplits;
  // What the runtime would take from the device.
  std::string unknown;
  const TargetSpec *target = findTarget(spec.target, unknown);
  bool gpu = !target || target->isGpu();
  if (target && (spec.dynamic || spec.cta_an_item))
    planOptions.l2Bytes = target->l2Bytes;
  if (target && gpu)
    planOptions.enough = std::min(request.workers, int32_t(target->sms));
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
      attnplan::detail(w, tiling, buffer, request.workers);
  if (request.json) {
    std::printf("%s\n", attnplan::toJson(w, spec, buffer, summary, details,
                                         request.workers)
                            .dump()
                            .c_str());
    return true;
  }
  print(desc.name.c_str(), spec, buffer, summary, request.summary,
        request.workers, attnplan::endOf(details));
  if (request.load)
    attnplan::printLoad(details, request.workers);
  return true;
}

} // namespace

int main(int argc, char **argv) {
  Request request;
  CLI::App app{"Print the plan of a batch"};
  app.add_option("bundle", request.bundle, "bundle file (.attn)")->required();
  app.add_option("--kernel", request.kernel, "plan this kernel only");
  app.add_option("--target", request.target, "specialisation to plan for");
  app.add_option("--dtype", request.dtype, "element type")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--batch", request.batch, "lengths, q=5,1;kv=7,300");
  app.add_option("--split", request.split, "keys of a split (0: for balance)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--max-splits", request.maxSplits,
                 "splits of a tile at most (0: many, 1: none)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--workers", request.workers, "CTAs or threads (default 108; an H200 has 132)")
      ->check(CLI::PositiveNumber);
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
