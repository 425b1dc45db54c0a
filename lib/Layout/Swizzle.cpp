//===- Swizzle.cpp - addresses in swizzled shared memory ------------------===//

#include "attn/Layout/Swizzle.h"

#include <cassert>

using namespace attn::layout;

static constexpr unsigned chunkBytes = 16;

std::optional<Swizzle> Swizzle::make(unsigned rows, unsigned cols,
                                     unsigned elementBytes, unsigned swizzle,
                                     std::string &error) {
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) {
    error = "swizzle must be 0, 32, 64 or 128 bytes but is " +
            std::to_string(swizzle);
    return std::nullopt;
  }
  if (elementBytes != 1 && elementBytes != 2 && elementBytes != 4) {
    error = "shared tile needs elements of 1, 2 or 4 bytes but has " +
            std::to_string(elementBytes);
    return std::nullopt;
  }
  uint64_t rowBytes = static_cast<uint64_t>(cols) * elementBytes;
  if (rowBytes == 0 || rowBytes % chunkBytes != 0) {
    error = "shared tile needs rows of a multiple of " +
            std::to_string(chunkBytes) + " bytes but a row has " +
            std::to_string(rowBytes);
    return std::nullopt;
  }
  constexpr uint64_t limit = 1u << 30;
  // The first test keeps the product inside 64 bits.
  if (rows == 0 || rowBytes > limit || rowBytes * rows > limit) {
    error = "shared tile needs 1 to " + std::to_string(limit) +
            " bytes but has " + std::to_string(rows) + " rows of " +
            std::to_string(rowBytes) + " bytes";
    return std::nullopt;
  }
  Swizzle s;
  s.rows = rows;
  s.cols = cols;
  s.elementBytes = elementBytes;
  s.swizzle = swizzle;
  s.rowPitch = swizzle ? swizzle : static_cast<unsigned>(rowBytes);
  return s;
}

unsigned Swizzle::tightest(unsigned rowBytes) {
  auto empty = [&](unsigned swizzle) {
    return (swizzle - rowBytes % swizzle) % swizzle;
  };
  return empty(64) < empty(128) ? 64 : 128;
}

unsigned Swizzle::xorRowShift() const {
  // Address bits from 7 on select: a row of 128 bytes is one step of bit 7.
  switch (swizzle) {
  case 64:
    return 1;
  case 32:
    return 2;
  default:
    return 0;
  }
}

unsigned Swizzle::byteOffset(unsigned row, unsigned col) const {
  assert(row < rows && col < storedCols());
  unsigned panel = col / panelCols();
  unsigned linear = row * rowPitch + col % panelCols() * elementBytes;
  unsigned chunk = (row >> xorRowShift()) & xorRowMask();
  return panel * panelBytes() + (linear ^ (chunk * chunkBytes));
}

Coord Swizzle::coordOf(unsigned offset) const {
  assert(offset < bytes());
  unsigned panel = offset / panelBytes();
  unsigned inPanel = offset % panelBytes();
  // The row bits are not touched by the XOR, so it undoes itself.
  unsigned row = inPanel / rowPitch;
  unsigned chunk = (row >> xorRowShift()) & xorRowMask();
  unsigned linear = inPanel ^ (chunk * chunkBytes);
  return {row, panel * panelCols() + linear % rowPitch / elementBytes};
}
