//===- TableRead.h - clamped reads of host tables ---------------*- C++ -*-===//
//
// One rule for the scalar evaluator and the interval analysis: each index is
// clamped into [0, extent - 1] before the read.
//
//   table of extent 4 read at -3 -> element 0, at 9 -> element 3
//
// Invariant: an empty table, or one without host data, reads as 0.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_MASK_TABLEREAD_H
#define ATTN_LIB_MASK_TABLEREAD_H

#include "attn/Mask/HookProgram.h"

#include <cstring>

namespace attn::mask {

inline int64_t clampIndex(int64_t index, uint32_t extent) {
  int64_t last = int64_t(extent) - 1;
  return index < 0 ? 0 : index > last ? last : index;
}

/// The word at a flat element number that is in range.
inline uint32_t readWord(const void *data, attn_scalar element, int64_t at) {
  if (element == ATTN_I1)
    return static_cast<const uint8_t *>(data)[at] != 0;
  uint32_t word;
  std::memcpy(&word, static_cast<const char *>(data) + at * 4, sizeof(word));
  return word;
}

inline uint32_t readTable(const TableData &table, const TableDecl &decl,
                          const int32_t *index) {
  if (!table.data)
    return 0;
  int64_t at = 0;
  for (unsigned d = 0; d < decl.rank; ++d) {
    if (table.extent[d] == 0)
      return 0;
    at = at * table.extent[d] + clampIndex(index[d], table.extent[d]);
  }
  return readWord(table.data, decl.element, at);
}

} // namespace attn::mask

#endif // ATTN_LIB_MASK_TABLEREAD_H
