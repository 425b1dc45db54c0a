//===- TinyProblem.h - inputs and reference for the tiny kernel -*- C++ -*-===//
//
// Random tensors for a batch, in the storage of the kernel, with poison where
// nothing may be read or written, and a direct evaluation in double.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_TEST_TINYPROBLEM_H
#define ATTNRT_TEST_TINYPROBLEM_H

#include "TestBundle.h"

#include <algorithm>
#include <cmath>
#include <random>

struct TinyProblem {
  static constexpr int heads = 4, kvHeads = 2, dim = 8;
  static constexpr float poison = -12345.0f;

  std::vector<int32_t> qLens, kvLens, qIndptr, kvIndptr;
  std::vector<float> q, k, v, o, lse, temp;
  float bias = 0.25f;
  int32_t window = 1 << 30;
  int32_t qMax = 1, kvMax = 1; ///< tokens a request has room for (dense)
  bool dense = false;
  attnrt_param params[2];
  attnrt_table table;
  attnrt_args args;

  TinyProblem(std::vector<int32_t> qs, std::vector<int32_t> kvs,
              bool denseStorage = false)
      : qLens(std::move(qs)), kvLens(std::move(kvs)), dense(denseStorage) {
    qIndptr = {0};
    kvIndptr = {0};
    for (size_t r = 0; r < qLens.size(); ++r) {
      qIndptr.push_back(qIndptr.back() + qLens[r]);
      kvIndptr.push_back(kvIndptr.back() + kvLens[r]);
      qMax = std::max(qMax, qLens[r]);
      kvMax = std::max(kvMax, kvLens[r]);
    }
    size_t qTokens = dense ? qLens.size() * qMax : qIndptr.back();
    size_t kvTokens = dense ? qLens.size() * kvMax : kvIndptr.back();
    // Nothing is read behind the lengths: NaN there would be seen.
    q.assign(qTokens * heads * dim, NAN);
    k.assign(kvTokens * kvHeads * dim, NAN);
    v.assign(kvTokens * kvHeads * dim, NAN);
    std::mt19937 random(5);
    auto fill = [&](float *at, int n) {
      for (int i = 0; i < n; ++i)
        at[i] = float(int(random() % 2001) - 1000) / 500.0f;
    };
    for (size_t r = 0; r < qLens.size(); ++r) {
      for (int32_t i = 0; i < qLens[r]; ++i)
        fill(&q[qAt(r, i) * heads * dim], heads * dim);
      for (int32_t i = 0; i < kvLens[r]; ++i) {
        fill(&k[kvAt(r, i) * kvHeads * dim], kvHeads * dim);
        fill(&v[kvAt(r, i) * kvHeads * dim], kvHeads * dim);
      }
    }
    o.assign(q.size(), poison);
    lse.assign(qTokens * heads, poison);
    temp = {0.5f, 1.0f, 1.5f, 2.0f};
    args = {};
    bind();
  }

  int64_t qAt(size_t r, int32_t i) const {
    return dense ? int64_t(r) * qMax + i : qIndptr[r] + i;
  }
  int64_t kvAt(size_t r, int32_t i) const {
    return dense ? int64_t(r) * kvMax + i : kvIndptr[r] + i;
  }

  void bind() {
    auto tensor = [&](std::vector<float> &data, int h, int d, int most) {
      attnrt_tensor t = {};
      t.data = data.data();
      t.strides = {int64_t(most) * h * d, h * d, d};
      t.elements = data.size();
      return t;
    };
    args.q = tensor(q, heads, dim, qMax);
    args.k = tensor(k, kvHeads, dim, kvMax);
    args.v = tensor(v, kvHeads, dim, kvMax);
    args.o = tensor(o, heads, dim, qMax);
    args.lse = tensor(lse, heads, 1, qMax);
    params[0] = {"bias", ATTN_F32, bitsOf(bias)};
    params[1] = {"window", ATTN_I32, uint32_t(window)};
    args.params = params;
    args.param_count = 2;
    table = {};
    table.name = "temp";
    table.data = temp.data();
    table.extent[0] = heads;
    args.tables = &table;
    args.table_count = 1;
  }

  attnrt_plan_params planParams() {
    attnrt_plan_params p = {};
    p.batch = int32_t(qLens.size());
    if (dense) {
      p.q_lens = qLens.data();
      p.kv_lens = kvLens.data();
    } else {
      p.q_indptr = qIndptr.data();
      p.kv_indptr = kvIndptr.data();
    }
    p.params = params;
    p.param_count = 2;
    return p;
  }

  /// Compares o and lse with the definition; poison elsewhere is untouched.
  void check(float scale = 0.35355339f) const {
    std::vector<uint8_t> written(o.size() / dim, 0);
    for (size_t r = 0; r < qLens.size(); ++r)
      for (int32_t i = 0; i < qLens[r]; ++i)
        for (int h = 0; h < heads; ++h) {
          int32_t position = i + kvLens[r] - qLens[r];
          std::vector<double> score(kvLens[r], -INFINITY);
          double top = -INFINITY, sum = 0, out[dim] = {};
          const float *row = &q[(qAt(r, i) * heads + h) * dim];
          for (int32_t j = 0; j < kvLens[r]; ++j) {
            if (j > position || position - j >= window)
              continue;
            const float *key =
                &k[(kvAt(r, j) * kvHeads + h / (heads / kvHeads)) * dim];
            double s = 0;
            for (int c = 0; c < dim; ++c)
              s += double(row[c]) * key[c];
            score[j] = s * scale * temp[h] + bias;
            top = std::max(top, score[j]);
          }
          for (int32_t j = 0; j < kvLens[r]; ++j) {
            if (score[j] == -INFINITY)
              continue;
            const float *value =
                &v[(kvAt(r, j) * kvHeads + h / (heads / kvHeads)) * dim];
            double w = std::exp(score[j] - top);
            sum += w;
            for (int c = 0; c < dim; ++c)
              out[c] += w * value[c];
          }
          int64_t at = qAt(r, i) * heads + h;
          written[at] = 1;
          for (int c = 0; c < dim; ++c)
            ASSERT_NEAR(o[at * dim + c], sum > 0 ? out[c] / sum : 0, 2e-5)
                << "request " << r << " row " << i << " head " << h;
          if (sum > 0)
            ASSERT_NEAR(lse[at], top + std::log(sum), 2e-5);
          else
            ASSERT_EQ(lse[at], -INFINITY);
        }
    for (size_t at = 0; at < written.size(); ++at)
      if (!written[at]) {
        ASSERT_EQ(o[at * dim], poison);
        ASSERT_EQ(lse[at], poison);
      }
  }
};

#endif // ATTNRT_TEST_TINYPROBLEM_H
