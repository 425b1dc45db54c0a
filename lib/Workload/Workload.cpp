//===- Workload.cpp - random inputs ---------------------------------------===//
//
// Streams of random numbers are counted, not shared: each tensor has its own
// generator, so a change of one shape does not change the contents of another.
//
//===----------------------------------------------------------------------===//

#include "attn/Workload/Workload.h"

#include "attn/Mask/Eval.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <unistd.h>

using namespace attn;
using namespace attn::workload;

static constexpr uint8_t canaryByte = 0xa5;
/// 0xff... is a NaN in f32, f16 and bf16.
static constexpr uint8_t nanByte = 0xff;

void Buffer::allocate(size_t bytes, uint8_t fill) {
  storage.assign(bytes + 2 * canaryBytes, char(canaryByte));
  std::fill_n(data(), bytes, char(fill));
}

bool Buffer::canariesIntact() const {
  auto intact = [](const char *p) {
    return std::all_of(p, p + canaryBytes,
                       [](char c) { return uint8_t(c) == canaryByte; });
  };
  return intact(storage.data()) &&
         intact(storage.data() + storage.size() - canaryBytes);
}

/// What the machine could hold if nothing else ran.
static int64_t physicalBytes() {
  return int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

/// Lengths whose tensors cannot be: beyond 32-bit tokens, or beyond memory.
static bool fits(const KernelDesc &kernel, const Batch &batch,
                 const Options &options, std::string &error) {
  int64_t tokens[2] = {0, 0};
  for (int32_t r = 0; r < batch.size(); ++r) {
    const int32_t lens[2] = {batch.qLens[size_t(r)], batch.kvLens[size_t(r)]};
    for (int t : {0, 1})
      tokens[t] = kernel.ragged
                      ? tokens[t] + lens[t] + 2
                      : std::max(tokens[t], int64_t(batch.size()) *
                                                (int64_t(lens[t]) + 2));
  }
  for (int t : {0, 1})
    if (tokens[t] > INT32_MAX) {
      error = "the batch needs " + std::to_string(tokens[t]) +
              (t ? " rows of keys" : " rows of queries") +
              " but tokens are counted up to 2147483647";
      return false;
    }
  if (options.noTensors)
    return true;
  int64_t in = oracle::elementBytes(options.element);
  int64_t out = oracle::elementBytes(options.output);
  double bytes =
      double(tokens[0]) * kernel.heads *
          (kernel.dim * in + kernel.dimV * out + 4) +
      double(tokens[1]) * kernel.kvHeads * (kernel.dim + kernel.dimV) * in;
  if (bytes <= double(physicalBytes()))
    return true;
  error = "tensors of the batch take " + std::to_string(int64_t(bytes)) +
          " bytes but this machine has " + std::to_string(physicalBytes());
  return false;
}

/// Token rows of a tensor and where each request begins.
void Workload::layOut(const Batch &lengths) {
  int32_t n = lengths.size();
  requests.resize(size_t(n));
  qIndptr.assign(1, 0);
  kvIndptr.assign(1, 0);
  for (int32_t r = 0; r < n; ++r) {
    int32_t gap = options.plain ? 0 : r % 3;
    attn_request_record &record = requests[size_t(r)];
    record.q_len = lengths.qLens[size_t(r)];
    record.kv_len = lengths.kvLens[size_t(r)];
    record.q_begin = kernel.ragged ? qIndptr.back() : 0;
    record.kv_begin = kernel.ragged ? kvIndptr.back() : 0;
    qIndptr.push_back(qIndptr.back() + record.q_len + gap);
    kvIndptr.push_back(kvIndptr.back() + record.kv_len + gap);
  }
}

/// Strides and size of a tensor of `heads` x `dim` rows.
static void shape(Tensor &t, Element element, bool ragged, int32_t batch,
                  int64_t raggedTokens, int64_t longest, int32_t heads,
                  int32_t dim, int32_t pad, uint8_t fill) {
  t.strides.head = dim;
  t.strides.token = int64_t(heads) * dim + pad;
  t.strides.batch = ragged ? 0 : longest * t.strides.token;
  int64_t tokens = ragged ? raggedTokens : longest * batch;
  t.elements = tokens * t.strides.token;
  t.buffer.allocate(size_t(t.elements) * oracle::elementBytes(element), fill);
}

void Workload::fillInput(Tensor &t, bool query, int32_t heads, int32_t dim,
                         uint64_t stream) {
  std::mt19937_64 random(options.seed * 1000003 + stream);
  std::normal_distribution<float> normal;
  for (size_t r = 0; r < requests.size(); ++r) {
    const attn_request_record &record = requests[r];
    int64_t begin = query ? record.q_begin : record.kv_begin;
    int64_t length = query ? record.q_len : record.kv_len;
    for (int64_t i = 0; i < length; ++i)
      for (int32_t h = 0; h < heads; ++h) {
        int64_t row = int64_t(r) * t.strides.batch +
                      (begin + i) * t.strides.token + h * t.strides.head;
        for (int32_t c = 0; c < dim; ++c)
          oracle::storeElement(options.element, t.buffer.data(), row + c,
                               normal(random));
      }
  }
}

/// A value of [lo, hi] as a bit pattern.
static uint32_t draw(std::mt19937_64 &random, attn_scalar type, uint32_t lo,
                     uint32_t hi) {
  if (type == ATTN_F32) {
    float a = oracle::bitsToFloat(lo), b = oracle::bitsToFloat(hi);
    return oracle::floatToBits(
        a + (b - a) * std::uniform_real_distribution<float>()(random));
  }
  int32_t a = int32_t(lo), b = int32_t(hi);
  return uint32_t(
      std::uniform_int_distribution<int32_t>(a, std::max(a, b))(random));
}

void Workload::fillTables(uint64_t stream) {
  int32_t positions = 1;
  for (const attn_request_record &r : requests)
    positions = std::max({positions, r.kv_len, r.q_len});
  for (const TableDesc &desc : kernel.tables) {
    BoundTable table;
    table.desc = desc;
    size_t elements = 1;
    for (size_t d = 0; d < desc.index.size(); ++d) {
      int32_t extent = 64;
      if (desc.index[d] == ATTN_INDEX_HEAD)
        extent = kernel.heads;
      else if (desc.index[d] == ATTN_INDEX_BATCH)
        extent = std::max(1, batch.size());
      else if (desc.index[d] == ATTN_INDEX_POSITION)
        extent = positions;
      table.extent[d] = uint32_t(extent);
      elements *= size_t(extent);
    }
    table.buffer.allocate(elements * 4, 0);
    std::mt19937_64 random(options.seed * 1000003 + stream++);
    auto *words = reinterpret_cast<uint32_t *>(table.buffer.data());
    for (size_t i = 0; i < elements; ++i)
      words[i] = draw(random, desc.element, desc.sampleLo, desc.sampleHi);
    if (desc.sorted) {
      size_t inner = table.extent[desc.index.size() - 1];
      for (size_t i = 0; i < elements; i += inner)
        std::sort(words + i, words + i + inner, [&](uint32_t a, uint32_t b) {
          return desc.element == ATTN_F32
                     ? oracle::bitsToFloat(a) < oracle::bitsToFloat(b)
                     : int32_t(a) < int32_t(b);
        });
    }
    tables.push_back(std::move(table));
  }
}

bool Workload::bindHooks(std::string &error) {
  mask::Signature signature;
  for (const ParamDesc &p : kernel.params)
    signature.params.push_back(p.type);
  for (const TableDesc &t : kernel.tables)
    signature.tables.push_back({t.element, unsigned(t.index.size())});
  hooks.resize(kernel.hooks.size());
  for (size_t i = 0; i < hooks.size(); ++i)
    if (!mask::HookProgram::decode(kernel.hooks[i].data(),
                                   kernel.hooks[i].size(), signature, hooks[i],
                                   error))
      return false;
  for (const BoundTable &t : tables) {
    mask::TableData data;
    data.data = t.buffer.data();
    data.element = t.desc.element;
    data.rank = unsigned(t.desc.index.size());
    std::copy(std::begin(t.extent), std::end(t.extent),
              std::begin(data.extent));
    tableData.push_back(data);
  }
  return true;
}

/// Keys that no row of their request sees, through no query head of theirs,
/// become NaN.
void Workload::poisonUnseen() {
  if (!oracleProblem.mask)
    return;
  int32_t group = kernel.heads / kernel.kvHeads;
  mask::Env<float> env;
  env.bindings = oracleProblem.bindings;
  for (int32_t r = 0; r < batch.size(); ++r) {
    const attn_request_record &record = requests[size_t(r)];
    env.b = r;
    env.qLen = record.q_len;
    env.kvLen = record.kv_len;
    for (int32_t h = 0; h < kernel.kvHeads; ++h) {
      std::vector<char> near(size_t(record.kv_len), 0);
      for (int32_t k = 0; k < record.kv_len; ++k) {
        bool seen = false;
        env.k = k;
        for (int32_t i = 0; i < record.q_len * group && !seen; ++i) {
          env.h = h * group + i % group;
          env.q = i / group + record.kv_len - record.q_len;
          seen = mask::evalMask(*oracleProblem.mask, env);
        }
        if (!seen)
          continue;
        int64_t first = std::max<int64_t>(0, int64_t(k) - options.unseenMargin);
        int64_t last = std::min<int64_t>(record.kv_len - 1,
                                         int64_t(k) + options.unseenMargin);
        std::fill(near.begin() + first, near.begin() + last + 1, 1);
      }
      for (int32_t i = 0; i < record.kv_len; ++i)
        for (Tensor *t : {&k, &v}) {
          if (near[size_t(i)])
            continue;
          int64_t row = int64_t(r) * t->strides.batch +
                        (record.kv_begin + i) * t->strides.token +
                        h * t->strides.head;
          int32_t width = t == &k ? kernel.dim : kernel.dimV;
          size_t bytes = oracle::elementBytes(options.element);
          std::fill_n(t->buffer.data() + size_t(row) * bytes,
                      size_t(width) * bytes, char(nanByte));
        }
    }
  }
}

/// q, k, v with their contents; o and lse with none.
void Workload::makeTensors() {
  int32_t n = batch.size();
  int64_t longestQ = 0, longestKV = 0;
  for (int32_t r = 0; r < n; ++r) {
    longestQ = std::max(longestQ, int64_t(batch.qLens[size_t(r)]) +
                                      (options.plain ? 0 : 1));
    longestKV = std::max(longestKV, int64_t(batch.kvLens[size_t(r)]) +
                                        (options.plain ? 0 : 2));
  }
  int32_t pad = options.plain ? 0 : options.tokenPad;
  auto make = [&](Tensor &t, Element e, bool query, int32_t heads, int32_t dim,
                  int32_t pad) {
    shape(t, e, kernel.ragged, n, query ? qIndptr.back() : kvIndptr.back(),
          query ? longestQ : longestKV, heads, dim, pad, nanByte);
  };
  make(q, options.element, true, kernel.heads, kernel.dim, pad);
  make(k, options.element, false, kernel.kvHeads, kernel.dim, pad);
  make(v, options.element, false, kernel.kvHeads, kernel.dimV, pad);
  make(o, options.output, true, kernel.heads, kernel.dimV,
       options.plain ? 0 : 8);
  make(lse, Element::F32, true, kernel.heads, 1, 0);
  fillInput(q, true, kernel.heads, kernel.dim, 1);
  fillInput(k, false, kernel.kvHeads, kernel.dim, 2);
  fillInput(v, false, kernel.kvHeads, kernel.dimV, 3);
  shapeInputs();
}

bool Workload::make(const KernelDesc &kernel, const Batch &batch,
                    const Options &options, Workload &w, std::string &error) {
  w = Workload();
  w.kernel = kernel;
  w.batch = batch;
  w.options = options;
  w.scale = kernel.defaultScale;
  if (!fits(kernel, batch, options, error))
    return false;
  w.layOut(batch);

  if (!options.noTensors)
    w.makeTensors();

  std::mt19937_64 random(options.seed * 1000003 + 4);
  for (const ParamDesc &p : kernel.params) {
    auto given = options.params.find(p.name);
    uint32_t sample = draw(random, p.type, p.sampleLo, p.sampleHi);
    if (given != options.params.end())
      w.paramBits.push_back(given->second);
    else if (p.hasDefault && !options.sampleParams)
      w.paramBits.push_back(p.defaultBits);
    else
      w.paramBits.push_back(sample);
  }
  for (const auto &given : options.params)
    if (std::none_of(
            kernel.params.begin(), kernel.params.end(),
            [&](const ParamDesc &p) { return p.name == given.first; })) {
      error =
          "kernel " + kernel.name + " has no parameter \"" + given.first + "\"";
      return false;
    }
  w.fillTables(5);
  if (!options.noTensors)
    w.poisonOutputs();
  if (!w.bindHooks(error))
    return false;

  oracle::Problem &p = w.oracleProblem;
  p.requests = w.requests;
  p.heads = kernel.heads;
  p.kvHeads = kernel.kvHeads;
  p.dim = kernel.dim;
  p.dimV = kernel.dimV;
  p.qStrides = w.q.strides;
  p.kStrides = w.k.strides;
  p.vStrides = w.v.strides;
  p.element = options.element;
  p.q = w.q.buffer.data();
  p.k = w.k.buffer.data();
  p.v = w.v.buffer.data();
  p.scale = w.scale;
  p.softmax = kernel.softmax;
  for (const mask::HookProgram &hook : w.hooks)
    p.setHook(&hook);
  p.bindings.params = w.paramBits.data();
  p.bindings.numParams = w.paramBits.size();
  p.bindings.tables = w.tableData.data();
  p.bindings.numTables = w.tableData.size();
  if (options.unseenMargin >= 0)
    w.poisonUnseen();
  return true;
}

void Workload::poisonOutputs() {
  std::fill_n(o.buffer.data(), o.buffer.size(), char(nanByte));
  std::fill_n(lse.buffer.data(), lse.buffer.size(), char(nanByte));
}
