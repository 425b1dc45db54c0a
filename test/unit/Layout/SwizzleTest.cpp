//===- SwizzleTest.cpp ----------------------------------------------------===//

#include "attn/Layout/Swizzle.h"

#include <gtest/gtest.h>

#include <set>

using namespace attn::layout;

namespace {

Swizzle get(unsigned rows, unsigned cols, unsigned elementBytes,
            unsigned swizzle) {
  std::string error;
  auto s = Swizzle::make(rows, cols, elementBytes, swizzle, error);
  EXPECT_TRUE(s) << error;
  return *s;
}

std::string errorOf(unsigned rows, unsigned cols, unsigned elementBytes,
                    unsigned swizzle) {
  std::string error;
  EXPECT_FALSE(Swizzle::make(rows, cols, elementBytes, swizzle, error));
  return error;
}

/// Shared memory passes 128 bytes a cycle if the 16-byte accesses of eight
/// lanes fall into different groups of four banks.
unsigned distinctBankGroups(const std::vector<unsigned> &offsets) {
  std::set<unsigned> groups;
  for (unsigned offset : offsets) {
    EXPECT_EQ(offset % 16, 0u);
    groups.insert(offset / 16 % 8);
  }
  return static_cast<unsigned>(groups.size());
}

} // namespace

TEST(Swizzle, PanelsOf128Bytes) {
  Swizzle s = get(64, 128, 2, 128);
  EXPECT_EQ(s.panelCols(), 64u);
  EXPECT_EQ(s.panels(), 2u);
  EXPECT_EQ(s.panelBytes(), 8192u);
  EXPECT_EQ(s.bytes(), 16384u);
  EXPECT_EQ(s.rowPitchBytes(), 128u);
  EXPECT_EQ(s.alignment(), 1024u);
  EXPECT_EQ(s.byteOffset(0, 8), 16u);
  EXPECT_EQ(s.byteOffset(1, 0), 128u + 16u);
  EXPECT_EQ(s.byteOffset(7, 57), 7u * 128 + 0 + 2); // chunk 7 ^ 7
  EXPECT_EQ(s.byteOffset(8, 0), 1024u);
  EXPECT_EQ(s.byteOffset(0, 64), 8192u);
  EXPECT_EQ(s.byteOffset(3, 64 + 8), 8192u + 3 * 128 + 2 * 16);
}

// The hardware's definition: an XOR of address bits from 4 on with address
// bits from 7 on.
TEST(Swizzle, IsTheXorOfAddressBits) {
  for (unsigned swizzle : {0u, 32u, 64u, 128u}) {
    Swizzle s = get(48, 128, 2, swizzle);
    unsigned mask = swizzle ? swizzle / 16 - 1 : 0;
    for (unsigned row = 0; row < s.getRows(); ++row)
      for (unsigned col = 0; col < s.getCols(); ++col) {
        unsigned linear = row * s.rowPitchBytes() + col % s.panelCols() * 2;
        unsigned want = linear ^ (((linear >> 7) & mask) << 4);
        ASSERT_EQ(s.byteOffset(row, col),
                  col / s.panelCols() * s.panelBytes() + want);
      }
  }
}

TEST(Swizzle, IsABijectionWithInverse) {
  for (unsigned swizzle : {0u, 32u, 64u, 128u})
    for (unsigned elementBytes : {1u, 2u, 4u}) {
      Swizzle s = get(24, 256 / elementBytes, elementBytes, swizzle);
      std::set<unsigned> seen;
      for (unsigned row = 0; row < s.getRows(); ++row)
        for (unsigned col = 0; col < s.getCols(); ++col) {
          unsigned offset = s.byteOffset(row, col);
          ASSERT_LT(offset, s.bytes());
          ASSERT_EQ(offset % elementBytes, 0u);
          ASSERT_TRUE(seen.insert(offset).second);
          for (unsigned b = 0; b < elementBytes; ++b)
            ASSERT_EQ(s.coordOf(offset + b), (Coord{row, col}));
        }
      EXPECT_EQ(seen.size(), s.getRows() * s.getCols());
    }
}

TEST(Swizzle, FormulaForGeneratedCode) {
  for (unsigned swizzle : {0u, 32u, 64u, 128u}) {
    Swizzle s = get(32, 128, 2, swizzle);
    for (unsigned row = 0; row < 32; ++row)
      for (unsigned col = 0; col < s.panelCols(); ++col) {
        unsigned linear = row * s.rowPitchBytes() + col * 2;
        EXPECT_EQ(s.byteOffset(row, col),
                  linear ^ (((row >> s.xorRowShift()) & s.xorRowMask()) << 4));
      }
  }
}

// One 8 x 8 matrix of ldmatrix: eight rows, the same 16-byte column.
TEST(Swizzle, LdmatrixRowsAreConflictFree) {
  for (unsigned swizzle : {32u, 64u, 128u}) {
    Swizzle s = get(64, 128, 2, swizzle);
    for (unsigned row = 0; row < 64; row += 8)
      for (unsigned col = 0; col < 128; col += 8) {
        std::vector<unsigned> offsets;
        for (unsigned i = 0; i < 8; ++i)
          offsets.push_back(s.byteOffset(row + i, col));
        EXPECT_EQ(distinctBankGroups(offsets), 8u) << swizzle;
      }
  }
  // Why the swizzle is there: without it all eight rows meet in one group.
  Swizzle plain = get(64, 64, 2, 0);
  std::vector<unsigned> offsets;
  for (unsigned i = 0; i < 8; ++i)
    offsets.push_back(plain.byteOffset(i, 0));
  EXPECT_EQ(distinctBankGroups(offsets), 1u);
}

// Copies write a row in 16-byte pieces, eight lanes at a time.
TEST(Swizzle, RowWritesAreConflictFree) {
  Swizzle s = get(64, 128, 2, 128);
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned panel = 0; panel < 2; ++panel) {
      std::vector<unsigned> offsets;
      for (unsigned i = 0; i < 8; ++i)
        offsets.push_back(s.byteOffset(row, panel * 64 + i * 8));
      EXPECT_EQ(distinctBankGroups(offsets), 8u);
    }
  // Narrower panels: eight lanes cover two or four rows.
  for (unsigned swizzle : {32u, 64u}) {
    Swizzle narrow = get(64, swizzle / 2, 2, swizzle);
    unsigned chunks = swizzle / 16;
    for (unsigned row = 0; row < 64; row += 8 / chunks) {
      std::vector<unsigned> offsets;
      for (unsigned i = 0; i < 8; ++i)
        offsets.push_back(narrow.byteOffset(row + i / chunks, i % chunks * 8));
      EXPECT_EQ(distinctBankGroups(offsets), 8u);
    }
  }
}

// Padded head dims: the last panel has columns that nobody asks for.
TEST(Swizzle, LastPanelNeedNotBeFull) {
  Swizzle s = get(32, 80, 2, 64);
  EXPECT_EQ(s.panels(), 3u);
  EXPECT_EQ(s.storedCols(), 96u);
  EXPECT_EQ(s.bytes(), 32u * 96 * 2);
  Swizzle full = get(32, 96, 2, 64);
  for (unsigned row = 0; row < 32; ++row)
    for (unsigned col = 0; col < 96; ++col) {
      EXPECT_EQ(s.byteOffset(row, col), full.byteOffset(row, col));
      EXPECT_EQ(s.coordOf(s.byteOffset(row, col)), (Coord{row, col}));
    }
}

TEST(Swizzle, TightestPanels) {
  EXPECT_EQ(Swizzle::tightest(256), 128u);
  EXPECT_EQ(Swizzle::tightest(192), 64u);
  EXPECT_EQ(Swizzle::tightest(160), 64u);  // room for 192, not for 256
  EXPECT_EQ(Swizzle::tightest(224), 128u); // room for 256 either way
  EXPECT_EQ(Swizzle::tightest(96), 128u);
  EXPECT_EQ(Swizzle::tightest(32), 64u);
}

TEST(Swizzle, ErrorsCarryTheNumbers) {
  EXPECT_EQ(errorOf(64, 128, 2, 48),
            "swizzle must be 0, 32, 64 or 128 bytes but is 48");
  EXPECT_EQ(errorOf(64, 128, 8, 128),
            "shared tile needs elements of 1, 2 or 4 bytes but has 8");
  EXPECT_EQ(errorOf(64, 100, 2, 128),
            "shared tile needs rows of a multiple of 16 bytes but a row has "
            "200");
  EXPECT_EQ(errorOf(64, 4, 2, 0),
            "shared tile needs rows of a multiple of 16 bytes but a row has 8");
  EXPECT_EQ(errorOf(0, 64, 2, 128), "shared tile needs 1 to 1073741824 bytes "
                                    "but has 0 rows of 128 bytes");
  EXPECT_EQ(errorOf(1u << 30, 64, 2, 128),
            "shared tile needs 1 to 1073741824 bytes but has 1073741824 rows "
            "of 128 bytes");
}
