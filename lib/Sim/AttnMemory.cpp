//===- AttnMemory.cpp - loads and stores of tiles -------------------------===//
//
// The only place of levels L1 and L2 that touches global memory.
//
//   element (token, head, d) of request r at
//     r * strides.batch + (begin + token) * strides.token + head * strides.head
//     + d
//
// Invariant: only live rows are read and written, and only keys from 0 to below kv1.
//
//===----------------------------------------------------------------------===//

#include "AttnInterp.h"

#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::sim;

static Tile loadQuery(const TensorHandle &tensor, const RowMap &map,
                      TileType type, float tail = 0) {
  Tile tile(type.getRows(), type.getCols(), tail);
  for (int32_t r = 0; r < tile.rows; ++r) {
    const RowMap::Row &row = map.rows[r];
    if (!row.live)
      continue;
    int64_t at =
        tensor.offset(map.request, int64_t(map.qBegin) + row.token, row.head);
    for (int32_t d = 0; d < tile.cols; ++d)
      tile.row(r)[d] = oracle::loadElement(tensor.element, tensor.base, at + d);
  }
  return tile;
}

static Tile loadKV(const TensorHandle &tensor, TileType type, int64_t request,
                   int64_t head, int64_t begin, int64_t k0, int64_t kv1,
                   float tail) {
  Tile tile(type.getRows(), type.getCols(), tail);
  for (int32_t r = 0; r < tile.rows && k0 + r < kv1; ++r) {
    int64_t at = tensor.offset(request, begin + k0 + r, head);
    for (int32_t d = 0; d < tile.cols; ++d)
      tile.row(r)[d] = oracle::loadElement(tensor.element, tensor.base, at + d);
  }
  return tile;
}

/// The keys of load_kv and copy_kv.
template <class OpT>
static FailureOr<Tile> loadKVOf(OpT op, TileType type, Interp &interp,
                                float tail = 0) {
  int64_t k0 = interp.getInt(op.getK0());
  if (k0 < 0) {
    (void)interp.fail(op,
                      "first key is " + Twine(k0) + " but must be at least 0");
    return failure();
  }
  return loadKV(interp.get<TensorHandle>(op.getTensor()), type,
                interp.getInt(op.getRequest()), interp.getInt(op.getKvHead()),
                interp.getInt(op.getKvBegin()), k0, interp.getInt(op.getKv1()),
                tail);
}

static LogicalResult store(StoreOp op, Interp &interp) {
  Tile *tile = tileOf(op, op.getTile(), interp);
  if (!tile)
    return failure();
  const RowMap &map = interp.get<RowMap>(op.getRows());
  const TensorHandle &output = interp.get<TensorHandle>(op.getOutput());
  const TensorHandle *lse =
      op.getLse() ? &interp.get<TensorHandle>(op.getLse()) : nullptr;
  const RowVec *rowLse =
      op.getRowLse() ? &interp.get<RowVec>(op.getRowLse()) : nullptr;
  for (auto [r, row] : llvm::enumerate(map.rows)) {
    if (!row.live)
      continue;
    int64_t token = int64_t(map.qBegin) + row.token;
    int64_t at = output.offset(map.request, token, row.head);
    for (int32_t d = 0; d < tile->cols; ++d)
      oracle::storeElement(output.element, output.base, at + d,
                           tile->row(r)[d]);
    if (lse && lse->base && rowLse)
      oracle::storeElement(lse->element, lse->base,
                           lse->offset(map.request, token, row.head),
                           rowLse->data[r]);
  }
  return success();
}

static LogicalResult storePartial(StorePartialOp op, Interp &interp) {
  auto parts = op.getParts();
  Tile *tile = tileOf(op, parts[0], interp);
  if (!tile)
    return failure();
  const RowMap &map = interp.get<RowMap>(op.getRows());
  const attn_kernel_params &params = interp.state<AttnState>().params;
  auto *o = reinterpret_cast<float *>(params.partial_o);
  auto *rows = reinterpret_cast<float *>(params.partial_rows);
  int64_t slot = interp.getInt(op.getSlot());
  if (!o || slot < 0)
    return interp.fail(op, "slot " + Twine(slot) + " has no buffer");
  bool softmax = parts.size() == 3;
  const RowVec *m = softmax ? &interp.get<RowVec>(parts[1]) : nullptr;
  const RowVec *l = softmax ? &interp.get<RowVec>(parts[2]) : nullptr;
  for (auto [r, row] : llvm::enumerate(map.rows)) {
    if (!row.live)
      continue;
    int64_t at = map.first + int64_t(r);
    float *to = o + (slot * map.whole + at) * tile->cols;
    std::memcpy(to, tile->row(r), sizeof(float) * tile->cols);
    if (!softmax)
      continue;
    if (l->data[r] == 0)
      std::fill(to, to + tile->cols, 0.0f);
    float *rowsOfSlot = rows + slot * 2 * map.whole;
    rowsOfSlot[at] = m->data[r];
    rowsOfSlot[map.whole + at] = l->data[r];
  }
  return success();
}

static LogicalResult loadPartial(LoadPartialOp op, Interp &interp) {
  const RowMap &map = interp.get<RowMap>(op.getRows());
  const attn_kernel_params &params = interp.state<AttnState>().params;
  auto *o = reinterpret_cast<const float *>(params.partial_o);
  auto *rows = reinterpret_cast<const float *>(params.partial_rows);
  int64_t slot = interp.getInt(op.getSlot());
  if (!o || slot < 0)
    return interp.fail(op, "slot " + Twine(slot) + " has no buffer");
  TileType type = op.getO().getType();
  auto tile = std::make_shared<Tile>(type.getRows(), type.getCols());
  auto m = std::make_shared<RowVec>(type.getRows(),
                                    -std::numeric_limits<float>::infinity());
  auto l = std::make_shared<RowVec>(type.getRows(), 0.0f);
  for (auto [r, row] : llvm::enumerate(map.rows)) {
    if (!row.live)
      continue;
    int64_t at = map.first + int64_t(r);
    std::memcpy(tile->row(r), o + (slot * map.whole + at) * tile->cols,
                sizeof(float) * tile->cols);
    if (!op.getM())
      continue;
    const float *rowsOfSlot = rows + slot * 2 * map.whole;
    m->data[r] = rowsOfSlot[at];
    l->data[r] = rowsOfSlot[map.whole + at];
  }
  interp.set(op.getO(), Datum(tile));
  if (op.getM()) {
    interp.set(op.getM(), Datum(m));
    interp.set(op.getL(), Datum(l));
  }
  return success();
}

LogicalResult attn::sim::runMemoryOp(Operation *op, Interp &interp) {
  if (auto load = dyn_cast<LoadQueryOp>(op)) {
    auto type = cast<TileType>(load.getResult().getType());
    interp.set(
        load.getResult(),
        Datum::make<Tile>(loadQuery(interp.get<TensorHandle>(load.getTensor()),
                                    interp.get<RowMap>(load.getRows()), type)));
    return success();
  }
  if (auto load = dyn_cast<LoadKVOp>(op)) {
    auto type = cast<TileType>(load.getResult().getType());
    FailureOr<Tile> tile = loadKVOf(load, type, interp);
    if (failed(tile))
      return failure();
    interp.set(load.getResult(), Datum::make<Tile>(*std::move(tile)));
    return success();
  }
  auto payloadOf = [](mlir::Value slot) -> TileType {
    if (auto type = dyn_cast<pipe::SlotType>(slot.getType()))
      return dyn_cast<TileType>(type.getPayload());
    return {};
  };
  if (auto copy = dyn_cast<CopyQueryOp>(op)) {
    TileType type = payloadOf(copy.getSlot());
    if (!type)
      return interp.fail(op, "slot does not hold a tile");
    return writeSlot(op, copy.getSlot(),
                     loadQuery(interp.get<TensorHandle>(copy.getTensor()),
                               interp.get<RowMap>(copy.getRows()), type,
                               tailOf(interp)),
                     interp);
  }
  if (auto copy = dyn_cast<CopyKVOp>(op)) {
    TileType type = payloadOf(copy.getSlot());
    if (!type)
      return interp.fail(op, "slot does not hold a tile");
    FailureOr<Tile> tile = loadKVOf(copy, type, interp, tailOf(interp));
    if (failed(tile))
      return failure();
    return writeSlot(op, copy.getSlot(), *std::move(tile), interp);
  }
  if (auto zero = dyn_cast<ZeroRowsOp>(op)) {
    Tile *tile = slotTile(op, zero.getSlot(), interp);
    if (!tile)
      return failure();
    int64_t valid =
        std::clamp<int64_t>(interp.getInt(zero.getValid()), 0, tile->rows);
    std::fill(tile->data.begin() + valid * tile->cols, tile->data.end(), 0.0f);
    return success();
  }
  if (auto op1 = dyn_cast<StoreOp>(op))
    return store(op1, interp);
  if (auto op1 = dyn_cast<StorePartialOp>(op))
    return storePartial(op1, interp);
  return loadPartial(cast<LoadPartialOp>(op), interp);
}
