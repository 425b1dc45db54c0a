//===- LayoutTest.cpp -----------------------------------------------------===//

#include "attn/Layout/Layout.h"

#include <gtest/gtest.h>

#include <set>

using namespace attn::layout;

namespace {

struct Case {
  const char *name;
  unsigned rows, cols, warps;
  GridOrder order = GridOrder::RowMajor;
};

const Case cases[] = {
    {"mma_c", 16, 8, 1},
    {"mma_c", 128, 64, 8},
    {"mma_c", 128, 88, 4},
    {"mma_c", 96, 24, 2},
    {"mma_a", 128, 128, 8},
    {"mma_a", 64, 48, 1},
    {"mma_b", 128, 64, 8},
    {"mma_b", 16, 8, 1},
    {"wgmma_c", 64, 176, 4},
    {"wgmma_a", 128, 96, 4},
    {"quad16", 128, 128, 8},
    {"quad16", 64, 96, 2},
    {"row_c", 64, 128, 8},
    {"row_c", 192, 96, 16},
    {"mma_c", 96, 24, 2, GridOrder::ColMajor},
    {"mma_b", 64, 48, 4, GridOrder::ColMajor},
};

Layout get(const Case &c) {
  std::string error;
  auto layout = Layout::make(c.name, c.rows, c.cols, c.warps, error, c.order);
  EXPECT_TRUE(layout) << error;
  return *layout;
}

std::string errorOf(const char *name, unsigned rows, unsigned cols,
                    unsigned warps) {
  std::string error;
  EXPECT_FALSE(Layout::make(name, rows, cols, warps, error));
  return error;
}

} // namespace

TEST(Layout, CoversEachElementOnceAPerWarpCopy) {
  for (const Case &c : cases) {
    Layout layout = get(c);
    unsigned copies =
        layout.getAtom().warpRule == WarpRule::Broadcast ? c.warps : 1;
    std::vector<unsigned> seen(c.rows * c.cols);
    for (unsigned t = 0; t < layout.getThreads(); ++t)
      for (unsigned r = 0; r < layout.registersPerThread(); ++r) {
        Coord at = layout.coord(t, r);
        ASSERT_LT(at.row, c.rows);
        ASSERT_LT(at.col, c.cols);
        ++seen[at.row * c.cols + at.col];
      }
    for (unsigned count : seen)
      ASSERT_EQ(count, copies) << c.name;
  }
}

TEST(Layout, OwnerIsTheInverse) {
  for (const Case &c : cases) {
    Layout layout = get(c);
    for (unsigned row = 0; row < c.rows; ++row)
      for (unsigned col = 0; col < c.cols; ++col) {
        Owner o = layout.owner(row, col);
        ASSERT_LT(o.thread, layout.getThreads());
        ASSERT_LT(o.reg, layout.registersPerThread());
        ASSERT_EQ(layout.coord(o.thread, o.reg), (Coord{row, col})) << c.name;
        if (layout.getAtom().warpRule == WarpRule::Broadcast) {
          ASSERT_LT(o.thread, warpSize);
        }
      }
  }
}

TEST(Layout, PrefillTileOfEightWarps) {
  Layout layout = get({"mma_c", 128, 64, 8});
  EXPECT_EQ(layout.registersPerThread(), 32u);
  EXPECT_EQ(layout.machineRegistersPerThread(), 32u);
  EXPECT_EQ(layout.gridRows(), 1u);
  EXPECT_EQ(layout.gridCols(), 8u);
  for (unsigned t = 0; t < 256; ++t)
    for (unsigned r = 0; r < 32; ++r)
      EXPECT_EQ(layout.coord(t, r).row / 16, t / 32);
  EXPECT_EQ(get({"mma_a", 128, 128, 8}).machineRegistersPerThread(), 32u);
}

TEST(Layout, GroupsHoldATileEach) {
  std::string error;
  for (auto [name, cols] : {std::pair("mma_c", 24u), std::pair("mma_a", 48u),
                            std::pair("row_c", 96u)}) {
    auto groups =
        Layout::make(name, 32, cols, 4, error, GridOrder::RowMajor, 2);
    auto alone = Layout::make(name, 32, cols, 2, error);
    ASSERT_TRUE(groups && alone) << error;
    EXPECT_EQ(groups->getThreads(), 128u);
    EXPECT_EQ(groups->registersPerThread(), alone->registersPerThread());
    EXPECT_FALSE(groups->sameHolding(*alone));
    for (unsigned t = 0; t < 128; ++t)
      for (unsigned r = 0; r < groups->registersPerThread(); ++r)
        ASSERT_EQ(groups->coord(t, r), alone->coord(t % 64, r)) << name;
    EXPECT_LT(groups->owner(31, cols - 1).thread, 64u);
  }
}

TEST(Layout, GridRepeatsRowsAndOrdersRegisters) {
  // 2 warps hold 32 rows, so 96 rows are three grid rows.
  Layout row = get({"mma_c", 96, 24, 2});
  EXPECT_EQ(row.gridRows(), 3u);
  EXPECT_EQ(row.registerOffset(0), (Coord{0, 0}));
  EXPECT_EQ(row.registerOffset(4), (Coord{0, 8}));
  EXPECT_EQ(row.registerOffset(12), (Coord{32, 0}));
  EXPECT_EQ(row.gridRegister(1, 2), 20u);
  Layout col = get({"mma_c", 96, 24, 2, GridOrder::ColMajor});
  EXPECT_EQ(col.registerOffset(4), (Coord{32, 0}));
  EXPECT_EQ(col.registerOffset(12), (Coord{0, 8}));
  EXPECT_EQ(col.gridRegister(1, 2), 28u);
  EXPECT_FALSE(row.sameHolding(col));
}

TEST(Layout, GridRegisterNamesTheFirstRegisterOfACell) {
  for (const Case &c : cases) {
    Layout layout = get(c);
    for (unsigned gr = 0; gr < layout.gridRows(); ++gr)
      for (unsigned gc = 0; gc < layout.gridCols(); ++gc)
        EXPECT_EQ(layout.registerOffset(layout.gridRegister(gr, gc)),
                  (Coord{gr * layout.atomRows(), gc * layout.getAtom().cols}));
  }
}

TEST(Layout, RowAndColumnSlots) {
  for (const Case &c : cases) {
    Layout layout = get(c);
    for (unsigned t = 0; t < layout.getThreads(); ++t) {
      std::set<unsigned> rows, cols;
      for (unsigned r = 0; r < layout.registersPerThread(); ++r) {
        Coord at = layout.coord(t, r);
        rows.insert(at.row);
        cols.insert(at.col);
        ASSERT_EQ(layout.rowOf(t, layout.rowSlot(r)), at.row);
        ASSERT_EQ(layout.colOf(t, layout.colSlot(r)), at.col);
      }
      // Ascending and distinct, as a set is.
      unsigned i = 0;
      ASSERT_EQ(rows.size(), layout.rowsPerThread());
      for (unsigned row : rows)
        ASSERT_EQ(layout.rowOf(t, i++), row);
      i = 0;
      ASSERT_EQ(cols.size(), layout.colsPerThread());
      for (unsigned col : cols)
        ASSERT_EQ(layout.colOf(t, i++), col);
    }
  }
  Layout s = get({"mma_c", 128, 64, 8});
  EXPECT_EQ(s.rowsPerThread(), 2u);
  EXPECT_EQ(s.rowOffset(0), 0u);
  EXPECT_EQ(s.rowOffset(1), 8u);
  EXPECT_EQ(s.colsPerThread(), 16u);
  EXPECT_EQ(s.colOffset(2), 8u);
}

// The masks must reach exactly the lanes that hold the same rows (columns).
TEST(Layout, LaneMasks) {
  Layout s = get({"mma_c", 128, 64, 8});
  EXPECT_EQ(s.rowLaneMasks(), (std::vector<unsigned>{1, 2}));
  EXPECT_EQ(s.colLaneMasks(), (std::vector<unsigned>{4, 8, 16}));
  for (const Case &c : cases) {
    Layout layout = get(c);
    auto span = [](const std::vector<unsigned> &masks) {
      unsigned all = 0;
      for (unsigned m : masks)
        all |= m;
      return all;
    };
    unsigned rowSpan = span(layout.rowLaneMasks());
    unsigned colSpan = span(layout.colLaneMasks());
    for (unsigned a = 0; a < warpSize; ++a)
      for (unsigned b = 0; b < warpSize; ++b) {
        Coord ca = layout.threadOffset(a), cb = layout.threadOffset(b);
        EXPECT_EQ(ca.row == cb.row, ((a ^ b) & ~rowSpan) == 0) << c.name;
        EXPECT_EQ(ca.col == cb.col, ((a ^ b) & ~colSpan) == 0) << c.name;
      }
  }
}

// P needs no movement between the two products: after packing neighbouring f32
// registers to 16 bits, the scores' fragment is the A fragment.
TEST(Layout, COfQKIsAOfPV) {
  for (unsigned cols : {16u, 64u, 128u, 176u}) {
    Layout c = get({"mma_c", 128, cols, 8}), a = get({"mma_a", 128, cols, 8});
    EXPECT_TRUE(c.sameHolding(a));
    Layout wc = get({"wgmma_c", 64, cols, 4}),
           wa = get({"wgmma_a", 64, cols, 4});
    EXPECT_TRUE(wc.sameHolding(wa));
    // Registers 2i and 2i + 1 are neighbours in a row, low half first, so one
    // packed conversion makes machine register i.
    for (unsigned t = 0; t < a.getThreads(); ++t)
      for (unsigned i = 0; i < a.machineRegistersPerThread(); ++i) {
        Coord low = c.coord(t, 2 * i), high = c.coord(t, 2 * i + 1);
        ASSERT_EQ(high, (Coord{low.row, low.col + 1}));
        ASSERT_EQ(a.coord(t, 2 * i), low);
        ASSERT_EQ(a.coord(t, 2 * i + 1), high);
      }
  }
  // A control: with two grid rows the C atoms of a row are no longer paired
  // when the grid is column-major.
  Layout c = get({"mma_c", 64, 32, 2, GridOrder::ColMajor});
  Layout a = get({"mma_a", 64, 32, 2, GridOrder::ColMajor});
  EXPECT_FALSE(c.sameHolding(a));
  EXPECT_FALSE(
      get({"mma_c", 128, 64, 8}).sameHolding(get({"mma_c", 128, 128, 8})));
}

TEST(Layout, ErrorsCarryTheNumbers) {
  EXPECT_EQ(errorOf("mma_c", 96, 64, 8),
            "layout mma_c on 8 warps needs a multiple of 128 rows but the tile "
            "has 96");
  EXPECT_EQ(errorOf("mma_c", 0, 64, 8),
            "layout mma_c on 8 warps needs a multiple of 128 rows but the tile "
            "has 0");
  EXPECT_EQ(errorOf("mma_a", 128, 72, 8),
            "layout mma_a needs a multiple of 16 columns but the tile has 72");
  EXPECT_EQ(errorOf("mma_c", 128, 64, 3),
            "layout mma_c needs a power of two of warps up to 32 but got 3");
  EXPECT_EQ(errorOf("mma_c", 128, 64, 0),
            "layout mma_c needs a power of two of warps up to 32 but got 0");
  EXPECT_EQ(errorOf("mma_c", 1024, 64, 64),
            "layout mma_c needs a power of two of warps up to 32 but got 64");
  EXPECT_EQ(errorOf("wgmma_c", 64, 64, 2),
            "layout wgmma_c needs at least 4 warps but got 2");
  EXPECT_EQ(errorOf("mma_c", 1u << 20, 64, 1),
            "layout mma_c takes tiles up to 16384 rows and columns but the "
            "tile is 1048576 x 64");
  std::string error;
  EXPECT_FALSE(Layout::make("mma_c", 64, 64, 4, error, GridOrder::RowMajor, 3));
  EXPECT_EQ(error, "layout mma_c needs a number of groups that divides its 4 "
                   "warps but got 3");
  EXPECT_FALSE(
      Layout::make("wgmma_c", 64, 64, 4, error, GridOrder::RowMajor, 2));
  EXPECT_EQ(error, "layout wgmma_c needs at least 4 warps but got 2");
  EXPECT_EQ(errorOf("tile", 16, 8, 1),
            "unknown layout 'tile' (known: mma_c, mma_a, mma_b, wgmma_c, "
            "wgmma_a, quad16, row_c)");
}
