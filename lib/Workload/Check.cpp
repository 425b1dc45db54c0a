//===- Check.cpp - results against the oracle -----------------------------===//

#include "attn/Workload/Workload.h"

#include "attn/Mask/Eval.h"

#include <algorithm>

using namespace attn;
using namespace attn::workload;

/// Compare all rows up to this many (q, k) pairs of a head.
static constexpr int64_t allRowsLimit = int64_t(1) << 20;
static constexpr int32_t sampledRows = 256;

static int64_t offsetOf(const Tensor &t, const attn_request_record &record,
                        int64_t request, int64_t row, int64_t head) {
  return request * t.strides.batch + (record.q_begin + row) * t.strides.token +
         head * t.strides.head;
}

/// The computed rows in the order of the reference.
void Workload::gather(const oracle::Reference &ref, std::vector<float> &rows,
                      std::vector<float> &lses) const {
  for (const oracle::RowId &id : ref.rows) {
    const attn_request_record &record = requests[size_t(id.request)];
    int64_t at = offsetOf(o, record, id.request, id.row, id.head);
    for (int32_t c = 0; c < kernel.dimV; ++c)
      rows.push_back(
          oracle::loadElement(options.output, o.buffer.data(), at + c));
    lses.push_back(oracle::loadElement(
        Element::F32, lse.buffer.data(),
        offsetOf(lse, record, id.request, id.row, id.head)));
  }
}

/// A byte of o or lse outside the requests' rows that is no longer poison.
std::string Workload::strayWrite() const {
  struct Output {
    const char *name;
    const Tensor &tensor;
    unsigned bytes;
    int32_t dim;
  };
  for (const Output &out :
       {Output{"o", o, oracle::elementBytes(options.output), kernel.dimV},
        Output{"lse", lse, 4, 1}}) {
    std::vector<bool> owned(out.tensor.buffer.size());
    for (size_t r = 0; r < requests.size(); ++r)
      for (int32_t i = 0; i < requests[r].q_len; ++i)
        for (int32_t h = 0; h < kernel.heads; ++h) {
          int64_t at =
              offsetOf(out.tensor, requests[r], int64_t(r), i, h) * out.bytes;
          std::fill_n(owned.begin() + at, int64_t(out.dim) * out.bytes, true);
        }
    for (size_t i = 0; i < owned.size(); ++i)
      if (!owned[i] && uint8_t(out.tensor.buffer.data()[i]) != 0xff)
        return std::string("byte ") + std::to_string(i) + " of " + out.name +
               " lies outside every request's rows but was written";
  }
  return "";
}

Verdict Workload::check() {
  Verdict verdict;
  for (Tensor *t : {&q, &k, &v, &o, &lse})
    if (!t->buffer.canariesIntact()) {
      verdict.message = "memory before or behind a tensor was written";
      return verdict;
    }
  verdict.message = strayWrite();
  if (!verdict.message.empty())
    return verdict;

  int64_t pairs = 0;
  for (const attn_request_record &r : requests)
    pairs += int64_t(r.q_len) * r.kv_len;
  int32_t perHead = options.checkRows;
  if (perHead < 0)
    perHead = pairs > allRowsLimit ? sampledRows : 0;
  verdict.sampled = perHead > 0;
  std::vector<oracle::RowId> ids =
      verdict.sampled ? oracle::sampleRows(oracleProblem, perHead, options.seed)
                      : oracle::allRows(oracleProblem);
  // Inputs stay, so that further runs have the same reference.
  if (!reference) {
    oracle::Reference fresh;
    if (!oracle::attention(oracleProblem, ids, fresh, verdict.message))
      return verdict;
    reference = std::move(fresh);
  }
  const oracle::Reference &ref = *reference;
  std::vector<float> rows, lses;
  gather(ref, rows, lses);
  verdict.rows = int64_t(ids.size());
  verdict.comparison = oracle::compare(
      ref, rows.data(), kernel.softmax ? lses.data() : nullptr,
      oracle::toleranceOf(options.element, options.output), options.output);
  verdict.ok = verdict.comparison.ok;
  verdict.message = verdict.comparison.message;
  return verdict;
}

double Workload::visiblePairs() const {
  double total = 0;
  for (size_t r = 0; r < requests.size(); ++r) {
    const attn_request_record &record = requests[r];
    if (!oracleProblem.mask) {
      total += double(record.q_len) * record.kv_len * kernel.heads;
      continue;
    }
    // Every row of a short request, 64 evenly spaced ones of a long one; head 0
    // stands for all.
    int32_t step = std::max(1, record.q_len / 64);
    int64_t seen = 0, asked = 0;
    mask::Env<float> env;
    env.b = int32_t(r);
    env.qLen = record.q_len;
    env.kvLen = record.kv_len;
    env.bindings = oracleProblem.bindings;
    for (int32_t i = step / 2; i < record.q_len; i += step, ++asked) {
      env.q = i + record.kv_len - record.q_len;
      for (env.k = 0; env.k < record.kv_len; ++env.k)
        seen += mask::evalMask(*oracleProblem.mask, env);
    }
    if (asked)
      total += double(seen) / double(asked) * record.q_len * kernel.heads;
  }
  return total;
}
