//===- Describe.cpp - a bundle's kernel as a workload description ---------===//

#include "Runner.h"

using namespace attn::workload;

bool attnrun::describe(const attnrt_bundle *bundle, uint32_t index,
                       KernelDesc &desc, std::string &error) {
  auto failed = [&](attnrt_status status) {
    if (status != ATTNRT_OK)
      error = attnrt_last_error();
    return status != ATTNRT_OK;
  };
  attnrt_kernel_info info;
  if (failed(attnrt_bundle_kernel(bundle, index, &info)))
    return false;
  desc.name = info.name;
  desc.heads = info.heads;
  desc.kvHeads = info.kv_heads;
  desc.dim = info.dim;
  desc.dimV = info.dim_v;
  desc.ragged = info.storage == ATTNRT_RAGGED;
  desc.softmax = info.normaliser == ATTNRT_SOFTMAX;
  desc.defaultScale = info.default_scale;
  for (uint32_t i = 0; i < info.params; ++i) {
    attnrt_param_info p;
    if (failed(attnrt_bundle_param(bundle, index, i, &p)))
      return false;
    desc.params.push_back({p.name, p.type, p.has_default != 0, p.default_bits,
                           p.sample_lo, p.sample_hi});
  }
  for (uint32_t i = 0; i < info.tables; ++i) {
    attnrt_table_info t;
    if (failed(attnrt_bundle_table(bundle, index, i, &t)))
      return false;
    desc.tables.push_back({t.name,
                           t.element,
                           {t.index, t.index + t.rank},
                           t.sample_lo,
                           t.sample_hi,
                           t.sorted != 0});
  }
  for (uint32_t i = 0; i < info.hooks; ++i) {
    attnrt_hook_info h;
    if (failed(attnrt_bundle_hook(bundle, index, i, &h)))
      return false;
    auto *code = static_cast<const uint8_t *>(h.code);
    desc.hooks.emplace_back(code, code + h.size);
  }
  return true;
}
