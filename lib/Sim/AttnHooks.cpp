//===- AttnHooks.cpp - ops that run hooks ---------------------------------===//
//
// Hooks are compiled once a CTA into a flat list of scalar ops and run element
// by element, with the positions of the tile's row map.
//
//   apply_mask: k < kv1 && mask(b, head(r), position(r), k) ? s : fill
//
// Invariant: table indices are clamped before any read; dead rows and keys of
// other requests are never shown to a hook.
//
//===----------------------------------------------------------------------===//

#include "AttnInterp.h"
#include "attn/Analysis/InlineHook.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::sim;

//===----------------------------------------------------------------------===//
// Parameters, tables, lengths
//===----------------------------------------------------------------------===//

static ExternFn resolveTable(ReadOp read, const attn_table_param &table) {
  auto type = read.getTable().getType();
  bool isFloat = type.getElement().isF32();
  unsigned rank = type.getIndex().size();
  return [=](const Word *operands) {
    int64_t at = 0;
    for (unsigned d = 0; d < rank; ++d) {
      int64_t extent = table.extent[d];
      if (extent == 0)
        return Word();
      int64_t index = operands[d + 1].i;
      index = std::min(std::max<int64_t>(index, 0), extent - 1);
      at = at * extent + index;
    }
    if (!table.data)
      return Word();
    const char *p = reinterpret_cast<const char *>(table.data) + at * 4;
    uint32_t bits;
    std::memcpy(&bits, p, sizeof(bits));
    return isFloat ? Word::ofFloat(oracle::bitsToFloat(bits))
                   : Word::ofInt(static_cast<int32_t>(bits));
  };
}

ExternFn attn::sim::resolveHookOp(Operation *op, Interp &interp) {
  AttnState &state = interp.state<AttnState>();
  if (auto param = dyn_cast<ParamOp>(op)) {
    auto offset = state.layout->offsetOf("param." + param.getName().str());
    if (!offset)
      return nullptr;
    uint32_t bits = interp.param<uint32_t>(*offset);
    Word word = param.getResult().getType().isF32()
                    ? Word::ofFloat(oracle::bitsToFloat(bits))
                    : Word::ofInt(static_cast<int32_t>(bits));
    return [word](const Word *) { return word; };
  }
  if (auto read = dyn_cast<ReadOp>(op)) {
    auto table = read.getTable().getDefiningOp<TableOp>();
    if (!table)
      return nullptr;
    auto offset =
        state.layout->offsetOf("table." + table.getName().str() + ".data");
    if (!offset)
      return nullptr;
    return resolveTable(read, interp.param<attn_table_param>(*offset));
  }
  if (auto length = dyn_cast<LengthOp>(op)) {
    const int32_t *from = length.getIsKv() ? &state.kvLen : &state.qLen;
    return [from](const Word *) { return Word::ofInt(*from); };
  }
  if (isa<ElementOp>(op)) {
    AttnState *s = &state;
    return [s](const Word *operands) {
      if (s->vectorSize == 0)
        return Word();
      int64_t i = std::min<int64_t>(std::max<int64_t>(operands[1].i, 0),
                                    s->vectorSize - 1);
      return Word::ofFloat(s->vector[i]);
    };
  }
  return nullptr;
}

CompiledHook *attn::sim::getHook(Operation *op, HookKind kind, Interp &interp) {
  AttnState &state = interp.state<AttnState>();
  auto found = state.hooks.find(kind);
  if (found != state.hooks.end())
    return &found->second;
  VariantOp variant = state.kernel.getVariant();
  HookOp hook = variant ? variant.getHook(kind) : HookOp();
  if (!hook) {
    (void)interp.fail(op, "needs a hook '" + stringifyHookKind(kind) +
                              "' but the kernel has none");
    return nullptr;
  }
  CompiledHook &made = state.hooks[kind];
  std::string error;
  bool ok = made.program.compile(
      hook.getBody().front(),
      [&](Operation *inner) { return resolveHookOp(inner, interp); }, error);
  if (!ok) {
    (void)interp.fail(op, "hook '" + stringifyHookKind(kind) + "': " + error);
    return nullptr;
  }
  made.slots.resize(made.program.numSlots());
  return &made;
}

static bool hasHook(HookKind kind, Interp &interp) {
  VariantOp variant = interp.state<AttnState>().kernel.getVariant();
  return variant && variant.getHook(kind);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Shows a row map's lengths to attn.length.
static void enter(AttnState &state, const RowMap &map) {
  state.qLen = map.qLen;
  state.kvLen = map.kvLen;
}

static LogicalResult applyScore(ApplyScoreOp op, Interp &interp) {
  Tile *in = tileOf(op, op.getTile(), interp);
  if (!in)
    return failure();
  const RowMap &map = interp.get<RowMap>(op.getRows());
  float scale = interp.getFloat(op.getScale());
  int64_t k0 = interp.getInt(op.getK0()), kv1 = interp.getInt(op.getKv1());
  CompiledHook *hook = nullptr;
  if (hasHook(HookKind::Score, interp) &&
      !(hook = getHook(op, HookKind::Score, interp)))
    return failure();
  enter(interp.state<AttnState>(), map);
  auto out = std::make_shared<Tile>(in->rows, in->cols);
  for (int32_t r = 0; r < in->rows; ++r) {
    const RowMap::Row &row = map.rows[r];
    for (int32_t n = 0; n < in->cols; ++n) {
      float s = in->row(r)[n] * scale;
      if (hook && row.live && k0 + n < kv1) {
        hook->slots[0] = Word::ofFloat(s);
        hook->slots[1] = Word::ofInt(map.request);
        hook->slots[2] = Word::ofInt(row.head);
        hook->slots[3] = Word::ofInt(row.position);
        hook->slots[4] = Word::ofInt(k0 + n);
        s = hook->run().f;
      }
      out->row(r)[n] = s;
    }
  }
  interp.set(op.getResult(), Datum(out));
  return success();
}

static LogicalResult applyMask(ApplyMaskOp op, Interp &interp) {
  Tile *in = tileOf(op, op.getTile(), interp);
  if (!in)
    return failure();
  const RowMap &map = interp.get<RowMap>(op.getRows());
  int64_t k0 = interp.getInt(op.getK0()), kv1 = interp.getInt(op.getKv1());
  CompiledHook *hook = nullptr;
  if (hasHook(HookKind::Mask, interp) &&
      !(hook = getHook(op, HookKind::Mask, interp)))
    return failure();
  enter(interp.state<AttnState>(), map);
  float fill = op.getFill() == MaskFill::Zero
                   ? 0.0f
                   : -std::numeric_limits<float>::infinity();
  auto out = std::make_shared<Tile>(in->rows, in->cols);
  for (int32_t r = 0; r < in->rows; ++r) {
    const RowMap::Row &row = map.rows[r];
    for (int32_t n = 0; n < in->cols; ++n) {
      bool visible = row.live && k0 + n < kv1;
      if (visible && hook) {
        hook->slots[0] = Word::ofInt(map.request);
        hook->slots[1] = Word::ofInt(row.head);
        hook->slots[2] = Word::ofInt(row.position);
        hook->slots[3] = Word::ofInt(k0 + n);
        visible = hook->run().i != 0;
      }
      out->row(r)[n] = visible ? in->row(r)[n] : fill;
    }
  }
  interp.set(op.getResult(), Datum(out));
  return success();
}

static LogicalResult applySink(ApplySinkOp op, Interp &interp) {
  const RowMap &map = interp.get<RowMap>(op.getRows());
  CompiledHook *hook = getHook(op, HookKind::Sink, interp);
  if (!hook)
    return failure();
  enter(interp.state<AttnState>(), map);
  auto out = std::make_shared<RowVec>(map.rows.size());
  for (auto [r, row] : llvm::enumerate(map.rows)) {
    if (!row.live)
      continue;
    hook->slots[0] = Word::ofInt(map.request);
    hook->slots[1] = Word::ofInt(row.head);
    out->data[r] = hook->run().f;
  }
  interp.set(op.getResult(), Datum(out));
  return success();
}

/// Runs a vector hook on one row.
static void transformRow(CompiledHook &hook, AttnState &state, const float *in,
                         int32_t inSize, float *out, int32_t outSize,
                         int32_t request, int32_t head, int64_t position) {
  state.vector = in;
  state.vectorSize = inSize;
  hook.slots[1] = Word::ofInt(request);
  hook.slots[2] = Word::ofInt(head);
  hook.slots[3] = Word::ofInt(position);
  for (int32_t i = 0; i < outSize; ++i) {
    hook.slots[4] = Word::ofInt(i);
    out[i] = hook.run().f;
  }
}

static void roundTile(Tile &tile, Type type) {
  oracle::Element element = elementOf(type);
  if (element != oracle::Element::F32)
    for (float &x : tile.data)
      x = oracle::roundTo(element, x);
}

/// The hook on the live rows of a map, which are those of both tiles from `first`
/// on.
static void hookRows(CompiledHook &hook, const RowMap &map, const Tile &in,
                     Tile &out, int32_t first, Interp &interp) {
  AttnState &state = interp.state<AttnState>();
  enter(state, map);
  for (auto [r, row] : llvm::enumerate(map.rows))
    if (row.live)
      transformRow(hook, state, in.row(first + int32_t(r)), in.cols,
                   out.row(first + int32_t(r)), out.cols, map.request, row.head,
                   row.position);
}

static LogicalResult transformRows(TransformRowsOp op, Interp &interp) {
  Tile *in = tileOf(op, op.getTile(), interp);
  CompiledHook *hook = getHook(op, op.getKind(), interp);
  if (!in || !hook)
    return failure();
  auto type = cast<TileType>(op.getResult().getType());
  auto out = std::make_shared<Tile>(type.getRows(), type.getCols());
  hookRows(*hook, interp.get<RowMap>(op.getRows()), *in, *out, /*first=*/0,
           interp);
  roundTile(*out, elementBehindHook(op.getTile()));
  interp.set(op.getResult(), Datum(out));
  return success();
}

/// The hook on the rows below kv1 of a tile of keys or values: `op` is a
/// transform_keys or a rewrite_kv.
template <typename OpTy>
static void hookKeys(CompiledHook &hook, OpTy op, const Tile &in, Tile &out,
                     Interp &interp) {
  AttnState &state = interp.state<AttnState>();
  state.qLen = interp.getInt(op.getQLen());
  state.kvLen = interp.getInt(op.getKvLen());
  int64_t k0 = interp.getInt(op.getK0()), kv1 = interp.getInt(op.getKv1());
  for (int32_t r = 0; r < out.rows && k0 + r < kv1; ++r)
    transformRow(hook, state, in.row(r), in.cols, out.row(r), out.cols,
                 interp.getInt(op.getRequest()), interp.getInt(op.getKvHead()),
                 k0 + r);
}

static LogicalResult transformKeys(TransformKeysOp op, Interp &interp) {
  Tile *in = tileOf(op, op.getTile(), interp);
  CompiledHook *hook = getHook(op, op.getKind(), interp);
  if (!in || !hook)
    return failure();
  auto type = cast<TileType>(op.getResult().getType());
  auto out = std::make_shared<Tile>(type.getRows(), type.getCols());
  hookKeys(*hook, op, *in, *out, interp);
  roundTile(*out, elementBehindHook(op.getTile()));
  interp.set(op.getResult(), Datum(out));
  return success();
}

/// In place, in a slot.
static LogicalResult rewrite(Operation *op, HookKind kind, mlir::Value slot,
                             Interp &interp) {
  CompiledHook *hook = getHook(op, kind, interp);
  Tile *tile = hook ? slotTile(op, slot, interp) : nullptr;
  if (!tile)
    return failure();
  const Tile old = *tile;
  if (auto query = dyn_cast<RewriteQueryOp>(op)) {
    const RowMap &map = interp.get<RowMap>(query.getRows());
    hookRows(*hook, map, old, *tile, map.first, interp);
  } else {
    hookKeys(*hook, cast<RewriteKVOp>(op), old, *tile, interp);
  }
  auto type = cast<pipe::SlotType>(slot.getType());
  roundTile(*tile, cast<TileType>(type.getPayload()).getElement());
  return success();
}

LogicalResult attn::sim::runHookedOp(Operation *op, Interp &interp) {
  if (auto score = dyn_cast<ApplyScoreOp>(op))
    return applyScore(score, interp);
  if (auto mask = dyn_cast<ApplyMaskOp>(op))
    return applyMask(mask, interp);
  if (auto sink = dyn_cast<ApplySinkOp>(op))
    return applySink(sink, interp);
  if (auto rows = dyn_cast<TransformRowsOp>(op))
    return transformRows(rows, interp);
  if (auto query = dyn_cast<RewriteQueryOp>(op))
    return rewrite(op, HookKind::Query, query.getSlot(), interp);
  if (auto kv = dyn_cast<RewriteKVOp>(op))
    return rewrite(op, kv.getKind(), kv.getSlot(), interp);
  return transformKeys(cast<TransformKeysOp>(op), interp);
}
