//===- Swizzle.h - addresses in swizzled shared memory ----------*- C++ -*-===//
//
// A shared tile of rows x cols elements is cut into panels of `swizzle` bytes a
// row and stored [panel][row][swizzle bytes]; inside a panel the 16-byte chunk
// index is XORed with bits of the row.  It is the function that TMA and the
// tensor cores apply to address bits, so the tile's base must be aligned to 8
// rows of a panel (1024 bytes for 128).
//
//   128: chunk ^= row & 7        64: chunk ^= (row >> 1) & 3
//    32: chunk ^= (row >> 2) & 1  0: one panel, plain row-major
//
// Rows need not fill their last panel: 80 columns of 16 bits lie in three panels
// of 64 bytes, of which the last holds 16 columns and room for 16 more that no
// product reads.  A copy of whole panels may write there.
//
// Invariant: byteOffset is injective on rows x storedCols(), onto [0, bytes()),
// and a 16-byte chunk of a row stays together.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LAYOUT_SWIZZLE_H
#define ATTN_LAYOUT_SWIZZLE_H

#include "attn/Layout/Atom.h"

#include <cstdint>
#include <optional>
#include <string>

namespace attn::layout {

class Swizzle {
public:
  /// swizzle is 0, 32, 64 or 128; element size 1, 2 or 4 bytes; a row must be a
  /// multiple of 16 bytes.
  static std::optional<Swizzle> make(unsigned rows, unsigned cols,
                                     unsigned elementBytes, unsigned swizzle,
                                     std::string &error);

  /// Of 128 and 64, the one that leaves less of its last panel empty for rows of
  /// this many bytes, and so the wider one if none does.  A copy engine takes a
  /// row of a panel at a time, which is why there is nothing narrower.
  static unsigned tightest(unsigned rowBytes);

  unsigned getRows() const { return rows; }
  unsigned getCols() const { return cols; }
  unsigned getElementBytes() const { return elementBytes; }
  unsigned getSwizzle() const { return swizzle; }
  unsigned panelCols() const { return rowPitch / elementBytes; }
  unsigned panels() const { return (cols + panelCols() - 1) / panelCols(); }
  /// Columns that there is room for.
  unsigned storedCols() const { return panels() * panelCols(); }
  /// From one row of a panel to the next.
  unsigned rowPitchBytes() const { return rowPitch; }
  unsigned panelBytes() const { return rows * rowPitch; }
  unsigned bytes() const { return panels() * panelBytes(); }
  /// What the base of the tile must be aligned to.
  unsigned alignment() const { return swizzle ? 8 * swizzle : 16; }

  unsigned byteOffset(unsigned row, unsigned col) const;
  unsigned byteOffset(Coord c) const { return byteOffset(c.row, c.col); }
  /// The element that holds the byte at `offset`.
  Coord coordOf(unsigned offset) const;

  /// For generated code: inside a panel the swizzled offset is
  /// linear ^ (((row >> xorRowShift()) & xorRowMask()) << 4) with linear =
  /// row * rowPitchBytes() + col-in-panel * elementBytes.
  unsigned xorRowShift() const;
  unsigned xorRowMask() const { return swizzle ? swizzle / 16 - 1 : 0; }

private:
  Swizzle() = default;
  unsigned rows = 0, cols = 0, elementBytes = 0, swizzle = 0, rowPitch = 0;
};

} // namespace attn::layout

#endif // ATTN_LAYOUT_SWIZZLE_H
