//===- Kernel.cpp - choosing and loading a specialisation -----------------===//
//
// Admissible ones first, then the newest target, then the lowest cost for the
// caller's typical request, then the first: always the same choice for the same
// question.  If none is left the error lists why each was refused.
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

#include "attn/Plan/Price.h"

#include <algorithm>
#include <cstring>

namespace attnrt {

static const char *nameOf(attnrt_element element) {
  static const char *const names[] = {"f32", "f16", "bf16"};
  return names[element];
}

/// False with the reason if the caller's facts do not meet the requirements.
static bool meets(const attnrt_specialisation_info &s,
                  const attnrt_select &select, std::string &reason) {
  if (select.target && strcmp(select.target, s.target) != 0) {
    reason = std::string("target is ") + s.target;
    return false;
  }
  if (select.element >= 0 && select.element != s.element) {
    reason = std::string("element type is ") + nameOf(s.element);
    return false;
  }
  if (select.output >= 0 && select.output != s.output) {
    reason = std::string("output type is ") + nameOf(s.output);
    return false;
  }
  if (select.stride_multiple % s.stride_multiple != 0) {
    reason = "needs strides that are multiples of " +
             std::to_string(s.stride_multiple) + " but they are multiples of " +
             std::to_string(select.stride_multiple);
    return false;
  }
  if (select.base_align % s.base_align != 0) {
    reason = "needs pointers aligned to " + std::to_string(s.base_align) +
             " bytes but they are aligned to " +
             std::to_string(select.base_align);
    return false;
  }
  if (s.scale_positive && select.scale_not_positive) {
    reason = "needs a scale above 0";
    return false;
  }
  return true;
}

attnrt_status Kernel::load(std::shared_ptr<Device> device,
                           std::shared_ptr<const Bundle> bundle, uint32_t index,
                           const attnrt_select &select,
                           std::shared_ptr<Kernel> &result) {
  const KernelEntry &entry = bundle->kernels[index];
  const auto &list = entry.specialisations;
  if (select.specialisation < 0 || size_t(select.specialisation) > list.size())
    return fail(ATTNRT_INVALID_ARGUMENT,
                "specialisation %d was asked for but kernel '%s' has %zu",
                select.specialisation - 1, entry.info.name, list.size());
  if (select.element > ATTNRT_BF16 || select.output > ATTNRT_BF16)
    return fail(ATTNRT_INVALID_ARGUMENT,
                "element types are %d and %d but the last is %d",
                select.element, select.output, int(ATTNRT_BF16));
  int64_t qLen = select.q_len > 0 ? select.q_len : 4096;
  int64_t kvLen = select.kv_len > 0 ? select.kv_len : 4096;
  int best = -1, bestRank = 0;
  double bestCost = 0;
  std::string reasons;
  for (size_t i = 0; i < list.size(); ++i) {
    if (select.specialisation && size_t(select.specialisation) != i + 1)
      continue;
    int rank = 0;
    std::string reason;
    if (!device->admits(list[i], rank, reason) ||
        !meets(list[i].info, select, reason)) {
      reasons += "; #" + std::to_string(i) + " " + reason;
      continue;
    }
    const attnrt_specialisation_info &s = list[i].info;
    double cost =
        attn::plan::Price{s.tile_q, s.tile_k, s.pack, s.cost_q, s.cost_kv}.of(
            qLen, kvLen, entry.info.heads);
    if (best < 0 || rank > bestRank || (rank == bestRank && cost < bestCost)) {
      best = int(i);
      bestRank = rank;
      bestCost = cost;
    }
  }
  if (best < 0)
    return fail(ATTNRT_NOT_ADMISSIBLE,
                "none of the %zu specialisations of kernel '%s' is admissible "
                "on %s (%s)%s",
                list.size(), entry.info.name, device->info.name,
                device->info.arch, reasons.c_str());
  auto kernel = std::make_shared<Kernel>();
  kernel->device = std::move(device);
  kernel->bundle = std::move(bundle);
  kernel->index = index;
  kernel->chosen = uint32_t(best);
  ATTNRT_TRY(kernel->device->load(list[best], kernel->executable));
  result = std::move(kernel);
  return ATTNRT_OK;
}

attnrt_status bind(const KernelEntry &entry, const attnrt_param *params,
                   uint32_t paramCount, const attnrt_table *tables,
                   uint32_t tableCount, Bound &bound) {
  if ((paramCount && !params) || (tableCount && !tables))
    return fail(ATTNRT_INVALID_ARGUMENT,
                "%u params and %u tables are announced but a list is null",
                paramCount, tableCount);
  size_t declared = entry.params.size();
  bound.words.assign(declared, 0);
  bound.hasWord.assign(declared, 0);
  for (uint32_t i = 0; i < paramCount; ++i) {
    const attnrt_param &given = params[i];
    if (!given.name)
      return fail(ATTNRT_INVALID_ARGUMENT, "param %u has no name", i);
    size_t at = 0;
    while (at < declared && strcmp(entry.params[at].name, given.name) != 0)
      ++at;
    if (at == declared)
      return fail(ATTNRT_NOT_FOUND, "kernel '%s' has no param '%s'",
                  entry.info.name, given.name);
    if (given.type != entry.params[at].type)
      return fail(ATTNRT_INVALID_ARGUMENT, "param '%s' is %s but %s was passed",
                  given.name, attn::mask::nameOf(entry.params[at].type),
                  given.type <= ATTN_I1 ? attn::mask::nameOf(given.type)
                                        : "an unknown type");
    if (bound.hasWord[at])
      return fail(ATTNRT_INVALID_ARGUMENT, "param '%s' is passed twice",
                  given.name);
    bound.words[at] = given.bits;
    bound.hasWord[at] = 1;
  }
  for (size_t at = 0; at < declared; ++at)
    if (!bound.hasWord[at] && entry.params[at].has_default) {
      bound.words[at] = entry.params[at].default_bits;
      bound.hasWord[at] = 1;
    }

  bound.tables.assign(entry.tables.size(), nullptr);
  for (uint32_t i = 0; i < tableCount; ++i) {
    const attnrt_table &given = tables[i];
    if (!given.name)
      return fail(ATTNRT_INVALID_ARGUMENT, "table %u has no name", i);
    size_t at = 0;
    while (at < entry.tables.size() &&
           strcmp(entry.tables[at].name, given.name) != 0)
      ++at;
    if (at == entry.tables.size())
      return fail(ATTNRT_NOT_FOUND, "kernel '%s' has no table '%s'",
                  entry.info.name, given.name);
    if (bound.tables[at])
      return fail(ATTNRT_INVALID_ARGUMENT, "table '%s' is passed twice",
                  given.name);
    for (uint32_t d = 0; d < entry.tables[at].rank; ++d)
      if (given.extent[d] == 0 || given.extent[d] > INT32_MAX)
        return fail(ATTNRT_INVALID_ARGUMENT,
                    "table '%s' has extent %u in dimension %u but an extent "
                    "lies in [1, %d]",
                    given.name, given.extent[d], d, INT32_MAX);
    bound.tables[at] = &given;
  }
  return ATTNRT_OK;
}

} // namespace attnrt

using namespace attnrt;

extern "C" {

attnrt_status attnrt_kernel_load(attnrt_device *device,
                                 const attnrt_bundle *bundle, const char *name,
                                 const attnrt_select *select,
                                 attnrt_kernel **kernel) {
  if (!device || !kernel)
    return fail(ATTNRT_INVALID_ARGUMENT, "device or result pointer is null");
  uint32_t index = 0;
  ATTNRT_TRY(attnrt_bundle_find(bundle, name, &index));
  attnrt_select any = {};
  any.element = any.output = ATTNRT_ANY_ELEMENT;
  std::shared_ptr<Kernel> impl;
  ATTNRT_TRY(Kernel::load(device->impl, bundle->impl, index,
                          select ? *select : any, impl));
  *kernel = new attnrt_kernel{std::move(impl)};
  return ATTNRT_OK;
}

void attnrt_kernel_unload(attnrt_kernel *kernel) { delete kernel; }

attnrt_status attnrt_kernel_chosen(const attnrt_kernel *kernel,
                                   uint32_t *kernelIndex,
                                   uint32_t *specialisation) {
  if (!kernel || !kernelIndex || !specialisation)
    return fail(ATTNRT_INVALID_ARGUMENT, "kernel or result pointer is null");
  *kernelIndex = kernel->impl->index;
  *specialisation = kernel->impl->chosen;
  return ATTNRT_OK;
}

const char *attnrt_kernel_code(const attnrt_kernel *kernel) {
  return kernel ? kernel->impl->executable->code.c_str() : "";
}

} // extern "C"
