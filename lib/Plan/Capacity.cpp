//===- Capacity.cpp - what a plan takes, before it is made ----------------===//
//
// See Capacity.h.
//
//===----------------------------------------------------------------------===//
#include "Capacity.h"

#include <climits>
#include <cmath>
#include <cstdarg>
#include <cstdio>

using namespace attn::plan;

/// The device reads an item's index from the low 30 bits of a work word.
static constexpr int64_t kMaxItems = (int64_t(1) << 30) - 1;

bool attn::plan::fail(Error &error, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error.text, sizeof(error.text), format, list);
  va_end(list);
  return false;
}

static bool check(const Problem &p, const Options &o, Error &error) {
  if (p.batch < 0)
    return fail(error, "batch is %d but the least is 0", p.batch);
  if (p.batch > 0 && (!p.qLens || !p.kvLens))
    return fail(error, "batch is %d but the lengths are missing", p.batch);
  if (p.heads <= 0 || p.kvHeads <= 0 || p.heads % p.kvHeads != 0)
    return fail(error, "%d heads are not a multiple of %d kv heads", p.heads,
                p.kvHeads);
  if (p.pack != 1 && p.pack != p.heads / p.kvHeads)
    return fail(error, "pack is %d but only 1 and %d are possible", p.pack,
                p.heads / p.kvHeads);
  if (p.tileQ <= 0 || p.tileK <= 0)
    return fail(error, "tile is %d x %d but both must be at least 1", p.tileQ,
                p.tileK);
  if (p.tileQ < p.pack)
    return fail(error, "tile of %d rows is smaller than pack %d", p.tileQ,
                p.pack);
  if (!(p.costQ >= 0 && p.costQ <= 1e30f) ||
      !(p.costKv >= 0 && p.costKv <= 1e30f))
    return fail(error, "costs are %g and %g but must lie in [0, 1e30]",
                double(p.costQ), double(p.costKv));
  if (!(p.split.row >= 0 && p.split.row <= SplitCost::kNever) ||
      !(p.split.launch >= 0 && p.split.launch <= SplitCost::kNever) ||
      !(p.split.dram >= 0 && p.split.dram <= SplitCost::kNever))
    return fail(
        error,
        "a split costs %g a row and %g a launch and DRAM gives %g bytes "
        "but all must lie in [0, 1e30]",
        double(p.split.row), double(p.split.launch), double(p.split.dram));
  if (o.workers <= 0)
    return fail(error, "workers is %d but the least is 1", o.workers);
  if (o.enough < 0 || o.enough > o.workers)
    return fail(error, "%d workers are enough but there are %d", o.enough,
                o.workers);
  if (o.splitKeys < 0)
    return fail(error, "split length is %d keys but the least is 0",
                o.splitKeys);
  if (o.maxSplits < 0 || o.maxSplits > ATTN_MAX_SPLITS)
    return fail(error, "max splits is %d but the most is %d", o.maxSplits,
                ATTN_MAX_SPLITS);
  for (int32_t r = 0; r < p.batch; ++r) {
    int64_t q = p.qLens[r], kv = p.kvLens[r];
    int64_t q0 = p.qBegins ? p.qBegins[r] : 0;
    int64_t kv0 = p.kvBegins ? p.kvBegins[r] : 0;
    if (q < 0 || kv < 0)
      return fail(error,
                  "request %d has q_len %ld and kv_len %ld but the least is 0",
                  r, q, kv);
    if (q0 < 0 || kv0 < 0)
      return fail(error,
                  "request %d begins at q %ld and kv %ld but the least is 0", r,
                  q0, kv0);
    if (q * p.pack + p.tileQ > INT32_MAX)
      return fail(error,
                  "request %d has %ld packed rows but an item counts to %d", r,
                  q * p.pack, INT32_MAX - p.tileQ);
    if (kv + p.tileK > INT32_MAX)
      return fail(error, "request %d has %ld keys but an item counts to %d", r,
                  kv, INT32_MAX - p.tileK);
    if (q0 + q > INT32_MAX || kv0 + kv > INT32_MAX)
      return fail(
          error,
          "request %d ends at q %ld and kv %ld but a record counts to %d", r,
          q0 + q, kv0 + kv, INT32_MAX);
  }
  return true;
}

bool attn::plan::count(const Problem &p, const Options &o, Counts &counts,
                       Error &error) {
  if (!check(p, o, error))
    return false;
  int64_t planHeads = p.heads / p.pack;
  bool perHead = p.visibility && p.visibility->readsHead;
  counts.copies = perHead ? 1 : int32_t(planHeads);
  int64_t entryHeads = perHead ? planHeads : 1;
  int64_t maxSplits = maxSplitsOf(o);

  // All in units of one head.  No sum or product can overflow: tiles stay below
  // 2^31 + 2^30 before the loop stops and splits of a tile below 2^12.
  int64_t tiles = 0, extra = 0, splitTiles = 0;
  int64_t piece = o.splitKeys ? o.splitKeys : kMinSplitTiles * p.tileK;
  for (int32_t r = 0; r < p.batch; ++r) {
    int64_t t = tilesOf(p, r);
    int64_t n = 1;
    if (p.kvLens[r] > piece)
      n = std::min<int64_t>(ceilDiv32(uint32_t(p.kvLens[r]), uint32_t(piece)),
                            maxSplits);
    tiles += t;
    if (n > 1) {
      splitTiles += t;
      extra += t * (n - 1);
    }
    if (tiles > kMaxItems / planHeads)
      break;
  }
  int64_t allExtra = 0, merges = 0;
  // The bound for chosen splits is over all heads together (see the top).
  if (tiles <= kMaxItems / planHeads) {
    if (o.splitKeys) {
      allExtra = extra * planHeads;
      merges = splitTiles * planHeads;
    } else {
      allExtra = std::min(extra * planHeads, 2 * int64_t(o.workers));
      merges = std::min(splitTiles * planHeads, allExtra);
    }
  }
  int64_t items = tiles * planHeads + allExtra;
  PlanLayout layout(items, merges, p.batch);
  if (tiles > kMaxItems / planHeads || items > kMaxItems ||
      layout.bytes > UINT32_MAX)
    return fail(error, "plan has at least %ld items but a plan holds %lu bytes",
                std::max(items, tiles * planHeads), uint64_t(UINT32_MAX));
  Capacity &c = counts.capacity;
  c.items = uint32_t(items);
  c.merges = uint32_t(merges);
  c.slots = uint32_t(allExtra + merges);
  c.requests = uint32_t(p.batch);
  c.planBytes = layout.bytes;
  counts.tiles = tiles * entryHeads;
  counts.pieces =
      counts.tiles + (perHead ? allExtra : std::min(extra, allExtra));
  // The wave's splits come out of the bound on chosen ones: each is at least as
  // long as the shortest of those, and there are at most a worker's.
  if (p.split.launch < SplitCost::kNever && !o.splitKeys && allExtra > 0 &&
      o.workers > 1 && o.workers <= kMaxWaveWorkers)
    counts.waveWorkers = o.workers;
  c.scratchBytes =
      ScratchLayout(counts.tiles, counts.pieces, p.batch, counts.waveWorkers)
          .bytes;
  return true;
}

bool attn::plan::capacity(const Problem &problem, const Options &options,
                          Capacity &result, Error &error) {
  Counts counts;
  if (!count(problem, options, counts, error))
    return false;
  result = counts.capacity;
  return true;
}
