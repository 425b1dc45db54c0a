//===- LastWaveTest.cpp - the items of the last wave, cut -----------------===//
#include "../../../lib/Plan/LastWave.h"
#include "Ends.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <random>
#include <tuple>

using namespace attn;
using namespace attn::plan;

namespace {

//===----------------------------------------------------------------------===//
// The replay and the pour alone
//===----------------------------------------------------------------------===//

std::vector<double> sortedLoads(const Levels &levels) {
  std::vector<double> loads;
  for (const Level &level : levels)
    loads.insert(loads.end(), level.workers, level.load);
  return loads;
}

} // namespace

TEST(Levels, GiveWhatTheReplayGives) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    int32_t workers = random(1, 40), steps = INT_MAX;
    std::vector<Level> memory(workers);
    Levels levels(memory.data(), workers);
    std::vector<double> costs, loads(workers, 0);
    for (int32_t run = random(1, 6); run > 0; --run) {
      double cost = random(0, 30);
      int32_t items = random(1, 200);
      EXPECT_EQ(levels.give(cost, items, HUGE_VAL, steps), items);
      costs.insert(costs.end(), items, cost);
    }
    std::vector<Turn> turns = replay(costs, workers);
    for (size_t i = 0; i < costs.size(); ++i)
      loads[turns[i].worker] += costs[i];
    std::sort(loads.begin(), loads.end());
    EXPECT_EQ(sortedLoads(levels), loads) << "seed " << seed;
    EXPECT_EQ(levels.least(), loads.front());
    EXPECT_EQ(levels.most(), loads.back());
  }
}

TEST(Levels, EndAtTheLimit) {
  Level memory[4], copy[4];
  Levels levels(memory, 4);
  int32_t steps = 100;
  // 22 items: five rounds end at 50, then one would end at 60.
  EXPECT_EQ(levels.give(10, 22, 55, steps), 20);
  EXPECT_EQ(levels.least(), levels.most());
  EXPECT_EQ(levels.least(), 50);
  Levels other(copy, levels);
  EXPECT_EQ(other.give(5, 3, 55, steps), 3);
  EXPECT_EQ(sortedLoads(other), (std::vector<double>{50, 55, 55, 55}));
  EXPECT_EQ(other.give(5, 3, 55, steps), 1);
  // The first is as it was.
  EXPECT_EQ(levels.least(), levels.most());
  // Whole rounds take no steps, others one a level.
  steps = 1;
  EXPECT_EQ(levels.give(10, 400 + 2, HUGE_VAL, steps), 402);
  EXPECT_EQ(steps, 0);
  EXPECT_EQ(levels.give(10, 1, HUGE_VAL, steps), 0);
}

TEST(PourWave, RandomTilesAreCoveredEvenly) {
  unsigned even = 0, runs = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    int32_t workers = random(1, 140), steps = INT_MAX;
    std::vector<Level> memory(workers);
    Levels levels(memory.data(), workers);
    double blockCost = random(1, 20), start = random(0, 40);
    for (int32_t run = random(0, 2); run > 0; --run)
      levels.give(random(1, 100), random(1, 2 * workers), HUGE_VAL, steps);
    std::vector<double> loads = sortedLoads(levels);
    std::vector<WaveTile> tiles(random(1, workers));
    int32_t least = random(1, 6), most = random(0, 3) ? 4095 : random(1, 4);
    int32_t blocks = random(0, 150);
    bool alike = random(0, 1);
    for (WaveTile &tile : tiles)
      tile = {alike ? blocks : random(0, blocks), start, blockCost};
    std::vector<WavePiece> pieces(tiles.size() + workers);
    double merge = random(0, 3) ? 0 : random(1, 100);
    int32_t count = pourWave(levels, tiles.data(), int32_t(tiles.size()),
                             {least, most, merge}, pieces.data());
    ASSERT_LE(count, int32_t(pieces.size()));
    double last = 0, work = 0;
    size_t tile = 0;
    int32_t at = 0, splits = 0;
    for (int32_t i = 0; i < count; ++i) {
      const WavePiece &piece = pieces[i];
      ASSERT_EQ(piece.tile, int32_t(tile));
      ASSERT_EQ(piece.first, at);
      ASSERT_LE(piece.end, tiles[tile].blocks);
      ASSERT_GE(piece.end - piece.first, std::min(least, tiles[tile].blocks));
      ASSERT_LE(++splits, most);
      bool first = i == 0 || piece.worker != pieces[i - 1].worker;
      ASSERT_GE(piece.worker, i == 0 ? 0 : pieces[i - 1].worker);
      ASSERT_LT(piece.worker, workers);
      ASSERT_EQ(piece.begin, first ? loads[piece.worker] : pieces[i - 1].done);
      double cost = start + (piece.end - piece.first) * blockCost;
      ASSERT_DOUBLE_EQ(piece.done, piece.begin + cost);
      last = std::max(last, piece.done);
      work += cost;
      at = piece.end;
      if (at == tiles[tile].blocks) {
        ++tile;
        at = splits = 0;
      }
    }
    ASSERT_EQ(tile, tiles.size());
    // Where shares are long and nothing stands in the way, all workers end within a
    // shortest piece and a start of one another.
    bool roomy = work / workers > 3 * (least * blockCost + start) &&
                 loads.back() == 0 && most == 4095 && merge == 0 && alike &&
                 blocks > 4 * least;
    if (!roomy)
      continue;
    ++runs;
    EXPECT_LE(last, work / workers + 2 * (least * blockCost + start));
    even += last <= work / workers + least * blockCost + start;
  }
  EXPECT_GT(runs, 100u);
  EXPECT_GT(even, runs * 9 / 10);
}

//===----------------------------------------------------------------------===//
// In plans
//===----------------------------------------------------------------------===//

namespace {

/// What the device reads of two plans is the same.
void expectSame(const Harness &a, const Harness &b) {
  EXPECT_EQ(a.plan, b.plan);
  EXPECT_EQ(a.summary.splitKeys, b.summary.splitKeys);
  EXPECT_EQ(a.summary.longestCost, b.summary.longestCost);
}

void setCausal(Harness &h) {
  mask::Assembler a(ATTN_HOOK_MASK);
  causal(a);
  h.setMask(a);
}

} // namespace

TEST(LastWave, DenseAt16kEndsEvenly) {
  struct {
    int32_t dim, heads;
    uint32_t items;
  } const cases[] = {{128, 16, 2048}, {256, 8, 1024}};
  for (auto c : cases) {
    Harness h = prefill(c.dim, 16384, c.heads);
    for (bool inTurn : {false, true}) {
      h.options.inTurn = inTurn;
      ASSERT_TRUE(h.run()) << h.error.text;
      Harness whole = withoutCut(h);
      EXPECT_EQ(whole.header().items, c.items);
      EXPECT_EQ(whole.header().merges, 0u);
      double share = h.summary.totalCost / 132;
      EXPECT_NEAR(endOf(whole) / share, 1.0312, 1e-4);
      EXPECT_LT((inTurn ? endInTurn(h) : endOf(h)) / share, 1.005);
      // Nothing before the last wave has changed.
      std::vector<attn_work_item> items = h.items(), old = whole.items();
      size_t head = c.items / 132 * 132;
      EXPECT_EQ(memcmp(items.data(), old.data(), head * sizeof(items[0])), 0);
      EXPECT_LE(items.size() - head, c.items - head + 132);
      for (size_t i = 0; i < head; ++i)
        ASSERT_EQ(items[i].slot, -1);
      // The buffers are those of a plan without.
      EXPECT_EQ(h.bound.planBytes, whole.bound.planBytes);
      EXPECT_EQ(h.bound.slots, whole.bound.slots);
    }
  }
}

TEST(LastWave, StaysWholeWhereThatIsNoLoss) {
  // Whole waves.
  Harness h = prefill(128, 16384, 33);
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.header().items, 32u * 132);
  expectSame(h, withoutCut(h));
  // Many short items at the end.
  for (int32_t tokens : {512, 4096, 16384}) {
    h = prefill(128, tokens, 16);
    setCausal(h);
    ASSERT_TRUE(h.run());
    expectSame(h, withoutCut(h));
  }
  // A loss below the price of a launch, and below the error of costs.
  h = prefill(128, 512, 16);
  ASSERT_TRUE(h.run());
  expectSame(h, withoutCut(h));
  h = prefill(128, 16384, 133);
  h.problem.split.launch = 0;
  ASSERT_TRUE(h.run());
  EXPECT_LT(endOf(h) / h.summary.totalCost * 132, 1.005);
}

TEST(LastWave, IsNotCutWhereAFewWorkersAreEnough) {
  // 144 requests of decode, whose keys come from DRAM: the last 12 alone would
  // not read at its speed, the last 68 of 200 would.
  Harness h = prefill(128, 16384, 8);
  h.problem.costKv = 12; // 43 bytes a cycle, of which DRAM gives 20
  h.options.l2Bytes = 0;
  for (auto [batch, cut] : {std::pair(18, true), {25, false}, {33, false}}) {
    h.qLens.assign(batch, 1);
    h.kvLens.assign(batch, 8192);
    ASSERT_TRUE(h.run());
    EXPECT_EQ(h.header().merges, cut ? 12u : 0u);
    if (cut)
      EXPECT_LT(endOf(h), 0.56 * endOf(withoutCut(h)));
    else
      expectSame(h, withoutCut(h));
  }
  // Keys that several tiles read, two CTAs on an SM: of 17 x 32 tiles 16 are left,
  // of 13 x 32 there are 152, whose SMs would not be the faster for a cut.
  h = prefill(128, 4096, 17);
  h.options.workers = 264;
  for (auto [heads, enough, cut] : {std::tuple(17, 0, true),
                                    {17, 132, true},
                                    {13, 0, true},
                                    {13, 132, false}}) {
    h.qLens = h.kvLens = {4096};
    h.problem.heads = h.problem.kvHeads = heads;
    h.options.enough = enough;
    h.problem.split.launch = 0;
    ASSERT_TRUE(h.run());
    EXPECT_EQ(h.header().merges > 0, cut) << heads << " heads, " << enough;
  }
}

TEST(LastWave, CanBeForbidden) {
  // One split a tile, or lengths that do not depend on the batch.
  Harness h = prefill(128, 4096, 16);
  ASSERT_TRUE(h.run());
  EXPECT_GT(h.header().merges, 0u);
  h.options.maxSplits = 1;
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.header().merges, 0u);
  expectSame(h, withoutCut(h));
  h.options.maxSplits = 0;
  h.options.splitKeys = 4096;
  ASSERT_TRUE(h.run());
  expectSame(h, withoutCut(h));
  // Two at most, which is what 2 tiles on 4 workers take.
  h = prefill(128, 768, 1);
  h.qLens = {768};
  h.kvLens = {16384};
  h.options.workers = 4;
  h.options.maxSplits = 2;
  ASSERT_TRUE(h.run());
  EXPECT_GT(h.header().merges, 0u);
  for (const attn_merge_item &merge : h.merges())
    EXPECT_EQ(merge.count, 2);
}

TEST(LastWave, MoreWorkersThanAnyDeviceHas) {
  Harness h = prefill(128, 16384, 40);
  h.options.workers = 4097;
  ASSERT_TRUE(h.run()) << h.error.text;
  expectSame(h, withoutCut(h));
  h.options.workers = INT_MAX;
  ASSERT_TRUE(h.run()) << h.error.text;
}

TEST(LastWave, DeterministicAndInOneListOfEachHead) {
  // A mask that reads the head: one entry a head and tile, same plan.
  Harness h = prefill(128, 4096, 16), other = h;
  h.problem.tileK = other.problem.tileK = 64;
  mask::Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_H).i32(100).icmp(ATTN_CMP_LT);
  other.setMask(a);
  ASSERT_TRUE(h.run());
  ASSERT_TRUE(other.run());
  EXPECT_GT(h.header().merges, 0u);
  ASSERT_EQ(h.header().items, other.header().items);
  for (uint32_t i = 0; i < h.header().items; ++i) {
    attn_work_item x = h.items()[i], y = other.items()[i];
    x.flags = y.flags = 0; // the mask has whole blocks, no mask needs none
    ASSERT_EQ(memcmp(&x, &y, sizeof(x)), 0) << "item " << i;
  }
}

TEST(LastWave, RandomBatches) {
  unsigned cut = 0, mixed = 0, masked = 0, inTurn = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Harness h;
    Problem &p = h.problem;
    p.heads = p.kvHeads = random(1, 4);
    p.tileQ = random(1, 16);
    p.tileK = 1 << random(2, 4);
    p.costQ = float(random(0, 4));
    p.costKv = float(random(1, 3));
    p.split = {float(random(0, 2)), float(random(0, 40))};
    if (random(0, 3) == 0)
      p.split.dram = float(random(0, 500));
    p.keyBytes = 512;
    h.options.workers = random(2, 12);
    h.options.inTurn = random(0, 2) == 0;
    if (random(0, 3) == 0)
      h.options.enough = random(1, h.options.workers);
    if (random(0, 3) == 0)
      h.options.maxSplits = random(1, 4);
    if (random(0, 3) == 0)
      h.options.l2Bytes = uint64_t(random(1, 200)) * 1024;
    int32_t keys = random(30, 400), rows = random(1, 60);
    for (int32_t r = random(1, 4); r > 0; --r) {
      h.qLens.push_back(random(0, 3) ? rows : random(0, 60));
      h.kvLens.push_back(random(0, 3) ? keys : random(0, 400));
    }
    mask::Assembler a(ATTN_HOOK_MASK);
    switch (random(0, 5)) {
    case 0:
      causal(a);
      h.setMask(a);
      break;
    case 1:
      windowWithSinks(a, random(1, 200), random(0, 40));
      h.setMask(a);
      break;
    case 2: // holes: only the first and the last keys
      a.arg(ATTN_ARG_K).i32(random(1, 100)).icmp(ATTN_CMP_LT);
      a.arg(ATTN_ARG_K).i32(random(100, 300)).icmp(ATTN_CMP_GE);
      a.op(ATTN_OP_OR);
      h.setMask(a);
      break;
    }
    ASSERT_TRUE(h.run()) << h.error.text;
    h.checkAll();
    if (::testing::Test::HasFatalFailure())
      return;
    Harness whole = withoutCut(h);
    EXPECT_EQ(h.bound.planBytes, whole.bound.planBytes);
    // Splits for balance are weighed too where their cost is known.
    Harness one = h;
    one.options.maxSplits = 1;
    ASSERT_TRUE(one.run());
    if (h.header().merges == 0) {
      EXPECT_EQ(h.items().size(), one.items().size());
      continue;
    }
    double end = h.options.inTurn ? endInTurn(h) : endOf(h);
    double old = h.options.inTurn ? endInTurn(one) : endOf(one);
    // Costs are rounded to floats in the list that the cut is decided by.
    EXPECT_LT(end + mergingOf(h), old * (1 + 1e-5));
    if (h.header().merges == whole.header().merges)
      continue;
    double longest = 0;
    std::vector<attn_work_item> items = h.items();
    std::vector<double> costs = costsOf(h);
    bool some = false;
    for (size_t i = 0; i < items.size(); ++i) {
      double partial = items[i].slot < 0 ? 0 : p.split.row * items[i].rows;
      longest = std::max(longest, costs[i] - partial);
      some |= items[i].slot < 0;
      EXPECT_LE(int32_t(ATTN_ITEM_SPLITS(items[i].flags)),
                h.options.maxSplits ? h.options.maxSplits : ATTN_MAX_SPLITS);
    }
    EXPECT_NEAR(h.summary.longestCost, longest, 1e-5 * longest);
    ++cut;
    mixed += some;
    masked += h.program.valid();
    inTurn += h.options.inTurn;
  }
  // The generator reaches what the test is about.
  EXPECT_GT(cut, 200u);
  EXPECT_GT(mixed, 150u);
  EXPECT_GT(masked, 50u);
  EXPECT_GT(inTurn, 30u);
}
