//===- TurnsTest.cpp - workers that take every W-th item ------------------===//
#include "../../../lib/Plan/Turns.h"
#include "Ends.h"

#include <climits>
#include <cmath>

using namespace attn;
using namespace attn::plan;

namespace {

/// The list that Turns.h speaks of, item by item.
std::vector<double> inRounds(std::vector<double> costs, size_t workers) {
  bool turned = false;
  for (size_t at = 0; at + workers < costs.size(); at += workers) {
    auto begin = costs.begin() + at, end = begin + workers;
    if (*begin == end[-1])
      continue;
    turned = !turned;
    if (turned)
      std::reverse(begin, end);
  }
  return costs;
}

} // namespace

TEST(Turns, GiveWhatTheListSays) {
  unsigned mixed = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    int32_t workers = random(1, 40), steps = INT_MAX;
    std::vector<double> costs, memory(workers);
    double cost = 1000;
    for (int32_t run = random(1, 6); run > 0; --run) {
      cost -= random(1, 100);
      costs.insert(costs.end(), random(1, 3 * workers), cost);
    }
    int64_t last = lastRound(int64_t(costs.size()), workers);
    ASSERT_GE(last, 1);
    ASSERT_LE(last, workers);
    size_t head = costs.size() - last;
    ASSERT_EQ(head % workers, 0u);
    Turns turns(memory.data(), workers);
    for (size_t at = 0; at < head;) {
      size_t end = at;
      while (end < head && costs[end] == costs[at])
        ++end;
      turns.give(costs[at], int64_t(end - at), steps);
      at = end;
    }
    std::vector<double> list = inRounds(costs, workers), loads(workers, 0);
    for (size_t i = 0; i < head; ++i)
      loads[i % workers] += list[i];
    const double *given = turns.settle();
    EXPECT_EQ(std::vector<double>(given, given + workers), loads);
    mixed += list != costs;
  }
  EXPECT_GT(mixed, 200u);
}

TEST(Turns, StepsCountRunsAndLoads) {
  std::vector<double> memory(1000);
  Turns turns(memory.data(), 1000);
  int32_t steps = 100;
  turns.give(2, 5000, steps);
  EXPECT_EQ(steps, 99);
  turns.give(1, 640, steps);
  EXPECT_EQ(steps, 88);
}

TEST(PourRound, RandomTilesAreCovered) {
  unsigned even = 0, runs = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    int32_t workers = random(1, 140);
    std::vector<double> loads(workers, 0);
    int32_t spread = random(0, 1) ? 0 : random(1, 500);
    for (double &load : loads)
      load = random(0, spread);
    double blockCost = random(0, 9) ? random(1, 20) : 0, start = random(0, 40);
    std::vector<WaveTile> tiles(random(1, workers));
    int32_t least = random(1, 6), most = random(0, 3) ? 4095 : random(1, 4);
    int32_t blocks = random(0, 150);
    bool alike = random(0, 1);
    for (WaveTile &tile : tiles)
      tile = {alike ? blocks : random(0, blocks), start, blockCost};
    std::vector<WavePiece> pieces(tiles.size() + workers);
    double merge = random(0, 3) ? 0 : random(1, 100);
    int32_t count =
        pourRound(loads.data(), workers, tiles.data(), int32_t(tiles.size()),
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
      ASSERT_GE(piece.worker, 0);
      ASSERT_LT(piece.worker, workers);
      last = std::max(last, piece.done);
      work += start + (piece.end - piece.first) * blockCost;
      at = piece.end;
      if (at == tiles[tile].blocks) {
        ++tile;
        at = splits = 0;
      }
    }
    ASSERT_EQ(tile, tiles.size());
    for (double load : loads)
      work += load;
    // Evenly, as far as a shortest piece goes and, where nobody may be left out,
    // what workers have before.
    double piece = least * blockCost + start;
    if (work / workers > spread + 3 * piece && most == 4095 && merge == 0 &&
        alike && blocks > 4 * least) {
      ++runs;
      even += last <= work / workers + 2 * piece;
      EXPECT_LE(last, work / workers + 2 * piece + spread);
    }
  }
  EXPECT_GT(runs, 100u);
  EXPECT_GT(even, runs * 4 / 5);
}

TEST(Turns, RoundsOfSeveralCostsAlternate) {
  // 3 long items and 18 short ones for 4 workers: the second round would have the
  // long ones' workers wait for nothing, and the last begins with who has least.
  Harness h;
  h.problem.tileQ = h.problem.tileK = 16;
  h.problem.costQ = 0;
  h.options.workers = 4;
  h.options.inTurn = true;
  h.options.maxSplits = 1;
  for (int32_t keys : {90, 90, 90, 40, 40, 40, 40, 40, 40, 30}) {
    h.qLens.push_back(16);
    h.kvLens.push_back(keys);
  }
  ASSERT_TRUE(h.run());
  h.checkAll();
  EXPECT_EQ(costsOf(h),
            (std::vector<double>{40, 90, 90, 90, 40, 40, 40, 40, 40, 30}));
  EXPECT_EQ(endInTurn(h), 160);
  h.options.inTurn = false;
  ASSERT_TRUE(h.run());
  EXPECT_EQ(endInTurn(h), 170);
}

TEST(Turns, RandomPlansAreListedByRounds) {
  unsigned several = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Harness h;
    h.problem.heads = h.problem.kvHeads = random(1, 4);
    h.problem.tileQ = h.problem.tileK = 16;
    h.options.workers = random(1, 12);
    if (random(0, 1))
      h.options.splitKeys = 64;
    for (int32_t r = random(1, 12); r > 0; --r) {
      h.qLens.push_back(random(1, 40));
      h.kvLens.push_back(random(1, 200));
    }
    ASSERT_TRUE(h.run());
    std::vector<double> listed = costsOf(h);
    h.options.inTurn = true;
    ASSERT_TRUE(h.run());
    h.checkAll();
    EXPECT_EQ(costsOf(h), inRounds(listed, h.options.workers));
    several += costsOf(h) != listed;
  }
  EXPECT_GT(several, 150u);
}

/// Dense batches of any length: as they come, a short tile at the end of each request.
TEST(Turns, DenseBatchesEndEvenlyWhateverTheirLength) {
  unsigned cut = 0;
  struct {
    int32_t dim, tileQ, tileK;
  } const shapes[] = {{64, 256, 64}, {128, 128, 128}, {256, 128, 64}};
  for (auto shape : shapes)
    for (auto [from, to] : {std::pair(1000, 1300), {4000, 4200}}) {
      double before = 0;
      uint32_t itemsBefore = 0;
      for (int32_t q = from; q <= to; ++q) {
        SCOPED_TRACE("dim " + std::to_string(shape.dim) + " q " +
                     std::to_string(q));
        Harness h = prefill(shape.dim, q, 2048 / shape.dim);
        h.problem.tileQ = shape.tileQ;
        h.problem.tileK = shape.tileK;
        h.options.inTurn = true;
        ASSERT_TRUE(h.run());
        Harness whole = withoutCut(h);
        double end = endInTurn(h) + mergingOf(h), old = endInTurn(whole);
        ASSERT_LE(end, old * (1 + 1e-6));
        // What splits cost if they are made, and a shortest piece.
        const Problem &p = h.problem;
        double tile = p.tileQ * double(p.costQ + p.split.row);
        double share = h.summary.totalCost / h.options.workers;
        double piece = tile + 4.0 * p.tileK * p.costKv;
        double merge = p.split.launch + 3.0 * p.split.row * p.tileQ;
        ASSERT_LE(end, share * 1.005 + merge + piece);
        // Neighbours of as many tiles.
        if (whole.header().items == itemsBefore)
          ASSERT_NEAR(end / share, before, 0.02);
        before = end / share;
        itemsBefore = whole.header().items;
        cut += h.header().merges > 0;
      }
    }
  EXPECT_GT(cut, 200u);
}
