//===- Planner.cpp - from request lengths to work lists -------------------===//
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
// Last wave (LastWave.h): whole items that would end long after an even share are
// cut so that all workers end together, if that saves more than the splits cost.
// What it can save at most is read off the end of the list: an item j ends after
// the share by no more than its cost less 1 / workers of what comes behind it.
// That is next to nothing where the list ends with many short items.  Workers that
// take every W-th item may end later: their turns are replayed as they are, and
// listed so that long and short items alternate (Turns.h).
//
//===----------------------------------------------------------------------===//
#include "Capacity.h"
#include "Turns.h"

#include "attn/ABI/Version.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace attn::plan {
namespace {

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
    if (!(o.splitKeys ? cutForced() : cutForBalance()))
      return false;
    chooseSections();
    sortPieces();
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

  bool cutForBalance() {
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
    return true;
  }

  /// Entries of a plan that share one KV head.
  int32_t headsOfKv() const { return p.heads / p.pack / p.kvHeads; }

  void chooseSections() {
    // Decode reads nothing twice: one section, whatever its items cost.
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
  bool findWave(Levels &loads, Wave &wave) const {
    int64_t left = allItems(), given = 0;
    int32_t steps = kMaxSteps;
    Run run = firstRun();
    for (; run.size() > 0; run = runBehind(run)) {
      double cost = pieces[pieceAt(run.begin)].cost;
      given = loads.give(cost, run.items(), evenShare(), steps);
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

  /// Replays the turns up to the last round.
  bool findRound(Turns &turns, Wave &wave) const {
    int64_t left = lastRound(allItems(), o.workers);
    int64_t head = allItems() - left, given = 0;
    int32_t steps = kMaxSteps;
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
        wave.whole = std::max(wave.whole,
                              loads[worker] + pieces[pieceAt(run.begin)].cost);
    return true;
  }

  /// Cuts the last wave and keeps the splits if they pay.
  void cutLastWave() {
    Levels loads(levels, o.workers);
    Turns turns(reinterpret_cast<double *>(levels + o.workers), o.workers);
    Wave wave;
    if (!(o.inTurn ? findRound(turns, wave) : findWave(loads, wave)))
      return;
    // Cut, it takes as long as `enough` workers would for all its work.
    double enough = o.enough ? o.enough : o.workers;
    double stretch = o.workers / waveEnough(wave.run, enough);
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
    int32_t most = 0;
    for (int32_t i = 0; i < left; ++i)
      if (waveItems[i].splits > 1) {
        more.merges += 1;
        more.slots += waveItems[i].splits;
        most = std::max(most, waveItems[i].splits);
      }
    double merging = merge * std::max(double(most), more.slots / enough);
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

  /// When the workers end if what lies behind the first `given` items of a run stays
  /// whole.
  double endOfWave(Run run, int64_t given, const Levels &loads) const {
    Levels rest(levels + o.workers, loads);
    int32_t steps = INT32_MAX;
    for (; run.size() > 0; run = runBehind(run), given = 0)
      rest.give(pieces[pieceAt(run.begin)].cost, run.items() - given, HUGE_VAL,
                steps);
    return rest.most();
  }

  /// That, to be cut.  False if a part of it is a split already.
  bool collectWave(Run run, int64_t given) {
    int32_t count = 0;
    for (; run.size() > 0; run = runBehind(run), given = 0) {
      for (int64_t i = given; i < run.items(); ++i) {
        WaveItem item = {pieceAt(run.keyOf(i)), run.copyOf(i), 0, 0};
        const Tile &tile = tiles[pieces[item.piece].tile];
        if (tile.pieces > 1)
          return false;
        auto blocks = int32_t(ceilDiv(int64_t(tile.end) - tile.begin, p.tileK));
        double cost = double(p.costKv) * double(tile.visible);
        waveTiles[count] = {
            blocks, rowCost(tile.rowCount) + p.split.row * tile.rowCount,
            blocks ? cost / blocks : 0};
        waveItems[count++] = item;
      }
    }
    return true;
  }

  /// From blocks to keys and from the tile's mean cost to that of the split; splits
  /// that see nothing are dropped.
  void settleWave(int32_t made) {
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

  /// By when they begin, for workers that take them as they become free.  Returns when
  /// the last one ends.
  double listByTime() {
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

  /// One of each worker, then the second ones, for workers that take every W-th.  The
  /// first of those go to workers that have none yet, the others to the first.
  double listByTurn(double *loads) {
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

  /// Of `enough` workers, those that together take all that DRAM gives if no other
  /// item reads the keys of the wave's longest.
  double waveEnough(const Run &run, double enough) const {
    int32_t r = tiles[pieces[pieceAt(run.begin)].tile].rows.request;
    if (tilesOf(p, r) * headsOfKv() > 1)
      return enough;
    double bytes = p.keyBytes / std::max(double(p.costKv), 1e-30); // a unit
    return std::max(1.0, enough * std::min(1.0, p.split.dram / bytes));
  }

  void emit() {
    auto *header = reinterpret_cast<attn_plan_header *>(plan);
    auto *items = reinterpret_cast<attn_work_item *>(plan + layout.items);
    auto *merges = reinterpret_cast<attn_merge_item *>(plan + layout.merges);
    auto *requests =
        reinterpret_cast<attn_request_record *>(plan + layout.requests);
    uint32_t mergeCount = 0, slotCount = 0;

    for (int32_t t = 0; t < tileCount; ++t) {
      Tile &tile = tiles[t];
      if (tile.pieces < 2)
        continue;
      tile.firstSlot = slotCount;
      for (int32_t copy = 0; copy < counts.copies; ++copy) {
        merges[mergeCount++] = {
            tile.rows.request,  headOf(tile, copy), tile.row0, tile.rowCount,
            int32_t(slotCount), tile.pieces,        {0, 0}};
        slotCount += tile.pieces;
      }
    }
    attn_work_item *next = items;
    for (Run run = firstRun(); run.size() > 0; run = runBehind(run))
      next = emitRun(run, next);
    if (o.inTurn)
      turnRounds(items);
    // The last wave replaces the items that it is made of.
    if (waveItemCount > 0)
      next = emitWave(next - waveItemCount, mergeCount, slotCount);
    uint32_t itemCount = uint32_t(next - items);
    for (int32_t r = 0; r < p.batch; ++r)
      requests[r] = {p.qBegins ? p.qBegins[r] : 0, p.qLens[r],
                     p.kvBegins ? p.kvBegins[r] : 0, p.kvLens[r]};

    const Capacity &c = counts.capacity;
    *header = {};
    header->abi = ATTN_ABI_VERSION;
    header->items = itemCount;
    header->merges = mergeCount;
    header->requests = uint32_t(p.batch);
    header->item_capacity = c.items;
    header->merge_capacity = c.merges;
    header->request_capacity = c.requests;
    header->slots = slotCount;
    header->items_offset = uint32_t(layout.items);
    header->merges_offset = uint32_t(layout.merges);
    header->requests_offset = uint32_t(layout.requests);
    header->bytes = uint32_t(layout.bytes);
    // Records beyond the counts are inert: zero rows.
    std::fill(items + itemCount, items + c.items, attn_work_item{});
    std::fill(merges + mergeCount, merges + c.merges, attn_merge_item{});
    summary.items = itemCount;
    summary.merges = mergeCount;
    summary.slots = slotCount;
  }

  /// Pieces of one cost come head by head: items that run at the same time then
  /// read the same keys, and nothing is lost in balance.
  attn_work_item *emitRun(const Run &run, attn_work_item *next) const {
    // As many heads at once as follow each other for one piece.
    int32_t together = run.size() == 1 ? run.copies() : 1;
    for (int32_t copy = run.copy0; copy < run.copy1; copy += together)
      for (int32_t i = run.begin; i < run.end; ++i)
        next = emitPiece(pieceAt(i), copy, copy + together, next);
    return next;
  }

  /// Lists the rounds from their ends that Turns counts so.
  void turnRounds(attn_work_item *items) const {
    int64_t head = allItems() - lastRound(allItems(), o.workers);
    Rounds rounds(o.workers);
    for (Run run = firstRun(); head > 0; run = runBehind(run)) {
      int64_t n = std::min(run.items(), head);
      head -= n;
      rounds.pass(
          n, [&](int64_t whole) { items += whole * o.workers; },
          [&](int32_t begin, int32_t end) {
            items += end - begin;
            if (rounds.endsTurned())
              std::reverse(items - o.workers, items);
          });
    }
  }

  /// The splits of the last wave in the order of its schedule, and their merges.
  attn_work_item *emitWave(attn_work_item *next, uint32_t &mergeCount,
                           uint32_t &slotCount) const {
    auto *merges = reinterpret_cast<attn_merge_item *>(plan + layout.merges);
    for (int32_t i = 0; i < waveItemCount; ++i) {
      WaveItem &item = waveItems[i];
      item.firstSlot = slotCount;
      if (item.splits < 2)
        continue;
      const Tile &tile = tiles[pieces[item.piece].tile];
      merges[mergeCount++] = {tile.rows.request,
                              headOf(tile, item.copy),
                              tile.row0,
                              tile.rowCount,
                              int32_t(slotCount),
                              item.splits,
                              {0, 0}};
      slotCount += item.splits;
    }
    for (int32_t i = 0; i < waveCutCount; ++i) {
      const WaveCut &cut = waveCuts[i];
      const WaveItem &item = waveItems[cut.item];
      Piece piece = pieces[item.piece];
      piece.begin = cut.begin;
      piece.end = cut.end;
      const Tile &tile = tiles[piece.tile];
      *next++ = {tile.rows.request,
                 headOf(tile, item.copy),
                 tile.row0,
                 tile.rowCount,
                 piece.begin,
                 piece.end,
                 item.splits < 2 ? -1 : int32_t(item.firstSlot + cut.split),
                 ATTN_ITEM_FLAGS(bodyOf(tile, piece), cut.split, item.splits)};
    }
    return next;
  }

  /// Which blocks of the piece, counted from its begin, lie in the tile's whole ones.
  uint32_t bodyOf(const Tile &tile, const Piece &piece) const {
    int64_t low = std::max(tile.whole0, piece.begin) - int64_t(piece.begin);
    int64_t high = std::min(tile.whole1, piece.end) - int64_t(piece.begin);
    if (low >= high)
      return 0;
    int64_t first = ceilDiv(low, p.tileK);
    int64_t last =
        ceilDiv(int64_t(piece.end) - piece.begin, p.tileK) - high / p.tileK;
    bool any = first * p.tileK < high / p.tileK * p.tileK;
    return any && first < ATTN_ITEM_EDGE && last < ATTN_ITEM_EDGE
               ? ATTN_ITEM_WHOLE(first, last)
               : 0;
  }

  /// The items of a piece for the heads [copy0, copy1).
  attn_work_item *emitPiece(int32_t index, int32_t copy0, int32_t copy1,
                            attn_work_item *next) const {
    const Piece &piece = pieces[index];
    const Tile &tile = tiles[piece.tile];
    int32_t split = index - tile.firstPiece;
    bool whole = tile.pieces < 2;
    attn_work_item item = {
        tile.rows.request,
        headOf(tile, copy0),
        tile.row0,
        tile.rowCount,
        piece.begin,
        piece.end,
        whole ? -1 : int32_t(tile.firstSlot + copy0 * tile.pieces + split),
        ATTN_ITEM_FLAGS(bodyOf(tile, piece), split, tile.pieces)};
    // Most of a plan is written here: a division a record is a tenth of its time.
    int32_t slots = whole ? 0 : tile.pieces;
    for (int32_t copy = copy0; copy < copy1; ++copy) {
      *next++ = item;
      ++item.head;
      item.slot += slots;
    }
    return next;
  }

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

} // namespace

bool build(const Problem &problem, const Options &options, void *plan,
           uint64_t planBytes, void *scratch, uint64_t scratchBytes,
           Summary &summary, Error &error) {
  summary = {};
  Counts counts;
  if (!count(problem, options, counts, error))
    return false;
  if (planBytes < counts.capacity.planBytes)
    return fail(error, "plan needs %lu bytes but the buffer has %lu",
                counts.capacity.planBytes, planBytes);
  if (scratchBytes < counts.capacity.scratchBytes)
    return fail(error, "planning needs %lu bytes but the scratch has %lu",
                counts.capacity.scratchBytes, scratchBytes);
  Builder builder(problem, options, counts, static_cast<char *>(plan),
                  static_cast<char *>(scratch), summary, error);
  return builder.run();
}

} // namespace attn::plan
