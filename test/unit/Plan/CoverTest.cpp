//===- CoverTest.cpp - properties of random plans -------------------------===//
//
// Every visible (row, key) pair lies in exactly one item, whatever the batch,
// the mask, the tiles and the split policy.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <cstring>
#include <random>

using namespace attn;
using namespace attn::plan;

namespace {

void randomBatch(Random &random, Harness &h) {
  int32_t batch = random(0, 5);
  int32_t q = random(0, 3), kv = 0;
  for (int32_t r = 0; r < batch; ++r) {
    h.qLens.push_back(random(0, 3) ? random(0, 70) : random(0, 1));
    h.kvLens.push_back(random(0, 4) ? random(0, 400) : 0);
    h.qBegins.push_back(q);
    h.kvBegins.push_back(kv);
    q += h.qLens.back();
    kv += h.kvLens.back();
  }
  static const int32_t heads[][2] = {{1, 1}, {2, 1}, {4, 2}, {3, 3}, {4, 1}};
  const int32_t *pair = heads[random(0, 4)];
  Problem &p = h.problem;
  p.heads = pair[0];
  p.kvHeads = pair[1];
  int32_t group = p.heads / p.kvHeads;
  p.pack = random(0, 1) ? group : 1;
  p.tileQ = p.pack * random(1, 16);
  p.tileK = 1 << random(2, 6);
  p.costQ = float(random(0, 4));
  p.costKv = float(random(0, 2));
  h.options.workers = random(1, 40);
  if (random(0, 1))
    h.options.splitKeys = random(1, 100);
  else if (random(0, 1))
    h.options.maxSplits = random(1, 4);
  // A small L2 and few workers: the heads fall into sections.
  p.keyBytes = 512;
  if (random(0, 1))
    h.options.l2Bytes = uint64_t(random(1, 200)) * 1024;
}

void randomMask(Random &random, Harness &h, std::vector<int32_t> &table,
                mask::TableData &data) {
  mask::Assembler a(ATTN_HOOK_MASK);
  mask::Signature signature;
  switch (random(0, 7)) {
  case 0:
    return;
  case 1:
    causal(a);
    break;
  case 2:
    windowWithSinks(a, random(1, 64), random(0, 20));
    break;
  case 3: // a window that depends on the head
    a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB);
    a.arg(ATTN_ARG_H).i32(random(1, 40)).op(ATTN_OP_IMUL).icmp(ATTN_CMP_LE);
    break;
  case 4: // nothing is visible
    a.arg(ATTN_ARG_K).i32(0).icmp(ATTN_CMP_LT);
    break;
  case 5: { // documents
    signature.tables.push_back({ATTN_I32, 1});
    table.resize(400);
    int32_t document = 0;
    for (int32_t &entry : table)
      entry = document += random(0, 20) == 0;
    data.data = table.data();
    data.extent[0] = uint32_t(table.size());
    h.bindings.tables = &data;
    h.bindings.numTables = 1;
    a.arg(ATTN_ARG_Q).table(0).arg(ATTN_ARG_K).table(0).icmp(ATTN_CMP_EQ);
    break;
  }
  case 6: // dilated: analysis cannot narrow
    a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB).i32(3).op(ATTN_OP_IMOD);
    a.i32(0).icmp(ATTN_CMP_EQ);
    break;
  case 7: // only some requests see anything
    a.arg(ATTN_ARG_B).i32(random(0, 3)).icmp(ATTN_CMP_GT);
    causal(a);
    a.op(ATTN_OP_AND);
    break;
  }
  h.setMask(a, signature);
}

} // namespace

TEST(Cover, RandomBatchesAndMasks) {
  unsigned split = 0, narrowed = 0, sectioned = 0, whole = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    Random random(seed);
    Harness h;
    std::vector<int32_t> table;
    mask::TableData data;
    randomBatch(random, h);
    randomMask(random, h, table, data);
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_TRUE(h.run()) << h.error.text;
    h.checkAll();
    if (::testing::Test::HasFatalFailure())
      return;
    split += h.header().merges > 0;
    sectioned += h.summary.sections > 1;
    for (const attn_work_item &item : h.items()) {
      narrowed +=
          item.slot < 0 && item.kv_end - item.kv_begin < h.kvLens[item.request];
      whole += ATTN_ITEM_BODY(item.flags) != 0;
    }
  }
  // The generator reaches what the test is about.
  EXPECT_GT(split, 100u);
  EXPECT_GT(narrowed, 1000u);
  EXPECT_GT(whole, 1000u);
  EXPECT_GT(sectioned, 20u);
}

TEST(Cover, Deterministic) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Harness first, second;
    for (Harness *h : {&first, &second}) {
      Random random(seed);
      randomBatch(random, *h);
      ASSERT_TRUE(h->run());
    }
    EXPECT_EQ(first.plan, second.plan);
  }
}

TEST(Cover, ReplicatedHeadsMatchHeadsPlannedAlone) {
  // A mask that reads the head without depending on it is planned head by
  // head; the set of items must be that of the replicated plan.
  Harness replicated, alone;
  for (Harness *h : {&replicated, &alone}) {
    h->qLens = {50, 1, 3};
    h->kvLens = {100, 300, 0};
    h->problem.heads = 4;
    h->problem.kvHeads = 2;
    h->problem.tileQ = 16;
    h->problem.tileK = 32;
    h->options.splitKeys = 64;
    mask::Assembler a(ATTN_HOOK_MASK);
    causal(a);
    if (h == &alone) {
      a.arg(ATTN_ARG_H).i32(100).icmp(ATTN_CMP_LT).op(ATTN_OP_AND);
    }
    h->setMask(a);
    ASSERT_TRUE(h->run()) << h->error.text;
    h->checkAll();
  }
  auto key = [](const attn_work_item &item) {
    return std::vector<int32_t>{item.request, item.head,     item.row0,
                                item.rows,    item.kv_begin, item.kv_end};
  };
  std::vector<std::vector<int32_t>> a, b;
  for (const attn_work_item &item : replicated.items())
    a.push_back(key(item));
  for (const attn_work_item &item : alone.items())
    b.push_back(key(item));
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  EXPECT_EQ(a, b);
  EXPECT_EQ(replicated.summary.totalCost, alone.summary.totalCost);
}

TEST(Cover, LongestFirst) {
  Harness h;
  h.qLens = {1, 1, 1, 40};
  h.kvLens = {10, 900, 300, 40};
  h.options.maxSplits = 1;
  ASSERT_TRUE(h.run());
  h.checkAll();
  std::vector<int32_t> order;
  for (const attn_work_item &item : h.items())
    order.push_back(item.request);
  // Costs with one unit a row and a key: 901, 301, 80, 11.
  EXPECT_EQ(order, (std::vector<int32_t>{1, 2, 3, 0}));
  EXPECT_EQ(h.summary.totalCost, 901 + 301 + 80 + 11);
  EXPECT_EQ(h.summary.longestCost, 901);
}

TEST(Cover, CausalSlicesAreNarrowed) {
  Harness h;
  h.qLens = {256};
  h.kvLens = {256};
  h.options.maxSplits = 1;
  mask::Assembler a(ATTN_HOOK_MASK);
  causal(a);
  h.setMask(a);
  ASSERT_TRUE(h.run());
  h.checkAll();
  for (const attn_work_item &item : h.items()) {
    EXPECT_EQ(item.kv_begin, 0);
    EXPECT_EQ(item.kv_end, item.row0 + 64);
  }
}

TEST(Cover, HullIsRoundedOutwardToTheTile) {
  Harness h;
  h.qLens = {1};
  h.kvLens = {1000};
  h.options.maxSplits = 1;
  mask::Assembler a(ATTN_HOOK_MASK);
  // Keys 900 .. 999 of position 999; the tile is 64 keys.
  windowWithSinks(a, 100, 0);
  h.setMask(a);
  ASSERT_TRUE(h.run());
  h.checkAll();
  EXPECT_EQ(h.items()[0].kv_begin, 896);
  EXPECT_EQ(h.items()[0].kv_end, 1000);
  // Keys 0 .. 99: the second tile stays whole, so that it may be full.
  mask::Assembler prefix(ATTN_HOOK_MASK);
  prefix.arg(ATTN_ARG_K).i32(100).icmp(ATTN_CMP_LT);
  h.setMask(prefix);
  ASSERT_TRUE(h.run());
  h.checkAll();
  EXPECT_EQ(h.items()[0].kv_begin, 0);
  EXPECT_EQ(h.items()[0].kv_end, 128);
}

TEST(Cover, WholeBlocksOfDocuments) {
  // Documents of 300 and 500 tokens, causal, tiles of 64 rows and 64 keys: the last
  // tile of the first document crosses into the second one and has no whole block.
  Harness h;
  h.qLens = h.kvLens = {800};
  h.problem.tileQ = h.problem.tileK = 64;
  std::vector<int32_t> table(800);
  std::fill(table.begin() + 300, table.end(), 1);
  mask::TableData data;
  data.data = table.data();
  data.extent[0] = 800;
  h.bindings.tables = &data;
  h.bindings.numTables = 1;
  mask::Signature signature;
  signature.tables.push_back({ATTN_I32, 1});
  mask::Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).table(0).arg(ATTN_ARG_K).table(0).icmp(ATTN_CMP_EQ);
  causal(a);
  a.op(ATTN_OP_AND);
  h.setMask(a, signature);
  ASSERT_TRUE(h.run()) << h.error.text;
  h.checkAll();
  for (const attn_work_item &item : h.items()) {
    auto [first, end] = h.wholeBlocks(item);
    int32_t tile = item.row0 / 64, begin = item.kv_begin / 64;
    int32_t wanted = tile < 4    ? tile      // below the diagonal
                     : tile == 4 ? 0         // two documents
                                 : tile - 5; // from token 320 on
    EXPECT_EQ(end - first, wanted) << "tile " << tile;
    if (wanted)
      EXPECT_EQ(begin + first, tile < 4 ? 0 : 5) << "tile " << tile;
  }
}
