//===- Emit.cpp - the records of a plan -----------------------------------===//
//
// See Builder.h: pieces over the heads, in the order of the list, with their slots
// and merges; then the last wave in the place of what it was cut from.
//
//===----------------------------------------------------------------------===//
#include "Builder.h"

using namespace attn::plan;

void Builder::emit() {
  auto *header = reinterpret_cast<attn_plan_header *>(plan);
  auto *items = reinterpret_cast<attn_work_item *>(plan + layout.items);
  auto *merges = reinterpret_cast<attn_merge_item *>(plan + layout.merges);
  auto *requests =
      reinterpret_cast<attn_request_record *>(plan + layout.requests);
  uint32_t mergeCount = 0, slotCount = 0;

  for (int32_t t = 0; t < tileCount; ++t) {
    Tile &tile = tiles[t];
    if (tile.pieces < 2)
      continue;
    tile.firstSlot = slotCount;
    for (int32_t copy = 0; copy < counts.copies; ++copy) {
      merges[mergeCount++] = {
          tile.rows.request,  headOf(tile, copy), tile.row0, tile.rowCount,
          int32_t(slotCount), tile.pieces,        {0, 0}};
      slotCount += tile.pieces;
    }
  }
  attn_work_item *next = items;
  for (Run run = firstRun(); run.size() > 0; run = runBehind(run))
    next = emitRun(run, next);
  if (o.inTurn)
    turnRounds(items);
  // The last wave replaces the items that it is made of.
  if (waveItemCount > 0)
    next = emitWave(next - waveItemCount, mergeCount, slotCount);
  uint32_t itemCount = uint32_t(next - items);
  for (int32_t r = 0; r < p.batch; ++r)
    requests[r] = {p.qBegins ? p.qBegins[r] : 0, p.qLens[r],
                   p.kvBegins ? p.kvBegins[r] : 0, p.kvLens[r]};

  const Capacity &c = counts.capacity;
  *header = {};
  header->abi = ATTN_ABI_VERSION;
  header->items = itemCount;
  header->merges = mergeCount;
  header->requests = uint32_t(p.batch);
  header->item_capacity = c.items;
  header->merge_capacity = c.merges;
  header->request_capacity = c.requests;
  header->slots = slotCount;
  header->items_offset = uint32_t(layout.items);
  header->merges_offset = uint32_t(layout.merges);
  header->requests_offset = uint32_t(layout.requests);
  header->bytes = uint32_t(layout.bytes);
  // Records beyond the counts are inert: zero rows.
  std::fill(items + itemCount, items + c.items, attn_work_item{});
  std::fill(merges + mergeCount, merges + c.merges, attn_merge_item{});
  summary.items = itemCount;
  summary.merges = mergeCount;
  summary.slots = slotCount;
}

attn_work_item *Builder::emitRun(const Run &run, attn_work_item *next) const {
  // As many heads at once as follow each other for one piece.
  int32_t together = run.size() == 1 ? run.copies() : 1;
  for (int32_t copy = run.copy0; copy < run.copy1; copy += together)
    for (int32_t i = run.begin; i < run.end; ++i)
      next = emitPiece(pieceAt(i), copy, copy + together, next);
  return next;
}

void Builder::turnRounds(attn_work_item *items) const {
  int64_t head = allItems() - lastRound(allItems(), o.workers);
  Rounds rounds(o.workers);
  for (Run run = firstRun(); head > 0; run = runBehind(run)) {
    int64_t n = std::min(run.items(), head);
    head -= n;
    rounds.pass(
        n, [&](int64_t whole) { items += whole * o.workers; },
        [&](int32_t begin, int32_t end) {
          items += end - begin;
          if (rounds.endsTurned())
            std::reverse(items - o.workers, items);
        });
  }
}

attn_work_item *Builder::emitWave(attn_work_item *next, uint32_t &mergeCount,
                                  uint32_t &slotCount) const {
  auto *merges = reinterpret_cast<attn_merge_item *>(plan + layout.merges);
  for (int32_t i = 0; i < waveItemCount; ++i) {
    WaveItem &item = waveItems[i];
    item.firstSlot = slotCount;
    if (item.splits < 2)
      continue;
    const Tile &tile = tiles[pieces[item.piece].tile];
    merges[mergeCount++] = {tile.rows.request,
                            headOf(tile, item.copy),
                            tile.row0,
                            tile.rowCount,
                            int32_t(slotCount),
                            item.splits,
                            {0, 0}};
    slotCount += item.splits;
  }
  for (int32_t i = 0; i < waveCutCount; ++i) {
    const WaveCut &cut = waveCuts[i];
    const WaveItem &item = waveItems[cut.item];
    Piece piece = pieces[item.piece];
    piece.begin = cut.begin;
    piece.end = cut.end;
    const Tile &tile = tiles[piece.tile];
    *next++ = {tile.rows.request,
               headOf(tile, item.copy),
               tile.row0,
               tile.rowCount,
               piece.begin,
               piece.end,
               item.splits < 2 ? -1 : int32_t(item.firstSlot + cut.split),
               ATTN_ITEM_FLAGS(bodyOf(tile, piece), cut.split, item.splits)};
  }
  return next;
}

uint32_t Builder::bodyOf(const Tile &tile, const Piece &piece) const {
  int64_t low = std::max(tile.whole0, piece.begin) - int64_t(piece.begin);
  int64_t high = std::min(tile.whole1, piece.end) - int64_t(piece.begin);
  if (low >= high)
    return 0;
  int64_t first = ceilDiv(low, p.tileK);
  int64_t last =
      ceilDiv(int64_t(piece.end) - piece.begin, p.tileK) - high / p.tileK;
  bool any = first * p.tileK < high / p.tileK * p.tileK;
  return any && first < ATTN_ITEM_EDGE && last < ATTN_ITEM_EDGE
             ? ATTN_ITEM_WHOLE(first, last)
             : 0;
}

attn_work_item *Builder::emitPiece(int32_t index, int32_t copy0, int32_t copy1,
                                   attn_work_item *next) const {
  const Piece &piece = pieces[index];
  const Tile &tile = tiles[piece.tile];
  int32_t split = index - tile.firstPiece;
  bool whole = tile.pieces < 2;
  attn_work_item item = {
      tile.rows.request,
      headOf(tile, copy0),
      tile.row0,
      tile.rowCount,
      piece.begin,
      piece.end,
      whole ? -1 : int32_t(tile.firstSlot + copy0 * tile.pieces + split),
      ATTN_ITEM_FLAGS(bodyOf(tile, piece), split, tile.pieces)};
  // Most of a plan is written here: a division a record is a tenth of its time.
  int32_t slots = whole ? 0 : tile.pieces;
  for (int32_t copy = copy0; copy < copy1; ++copy) {
    *next++ = item;
    ++item.head;
    item.slot += slots;
  }
  return next;
}
