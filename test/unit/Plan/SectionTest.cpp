//===- SectionTest.cpp - heads in sections of the size of L2 --------------===//
#include "Harness.h"

#include <algorithm>

using namespace attn;
using namespace attn::plan;

namespace {

constexpr uint64_t kMiB = 1 << 20;

/// 16k tokens, bf16, head dim 128: K and V of a head have 8 MiB.
Harness prefill(int32_t heads, int32_t tokens = 16384) {
  Harness h;
  h.qLens = {tokens};
  h.kvLens = {tokens};
  h.problem.heads = h.problem.kvHeads = heads;
  h.problem.tileQ = h.problem.tileK = 128;
  h.problem.costQ = 0.25f;
  h.problem.keyBytes = 2 * 128 * 2;
  h.options.workers = 132;
  h.options.l2Bytes = 60 * kMiB;
  return h;
}

void setCausal(Harness &h) {
  mask::Assembler a(ATTN_HOOK_MASK);
  causal(a);
  h.setMask(a);
}

/// Heads of each section, in the order of the plan.
std::vector<std::vector<int32_t>> headsOf(const Harness &h) {
  std::vector<std::vector<int32_t>> list(h.summary.sections);
  for (const attn_work_item &item : h.items()) {
    std::vector<int32_t> &heads = list[h.sectionOf(item)];
    if (std::find(heads.begin(), heads.end(), item.head) == heads.end())
      heads.push_back(item.head);
  }
  for (std::vector<int32_t> &heads : list)
    std::sort(heads.begin(), heads.end());
  return list;
}

/// Sections follow each other, and each is longest first.
void checkOrder(const Harness &h) {
  int32_t section = 0;
  int64_t last = INT64_MAX;
  for (const attn_work_item &item : h.items()) {
    int32_t now = h.sectionOf(item);
    ASSERT_GE(now, section);
    if (now > section)
      last = INT64_MAX;
    section = now;
    int64_t cost = item.rows / 4 + (item.kv_end - item.kv_begin);
    ASSERT_LE(cost, last);
    last = cost;
  }
  EXPECT_EQ(uint32_t(section) + 1, h.summary.sections);
}

} // namespace

TEST(Section, EightHeadsOfSixteenThousandTokens) {
  for (bool masked : {false, true}) {
    Harness h = prefill(16);
    if (masked)
      setCausal(h);
    ASSERT_TRUE(h.run()) << h.error.text;
    EXPECT_EQ(h.header().items, 16u * 128);
    EXPECT_EQ(headsOf(h),
              (std::vector<std::vector<int32_t>>{
                  {0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}));
    checkOrder(h);
  }
}

TEST(Section, EqualItemsComeHeadByHead) {
  // Without a mask all items cost the same: those of a head follow each other,
  // so that what runs at the same time reads the same keys.
  Harness h = prefill(16);
  ASSERT_TRUE(h.run()) << h.error.text;
  std::vector<attn_work_item> items = h.items();
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].head, int32_t(i / 128));
    EXPECT_EQ(items[i].row0, int32_t(i % 128) * 128);
  }
  // With one, rows of the same length do.
  setCausal(h);
  ASSERT_TRUE(h.run()) << h.error.text;
  items = h.items();
  for (size_t i = 0; i < items.size(); ++i)
    EXPECT_EQ(items[i].head, int32_t(i % 8 + i / (8 * 128) * 8));
}

TEST(Section, WithoutL2AllHeadsAreOne) {
  Harness h = prefill(16);
  setCausal(h);
  h.options.l2Bytes = 0;
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 1u);
  checkOrder(h);
}

TEST(Section, WhatFitsIsOne) {
  Harness h = prefill(8);
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 1u); // 64 MiB, to the nearest number
  h = prefill(12);
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 2u);
}

TEST(Section, NeverLessThanTwoLongItemsAWorker) {
  // Head dim 256: 16 MiB a head, so L2 asks for 2 sections of 4 heads, whose 512
  // tiles are half as long as the longest: 1.9 of those for each worker.
  Harness h = prefill(8);
  h.problem.keyBytes *= 2;
  setCausal(h);
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 1u);
  // Without the mask all are equally long.
  h.program = {};
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 2u);
  h.options.workers = 264;
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 1u);
}

TEST(Section, KeysThatAreReadOnceDoNotCount) {
  Harness h = prefill(16);
  h.qLens.assign(64, 1);
  h.kvLens.assign(64, 8192);
  h.options.workers = 1;
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 1u);
  // Four query heads that are not packed read the same keys.
  h.problem.kvHeads = 4;
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 4u);
  h.problem.pack = 4;
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 1u);
}

TEST(Section, QueryHeadsStayWithTheirKvHead) {
  Harness h = prefill(20);
  h.problem.kvHeads = 5;
  h.options.l2Bytes = 20 * kMiB; // of 40
  ASSERT_TRUE(h.run());
  EXPECT_EQ(headsOf(h), (std::vector<std::vector<int32_t>>{
                            {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                            {12, 13, 14, 15, 16, 17, 18, 19}}));
  checkOrder(h);
}

TEST(Section, MasksThatReadTheHead) {
  // Planned head by head: the same sections, each sorted by itself.
  Harness h = prefill(16, 4096);
  h.options.l2Bytes = 8 * kMiB; // of 32
  h.options.workers = 16;
  mask::Assembler a(ATTN_HOOK_MASK);
  causal(a);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB);
  a.arg(ATTN_ARG_H).i32(200).op(ATTN_OP_IMUL).icmp(ATTN_CMP_LE);
  a.op(ATTN_OP_AND);
  h.setMask(a);
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 4u);
  EXPECT_EQ(headsOf(h),
            (std::vector<std::vector<int32_t>>{
                {0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
  checkOrder(h);
}

TEST(Section, AtMostSixtyFour) {
  Harness h = prefill(100, 1024);
  h.options.workers = 1;
  h.options.l2Bytes = 1;
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 64u);
  checkOrder(h);
}
