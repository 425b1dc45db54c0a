//===- AtomTest.cpp - the atoms against the instruction's formulas --------===//

#include "attn/Layout/Layout.h"

#include <gtest/gtest.h>

using namespace attn::layout;

namespace {
Coord at(std::string_view name, unsigned rows, unsigned cols, unsigned warps,
         unsigned thread, unsigned reg) {
  std::string error;
  auto layout = Layout::make(name, rows, cols, warps, error);
  EXPECT_TRUE(layout) << error;
  return layout ? layout->coord(thread, reg) : Coord{~0u, ~0u};
}
} // namespace

// The formulas of the PTX manual: group = lane / 4, t = lane % 4.
TEST(Atom, MmaC) {
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(at("mma_c", 16, 8, 1, lane, i),
                (Coord{lane / 4 + (i >= 2 ? 8 : 0), lane % 4 * 2 + (i & 1)}));
}

TEST(Atom, MmaA) {
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 8; ++i) {
      unsigned row = lane / 4 + (i < 2 || (i >= 4 && i < 6) ? 0 : 8);
      unsigned col = lane % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      EXPECT_EQ(at("mma_a", 16, 16, 1, lane, i), (Coord{row, col}));
    }
}

TEST(Atom, MmaB) {
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(at("mma_b", 16, 8, 1, lane, i),
                (Coord{lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane / 4}));
}

// Register 4i + 2j + c of thread t is row 16w + l/4 + 8j, column 8i + 2(l%4)+c.
TEST(Atom, WgmmaC) {
  for (unsigned t = 0; t < 128; ++t)
    for (unsigned reg = 0; reg < 64; ++reg) {
      unsigned w = t / 32, l = t % 32;
      unsigned i = reg / 4, j = reg / 2 % 2, c = reg % 2;
      EXPECT_EQ(at("wgmma_c", 64, 128, 4, t, reg),
                (Coord{16 * w + l / 4 + 8 * j, 8 * i + 2 * (l % 4) + c}));
    }
}

TEST(Atom, WgmmaAIsMmaAOfFourWarps) {
  std::string error;
  auto wgmma = Layout::make("wgmma_a", 64, 64, 4, error);
  auto mma = Layout::make("mma_a", 64, 64, 4, error);
  ASSERT_TRUE(wgmma && mma);
  EXPECT_TRUE(wgmma->sameHolding(*mma));
}

TEST(Atom, Quad16HoldsSixteenBytesOfARow) {
  std::string error;
  auto layout = Layout::make("quad16", 128, 128, 8, error);
  ASSERT_TRUE(layout) << error;
  for (unsigned thread = 0; thread < layout->getThreads(); ++thread)
    for (unsigned reg = 0; reg < layout->registersPerThread(); reg += 8)
      for (unsigned i = 1; i < 8; ++i) {
        Coord first = layout->coord(thread, reg);
        EXPECT_EQ(first.col % 8, 0u);
        EXPECT_EQ(layout->coord(thread, reg + i),
                  (Coord{first.row, first.col + i}));
      }
}

// A warp's access to four rows is four runs of 128 bytes of f32.
TEST(Atom, RowCHoldsRunsOfRows) {
  for (unsigned thread = 0; thread < 256; ++thread)
    for (unsigned reg = 0; reg < 32; ++reg) {
      unsigned lane = thread % 32, step = reg / 16, panel = reg / 4 % 4;
      EXPECT_EQ(at("row_c", 64, 128, 8, thread, reg),
                (Coord{32 * step + 4 * (thread / 32) + lane / 8,
                       32 * panel + 4 * (lane % 8) + reg % 4}));
    }
}

TEST(Atom, EveryAtomIsABijectionWithDisjointBits) {
  for (const Atom &atom : knownAtoms()) {
    EXPECT_EQ(atom.laneBasis.size(), laneBits) << atom.name;
    EXPECT_EQ(atom.registers() * warpSize, atom.rows * atom.cols) << atom.name;
    for (unsigned warps : {1u, 2u, 4u, 8u, 16u, 32u}) {
      LinearMap map = atom.map(warps);
      EXPECT_TRUE(map.isBijective()) << atom.name << " " << warps;
      // Disjoint bits: as many set bits in all as there are output bits.
      unsigned bits = 0;
      for (uint32_t v : map.getBasis())
        for (; v; v &= v - 1)
          ++bits;
      EXPECT_EQ(bits, map.outBits()) << atom.name << " " << warps;
    }
  }
}

TEST(Atom, UnknownNameListsTheKnownOnes) {
  std::string error;
  EXPECT_EQ(findAtom("mma_d", error), nullptr);
  EXPECT_EQ(error, "unknown layout 'mma_d' (known: mma_c, mma_a, mma_b, "
                   "wgmma_c, wgmma_a, quad16, row_c)");
  EXPECT_NE(findAtom("mma_c", error), nullptr);
}
