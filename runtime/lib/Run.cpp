//===- Run.cpp - checking the arguments of a call and launching it --------===//
//
// Everything that a specialisation requires is checked against the tensors of
// this call, with the numbers; then the parameter struct is filled by the
// bundle's list of offsets and launched.
//
//   "k token stride is 65 but the kernel needs a multiple of 8"
//
//===----------------------------------------------------------------------===//
#include "Plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace attnrt {
namespace {

struct Use {
  const char *name;
  const attnrt_tensor &tensor;
  int32_t heads;
  int32_t width;  ///< of the innermost dimension
  int64_t tokens; ///< one past the last token that is touched; 0: none
  uint32_t elementBytes;
  uint32_t strideMultiple;
  uint32_t baseAlign;
};

class Call {
public:
  Call(Kernel &kernel, Plan &plan, const attnrt_args &args)
      : kernel(kernel), plan(plan), args(args), entry(kernel.entry()),
        s(kernel.specialisation().info) {}

  attnrt_status run(void *stream) {
    ATTNRT_TRY(checkPlan());
    ATTNRT_TRY(bind(entry, args.params, args.param_count, args.tables,
                    args.table_count, bound));
    ATTNRT_TRY(checkScale());
    ATTNRT_TRY(checkValues());
    if (plan.info.items == 0)
      return ATTNRT_OK;
    ATTNRT_TRY(checkBounds());
    ATTNRT_TRY(checkTensors());
    fill();
    const attnrt_kernel_info &k = entry.info;
    Launch launch;
    launch.params = bytes;
    launch.tensors[ATTN_MAP_Q] = view(args.q, plan.qEnd, k.heads, k.dim);
    launch.tensors[ATTN_MAP_K] = view(args.k, plan.kvEnd, k.kv_heads, k.dim);
    launch.tensors[ATTN_MAP_V] = view(args.v, plan.kvEnd, k.kv_heads, k.dim_v);
    launch.items = plan.info.items;
    launch.merges = plan.info.merges;
    launch.stream = stream;
    return kernel.executable->launch(launch);
  }

private:
  attnrt_status checkPlan() const {
    if (plan.kernel.get() != &kernel)
      return fail(ATTNRT_INVALID_ARGUMENT,
                  "plan was made for kernel '%s' (specialisation %u) but "
                  "kernel '%s' (specialisation %u) runs",
                  plan.kernel->name(), plan.kernel->chosen, kernel.name(),
                  kernel.chosen);
    if (!plan.built)
      return fail(ATTNRT_INVALID_ARGUMENT, "plan was not built");
    return ATTNRT_OK;
  }

  /// Block borders come from the mask solved for k, which is the mask only as
  /// long as none of its sums leaves 32 bits: a window of INT_MAX in q < k +
  /// window wraps.  Positions of all requests lie in [-longest q, longest kv).
  attnrt_status checkBounds() const {
    const uint32_t *words = bound.words.data();
    if (attn::mask::fitsI32(entry.bounds, words, plan.longestQ,
                            plan.longestKv) &&
        attn::mask::fitsI32(entry.bounds, words, plan.longestQ, 0))
      return ATTNRT_OK;
    return fail(ATTNRT_INVALID_ARGUMENT,
                "mask of kernel '%s' leaves 32-bit integers for q length %d, "
                "kv length %d and these params",
                kernel.name(), plan.longestQ, plan.longestKv);
  }

  attnrt_status checkScale() {
    scale = args.scale ? *args.scale : entry.info.default_scale;
    if (!std::isfinite(scale))
      return fail(ATTNRT_INVALID_ARGUMENT, "scale %g is not finite",
                  double(scale));
    if (s.scale_positive && !(scale > 0))
      return fail(ATTNRT_INVALID_ARGUMENT,
                  "scale is %g but specialisation %u needs one above 0",
                  double(scale), kernel.chosen);
    return ATTNRT_OK;
  }

  /// Values by name: present, and those that the plan was made with.
  attnrt_status checkValues() const {
    for (size_t i = 0; i < entry.params.size(); ++i)
      if (!bound.hasWord[i])
        return fail(ATTNRT_INVALID_ARGUMENT,
                    "param '%s' has no default and was not passed",
                    entry.params[i].name);
    for (size_t i = 0; i < entry.tables.size(); ++i) {
      if (!bound.tables[i])
        return fail(ATTNRT_INVALID_ARGUMENT, "table '%s' was not passed",
                    entry.tables[i].name);
      if (!bound.tables[i]->data)
        return fail(ATTNRT_INVALID_ARGUMENT, "table '%s' has a null pointer",
                    entry.tables[i].name);
    }
    for (const Dependence &d : plan.paramDependences)
      if (bound.words[d.index] != d.value)
        return fail(ATTNRT_INVALID_ARGUMENT,
                    "plan was made with param '%s' = 0x%08x but 0x%08x was "
                    "passed",
                    entry.params[d.index].name, d.value, bound.words[d.index]);
    for (const Dependence &d : plan.tableDependences)
      if (bound.tables[d.index]->version != d.value)
        return fail(ATTNRT_INVALID_ARGUMENT,
                    "plan was made with version %u of table '%s' but version "
                    "%u was passed",
                    d.value, entry.tables[d.index].name,
                    bound.tables[d.index]->version);
    return ATTNRT_OK;
  }

  attnrt_status checkTensor(const Use &use) const {
    if (use.tokens == 0)
      return ATTNRT_OK; // nothing of it is touched
    const attnrt_tensor &t = use.tensor;
    if (!t.data)
      return fail(ATTNRT_INVALID_ARGUMENT, "%s has a null pointer", use.name);
    uint32_t align = std::max(use.baseAlign, use.elementBytes);
    if (uintptr_t(t.data) % align)
      return fail(ATTNRT_INVALID_ARGUMENT,
                  "%s begins %u bytes past a multiple of %u", use.name,
                  unsigned(uintptr_t(t.data) % align), align);
    bool dense = entry.info.storage == ATTNRT_DENSE;
    struct {
      const char *name;
      int64_t value;
      int64_t last; ///< largest index
    } const strides[] = {
        {"batch", t.strides.batch, dense ? int64_t(plan.info.requests) - 1 : 0},
        {"token", t.strides.token, use.tokens - 1},
        {"head", t.strides.head, use.heads - 1}};
    __int128 needed = use.width;
    for (const auto &stride : strides) {
      if (stride.last == 0)
        continue; // multiplied by 0 only
      if (stride.value < 0)
        return fail(ATTNRT_INVALID_ARGUMENT,
                    "%s %s stride is %ld but the least is 0", use.name,
                    stride.name, stride.value);
      if (stride.value % use.strideMultiple)
        return fail(ATTNRT_INVALID_ARGUMENT,
                    "%s %s stride is %ld but the kernel needs a multiple of %u",
                    use.name, stride.name, stride.value, use.strideMultiple);
      needed += __int128(stride.value) * stride.last;
    }
    constexpr int64_t most = INT64_MAX / 8;
    if (needed > most)
      return fail(ATTNRT_LIMIT,
                  "%s spans more than %ld elements with strides %ld, %ld, %ld",
                  use.name, most, t.strides.batch, t.strides.token,
                  t.strides.head);
    if (t.elements && uint64_t(needed) > t.elements)
      return fail(ATTNRT_INVALID_ARGUMENT,
                  "%s needs %lu elements but the tensor has %lu", use.name,
                  uint64_t(needed), t.elements);
    return ATTNRT_OK;
  }

  attnrt_status checkTensors() const {
    const attnrt_kernel_info &k = entry.info;
    uint32_t in = bytesOf(s.element), out = bytesOf(s.output);
    // Threads of a GPU store up to 16 bytes of a row at once.
    uint32_t wide = s.threads ? 16 : out;
    bool wantsLse = args.lse.data != nullptr;
    if (wantsLse && k.normaliser == ATTNRT_NO_NORMALISER)
      return fail(ATTNRT_INVALID_ARGUMENT,
                  "kernel '%s' has no LSE: its normaliser is none", k.name);
    const Use uses[] = {
        {"q", args.q, k.heads, k.dim, plan.qEnd, in, s.stride_multiple,
         s.base_align},
        {"k", args.k, k.kv_heads, k.dim, plan.kvEnd, in, s.stride_multiple,
         s.base_align},
        {"v", args.v, k.kv_heads, k.dim_v, plan.kvEnd, in, s.stride_multiple,
         s.base_align},
        {"o", args.o, k.heads, k.dim_v, plan.qEnd, out, wide / out, wide},
        {"lse", args.lse, k.heads, 1, wantsLse ? plan.qEnd : 0, 4, 1, 1}};
    for (const Use &use : uses)
      ATTNRT_TRY(checkTensor(use));
    return ATTNRT_OK;
  }

  void fill() {
    auto address = [](const void *p) { return uint64_t(uintptr_t(p)); };
    attn_kernel_params fixed = {};
    fixed.q = address(args.q.data);
    fixed.k = address(args.k.data);
    fixed.v = address(args.v.data);
    fixed.o = address(args.o.data);
    fixed.lse = address(args.lse.data);
    fixed.plan = address(plan.workspaceBegin);
    fixed.partial_o = address(plan.workspaceBegin + plan.partialO);
    fixed.partial_rows = address(plan.workspaceBegin + plan.partialRows);
    fixed.q_strides = args.q.strides;
    fixed.k_strides = args.k.strides;
    fixed.v_strides = args.v.strides;
    fixed.o_strides = args.o.strides;
    fixed.lse_strides = args.lse.strides;
    // Ragged storage has no batch dimension; the address formula still has it.
    if (entry.info.storage == ATTNRT_RAGGED)
      for (attn_strides *strides :
           {&fixed.q_strides, &fixed.k_strides, &fixed.v_strides,
            &fixed.o_strides, &fixed.lse_strides})
        strides->batch = 0;
    fixed.heads = entry.info.heads;
    fixed.kv_heads = entry.info.kv_heads;
    fixed.scale = scale;
    memset(bytes, 0, s.params_bytes);
    memcpy(bytes, &fixed, sizeof(fixed));
    for (size_t i = 0; i < entry.params.size(); ++i)
      memcpy(bytes + entry.params[i].offset, &bound.words[i], 4);
    for (size_t i = 0; i < entry.tables.size(); ++i) {
      const attnrt_table &given = *bound.tables[i];
      attn_table_param table = {address(given.data), {1, 1, 1}, given.version};
      for (uint32_t d = 0; d < entry.tables[i].rank; ++d)
        table.extent[d] = given.extent[d];
      memcpy(bytes + entry.tables[i].offset, &table, sizeof(table));
    }
  }

  TensorView view(const attnrt_tensor &tensor, int64_t tokens, int32_t heads,
                  int32_t columns) const {
    bool dense = entry.info.storage == ATTNRT_DENSE;
    int32_t batch = dense ? int32_t(plan.info.requests) : 1;
    return {tensor.data, tensor.strides, tokens, heads, columns, batch};
  }

  Kernel &kernel;
  Plan &plan;
  const attnrt_args &args;
  const KernelEntry &entry;
  const attnrt_specialisation_info &s;
  Bound bound;
  float scale = 0;
  /// params_bytes is at most 4096, checked with the bundle.
  alignas(ATTN_TENSOR_MAP_ALIGN) char bytes[4096];
};

} // namespace
} // namespace attnrt

extern "C" attnrt_status attnrt_run(attnrt_kernel *kernel, attnrt_plan *plan,
                                    const attnrt_args *args, void *stream) {
  if (!kernel || !plan || !args)
    return attnrt::fail(ATTNRT_INVALID_ARGUMENT,
                        "kernel, plan or args is null");
  return attnrt::Call(*kernel->impl, plan->impl, *args).run(stream);
}
