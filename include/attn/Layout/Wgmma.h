//===- Wgmma.h - how wgmma finds an operand in shared memory ----*- C++ -*-===//
//
// A tile in panels (Swizzle.h) is described to wgmma by a 64-bit word: start
// address, two strides and the swizzle.  All steps of k share it but for the
// start, so generated code keeps the low half in a register, adds a constant a
// step, and never changes the high half.
//
//   K-major  (rows are m or n, columns k): Q and K of Q K^T
//   MN-major (rows are k, columns n):      V of P V
//
//   bits 0-13 start / 16 | 16-29 leading / 16 | 32-45 stride / 16 | 62-63 swizzle
//
//   K-major, 128 bytes: leading 16 (ignored), stride 1024 = 8 rows
//   MN-major, 128 bytes: leading one panel = the next 64 columns, stride 1024
//
// Invariant: the address that the hardware forms for an element of step s from
// start + stepOffset(s) is Swizzle::byteOffset of that element.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LAYOUT_WGMMA_H
#define ATTN_LAYOUT_WGMMA_H

#include "attn/Layout/Swizzle.h"

namespace attn::layout {

enum class WgmmaMajor { K, MN };

class WgmmaOperand {
public:
  /// k of one instruction with 16-bit elements.
  static constexpr unsigned stepK = 16;
  /// Address bits that a start keeps: in a cluster the number of the CTA lies
  /// above them and would land in the leading offset.
  static constexpr uint32_t addressMask = 0x3FFFF;
  /// Unit of everything in a descriptor.
  static constexpr unsigned unitBytes = 16;

  /// A tile of 16-bit elements with a swizzle of 32, 64 or 128 bytes; rows a
  /// multiple of 8, the length of k one of 16.
  static std::optional<WgmmaOperand> make(const Swizzle &tile, WgmmaMajor major,
                                          std::string &error);

  WgmmaMajor getMajor() const { return major; }
  unsigned steps() const;
  /// The high half of the descriptor.
  uint32_t highWord() const;
  /// What the low half has beside the start.
  uint32_t lowBits() const;
  /// From the start to that of step `step`, in units.
  uint32_t stepOffset(unsigned step) const;
  /// From the tile's first row to `row`, a multiple of 8, in units.
  uint32_t rowOffset(unsigned row) const;

private:
  WgmmaOperand(const Swizzle &tile, WgmmaMajor major)
      : tile(tile), major(major) {}
  /// Bytes between groups of 8 rows of a panel.
  unsigned strideBytes() const { return 8 * tile.rowPitchBytes(); }

  Swizzle tile;
  WgmmaMajor major;
};

} // namespace attn::layout

#endif // ATTN_LAYOUT_WGMMA_H
