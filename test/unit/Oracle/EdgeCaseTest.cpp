//===- EdgeCaseTest.cpp - failure cases of the field ----------------------===//
//
// Each test carries the number T-nn of a failure that has happened elsewhere;
// the oracle must state the right answer.
//
//===----------------------------------------------------------------------===//
#include "OracleFixture.h"

using namespace attn;
using namespace attn::oracle;

// Valid logits far below any finite mask value are ordinary logits.
TEST(EdgeCase, T01_VeryNegativeLogits) {
  for (double logit : {-5e4, -6e4, -1e30, -3e38}) {
    Fixture one = byScores({logit}, {7});
    one.run();
    EXPECT_EQ(one.o(0), 7.0);
    EXPECT_EQ(one.result.lse[0], double(float(logit)));
    EXPECT_FALSE(one.result.empty[0]);
    Fixture two = byScores({logit, logit}, {1, 3});
    two.run();
    EXPECT_EQ(two.o(0), 2.0);
    EXPECT_NEAR(two.result.lse[0], double(float(logit)) + std::log(2.0), 1e-9);
  }
}

// Causal with more queries than keys: 33 rows of 32 heads see nothing.
TEST(EdgeCase, T02_FullyMaskedRows) {
  Fixture f({{40, 7}}, 32, 8, 16, 16);
  f.fill(2);
  f.causal();
  f.run();
  int64_t masked = 0;
  for (size_t r = 0; r < f.result.rows.size(); ++r) {
    bool expectEmpty = f.result.rows[r].row < 33;
    EXPECT_EQ(f.result.empty[r] != 0, expectEmpty);
    EXPECT_EQ(f.result.lse[r] == -inf, expectEmpty);
    EXPECT_FALSE(std::isnan(f.result.lse[r]));
    if (!expectEmpty)
      continue;
    ++masked;
    for (int32_t c = 0; c < 16; ++c)
      EXPECT_EQ(f.o(r, c), 0.0);
  }
  EXPECT_EQ(masked, 1056);
}

TEST(EdgeCase, T04_MergeOfTwoEmptyStates) {
  std::vector<double> a(64, 0.0), b(64, 0.0);
  double lse = -inf;
  merge(a.data(), lse, b.data(), -inf, 64);
  EXPECT_EQ(lse, -inf);
  for (double x : a)
    EXPECT_EQ(x, 0.0);
  // The empty state is the unit on both sides.
  std::fill(b.begin(), b.end(), 5.0);
  merge(a.data(), lse, b.data(), 1.25, 64);
  EXPECT_EQ(lse, 1.25);
  EXPECT_EQ(a[63], 5.0);
  // What an empty state holds as values does not matter.
  std::vector<double> garbage(64, quietNan);
  merge(a.data(), lse, garbage.data(), -inf, 64);
  EXPECT_EQ(lse, 1.25);
  EXPECT_EQ(a[63], 5.0);
}

TEST(EdgeCase, T07_NothingToDo) {
  for (const std::vector<Lengths> &lengths :
       {std::vector<Lengths>{}, {{0, 5}}, {{0, 0}, {0, 3}}}) {
    Fixture f(lengths, 4, 2, 8, 8);
    f.run();
    EXPECT_TRUE(f.result.rows.empty());
    EXPECT_TRUE(f.result.o.empty());
    EXPECT_TRUE(f.result.lse.empty());
    EXPECT_TRUE(sampleRows(f.problem, 16, 1).empty());
  }
}

TEST(EdgeCase, T10_RequestsWithoutKeys) {
  Fixture f({{3, 0}, {2, 5}, {1, 0}}, 2, 1, 8, 8);
  f.fill(3);
  f.run();
  for (size_t r = 0; r < f.result.rows.size(); ++r) {
    bool expectEmpty = f.result.rows[r].request != 1;
    EXPECT_EQ(f.result.lse[r] == -inf, expectEmpty);
    EXPECT_EQ(f.o(r) == 0.0, expectEmpty);
  }
  Fixture all({{3, 0}, {2, 0}}, 2, 1, 8, 8);
  all.run();
  for (size_t r = 0; r < all.result.rows.size(); ++r) {
    EXPECT_EQ(all.result.lse[r], -inf);
    EXPECT_EQ(all.o(r), 0.0);
  }
}

// Rows behind a request's length, and keys that the mask hides, hold NaN.
TEST(EdgeCase, T22_GarbageIsNotTouched) {
  Fixture clean({{4, 6}}, 2, 1, 8, 8), dirty({{4, 6}, {0, 3}}, 2, 1, 8, 8);
  for (Fixture *f : {&clean, &dirty}) {
    mask::Assembler m(ATTN_HOOK_MASK); // key 2 is hidden
    m.arg(ATTN_ARG_K).i32(2).icmp(ATTN_CMP_NE);
    f->hook(m);
  }
  clean.fill(4);
  dirty.fill(4);
  dirty.q = clean.q;
  dirty.problem.q = dirty.q.data();
  std::copy(clean.k.begin(), clean.k.end(), dirty.k.begin());
  std::copy(clean.v.begin(), clean.v.end(), dirty.v.begin());
  for (int32_t token : {2, 6, 7, 8})
    for (int32_t c = 0; c < 8; ++c) {
      dirty.setK(token, c, token == 7 ? inf : quietNan);
      dirty.setV(token, c, token == 7 ? -inf : quietNan);
    }
  clean.run();
  dirty.run();
  EXPECT_EQ(clean.result.o, dirty.result.o);
  EXPECT_EQ(clean.result.lse, dirty.result.lse);
  for (double x : dirty.result.o)
    EXPECT_TRUE(std::isfinite(x));
  // rms V counts finite elements only.
  EXPECT_TRUE(std::isfinite(dirty.result.rmsV));
}

// A NaN in a visible key shows in the rows that see it, and in no other.
TEST(EdgeCase, T22_NanReachesTheRowsThatSeeIt) {
  for (bool inValue : {false, true}) {
    Fixture f({{4, 4}}, 1, 1, 2, 2);
    f.fill(5);
    f.causal();
    if (inValue)
      f.setV(2, 0, quietNan);
    else
      f.setK(2, 0, quietNan);
    f.run();
    for (size_t r = 0; r < 4; ++r) {
      EXPECT_EQ(std::isnan(f.o(r)), r >= 2) << r;
      EXPECT_EQ(std::isnan(f.result.lse[r]), !inValue && r >= 2) << r;
    }
  }
}

// A score of -inf hides the pair as a mask does.
TEST(EdgeCase, T22_MinusInfinityScore) {
  Fixture f = byScores({1, 2}, {5, quietNan});
  mask::Assembler a(ATTN_HOOK_SCORE);
  a.arg(ATTN_ARG_K).i32(1).icmp(ATTN_CMP_EQ);
  a.f32(-std::numeric_limits<float>::infinity()).arg(ATTN_ARG_S);
  a.op(ATTN_OP_SELECT);
  f.hook(a);
  f.run();
  EXPECT_EQ(f.o(0), 5.0);
  EXPECT_EQ(f.result.lse[0], 1.0);
}

// q = 0 makes all weights equal: the mean of the request's own values.
TEST(EdgeCase, T28_ZeroQueryWithoutCausal) {
  for (int32_t keys : {1, 16, 64, 100}) {
    Fixture f({{1, keys}, {1, 300}}, 1, 1, 4, 1);
    for (int32_t j = 0; j < keys + 300; ++j) {
      f.setV(j, 0, j < keys ? 1 : 100);
      f.setK(j, 0, 3);
    }
    f.run();
    EXPECT_NEAR(f.o(0), 1.0, 1e-14);
    EXPECT_NEAR(f.result.lse[0], std::log(double(keys)), 1e-12);
  }
}

// A tail of zero-filled keys would have weight exp(0), more than these.
TEST(EdgeCase, T29_TailKeysHaveNoWeight) {
  Fixture f({{1, 65}}, 1, 1, 1, 1);
  f.setQ(0, 0, 1);
  for (int32_t j = 0; j < 65; ++j) {
    f.setK(j, 0, -20);
    f.setV(j, 0, 2);
  }
  f.run();
  EXPECT_NEAR(f.o(0), 2.0, 1e-12);
  EXPECT_NEAR(f.result.lse[0], -20 + std::log(65.0), 1e-12);
}

// Hooks that poison every pair that they must not see.
TEST(EdgeCase, T35_HooksSeeOwnedPairsOnly) {
  const std::vector<Lengths> lengths = {{3, 9}, {4, 4}, {5, 2}};
  Fixture plain(lengths, 2, 1, 4, 4), watched(lengths, 2, 1, 4, 4);
  plain.fill(6);
  watched.fill(6);
  plain.causal();
  watched.causal();
  const int32_t qLens[3] = {3, 4, 5}, kvLens[3] = {9, 4, 2};
  mask::TableData tables[2];
  for (int t = 0; t < 2; ++t) {
    tables[t].data = t ? kvLens : qLens;
    tables[t].extent[0] = 3;
  }
  watched.problem.bindings.tables = tables;
  watched.problem.bindings.numTables = 2;
  mask::Signature signature;
  signature.tables = {{ATTN_I32, 1}, {ATTN_I32, 1}};
  mask::Assembler a(ATTN_HOOK_SCORE);
  // The lengths are those of request b.
  a.arg(ATTN_ARG_B).table(0).arg(ATTN_ARG_Q_LEN).icmp(ATTN_CMP_EQ);
  a.arg(ATTN_ARG_B).table(1).arg(ATTN_ARG_KV_LEN).icmp(ATTN_CMP_EQ);
  a.op(ATTN_OP_AND);
  // 0 <= k <= q < kv_len, q >= kv_len - q_len, 0 <= h < 2.
  a.arg(ATTN_ARG_K).i32(0).icmp(ATTN_CMP_GE).op(ATTN_OP_AND);
  a.arg(ATTN_ARG_K).arg(ATTN_ARG_Q).icmp(ATTN_CMP_LE).op(ATTN_OP_AND);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_KV_LEN).icmp(ATTN_CMP_LT).op(ATTN_OP_AND);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_KV_LEN).arg(ATTN_ARG_Q_LEN);
  a.op(ATTN_OP_ISUB).icmp(ATTN_CMP_GE).op(ATTN_OP_AND);
  a.arg(ATTN_ARG_H).i32(2).icmp(ATTN_CMP_LT).op(ATTN_OP_AND);
  a.arg(ATTN_ARG_S).f32(std::numeric_limits<float>::quiet_NaN());
  a.op(ATTN_OP_SELECT);
  watched.hook(a, signature);
  plain.run();
  watched.run();
  EXPECT_EQ(plain.result.o, watched.result.o);
  EXPECT_EQ(plain.result.lse, watched.result.lse);
}
