//===- CutWave.cpp - which items are the last wave, and whether to cut ----===//
//
// See Builder.h and LastWave.h.  The list is replayed up to its last wave, that is
// poured over the workers, and the splits are kept if their end, with what they cost,
// comes before that of whole items.
//
//===----------------------------------------------------------------------===//
#include "Builder.h"

#include <tuple>

using namespace attn::plan;

bool Builder::findWave(Levels &loads, Wave &wave) const {
  int64_t left = allItems(), given = 0;
  int32_t steps = kMaxSteps;
  Run run = firstRun();
  for (; run.size() > 0; run = runBehind(run)) {
    given = loads.give(pieces[pieceAt(run.begin)].cost, run.items(),
                       evenShare(), steps);
    left -= given;
    if (given < run.items() || steps <= 0)
      break;
  }
  if (left == 0 || left > o.workers || steps <= 0)
    return false;
  // As it is, the wave ends as late as its longest item.
  wave = {run, given, int32_t(left), loads.least(),
          endOfWave(run, given, loads)};
  return true;
}

bool Builder::findRound(Turns &turns, Wave &wave, int32_t steps) const {
  int64_t left = lastRound(allItems(), o.workers);
  int64_t head = allItems() - left, given = 0;
  Run run = firstRun();
  for (; run.size() > 0; run = runBehind(run)) {
    given = std::min(run.items(), head);
    turns.give(pieces[pieceAt(run.begin)].cost, given, steps);
    head -= given;
    if (given < run.items() || steps <= 0)
      break;
  }
  if (left == 0 || steps <= 0)
    return false;
  const double *loads = turns.settle();
  wave = {run, given, int32_t(left),
          *std::min_element(loads, loads + o.workers),
          *std::max_element(loads, loads + o.workers)};
  for (int32_t worker = 0; run.size() > 0; run = runBehind(run), given = 0)
    for (int64_t n = run.items() - given; n > 0; --n, ++worker)
      wave.whole =
          std::max(wave.whole, loads[worker] + pieces[pieceAt(run.begin)].cost);
  return true;
}

void Builder::cutLastWave() {
  Levels loads(levels, o.workers);
  Turns turns(reinterpret_cast<double *>(levels + o.workers), o.workers);
  Wave wave;
  if (!(o.inTurn ? findRound(turns, wave, kMaxSteps) : findWave(loads, wave)))
    return;
  // Cut, it takes as long as `enough` workers would for all its work.
  double enough = enoughWorkers();
  double stretch = o.workers / waveEnough(requestOf(wave.run), enough);
  auto saved = [&](double end) {
    return wave.whole - wave.begin - (end - wave.begin) * stretch -
           launchCost();
  };
  if (saved(evenShare()) <= kLeastSaved * wave.whole ||
      !collectWave(wave.run, wave.given))
    return;
  double merge =
      double(p.split.row) * tiles[pieces[waveItems[0].piece].tile].rowCount;
  WaveLimits limits = {kMinSplitTiles, int32_t(maxSplitsOf(o)), merge};
  int32_t left = wave.left;
  double end = 0;
  if (o.inTurn) {
    settleWave(pourRound(turns.settle(), o.workers, waveTiles, left, limits,
                         wavePieces));
    end = listByTurn(turns.settle());
  } else {
    settleWave(pourWave(loads, waveTiles, left, limits, wavePieces));
    end = std::max(listByTime(), loads.most());
  }
  Capacity more;
  int32_t most = 0, rows = 0;
  for (int32_t i = 0; i < left; ++i)
    if (waveItems[i].splits > 1) {
      rows = std::max(rows, tiles[pieces[waveItems[i].piece].tile].rowCount);
      more.merges += 1;
      more.slots += waveItems[i].splits;
      most = std::max(most, waveItems[i].splits);
    }
  double merging =
      double(p.split.row) * rows * std::max(double(most), more.slots / enough);
  const Capacity &c = counts.capacity;
  bool fits = allItems() + waveCutCount - left <= c.items &&
              mergeTotal + more.merges <= c.merges &&
              slotTotal + more.slots <= c.slots;
  if (!fits || saved(end) - merging <= kLeastSaved * wave.whole)
    return;
  waveItemCount = left;
  for (int32_t i = 0; i < waveCutCount; ++i)
    if (waveItems[waveCuts[i].item].splits > 1)
      summary.splitKeys = std::max(
          summary.splitKeys, uint32_t(waveCuts[i].end - waveCuts[i].begin));
  // Otherwise the longest item is the first of all.
  if (left == allItems())
    summary.longestCost = waveLongest;
}

double Builder::endOfWave(Run run, int64_t given, const Levels &loads) const {
  Levels rest(levels + o.workers, loads);
  int32_t steps = INT32_MAX;
  for (; run.size() > 0; run = runBehind(run), given = 0)
    rest.give(pieces[pieceAt(run.begin)].cost, run.items() - given, HUGE_VAL,
              steps);
  return rest.most();
}

bool Builder::collectWave(Run run, int64_t given) {
  int32_t count = 0;
  for (; run.size() > 0; run = runBehind(run), given = 0) {
    for (int64_t i = given; i < run.items(); ++i) {
      WaveItem item = {pieceAt(run.keyOf(i)), run.copyOf(i), 0, 0};
      const Tile &tile = tiles[pieces[item.piece].tile];
      if (tile.pieces > 1)
        return false;
      auto blocks = int32_t(ceilDiv(int64_t(tile.end) - tile.begin, p.tileK));
      double cost = double(p.costKv) * double(tile.visible);
      waveTiles[count] = {blocks,
                          rowCost(tile.rowCount) + p.split.row * tile.rowCount,
                          blocks ? cost / blocks : 0};
      waveItems[count++] = item;
    }
  }
  return true;
}

void Builder::settleWave(int32_t made) {
  int32_t turn = 0;
  double at = 0; // the worker's first begins
  for (int32_t i = 0; i < made; ++i) {
    const WavePiece &part = wavePieces[i];
    if (i == 0 || part.worker != wavePieces[i - 1].worker) {
      turn = 0;
      at = part.begin;
    }
    WaveItem &item = waveItems[part.tile];
    const Tile &tile = tiles[pieces[item.piece].tile];
    bool all = part.end - part.first == waveTiles[part.tile].blocks;
    bool last = part.end == waveTiles[part.tile].blocks;
    Hull hull{tile.begin + part.first * p.tileK,
              last ? tile.end : tile.begin + part.end * p.tileK};
    WaveCut cut = {part.tile, hull.begin, hull.end, item.splits, part.worker,
                   turn,      0,          at,       at};
    int64_t visible = tile.visible;
    if (!all) {
      visible = look(tile, hull);
      if (visible == 0 && hull.begin >= hull.end) {
        if (!last || item.splits > 0)
          continue;
        cut.begin = cut.end = 0;
      }
    }
    double cost = rowCost(tile.rowCount) + double(p.costKv) * double(visible);
    waveLongest = std::max(waveLongest, cost);
    cut.cost = cost + (all ? 0 : double(p.split.row) * tile.rowCount);
    waveCuts[waveCutCount++] = cut;
    ++item.splits;
    ++turn;
  }
}

double Builder::listByTime() {
  double end = 0;
  for (int32_t i = 0; i < waveCutCount; ++i) {
    WaveCut &cut = waveCuts[i];
    if (cut.turn > 0)
      cut.at = waveCuts[i - 1].done;
    cut.done = cut.at + cut.cost;
    end = std::max(end, cut.done);
  }
  std::sort(waveCuts, waveCuts + waveCutCount,
            [](const WaveCut &a, const WaveCut &b) {
              return std::tie(a.at, a.done, a.item, a.split) <
                     std::tie(b.at, b.done, b.item, b.split);
            });
  return end;
}

double Builder::listByTurn(double *loads) {
  const WaveCut *all = waveCuts + waveCutCount;
  int32_t idle = o.workers;
  for (const WaveCut *cut = waveCuts; cut < all; ++cut)
    idle -= cut->turn == 0;
  enum { kFirstOfTwo, kFirst, kSecondOfIdle, kSecond };
  for (WaveCut *cut = waveCuts; cut < all; ++cut) {
    bool two = cut + 1 < all && cut[1].turn > 0;
    if (cut->turn == 0)
      cut->at = two && idle <= 0 ? kFirstOfTwo : kFirst;
    else
      cut->at = idle-- > 0 ? kSecondOfIdle : kSecond + cut->turn;
  }
  std::sort(waveCuts, waveCuts + waveCutCount,
            [](const WaveCut &a, const WaveCut &b) {
              return std::tie(a.at, a.worker) < std::tie(b.at, b.worker);
            });
  for (int32_t i = 0; i < waveCutCount; ++i)
    loads[i % o.workers] += waveCuts[i].cost;
  return *std::max_element(loads, loads + o.workers);
}

double Builder::waveEnough(int32_t r, double enough) const {
  if (tilesOf(p, r) * headsOfKv() > 1)
    return enough;
  double bytes = p.keyBytes / std::max(double(p.costKv), 1e-30); // a unit
  return std::max(1.0, enough * std::min(1.0, p.split.dram / bytes));
}
