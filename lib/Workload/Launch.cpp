//===- Launch.cpp - plan and parameters of a workload ---------------------===//

#include "attn/Workload/Launch.h"

#include "attn/Plan/MaskVisibility.h"

#include <algorithm>
#include <cstddef>
#include <memory>

using namespace attn;
using namespace attn::workload;

bool attn::workload::planWorkload(const Workload &w, const Tiling &tiling,
                                  const plan::Options &options,
                                  std::vector<char> &plan,
                                  plan::Summary &summary, std::string &error) {
  std::vector<int32_t> qBegins, kvBegins;
  for (const attn_request_record &r : w.requests) {
    qBegins.push_back(r.q_begin);
    kvBegins.push_back(r.kv_begin);
  }
  plan::Problem p;
  p.batch = w.batch.size();
  p.qLens = w.batch.qLens.data();
  p.kvLens = w.batch.kvLens.data();
  p.qBegins = qBegins.data();
  p.kvBegins = kvBegins.data();
  p.heads = w.kernel.heads;
  p.kvHeads = w.kernel.kvHeads;
  p.pack = tiling.pack;
  p.tileQ = tiling.tileQ;
  p.tileK = tiling.tileK;
  p.costQ = tiling.costQ;
  p.costKv = tiling.costKv;
  p.split = tiling.split;
  p.keyBytes = (w.kernel.dim + w.kernel.dimV) *
               int32_t(oracle::elementBytes(w.options.element));
  std::unique_ptr<plan::MaskVisibility> visibility;
  if (const mask::HookProgram *program = w.problem().mask) {
    visibility = std::make_unique<plan::MaskVisibility>(
        *program, w.problem().bindings, tiling.tileK);
    p.visibility = &visibility->visibility();
  }
  plan::Capacity capacity;
  plan::Error planError;
  bool ok = plan::capacity(p, options, capacity, planError);
  if (ok) {
    plan.assign(capacity.planBytes, 0);
    std::vector<std::max_align_t> scratch(
        capacity.scratchBytes / sizeof(std::max_align_t) + 1);
    ok = plan::build(p, options, plan.data(), plan.size(), scratch.data(),
                     capacity.scratchBytes, summary, planError);
  }
  if (!ok)
    error = planError.text;
  return ok;
}

static uint64_t addressOf(const Buffer &buffer) {
  return uint64_t(reinterpret_cast<uintptr_t>(buffer.data()));
}

attn_kernel_params attn::workload::fixedParams(const Workload &w) {
  attn_kernel_params fixed{};
  fixed.q = addressOf(w.q.buffer);
  fixed.k = addressOf(w.k.buffer);
  fixed.v = addressOf(w.v.buffer);
  fixed.o = addressOf(w.o.buffer);
  fixed.lse = w.kernel.softmax ? addressOf(w.lse.buffer) : 0;
  fixed.q_strides = w.q.strides;
  fixed.k_strides = w.k.strides;
  fixed.v_strides = w.v.strides;
  fixed.o_strides = w.o.strides;
  fixed.lse_strides = w.lse.strides;
  fixed.heads = w.kernel.heads;
  fixed.kv_heads = w.kernel.kvHeads;
  fixed.scale = w.scale;
  return fixed;
}

attn_table_param attn::workload::tableParam(const BoundTable &table) {
  attn_table_param t{};
  t.data = addressOf(table.buffer);
  std::copy(std::begin(table.extent), std::end(table.extent), t.extent);
  t.version = 1;
  return t;
}
