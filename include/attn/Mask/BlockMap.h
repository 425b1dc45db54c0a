//===- BlockMap.h - which blocks are skipped, full or partial ---*- C++ -*-===//
//
// Blocks of one row of blocks, derived from the mask by bisection:
//
//   causal, rows q in [128, 191], 256 keys in blocks of 64
//   ->  [0, 2) full, [2, 3) partial, [3, 4) skip
//
// A null mask is the constant true.  Keys at and after kvEnd are not part of
// the problem; a block that kvEnd cuts is never full.
//
// Invariant: Skip means that no pair of the block is visible, Full that all
// are and that the block has tileK keys; everything else is Partial.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_MASK_BLOCKMAP_H
#define ATTN_MASK_BLOCKMAP_H

#include "attn/Mask/Interval.h"

#include <vector>

namespace attn::mask {

enum class BlockClass : uint8_t { Skip, Partial, Full };
const char *nameOf(BlockClass c); // "skip", "partial", "full"

/// Blocks [first, end) of one class.
struct BlockRange {
  int32_t first;
  int32_t end;
  BlockClass kind;
};

/// Keys [begin, end); begin == end if there is none.
struct KeyRange {
  int32_t begin;
  int32_t end;
};

constexpr unsigned defaultBudget = 128;

/// Class of one rectangle; an empty one is skipped.
BlockClass classify(const HookProgram *mask, const Rect &rect,
                    const Bindings &bindings);

/// Classes of the blocks that cover keys [kvBegin, kvEnd), block j starting at
/// key kvBegin + j * tileK.  `rows` gives b, h, q and the lengths; its k0 and
/// k1 are ignored.  The list covers all blocks in order, neighbours differ.  At
/// most `budget` evaluations; what is then undecided is partial.  `out` is
/// cleared and reused.  Returns the evaluations used.
unsigned rangesOfRow(const HookProgram *mask, const Rect &rows,
                     const Bindings &bindings, int32_t kvBegin, int32_t kvEnd,
                     int32_t tileK, std::vector<BlockRange> &out,
                     unsigned budget = defaultBudget);

/// The smallest range found within the budget such that no key of
/// [kvBegin, kvEnd) outside it is visible from `rows`.
KeyRange visibleHull(const HookProgram *mask, const Rect &rows,
                     const Bindings &bindings, int32_t kvBegin, int32_t kvEnd,
                     unsigned budget = defaultBudget);

/// Keys of the blocks that are not skipped: what a tile has to work through.
int64_t countVisibleKeys(const std::vector<BlockRange> &ranges, int32_t kvBegin,
                         int32_t kvEnd, int32_t tileK);

} // namespace attn::mask

#endif // ATTN_MASK_BLOCKMAP_H
