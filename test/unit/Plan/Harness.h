//===- Harness.h - planning in tests ----------------------------*- C++ -*-===//
//
// Owns the arrays and buffers of one plan, so that a test states lengths,
// options and a mask and looks at the records.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_PLAN_HARNESS_H
#define ATTN_TEST_PLAN_HARNESS_H

#include "attn/Mask/Eval.h"
#include "attn/Plan/MaskVisibility.h"

#include "gtest/gtest.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace attn::plan {

/// Numbers from a range, both ends included.
struct Random {
  std::mt19937 engine;
  explicit Random(unsigned seed) : engine(seed) {}
  int32_t operator()(int32_t low, int32_t high) {
    return low + int32_t(engine() % uint32_t(high - low + 1));
  }
};

struct Harness {
  std::vector<int32_t> qLens, kvLens, qBegins, kvBegins;
  Problem problem;
  Options options;
  mask::HookProgram program; ///< invalid: no mask
  mask::Bindings bindings;

  Capacity bound;
  Summary summary;
  Error error;
  std::vector<uint64_t> plan, scratch;

  void setMask(mask::Assembler &assembler,
               const mask::Signature &signature = {}) {
    std::vector<uint8_t> bytes;
    std::string text;
    ASSERT_TRUE(assembler.finish(bytes, text)) << text;
    ASSERT_TRUE(mask::HookProgram::decode(bytes.data(), bytes.size(), signature,
                                          program, text))
        << text;
  }

  bool run() {
    problem.batch = int32_t(qLens.size());
    problem.qLens = qLens.data();
    problem.kvLens = kvLens.data();
    if (!qBegins.empty())
      problem.qBegins = qBegins.data();
    if (!kvBegins.empty())
      problem.kvBegins = kvBegins.data();
    std::unique_ptr<MaskVisibility> visibility;
    problem.visibility = nullptr;
    if (program.valid()) {
      visibility =
          std::make_unique<MaskVisibility>(program, bindings, problem.tileK);
      problem.visibility = &visibility->visibility();
    }
    if (!capacity(problem, options, bound, error))
      return false;
    // Canaries behind both buffers.
    plan.assign(bound.planBytes / 8 + 1, 0x5a5a5a5a5a5a5a5a);
    scratch.assign(bound.scratchBytes / 8 + 1, 0x5a5a5a5a5a5a5a5a);
    bool ok = build(problem, options, plan.data(), bound.planBytes,
                    scratch.data(), bound.scratchBytes, summary, error);
    EXPECT_EQ(plan.back(), 0x5a5a5a5a5a5a5a5a);
    EXPECT_EQ(scratch.back(), 0x5a5a5a5a5a5a5a5a);
    return ok;
  }

  const attn_plan_header &header() const {
    return *reinterpret_cast<const attn_plan_header *>(plan.data());
  }
  template <class T> const T *at(uint32_t offset) const {
    return reinterpret_cast<const T *>(
        reinterpret_cast<const char *>(plan.data()) + offset);
  }
  std::vector<attn_work_item> items() const {
    auto *p = at<attn_work_item>(header().items_offset);
    return {p, p + header().items};
  }
  std::vector<attn_merge_item> merges() const {
    auto *p = at<attn_merge_item>(header().merges_offset);
    return {p, p + header().merges};
  }
  std::vector<attn_request_record> requests() const {
    auto *p = at<attn_request_record>(header().requests_offset);
    return {p, p + header().requests};
  }

  bool visible(int32_t b, int32_t h, int32_t token, int32_t k) const {
    if (!program.valid())
      return true;
    mask::Env<float> env;
    env.b = b;
    env.h = h;
    env.q = token + kvLens[b] - qLens[b];
    env.k = k;
    env.qLen = qLens[b];
    env.kvLen = kvLens[b];
    env.bindings = bindings;
    return mask::evalMask(program, env);
  }

  /// Blocks [first, end) of the item that every row is said to see.
  std::pair<int32_t, int32_t> wholeBlocks(const attn_work_item &item) const {
    uint32_t body = ATTN_ITEM_BODY(item.flags);
    int32_t keys = item.kv_end - item.kv_begin;
    int32_t blocks = (keys + problem.tileK - 1) / problem.tileK;
    if (!body)
      return {blocks, blocks};
    return {int32_t(ATTN_ITEM_FIRST(body)),
            blocks - int32_t(ATTN_ITEM_LAST(body))};
  }
  void checkWhole(const attn_work_item &item) const;

  /// Every property that must hold for any plan, by brute force.
  void checkAll() const;
};

inline void Harness::checkWhole(const attn_work_item &item) const {
  auto [first, end] = wholeBlocks(item);
  if (ATTN_ITEM_BODY(item.flags))
    ASSERT_LT(first, end);
  for (int32_t k = item.kv_begin + first * problem.tileK;
       k < item.kv_begin + end * problem.tileK; ++k) {
    ASSERT_LT(k, item.kv_end);
    for (int32_t row = item.row0; row < item.row0 + item.rows; ++row)
      ASSERT_TRUE(visible(item.request,
                          item.head * problem.pack + row % problem.pack,
                          row / problem.pack, k))
          << "request " << item.request << " row " << row << " key " << k;
  }
}

inline void Harness::checkAll() const {
  const attn_plan_header &h = header();
  ASSERT_EQ(h.items_offset % 16, 0u);
  ASSERT_EQ(h.merges_offset % 16, 0u);
  ASSERT_EQ(h.requests_offset % 16, 0u);
  ASSERT_LE(h.items, bound.items);
  ASSERT_LE(h.merges, bound.merges);
  ASSERT_LE(h.slots, bound.slots);
  ASSERT_EQ(h.requests, qLens.size());
  ASSERT_EQ(h.bytes, bound.planBytes);
  ASSERT_EQ(summary.items, h.items);
  EXPECT_EQ(h.queue_next, 0u);
  EXPECT_EQ(h.queue_done, 0u);

  // Requests say where the rows lie.
  std::vector<attn_request_record> records = requests();
  for (size_t r = 0; r < records.size(); ++r) {
    EXPECT_EQ(records[r].q_len, qLens[r]);
    EXPECT_EQ(records[r].kv_len, kvLens[r]);
    EXPECT_EQ(records[r].q_begin, qBegins.empty() ? 0 : qBegins[r]);
    EXPECT_EQ(records[r].kv_begin, kvBegins.empty() ? 0 : kvBegins[r]);
  }

  // Slots: each split item has its own, each merge owns a run of them in key
  // order, together they are 0 .. slots - 1.
  std::vector<attn_work_item> list = items();
  std::vector<const attn_work_item *> bySlot(h.slots, nullptr);
  for (const attn_work_item &item : list) {
    ASSERT_GE(item.rows, 1);
    ASSERT_LE(item.rows, problem.tileQ);
    ASSERT_LE(item.kv_begin, item.kv_end);
    ASSERT_NO_FATAL_FAILURE(checkWhole(item));
    if (item.slot < 0) {
      ASSERT_EQ(item.slot, -1);
      ASSERT_EQ(ATTN_ITEM_SPLITS(item.flags), 1u);
      ASSERT_EQ(ATTN_ITEM_SPLIT(item.flags), 0u);
      continue;
    }
    ASSERT_LT(uint32_t(item.slot), h.slots);
    ASSERT_EQ(bySlot[item.slot], nullptr);
    bySlot[item.slot] = &item;
    ASSERT_LT(item.kv_begin, item.kv_end);
  }
  uint32_t nextSlot = 0;
  for (const attn_merge_item &merge : merges()) {
    ASSERT_EQ(uint32_t(merge.first_slot), nextSlot);
    ASSERT_GE(merge.count, 2);
    int32_t last = -1;
    for (int32_t i = 0; i < merge.count; ++i) {
      const attn_work_item *item = bySlot[merge.first_slot + i];
      ASSERT_NE(item, nullptr);
      EXPECT_EQ(item->request, merge.request);
      EXPECT_EQ(item->head, merge.head);
      EXPECT_EQ(item->row0, merge.row0);
      EXPECT_EQ(item->rows, merge.rows);
      EXPECT_EQ(int32_t(ATTN_ITEM_SPLIT(item->flags)), i);
      EXPECT_EQ(int32_t(ATTN_ITEM_SPLITS(item->flags)), merge.count);
      EXPECT_GT(item->kv_begin, last);
      last = item->kv_begin;
    }
    nextSlot += merge.count;
  }
  ASSERT_EQ(nextSlot, h.slots);

  // Cover: every row has an item, every visible pair lies in exactly one, and
  // no pair in two.
  int32_t planHeads = problem.heads / problem.pack;
  for (int32_t r = 0; r < problem.batch; ++r) {
    int32_t rows = qLens[r] * problem.pack, keys = kvLens[r];
    for (int32_t head = 0; head < planHeads; ++head) {
      std::vector<uint8_t> pairs(size_t(rows) * keys, 0), written(rows, 0);
      for (const attn_work_item &item : list) {
        if (item.request != r || item.head != head)
          continue;
        ASSERT_EQ(item.row0 % problem.tileQ, 0);
        ASSERT_LE(item.row0 + item.rows, rows);
        ASSERT_LE(item.kv_end, keys);
        for (int32_t row = item.row0; row < item.row0 + item.rows; ++row) {
          written[row] |= 1;
          for (int32_t k = item.kv_begin; k < item.kv_end; ++k)
            ++pairs[size_t(row) * keys + k];
        }
      }
      for (int32_t row = 0; row < rows; ++row) {
        ASSERT_TRUE(written[row]) << "request " << r << " row " << row;
        int32_t queryHead = head * problem.pack + row % problem.pack;
        for (int32_t k = 0; k < keys; ++k) {
          int n = pairs[size_t(row) * keys + k];
          ASSERT_LE(n, 1);
          if (visible(r, queryHead, row / problem.pack, k)) {
            ASSERT_EQ(n, 1)
                << "request " << r << " row " << row << " key " << k;
          }
        }
      }
    }
  }
  ASSERT_GE(summary.sections, 1u);
  ASSERT_LE(summary.sections,
            uint32_t(std::max(problem.batch, 1) * problem.kvHeads));
  for (const attn_work_item &item : list) {
    ASSERT_GE(item.request, 0);
    ASSERT_LT(item.request, problem.batch);
    ASSERT_GE(item.head, 0);
    ASSERT_LT(item.head, planHeads);
  }
}

/// q >= k.
inline void causal(mask::Assembler &a) {
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
}

/// q >= k and (q - k < window or k < sinks).
inline void windowWithSinks(mask::Assembler &a, int32_t window, int32_t sinks) {
  causal(a);
  a.arg(ATTN_ARG_Q)
      .arg(ATTN_ARG_K)
      .op(ATTN_OP_ISUB)
      .i32(window)
      .icmp(ATTN_CMP_LT);
  a.arg(ATTN_ARG_K).i32(sinks).icmp(ATTN_CMP_LT).op(ATTN_OP_OR);
  a.op(ATTN_OP_AND);
}

} // namespace attn::plan

#endif // ATTN_TEST_PLAN_HARNESS_H
