//===- Turns.cpp - workers that take every W-th item ----------------------===//
//
// See Turns.h.
//
//===----------------------------------------------------------------------===//
#include "Turns.h"

#include <cmath>

using namespace attn::plan;

/// Loads that are added to in about the time of a step.
static constexpr int32_t kLoadsOfStep = 64;

void Turns::give(double cost, int64_t items, int32_t &steps) {
  --steps;
  rounds.pass(
      items, [&](int64_t n) { all += double(n) * cost; },
      [&](int32_t begin, int32_t end) {
        steps -= (end - begin) / kLoadsOfStep;
        for (int32_t i = begin; i < end; ++i)
          loads[i] += cost;
      });
}

double *Turns::settle() {
  for (int32_t i = 0; i < workers; ++i)
    loads[i] += all;
  all = 0;
  return loads;
}

/// Where the first `active` workers end that share `work`, those apart that have more
/// already.
static double commonEnd(const double *loads, int32_t active, double work) {
  double end = HUGE_VAL;
  for (int32_t in = 0;;) {
    double sum = 0;
    int32_t count = 0;
    for (int32_t i = 0; i < active; ++i)
      if (loads[i] < end) {
        sum += loads[i];
        ++count;
      }
    // Without those beyond it the others end earlier, until nobody is.
    if (count == in || count == 0)
      return end;
    in = count;
    end = (sum + work) / in;
  }
}

namespace {
/// Tiles from the first block to the last, worker for worker.
class RoundPour {
public:
  RoundPour(const double *loads, double end, const WaveTile *tiles,
            int32_t count, const WaveLimits &limits, WavePiece *pieces)
      : loads(loads), end(end), tiles(tiles), count(count), limits(limits),
        pieces(pieces) {}

  int32_t run(int32_t active) {
    // Workers of two tiles come first.  How many a tile's end falls into shows only
    // here; who is left over takes one piece like the others.
    int32_t pairs = std::min(count, active) - 1;
    int32_t pair = 0, single = pairs;
    while (tile < count) {
      if (pair < pairs && hasRoomForTwo(pair)) {
        begin(pair++);
        take(restOf());
        take(fitting());
      } else if (pair < pairs || single < active) {
        begin(single < active ? single++ : pair++);
        bool isLast = pair == pairs && single == active;
        // None may go without, or the next piece in the list would be its.
        int32_t n = isLast ? restOf() : fitting();
        take(n > 0 ? n : nextBlocks(limits.least, restOf(), limits.least));
      } else {
        take(restOf());
        continue;
      }
      // What it has beside the share is taken from the next, or added.
      carry = room;
    }
    return made;
  }

private:
  int32_t restOf() const { return tiles[tile].blocks - at; }
  double roomOf(int32_t w) const { return std::max(end - loads[w], 0.0); }

  /// Whether the end of this tile and a shortest piece of the next are what the
  /// worker should have.
  bool hasRoomForTwo(int32_t w) const {
    if (tile + 1 == count)
      return false;
    const WaveTile &t = tiles[tile], &next = tiles[tile + 1];
    double behind =
        roomOf(w) + carry - t.start - restOf() * t.blockCost - next.start;
    return behind >= std::min(limits.least, next.blocks) * next.blockCost / 2;
  }

  void begin(int32_t w) {
    worker = w;
    done = loads[w];
    room = roomOf(w) + carry;
  }

  /// Blocks of this tile that come next.
  int32_t fitting() const {
    const WaveTile &t = tiles[tile];
    if (splits + 1 >= limits.maxSplits || t.blockCost <= 0)
      return restOf();
    return nextBlocks((room - t.start) / t.blockCost, restOf(), limits.least);
  }

  void take(int32_t n) {
    const WaveTile &t = tiles[tile];
    if (n == 0 && t.blocks > 0)
      return;
    double cost = t.start + n * t.blockCost;
    pieces[made++] = {tile, at, at + n, worker, done, done + cost};
    done += cost;
    room -= cost;
    at += n;
    ++splits;
    if (at < t.blocks)
      return;
    ++tile;
    at = splits = 0;
  }

  const double *loads;
  double end;
  const WaveTile *tiles;
  int32_t count;
  const WaveLimits &limits;
  WavePiece *pieces;
  int32_t made = 0, tile = 0, at = 0, splits = 0;
  int32_t worker = 0;
  double done = 0, room = 0, carry = 0;
};
} // namespace

int32_t attn::plan::pourRound(const double *loads, int32_t workers,
                              const WaveTile *tiles, int32_t count,
                              const WaveLimits &limits, WavePiece *pieces) {
  PourShares shares = sharesOf(tiles, count, limits, workers);
  double end = commonEnd(loads, shares.active, shares.work);
  auto fill = [&] {
    return RoundPour(loads, end, tiles, count, limits, pieces)
        .run(shares.active);
  };
  double filled = endOf(pieces, fill());
  int32_t made = cutEvenly(
      tiles, count, limits, shares.active, [&](int32_t w) { return loads[w]; },
      pieces);
  return endOf(pieces, made) < filled ? made : fill();
}
