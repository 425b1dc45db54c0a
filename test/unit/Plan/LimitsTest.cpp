//===- LimitsTest.cpp - empty batches, hostile numbers, small buffers -----===//
#include "Harness.h"

#include "attn/ABI/Version.h"

#include <climits>
#include <cmath>

using namespace attn;
using namespace attn::plan;

TEST(Limits, EmptyBatchT07) {
  Harness h;
  ASSERT_TRUE(h.run()) << h.error.text;
  h.checkAll();
  EXPECT_EQ(h.header().items, 0u);
  EXPECT_EQ(h.header().abi, uint32_t(ATTN_ABI_VERSION));
  EXPECT_EQ(h.header().bytes, 64u);
}

TEST(Limits, NoQueriesT07) {
  Harness h;
  h.qLens = {0, 0};
  h.kvLens = {100, 0};
  for (int32_t split : {0, 32}) {
    h.options.splitKeys = split;
    ASSERT_TRUE(h.run());
    h.checkAll();
    EXPECT_EQ(h.header().items, 0u);
    EXPECT_EQ(h.header().requests, 2u);
  }
}

TEST(Limits, RowsWithoutKeysHaveAnItemT10) {
  Harness h;
  h.qLens = {3, 5, 1};
  h.kvLens = {0, 100, 0};
  ASSERT_TRUE(h.run());
  h.checkAll();
  ASSERT_EQ(h.header().items, 3u);
  for (const attn_work_item &item : h.items())
    if (item.request != 1) {
      EXPECT_EQ(item.kv_begin, item.kv_end);
      EXPECT_EQ(item.slot, -1);
    }
}

TEST(Limits, RowsThatSeeNothingHaveAnItem) {
  Harness h;
  h.qLens = {200};
  h.kvLens = {50}; // causal, q_len > kv_len: 150 rows see nothing
  for (int32_t split : {0, 16}) {
    h.options.splitKeys = split;
    mask::Assembler a(ATTN_HOOK_MASK);
    causal(a);
    h.setMask(a);
    ASSERT_TRUE(h.run());
    h.checkAll();
    int empty = 0;
    for (const attn_work_item &item : h.items())
      empty += item.kv_begin == item.kv_end;
    EXPECT_EQ(empty, 2); // tiles of rows 0..63 and 64..127
  }
}

TEST(Limits, RecordsBeyondTheCountsAreInert) {
  Harness h;
  h.qLens = {4};
  h.kvLens = {1000};
  h.options.splitKeys = 100;
  mask::Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_K).i32(10).icmp(ATTN_CMP_LT);
  h.setMask(a);
  ASSERT_TRUE(h.run());
  ASSERT_LT(h.header().items, h.header().item_capacity);
  for (uint32_t i = h.header().items; i < h.header().item_capacity; ++i)
    EXPECT_EQ(h.at<attn_work_item>(h.header().items_offset)[i].rows, 0);
  ASSERT_LT(h.header().merges, h.header().merge_capacity);
  for (uint32_t i = h.header().merges; i < h.header().merge_capacity; ++i)
    EXPECT_EQ(h.at<attn_merge_item>(h.header().merges_offset)[i].rows, 0);
}

static void expectError(Harness &h, const char *text) {
  EXPECT_FALSE(h.run());
  EXPECT_STREQ(h.error.text, text);
}

static Harness simple() {
  Harness h;
  h.qLens = {8};
  h.kvLens = {8};
  return h;
}

TEST(Limits, RefusesBadShapes) {
  Harness h = simple();
  h.problem.heads = 6;
  h.problem.kvHeads = 4;
  expectError(h, "6 heads are not a multiple of 4 kv heads");
  h = simple();
  h.problem.heads = 4;
  h.problem.kvHeads = 2;
  h.problem.pack = 4;
  expectError(h, "pack is 4 but only 1 and 2 are possible");
  h = simple();
  h.problem.tileK = 0;
  expectError(h, "tile is 64 x 0 but both must be at least 1");
  h = simple();
  h.problem.heads = 3;
  h.problem.pack = 3;
  h.problem.tileQ = 2;
  expectError(h, "tile of 2 rows is smaller than pack 3");
  h = simple();
  h.problem.costKv = -1;
  expectError(h, "costs are 1 and -1 but must lie in [0, 1e30]");
  h = simple();
  h.problem.costQ = NAN;
  EXPECT_FALSE(h.run());
  h = simple();
  h.problem.split = {-2, 3, 4};
  expectError(h, "a split costs -2 a row and 3 a launch and DRAM gives 4 bytes "
                 "but all must lie in [0, 1e30]");
  for (SplitCost cost : {SplitCost{0, NAN}, {0, 0, -1}, {0, 0, NAN}}) {
    h.problem.split = cost;
    EXPECT_FALSE(h.run());
  }
}

TEST(Limits, RefusesBadOptions) {
  Harness h = simple();
  h.options.workers = 0;
  expectError(h, "workers is 0 but the least is 1");
  h = simple();
  h.options.enough = 2;
  expectError(h, "2 workers are enough but there are 1");
  h.options.enough = -1;
  EXPECT_FALSE(h.run());
  h = simple();
  h.options.splitKeys = -5;
  expectError(h, "split length is -5 keys but the least is 0");
  h = simple();
  h.options.maxSplits = 5000;
  expectError(h, "max splits is 5000 but the most is 4095");
}

TEST(Limits, RefusesBadLengths) {
  Error error;
  Capacity result;
  Problem p;
  p.batch = -1;
  EXPECT_FALSE(capacity(p, {}, result, error));
  EXPECT_STREQ(error.text, "batch is -1 but the least is 0");
  p.batch = 2;
  EXPECT_FALSE(capacity(p, {}, result, error));
  EXPECT_STREQ(error.text, "batch is 2 but the lengths are missing");

  Harness h = simple();
  h.qLens = {-3};
  expectError(h, "request 0 has q_len -3 and kv_len 8 but the least is 0");
  h = simple();
  h.qBegins = {-1};
  h.kvBegins = {4};
  expectError(h, "request 0 begins at q -1 and kv 4 but the least is 0");
  h = simple();
  h.qLens = {INT_MAX / 2};
  h.problem.heads = h.problem.pack = 4;
  expectError(h, "request 0 has 4294967292 packed rows but an item counts to "
                 "2147483583");
  h = simple();
  h.kvLens = {INT_MAX};
  expectError(h, "request 0 has 2147483647 keys but an item counts to "
                 "2147483583");
  h = simple();
  h.qBegins = {INT_MAX - 7};
  h.kvBegins = {0};
  expectError(h, "request 0 ends at q 2147483648 and kv 8 but a record counts "
                 "to 2147483647");
}

TEST(Limits, RefusesTooManySplits) {
  Harness h = simple();
  h.kvLens = {4096 * 32};
  h.options.splitKeys = 32;
  expectError(h, "request 0 needs 4096 splits of 32 keys but a tile has at "
                 "most 4095");
  h.kvLens = {4095 * 32};
  EXPECT_TRUE(h.run()) << h.error.text;
  EXPECT_EQ(h.header().slots, 4095u);
  h.options.maxSplits = 10;
  expectError(h, "request 0 needs 4095 splits of 32 keys but a tile has at "
                 "most 10");
}

TEST(Limits, RefusesPlansBeyondTheirFields) {
  Harness h = simple();
  h.qLens = {2000000000};
  h.problem.tileQ = 1;
  expectError(h, "plan has at least 2000000000 items but a plan holds "
                 "4294967295 bytes");
  // Within the item's index but not within the bytes of a plan.
  h.qLens = {200000000};
  expectError(h, "plan has at least 200000000 items but a plan holds "
                 "4294967295 bytes");
  h.problem.heads = h.problem.kvHeads = 65536;
  EXPECT_FALSE(h.run());
  // Splits alone can do it too; nothing is allocated to find out.
  h = simple();
  h.qLens.assign(1000, 1000);
  h.kvLens.assign(1000, 1 << 20);
  h.problem.tileQ = 1;
  h.options.splitKeys = 256;
  EXPECT_FALSE(h.run());
}

TEST(Limits, RefusesSmallBuffers) {
  Harness h = simple();
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.bound.planBytes, 64u + 32 + 16);
  EXPECT_FALSE(build(h.problem, h.options, h.plan.data(), 100, h.scratch.data(),
                     h.bound.scratchBytes, h.summary, h.error));
  EXPECT_STREQ(h.error.text, "plan needs 112 bytes but the buffer has 100");
  EXPECT_FALSE(build(h.problem, h.options, h.plan.data(), h.bound.planBytes,
                     h.scratch.data(), 1, h.summary, h.error));
  EXPECT_EQ(std::string(h.error.text),
            "planning needs " + std::to_string(h.bound.scratchBytes) +
                " bytes but the scratch has 1");
}

TEST(Limits, LongestLengthsThatFit) {
  Harness h;
  h.qLens = {1};
  h.kvLens = {INT_MAX - 64};
  for (int32_t workers : {1, 264}) {
    h.options.workers = workers;
    ASSERT_TRUE(h.run()) << h.error.text;
    int64_t keys = 0;
    for (const attn_work_item &item : h.items())
      keys += int64_t(item.kv_end) - item.kv_begin;
    EXPECT_EQ(keys, INT_MAX - 64);
  }
}

TEST(Limits, NarrowedSlicesAreWholeTilesWhateverTheAnswer) {
  // The planner rounds outward itself and never leaves [0, kv_len).
  Visibility answer;
  int32_t range[2];
  answer.context = range;
  answer.look = [](void *context, const TileRows &, Hull &hull) -> int64_t {
    hull.begin = static_cast<int32_t *>(context)[0];
    hull.end = static_cast<int32_t *>(context)[1];
    return 1000000; // more than there are keys
  };
  struct {
    int32_t begin, end, itemBegin, itemEnd, keys;
  } const cases[] = {{70, 100, 64, 128, 30},
                     {0, 1, 0, 64, 1},
                     {-50, 5000, 0, 300, 300},
                     {290, 295, 256, 300, 5},
                     {200, 100, 0, 0, 0}};
  for (const auto &c : cases) {
    range[0] = c.begin;
    range[1] = c.end;
    int32_t q = 1, kv = 300;
    Problem p;
    p.batch = 1;
    p.qLens = &q;
    p.kvLens = &kv;
    p.visibility = &answer;
    Error error;
    Summary summary;
    uint64_t plan[32], scratch[64];
    ASSERT_TRUE(build(p, {}, plan, sizeof(plan), scratch, sizeof(scratch),
                      summary, error))
        << error.text;
    auto *item = reinterpret_cast<const attn_work_item *>(plan + 8);
    EXPECT_EQ(item->kv_begin, c.itemBegin);
    EXPECT_EQ(item->kv_end, c.itemEnd);
    EXPECT_EQ(summary.totalCost, 1 + c.keys);
  }
}
