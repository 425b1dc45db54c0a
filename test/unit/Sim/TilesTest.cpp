//===- TilesTest.cpp - arithmetic of the tile ops -------------------------===//

#include "attn/Sim/Tiles.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace attn::sim;

static constexpr float negInf = -std::numeric_limits<float>::infinity();

TEST(TilesTest, RowMapOfPackedHeads) {
  RowMap map = makeRowMap(3, 1, 6, 3, 100, 5, 9, 4, 4);
  EXPECT_EQ(map.request, 3);
  // t = 6, 7, 8, 9: tokens 1, 1, 2, 2; heads 6, 7, 4, 5.
  EXPECT_EQ(map.rows[0].token, 1);
  EXPECT_EQ(map.rows[0].head, 6);
  EXPECT_EQ(map.rows[1].head, 7);
  EXPECT_EQ(map.rows[2].token, 2);
  EXPECT_EQ(map.rows[2].head, 4);
  EXPECT_EQ(map.rows[2].position, 2 + 9 - 5);
  EXPECT_TRUE(map.rows[2].live);
  EXPECT_FALSE(map.rows[3].live);
}

TEST(TilesTest, Products) {
  Tile q(1, 2), k(3, 2), s(1, 3);
  q.data = {1, 2};
  k.data = {1, 0, 0, 1, 3, 4};
  productNK(q, k, s);
  EXPECT_EQ(s.data, (std::vector<float>{1, 2, 11}));
  Tile o(1, 2, 10);
  productKN(s, k, o);
  EXPECT_EQ(o.data, (std::vector<float>{10 + 1 + 33, 10 + 2 + 44}));
}

TEST(TilesTest, AlphaOfEmptyAndNewRows) {
  RowVec m(3), m1(3), a(3);
  m.data = {negInf, negInf, 1};
  m1.data = {negInf, 2, 3};
  alpha(m, m1, 1.0f, a);
  EXPECT_EQ(a.data, (std::vector<float>{1, 0, 0.25f}));
}

TEST(TilesTest, MaxIgnoresNan) {
  Tile s(1, 3);
  s.data = {1, std::nanf(""), 0};
  RowVec m(1, negInf), r(1);
  rowMax(s, m, r);
  EXPECT_EQ(r.data[0], 1);
}

TEST(TilesTest, LazyReferenceMovesOnlyWhereItMust) {
  float inf = -negInf, nan = std::nanf("");
  // c = 2, threshold 8: rises of up to 4 are kept.
  Tile s(9, 2);
  s.data = {5, 0,      5.001f, 0,     0,       nan, negInf, negInf, 7,
            0, 2.1e6f, 2.1e6f, 3e38f, 2.9e38f, inf, 0,      nan,    nan};
  RowVec m(9), r(9);
  m.data = {1, 1, 1, 1, negInf, 2.0972e6f, 2.9e38f, 0, negInf};
  lazyMax(s, m, 2.0f, 8, r);
  EXPECT_EQ(r.data[0], 1);      // a rise of 8 units
  EXPECT_EQ(r.data[1], 5.001f); // and of more
  EXPECT_EQ(r.data[2], 1);      // NaN is ignored
  EXPECT_EQ(r.data[3], 1);      // no visible key
  EXPECT_EQ(r.data[4], 7);      // the first one
  EXPECT_EQ(r.data[5], 2.1e6f); // c m is not precise
  EXPECT_EQ(r.data[6], 3e38f);
  EXPECT_EQ(r.data[7], inf);
  EXPECT_EQ(r.data[8], negInf); // still none
  lazyMax(s, m, 2.0f, 0, r);
  EXPECT_EQ(r.data[0], 5);
}

TEST(TilesTest, ExpInAllThreeCases) {
  Tile s(3, 2), p(3, 2);
  s.data = {negInf, negInf, 1, 2, 1e30f, negInf};
  RowVec m(3);
  m.data = {negInf, 2, 1e30f};
  expTile(s, m, 1.0f, false, p);
  EXPECT_EQ(p.data, (std::vector<float>{0, 0, 0.5f, 1, 1, 0}));
  expTile(s, m, 1.0f, true, p);
  EXPECT_TRUE(std::isnan(p.data[0]));
  EXPECT_EQ(p.data[2], 0.5f);
  EXPECT_TRUE(std::isnan(p.data[4]));
}

TEST(TilesTest, RowSumScalesTheOldSum) {
  Tile p(1, 2, 3);
  RowVec l(1, 8), a(1, 0.5f), r(1);
  rowSum(p, l, &a, r);
  EXPECT_EQ(r.data[0], 10);
  rowSum(p, l, nullptr, r);
  EXPECT_EQ(r.data[0], 14);
}

TEST(TilesTest, FinishWithAndWithoutSink) {
  Tile o(2, 1), out(2, 1);
  o.data = {6, 0};
  RowVec m(2), l(2), lse(2);
  m.data = {0, negInf};
  l.data = {3, 0};
  finish(o, m, l, 1.0f, nullptr, out, lse);
  EXPECT_EQ(out.data, (std::vector<float>{2, 0}));
  EXPECT_NEAR(lse.data[0], std::log(3.0), 1e-6);
  EXPECT_EQ(lse.data[1], negInf);
  RowVec sink(2, 0.0f); // adds exp(0) = 1 to the sum
  finish(o, m, l, 1.0f, &sink, out, lse);
  EXPECT_NEAR(out.data[0], 1.5, 1e-6);
  EXPECT_NEAR(lse.data[0], std::log(4.0), 1e-6);
  EXPECT_EQ(out.data[1], 0);
  EXPECT_NEAR(lse.data[1], 0, 1e-6);
  RowVec none(2, negInf);
  finish(o, m, l, 1.0f, &none, out, lse);
  EXPECT_EQ(out.data, (std::vector<float>{2, 0}));
  EXPECT_EQ(lse.data[1], negInf);
}

TEST(TilesTest, MergeHasAUnit) {
  Tile a(3, 1), b(3, 1), o(3, 1);
  RowVec ma(3), la(3), mb(3, negInf), lb(3, 0), m(3), l(3);
  a.data = {10, 0, 6};
  ma.data = {1, negInf, 0};
  la.data = {2, 0, NAN};
  mergeState({a, ma, la}, {b, mb, lb}, 1.0f, o, m, l);
  EXPECT_EQ(o.data, a.data);
  EXPECT_EQ(m.data, ma.data);
  EXPECT_EQ(l.data[0], 2);
  EXPECT_EQ(l.data[1], 0);
  EXPECT_TRUE(std::isnan(l.data[2])); // a NaN stays beside the unit
  mergeState({b, mb, lb}, {a, ma, la}, 1.0f, o, m, l);
  EXPECT_EQ(o.data, a.data);
  EXPECT_EQ(m.data, ma.data);
}

TEST(TilesTest, MergedStatesWeighTheirSums) {
  // References 1 and 3 of base 2, equal ones, and low ones that differ.
  Tile a(3, 1), b(3, 1), o(3, 1);
  RowVec ma(3), la(3), mb(3), lb(3), m(3), l(3);
  a.data = {8, 3, 5};
  b.data = {1, 4, 7};
  ma.data = {1, -1e38f, -1e38f};
  mb.data = {3, -1e38f, std::nextafter(-1e38f, negInf)};
  la.data = {4, 3, 3};
  lb.data = {1, 1, 1};
  mergeState({a, ma, la}, {b, mb, lb}, 1.0f, o, m, l);
  EXPECT_EQ(m.data, (std::vector<float>{3, -1e38f, -1e38f}));
  EXPECT_EQ(l.data, (std::vector<float>{2, 4, 3}));
  EXPECT_EQ(o.data, (std::vector<float>{3, 7, 5}));
}

TEST(TilesTest, MergedReferencesAreWhatExponentialsSubtracted) {
  // c m is rounded to multiples of 1/4: two keys weigh in two parts what they do in one.
  float c = 1.44269504f, low = 2e6f, high = 2000001.125f;
  Tile s(1, 2), p(1, 2), o(1, 1);
  RowVec ma(1, low), mb(1, high), one(1, 1.0f), m(1), l(1);
  s.data = {low, high};
  expTile(s, mb, c, false, p);
  float weight = p.data[0];
  EXPECT_GT(std::fabs(weight / std::exp2(c * (low - high)) - 1), 0.01);
  mergeState({o, ma, one}, {o, mb, one}, c, o, m, l);
  EXPECT_FLOAT_EQ(l.data[0], 1 + weight);
}
