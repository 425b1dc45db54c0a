//===- BlockMap.cpp - classes of blocks by bisection ----------------------===//
//
// A run of blocks is asked as one rectangle; only where the answer is unknown
// is it halved and asked again, level by level, so that a budget which runs out
// leaves many short undecided runs and not one long one.
//
//   causal, 8 blocks:  [0,8) ?  ->  [0,4) full, [4,8) ?  ->  ...
//
// Invariant: the runs cover the blocks in order, without gap or overlap, after
// every level.
//
//===----------------------------------------------------------------------===//
#include "attn/Mask/BlockMap.h"

#include <algorithm>
#include <cassert>

using namespace attn::mask;

const char *attn::mask::nameOf(BlockClass c) {
  return c == BlockClass::Skip      ? "skip"
         : c == BlockClass::Partial ? "partial"
                                    : "full";
}

BlockClass attn::mask::classify(const HookProgram *mask, const Rect &rect,
                                const Bindings &bindings) {
  if (rect.empty())
    return BlockClass::Skip;
  if (!mask)
    return BlockClass::Full;
  Tri t = evaluate(*mask, rect, bindings);
  return t == Tri::False  ? BlockClass::Skip
         : t == Tri::True ? BlockClass::Full
                          : BlockClass::Partial;
}

namespace {

/// Runs are held in fixed arrays: nothing is allocated in the planner's loop.
constexpr unsigned maxBudget = 1024;

struct Run {
  int32_t first, end;
  BlockClass kind; // Partial: undecided unless it is one block
};

void append(std::vector<BlockRange> &out, int32_t first, int32_t end,
            BlockClass kind) {
  if (first == end)
    return;
  if (!out.empty() && out.back().kind == kind)
    out.back().end = end;
  else
    out.push_back({first, end, kind});
}

} // namespace

unsigned attn::mask::rangesOfRow(const HookProgram *mask, const Rect &rows,
                                 const Bindings &bindings, int32_t kvBegin,
                                 int32_t kvEnd, int32_t tileK,
                                 std::vector<BlockRange> &out,
                                 unsigned budget) {
  assert(tileK > 0 && "blocks need keys");
  out.clear();
  int64_t keys = int64_t(kvEnd) - kvBegin;
  if (keys <= 0)
    return 0;
  int32_t whole = int32_t(keys / tileK);
  bool tail = keys % tileK != 0;
  budget = std::min(budget, maxBudget);

  unsigned used = 0;
  auto ask = [&](int32_t first, int32_t end) {
    ++used;
    Rect rect = rows;
    rect.k0 = int32_t(kvBegin + int64_t(first) * tileK);
    rect.k1 =
        int32_t(std::min<int64_t>(kvEnd, kvBegin + int64_t(end) * tileK) - 1);
    return classify(mask, rect, bindings);
  };

  // One question is enough where all keys are alike, as for decode.
  if (tail && whole > 0 && budget > 0) {
    BlockClass all = ask(0, whole + 1);
    if (all != BlockClass::Partial) {
      append(out, 0, whole, all);
      append(out, whole, whole + 1,
             all == BlockClass::Full ? BlockClass::Partial : all);
      return used;
    }
  }

  BlockClass tailClass = BlockClass::Partial;
  if (tail && used < budget && ask(whole, whole + 1) == BlockClass::Skip)
    tailClass = BlockClass::Skip;

  Run buffers[2][maxBudget + 1];
  unsigned count = 0, current = 0;
  if (whole > 0) {
    BlockClass kind = used < budget ? ask(0, whole) : BlockClass::Partial;
    buffers[0][count++] = {0, whole, kind};
  }
  for (bool split = true; split;) {
    split = false;
    Run *to = buffers[current ^ 1];
    unsigned next = 0;
    for (unsigned i = 0; i < count; ++i) {
      Run run = buffers[current][i];
      // Two questions a split: with one left, nothing would be gained.
      if (run.kind != BlockClass::Partial || run.end - run.first == 1 ||
          used + 2 > budget) {
        to[next++] = run;
        continue;
      }
      int32_t middle = run.first + (run.end - run.first) / 2;
      to[next++] = {run.first, middle, ask(run.first, middle)};
      to[next++] = {middle, run.end, ask(middle, run.end)};
      split = true;
    }
    count = next;
    current ^= 1;
  }
  for (unsigned i = 0; i < count; ++i)
    append(out, buffers[current][i].first, buffers[current][i].end,
           buffers[current][i].kind);
  if (tail)
    append(out, whole, whole + 1, tailClass);
  return used;
}

namespace {

/// Finds the outermost key of a range that is not known to be hidden.
class HullSearch {
public:
  HullSearch(const HookProgram *mask, const Rect &rows,
             const Bindings &bindings)
      : mask(mask), rect(rows), bindings(bindings) {}

  /// Keys lo..hi inclusive.  False if none can be visible.  `fromRight`: the
  /// last key, else the first.
  bool find(int32_t lo, int32_t hi, bool fromRight, int32_t &key) {
    key = fromRight ? hi : lo;
    if (budget == 0)
      return true;
    --budget;
    rect.k0 = lo;
    rect.k1 = hi;
    BlockClass kind = classify(mask, rect, bindings);
    if (kind == BlockClass::Skip)
      return false;
    if (kind == BlockClass::Full || lo == hi)
      return true;
    int32_t middle = lo + (hi - lo) / 2;
    if (fromRight)
      return find(middle + 1, hi, true, key) || find(lo, middle, true, key);
    return find(lo, middle, false, key) || find(middle + 1, hi, false, key);
  }

  unsigned budget = 0;

private:
  const HookProgram *mask;
  Rect rect;
  const Bindings &bindings;
};

} // namespace

KeyRange attn::mask::visibleHull(const HookProgram *mask, const Rect &rows,
                                 const Bindings &bindings, int32_t kvBegin,
                                 int32_t kvEnd, unsigned budget) {
  if (kvBegin >= kvEnd)
    return {kvBegin, kvBegin};
  HullSearch search(mask, rows, bindings);
  int32_t first, last;
  search.budget = budget / 2;
  if (!search.find(kvBegin, kvEnd - 1, /*fromRight=*/false, first))
    return {kvBegin, kvBegin};
  search.budget += budget - budget / 2;
  if (!search.find(first, kvEnd - 1, /*fromRight=*/true, last))
    return {kvBegin, kvBegin}; // a finer question found nothing after all
  return {first, last + 1};
}

int64_t attn::mask::countVisibleKeys(const std::vector<BlockRange> &ranges,
                                     int32_t kvBegin, int32_t kvEnd,
                                     int32_t tileK) {
  int64_t keys = 0;
  for (const BlockRange &r : ranges) {
    if (r.kind == BlockClass::Skip)
      continue;
    int64_t begin = kvBegin + int64_t(r.first) * tileK;
    int64_t end = std::min<int64_t>(kvEnd, kvBegin + int64_t(r.end) * tileK);
    keys += end - begin;
  }
  return keys;
}
