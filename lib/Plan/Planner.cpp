//===- Planner.cpp - from request lengths to work lists -------------------===//
//
// Three steps over one scratch buffer:
//
//   tiles    (request, rows, visible hull), for one head if all heads see the
//            same, else for each head
//   pieces   tiles cut into splits, with cost; sorted by (cost, order)
//   plan     pieces replicated over the heads, slots and merges filled in;
//            a section (Sections.h) after the other, head by head where the
//            cost is one
//
// Balance: with L = total cost / workers no piece should cost more than about
// L.  A split holds max(L - cost of a full tile's rows, L / 2) worth of keys,
// so the pieces beyond one a tile number at most 2 * workers: sum over tiles of
// (splits - 1) <= sum of keys / split <= (total / costKv) / (L / 2 / costKv).
//
//===----------------------------------------------------------------------===//
#include "attn/Plan/Planner.h"
#include "Sections.h"

#include "attn/ABI/Version.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace attn::plan {
namespace {

/// The device reads an item's index from the low 30 bits of a work word.
constexpr int64_t kMaxItems = (int64_t(1) << 30) - 1;
/// A split below this many tiles of keys costs more than it saves.
constexpr int64_t kMinSplitTiles = 4;

struct Tile {
  TileRows rows;
  int32_t row0, rowCount;
  int32_t begin, end;     ///< hull, tile-aligned outward, within [0, kvLen)
  int64_t visible;        ///< keys for the cost
  int32_t whole0, whole1; ///< keys that every row sees, in whole blocks
  int32_t firstPiece;
  int32_t pieces;
  uint32_t firstSlot; ///< of the first head
};

struct Piece {
  int32_t tile;
  int32_t begin, end;
  float cost;
};

bool fail(Error &error, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error.text, sizeof(error.text), format, list);
  va_end(list);
  return false;
}

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

bool check(const Problem &p, const Options &o, Error &error) {
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
  if (p.tileQ % p.pack != 0)
    return fail(error, "tile of %d rows is not a multiple of pack %d", p.tileQ,
                p.pack);
  if (!(p.costQ >= 0 && p.costQ <= 1e30f) ||
      !(p.costKv >= 0 && p.costKv <= 1e30f))
    return fail(error, "costs are %g and %g but must lie in [0, 1e30]",
                double(p.costQ), double(p.costKv));
  if (o.workers <= 0)
    return fail(error, "workers is %d but the least is 1", o.workers);
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

int64_t maxSplitsOf(const Options &o) {
  return o.maxSplits ? o.maxSplits : ATTN_MAX_SPLITS;
}

/// For what check() has bounded: a quarter of the time of a division of 64 bits, of
/// which a batch of small requests is full.
uint32_t ceilDiv32(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

int64_t tilesOf(const Problem &p, int32_t r) {
  return ceilDiv32(uint32_t(p.qLens[r] * p.pack), p.tileQ);
}

/// Offsets of the arrays in the plan and in the scratch buffer.
struct PlanLayout {
  uint64_t items, merges, requests, bytes;
  PlanLayout(uint64_t itemCount, uint64_t mergeCount, uint64_t requestCount) {
    items = sizeof(attn_plan_header);
    merges = items + itemCount * sizeof(attn_work_item);
    requests = merges + mergeCount * sizeof(attn_merge_item);
    bytes = requests + requestCount * sizeof(attn_request_record);
  }
};

struct ScratchLayout {
  uint64_t tiles, pieces, keys, spare, loads, order, firsts, bytes;
  ScratchLayout(uint64_t tileCount, uint64_t pieceCount, uint64_t requests) {
    tiles = 0;
    pieces = roundUp(tileCount * sizeof(Tile), 16);
    keys = pieces + roundUp(pieceCount * sizeof(Piece), 16);
    // Both sort requests too, which may be more.
    uint64_t keyCount = std::max(pieceCount, requests);
    spare = keys + keyCount * sizeof(uint64_t);
    loads = spare + roundUp(keyCount * sizeof(uint64_t), 16);
    order = loads + roundUp(requests * sizeof(RequestLoad), 16);
    firsts = order + roundUp(requests * sizeof(int32_t), 16);
    bytes = firsts + roundUp(requests * sizeof(int32_t), 16);
  }
};

/// Capacities and how many entries the scratch arrays hold.
struct Counts {
  Capacity capacity;
  int64_t tiles = 0;  ///< entries of the tile array
  int64_t pieces = 0; ///< entries of the piece array
  int32_t copies = 1; ///< heads that one tile entry stands for
};

bool count(const Problem &p, const Options &o, Counts &counts, Error &error) {
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
  c.scratchBytes = ScratchLayout(counts.tiles, counts.pieces, p.batch).bytes;
  return true;
}

class Builder {
public:
  Builder(const Problem &p, const Options &o, const Counts &counts, char *plan,
          char *scratch, Summary &summary, Error &error)
      : p(p), o(o), counts(counts), summary(summary), error(error), plan(plan),
        layout(counts.capacity.items, counts.capacity.merges,
               counts.capacity.requests) {
    ScratchLayout at(counts.tiles, counts.pieces, p.batch);
    tiles = reinterpret_cast<Tile *>(scratch + at.tiles);
    pieces = reinterpret_cast<Piece *>(scratch + at.pieces);
    keys = reinterpret_cast<uint64_t *>(scratch + at.keys);
    spare = reinterpret_cast<uint64_t *>(scratch + at.spare);
    loads = reinterpret_cast<RequestLoad *>(scratch + at.loads);
    order = reinterpret_cast<int32_t *>(scratch + at.order);
    firsts = reinterpret_cast<int32_t *>(scratch + at.firsts);
  }

  bool run() {
    makeTiles();
    if (!(o.splitKeys ? cutForced() : cutForBalance()))
      return false;
    chooseSections();
    sortPieces();
    emit();
    return true;
  }

private:
  double rowCost(int64_t rows) const { return double(p.costQ) * rows; }

  /// Narrows [begin, end) to what the tile may see; (0, 0) if that is nothing.
  /// Returns the keys that count for the cost.
  int64_t look(const Tile &tile, Hull &hull) const {
    int32_t low = hull.begin, high = hull.end;
    int64_t visible = int64_t(high) - low;
    if (low < high && p.visibility) {
      visible = p.visibility->look(p.visibility->context, tile.rows, hull);
      hull.begin = std::max(hull.begin, low);
      hull.end = std::min(hull.end, high);
    }
    if (hull.begin >= hull.end) {
      hull = {0, 0};
      return 0;
    }
    return std::clamp<int64_t>(visible, 0, int64_t(hull.end) - hull.begin);
  }

  void makeTiles() {
    int32_t entryHeads = p.heads / p.pack / counts.copies;
    for (int32_t r = 0; r < p.batch; ++r) {
      int64_t packedRows = int64_t(p.qLens[r]) * p.pack;
      int64_t perHead = tilesOf(p, r);
      // Only what several items read is worth keeping in L2.
      bool shared = perHead * headsOfKv() > 1;
      loads[r] = {};
      if (shared && o.l2Bytes)
        loads[r].bytes = double(p.kvLens[r]) * p.keyBytes * p.kvHeads;
      sharedBytes += loads[r].bytes;
      for (int32_t h = 0; h < entryHeads; ++h)
        for (int64_t t = 0; t < perHead; ++t) {
          Tile &tile = tiles[tileCount++];
          int64_t row0 = t * p.tileQ;
          tile.row0 = int32_t(row0);
          tile.rowCount =
              int32_t(std::min<int64_t>(p.tileQ, packedRows - row0));
          tile.rows.request = r;
          tile.rows.head0 = h * p.pack;
          tile.rows.head1 = h * p.pack + p.pack - 1;
          uint32_t last = uint32_t(row0) + uint32_t(tile.rowCount) - 1;
          tile.rows.token0 = int32_t(uint32_t(row0) / uint32_t(p.pack));
          tile.rows.token1 = int32_t(last / uint32_t(p.pack));
          tile.rows.qLen = p.qLens[r];
          tile.rows.kvLen = p.kvLens[r];
          Hull hull{0, p.kvLens[r]};
          tile.visible = look(tile, hull);
          // Whole blocks from key 0, so that narrowing moves no block border.
          tile.begin = hull.begin / p.tileK * p.tileK;
          tile.end = std::min(int32_t(ceilDiv32(hull.end, p.tileK)) * p.tileK,
                              p.kvLens[r]);
          tile.whole0 = hull.whole0;
          tile.whole1 = hull.whole1;
          tile.firstSlot = 0;
          tile.firstPiece = 0;
          tile.pieces = 0;
          summary.totalCost +=
              (rowCost(tile.rowCount) + double(p.costKv) * tile.visible) *
              counts.copies;
        }
    }
  }

  /// Cuts a tile into pieces of `length` keys; drops those that see nothing.
  void cut(int32_t index, int64_t length) {
    Tile &tile = tiles[index];
    tile.firstPiece = pieceCount;
    int64_t keysOfTile = tile.end - tile.begin;
    bool whole = keysOfTile <= length;
    for (int64_t at = tile.begin; at < tile.end; at += length) {
      int32_t begin = int32_t(at);
      int32_t end = int32_t(std::min<int64_t>(at + length, tile.end));
      int64_t visible = tile.visible;
      if (!whole) {
        Hull hull{begin, end};
        visible = look(tile, hull);
        if (hull.begin >= hull.end)
          continue;
      }
      add(index, begin, end, visible);
    }
    // Its rows must be written even if they see nothing.
    if (pieceCount == tile.firstPiece)
      add(index, 0, 0, 0);
    tile.pieces = pieceCount - tile.firstPiece;
    if (tile.pieces > 1)
      summary.splitKeys =
          std::max(summary.splitKeys, uint32_t(std::min(length, keysOfTile)));
  }

  void add(int32_t tile, int32_t begin, int32_t end, int64_t visible) {
    double cost =
        rowCost(tiles[tile].rowCount) + double(p.costKv) * double(visible);
    pieces[pieceCount] = {tile, begin, end, float(cost)};
    ++pieceCount;
    summary.longestCost = std::max(summary.longestCost, cost);
  }

  bool cutForced() {
    for (int32_t i = 0; i < tileCount; ++i) {
      int64_t n = ceilDiv(tiles[i].end - tiles[i].begin, o.splitKeys);
      if (n > maxSplitsOf(o))
        return fail(
            error,
            "request %d needs %ld splits of %d keys but a tile has at most %ld",
            tiles[i].rows.request, n, o.splitKeys, maxSplitsOf(o));
      cut(i, o.splitKeys);
    }
    return true;
  }

  bool cutForBalance() {
    double share = summary.totalCost / o.workers;
    double keyShare = std::max(share - rowCost(p.tileQ), share / 2);
    double wanted = p.costKv > 0 ? keyShare / p.costKv : double(INT32_MAX);
    int64_t least = kMinSplitTiles * p.tileK;
    int64_t length = INT32_MAX;
    if (wanted < double(INT32_MAX - p.tileK))
      length = std::max(least, roundUp(int64_t(std::ceil(wanted)), p.tileK));
    for (int32_t i = 0; i < tileCount; ++i) {
      Tile &tile = tiles[i];
      int64_t span = tile.end - tile.begin;
      // The share counts visible keys only; holes stretch a split.  A tile that
      // is within the share stays whole, rounding of the sum aside.
      double cost = rowCost(tile.rowCount) + double(p.costKv) * tile.visible;
      int64_t n =
          cost <= share * (1 + 1e-9)
              ? 1
              : std::min(ceilDiv(std::max<int64_t>(tile.visible, 1), length),
                         maxSplitsOf(o));
      cut(i, n <= 1 ? std::max<int64_t>(span, 1)
                    : roundUp(ceilDiv(span, n), p.tileK));
    }
    return true;
  }

  /// Entries of a plan that share one KV head.
  int32_t headsOfKv() const { return p.heads / p.pack / p.kvHeads; }

  void chooseSections() {
    // Decode reads nothing twice: one section, whatever its items cost.
    for (int32_t i = 0; sharedBytes > 0 && i < pieceCount; ++i) {
      RequestLoad &load = loads[tiles[pieces[i].tile].rows.request];
      load.cost += double(pieces[i].cost) * counts.copies;
      load.longest = std::max(load.longest, double(pieces[i].cost));
    }
    sectionCount = cutSections(loads, p.batch, p.kvHeads, o.l2Bytes, o.workers,
                               keys, order, sections);
    summary.sections = uint32_t(sectionCount);
    for (int32_t s = sectionCount - 1; s >= 0; --s)
      for (int32_t rank = sections[s].rank0; rank < sections[s].rank1; ++rank)
        firsts[order[rank]] = s;
  }

  /// The section whose list of pieces holds this one.  Where one head stands for
  /// all, the sections of a request have one list.
  int32_t listOf(const Piece &piece) const {
    if (sectionCount == 1)
      return 0;
    const TileRows &rows = tiles[piece.tile].rows;
    int32_t s = firsts[rows.request];
    if (counts.copies == 1)
      for (int32_t kvHead = rows.head0 / (p.heads / p.kvHeads);
           kvHead >= sections[s].head1;)
        ++s;
    return s;
  }

  /// Section by section; longest first, then in order of making.
  void sortPieces() {
    int32_t next[kMaxSections] = {};
    for (int32_t i = 0; i < pieceCount; ++i)
      ++next[listOf(pieces[i])];
    int32_t end = 0;
    for (int32_t s = 0; s < sectionCount; ++s) {
      int32_t size = next[s];
      next[s] = end;
      end += size;
      listEnds[s] = end;
    }
    for (int32_t i = 0; i < pieceCount; ++i) {
      keys[next[listOf(pieces[i])]++] = sortKey(pieces[i].cost, uint32_t(i));
    }
    for (int32_t s = 0; s < sectionCount; ++s)
      sortKeys(keys + (s ? listEnds[s - 1] : 0), keys + listEnds[s], spare);
  }

  void emit() {
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
    for (int32_t s = 0; s < sectionCount; ++s) {
      bool own = counts.copies == 1;
      // Sections of one request share the list of the first.
      int32_t list = s;
      if (!own && sections[s].rank0 < sections[s].rank1)
        list = firsts[order[sections[s].rank0]];
      next = emitSection(list ? listEnds[list - 1] : 0, listEnds[list],
                         own ? 0 : sections[s].head0 * headsOfKv(),
                         own ? 1 : sections[s].head1 * headsOfKv(), next);
    }
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

  /// The items of keys [begin, end) for the heads [copy0, copy1).  Pieces of one
  /// cost come head by head: items that run at the same time then read the same
  /// keys, and nothing is lost in balance.
  attn_work_item *emitSection(int32_t begin, int32_t end, int32_t copy0,
                              int32_t copy1, attn_work_item *next) const {
    for (int32_t run = begin; run < end;) {
      int32_t stop = run + 1;
      while (stop < end && keys[stop] >> 32 == keys[run] >> 32)
        ++stop;
      // As many heads at once as follow each other for one piece.
      int32_t together = stop - run == 1 ? copy1 - copy0 : 1;
      for (int32_t copy = copy0; copy < copy1; copy += together)
        for (int32_t i = run; i < stop; ++i)
          next = emitPiece(int32_t(uint32_t(keys[i])), copy, copy + together,
                           next);
      run = stop;
    }
    return next;
  }

  /// Which blocks of the piece, counted from its begin, lie in the tile's whole ones.
  uint32_t bodyOf(const Tile &tile, const Piece &piece) const {
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

  /// The items of a piece for the heads [copy0, copy1).
  attn_work_item *emitPiece(int32_t index, int32_t copy0, int32_t copy1,
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

  int32_t headOf(const Tile &tile, int32_t copy) const {
    return tile.rows.head0 / p.pack + copy;
  }

  const Problem &p;
  const Options &o;
  const Counts &counts;
  Summary &summary;
  Error &error;
  char *plan;
  PlanLayout layout;
  Tile *tiles;
  Piece *pieces;
  uint64_t *keys;
  uint64_t *spare; ///< behind them, as many
  RequestLoad *loads;
  int32_t *order;  ///< of the requests, by their longest item
  int32_t *firsts; ///< first section of each request
  int32_t tileCount = 0;
  int32_t pieceCount = 0;
  double sharedBytes = 0; ///< of the loads
  int32_t sectionCount = 1;
  Section sections[kMaxSections];
  int32_t listEnds[kMaxSections]; ///< of each section's pieces, in `keys`
};

} // namespace

bool capacity(const Problem &problem, const Options &options, Capacity &result,
              Error &error) {
  Counts counts;
  if (!count(problem, options, counts, error))
    return false;
  result = counts.capacity;
  return true;
}

bool build(const Problem &problem, const Options &options, void *plan,
           uint64_t planBytes, void *scratch, uint64_t scratchBytes,
           Summary &summary, Error &error) {
  summary = {};
  Counts counts;
  if (!count(problem, options, counts, error))
    return false;
  if (planBytes < counts.capacity.planBytes)
    return fail(error, "plan needs %lu bytes but the buffer has %lu",
                counts.capacity.planBytes, planBytes);
  if (scratchBytes < counts.capacity.scratchBytes)
    return fail(error, "planning needs %lu bytes but the scratch has %lu",
                counts.capacity.scratchBytes, scratchBytes);
  Builder builder(problem, options, counts, static_cast<char *>(plan),
                  static_cast<char *>(scratch), summary, error);
  return builder.run();
}

} // namespace attn::plan
