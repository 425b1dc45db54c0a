//===- KeyGroups.h - warps that share out the keys of a block ---*- C++ -*-===//
//
// A warp multiplies 16 rows at a time.  Where a tile has fewer rows than the warps
// hold together, the warps form groups that have all rows each and take turns in
// the columns of S, the keys of a block:
//
//   64 rows, 4 warps   1 group     warp w: rows 16 w .., all keys
//   32 rows, 4 warps   2 groups    warps 0 and 1 the first half of the keys
//   16 rows, 4 warps   4 groups    warp w: all rows, the w-th quarter of the keys
//
// Invariant: everything that speaks of groups along the keys counts here.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LAYOUT_KEYGROUPS_H
#define ATTN_LAYOUT_KEYGROUPS_H

namespace attn::layout {

/// Rows of a warp, and the least number of keys that it multiplies.
constexpr unsigned productRows = 16;
constexpr unsigned leastKeys = 16;

/// Groups of a tile's warps; 0 if the rows go to no number of groups.
constexpr unsigned keyGroups(unsigned rows, unsigned warps) {
  if (warps == 0 || rows == 0 || rows % productRows != 0)
    return 0;
  unsigned units = rows / productRows;
  if (units % warps == 0)
    return 1;
  return warps % units == 0 ? warps / units : 0;
}

} // namespace attn::layout

#endif // ATTN_LAYOUT_KEYGROUPS_H
