//===- Tiles.cpp - arithmetic of the tile ops -----------------------------===//
//
// f32 arithmetic with the guards that the op descriptions ask for.
//
//   finish: l = 0 -> O = 0, LSE = -inf; else O / l, (c m + log2 l) ln 2
//
// Invariant: rows are independent of each other.
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/Tiles.h"

#include <cmath>
#include <limits>

using namespace attn::sim;

static constexpr float negInf = -std::numeric_limits<float>::infinity();
static constexpr float ln2 = 0.69314718055994530942f;
static constexpr float log2e = 1.44269504088896340736f;

RowMap attn::sim::makeRowMap(int32_t request, int32_t head, int32_t row0,
                             int32_t nrows, int32_t qBegin, int32_t qLen,
                             int32_t kvLen, int32_t pack, int32_t tileRows) {
  RowMap map;
  map.request = request;
  map.qBegin = qBegin;
  map.qLen = qLen;
  map.kvLen = kvLen;
  map.rows.resize(tileRows);
  map.whole = tileRows;
  for (int32_t r = 0; r < tileRows; ++r) {
    int64_t t = int64_t(row0) + r;
    RowMap::Row &row = map.rows[r];
    row.live = r < nrows;
    row.token = int32_t(t / pack);
    row.head = int32_t(int64_t(head) * pack + t % pack);
    row.position = row.token + kvLen - qLen;
  }
  return map;
}

void attn::sim::productNK(const Tile &q, const Tile &k, Tile &s) {
  // K transposed, so that the inner loop runs along a row of S.
  std::vector<float> kt(size_t(k.cols) * k.rows);
  for (int32_t n = 0; n < k.rows; ++n)
    for (int32_t d = 0; d < k.cols; ++d)
      kt[size_t(d) * k.rows + n] = k.row(n)[d];
  for (int32_t r = 0; r < q.rows; ++r) {
    float *out = s.row(r);
    std::fill(out, out + s.cols, 0.0f);
    for (int32_t d = 0; d < q.cols; ++d) {
      float x = q.row(r)[d];
      const float *column = kt.data() + size_t(d) * k.rows;
      for (int32_t n = 0; n < s.cols; ++n)
        out[n] += x * column[n];
    }
  }
}

void attn::sim::productKN(const Tile &p, const Tile &v, Tile &acc) {
  for (int32_t r = 0; r < p.rows; ++r) {
    float *out = acc.row(r);
    for (int32_t n = 0; n < p.cols; ++n) {
      float x = p.row(r)[n];
      const float *value = v.row(n);
      for (int32_t d = 0; d < v.cols; ++d)
        out[d] += x * value[d];
    }
  }
}

void attn::sim::rowMax(const Tile &s, const RowVec &m, RowVec &result) {
  for (int32_t r = 0; r < s.rows; ++r) {
    float best = m.data[r];
    for (int32_t n = 0; n < s.cols; ++n)
      best = std::fmax(best, s.row(r)[n]);
    result.data[r] = best;
  }
}

void attn::sim::lazyMax(const Tile &s, const RowVec &m, float c,
                        int32_t threshold, RowVec &result) {
  constexpr float limit = 4194304.0f; // 2^22
  rowMax(s, m, result);
  for (int32_t r = 0; r < s.rows; ++r) {
    float old = m.data[r];
    bool near = c * (result.data[r] - old) <= float(threshold);
    if (std::fabs(c * old) < limit && near)
      result.data[r] = old;
  }
}

void attn::sim::alpha(const RowVec &m, const RowVec &mNew, float c,
                      RowVec &result) {
  for (size_t r = 0; r < m.data.size(); ++r)
    result.data[r] = mNew.data[r] == negInf
                         ? 1.0f
                         : std::exp2(c * (m.data[r] - mNew.data[r]));
}

void attn::sim::expTile(const Tile &s, const RowVec &m, float c, bool frozen,
                        Tile &p) {
  constexpr float limit = 536870912.0f; // 2^29
  for (int32_t r = 0; r < s.rows; ++r) {
    float reference = m.data[r];
    bool middle = std::fabs(c * reference) < limit; // false for -inf and NaN
    float a = 0, b = 0;
    if (middle)
      b = -c * reference;
    else if (frozen)
      b = std::numeric_limits<float>::quiet_NaN();
    else if (reference != negInf)
      a = reference;
    const float *in = s.row(r);
    float *out = p.row(r);
    for (int32_t n = 0; n < s.cols; ++n)
      out[n] = std::exp2((in[n] - a) * c + b);
  }
}

void attn::sim::rowSum(const Tile &p, const RowVec &l, const RowVec *alpha,
                       RowVec &result) {
  for (int32_t r = 0; r < p.rows; ++r) {
    float sum = 0;
    for (int32_t n = 0; n < p.cols; ++n)
      sum += p.row(r)[n];
    result.data[r] = (alpha ? l.data[r] * alpha->data[r] : l.data[r]) + sum;
  }
}

void attn::sim::rescale(const Tile &o, const RowVec &factor, Tile &result) {
  for (int32_t r = 0; r < o.rows; ++r)
    for (int32_t d = 0; d < o.cols; ++d)
      result.row(r)[d] = o.row(r)[d] * factor.data[r];
}

void attn::sim::finish(const Tile &o, const RowVec &m, const RowVec &l, float c,
                       const RowVec *sink, Tile &out, RowVec &lse) {
  for (int32_t r = 0; r < o.rows; ++r) {
    float exponent = c * m.data[r], sum = l.data[r], factor = 1.0f;
    bool empty = sum == 0;
    if (sink && sink->data[r] != negInf) {
      float extra = sink->data[r] * log2e;
      float top = empty ? extra : std::fmax(exponent, extra);
      factor = empty ? 0.0f : std::exp2(exponent - top);
      sum = sum * factor + std::exp2(extra - top);
      exponent = top;
    }
    if (sum == 0) {
      std::fill(out.row(r), out.row(r) + out.cols, 0.0f);
      lse.data[r] = negInf;
      continue;
    }
    lse.data[r] = (exponent + std::log2(sum)) * ln2;
    for (int32_t d = 0; d < o.cols; ++d)
      out.row(r)[d] = empty ? 0.0f : o.row(r)[d] * factor / sum;
  }
}

static float weightOf(float m, float top, float c) {
  constexpr float limit = 536870912.0f; // 2^29, as in expTile
  if (top == negInf)
    return 0;
  // What exponentials subtracted, rounded as it was there.
  float cm = c * m, ct = c * top;
  bool near = std::fabs(cm) < limit && std::fabs(ct) < limit;
  return std::exp2(near ? cm - ct : c * (m - top));
}

void attn::sim::mergeState(const State &a, const State &b, float c, Tile &o,
                           RowVec &m, RowVec &l) {
  for (int32_t r = 0; r < a.o.rows; ++r) {
    float top = std::fmax(a.m.data[r], b.m.data[r]);
    float wa = weightOf(a.m.data[r], top, c);
    float wb = weightOf(b.m.data[r], top, c);
    m.data[r] = top;
    l.data[r] = a.l.data[r] * wa + b.l.data[r] * wb;
    for (int32_t d = 0; d < a.o.cols; ++d)
      o.row(r)[d] = a.o.row(r)[d] * wa + b.o.row(r)[d] * wb;
  }
}
