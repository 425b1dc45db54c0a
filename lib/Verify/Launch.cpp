//===- Launch.cpp - plan and parameter struct of a workload ---------------===//

#include "Launch.h"

#include "attn/Workload/Launch.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

using namespace attn;

workload::KernelDesc attn::workloadDescOf(const emit::Kernel &k) {
  workload::KernelDesc d;
  d.name = k.name;
  d.heads = k.heads;
  d.kvHeads = k.kvHeads;
  d.dim = k.dim;
  d.dimV = k.dimV;
  d.ragged = k.ragged;
  d.softmax = k.softmax;
  d.defaultScale = k.defaultScale;
  for (const emit::Param &p : k.params)
    d.params.push_back(
        {p.name, p.type, p.hasDefault, p.defaultBits, p.sampleLo, p.sampleHi});
  for (const emit::Table &t : k.tables) {
    workload::TableDesc table{t.name,     t.element,  {},
                              t.sampleLo, t.sampleHi, t.sorted};
    for (uint8_t space : t.index)
      table.index.push_back(attn_index_space(space));
    d.tables.push_back(std::move(table));
  }
  for (const emit::Hook &h : k.hooks)
    d.hooks.push_back(h.code);
  return d;
}

static uint64_t address(const void *p) {
  return uint64_t(reinterpret_cast<uintptr_t>(p));
}

bool Launch::make(workload::Workload &w, const emit::Kernel &kernel,
                  const emit::Specialisation &s, const VerifyOptions &verify,
                  std::string &error) {
  plan::Options options;
  options.workers = verify.ctas;
  options.splitKeys = verify.splitKeys;
  workload::Tiling tiling;
  tiling.pack = s.pack;
  tiling.tileQ = s.tileQ;
  tiling.tileK = s.tileK;
  if (verify.freeSplits)
    tiling.split = {0, 0};
  plan::Summary summary;
  if (!workload::planWorkload(w, tiling, options, plan, summary, error))
    return false;

  planned = plan;
  partialO.assign(size_t(summary.slots) * s.tileQ * kernel.dimV, std::nanf(""));
  partialRows.assign(size_t(summary.slots) * 2 * s.tileQ, std::nanf(""));
  paramBytes.assign(s.paramsBytes, 0);
  attn_kernel_params fixed = workload::fixedParams(w);
  fixed.plan = address(plan.data());
  fixed.partial_o = address(partialO.data());
  fixed.partial_rows = address(partialRows.data());
  std::memcpy(paramBytes.data(), &fixed, sizeof(fixed));
  for (size_t i = 0; i < kernel.params.size(); ++i)
    std::memcpy(paramBytes.data() + kernel.params[i].offset, &w.paramBits[i],
                4);
  for (size_t i = 0; i < kernel.tables.size(); ++i) {
    attn_table_param t = workload::tableParam(w.tables[i]);
    std::memcpy(paramBytes.data() + kernel.tables[i].offset, &t, sizeof(t));
  }
  return true;
}

void Launch::reset() {
  std::copy(planned.begin(), planned.end(), plan.begin());
  std::fill(partialO.begin(), partialO.end(), std::nanf(""));
  std::fill(partialRows.begin(), partialRows.end(), std::nanf(""));
}

bool attn::runObject(llvm::ArrayRef<char> object, const emit::Specialisation &s,
                     const Launch &launch, std::string &error) {
  int fd = memfd_create("attn", 0);
  if (fd < 0 ||
      write(fd, object.data(), object.size()) != ssize_t(object.size())) {
    error = "cannot write " + std::to_string(object.size()) +
            " bytes of object code";
    if (fd >= 0)
      close(fd);
    return false;
  }
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  close(fd);
  using Entry = void (*)(const void *, const void *, void *);
  auto entry = handle ? reinterpret_cast<Entry>(dlsym(handle, s.entry.c_str()))
                      : nullptr;
  auto merge =
      handle ? reinterpret_cast<Entry>(dlsym(handle, s.mergeEntry.c_str()))
             : nullptr;
  if (!entry || !merge) {
    const char *why = dlerror();
    error = why ? why : "object has no entry " + s.entry;
    return false;
  }
  size_t bytes = std::max(s.scratchBytes, s.mergeScratchBytes) + 64;
  std::unique_ptr<void, decltype(&free)> scratch(
      aligned_alloc(64, (bytes + 63) / 64 * 64), free);
  for (const attn_work_item &item : launch.items())
    entry(&item, launch.params().data(), scratch.get());
  for (const attn_merge_item &item : launch.merges())
    merge(&item, launch.params().data(), scratch.get());
  dlclose(handle);
  return true;
}
