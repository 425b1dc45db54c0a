//===- SectionTest.cpp - runs of a plan whose keys stay in L2 -------------===//
#include "../../../lib/Plan/Sections.h"
#include "Harness.h"

#include <algorithm>
#include <random>
#include <set>

using namespace attn;
using namespace attn::plan;

namespace {

constexpr uint64_t kMiB = 1 << 20;

//===----------------------------------------------------------------------===//
// The cut alone
//===----------------------------------------------------------------------===//

struct Cut {
  std::vector<int32_t> order;
  std::vector<Section> sections;
};

Cut cut(const std::vector<RequestLoad> &loads, int32_t kvHeads, uint64_t l2,
        int32_t workers) {
  Cut c;
  c.order.resize(loads.size());
  c.sections.resize(kMaxSections);
  std::vector<uint64_t> keys(2 * loads.size());
  int32_t count =
      cutSections(loads.data(), int32_t(loads.size()), kvHeads, l2, workers,
                  keys.data(), c.order.data(), c.sections.data());
  EXPECT_LE(count, kMaxSections);
  c.sections.resize(count);
  return c;
}

std::string text(const Cut &c) {
  std::string s;
  for (const Section &x : c.sections)
    s += "[" + std::to_string(x.rank0) + "," + std::to_string(x.rank1) +
         ") x [" + std::to_string(x.head0) + "," + std::to_string(x.head1) +
         ") ";
  return s;
}

/// Causal self-attention of `tokens` tokens in tiles of 128, as a load.
RequestLoad causalLoad(int32_t tokens, int32_t heads, double bytesOfToken) {
  double tiles = tokens / 128;
  return {tokens * bytesOfToken * heads, heads * 128 * tiles * (tiles + 1) / 2,
          double(tokens)};
}

} // namespace

TEST(Section, KeysSortLikeTheirValues) {
  std::mt19937 random(3);
  for (uint32_t n : {0u, 1u, 2u, 1023u, 1024u, 1025u, 5000u})
    for (uint32_t kinds : {1u, 2u, 100u, 1u << 24}) {
      std::vector<uint64_t> keys, spare(n);
      for (uint32_t i = 0; i < n; ++i)
        keys.push_back(sortKey(float(random() % kinds) * 1.7f, i));
      std::vector<uint64_t> wanted = keys;
      std::sort(wanted.begin(), wanted.end());
      sortKeys(keys.data(), keys.data() + n, spare.data());
      EXPECT_EQ(keys, wanted) << n << " keys of " << kinds << " costs";
    }
  EXPECT_LT(sortKey(2, 9), sortKey(1, 3));
  EXPECT_LT(sortKey(1, 3), sortKey(1, 4));
  EXPECT_LT(sortKey(1e-30f, 7), sortKey(0, 0));
}

TEST(CutSections, HeadsOfOneLongRequest) {
  // 8 MiB a head of 24: three heads a section.  The last runs are one, of 5
  // heads: each has 8256 of blocks of 128 keys, 4.1 times 2 x 128 x 132 in all.
  Cut c = cut({causalLoad(16384, 16, 512)}, 16, 60 * kMiB, 132);
  EXPECT_EQ(text(c), "[0,1) x [0,2) [0,1) x [2,5) [0,1) x [5,8) "
                     "[0,1) x [8,10) [0,1) x [10,16) ");
}

TEST(CutSections, ShortRequestsTogether) {
  // 4 MiB a request: six fit in 24.  The last 7 requests have 2 x 512 x 132.
  Cut c = cut(std::vector<RequestLoad>(32, causalLoad(512, 16, 512)), 16,
              60 * kMiB, 132);
  EXPECT_EQ(text(c), "[0,6) x [0,16) [6,12) x [0,16) [12,18) x [0,16) "
                     "[18,24) x [0,16) [24,32) x [0,16) ");
}

TEST(CutSections, LongestRequestsFirst) {
  Cut c = cut({causalLoad(1024, 8, 512), causalLoad(16384, 8, 512),
               causalLoad(1024, 8, 512), causalLoad(2048, 8, 512)},
              8, 60 * kMiB, 1);
  EXPECT_EQ(c.order, (std::vector<int32_t>{1, 3, 0, 2}));
  EXPECT_EQ(text(c),
            "[0,1) x [0,2) [0,1) x [2,5) [0,1) x [5,8) [1,4) x [0,8) ");
}

TEST(CutSections, WhatFitsIsOneInTheOrderOfTheBatch) {
  std::vector<RequestLoad> loads(4, causalLoad(1024, 8, 512));
  loads[2].longest = 5000;
  Cut c = cut(loads, 8, 60 * kMiB, 132);
  EXPECT_EQ(text(c), "[0,4) x [0,8) ");
  EXPECT_EQ(c.order, (std::vector<int32_t>{0, 1, 2, 3}));
  // Without an L2 nothing is too large for it.
  c = cut(std::vector<RequestLoad>(32, causalLoad(16384, 16, 512)), 16, 0, 132);
  EXPECT_EQ(text(c), "[0,32) x [0,16) ");
}

TEST(CutSections, TooFewItemsForTheWorkersAreOne) {
  Cut c = cut({causalLoad(16384, 4, 4096)}, 4, 60 * kMiB, 132);
  EXPECT_EQ(text(c), "[0,1) x [0,4) ");
}

TEST(CutSections, HeadsGoWithOtherRequestsOnlyAllTogether) {
  // The second request ends unevenly, and so does the last head of the first.
  RequestLoad small = causalLoad(1024, 8, 512);
  Cut c = cut({causalLoad(16384, 8, 512), small}, 8, 60 * kMiB, 132);
  EXPECT_EQ(text(c), "[0,2) x [0,8) ");
}

TEST(CutSections, RandomLoadsAreCovered) {
  std::mt19937 rng(7);
  auto pick = [&](int32_t n) { return int32_t(rng() % n); };
  for (int run = 0; run < 2000; ++run) {
    int32_t heads = 1 + pick(12);
    std::vector<RequestLoad> loads(pick(40));
    for (RequestLoad &load : loads) {
      load.bytes = pick(4) ? double(pick(1 << 26)) : 0;
      load.longest = 1 + pick(1000);
      load.cost = load.longest * (1 + pick(500));
    }
    uint64_t l2 = pick(5) ? uint64_t(pick(1 << 27)) : uint64_t(pick(2));
    int32_t workers = 1 + pick(200);
    Cut c = cut(loads, heads, l2, workers);
    std::set<std::pair<int32_t, int32_t>> seen;
    for (const Section &s : c.sections) {
      ASSERT_TRUE(s.rank1 - s.rank0 == 1 || (s.head0 == 0 && s.head1 == heads));
      for (int32_t rank = s.rank0; rank < s.rank1; ++rank)
        for (int32_t head = s.head0; head < s.head1; ++head)
          ASSERT_TRUE(seen.insert({c.order[rank], head}).second);
    }
    ASSERT_EQ(seen.size(), loads.size() * heads);
    // The last section holds two of its longest items a worker, or is all.
    const Section &last = c.sections.back();
    double cost = 0, longest = 0;
    for (int32_t rank = last.rank0; rank < last.rank1; ++rank) {
      const RequestLoad &load = loads[c.order[rank]];
      cost += load.cost * (last.head1 - last.head0) / heads;
      longest = std::max(longest, load.longest);
    }
    ASSERT_TRUE(c.sections.size() == 1 || cost >= 2 * longest * workers);
  }
}

TEST(CutSections, NeverMoreThanThereIsRoomFor) {
  for (double bytes : {1e6, 1e7, 1e9}) {
    std::vector<RequestLoad> loads(3000, {bytes, 1e6, 1});
    Cut c = cut(loads, 128, 1000, 1);
    EXPECT_GT(c.sections.size(), size_t(kMaxSections) / 4);
  }
}

//===----------------------------------------------------------------------===//
// In plans
//===----------------------------------------------------------------------===//

namespace {

/// 16k tokens, bf16, head dim 128: K and V of a head have 8 MiB.
Harness prefill(int32_t heads, std::vector<int32_t> tokens = {16384}) {
  Harness h;
  h.qLens = h.kvLens = tokens;
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

/// The runs of items that are longest first; the (request, head)s of each.
std::vector<std::set<std::pair<int32_t, int32_t>>> runsOf(const Harness &h) {
  std::vector<std::set<std::pair<int32_t, int32_t>>> runs;
  int64_t last = -1;
  for (const attn_work_item &item : h.items()) {
    int64_t cost = item.rows / 4 + (item.kv_end - item.kv_begin);
    if (runs.empty() || cost > last)
      runs.emplace_back();
    runs.back().insert({item.request, item.head});
    last = cost;
  }
  return runs;
}

} // namespace

TEST(Section, RunsOfHeadsAreLongestFirst) {
  Harness h = prefill(16);
  setCausal(h);
  ASSERT_TRUE(h.run()) << h.error.text;
  EXPECT_EQ(h.header().items, 16u * 128);
  EXPECT_EQ(h.summary.sections, 5u);
  auto runs = runsOf(h);
  ASSERT_EQ(runs.size(), 5u);
  for (auto [i, heads] : {std::pair(0, 2), {1, 3}, {2, 3}, {3, 2}, {4, 6}})
    EXPECT_EQ(int32_t(runs[i].size()), heads);
}

TEST(Section, RunsOfRequestsAreLongestFirst) {
  Harness h = prefill(16, std::vector<int32_t>(32, 512));
  setCausal(h);
  ASSERT_TRUE(h.run()) << h.error.text;
  EXPECT_EQ(h.header().items, 16u * 32 * 4);
  auto runs = runsOf(h);
  ASSERT_EQ(runs.size(), h.summary.sections);
  ASSERT_EQ(runs.size(), 5u);
  std::set<std::pair<int32_t, int32_t>> seen;
  for (auto &run : runs)
    for (auto entry : run)
      EXPECT_TRUE(seen.insert(entry).second);
  EXPECT_EQ(runs[0].size(), 6u * 16);
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
  for (size_t i = 0; i < 2 * 128; ++i)
    EXPECT_EQ(items[i].head, int32_t(i % 2));
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
  EXPECT_EQ(h.summary.sections, 64u);
  h.problem.pack = 4;
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 1u);
}

TEST(Section, QueryHeadsStayWithTheirKvHead) {
  Harness h = prefill(20);
  h.problem.kvHeads = 5;
  h.options.l2Bytes = 40 * kMiB; // 16 of 40 are the budget
  setCausal(h);
  ASSERT_TRUE(h.run());
  auto runs = runsOf(h);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].size(), 4u); // KV head 0
  EXPECT_EQ(runs[1].size(), 8u);
  EXPECT_EQ(runs[2].size(), 8u);
}

TEST(Section, MasksThatReadTheHead) {
  // Planned head by head: the same sections, each sorted by itself.
  Harness h = prefill(16, {4096, 4096});
  h.options.l2Bytes = 20 * kMiB; // 8 of 32 a request are the budget
  h.options.workers = 16;
  mask::Assembler a(ATTN_HOOK_MASK);
  causal(a);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB);
  a.arg(ATTN_ARG_H).i32(200).op(ATTN_OP_IMUL).icmp(ATTN_CMP_LE);
  a.op(ATTN_OP_AND);
  h.setMask(a);
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.summary.sections, 8u);
  auto runs = runsOf(h);
  ASSERT_EQ(runs.size(), 8u);
  for (auto &run : runs) {
    EXPECT_EQ(run.size(), 4u);
    EXPECT_EQ(run.begin()->first, run.rbegin()->first);
  }
  h.checkAll();
}
