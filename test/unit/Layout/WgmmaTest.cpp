//===- WgmmaTest.cpp - descriptors against the swizzled tile --------------===//

#include "attn/Layout/Wgmma.h"

#include "gtest/gtest.h"

using namespace attn::layout;

namespace {

Swizzle tileOf(unsigned rows, unsigned cols, unsigned swizzle,
               unsigned bytes = 2) {
  std::string error;
  auto tile = Swizzle::make(rows, cols, bytes, swizzle, error);
  EXPECT_TRUE(tile) << error;
  return *tile;
}

WgmmaOperand operandOf(const Swizzle &tile, WgmmaMajor major) {
  std::string error;
  auto operand = WgmmaOperand::make(tile, major, error);
  EXPECT_TRUE(operand) << error;
  return *operand;
}

/// The byte that the hardware reads, from the descriptor's fields alone: what
/// the manual says about canonical layouts, with the swizzle on address bits.
unsigned hardwareByte(uint32_t low, uint32_t high, WgmmaMajor major,
                      unsigned mn, unsigned k) {
  unsigned start = (low & 0x3FFF) * 16, leading = (low >> 16 & 0x3FFF) * 16;
  unsigned stride = (high & 0x3FFF) * 16, type = high >> 30;
  unsigned swizzle = type == 1 ? 128 : type == 2 ? 64 : 32;
  unsigned address;
  if (major == WgmmaMajor::K) {
    address = start + mn / 8 * stride + mn % 8 * swizzle + k * 2;
  } else {
    unsigned columns = swizzle / 2;
    address = start + mn / columns * leading + mn % columns * 2 +
              k / 8 * stride + k % 8 * swizzle;
  }
  // Bits 4 and up are changed by bits 7 and up, as many as the swizzle has
  // chunks.
  return address ^ ((address >> 7 & (swizzle / 16 - 1)) << 4);
}

TEST(Wgmma, WordsOfTheWorkedKernel) {
  // Q of two warpgroups, K and V of 128 keys, head dim 128.
  WgmmaOperand k = operandOf(tileOf(128, 128, 128), WgmmaMajor::K);
  EXPECT_EQ(k.highWord(), 0x40000040u);
  EXPECT_EQ(k.lowBits(), 0x00010000u);
  EXPECT_EQ(k.steps(), 8u);
  EXPECT_EQ(k.stepOffset(1), 2u);
  EXPECT_EQ(k.stepOffset(3), 6u);
  EXPECT_EQ(k.stepOffset(4), 1024u);
  EXPECT_EQ(k.rowOffset(64), 512u);
  WgmmaOperand v = operandOf(tileOf(128, 128, 128), WgmmaMajor::MN);
  EXPECT_EQ(v.highWord(), 0x40000040u);
  EXPECT_EQ(v.lowBits(), 1024u << 16);
  EXPECT_EQ(v.steps(), 8u);
  EXPECT_EQ(v.stepOffset(1), 128u);
  // 80 keys: a panel is 10240 bytes.
  EXPECT_EQ(operandOf(tileOf(80, 256, 128), WgmmaMajor::MN).lowBits(),
            640u << 16);
  EXPECT_EQ(operandOf(tileOf(80, 256, 128), WgmmaMajor::K).stepOffset(4), 640u);
}

TEST(Wgmma, EveryElementIsWhereTheSwizzlePutsIt) {
  struct Shape {
    unsigned rows, cols, swizzle;
  };
  for (Shape s : {Shape{128, 128, 128}, Shape{64, 64, 128}, Shape{80, 256, 128},
                  Shape{16, 96, 64}, Shape{128, 32, 64}, Shape{64, 80, 32},
                  Shape{32, 16, 32}}) {
    Swizzle tile = tileOf(s.rows, s.cols, s.swizzle);
    for (WgmmaMajor major : {WgmmaMajor::K, WgmmaMajor::MN}) {
      WgmmaOperand operand = operandOf(tile, major);
      bool isK = major == WgmmaMajor::K;
      for (unsigned step = 0; step < operand.steps(); ++step)
        for (unsigned mn = 0; mn < (isK ? s.rows : s.cols); ++mn)
          for (unsigned k = 0; k < WgmmaOperand::stepK; ++k) {
            unsigned at = step * WgmmaOperand::stepK + k;
            unsigned expected =
                isK ? tile.byteOffset(mn, at) : tile.byteOffset(at, mn);
            uint32_t low = operand.lowBits() + operand.stepOffset(step);
            ASSERT_EQ(hardwareByte(low, operand.highWord(), major, mn, k),
                      expected)
                << s.rows << "x" << s.cols << " swizzle " << s.swizzle
                << (isK ? " K" : " MN") << " step " << step << " mn " << mn
                << " k " << k;
          }
    }
  }
}

TEST(Wgmma, RowsInsideATile) {
  Swizzle tile = tileOf(192, 64, 128);
  WgmmaOperand operand = operandOf(tile, WgmmaMajor::K);
  for (unsigned first : {0u, 64u, 128u})
    for (unsigned row = 0; row < 64; ++row)
      for (unsigned k = 0; k < 16; ++k)
        EXPECT_EQ(hardwareByte(operand.lowBits() + operand.rowOffset(first),
                               operand.highWord(), WgmmaMajor::K, row, k),
                  tile.byteOffset(first + row, k));
}

TEST(Wgmma, Refusals) {
  std::string error;
  EXPECT_FALSE(WgmmaOperand::make(tileOf(64, 64, 0), WgmmaMajor::K, error));
  EXPECT_EQ(error, "wgmma reads tiles with a swizzle of 32, 64 or 128 bytes "
                   "but this one has 0");
  EXPECT_FALSE(
      WgmmaOperand::make(tileOf(64, 64, 128, 4), WgmmaMajor::K, error));
  EXPECT_EQ(error, "wgmma reads elements of 2 bytes but these have 4");
  EXPECT_FALSE(WgmmaOperand::make(tileOf(12, 64, 128), WgmmaMajor::K, error));
  EXPECT_EQ(error, "wgmma reads groups of 8 rows but the tile has 12");
  EXPECT_FALSE(WgmmaOperand::make(tileOf(24, 64, 128), WgmmaMajor::MN, error));
  EXPECT_EQ(error, "wgmma takes 16 steps of k at a time but the tile has 24");
}

} // namespace
