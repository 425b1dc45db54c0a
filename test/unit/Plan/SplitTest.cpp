//===- SplitTest.cpp - how slices are split -------------------------------===//
#include "Ends.h"

#include <algorithm>

using namespace attn;
using namespace attn::plan;

TEST(Split, ForcedLength) {
  Harness h;
  h.qLens = {5, 1};
  h.kvLens = {7, 300};
  h.options.splitKeys = 128;
  ASSERT_TRUE(h.run());
  h.checkAll();
  ASSERT_EQ(h.header().items, 4u);
  ASSERT_EQ(h.header().merges, 1u);
  EXPECT_EQ(h.header().slots, 3u);
  EXPECT_EQ(h.summary.splitKeys, 128u);
  attn_merge_item merge = h.merges()[0];
  EXPECT_EQ(merge.request, 1);
  EXPECT_EQ(merge.count, 3);
}

TEST(Split, ForcedLengthNeedNotBeATile) {
  Harness h;
  h.qLens = {1};
  h.kvLens = {100};
  h.options.splitKeys = 32;
  ASSERT_TRUE(h.run());
  h.checkAll();
  EXPECT_EQ(h.header().items, 4u);
}

TEST(Split, OneSplitIsNoSplit) {
  Harness h;
  h.qLens = {1};
  h.kvLens = {32};
  h.options.splitKeys = 32;
  ASSERT_TRUE(h.run());
  h.checkAll();
  ASSERT_EQ(h.header().items, 1u);
  EXPECT_EQ(h.items()[0].slot, -1);
  EXPECT_EQ(h.header().merges, 0u);
  EXPECT_EQ(h.summary.splitKeys, 0u);
}

TEST(Split, SplitsThatSeeNothingAreNotMade) {
  // The first 10 keys and the last 64 of 1000: between them nothing.
  Harness h;
  h.qLens = {1};
  h.kvLens = {1000};
  h.options.splitKeys = 64;
  mask::Assembler a(ATTN_HOOK_MASK);
  windowWithSinks(a, 64, 10);
  h.setMask(a);
  ASSERT_TRUE(h.run());
  h.checkAll();
  // [0,64), [896,960), [960,1000): the window begins at key 936.
  ASSERT_EQ(h.header().items, 3u);
  EXPECT_EQ(h.header().slots, 3u);
  EXPECT_EQ(h.merges()[0].count, 3);
}

TEST(Split, OneVisibleSplitWritesDirectly) {
  Harness h;
  h.qLens = {1};
  h.kvLens = {1000};
  h.options.splitKeys = 128;
  h.problem.tileK = 1024; // narrowing to the tile keeps all keys
  mask::Assembler a(ATTN_HOOK_MASK);
  windowWithSinks(a, 8, 0);
  h.setMask(a);
  ASSERT_TRUE(h.run());
  h.checkAll();
  ASSERT_EQ(h.header().items, 1u);
  EXPECT_EQ(h.items()[0].slot, -1);
  EXPECT_EQ(h.items()[0].kv_begin, 896);
}

TEST(Split, BalancedByTotalOverWorkers) {
  // One long request beside short ones: its pieces come down to about the
  // share of a worker, everybody else stays whole.
  Harness h;
  h.qLens.assign(32, 1);
  h.kvLens.assign(32, 512);
  h.kvLens[7] = 100000;
  h.problem.heads = h.problem.kvHeads = 2;
  h.options.workers = 64;
  ASSERT_TRUE(h.run());
  h.checkAll();
  double share = h.summary.totalCost / h.options.workers;
  // A split is rounded up to a tile of 64 keys.
  EXPECT_LE(h.summary.longestCost, share + 64);
  EXPECT_EQ(h.header().merges, 2u);
  EXPECT_LE(h.header().items, 64u + 2 * 64u);
}

TEST(Split, NotBelowTheMinimum) {
  Harness h;
  h.qLens = {1};
  h.kvLens = {1000};
  h.problem.tileK = 64;
  h.options.workers = 1000;
  ASSERT_TRUE(h.run());
  h.checkAll();
  EXPECT_EQ(h.header().items, 4u); // 4 tiles of keys each, the last shorter
  EXPECT_EQ(h.summary.splitKeys, 256u);
}

TEST(Split, ManyTilesAreNotSplit) {
  Harness h;
  h.qLens.assign(16, 64);
  h.kvLens.assign(16, 4096);
  h.problem.heads = h.problem.kvHeads = 8;
  h.options.workers = 16;
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.header().items, 128u);
  EXPECT_EQ(h.header().merges, 0u);
}

TEST(Split, EqualSharesStayWhole) {
  // As many equal tiles as workers: each is exactly a worker's share.
  for (int32_t workers : {1, 3, 7, 132}) {
    Harness h;
    h.qLens.assign(workers, 1);
    h.kvLens.assign(workers, 3001);
    h.problem.costQ = 0.1f;
    h.problem.costKv = 0.3f;
    h.options.workers = workers;
    ASSERT_TRUE(h.run());
    EXPECT_EQ(h.header().items, uint32_t(workers));
  }
}

TEST(Split, MaxSplitsBoundsTheChosenOnes) {
  Harness h;
  h.qLens = {1};
  h.kvLens = {10000};
  h.options.workers = 1000;
  h.options.maxSplits = 3;
  ASSERT_TRUE(h.run());
  h.checkAll();
  EXPECT_EQ(h.header().items, 3u);
}

TEST(Split, FreeOfCostIsNotSplit) {
  Harness h;
  h.qLens = {1};
  h.kvLens = {10000};
  h.problem.costKv = 0;
  h.options.workers = 1000;
  ASSERT_TRUE(h.run());
  h.checkAll();
  EXPECT_EQ(h.header().items, 1u);
}

TEST(Split, SplitBordersDependOnTheRequestAlone) {
  // Batch invariance with a forced length: the same request alone and in a
  // batch is cut at the same keys.
  auto pieces = [](Harness &h, int32_t request) {
    std::vector<std::pair<int32_t, int32_t>> list;
    for (const attn_work_item &item : h.items())
      if (item.request == request)
        list.push_back({item.kv_begin, item.kv_end});
    std::sort(list.begin(), list.end());
    return list;
  };
  Harness alone, batch;
  alone.qLens = {3};
  alone.kvLens = {777};
  batch.qLens = {40, 3, 1};
  batch.kvLens = {2000, 777, 5};
  for (Harness *h : {&alone, &batch}) {
    h->options.splitKeys = 100;
    mask::Assembler a(ATTN_HOOK_MASK);
    causal(a);
    h->setMask(a);
    ASSERT_TRUE(h->run());
    h->checkAll();
  }
  EXPECT_EQ(pieces(alone, 0), pieces(batch, 1));
}

TEST(Split, HalvesThatEndLaterAreNotMade) {
  // 64 tiles for 132 workers, each more than a share: two rounds' work in one, and a
  // second launch.  Of long tiles it pays, of short ones it does not.
  for (auto [keys, merges] : {std::pair(1024, 0u), {32768, 64u}}) {
    Harness h;
    h.qLens.assign(8, 1);
    h.kvLens.assign(8, keys);
    h.problem.heads = h.problem.kvHeads = 8;
    h.problem.costKv = 10;
    h.problem.split = SplitCost::cycles(128);
    h.problem.split.dram = SplitCost::kNever;
    h.options.workers = 132;
    ASSERT_TRUE(h.run());
    EXPECT_EQ(h.header().merges, merges) << keys << " keys";
  }
}

TEST(Split, NeverEndsLaterThanWholeTiles) {
  unsigned split = 0, whole = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Harness h;
    Problem &p = h.problem;
    p.heads = p.kvHeads = random(1, 8);
    p.tileQ = p.tileK = 16;
    p.costQ = float(random(0, 20));
    p.costKv = float(random(1, 3));
    p.split = {float(random(0, 4)), float(random(0, 2000))};
    p.keyBytes = 512;
    if (random(0, 3) == 0)
      p.split.dram = float(random(0, 500));
    h.options.workers = random(2, 140);
    h.options.inTurn = random(0, 1);
    if (random(0, 3) == 0)
      h.options.enough = random(1, h.options.workers);
    for (int32_t r = random(1, 12), rows = random(1, 16); r > 0; --r) {
      h.qLens.push_back(random(0, 3) ? rows : random(1, 30));
      h.kvLens.push_back(random(1, 4000));
    }
    ASSERT_TRUE(h.run()) << h.error.text;
    Harness one = h;
    one.options.maxSplits = 1;
    ASSERT_TRUE(one.run());
    ASSERT_EQ(one.header().merges, 0u);
    bool inTurn = h.options.inTurn;
    double end = inTurn ? endInTurn(h) : endOf(h);
    double old = inTurn ? endInTurn(one) : endOf(one);
    // Costs are rounded to floats in the list that is weighed.
    EXPECT_LE(end + mergingOf(h), old * (1 + 1e-5));
    ++(h.header().merges ? split : whole);
  }
  EXPECT_GT(split, 300u);
  EXPECT_GT(whole, 300u);
}
