//===- BlockMapTest.cpp - classes of blocks against brute force -----------===//
#include "MaskPrograms.h"

#include "attn/Mask/BlockMap.h"

using namespace attn::mask;

namespace {

constexpr int32_t size = 1024, tile = 64, blocks = size / tile;
using Predicate = std::function<bool(int32_t q, int32_t k)>;

Rect rectOf(int32_t q0, int32_t q1, int32_t k0, int32_t k1) {
  Rect r;
  r.q0 = q0;
  r.q1 = q1;
  r.k0 = k0;
  r.k1 = k1;
  r.qLen = r.kvLen = size;
  return r;
}

BlockClass bruteForce(const Predicate &visible, int32_t q0, int32_t k0) {
  int64_t count = 0;
  for (int32_t q = q0; q < q0 + tile; ++q)
    for (int32_t k = k0; k < k0 + tile; ++k)
      count += visible(q, k);
  return count == 0             ? BlockClass::Skip
         : count == tile * tile ? BlockClass::Full
                                : BlockClass::Partial;
}

/// Class of every block equals brute force; the lists of rows equal the blocks,
/// within the budget; the scalar evaluator agrees with the predicate.
void expectExact(const HookProgram &mask, const Predicate &visible,
                 const Bindings &bindings = {}) {
  Env<double> env;
  env.bindings = bindings;
  env.qLen = env.kvLen = size;
  for (env.q = 0; env.q < size; env.q += 7)
    for (env.k = 0; env.k < size; ++env.k)
      ASSERT_EQ(evalMask(mask, env), visible(env.q, env.k))
          << env.q << " " << env.k;

  std::vector<BlockRange> ranges;
  for (int32_t qb = 0; qb < blocks; ++qb) {
    int32_t q0 = qb * tile;
    Rect rows = rectOf(q0, q0 + tile - 1, 0, 0);
    unsigned used = rangesOfRow(&mask, rows, bindings, 0, size, tile, ranges);
    EXPECT_LE(used, defaultBudget);
    int32_t next = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_EQ(ranges[i].first, next);
      EXPECT_LT(ranges[i].first, ranges[i].end);
      next = ranges[i].end;
      if (i > 0) {
        EXPECT_NE(ranges[i].kind, ranges[i - 1].kind);
      }
      for (int32_t kb = ranges[i].first; kb < ranges[i].end; ++kb) {
        BlockClass want = bruteForce(visible, q0, kb * tile);
        EXPECT_EQ(ranges[i].kind, want) << "row " << qb << " block " << kb;
        EXPECT_EQ(
            classify(&mask,
                     rectOf(q0, q0 + tile - 1, kb * tile, kb * tile + tile - 1),
                     bindings),
            want);
      }
    }
    EXPECT_EQ(next, blocks);

    // The hull holds every visible key.
    KeyRange hull = visibleHull(&mask, rows, bindings, 0, size);
    for (int32_t q = q0; q < q0 + tile; ++q)
      for (int32_t k = 0; k < size; ++k)
        if (visible(q, k)) {
          ASSERT_LE(hull.begin, k);
          ASSERT_GT(hull.end, k);
        }
  }
}

} // namespace

TEST(BlockMap, Causal) {
  expectExact(causal(), [](int32_t q, int32_t k) { return k <= q; });
}

TEST(BlockMap, CausalOffset) {
  for (int32_t offset : {1, 64, 100, -37, -2000, 2000})
    expectExact(causalOffset(offset),
                [offset](int32_t q, int32_t k) { return k <= q + offset; });
}

TEST(BlockMap, WindowAligned) {
  expectExact(window(256),
              [](int32_t q, int32_t k) { return k <= q && k > q - 256; });
}

TEST(BlockMap, WindowUnaligned) {
  for (int32_t w : {1, 100, 300})
    expectExact(window(w),
                [w](int32_t q, int32_t k) { return k <= q && k > q - w; });
}

TEST(BlockMap, WindowSinkTokens) {
  expectExact(windowSink(200, 4), [](int32_t q, int32_t k) {
    return k <= q && (k > q - 200 || k < 4);
  });
}

TEST(BlockMap, Prefix) {
  for (int32_t n : {128, 200})
    expectExact(prefix(n),
                [n](int32_t q, int32_t k) { return k <= q || k < n; });
}

TEST(BlockMap, Chunked) {
  for (int32_t c : {256, 200})
    expectExact(chunked(c),
                [c](int32_t q, int32_t k) { return k <= q && q / c == k / c; });
}

TEST(BlockMap, DocumentsByTable) {
  std::vector<int32_t> doc = documentTable(size);
  TableData data = table(doc);
  Bindings bindings;
  bindings.tables = &data;
  bindings.numTables = 1;
  expectExact(
      documents(),
      [&doc](int32_t q, int32_t k) {
        return k <= q && doc[size_t(q)] == doc[size_t(k)];
      },
      bindings);
}

TEST(BlockMap, TwoDimensionalNeighbourhood) {
  expectExact(neighbourhood(32, 3), [](int32_t q, int32_t k) {
    return std::abs(q / 32 - k / 32) <= 3 && std::abs(q % 32 - k % 32) <= 3;
  });
}

TEST(BlockMap, DilatedWindow) {
  expectExact(dilated(300, 2), [](int32_t q, int32_t k) {
    return k <= q && k > q - 300 && (q - k) % 2 == 0;
  });
}

// Rows q in [1024, 1055], kv_len 4096: blocks of 128 keys.
TEST(BlockMap, WorkedExample) {
  HookProgram c = causal(), w = window(1024);
  struct {
    int32_t k0;
    BlockClass causal, window;
  } const rows[] = {
      {0, BlockClass::Full, BlockClass::Partial},
      {512, BlockClass::Full, BlockClass::Full},
      {1024, BlockClass::Partial, BlockClass::Partial},
      {1152, BlockClass::Skip, BlockClass::Skip},
  };
  for (const auto &row : rows) {
    Rect rect = rectOf(1024, 1055, row.k0, row.k0 + 127);
    rect.kvLen = 4096;
    EXPECT_EQ(classify(&c, rect, {}), row.causal) << row.k0;
    EXPECT_EQ(classify(&w, rect, {}), row.window) << row.k0;
  }
}

TEST(BlockMap, NoMask) {
  std::vector<BlockRange> ranges;
  rangesOfRow(nullptr, rectOf(0, 63, 0, 0), {}, 0, 256, 64, ranges);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].end, 4);
  EXPECT_EQ(ranges[0].kind, BlockClass::Full);
  KeyRange hull = visibleHull(nullptr, rectOf(0, 63, 0, 0), {}, 16, 256);
  EXPECT_EQ(hull.begin, 16);
  EXPECT_EQ(hull.end, 256);
}

// A block that the end of the keys cuts is partial even where every key counts.
TEST(BlockMap, RaggedTailIsPartial) {
  std::vector<BlockRange> ranges;
  rangesOfRow(nullptr, rectOf(0, 63, 0, 0), {}, 0, 200, 64, ranges);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].end, 3);
  EXPECT_EQ(ranges[0].kind, BlockClass::Full);
  EXPECT_EQ(ranges[1].end, 4);
  EXPECT_EQ(ranges[1].kind, BlockClass::Partial);
  EXPECT_EQ(countVisibleKeys(ranges, 0, 200, 64), 200);

  // A hidden tail is skipped all the same.
  HookProgram mask = causal();
  rangesOfRow(&mask, rectOf(0, 63, 0, 0), {}, 0, 200, 64, ranges);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].kind, BlockClass::Partial);
  EXPECT_EQ(ranges[0].end, 1);
  EXPECT_EQ(ranges[1].kind, BlockClass::Skip);
  EXPECT_EQ(countVisibleKeys(ranges, 0, 200, 64), 64);
}

TEST(BlockMap, BlocksCountFromTheSlice) {
  std::vector<BlockRange> ranges;
  HookProgram mask = causal();
  rangesOfRow(&mask, rectOf(300, 331, 0, 0), {}, 100, 420, 64, ranges);
  // Keys 100..291 full, 292..355 partial, 356..419 hidden.
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0].end, 3);
  EXPECT_EQ(ranges[0].kind, BlockClass::Full);
  EXPECT_EQ(ranges[1].end, 4);
  EXPECT_EQ(ranges[1].kind, BlockClass::Partial);
  EXPECT_EQ(ranges[2].kind, BlockClass::Skip);
}

TEST(BlockMap, NoKeys) {
  std::vector<BlockRange> ranges = {{0, 1, BlockClass::Full}};
  EXPECT_EQ(rangesOfRow(nullptr, rectOf(0, 63, 0, 0), {}, 5, 5, 64, ranges),
            0u);
  EXPECT_TRUE(ranges.empty());
  EXPECT_EQ(classify(nullptr, rectOf(0, 63, 5, 4), {}), BlockClass::Skip);
  KeyRange hull = visibleHull(nullptr, rectOf(0, 63, 0, 0), {}, 5, 5);
  EXPECT_EQ(hull.begin, hull.end);
}

TEST(BlockMap, HullIsTight) {
  HookProgram mask = window(100);
  KeyRange hull = visibleHull(&mask, rectOf(500, 563, 0, 0), {}, 0, 1 << 20);
  EXPECT_EQ(hull.begin, 401);
  EXPECT_EQ(hull.end, 564);
  // Entirely hidden rows: q below every key.
  hull = visibleHull(&mask, rectOf(-50, -1, 0, 0), {}, 0, 1000);
  EXPECT_EQ(hull.begin, hull.end);
}

// Every second block visible: the list needs more questions than the budget.
TEST(BlockMap, BudgetRunsOutSoundly) {
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_K).i32(128).op(ATTN_OP_IMOD).i32(64).icmp(ATTN_CMP_LT);
  HookProgram mask = decoded(a);
  std::vector<BlockRange> ranges;
  for (unsigned budget : {0u, 1u, 2u, 16u, 128u, 4096u}) {
    unsigned used = rangesOfRow(&mask, rectOf(0, 63, 0, 0), {}, 0, 64 * 1000,
                                64, ranges, budget);
    EXPECT_LE(used, budget);
    int32_t next = 0;
    for (const BlockRange &r : ranges) {
      EXPECT_EQ(r.first, next);
      next = r.end;
      for (int32_t j = r.first; j < r.end; ++j) {
        if (r.kind != BlockClass::Partial) {
          EXPECT_EQ(r.kind, j % 2 ? BlockClass::Skip : BlockClass::Full);
        }
      }
    }
    EXPECT_EQ(next, 1000);
  }
}

// Window + sink tokens over a long row stays far below one question a block.
TEST(BlockMap, FewQuestions) {
  HookProgram mask = windowSink(4000, 4);
  std::vector<BlockRange> ranges;
  unsigned used =
      rangesOfRow(&mask, rectOf(50000, 50063, 0, 0), {}, 0, 65536, 64, ranges);
  EXPECT_LE(used, 64u);
  ASSERT_EQ(ranges.size(), 6u);
  EXPECT_EQ(ranges[0].kind, BlockClass::Partial); // the sink tokens
  EXPECT_EQ(ranges[1].kind, BlockClass::Skip);
  EXPECT_EQ(ranges[3].kind, BlockClass::Full);
  EXPECT_EQ(ranges[5].kind, BlockClass::Skip);
}

TEST(BlockMap, Names) {
  EXPECT_STREQ(nameOf(BlockClass::Skip), "skip");
  EXPECT_STREQ(nameOf(BlockClass::Partial), "partial");
  EXPECT_STREQ(nameOf(BlockClass::Full), "full");
}
