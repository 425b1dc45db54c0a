//===- Planner.h - from request lengths to work lists -----------*- C++ -*-===//
//
// One tile of packed rows times one slice of keys is an item.  The planner
// lists the items of a batch, longest first, cuts long slices into splits, and
// lists the merges of those splits.
//
// Workers that take every W-th item have them in rounds of W; each second round of
// several costs is listed shortest first (lib/Plan/Turns.h).
//
// Where the last items would leave workers without work for longer than it costs,
// they are split too (lib/Plan/LastWave.h): such a plan has whole items and, behind
// them, splits.
//
// If the tiles of a batch read more keys and values together than L2 holds, the
// list is made of sections: runs of requests, or of heads of one, whose keys and
// values fit, longest first inside.
//
//   2 requests (q 5, 1; kv 7, 300), 1 head, tile 64 x 64, splits of 128 keys
//     items    r1 [0,128) slot 0 | r1 [128,256) slot 1 | r1 [256,300) slot 2
//              r0 [0,7) slot -1
//     merges   r1 slots 0..2
//
// Invariants: every visible (row, key) pair lies in exactly one item; a tile
// with rows has an item even if it sees no key, so that its output is written;
// the slots of a tile are consecutive and in key order; the result depends on
// nothing but the input.
//
// Freestanding style: no exceptions and no allocation.  The caller asks for
// capacities, brings the buffers and reuses them.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_PLAN_PLANNER_H
#define ATTN_PLAN_PLANNER_H

#include "attn/ABI/WorkItem.h"
#include "attn/Plan/SplitCost.h"

#include <cstdint>

namespace attn::plan {

/// Tokens [token0, token1] of the heads [head0, head1] of one request.
struct TileRows {
  int32_t request;
  int32_t head0, head1;
  int32_t token0, token1;
  int32_t qLen, kvLen;
};

/// What the planner asks about a mask.  Plain function pointers, so that this
/// header needs no other library; MaskVisibility.h makes one from a hook.
/// Keys [begin, end); those of [whole0, whole1), in whole blocks from `begin`, every
/// row of the tile sees.
struct Hull {
  int32_t begin, end;
  int32_t whole0 = 0, whole1 = 0;
};

struct Visibility {
  void *context = nullptr;
  /// Narrows [begin, end) to a range that holds every key that a row of the
  /// tile may see, an empty one if there is none.  Returns about how many keys
  /// lie in blocks that the kernel visits.
  int64_t (*look)(void *context, const TileRows &rows, Hull &hull) = nullptr;
  /// False: all heads see the same, and one head's plan is replicated.
  bool readsHead = false;
};

struct Problem {
  int32_t batch = 0;
  const int32_t *qLens = nullptr;
  const int32_t *kvLens = nullptr;
  const int32_t *qBegins = nullptr;  ///< null: 0 (dense storage)
  const int32_t *kvBegins = nullptr; ///< null: 0
  int32_t heads = 1;
  int32_t kvHeads = 1;
  int32_t pack = 1; ///< 1 or heads / kvHeads
  int32_t tileQ = 64;
  int32_t tileK = 64;
  float costQ = 1.0f; ///< an item costs costQ * rows + costKv * visible keys
  float costKv = 1.0f;
  SplitCost split;      ///< for the last wave; by default its items stay whole
  int32_t keyBytes = 0; ///< of one key and its value in one KV head
  const Visibility *visibility = nullptr; ///< null: every key is visible
};

struct Options {
  int32_t workers = 1; ///< CTAs or threads that take items
  int32_t enough = 0; ///< of them, that do as much together as all, one on each
                      ///< processor; 0: all
  bool inTurn =
      false; ///< a worker takes every workers-th item; else whoever is
             ///< free takes the next
  int32_t splitKeys = 0; ///< keys of a split; 0: chosen for balance
  int32_t maxSplits = 0; ///< of a tile; 0: ATTN_MAX_SPLITS, 1: all stay whole
  uint64_t l2Bytes = 0;  ///< 0: one section.  For workers that take the items
                         ///< in order as they become free
};

/// Upper bounds that hold for these lengths and options with any mask.
struct Capacity {
  uint32_t items = 0;
  uint32_t merges = 0;
  uint32_t slots = 0;
  uint32_t requests = 0;
  uint64_t planBytes = 0;
  uint64_t scratchBytes = 0; ///< 16-byte aligned host memory for build
};

struct Summary {
  uint32_t items = 0;
  uint32_t merges = 0;
  uint32_t slots = 0;
  uint32_t splitKeys = 0; ///< longest split; 0: nothing was split
  uint32_t sections = 0;  ///< see above
  double totalCost = 0;
  double longestCost = 0;
};

struct Error {
  char text[256] = "";
};

bool capacity(const Problem &problem, const Options &options, Capacity &result,
              Error &error);

/// Writes the plan buffer of WorkItem.h.
bool build(const Problem &problem, const Options &options, void *plan,
           uint64_t planBytes, void *scratch, uint64_t scratchBytes,
           Summary &summary, Error &error);

} // namespace attn::plan

#endif // ATTN_PLAN_PLANNER_H
