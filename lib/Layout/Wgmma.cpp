//===- Wgmma.cpp - how wgmma finds an operand in shared memory ------------===//

#include "attn/Layout/Wgmma.h"

#include <cassert>

using namespace attn::layout;

std::optional<WgmmaOperand>
WgmmaOperand::make(const Swizzle &tile, WgmmaMajor major, std::string &error) {
  // Without a swizzle the tile would have to lie in pieces of 8 rows by 16
  // bytes, not in rows.
  if (tile.getSwizzle() == 0) {
    error = "wgmma reads tiles with a swizzle of 32, 64 or 128 bytes but this "
            "one has 0";
    return std::nullopt;
  }
  if (tile.getElementBytes() != 2) {
    error = "wgmma reads elements of 2 bytes but these have " +
            std::to_string(tile.getElementBytes());
    return std::nullopt;
  }
  if (tile.getRows() % 8 != 0) {
    error = "wgmma reads groups of 8 rows but the tile has " +
            std::to_string(tile.getRows());
    return std::nullopt;
  }
  unsigned k = major == WgmmaMajor::K ? tile.getCols() : tile.getRows();
  if (k % stepK != 0) {
    error = "wgmma takes " + std::to_string(stepK) +
            " steps of k at a time but the tile has " + std::to_string(k);
    return std::nullopt;
  }
  return WgmmaOperand(tile, major);
}

unsigned WgmmaOperand::steps() const {
  return (major == WgmmaMajor::K ? tile.getCols() : tile.getRows()) / stepK;
}

uint32_t WgmmaOperand::highWord() const {
  unsigned type = tile.getSwizzle() == 128  ? 1
                  : tile.getSwizzle() == 64 ? 2
                                            : 3;
  return type << 30 | strideBytes() / unitBytes;
}

uint32_t WgmmaOperand::lowBits() const {
  // K-major rows end inside the swizzle, so the leading offset is not used; 1
  // is what the manual asks for.
  unsigned leading = major == WgmmaMajor::K ? 1 : tile.panelBytes() / unitBytes;
  return leading << 16;
}

uint32_t WgmmaOperand::stepOffset(unsigned step) const {
  assert(step < steps());
  if (major == WgmmaMajor::MN)
    return step * stepK * tile.rowPitchBytes() / unitBytes;
  unsigned col = step * stepK;
  unsigned bytes = col / tile.panelCols() * tile.panelBytes() +
                   col % tile.panelCols() * tile.getElementBytes();
  return bytes / unitBytes;
}

uint32_t WgmmaOperand::rowOffset(unsigned row) const {
  assert(row % 8 == 0 && "a swizzle's period");
  return row * tile.rowPitchBytes() / unitBytes;
}
