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
  Tile a(2, 1), b(2, 1), out(2, 1);
  RowVec la(2), lb(2), lse(2);
  a.data = {10, 0};
  la.data = {1, negInf};
  lb.data = {negInf, negInf};
  mergeTile(a, la, b, lb, out, lse);
  EXPECT_EQ(out.data, (std::vector<float>{10, 0}));
  EXPECT_EQ(lse.data, (std::vector<float>{1, negInf}));
  b.data = {20, 4};
  lb.data = {1, 2};
  mergeTile(a, la, b, lb, out, lse);
  EXPECT_NEAR(out.data[0], 15, 1e-5);
  EXPECT_NEAR(lse.data[0], 1 + std::log(2.0), 1e-6);
  EXPECT_EQ(out.data[1], 4);
  EXPECT_EQ(lse.data[1], 2);
  RowVec sink(2);
  sink.data = {1, 7};
  mergeSink(a, la, sink, out, lse);
  EXPECT_NEAR(out.data[0], 5, 1e-5);
  EXPECT_NEAR(lse.data[0], 1 + std::log(2.0), 1e-6);
  EXPECT_EQ(out.data[1], 0);
  EXPECT_EQ(lse.data[1], 7);
}
