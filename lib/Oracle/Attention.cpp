//===- Attention.cpp - attention in double precision ----------------------===//
//
// Rows are grouped by (request, KV head): a group converts its K and V once,
// hooks included, then its rows are independent.
//
//   scores -> m = max, weights = exp(s - m), l = sum -> O = sum w v / l,
//   LSE = m + ln l
//
// The score hook runs for visible pairs only: a hidden pair's score has no
// effect, and nothing of its key may be read.
//
// Invariant: row r writes entry r of the result and nothing else, so threads
// need no order.
//
//===----------------------------------------------------------------------===//
#include "attn/Oracle/Attention.h"

#include "attn/Mask/Eval.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

using namespace attn;
using namespace attn::oracle;
using mask::HookProgram;
using Env = mask::Env<double>;

static const double infinity = std::numeric_limits<double>::infinity();

void Problem::setHook(const HookProgram *program) {
  switch (program->kind()) {
  case ATTN_HOOK_SCORE:
    score = program;
    break;
  case ATTN_HOOK_MASK:
    mask = program;
    break;
  case ATTN_HOOK_SINK:
    sink = program;
    break;
  case ATTN_HOOK_QUERY:
    query = program;
    break;
  case ATTN_HOOK_KEY:
    key = program;
    break;
  case ATTN_HOOK_VALUE:
    value = program;
    break;
  default:
    output = program;
    break;
  }
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

void attn::oracle::merge(double *o, double &lse, const double *o2, double lse2,
                         int64_t dim) {
  if (lse2 == -infinity)
    return;
  if (lse == -infinity) {
    std::copy(o2, o2 + dim, o);
    lse = lse2;
    return;
  }
  double m = std::max(lse, lse2);
  double a = std::exp(lse - m), b = std::exp(lse2 - m);
  for (int64_t i = 0; i < dim; ++i)
    o[i] = (a * o[i] + b * o2[i]) / (a + b);
  lse = m + std::log(a + b);
}

void attn::oracle::mergeSink(double *o, double &lse, double sink, int64_t dim) {
  if (sink == -infinity)
    return;
  if (lse == -infinity) { // O is 0 already
    lse = sink;
    return;
  }
  double m = std::max(lse, sink);
  double a = std::exp(lse - m), b = std::exp(sink - m);
  for (int64_t i = 0; i < dim; ++i)
    o[i] *= a / (a + b);
  lse = m + std::log(a + b);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

std::vector<RowId> attn::oracle::allRows(const Problem &problem) {
  std::vector<RowId> rows;
  for (size_t r = 0; r < problem.requests.size(); ++r)
    for (int32_t i = 0; i < problem.requests[r].q_len; ++i)
      for (int32_t h = 0; h < problem.heads; ++h)
        rows.push_back({int32_t(r), i, h});
  return rows;
}

std::vector<RowId> attn::oracle::sampleRows(const Problem &problem,
                                            int32_t perHead, uint64_t seed) {
  std::vector<RowId> rows;
  std::mt19937_64 random(seed);
  std::vector<int32_t> chosen;
  for (size_t r = 0; r < problem.requests.size(); ++r) {
    int32_t n = problem.requests[r].q_len;
    for (int32_t h = 0; h < problem.heads && n > 0; ++h) {
      chosen.clear();
      if (n <= perHead) {
        for (int32_t i = 0; i < n; ++i)
          chosen.push_back(i);
      } else if (perHead > 0) {
        // One row from each of perHead equal intervals: different and spread.
        for (int32_t i = 0; i < perHead; ++i) {
          int64_t lo = int64_t(n) * i / perHead;
          int64_t hi = int64_t(n) * (i + 1) / perHead;
          chosen.push_back(int32_t(lo + int64_t(random() % uint64_t(hi - lo))));
        }
        chosen.front() = 0;
        if (perHead > 1)
          chosen.back() = n - 1;
      }
      for (int32_t i : chosen)
        rows.push_back({int32_t(r), i, h});
    }
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool checkHook(const HookProgram *hook, attn_hook_kind kind,
                      const mask::Bindings &bindings, std::string &error) {
  if (!hook)
    return true;
  if (!hook->valid() || hook->kind() != kind) {
    error = std::string("the ") + mask::nameOf(kind) +
            " hook is not a valid program of that kind";
    return false;
  }
  return hook->checkBindings(bindings, error);
}

static bool check(const Problem &p, const std::vector<RowId> &rows,
                  std::string &error) {
  if (p.heads <= 0 || p.kvHeads <= 0 || p.heads % p.kvHeads != 0) {
    error = std::to_string(p.heads) + " heads do not divide into " +
            std::to_string(p.kvHeads) + " kv heads";
    return false;
  }
  if (p.dim <= 0 || p.dimV <= 0) {
    error = "head dimensions are " + std::to_string(p.dim) + " and " +
            std::to_string(p.dimV) + " but must be at least 1";
    return false;
  }
  for (size_t r = 0; r < p.requests.size(); ++r) {
    const attn_request_record &request = p.requests[r];
    if (request.q_len < 0 || request.kv_len < 0) {
      error = "request " + std::to_string(r) + " has q_len " +
              std::to_string(request.q_len) + " and kv_len " +
              std::to_string(request.kv_len) + " but both must be at least 0";
      return false;
    }
  }
  if (!p.softmax && p.sink) {
    error = "normaliser none has no sink logit";
    return false;
  }
  const std::pair<const HookProgram *, attn_hook_kind> hooks[] = {
      {p.score, ATTN_HOOK_SCORE},  {p.mask, ATTN_HOOK_MASK},
      {p.sink, ATTN_HOOK_SINK},    {p.query, ATTN_HOOK_QUERY},
      {p.key, ATTN_HOOK_KEY},      {p.value, ATTN_HOOK_VALUE},
      {p.output, ATTN_HOOK_OUTPUT}};
  for (auto [hook, kind] : hooks)
    if (!checkHook(hook, kind, p.bindings, error))
      return false;
  for (const RowId &row : rows) {
    bool inside = row.request >= 0 && size_t(row.request) < p.requests.size() &&
                  row.head >= 0 && row.head < p.heads && row.row >= 0 &&
                  row.row < p.requests[size_t(row.request)].q_len;
    if (!inside) {
      error = "row " + std::to_string(row.row) + " of head " +
              std::to_string(row.head) + " in request " +
              std::to_string(row.request) + " does not exist";
      return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

namespace {

/// Rows of one (request, KV head).
struct Group {
  int32_t request;
  int32_t kvHead;
  std::vector<size_t> rows; // into Reference::rows
};

/// K and V of a group as doubles, after their hooks.
struct Tensors {
  std::vector<double> k; // [kv_len][dim]
  std::vector<double> v; // [kv_len][dimV]
};

/// Buffers of one thread.
struct Scratch {
  std::vector<double> raw, q, weights;
  std::vector<int32_t> keys; // visible, ascending
};

class Runner {
public:
  Runner(const Problem &p, Reference &out) : p(p), out(out) {}

  void load(const Group &group, int32_t begin, int32_t end,
            Tensors &tensors) const;
  void row(size_t index, const Tensors &tensors, Scratch &scratch) const;
  void rootMeanSquareOfV() const;

private:
  void loadVector(const void *base, const attn_strides &strides,
                  int32_t request, int64_t token, int32_t head, int32_t n,
                  double *to) const {
    int64_t at =
        request * strides.batch + token * strides.token + head * strides.head;
    for (int32_t i = 0; i < n; ++i)
      to[i] = loadElement(p.element, base, at + i);
  }
  /// to = hook(from), rounded to the element type, or a copy.
  void transform(const HookProgram *hook, Env env, const double *from,
                 int32_t n, double *to, Element element) const {
    env.x = from;
    env.xSize = n;
    for (int32_t i = 0; i < n; ++i) {
      env.i = i;
      to[i] = hook ? mask::evalFloat(*hook, env) : from[i];
      if (hook && element != Element::F32)
        to[i] = roundTo(element, float(to[i]));
    }
  }
  Env envOf(int32_t request, int32_t head, int32_t position) const {
    const attn_request_record &r = p.requests[size_t(request)];
    Env env;
    env.b = request;
    env.h = head;
    env.q = position;
    env.qLen = r.q_len;
    env.kvLen = r.kv_len;
    env.bindings = p.bindings;
    return env;
  }
  /// Fills scratch.keys and scratch.weights with visible keys and scores.
  double scores(Env env, const Tensors &tensors, Scratch &scratch) const;

  const Problem &p;
  Reference &out;
};

/// Several partial sums: one chain of additions would leave the vector units
/// idle.
double dot(const double *a, const double *b, int32_t n) {
  double sums[8] = {};
  int32_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; ++j)
      sums[j] += a[i + j] * b[i + j];
  for (; i < n; ++i)
    sums[0] += a[i] * b[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
         ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

} // namespace

void Runner::load(const Group &group, int32_t begin, int32_t end,
                  Tensors &tensors) const {
  const attn_request_record &r = p.requests[size_t(group.request)];
  std::vector<double> raw(size_t(std::max(p.dim, p.dimV)));
  for (int32_t j = begin; j < end; ++j) {
    int64_t token = int64_t(r.kv_begin) + j;
    Env env = envOf(group.request, group.kvHead, j);
    loadVector(p.k, p.kStrides, group.request, token, group.kvHead, p.dim,
               raw.data());
    transform(p.key, env, raw.data(), p.dim,
              tensors.k.data() + size_t(j) * size_t(p.dim), p.element);
    loadVector(p.v, p.vStrides, group.request, token, group.kvHead, p.dimV,
               raw.data());
    transform(p.value, env, raw.data(), p.dimV,
              tensors.v.data() + size_t(j) * size_t(p.dimV), p.element);
  }
}

double Runner::scores(Env env, const Tensors &tensors, Scratch &scratch) const {
  scratch.keys.clear();
  scratch.weights.clear();
  double largest = 0;
  for (int32_t j = 0; j < env.kvLen; ++j) {
    env.k = j;
    if (p.mask && !mask::evalMask(*p.mask, env))
      continue;
    const double *key = tensors.k.data() + size_t(j) * size_t(p.dim);
    double s = double(p.scale) * dot(scratch.q.data(), key, p.dim);
    double before = s;
    if (p.score) {
      env.s = s;
      s = mask::evalFloat(*p.score, env);
    }
    if (p.softmax && s == -infinity)
      continue;
    largest = std::max({largest, std::fabs(before), std::fabs(s)});
    scratch.keys.push_back(j);
    scratch.weights.push_back(s);
  }
  return largest;
}

void Runner::row(size_t index, const Tensors &tensors, Scratch &scratch) const {
  const RowId &id = out.rows[index];
  const attn_request_record &r = p.requests[size_t(id.request)];
  Env env =
      envOf(id.request, id.head, int32_t(int64_t(id.row) + r.kv_len - r.q_len));

  scratch.raw.resize(size_t(std::max(p.dim, p.dimV)));
  scratch.q.resize(size_t(p.dim));
  loadVector(p.q, p.qStrides, id.request, int64_t(r.q_begin) + id.row, id.head,
             p.dim, scratch.raw.data());
  transform(p.query, env, scratch.raw.data(), p.dim, scratch.q.data(),
            p.element);

  out.maxScore[index] = scores(env, tensors, scratch);
  std::vector<double> &weights = scratch.weights;
  size_t n = weights.size();

  // Maximum and sum; a NaN score must reach the row's result.
  double m = -infinity, l = 0;
  if (p.softmax) {
    for (double s : weights)
      m = s > m || std::isnan(s) ? s : m;
    double sink = p.sink ? mask::evalFloat(*p.sink, env) : -infinity;
    if (sink != -infinity)
      out.maxScore[index] = std::max(out.maxScore[index], std::fabs(sink));
    double top = sink > m || std::isnan(sink) ? sink : m;
    for (double &w : weights) {
      w = std::exp(w - top);
      l += w;
    }
    m = top;
    if (sink != -infinity)
      l += std::exp(sink - top);
    out.lse[index] = m == -infinity ? -infinity : m + std::log(l);
  }

  double *o = out.o.data() + index * size_t(p.dimV);
  std::fill(o, o + p.dimV, 0.0);
  for (size_t i = 0; i < n; ++i) {
    const double *value =
        tensors.v.data() + size_t(scratch.keys[i]) * size_t(p.dimV);
    for (int32_t c = 0; c < p.dimV; ++c)
      o[c] += weights[i] * value[c];
  }
  if (p.softmax && n > 0)
    for (int32_t c = 0; c < p.dimV; ++c)
      o[c] /= l;
  out.empty[index] = n == 0 && !p.output;
  if (p.output) {
    std::copy(o, o + p.dimV, scratch.raw.data());
    transform(p.output, env, scratch.raw.data(), p.dimV, o, Element::F32);
  }
}

void Runner::rootMeanSquareOfV() const {
  double sum = 0;
  int64_t count = 0;
  for (size_t r = 0; r < p.requests.size(); ++r)
    for (int32_t j = 0; j < p.requests[r].kv_len; ++j)
      for (int32_t h = 0; h < p.kvHeads; ++h) {
        int64_t at = int64_t(r) * p.vStrides.batch +
                     (int64_t(p.requests[r].kv_begin) + j) * p.vStrides.token +
                     h * p.vStrides.head;
        for (int32_t c = 0; c < p.dimV; ++c) {
          double v = loadElement(p.element, p.v, at + c);
          if (!std::isfinite(v))
            continue;
          sum += v * v;
          ++count;
        }
      }
  out.rmsV = count ? std::sqrt(sum / double(count)) : 0;
}

/// Runs fn(task, thread) for tasks 0 .. count - 1.
template <class Fn>
static void parallel(unsigned threads, size_t count, const Fn &fn) {
  threads = unsigned(std::min<size_t>(threads, count));
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < count; i = next++)
      fn(i);
  };
  if (threads <= 1)
    return work();
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < threads; ++t)
    pool.emplace_back(work);
  work();
  for (std::thread &t : pool)
    t.join();
}

bool attn::oracle::attention(const Problem &problem,
                             const std::vector<RowId> &rows, Reference &out,
                             std::string &error, unsigned threads) {
  out = Reference();
  if (!check(problem, rows, error))
    return false;
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());

  out.dimV = problem.dimV;
  out.rows = rows;
  out.o.assign(rows.size() * size_t(problem.dimV), 0.0);
  if (problem.softmax)
    out.lse.assign(rows.size(), -infinity);
  out.maxScore.assign(rows.size(), 0.0);
  out.empty.assign(rows.size(), 0);
  if ((problem.query || problem.key) && problem.element != Element::F32)
    out.scoreRounding = problem.element == Element::F16 ? 0x1p-12 : 0x1p-9;

  // Groups in order of (request, KV head).
  int32_t ratio = problem.heads / problem.kvHeads;
  std::vector<std::pair<int64_t, size_t>> order;
  for (size_t i = 0; i < rows.size(); ++i)
    order.push_back(
        {int64_t(rows[i].request) * problem.kvHeads + rows[i].head / ratio, i});
  std::sort(order.begin(), order.end());
  std::vector<Group> groups;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || order[i].first != order[i - 1].first)
      groups.push_back({int32_t(order[i].first / problem.kvHeads),
                        int32_t(order[i].first % problem.kvHeads),
                        {}});
    groups.back().rows.push_back(order[i].second);
  }

  Runner runner(problem, out);
  runner.rootMeanSquareOfV();
  auto allocate = [&](const Group &group, Tensors &tensors) {
    size_t keys = size_t(problem.requests[size_t(group.request)].kv_len);
    tensors.k.resize(keys * size_t(problem.dim));
    tensors.v.resize(keys * size_t(problem.dimV));
  };

  // Many groups: a thread takes whole groups.  Few: the threads share one.
  if (groups.size() >= size_t(threads)) {
    parallel(threads, groups.size(), [&](size_t g) {
      Tensors tensors;
      Scratch scratch;
      allocate(groups[g], tensors);
      runner.load(groups[g], 0,
                  problem.requests[size_t(groups[g].request)].kv_len, tensors);
      for (size_t row : groups[g].rows)
        runner.row(row, tensors, scratch);
    });
    return true;
  }
  constexpr int32_t keysPerTask = 256;
  constexpr size_t rowsPerTask = 8;
  for (const Group &group : groups) {
    Tensors tensors;
    allocate(group, tensors);
    int32_t keys = problem.requests[size_t(group.request)].kv_len;
    parallel(
        threads, (size_t(keys) + keysPerTask - 1) / keysPerTask, [&](size_t t) {
          int32_t begin = int32_t(t) * keysPerTask;
          int32_t end =
              int32_t(std::min<int64_t>(keys, int64_t(begin) + keysPerTask));
          runner.load(group, begin, end, tensors);
        });
    parallel(threads, (group.rows.size() + rowsPerTask - 1) / rowsPerTask,
             [&](size_t t) {
               Scratch scratch;
               size_t end = std::min(group.rows.size(), (t + 1) * rowsPerTask);
               for (size_t i = t * rowsPerTask; i < end; ++i)
                 runner.row(group.rows[i], tensors, scratch);
             });
  }
  return true;
}
