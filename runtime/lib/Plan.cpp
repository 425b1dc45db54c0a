//===- Plan.cpp - planning through the C API ------------------------------===//
//
// Turns what the caller knows (lengths or indptrs, values by name) into the
// planner's problem, builds into staging memory and uploads.  A plan that was
// narrowed by the mask remembers the values it was narrowed with; attnrt_run
// refuses others.
//
//===----------------------------------------------------------------------===//
#include "Plan.h"

#include "attn/Plan/MaskVisibility.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace attnrt {

static uint64_t align256(uint64_t x) { return (x + 255) & ~uint64_t(255); }

WorkspaceLayout::WorkspaceLayout(const Kernel &kernel, uint64_t planBytes,
                                 uint64_t slots) {
  uint64_t rows = slots * uint64_t(kernel.specialisation().info.tile_q);
  partialO = align256(planBytes);
  partialRows =
      partialO + align256(rows * uint64_t(kernel.entry().info.dim_v) * 4);
  bytes = partialRows + align256(rows * 2 * 4);
}

Plan::~Plan() { free(scratch); }

attnrt_status Plan::lengths(const char *name, const attnrt_plan_params &params,
                            const int32_t *lens, const int32_t *indptr,
                            std::vector<int32_t> &begins,
                            std::vector<int32_t> &result) {
  bool ragged = kernel->entry().info.storage == ATTNRT_RAGGED;
  if (indptr && !ragged)
    return fail(ATTNRT_INVALID_ARGUMENT,
                "kernel '%s' has dense storage: it takes %s lengths, not an "
                "indptr",
                kernel->name(), name);
  if (!lens && !indptr)
    return fail(ATTNRT_INVALID_ARGUMENT,
                "batch is %d but neither %s lengths nor an indptr are given",
                params.batch, name);
  begins.assign(params.batch, 0);
  result.assign(params.batch, 0);
  int64_t next = 0;
  for (int32_t r = 0; r < params.batch; ++r) {
    if (indptr) {
      if (indptr[r] < 0 || indptr[r + 1] < indptr[r])
        return fail(ATTNRT_INVALID_ARGUMENT,
                    "%s indptr goes from %d to %d at request %d", name,
                    indptr[r], indptr[r + 1], r);
      begins[r] = indptr[r];
      result[r] = indptr[r + 1] - indptr[r];
      if (lens && lens[r] > result[r])
        return fail(ATTNRT_INVALID_ARGUMENT,
                    "%s length of request %d is %d but its indptr leaves %d",
                    name, r, lens[r], result[r]);
    } else if (ragged) {
      if (next > INT32_MAX)
        return fail(
            ATTNRT_LIMIT,
            "request %d begins at %s token %ld but a record counts to %d", r,
            name, next, INT32_MAX);
      begins[r] = int32_t(next);
      next += std::max(lens[r], 0); // a negative one is refused by the planner
    }
    if (lens)
      result[r] = lens[r];
  }
  return ATTNRT_OK;
}

attnrt_status Plan::describe(const attnrt_plan_params &params) {
  if (params.batch < 0)
    return fail(ATTNRT_INVALID_ARGUMENT, "batch is %d but the least is 0",
                params.batch);
  if (params.max_workers < 0)
    return fail(ATTNRT_INVALID_ARGUMENT, "max_workers is %d but the least is 0",
                params.max_workers);
  if (params.batch > 0) {
    ATTNRT_TRY(
        lengths("q", params, params.q_lens, params.q_indptr, qBegins, qLens));
    ATTNRT_TRY(lengths("kv", params, params.kv_lens, params.kv_indptr, kvBegins,
                       kvLens));
  } else {
    for (std::vector<int32_t> *list : {&qBegins, &qLens, &kvBegins, &kvLens})
      list->clear();
  }
  const KernelEntry &entry = kernel->entry();
  const attnrt_specialisation_info &s = kernel->specialisation().info;
  problem = {};
  problem.batch = params.batch;
  problem.qLens = qLens.data();
  problem.kvLens = kvLens.data();
  problem.qBegins = qBegins.data();
  problem.kvBegins = kvBegins.data();
  problem.heads = entry.info.heads;
  problem.kvHeads = entry.info.kv_heads;
  problem.pack = s.pack;
  problem.tileQ = s.tile_q;
  problem.tileK = s.tile_k;
  problem.costQ = s.cost_q;
  problem.costKv = s.cost_kv;
  const attnrt_device_info &device = kernel->device->info;
  problem.split = device.is_cuda
                      ? attn::plan::SplitCost::cycles(entry.info.dim_v)
                      : attn::plan::SplitCost::keys();
  problem.keyBytes =
      (entry.info.dim + entry.info.dim_v) * int32_t(bytesOf(s.element));
  options = {};
  options.workers = kernel->executable->workers();
  if (params.max_workers)
    options.workers = std::min(options.workers, params.max_workers);
  options.splitKeys = params.split_keys;
  options.maxSplits = params.max_splits;
  if (device.is_cuda)
    options.enough = std::min(options.workers, device.processors);
  options.inTurn = device.is_cuda && !s.dynamic && !s.cta_an_item;
  if (s.dynamic || s.cta_an_item)
    options.l2Bytes = device.l2_bytes;
  return ATTNRT_OK;
}

/// Values that the mask reads.  `narrow` stays false if there is no mask.
attnrt_status Plan::bindMask(const attnrt_plan_params &params, bool &narrow) {
  const KernelEntry &entry = kernel->entry();
  paramDependences.clear();
  tableDependences.clear();
  narrow = false;
  // Names are checked even if nothing is narrowed: a wrong one is a mistake.
  ATTNRT_TRY(bind(entry, params.params, params.param_count, params.tables,
                  params.table_count, bound));
  if (!entry.mask.valid() || params.no_narrowing)
    return ATTNRT_OK;
  maskTables.clear();
  for (size_t i = 0; i < entry.tables.size(); ++i) {
    attn::mask::TableData data;
    data.element = entry.tables[i].element;
    data.rank = entry.tables[i].rank;
    if (const attnrt_table *given = bound.tables[i]) {
      data.data = given->host;
      for (uint32_t d = 0; d < data.rank; ++d)
        data.extent[d] = given->extent[d];
    }
    maskTables.push_back(data);
  }
  auto note = [](std::vector<Dependence> &list, uint32_t index,
                 uint32_t value) {
    for (const Dependence &d : list)
      if (d.index == index)
        return;
    list.push_back({index, value});
  };
  for (const attn_hook_instr &instr : entry.mask.code()) {
    if (instr.op == ATTN_OP_PARAM) {
      if (!bound.hasWord[instr.index])
        return fail(ATTNRT_INVALID_ARGUMENT,
                    "the mask reads param '%s', which has no default and was "
                    "not passed to the plan",
                    entry.params[instr.index].name);
      note(paramDependences, instr.index, bound.words[instr.index]);
    }
    if (instr.op == ATTN_OP_TABLE && maskTables[instr.index].data)
      note(tableDependences, instr.index, bound.tables[instr.index]->version);
  }
  narrow = true;
  return ATTNRT_OK;
}

attnrt_status Plan::reserveScratch(uint64_t bytes) {
  if (bytes <= scratchBytes)
    return ATTNRT_OK;
  free(scratch);
  scratchBytes = 0;
  if (posix_memalign(&scratch, 64, bytes) != 0) {
    scratch = nullptr;
    return fail(ATTNRT_OUT_OF_MEMORY,
                "no memory for %lu bytes of planning scratch", bytes);
  }
  scratchBytes = bytes;
  return ATTNRT_OK;
}

attnrt_status Plan::workspace(const attnrt_plan_params &params, size_t &bytes) {
  ATTNRT_TRY(describe(params));
  attn::plan::Capacity capacity;
  attn::plan::Error error;
  if (!attn::plan::capacity(problem, options, capacity, error))
    return fail(ATTNRT_LIMIT, "%s", error.text);
  bytes = WorkspaceLayout(*kernel, capacity.planBytes, capacity.slots).bytes;
  return ATTNRT_OK;
}

attnrt_status Plan::build(const attnrt_plan_params &params, void *memory,
                          size_t bytes, void *stream) {
  built = false;
  info = {};
  ATTNRT_TRY(describe(params));
  bool narrow = false;
  ATTNRT_TRY(bindMask(params, narrow));

  const KernelEntry &entry = kernel->entry();
  attn::mask::Bindings bindings;
  bindings.params = bound.words.data();
  bindings.numParams = bound.words.size();
  bindings.tables = maskTables.data();
  bindings.numTables = maskTables.size();
  attn::plan::MaskVisibility visibility(entry.mask, bindings, problem.tileK);
  if (narrow)
    problem.visibility = &visibility.visibility();

  attn::plan::Capacity capacity;
  attn::plan::Error error;
  if (!attn::plan::capacity(problem, options, capacity, error))
    return fail(ATTNRT_LIMIT, "%s", error.text);
  WorkspaceLayout layout(*kernel, capacity.planBytes, capacity.slots);
  if (bytes < layout.bytes)
    return fail(ATTNRT_TOO_SMALL,
                "plan needs %lu bytes but the workspace has %zu", layout.bytes,
                bytes);
  if (!memory || uintptr_t(memory) % 256)
    return fail(ATTNRT_INVALID_ARGUMENT,
                "workspace begins %u bytes past a multiple of 256 or is null",
                unsigned(uintptr_t(memory) % 256));
  ATTNRT_TRY(reserveScratch(capacity.scratchBytes));
  void *host = nullptr;
  ATTNRT_TRY(staging->next(capacity.planBytes, host));
  attn::plan::Summary summary;
  if (!attn::plan::build(problem, options, host, capacity.planBytes, scratch,
                         scratchBytes, summary, error))
    return fail(ATTNRT_LIMIT, "%s", error.text);
  ATTNRT_TRY(staging->upload(memory, capacity.planBytes, stream));

  qEnd = kvEnd = 0;
  longestQ = longestKv = 0;
  for (int32_t r = 0; r < problem.batch; ++r) {
    longestQ = std::max(longestQ, qLens[r]);
    longestKv = std::max(longestKv, kvLens[r]);
    if (qLens[r] > 0)
      qEnd = std::max(qEnd, int64_t(qBegins[r]) + qLens[r]);
    // Keys of a request without rows are never read.
    if (qLens[r] > 0 && kvLens[r] > 0)
      kvEnd = std::max(kvEnd, int64_t(kvBegins[r]) + kvLens[r]);
  }
  workspaceBegin = static_cast<char *>(memory);
  partialO = layout.partialO;
  partialRows = layout.partialRows;
  info.items = summary.items;
  info.merges = summary.merges;
  info.slots = summary.slots;
  info.requests = uint32_t(problem.batch);
  info.split_keys = summary.splitKeys;
  info.workers = uint32_t(options.workers);
  info.workspace_bytes = layout.bytes;
  info.total_cost = summary.totalCost;
  info.longest_cost = summary.longestCost;
  info.header = static_cast<const attn_plan_header *>(host);
  built = true;
  return ATTNRT_OK;
}

} // namespace attnrt

using namespace attnrt;

extern "C" {

attnrt_status attnrt_plan_create(attnrt_kernel *kernel, attnrt_plan **plan) {
  if (!kernel || !plan)
    return fail(ATTNRT_INVALID_ARGUMENT, "kernel or result pointer is null");
  std::unique_ptr<attnrt_plan> result(new attnrt_plan{Plan(kernel->impl)});
  ATTNRT_TRY(kernel->impl->device->createStaging(result->impl.staging));
  *plan = result.release();
  return ATTNRT_OK;
}

void attnrt_plan_destroy(attnrt_plan *plan) { delete plan; }

attnrt_status attnrt_plan_workspace(attnrt_plan *plan,
                                    const attnrt_plan_params *params,
                                    size_t *bytes) {
  if (!plan || !params || !bytes)
    return fail(ATTNRT_INVALID_ARGUMENT,
                "plan, params or result pointer is null");
  return plan->impl.workspace(*params, *bytes);
}

attnrt_status attnrt_plan_build(attnrt_plan *plan,
                                const attnrt_plan_params *params,
                                void *workspace, size_t workspaceBytes,
                                void *stream) {
  if (!plan || !params)
    return fail(ATTNRT_INVALID_ARGUMENT, "plan or params is null");
  return plan->impl.build(*params, workspace, workspaceBytes, stream);
}

attnrt_status attnrt_plan_query(const attnrt_plan *plan,
                                attnrt_plan_info *info) {
  if (!plan || !info)
    return fail(ATTNRT_INVALID_ARGUMENT, "plan or result pointer is null");
  if (!plan->impl.built)
    return fail(ATTNRT_INVALID_ARGUMENT, "plan was not built");
  *info = plan->impl.info;
  return ATTNRT_OK;
}

} // extern "C"
