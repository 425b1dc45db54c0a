//===- LastWave.cpp - the items of the last wave, cut ---------------------===//
//
// See LastWave.h.
//
//===----------------------------------------------------------------------===//
#include "LastWave.h"

#include <algorithm>
#include <cmath>

using namespace attn::plan;

Levels::Levels(Level *memory, const Levels &other)
    : level(memory), workers(other.workers), count(other.count) {
  std::copy(other.begin(), other.end(), memory);
}

/// The first `n` workers leave.
void Levels::drop(int32_t n) {
  level[0].workers -= n;
  if (level[0].workers > 0)
    return;
  std::copy(level + 1, level + count, level);
  --count;
}

void Levels::add(double load, int32_t n) {
  Level *at = level + count;
  while (at > level && at[-1].load > load)
    --at;
  if (at > level && at[-1].load == load) {
    at[-1].workers += n;
    return;
  }
  std::copy_backward(at, level + count, level + count + 1);
  *at = {load, n};
  ++count;
}

int64_t Levels::give(double cost, int64_t items, double limit, int32_t &steps) {
  int64_t left = items;
  if (cost <= 0 && least() <= limit)
    return items;
  while (left > 0 && least() + cost <= limit && steps > 0) {
    // No worker is a whole item behind: everybody takes one, round by round.
    if (most() - least() <= cost) {
      double rounds =
          std::min(double(left / workers), std::floor((limit - most()) / cost));
      if (rounds >= 1) {
        for (int32_t i = 0; i < count; ++i)
          level[i].load += rounds * cost;
        left -= int64_t(rounds) * workers;
        continue;
      }
    }
    double load = least() + cost;
    auto n = int32_t(std::min<int64_t>(left, level[0].workers));
    drop(n);
    add(load, n);
    left -= n;
    --steps;
  }
  return items - left;
}

namespace {
/// Where the least loaded workers end that share `work` from their loads on, `active`
/// of them or as many as are not beyond that end already.
double commonEnd(const Levels &levels, int32_t &active, double work) {
  double loads = 0, result = 0;
  int32_t count = 0;
  for (const Level &level : levels) {
    if (count > 0 && (count >= active || result <= level.load))
      break;
    int32_t more = std::min(level.workers, active - count);
    loads += level.load * more;
    count += more;
    result = (loads + work) / count;
  }
  active = count;
  return result;
}

} // namespace

int32_t attn::plan::nextBlocks(double fit, int32_t rest, int32_t least) {
  if (rest < 2 * least)
    return fit < rest / 2.0 ? 0 : rest;
  if (fit < least)
    return fit < least / 2.0 ? 0 : least;
  if (fit > rest - least)
    return fit < rest - least / 2.0 ? rest - least : rest;
  return int32_t(std::lround(fit));
}

PourShares attn::plan::sharesOf(const WaveTile *tiles, int32_t count,
                                const WaveLimits &limits, int32_t workers) {
  // No more workers than there can be pieces, or their shares would be shorter
  // than the shortest of them.
  int64_t mostPieces = 0;
  double starts = 0, work = 0;
  for (int32_t t = 0; t < count; ++t) {
    starts += tiles[t].start;
    work += tiles[t].blocks * tiles[t].blockCost;
    mostPieces +=
        std::clamp(tiles[t].blocks / limits.least, 1, limits.maxSplits);
  }
  // Nor more than make pieces and merges shortest together: n splits of a tile take
  // tile / n + n * merge, least at n = sqrt(tile / merge).
  double best =
      double(count) *
      std::max(1.0, std::sqrt((starts + work) / count / limits.merge));
  auto active = int32_t(std::min(
      std::ceil(best), double(std::min<int64_t>(workers, mostPieces))));
  // About each worker begins one in the middle of a tile.
  return {active, starts + work + active * (starts / count)};
}

double attn::plan::endOf(const WavePiece *pieces, int32_t count) {
  double end = 0;
  for (int32_t i = 0; i < count; ++i)
    end = std::max(end, pieces[i].done);
  return end;
}

/// Fills the workers to one end.
static int32_t fill(const Levels &levels, const WaveTile *tiles, int32_t count,
                    const WaveLimits &limits, int32_t active, double end,
                    WavePiece *pieces) {
  int32_t least = limits.least, maxSplits = limits.maxSplits;
  int32_t made = 0, tile = 0, at = 0, splits = 0;
  const Level *level = levels.begin();
  int32_t ofLevel = 0;
  double carry = 0; // what the workers before took too little
  for (int32_t worker = 0; worker < active && tile < count; ++worker) {
    double begin = level->load;
    double room = end - begin + carry;
    if (++ofLevel == level->workers && level + 1 < levels.end()) {
      ++level;
      ofLevel = 0;
    }
    while (tile < count) {
      const WaveTile &t = tiles[tile];
      int32_t rest = t.blocks - at;
      int32_t n = rest;
      if (worker + 1 < active && splits + 1 < maxSplits && t.blockCost > 0)
        n = nextBlocks((room - t.start) / t.blockCost, rest, least);
      else if (worker + 1 < active && room < t.start)
        n = 0;
      // Nothing fits, unless it is that a tile has no keys.
      if (n == 0 && rest > 0)
        break;
      double cost = t.start + n * t.blockCost;
      pieces[made++] = {tile, at, at + n, worker, begin, begin + cost};
      begin += cost;
      room -= cost;
      at += n;
      ++splits;
      if (n < rest)
        break;
      ++tile;
      at = splits = 0;
      if (room <= 0)
        break;
    }
    carry = room;
  }
  return made;
}

int32_t attn::plan::pourWave(const Levels &levels, const WaveTile *tiles,
                             int32_t count, const WaveLimits &limits,
                             WavePiece *pieces) {
  int32_t workers = 0;
  for (const Level &level : levels)
    workers += level.workers;
  auto [active, work] = sharesOf(tiles, count, limits, workers);
  int32_t most = active; // workers of one piece
  double end = commonEnd(levels, active, work);
  int32_t made = fill(levels, tiles, count, limits, active, end, pieces);
  double filled = endOf(pieces, made);
  const Level *level = levels.begin();
  int32_t before = 0; // workers of the levels before
  auto begin = [&](int32_t w) {
    for (; w >= before + level->workers; ++level)
      before += level->workers;
    return level->load;
  };
  made = cutEvenly(tiles, count, limits, most, begin, pieces);
  if (endOf(pieces, made) < filled)
    return made;
  return fill(levels, tiles, count, limits, active, end, pieces);
}
