//===- OracleFixture.h - small problems with owned data ---------*- C++ -*-===//
//
// Builds a ragged problem whose tensors are [tokens][heads][dim], all in one
// object, so that a test names only what it is about.
//
//   Fixture f({{5, 7}, {3, 0}}, heads, kvHeads, dim, dimV);
//   f.fill(seed); f.run();  ->  f.result
//
// Invariant: problem() points into this object's buffers.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_ORACLEFIXTURE_H
#define ATTN_TEST_ORACLEFIXTURE_H

#include "attn/Oracle/Attention.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <random>

namespace attn::oracle {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double quietNan = std::numeric_limits<double>::quiet_NaN();

struct Lengths {
  int32_t q, kv;
};

class Fixture {
public:
  Fixture(const std::vector<Lengths> &lengths, int32_t heads, int32_t kvHeads,
          int32_t dim, int32_t dimV, Element element = Element::F32) {
    int32_t tokens = 0, keys = 0;
    for (Lengths l : lengths) {
      problem.requests.push_back({tokens, l.q, keys, l.kv});
      tokens += l.q;
      keys += l.kv;
    }
    problem.heads = heads;
    problem.kvHeads = kvHeads;
    problem.dim = dim;
    problem.dimV = dimV;
    problem.element = element;
    problem.qStrides = {0, int64_t(heads) * dim, dim};
    problem.kStrides = {0, int64_t(kvHeads) * dim, dim};
    problem.vStrides = {0, int64_t(kvHeads) * dimV, dimV};
    auto allocate = [&](std::vector<uint8_t> &to, int64_t count) {
      to.resize(size_t(count * elementBytes(element)));
      return to.data();
    };
    problem.q = allocate(q, int64_t(tokens) * heads * dim);
    problem.k = allocate(k, int64_t(keys) * kvHeads * dim);
    problem.v = allocate(v, int64_t(keys) * kvHeads * dimV);
  }

  void fill(unsigned seed, float range = 2) {
    std::mt19937 random(seed);
    for (std::vector<uint8_t> *t : {&q, &k, &v})
      for (size_t i = 0; i < t->size() / elementBytes(problem.element); ++i)
        storeElement(problem.element, t->data(), int64_t(i),
                     range * (float(random() % 65536) / 32768.0f - 1));
  }

  /// Element at (token of the whole tensor, head, index).
  void set(std::vector<uint8_t> &t, const attn_strides &s, int32_t token,
           int32_t head, int32_t i, double value) {
    storeElement(problem.element, t.data(), token * s.token + head * s.head + i,
                 float(value));
  }
  void setQ(int32_t token, int32_t i, double value, int32_t head = 0) {
    set(q, problem.qStrides, token, head, i, value);
  }
  void setK(int32_t token, int32_t i, double value, int32_t head = 0) {
    set(k, problem.kStrides, token, head, i, value);
  }
  void setV(int32_t token, int32_t i, double value, int32_t head = 0) {
    set(v, problem.vStrides, token, head, i, value);
  }

  /// Encodes a hook and adds it.
  void hook(mask::Assembler &a, const mask::Signature &signature = {}) {
    std::vector<uint8_t> bytes;
    std::string error;
    auto program = std::make_unique<mask::HookProgram>();
    ASSERT_TRUE(a.finish(bytes, error)) << error;
    ASSERT_TRUE(mask::HookProgram::decode(bytes.data(), bytes.size(), signature,
                                          *program, error))
        << error;
    problem.setHook(program.get());
    hooks.push_back(std::move(program));
  }
  void causal() {
    mask::Assembler a(ATTN_HOOK_MASK);
    a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
    hook(a);
  }

  void run(unsigned threads = 1) {
    std::string error;
    ASSERT_TRUE(attention(problem, allRows(problem), result, error, threads))
        << error;
  }

  double o(size_t row, int32_t i = 0) const {
    return result.o[row * size_t(problem.dimV) + size_t(i)];
  }

  Problem problem;
  Reference result;
  std::vector<uint8_t> q, k, v;

private:
  std::vector<std::unique_ptr<mask::HookProgram>> hooks;
};

/// One query, dim 1, so that scores and values are what is written.
inline Fixture byScores(const std::vector<double> &scores,
                        const std::vector<double> &values) {
  Fixture f({{1, int32_t(scores.size())}}, 1, 1, 1, 1);
  f.setQ(0, 0, 1);
  for (size_t i = 0; i < scores.size(); ++i) {
    f.setK(int32_t(i), 0, scores[i]);
    f.setV(int32_t(i), 0, values[i]);
  }
  return f;
}

} // namespace attn::oracle

#endif // ATTN_TEST_ORACLEFIXTURE_H
