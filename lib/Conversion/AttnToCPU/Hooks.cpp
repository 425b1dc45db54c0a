//===- Hooks.cpp - the variant's hooks in loops ---------------------------===//
//
// score and mask run row by row over whole vectors of keys:
//
//   row r:  b, h, q scalars;  k = k0 + c + (0, 1, 2, ...)
//
// Vector hooks (query, key, value, output) are written by element, so they are
// scalar loops over (row, element).
//
// Invariant: table indices are clamped before the read; a masked element is
// selected away before any arithmetic can meet it.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

#include "attn/Analysis/InlineHook.h"

using namespace mlir;

namespace attn::cpu {

static HookOp hookOf(KernelOp kernel, HookKind kind) {
  VariantOp variant = kernel.getVariant();
  return variant ? variant.getHook(kind) : HookOp();
}

// Row-major, dimension 0 outermost.  Vectors are read lane by lane: tables are
// small and a gather is not faster where the indices are equal.
FailureOr<Value> KernelLowering::readTable(ReadOp op, ValueRange indices) {
  auto table = op.getTable().getDefiningOp<TableOp>();
  std::string name = ("table." + table.getName()).str();
  auto data = loadField(name + ".data", g.ptr);
  if (failed(data))
    return failure();
  Type element = op.getResult().getType();
  VectorType shape;
  for (Value index : indices)
    if (auto vt = dyn_cast<VectorType>(index.getType()))
      shape = vt;
  auto like = [&](Value scalar) { return shape ? g.splat(scalar) : scalar; };
  Value flat;
  for (auto [i, index] : llvm::enumerate(indices)) {
    auto extent = loadField(name + ".extent" + std::to_string(i), g.i32);
    if (failed(extent))
      return failure();
    if (shape && !isa<VectorType>(index.getType()))
      index = g.splat(index);
    Value last = like(g.sub(*extent, g.i32c(1)));
    index = g.maxI(g.minI(index, last), like(g.i32c(0)));
    flat = flat ? g.add(g.mul(flat, like(*extent)), index) : index;
  }
  auto wide = [&](Value i) {
    return Value(arith::ExtUIOp::create(g.b, g.loc, g.i64, i));
  };
  if (!shape)
    return g.load(element, g.at(*data, wide(flat), element), 4);
  Value result = g.splat(element.isF32() ? g.f32c(0) : g.i32c(0));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value index = vector::ExtractOp::create(g.b, g.loc, flat, lane);
    Value x = g.load(element, g.at(*data, wide(index), element), 4);
    result = vector::InsertOp::create(g.b, g.loc, x, result, lane);
  }
  return result;
}

FailureOr<Value> KernelLowering::inlineHook(HookOp hook, ValueRange args,
                                            const HookContext &context) {
  HookReads reads;
  reads.param = [&](ParamOp param) {
    return loadField(("param." + param.getName()).str(),
                     param.getResult().getType());
  };
  reads.read = [&](ReadOp read, ValueRange indices) {
    return readTable(read, indices);
  };
  reads.length = [&](LengthOp length) -> FailureOr<Value> {
    return length.getIsKv() ? context.kvLen : context.qLen;
  };
  if (context.vector)
    reads.element = [&](ElementOp, Value index) -> FailureOr<Value> {
      Value last = g.i32c(int32_t(context.vectorSize) - 1);
      Value i = g.toI64(g.maxI(g.minI(index, last), g.i32c(0)));
      return g.loadF(elementAddress(*context.vector, context.vectorRow, i));
    };
  return attn::inlineHook(g.b, hook, args, reads);
}

// Inlined code may be uniform over the lanes.
static Value asVector(Gen &g, Value v) {
  return isa<VectorType>(v.getType()) ? v : g.splat(v);
}

LogicalResult KernelLowering::lower(ApplyScoreOp op) {
  HookOp hook = hookOf(kernel, HookKind::Score);
  const RowsInfo &rows = rowMaps[op.getRows()];
  Buffer from = buffer(op.getTile());
  Buffer to = resultBuffer(op, op.getResult(), op.getTile());
  Value scale = g.splat(map.lookup(op.getScale()));
  Value k0 = map.lookup(op.getK0());
  LogicalResult status = success();
  forRows([&](Value r) {
    RowCoord c = coord(rows, r);
    Value source = rowAddress(from, r), target = rowAddress(to, r);
    g.loop(g.i64c(0), g.i64c(from.pitch), lanes, [&](Value col) {
      Value s = g.mul(g.loadV(g.at(source, col, g.f32)), scale);
      if (hook) {
        Value k = g.add(g.splat(g.add(k0, g.toI32(col))), g.iota());
        auto scored = inlineHook(hook, {s, rows.request, c.head, c.position, k},
                                 {rows.qLen, rows.kvLen});
        if (failed(scored)) {
          status = failure();
          return;
        }
        s = asVector(g, *scored);
      }
      g.storeV(s, g.at(target, col, g.f32));
    });
  });
  return status;
}

LogicalResult KernelLowering::lower(ApplyMaskOp op) {
  HookOp hook = hookOf(kernel, HookKind::Mask);
  const RowsInfo &rows = rowMaps[op.getRows()];
  Buffer from = buffer(op.getTile());
  Buffer to = resultBuffer(op, op.getResult(), op.getTile());
  Value k0 = map.lookup(op.getK0()), kv1 = g.splat(map.lookup(op.getKv1()));
  Value fill =
      op.getFill() == MaskFill::Zero ? g.vfc(0) : g.infinity(true, true);
  LogicalResult status = success();
  forRows([&](Value r) {
    RowCoord c = coord(rows, r);
    Value source = rowAddress(from, r), target = rowAddress(to, r);
    g.loop(g.i64c(0), g.i64c(from.pitch), lanes, [&](Value col) {
      Value k = g.add(g.splat(g.add(k0, g.toI32(col))), g.iota());
      Value visible = g.cmp(CmpI::slt, k, kv1);
      if (hook) {
        auto shown = inlineHook(hook, {rows.request, c.head, c.position, k},
                                {rows.qLen, rows.kvLen});
        if (failed(shown)) {
          status = failure();
          return;
        }
        visible = g.both(visible, asVector(g, *shown));
      }
      Value s = g.loadV(g.at(source, col, g.f32));
      g.storeV(g.select(visible, s, fill), g.at(target, col, g.f32));
    });
  });
  return status;
}

LogicalResult KernelLowering::lower(ApplySinkOp op) {
  HookOp hook = hookOf(kernel, HookKind::Sink);
  if (!hook)
    return op.emitOpError("needs a sink hook in the kernel's variant");
  const RowsInfo &rows = rowMaps[op.getRows()];
  Buffer to = resultBuffer(op, op.getResult(), nullptr);
  LogicalResult status = success();
  forRows([&](Value r) {
    RowCoord c = coord(rows, r);
    auto sink =
        inlineHook(hook, {rows.request, c.head}, {rows.qLen, rows.kvLen});
    if (failed(sink))
      status = failure();
    else
      g.storeF(*sink, vectorElement(to, r));
  });
  return status;
}

//===----------------------------------------------------------------------===//
// Vector hooks
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lower(TransformRowsOp op) {
  HookOp hook = hookOf(kernel, op.getKind());
  if (!hook)
    return op.emitOpError() << "needs a " << stringifyHookKind(op.getKind())
                            << " hook in the kernel's variant";
  const RowsInfo &rows = rowMaps[op.getRows()];
  Buffer from = buffer(op.getTile());
  // Not in place: an element may read any other one of its row.
  Buffer to = resultBuffer(op, op.getResult(), nullptr);
  fill(to, 0);
  LogicalResult status = success();
  forRows([&](Value r) {
    RowCoord c = coord(rows, r);
    g.loop(g.i64c(0), g.i64c(to.cols), 1, [&](Value i) {
      auto y = inlineHook(
          hook, {Value(), rows.request, c.head, c.position, g.toI32(i)},
          {rows.qLen, rows.kvLen, &from, r, from.cols});
      if (failed(y))
        status = failure();
      else
        g.storeF(g.roundTo(*y, elementBehindHook(op.getTile())),
                 elementAddress(to, r, i));
    });
  });
  return status;
}

LogicalResult KernelLowering::lower(TransformKeysOp op) {
  HookOp hook = hookOf(kernel, op.getKind());
  if (!hook)
    return op.emitOpError() << "needs a " << stringifyHookKind(op.getKind())
                            << " hook in the kernel's variant";
  Buffer from = buffer(op.getTile());
  auto tile = cast<TileType>(op.getResult().getType());
  Buffer to = from.transposed
                  ? allocate(Buffer::Panels, tile.getCols(), tile.getRows())
                  : allocate(Buffer::Panels, tile.getRows(), tile.getCols());
  to.transposed = from.transposed;
  if (!to.transposed) {
    to.flag = top;
    top += 64;
    high = std::max(high, top);
  }
  buffers[op.getResult()] = to;
  fill(to, 0);

  Value request = map.lookup(op.getRequest()),
        head = map.lookup(op.getKvHead());
  Value k0 = map.lookup(op.getK0());
  Value live = g.toI64(g.sub(map.lookup(op.getKv1()), k0));
  live = g.minI(g.maxI(live, g.i64c(0)), g.i64c(tile.getRows()));
  int64_t size = cast<TileType>(op.getTile().getType()).getCols();
  LogicalResult status = success();
  auto probe =
      g.loop(g.i64c(0), live, 1, g.f32c(0), [&](Value j, ValueRange outer) {
        return g.loop(
            g.i64c(0), g.i64c(tile.getCols()), 1, outer,
            [&](Value i, ValueRange now) -> SmallVector<Value> {
              Value position = g.add(k0, g.toI32(j));
              auto y = inlineHook(
                  hook, {Value(), request, head, position, g.toI32(i)},
                  {map.lookup(op.getQLen()), map.lookup(op.getKvLen()), &from,
                   j, size});
              if (failed(y)) {
                status = failure();
                return {now[0]};
              }
              Value x = g.roundTo(*y, elementBehindHook(op.getTile()));
              g.storeF(x, elementAddress(to, j, i));
              return {g.fma(x, g.f32c(0), now[0])};
            });
      });
  if (to.flag >= 0) {
    Value bad = g.cmp(CmpF::UNO, probe[0], probe[0]);
    g.store(arith::ExtUIOp::create(g.b, g.loc, g.i32, bad),
            g.atByte(scratch, to.flag), 4);
  }
  return status;
}

} // namespace attn::cpu
