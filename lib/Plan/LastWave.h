//===- LastWave.h - the items of the last wave, cut -------------*- C++ -*-===//
//
// Workers take the items of a plan in order.  Where the last of them begin late
// and are long, some workers end an item later than the others:
//
//   5 items of 8 blocks, 2 workers                        ends at 24, work for 20
//     worker 0   item 0  | item 2  | item 4
//     worker 1   item 1  | item 3  |
//   the last cut at its fourth block                      ends at 20
//     worker 0   item 0  | item 2  | 4, blocks 0..3
//     worker 1   item 1  | item 3  | 4, blocks 4..7
//
// Levels replays the order, many equal items at a time.  What would end after an
// even share is the last wave.  It is poured over the workers, least loaded first,
// each filled to one common end: a worker has the rest of one tile and the begin
// of the next, so that a wave of R tiles on W workers becomes at most R + W pieces
// however R and W divide.  Where pieces are coarse, the same number of each tile ends
// earlier.
//
// Order: pieces are listed by when they begin in that schedule, equal ones by when
// they end.  Workers that take them as they become free begin each no later than
// it says: when piece k is due, only those of the first k - 1 that the schedule
// still has running can be busy.  Turns.h says what
// workers do that take every W-th item.
//
// Invariant: the pieces of a tile follow each other from its first block to its
// last, none shorter than `least` blocks unless the tile is.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_PLAN_LASTWAVE_H
#define ATTN_LIB_PLAN_LASTWAVE_H

#include <algorithm>
#include <cstdint>

namespace attn::plan {

struct Level {
  double load;
  int32_t workers;
};

/// How far the workers are: groups of equal loads, least loaded first.
class Levels {
public:
  /// `memory` has room for a level a worker.
  Levels(Level *memory, int32_t workers) : level(memory), workers(workers) {
    level[0] = {0, workers};
  }
  /// A copy in other memory.
  Levels(Level *memory, const Levels &other);

  /// Each of `items` items of one cost goes to the least loaded worker, while it
  /// ends by `limit`.  Returns how many did.  `steps` counts down; at 0 nothing
  /// more is given.
  int64_t give(double cost, int64_t items, double limit, int32_t &steps);

  double least() const { return level[0].load; }
  double most() const { return level[count - 1].load; }
  const Level *begin() const { return level; }
  const Level *end() const { return level + count; }

private:
  void add(double load, int32_t workers);
  void drop(int32_t n);

  Level *level;
  int32_t workers;
  int32_t count = 1;
};

/// A tile of the last wave.
struct WaveTile {
  int32_t blocks;
  double start;     ///< of each of its pieces
  double blockCost; ///< of a block of keys
};

struct WavePiece {
  int32_t tile;
  int32_t first, end; ///< blocks
  int32_t worker;     ///< counted from the least loaded
  double begin, done; ///< in the schedule
};

/// How tiles may be cut.
struct WaveLimits {
  int32_t least;     ///< blocks of a piece
  int32_t maxSplits; ///< of a tile
  double merge; ///< what a split adds to the time after the last piece: one
                ///< worker merges all of a tile's
};

/// Who shares what.
struct PourShares {
  int32_t active; ///< workers that are worth a piece
  double work;    ///< of all pieces together, about
};

PourShares sharesOf(const WaveTile *tiles, int32_t count,
                    const WaveLimits &limits, int32_t workers);

/// How many of the `rest` blocks of a tile come next, given how many fit: the
/// nearest number that leaves no piece shorter than `least`.
int32_t nextBlocks(double fit, int32_t rest, int32_t least);

/// Each tile in as many pieces as others, one for a worker: `begin(w)` is when the w-th
/// is free.  Returns how many.  Better than filling workers to one end where pieces
/// are as coarse as shares.
template <class Begin>
int32_t cutEvenly(const WaveTile *tiles, int32_t count,
                  const WaveLimits &limits, int32_t active, Begin begin,
                  WavePiece *pieces) {
  int32_t made = 0;
  for (int32_t t = 0; t < count; ++t) {
    const WaveTile &tile = tiles[t];
    int64_t n = active / count + (t < active % count);
    n = std::min<int64_t>(
        n, std::min(limits.maxSplits, std::max(tile.blocks / limits.least, 1)));
    for (int64_t i = 0; i < n; ++i) {
      auto first = int32_t(tile.blocks * i / n);
      auto end = int32_t(tile.blocks * (i + 1) / n);
      double at = begin(made);
      pieces[made] = {t,   first,
                      end, made,
                      at,  at + tile.start + (end - first) * tile.blockCost};
      ++made;
    }
  }
  return made;
}

/// When the last one ends.
double endOf(const WavePiece *pieces, int32_t count);

/// Cuts `tiles` for the workers of `levels`; at most tiles + workers pieces, worker
/// by worker, each tile's in order.  Returns how many.
int32_t pourWave(const Levels &levels, const WaveTile *tiles, int32_t count,
                 const WaveLimits &limits, WavePiece *pieces);

} // namespace attn::plan

#endif // ATTN_LIB_PLAN_LASTWAVE_H
