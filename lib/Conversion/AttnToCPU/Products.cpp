//===- Products.cpp - S = Q K^T and O += P V ------------------------------===//
//
// Both products read a row-major left tile by scalars and a panel of the right
// tile by vectors:
//
//   for panel: for 6 rows: C[6][W] in registers; for i: C += A[r][i] * B[i][W]
//
// With 8 lanes W is 2 vectors (12 accumulators of 16 registers), with 16 lanes
// 4 vectors (24 of 32).  The panel is the outer loop: it stays in the first
// cache level while the left tile streams.
//
// Invariant: the sum over i is in ascending order for every element.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

using namespace mlir;

namespace attn::cpu {

void KernelLowering::productPanel(const Buffer &a, Value panel, int64_t width,
                                  const Buffer &c, Value column, int64_t extent,
                                  bool accumulate) {
  int64_t vectors = width / lanes;
  g.loop(g.i64c(0), rowBlocks, 1, [&](Value block) {
    Value row = g.mul(block, g.i64c(rowBlock));
    Value left = rowAddress(a, row);
    Value out = g.at(rowAddress(c, row), column, g.f32);
    auto outAt = [&](int64_t r, int64_t v) {
      return g.atByte(out, (r * c.pitch + v * lanes) * 4);
    };
    SmallVector<Value> acc;
    for (int64_t r = 0; r < rowBlock; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        acc.push_back(accumulate ? g.loadV(outAt(r, v)) : g.vfc(0));
    acc =
        g.loop(g.i64c(0), g.i64c(extent), 1, acc, [&](Value i, ValueRange now) {
          SmallVector<Value> right, next;
          Value line = g.at(panel, g.mul(i, g.i64c(width)), g.f32);
          Value column0 = g.at(left, i, g.f32);
          for (int64_t v = 0; v < vectors; ++v)
            right.push_back(g.loadV(g.atByte(line, v * lanes * 4)));
          for (int64_t r = 0; r < rowBlock; ++r) {
            Value x = g.splat(g.loadF(g.atByte(column0, r * a.pitch * 4)));
            for (int64_t v = 0; v < vectors; ++v)
              next.push_back(g.fma(x, right[v], now[r * vectors + v]));
          }
          return next;
        });
    for (int64_t r = 0; r < rowBlock; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        g.storeV(acc[r * vectors + v], outAt(r, v));
  });
}

void KernelLowering::product(const Buffer &a, const Buffer &b, const Buffer &c,
                             int64_t extent, bool accumulate) {
  int64_t full = fullPanels(b), w = panelWidth();
  if (full)
    g.loop(g.i64c(0), g.i64c(full), 1, [&](Value p) {
      Value panel = address(b, g.mul(p, g.i64c(b.outer * w)));
      productPanel(a, panel, w, c, g.mul(p, g.i64c(w)), extent, accumulate);
    });
  if (int64_t rest = restWidth(b))
    productPanel(a, address(b, g.i64c(full * b.outer * w)), rest, c,
                 g.i64c(full * w), extent, accumulate);
}

// A value of V that is not finite must not reach rows whose weight for it is 0:
// 0 * NaN is NaN.  Rare, so plain loops.
void KernelLowering::productSkippingZeros(const Buffer &a, const Buffer &b,
                                          const Buffer &c, int64_t extent) {
  forRows([&](Value r) {
    Value left = rowAddress(a, r);
    Value out = rowAddress(c, r);
    g.loop(g.i64c(0), g.i64c(extent), 1, [&](Value i) {
      Value p = g.loadF(g.at(left, i, g.f32));
      g.ifThen(g.cmp(CmpF::UNE, p, g.f32c(0)), [&] {
        Value weight = g.splat(p);
        for (int64_t v = 0; v < b.pitch / lanes; ++v) {
          Value o = g.atByte(out, v * lanes * 4);
          g.storeV(g.fma(weight, g.loadV(panelVector(b, i, v)), g.loadV(o)), o);
        }
      });
    });
  });
}

LogicalResult KernelLowering::lower(QKOp op) {
  Buffer a = buffer(op.getQuery()), b = buffer(op.getKey());
  if (a.layout != Buffer::Rows || b.layout != Buffer::Panels || !b.transposed)
    return op.emitOpError("needs a tile of queries and a tile of keys as "
                          "loaded by load_query and load_kv");
  Buffer c = resultBuffer(op, op.getResult(), nullptr);
  product(a, b, c, b.outer, /*accumulate=*/false);
  return success();
}

LogicalResult KernelLowering::lower(PVOp op) {
  Buffer p = buffer(op.getP()), v = buffer(op.getValue()),
         acc = buffer(op.getAcc());
  if (v.layout != Buffer::Panels || v.transposed)
    return op.emitOpError(
        "needs a tile of values as loaded by load_kv of a value tensor");
  Buffer c = resultBuffer(op, op.getResult(), op.getAcc());
  if (c.offset != acc.offset)
    copy(acc, c);
  Value flag = g.load(g.i32, g.atByte(scratch, v.flag), 4);
  g.ifThen(
      g.cmp(CmpI::ne, flag, g.i32c(0)),
      [&] { productSkippingZeros(p, v, c, v.outer); },
      [&] { product(p, v, c, v.outer, /*accumulate=*/true); });
  return success();
}

} // namespace attn::cpu
