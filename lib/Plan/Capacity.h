//===- Capacity.h - what a plan takes, before it is made --------*- C++ -*-===//
//
// Checks a problem and counts: items, splits and merges that any mask may lead to,
// the plan's layout and that of the planner's scratch.
//
// Invariant: nothing overflows, whatever the numbers of the problem are.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_PLAN_CAPACITY_H
#define ATTN_LIB_PLAN_CAPACITY_H

#include "LastWave.h"
#include "Sections.h"
#include "attn/Plan/Planner.h"
#include "attn/Plan/Price.h"

#include <algorithm>

namespace attn::plan {

/// A split below this many tiles of keys costs more than it saves.
constexpr int64_t kMinSplitTiles = 4;

struct Tile {
  TileRows rows;
  int32_t row0, rowCount;
  int32_t begin, end;     ///< hull, tile-aligned outward, within [0, kvLen)
  int64_t visible;        ///< keys for the cost
  int32_t whole0, whole1; ///< keys that every row sees, in whole blocks
  int32_t firstPiece;
  int32_t pieces;
  uint32_t firstSlot; ///< of the first head
};

struct Piece {
  int32_t tile;
  int32_t begin, end;
  float cost;
};

/// An item of the last wave, and the tile's place in the pour.
struct WaveItem {
  int32_t piece, copy;
  int32_t splits; ///< once cut
  uint32_t firstSlot;
};

/// One of its splits, or all of it.
struct WaveCut {
  int32_t item;
  int32_t begin, end, split;
  int32_t worker, turn; ///< its turn of the wave
  double cost;          ///< with the partial
  double at, done;      ///< in the schedule
};

/// What the last wave takes of the scratch, a worker (see Builder::cutLastWave).
constexpr uint64_t kWaveBytes = 2 * sizeof(Level) + sizeof(WaveItem) +
                                sizeof(WaveTile) + 2 * sizeof(WavePiece) +
                                2 * sizeof(WaveCut);
/// More than any device has; what is kept for a worker stays small.
constexpr int32_t kMaxWaveWorkers = 4096;

/// False, with the text in `error`.
bool fail(Error &error, const char *format, ...);

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

inline int64_t maxSplitsOf(const Options &o) {
  return o.maxSplits ? o.maxSplits : ATTN_MAX_SPLITS;
}

/// For what check() has bounded: a quarter of the time of a division of 64 bits, of
/// which a batch of small requests is full.
inline uint32_t ceilDiv32(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

inline int32_t rowsOfTile(const Problem &p) {
  return rowsOfTile(p.tileQ, p.pack);
}

inline int64_t tilesOf(const Problem &p, int32_t r) {
  return ceilDiv32(uint32_t(p.qLens[r] * p.pack), uint32_t(rowsOfTile(p)));
}

/// Offsets of the arrays in the plan and in the scratch buffer.
struct PlanLayout {
  uint64_t items, merges, requests, bytes;
  PlanLayout(uint64_t itemCount, uint64_t mergeCount, uint64_t requestCount) {
    items = sizeof(attn_plan_header);
    merges = items + itemCount * sizeof(attn_work_item);
    requests = merges + mergeCount * sizeof(attn_merge_item);
    bytes = requests + requestCount * sizeof(attn_request_record);
  }
};

struct ScratchLayout {
  uint64_t tiles, pieces, keys, spare, loads, order, firsts, wave, bytes;
  ScratchLayout(uint64_t tileCount, uint64_t pieceCount, uint64_t requests,
                uint64_t waveWorkers) {
    tiles = 0;
    pieces = roundUp(tileCount * sizeof(Tile), 16);
    keys = pieces + roundUp(pieceCount * sizeof(Piece), 16);
    // Both sort requests too, which may be more.
    uint64_t keyCount = std::max(pieceCount, requests);
    spare = keys + keyCount * sizeof(uint64_t);
    loads = spare + roundUp(keyCount * sizeof(uint64_t), 16);
    order = loads + roundUp(requests * sizeof(RequestLoad), 16);
    firsts = order + roundUp(requests * sizeof(int32_t), 16);
    wave = firsts + roundUp(requests * sizeof(int32_t), 16);
    bytes = wave + waveWorkers * kWaveBytes;
  }
};

/// Capacities and how many entries the scratch arrays hold.
struct Counts {
  Capacity capacity;
  int64_t tiles = 0;       ///< entries of the tile array
  int64_t pieces = 0;      ///< entries of the piece array
  int32_t copies = 1;      ///< heads that one tile entry stands for
  int32_t waveWorkers = 0; ///< 0: the last wave is left as it is
};

bool count(const Problem &p, const Options &o, Counts &counts, Error &error);

} // namespace attn::plan

#endif // ATTN_LIB_PLAN_CAPACITY_H
