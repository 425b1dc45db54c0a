//===- Builder.h - from request lengths to work lists ----------*- C++ -*-===//
//
// Three steps over one scratch buffer:
//
//   tiles    (request, rows, visible hull), for one head if all heads see the
//            same, else for each head
//   pieces   tiles cut into splits, with cost; sorted by (cost, order)
//   plan     pieces replicated over the heads, slots and merges filled in;
//            a section (Sections.h) after the other, head by head where the
//            cost is one
//
// Balance: with L = total cost / workers no piece should cost more than about
// L.  A split holds max(L - cost of a full tile's rows, L / 2) worth of keys,
// so the pieces beyond one a tile number at most 2 * workers: sum over tiles of
// (splits - 1) <= sum of keys / split <= (total / costKv) / (L / 2 / costKv).
//
// Splits are kept if the list with them, their partials and merges ends before that
// of whole tiles; DRAM or processors of several workers bound both.
//
// Last wave (LastWave.h): whole items that would end long after an even share are
// cut so that all workers end together, if that saves more than the splits cost.
// What it can save at most is read off the end of the list: an item j ends after
// the share by no more than its cost less 1 / workers of what comes behind it.
// That is next to nothing where the list ends with many short items.  Workers that
// take every W-th item may end later: their turns are replayed as they are, and
// listed so that long and short items alternate (Turns.h).
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_PLAN_BUILDER_H
#define ATTN_LIB_PLAN_BUILDER_H

#include "Capacity.h"
#include "Turns.h"

#include "attn/ABI/Version.h"

#include <algorithm>
#include <cmath>

namespace attn::plan {

/// The replay of a plan, about 20 ns a step, ends here at most; items stay whole then.
constexpr int32_t kMaxSteps = 1024;
/// Splits that save less than this share of the time are within the error of costs.
constexpr double kLeastSaved = 0.005;

class Builder {
public:
  Builder(const Problem &p, const Options &o, const Counts &counts, char *plan,
          char *scratch, Summary &summary, Error &error)
      : p(p), o(o), counts(counts), summary(summary), error(error), plan(plan),
        layout(counts.capacity.items, counts.capacity.merges,
               counts.capacity.requests) {
    ScratchLayout at(counts.tiles, counts.pieces, p.batch, counts.waveWorkers);
    tiles = reinterpret_cast<Tile *>(scratch + at.tiles);
    pieces = reinterpret_cast<Piece *>(scratch + at.pieces);
    keys = reinterpret_cast<uint64_t *>(scratch + at.keys);
    spare = reinterpret_cast<uint64_t *>(scratch + at.spare);
    loads = reinterpret_cast<RequestLoad *>(scratch + at.loads);
    order = reinterpret_cast<int32_t *>(scratch + at.order);
    firsts = reinterpret_cast<int32_t *>(scratch + at.firsts);
    uint64_t workers = counts.waveWorkers;
    levels = reinterpret_cast<Level *>(scratch + at.wave);
    waveItems = reinterpret_cast<WaveItem *>(levels + 2 * workers);
    waveTiles = reinterpret_cast<WaveTile *>(waveItems + workers);
    wavePieces = reinterpret_cast<WavePiece *>(waveTiles + workers);
    waveCuts = reinterpret_cast<WaveCut *>(wavePieces + 2 * workers);
  }

  bool run() {
    makeTiles();
    if (o.splitKeys) {
      if (!cutForced())
        return false;
    } else {
      cutForBalance();
    }
    list();
    if (!o.splitKeys && counts.waveWorkers > 0 && mergeTotal > 0)
      weighSplits();
    if (counts.waveWorkers > 0 &&
        (o.inTurn ||
         mostToSave() > launchCost() + kLeastSaved * allCost / o.workers))
      cutLastWave();
    emit();
    return true;
  }

private:
  double rowCost(int64_t rows) const { return double(p.costQ) * rows; }

  /// Narrows [begin, end) to what the tile may see; (0, 0) if that is nothing.
  /// Returns the keys that count for the cost.
  int64_t look(const Tile &tile, Hull &hull) const {
    int32_t low = hull.begin, high = hull.end;
    int64_t visible = int64_t(high) - low;
    if (low < high && p.visibility) {
      visible = p.visibility->look(p.visibility->context, tile.rows, hull);
      hull.begin = std::max(hull.begin, low);
      hull.end = std::min(hull.end, high);
    }
    if (hull.begin >= hull.end) {
      hull = {0, 0};
      return 0;
    }
    return std::clamp<int64_t>(visible, 0, int64_t(hull.end) - hull.begin);
  }

  void makeTiles() {
    int32_t entryHeads = p.heads / p.pack / counts.copies;
    for (int32_t r = 0; r < p.batch; ++r) {
      int64_t packedRows = int64_t(p.qLens[r]) * p.pack;
      int64_t perHead = tilesOf(p, r);
      // Only what several items read is worth keeping in L2.
      bool shared = perHead * headsOfKv() > 1;
      loads[r] = {};
      if (shared && o.l2Bytes)
        loads[r].bytes = double(p.kvLens[r]) * p.keyBytes * p.kvHeads;
      sharedBytes += loads[r].bytes;
      for (int32_t h = 0; h < entryHeads; ++h)
        for (int64_t t = 0; t < perHead; ++t) {
          Tile &tile = tiles[tileCount++];
          int64_t row0 = t * rowsOfTile(p);
          tile.row0 = int32_t(row0);
          tile.rowCount =
              int32_t(std::min<int64_t>(rowsOfTile(p), packedRows - row0));
          tile.rows.request = r;
          tile.rows.head0 = h * p.pack;
          tile.rows.head1 = h * p.pack + p.pack - 1;
          uint32_t last = uint32_t(row0) + uint32_t(tile.rowCount) - 1;
          tile.rows.token0 = int32_t(uint32_t(row0) / uint32_t(p.pack));
          tile.rows.token1 = int32_t(last / uint32_t(p.pack));
          tile.rows.qLen = p.qLens[r];
          tile.rows.kvLen = p.kvLens[r];
          Hull hull{0, p.kvLens[r]};
          tile.visible = look(tile, hull);
          // Whole blocks from key 0, so that narrowing moves no block border.
          tile.begin = hull.begin / p.tileK * p.tileK;
          tile.end = std::min(int32_t(ceilDiv32(hull.end, p.tileK)) * p.tileK,
                              p.kvLens[r]);
          tile.whole0 = hull.whole0;
          tile.whole1 = hull.whole1;
          tile.firstSlot = 0;
          tile.firstPiece = 0;
          tile.pieces = 0;
          summary.totalCost +=
              (rowCost(tile.rowCount) + double(p.costKv) * tile.visible) *
              counts.copies;
        }
    }
  }

  /// Cuts a tile into pieces of `length` keys; drops those that see nothing.
  void cut(int32_t index, int64_t length) {
    Tile &tile = tiles[index];
    tile.firstPiece = pieceCount;
    int64_t keysOfTile = tile.end - tile.begin;
    bool whole = keysOfTile <= length;
    for (int64_t at = tile.begin; at < tile.end; at += length) {
      int32_t begin = int32_t(at);
      int32_t end = int32_t(std::min<int64_t>(at + length, tile.end));
      int64_t visible = tile.visible;
      if (!whole) {
        Hull hull{begin, end};
        visible = look(tile, hull);
        if (hull.begin >= hull.end)
          continue;
      }
      add(index, begin, end, visible);
    }
    // Its rows must be written even if they see nothing.
    if (pieceCount == tile.firstPiece)
      add(index, 0, 0, 0);
    tile.pieces = pieceCount - tile.firstPiece;
    if (tile.pieces > 1) {
      summary.splitKeys =
          std::max(summary.splitKeys, uint32_t(std::min(length, keysOfTile)));
      mergeTotal += counts.copies;
      slotTotal += tile.pieces * counts.copies;
      for (int32_t i = tile.firstPiece; i < pieceCount; ++i)
        pieces[i].cost += float(partial(tile));
      allCost += partial(tile) * tile.pieces * counts.copies;
    }
  }

  void add(int32_t tile, int32_t begin, int32_t end, int64_t visible) {
    double cost =
        rowCost(tiles[tile].rowCount) + double(p.costKv) * double(visible);
    pieces[pieceCount] = {tile, begin, end, float(cost)};
    ++pieceCount;
    summary.longestCost = std::max(summary.longestCost, cost);
    allCost += cost * counts.copies;
  }

  bool cutForced() {
    for (int32_t i = 0; i < tileCount; ++i) {
      int64_t n = ceilDiv(tiles[i].end - tiles[i].begin, o.splitKeys);
      if (n > maxSplitsOf(o))
        return fail(
            error,
            "request %d needs %ld splits of %d keys but a tile has at most %ld",
            tiles[i].rows.request, n, o.splitKeys, maxSplitsOf(o));
      cut(i, o.splitKeys);
    }
    return true;
  }

  void list() {
    chooseSections();
    sortPieces();
  }

  /// Before any tile is cut.
  void clear() {
    pieceCount = 0;
    mergeTotal = slotTotal = 0;
    allCost = summary.longestCost = 0;
    summary.splitKeys = 0;
  }

  void cutForBalance() {
    double share = summary.totalCost / o.workers;
    double keyShare = std::max(share - rowCost(p.tileQ), share / 2);
    double wanted = p.costKv > 0 ? keyShare / p.costKv : double(INT32_MAX);
    int64_t least = kMinSplitTiles * p.tileK;
    int64_t length = INT32_MAX;
    if (wanted < double(INT32_MAX - p.tileK))
      length = std::max(least, roundUp(int64_t(std::ceil(wanted)), p.tileK));
    for (int32_t i = 0; i < tileCount; ++i) {
      Tile &tile = tiles[i];
      int64_t span = tile.end - tile.begin;
      // The share counts visible keys only; holes stretch a split.  A tile that
      // is within the share stays whole, rounding of the sum aside.
      double cost = rowCost(tile.rowCount) + double(p.costKv) * tile.visible;
      int64_t n =
          cost <= share * (1 + 1e-9)
              ? 1
              : std::min(ceilDiv(std::max<int64_t>(tile.visible, 1), length),
                         maxSplitsOf(o));
      cut(i, n <= 1 ? std::max<int64_t>(span, 1)
                    : roundUp(ceilDiv(span, n), p.tileK));
    }
  }

  /// What workers take for the list as it is, merges not included.
  double timeOfList(double enough) {
    double end = 0;
    if (o.inTurn) {
      Turns turns(reinterpret_cast<double *>(levels + o.workers), o.workers);
      Wave wave;
      findRound(turns, wave, INT32_MAX);
      end = wave.whole;
    } else {
      end = endOfWave(firstRun(), 0, Levels(levels, o.workers));
    }
    return std::max(end, allCost / enough);
  }

  /// Leaves tiles whole if that ends as early.
  void weighSplits() {
    int32_t most = 0, rows = 0;
    for (int32_t i = 0; i < tileCount; ++i)
      if (tiles[i].pieces > 1) {
        most = std::max(most, tiles[i].pieces);
        rows = std::max(rows, tiles[i].rowCount);
      }
    double merging =
        double(p.split.launch) +
        double(p.split.row) * rows *
            std::max(double(most), double(slotTotal) / enoughWorkers());
    // Nobody ends more than an item after the others, and no sooner than a tile takes
    // that stays whole: a replay is seldom needed where one request is very long.
    double longest = 0;
    int32_t request = 0; // of the longest tile
    for (int32_t i = 0; i < tileCount; ++i) {
      double cost = rowCost(tiles[i].rowCount) +
                    double(p.costKv) * double(tiles[i].visible);
      if (cost > longest) {
        longest = cost;
        request = tiles[i].rows.request;
      }
    }
    double enough = waveEnough(request, enoughWorkers());
    double latest =
        summary.longestCost + double(p.split.row) * rows + allCost / enough;
    if (!o.inTurn && latest + merging < longest * (1 - kLeastSaved))
      return;
    double split = timeOfList(enough) + merging;
    clear();
    for (int32_t i = 0; i < tileCount; ++i)
      cut(i, INT32_MAX);
    list();
    double whole = timeOfList(enough);
    if (split >= whole * (1 - kLeastSaved))
      return;
    clear();
    cutForBalance();
    list();
  }

  /// What a split of the tile takes beside its keys.
  double partial(const Tile &tile) const {
    return double(p.split.row) * tile.rowCount;
  }

  double enoughWorkers() const { return o.enough ? o.enough : o.workers; }

  /// Entries of a plan that share one KV head.
  int32_t headsOfKv() const { return p.heads / p.pack / p.kvHeads; }

  void chooseSections() {
    // Decode reads nothing twice: one section, whatever its items cost.
    for (int32_t r = 0; r < p.batch; ++r)
      loads[r].cost = loads[r].longest = 0;
    for (int32_t i = 0; sharedBytes > 0 && i < pieceCount; ++i) {
      RequestLoad &load = loads[tiles[pieces[i].tile].rows.request];
      load.cost += double(pieces[i].cost) * counts.copies;
      load.longest = std::max(load.longest, double(pieces[i].cost));
    }
    sectionCount = cutSections(loads, p.batch, p.kvHeads, o.l2Bytes, o.workers,
                               keys, order, sections);
    summary.sections = uint32_t(sectionCount);
    for (int32_t s = sectionCount - 1; s >= 0; --s)
      for (int32_t rank = sections[s].rank0; rank < sections[s].rank1; ++rank)
        firsts[order[rank]] = s;
  }

  /// The section whose list of pieces holds this one.  Where one head stands for
  /// all, the sections of a request have one list.
  int32_t listOf(const Piece &piece) const {
    if (sectionCount == 1)
      return 0;
    const TileRows &rows = tiles[piece.tile].rows;
    int32_t s = firsts[rows.request];
    if (counts.copies == 1)
      for (int32_t kvHead = rows.head0 / (p.heads / p.kvHeads);
           kvHead >= sections[s].head1;)
        ++s;
    return s;
  }

  /// Section by section; longest first, then in order of making.
  void sortPieces() {
    int32_t next[kMaxSections] = {};
    for (int32_t i = 0; i < pieceCount; ++i)
      ++next[listOf(pieces[i])];
    int32_t end = 0;
    for (int32_t s = 0; s < sectionCount; ++s) {
      int32_t size = next[s];
      next[s] = end;
      end += size;
      listEnds[s] = end;
    }
    for (int32_t i = 0; i < pieceCount; ++i) {
      keys[next[listOf(pieces[i])]++] = sortKey(pieces[i].cost, uint32_t(i));
    }
    for (int32_t s = 0; s < sectionCount; ++s)
      sortKeys(keys + (s ? listEnds[s - 1] : 0), keys + listEnds[s], spare);
  }

  /// Equal pieces of a section's list, for the heads [copy0, copy1).
  struct Run {
    int32_t section;
    int32_t begin, end, listEnd; ///< in `keys`
    int32_t copy0, copy1;
    int32_t size() const { return end - begin; }
    int32_t copies() const { return copy1 - copy0; }
    int64_t items() const { return int64_t(size()) * copies(); }
    int32_t copyOf(int64_t i) const { return copy0 + int32_t(i / size()); }
    int32_t keyOf(int64_t i) const { return begin + int32_t(i % size()); }
  };

  /// Empty, in front of the section's list.
  Run listOf(int32_t section) const {
    const Section &s = sections[section];
    bool own = counts.copies == 1;
    // Sections of one request share the list of the first.
    int32_t list = section;
    if (!own && s.rank0 < s.rank1)
      list = firsts[order[s.rank0]];
    int32_t begin = list ? listEnds[list - 1] : 0;
    return {section,
            begin,
            begin,
            listEnds[list],
            own ? 0 : s.head0 * headsOfKv(),
            own ? 1 : s.head1 * headsOfKv()};
  }

  /// Empty behind the last one of all sections.
  Run runBehind(Run run) const {
    while (run.end == run.listEnd && run.section + 1 < sectionCount)
      run = listOf(run.section + 1);
    run.begin = run.end;
    while (run.end < run.listEnd &&
           keys[run.end] >> 32 == keys[run.begin] >> 32)
      ++run.end;
    return run;
  }
  Run firstRun() const { return runBehind(listOf(0)); }

  int32_t pieceAt(int32_t key) const { return int32_t(uint32_t(keys[key])); }

  double launchCost() const { return mergeTotal ? 0 : double(p.split.launch); }

  /// Workers that take items as they become free end at most so long after an even
  /// share.
  double mostToSave() const {
    double most = 0, behind = 0;
    for (int32_t s = sectionCount - 1; s >= 0; --s) {
      Run list = listOf(s);
      for (int32_t i = list.listEnd - 1; i >= list.begin; --i) {
        double cost = pieces[pieceAt(i)].cost;
        most = std::max(most, cost - behind / o.workers);
        behind += cost * list.copies();
        if (behind >= summary.longestCost * o.workers)
          return most;
      }
    }
    return most;
  }

  /// What lies behind the first `given` items of a run.
  struct Wave {
    Run run;
    int64_t given;
    int32_t left;
    double begin; ///< when the first worker is free for it
    double whole; ///< when the last one ends if all stay whole
  };

  int64_t allItems() const { return int64_t(pieceCount) * counts.copies; }

  /// Costs are floats, so their sums are not exact.
  double evenShare() const { return allCost / o.workers * (1 + 1e-6); }

  /// Replays the list up to the first item that would end after an even share.  False
  /// if it is no use to cut what is left.
  bool findWave(Levels &loads, Wave &wave) const;

  /// Replays the turns up to the last round.
  bool findRound(Turns &turns, Wave &wave, int32_t steps) const;

  /// Cuts the last wave and keeps the splits if they pay.
  void cutLastWave();

  /// When the workers end if what lies behind the first `given` items of a run stays
  /// whole.
  double endOfWave(Run run, int64_t given, const Levels &loads) const;

  /// That, to be cut.  False if a part of it is a split already.
  bool collectWave(Run run, int64_t given);

  /// From blocks to keys and from the tile's mean cost to that of the split; splits
  /// that see nothing are dropped.
  void settleWave(int32_t made);

  /// By when they begin, for workers that take them as they become free.  Returns when
  /// the last one ends.
  double listByTime();

  /// One of each worker, then the second ones, for workers that take every W-th.  The
  /// first of those go to workers that have none yet, the others to the first.
  double listByTurn(double *loads);

  int32_t requestOf(const Run &run) const {
    return tiles[pieces[pieceAt(run.begin)].tile].rows.request;
  }

  /// Of `enough` workers, those that together take all that DRAM gives if no other
  /// item reads the keys of the wave's longest.
  double waveEnough(int32_t r, double enough) const;

  void emit();

  /// Pieces of one cost come head by head: items that run at the same time then
  /// read the same keys, and nothing is lost in balance.
  attn_work_item *emitRun(const Run &run, attn_work_item *next) const;

  /// Lists the rounds from their ends that Turns counts so.
  void turnRounds(attn_work_item *items) const;

  /// The splits of the last wave in the order of its schedule, and their merges.
  attn_work_item *emitWave(attn_work_item *next, uint32_t &mergeCount,
                           uint32_t &slotCount) const;

  /// Which blocks of the piece, counted from its begin, lie in the tile's whole ones.
  uint32_t bodyOf(const Tile &tile, const Piece &piece) const;

  /// The items of a piece for the heads [copy0, copy1).
  attn_work_item *emitPiece(int32_t index, int32_t copy0, int32_t copy1,
                            attn_work_item *next) const;

  int32_t headOf(const Tile &tile, int32_t copy) const {
    return tile.rows.head0 / p.pack + copy;
  }

  const Problem &p;
  const Options &o;
  const Counts &counts;
  Summary &summary;
  Error &error;
  char *plan;
  PlanLayout layout;
  Tile *tiles;
  Piece *pieces;
  uint64_t *keys;
  uint64_t *spare; ///< behind them, as many
  RequestLoad *loads;
  int32_t *order;  ///< of the requests, by their longest item
  int32_t *firsts; ///< first section of each request
  Level *levels;   ///< two a worker
  WaveItem *waveItems;
  WaveTile *waveTiles;
  WavePiece *wavePieces;
  WaveCut *waveCuts;
  int32_t tileCount = 0;
  int32_t pieceCount = 0;
  uint32_t mergeTotal = 0, slotTotal = 0; ///< of splits for balance
  int32_t waveItemCount = 0;              ///< 0: the last wave is as it was
  int32_t waveCutCount = 0;
  double waveLongest = 0;
  double allCost = 0;     ///< of the pieces, over all heads
  double sharedBytes = 0; ///< of the loads
  int32_t sectionCount = 1;
  Section sections[kMaxSections];
  int32_t listEnds[kMaxSections]; ///< of each section's pieces, in `keys`
};

} // namespace attn::plan

#endif // ATTN_LIB_PLAN_BUILDER_H
