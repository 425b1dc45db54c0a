//===- Memory.cpp - tensors, plan, partial slots --------------------------===//
//
// Everything outside the scratch buffer is reached through the parameter struct
// (include/attn/ABI/KernelParams.h) and the plan (include/attn/ABI/WorkItem.h).
// Elements become f32 when they are loaded and are rounded when they are
// stored.
//
// Invariant: no address outside a row's own elements is read or written: rows
// past the slice are clamped before the load and selected away after it.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

#include "attn/ABI/KernelParams.h"
#include "attn/ABI/WorkItem.h"
#include "attn/Analysis/ParamLayout.h"

#include <cstddef>

using namespace mlir;

namespace attn::cpu {

FailureOr<Value> KernelLowering::loadField(StringRef name, Type type) {
  auto [it, isNew] = fields.try_emplace(name);
  if (!isNew)
    return it->second;
  std::optional<uint32_t> offset = layout.offsetOf(name);
  if (!offset) {
    fields.erase(it);
    return kernel.emitOpError() << "has no parameter '" << name << "'";
  }
  OpBuilder::InsertionGuard guard(g.b);
  g.b.setInsertionPointToStart(&func.getBody().front());
  unsigned align = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() / 8 : 8;
  return it->second = g.load(type, g.atByte(params, *offset), align);
}

static StringRef nameOf(TensorRole role) {
  switch (role) {
  case TensorRole::Query:
    return "q";
  case TensorRole::Key:
    return "k";
  case TensorRole::Value:
    return "v";
  case TensorRole::Output:
    return "o";
  case TensorRole::Lse:
    return "lse";
  }
  return "";
}

LogicalResult KernelLowering::loadParameters() {
  for (BlockArgument arg : kernel.getBody().getArguments()) {
    auto type = dyn_cast<TensorType>(arg.getType());
    if (!type)
      continue;
    if (type.getStorage() == Storage::Paged)
      return kernel.emitOpError("paged storage is not built for cpu");
    std::string name = nameOf(type.getRole()).str();
    TensorInfo info;
    info.type = type;
    auto base = loadField(name, g.ptr);
    auto batch = loadField(name + "_strides.batch", g.i64);
    auto token = loadField(name + "_strides.token", g.i64);
    auto head = loadField(name + "_strides.head", g.i64);
    if (failed(base) || failed(batch) || failed(token) || failed(head))
      return failure();
    info.base = *base, info.batch = *batch, info.token = *token,
    info.head = *head;
    tensors[arg] = info;
  }
  if (BlockArgument scale = kernel.getScale()) {
    auto value = loadField("scale", g.f32);
    if (failed(value))
      return failure();
    map.map(scale, *value);
  }
  for (StringRef name : {"plan", "partial_o", "partial_rows"})
    if (failed(loadField(name, g.ptr)))
      return failure();
  return success();
}

Value KernelLowering::rowAddress(const TensorInfo &t, Value request,
                                 Value begin, Value index, Value head) {
  Value token = g.add(g.toI64(begin), g.toI64(index));
  Value offset = g.mul(g.toI64(request), t.batch);
  offset = g.add(offset, g.mul(token, t.token));
  offset = g.add(offset, g.mul(g.toI64(head), t.head));
  return g.at(t.base, offset, t.type.getElement());
}

RowCoord KernelLowering::coord(const RowsInfo &rows, Value r) {
  RowCoord c;
  Value t = g.add(rows.row0, g.toI32(r));
  if (rows.pack == 1) {
    c.token = t;
    c.head = rows.head;
  } else {
    Value pack = g.i32c(int32_t(rows.pack));
    c.token = arith::DivUIOp::create(g.b, g.loc, t, pack);
    Value sub = arith::RemUIOp::create(g.b, g.loc, t, pack);
    c.head = g.add(g.mul(rows.head, pack), sub);
  }
  c.position = g.add(c.token, g.sub(rows.kvLen, rows.qLen));
  return c;
}

void KernelLowering::lower(RequestOp op) {
  Value plan = fields["plan"];
  Value at = g.load(
      g.i32, g.atByte(plan, offsetof(attn_plan_header, requests_offset)), 4);
  Value bytes = g.add(g.toI64(at), g.mul(g.toI64(map.lookup(op.getRequest())),
                                         g.i64c(sizeof(attn_request_record))));
  Value entry = g.at(plan, bytes, g.b.getI8Type());
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    map.map(result, g.load(g.i32, g.atByte(entry, int64_t(i) * 4), 4));
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void KernelLowering::lower(LoadQueryOp op) {
  const TensorInfo &t = tensors[op.getTensor()];
  const RowsInfo &rows = rowMaps[op.getRows()];
  Buffer dst = resultBuffer(op, op.getResult(), nullptr);
  Type element = t.type.getElement();
  forRows([&](Value r) {
    RowCoord c = coord(rows, r);
    Value from = rowAddress(t, rows.request, rows.qBegin, c.token, c.head);
    Value to = rowAddress(dst, r);
    forVectors(dst.cols, [&](Value col, unsigned tail) {
      if (!tail) {
        Value x = g.loadElement(g.at(from, col, element), element, true);
        return g.storeV(x, g.at(to, col, g.f32));
      }
      g.storeV(g.vfc(0), g.at(to, col, g.f32));
      for (unsigned i = 0; i < tail; ++i) {
        Value at = g.add(col, g.i64c(i));
        Value x = g.loadElement(g.at(from, at, element), element, false);
        g.storeF(x, g.at(to, at, g.f32));
      }
    });
  });
  // Dead rows of the last block of rows enter the product: keep them tame.
  Value end = g.mul(rowBlocks, g.i64c(rowBlock));
  g.loop(liveRows, end, 1, [&](Value r) {
    Value to = rowAddress(dst, r);
    g.loop(g.i64c(0), g.i64c(dst.pitch), lanes,
           [&](Value c) { g.storeV(g.vfc(0), g.at(to, c, g.f32)); });
  });
}

void KernelLowering::lower(LoadKVOp op) {
  const TensorInfo &t = tensors[op.getTensor()];
  auto tile = cast<TileType>(op.getResult().getType());
  bool key = t.type.getRole() == TensorRole::Key;
  Buffer dst = key ? allocate(Buffer::Panels, tile.getCols(), tile.getRows())
                   : allocate(Buffer::Panels, tile.getRows(), tile.getCols());
  dst.transposed = key;
  if (!key) {
    dst.flag = top;
    top += 64;
    high = std::max(high, top);
  }
  buffers[op.getResult()] = dst;
  if (key)
    loadKey(op, dst);
  else
    loadValue(op, dst);
}

// Transposes lanes x lanes elements in registers: stage h swaps the blocks of
// side h off the diagonal.
static void transpose(Gen &g, SmallVector<Value> &v) {
  int64_t n = int64_t(v.size());
  for (int64_t h = n / 2; h; h /= 2) {
    SmallVector<int64_t> low(n), high(n);
    for (int64_t j = 0; j < n; ++j) {
      low[j] = j & h ? n + j - h : j;
      high[j] = j & h ? n + j : j + h;
    }
    for (int64_t i = 0; i < n; ++i) {
      if (i & h)
        continue;
      Value a = v[i], b = v[i + h];
      v[i] = vector::ShuffleOp::create(g.b, g.loc, a, b, low);
      v[i + h] = vector::ShuffleOp::create(g.b, g.loc, a, b, high);
    }
  }
}

void KernelLowering::loadKey(LoadKVOp op, const Buffer &dst) {
  const TensorInfo &t = tensors[op.getTensor()];
  Type element = t.type.getElement();
  Value request = map.lookup(op.getRequest());
  Value head = map.lookup(op.getKvHead());
  Value begin = map.lookup(op.getKvBegin());
  Value k0 = map.lookup(op.getK0()), kv1 = map.lookup(op.getKv1());
  Value last = g.sub(kv1, g.i32c(1));
  int64_t dim = dst.outer, w = panelWidth();

  // `line`: address of reduction row 0 of a group of `lanes` keys.
  auto group = [&](Value key0, Value line, int64_t width) {
    SmallVector<Value> from(lanes), live(lanes);
    for (int64_t x = 0; x < lanes; ++x) {
      Value k = g.add(g.add(k0, g.toI32(key0)), g.i32c(int32_t(x)));
      live[x] = g.cmp(CmpI::slt, k, kv1);
      from[x] = rowAddress(t, request, begin, g.minI(k, last), head);
    }
    int64_t whole = dim / lanes * lanes;
    if (whole)
      g.loop(g.i64c(0), g.i64c(whole), lanes, [&](Value e) {
        SmallVector<Value> v(lanes);
        for (int64_t x = 0; x < lanes; ++x) {
          v[x] = g.loadElement(g.at(from[x], e, element), element, true);
          v[x] = g.select(live[x], v[x], g.vfc(0));
        }
        transpose(g, v);
        Value to = g.at(line, g.mul(e, g.i64c(width)), g.f32);
        for (int64_t y = 0; y < lanes; ++y)
          g.storeV(v[y], g.atByte(to, y * width * 4));
      });
    for (int64_t e = whole; e < dim; ++e)
      for (int64_t x = 0; x < lanes; ++x) {
        Value v =
            g.loadElement(g.at(from[x], g.i64c(e), element), element, false);
        v = g.select(live[x], v, g.f32c(0));
        g.storeF(v, g.atByte(line, (e * width + x) * 4));
      }
  };

  int64_t full = fullPanels(dst);
  auto panel = [&](Value key0, Value base, int64_t width) {
    for (int64_t c = 0; c < width; c += lanes)
      group(g.add(key0, g.i64c(c)), g.atByte(base, c * 4), width);
  };
  if (full)
    g.loop(g.i64c(0), g.i64c(full), 1, [&](Value p) {
      panel(g.mul(p, g.i64c(w)), address(dst, g.mul(p, g.i64c(dim * w))), w);
    });
  if (int64_t rest = restWidth(dst))
    panel(g.i64c(full * w), address(dst, g.i64c(full * dim * w)), rest);
}

void KernelLowering::loadValue(LoadKVOp op, const Buffer &dst) {
  const TensorInfo &t = tensors[op.getTensor()];
  Type element = t.type.getElement();
  Value request = map.lookup(op.getRequest());
  Value head = map.lookup(op.getKvHead());
  Value begin = map.lookup(op.getKvBegin());
  Value k0 = map.lookup(op.getK0());
  Value tile = g.i64c(dst.outer);
  Value live = g.toI64(g.sub(map.lookup(op.getKv1()), k0));
  live = g.minI(g.maxI(live, g.i64c(0)), tile);

  // x * 0 is 0 for finite x and NaN otherwise, and NaN stays.
  auto probe =
      g.loop(g.i64c(0), live, 1, g.vfc(0), [&](Value i, ValueRange now) {
        Value from = rowAddress(t, request, begin, g.add(k0, g.toI32(i)), head);
        Value sum = now[0];
        for (int64_t c = 0; c < dst.cols; c += lanes) {
          Value x;
          if (c + lanes <= dst.cols) {
            x = g.loadElement(g.at(from, g.i64c(c), element), element, true);
          } else {
            x = g.vfc(0);
            for (int64_t e = c; e < dst.cols; ++e)
              x = vector::InsertOp::create(
                  g.b, g.loc,
                  g.loadElement(g.at(from, g.i64c(e), element), element, false),
                  x, e - c);
          }
          g.storeV(x, panelVector(dst, i, c / lanes));
          sum = g.fma(x, g.vfc(0), sum);
        }
        return SmallVector<Value>{sum};
      });
  g.loop(live, tile, 1, [&](Value i) {
    for (int64_t c = 0; c < dst.cols; c += lanes)
      g.storeV(g.vfc(0), panelVector(dst, i, c / lanes));
  });
  Value bad = g.anyLane(g.cmp(CmpF::UNO, probe[0], probe[0]));
  g.store(arith::ExtUIOp::create(g.b, g.loc, g.i32, bad),
          g.atByte(scratch, dst.flag), 4);
}

//===----------------------------------------------------------------------===//
// Stores and partials
//===----------------------------------------------------------------------===//

void KernelLowering::lower(StoreOp op) {
  const TensorInfo &t = tensors[op.getOutput()];
  const RowsInfo &rows = rowMaps[op.getRows()];
  Buffer src = buffer(op.getTile());
  Type element = t.type.getElement();
  forRows([&](Value r) {
    RowCoord c = coord(rows, r);
    Value to = rowAddress(t, rows.request, rows.qBegin, c.token, c.head);
    Value from = rowAddress(src, r);
    forVectors(src.cols, [&](Value col, unsigned tail) {
      if (!tail)
        return g.storeElement(g.loadV(g.at(from, col, g.f32)),
                              g.at(to, col, element), element);
      for (unsigned i = 0; i < tail; ++i) {
        Value at = g.add(col, g.i64c(i));
        g.storeElement(g.loadF(g.at(from, at, g.f32)), g.at(to, at, element),
                       element);
      }
    });
  });
  if (!op.getRowLse() || !op.getLse())
    return;
  const TensorInfo &l = tensors[op.getLse()];
  Buffer lse = buffer(op.getRowLse());
  Value address = LLVM::PtrToIntOp::create(g.b, g.loc, g.i64, l.base);
  g.ifThen(g.cmp(CmpI::ne, address, g.i64c(0)), [&] {
    forRows([&](Value r) {
      RowCoord c = coord(rows, r);
      g.storeF(g.loadF(vectorElement(lse, r)),
               rowAddress(l, rows.request, rows.qBegin, c.token, c.head));
    });
  });
}

Value KernelLowering::partialO(Value slot, int64_t rows, int64_t cols) {
  Value index = g.mul(g.toI64(slot), g.i64c(rows * cols));
  return g.at(fields["partial_o"], index, g.f32);
}

Value KernelLowering::partialRows(Value slot, int64_t rows, int64_t which) {
  Value index = g.mul(g.toI64(slot), g.i64c(2 * rows));
  return g.at(fields["partial_rows"], g.add(index, g.i64c(which * rows)),
              g.f32);
}

void KernelLowering::lower(StorePartialOp op) {
  auto parts = op.getParts();
  auto tile = cast<TileType>(parts[0].getType());
  Buffer src = buffer(parts[0]);
  Value slot = map.lookup(op.getSlot());
  Value base = partialO(slot, tile.getRows(), tile.getCols());
  forRows([&](Value r) {
    Value from = rowAddress(src, r);
    Value to = g.at(base, g.mul(r, g.i64c(tile.getCols())), g.f32);
    forVectors(src.cols, [&](Value col, unsigned tail) {
      if (!tail)
        return g.store(g.loadV(g.at(from, col, g.f32)), g.at(to, col, g.f32),
                       4);
      for (unsigned i = 0; i < tail; ++i) {
        Value at = g.add(col, g.i64c(i));
        g.storeF(g.loadF(g.at(from, at, g.f32)), g.at(to, at, g.f32));
      }
    });
  });
  for (auto [i, part] : llvm::enumerate(parts.drop_front())) {
    Buffer from = buffer(part);
    Value to = partialRows(slot, tile.getRows(), i);
    forRows([&](Value r) {
      g.storeF(g.loadF(vectorElement(from, r)), g.at(to, r, g.f32));
    });
  }
}

void KernelLowering::lower(LoadPartialOp op) {
  TileType tile = op.getO().getType();
  Buffer dst = resultBuffer(op, op.getO(), nullptr);
  Value slot = map.lookup(op.getSlot());
  Value base = partialO(slot, tile.getRows(), tile.getCols());
  forRows([&](Value r) {
    Value from = g.at(base, g.mul(r, g.i64c(tile.getCols())), g.f32);
    Value to = rowAddress(dst, r);
    forVectors(dst.cols, [&](Value col, unsigned tail) {
      if (!tail)
        return g.storeV(g.load(g.vf, g.at(from, col, g.f32), 4),
                        g.at(to, col, g.f32));
      g.storeV(g.vfc(0), g.at(to, col, g.f32));
      for (unsigned i = 0; i < tail; ++i) {
        Value at = g.add(col, g.i64c(i));
        g.storeF(g.loadF(g.at(from, at, g.f32)), g.at(to, at, g.f32));
      }
    });
  });
  for (auto [i, part] : llvm::enumerate(op->getResults().drop_front())) {
    Buffer to = resultBuffer(op, part, nullptr);
    Value from = partialRows(slot, tile.getRows(), i);
    forRows([&](Value r) {
      g.storeF(g.loadF(g.at(from, r, g.f32)), vectorElement(to, r));
    });
  }
}

} // namespace attn::cpu
