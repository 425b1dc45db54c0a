//===- Softmax.cpp - the state's parts ------------------------------------===//
//
// Row by row: m, alpha, P = exp2((s - a) c + b), l.  The reference (a, b) of a
// row is (0, 0) if m = -inf, (0, -c m) if |c m| < 2^29, else (m, 0); no
// sentinel value exists.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

using namespace mlir;

namespace attn::cpu {

// Where c * m stays exact enough that exp2(c s - c m) is a softmax: beyond it
// one unit of rounding in c * m would no longer be small against 1.
static constexpr float referenceLimit = 536870912.0f; // 2^29
// A lazy reference is left where c * m may be off by more than 1/4: P by it would be
// more than the threshold says.
static constexpr float preciseLimit = 4194304.0f; // 2^22

void KernelLowering::lower(StateInitOp op) {
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    Buffer b = resultBuffer(op, result, nullptr);
    // The parts are (O, m, l): only m starts at -inf.
    fill(b, i == 1 ? -std::numeric_limits<float>::infinity() : 0.0f);
  }
}

/// max(m, row maximum) of each row, or what `choose(m, that)` makes of it.
void KernelLowering::rowMax(Operation *op, Value tile, Value old,
                            llvm::function_ref<Value(Value, Value)> choose) {
  Buffer s = buffer(tile), m = buffer(old);
  Buffer out = resultBuffer(op, op->getResult(0), old);
  forRows([&](Value r) {
    Value row = rowAddress(s, r);
    Value low = g.infinity(true, true);
    auto best =
        forVectors(s.cols, low, [&](Value c, unsigned tail, ValueRange now) {
          Value x = g.loadV(g.at(row, c, g.f32));
          if (tail)
            x = g.select(g.firstLanes(tail), x, low);
          return SmallVector<Value>{g.maxIgnoringNaN(x, now[0])};
        });
    Value before = g.loadF(vectorElement(m, r));
    Value top = g.maxIgnoringNaN(g.maxLanes(best[0]), before);
    g.storeF(choose(before, top), vectorElement(out, r));
  });
}

void KernelLowering::lower(RowMaxOp op) {
  rowMax(op, op.getTile(), op.getM(), [](Value, Value top) { return top; });
}

void KernelLowering::lower(LazyMaxOp op) {
  Value c = map.lookup(op.getC());
  rowMax(op, op.getTile(), op.getM(), [&](Value m, Value top) {
    Value small = g.cmp(CmpF::OLT, g.abs(g.mul(c, m)), g.f32c(preciseLimit));
    Value near = g.cmp(CmpF::OLE, g.mul(c, g.sub(top, m)),
                       g.f32c(float(op.getThreshold())));
    return g.select(g.both(small, near), m, top);
  });
}

void KernelLowering::lower(AlphaOp op) {
  Buffer m = buffer(op.getM()), mNew = buffer(op.getMNew());
  Buffer out = resultBuffer(op, op.getResult(), op.getM());
  Value c = g.splat(map.lookup(op.getC()));
  g.loop(g.i64c(0), liveRows, lanes, [&](Value r) {
    Value before = g.loadV(vectorElement(m, r));
    Value after = g.loadV(vectorElement(mNew, r));
    Value factor = g.exp2(g.mul(c, g.sub(before, after)));
    Value unit = g.cmp(CmpF::OEQ, after, g.infinity(true, true));
    g.storeV(g.select(unit, g.vfc(1), factor), vectorElement(out, r));
  });
}

void KernelLowering::lower(ExpOp op) {
  Buffer s = buffer(op.getTile()), m = buffer(op.getM());
  Buffer out = resultBuffer(op, op.getResult(), op.getTile());
  Value c = map.lookup(op.getC());
  bool exact = op.getReference() == Reference::Exact;
  forRows([&](Value r) {
    Value reference = g.loadF(vectorElement(m, r));
    Value cm = g.mul(c, reference);
    Value usual = g.cmp(CmpF::OLT, g.abs(cm), g.f32c(referenceLimit));
    Value zero = g.f32c(0), a = zero, b;
    Value negative = g.sub(zero, cm);
    if (exact) {
      Value none = g.cmp(CmpF::OEQ, reference, g.infinity(false, true));
      b = g.select(usual, negative, zero);
      a = g.select(g.either(usual, none), zero, reference);
    } else {
      b = g.select(usual, negative,
                   g.f32c(std::numeric_limits<float>::quiet_NaN()));
    }
    Value va = g.splat(a), vb = g.splat(b), vc = g.splat(c);
    Value from = rowAddress(s, r), to = rowAddress(out, r);
    forVectors(s.cols, [&](Value col, unsigned tail) {
      Value x = g.loadV(g.at(from, col, g.f32));
      if (exact)
        x = g.sub(x, va);
      Value p = g.exp2(g.fma(x, vc, vb));
      if (tail)
        p = g.select(g.firstLanes(tail), p, g.vfc(0));
      g.storeV(p, g.at(to, col, g.f32));
    });
  });
}

/// References differ by what exponentials subtracted: c m as it was rounded, so that
/// what it lost scales no part more than another.
Value KernelLowering::referenceWeight(Value m, Value top, Value c) {
  Value none = g.cmp(CmpF::OEQ, top, g.infinity(false, true));
  top = g.select(none, g.f32c(0), top);
  Value cm = g.mul(c, m), ct = g.mul(c, top);
  auto usual = [&](Value x) {
    return g.cmp(CmpF::OLT, g.abs(x), g.f32c(referenceLimit));
  };
  Value near = g.both(usual(cm), usual(ct));
  return g.exp2(g.select(near, g.sub(cm, ct), g.mul(c, g.sub(m, top))));
}

void KernelLowering::lower(RowSumOp op) {
  Buffer p = buffer(op.getTile()), l = buffer(op.getL());
  Buffer out = resultBuffer(op, op.getResult(), op.getL());
  forRows([&](Value r) {
    Value row = rowAddress(p, r);
    Value zero = g.vfc(0);
    auto sum =
        forVectors(p.cols, zero, [&](Value c, unsigned tail, ValueRange now) {
          Value x = g.loadV(g.at(row, c, g.f32));
          if (tail)
            x = g.select(g.firstLanes(tail), x, zero);
          return SmallVector<Value>{g.add(now[0], x)};
        });
    Value old = g.loadF(vectorElement(l, r));
    Value total = g.sumLanes(sum[0]);
    if (Value alpha = op.getAlpha())
      total = g.fma(old, g.loadF(vectorElement(buffer(alpha), r)), total);
    else
      total = g.add(old, total);
    g.storeF(total, vectorElement(out, r));
  });
}

void KernelLowering::lower(RescaleOp op) {
  Buffer tile = buffer(op.getTile()), factor = buffer(op.getFactor());
  Buffer out = resultBuffer(op, op.getResult(), op.getTile());
  forRows([&](Value r) {
    Value scalar = g.loadF(vectorElement(factor, r));
    Value f = g.splat(scalar);
    auto sweep = [&] {
      Value from = rowAddress(tile, r), to = rowAddress(out, r);
      g.loop(g.i64c(0), g.i64c(tile.pitch), lanes, [&](Value c) {
        g.storeV(g.mul(g.loadV(g.at(from, c, g.f32)), f), g.at(to, c, g.f32));
      });
    };
    // Most visits do not raise the maximum: x * 1 = x needs no pass in place.
    if (out.offset == tile.offset)
      g.ifThen(g.cmp(CmpF::UNE, scalar, g.f32c(1)), sweep);
    else
      sweep();
  });
}

void KernelLowering::lower(PackOp op) {
  Buffer from = buffer(op.getTile());
  Type element = cast<TileType>(op.getResult().getType()).getElement();
  Buffer out = resultBuffer(op, op.getResult(), op.getTile());
  forRows([&](Value r) {
    Value a = rowAddress(from, r), b = rowAddress(out, r);
    g.loop(g.i64c(0), g.i64c(from.pitch), lanes, [&](Value c) {
      Value x = g.loadV(g.at(a, c, g.f32));
      g.storeV(g.roundTo(x, element), g.at(b, c, g.f32));
    });
  });
}

void KernelLowering::lower(FinishOp op) {
  Buffer o = buffer(op.getO()), m = buffer(op.getM()), l = buffer(op.getL());
  Buffer out = resultBuffer(op, op.getTile(), op.getO());
  Buffer lse = resultBuffer(op, op.getRowLse(), nullptr);
  Value c = map.lookup(op.getC());
  forRows([&](Value r) {
    Value zero = g.f32c(0), low = g.infinity(false, true);
    Value exponent = g.mul(c, g.loadF(vectorElement(m, r)));
    Value sum = g.loadF(vectorElement(l, r));
    // An empty row's m is -inf and its c m must not meet arithmetic.
    Value empty = g.cmp(CmpF::OEQ, sum, zero);
    exponent = g.select(empty, low, exponent);
    Value factor = g.f32c(1);
    if (Value sink = op.getSink()) {
      // The state (0, sink, 1), in base 2.
      Value s =
          g.mul(g.loadF(vectorElement(buffer(sink), r)), g.f32c(1.44269504f));
      Value top = g.maxIgnoringNaN(s, exponent);
      Value ref = g.select(g.cmp(CmpF::OEQ, top, low), zero, top);
      factor = g.exp2(g.sub(exponent, ref));
      sum = g.fma(sum, factor, g.exp2(g.sub(s, ref)));
      empty = g.cmp(CmpF::OEQ, sum, zero);
      exponent = ref;
    }
    Value inverse = g.select(empty, zero, g.div(factor, sum));
    Value result = g.mul(g.add(exponent, g.log2(sum)), g.f32c(0.693147181f));
    g.storeF(g.select(empty, low, result), vectorElement(lse, r));
    Value scale = g.splat(inverse);
    Value from = rowAddress(o, r), to = rowAddress(out, r);
    g.loop(g.i64c(0), g.i64c(o.pitch), lanes, [&](Value col) {
      Value x = g.mul(g.loadV(g.at(from, col, g.f32)), scale);
      g.storeV(x, g.at(to, col, g.f32));
    });
  });
}

//===----------------------------------------------------------------------===//
// Speculation
//===----------------------------------------------------------------------===//

void KernelLowering::lower(ExactPrefixOp op) {
  Buffer m = buffer(op.getM());
  Value c = map.lookup(op.getC());
  Value blocks = g.sub(map.lookup(op.getHi()), map.lookup(op.getLo()));
  Value no = arith::ConstantOp::create(g.b, g.loc, g.b.getBoolAttr(false));
  auto open = g.loop(g.i64c(0), liveRows, 1, no, [&](Value r, ValueRange now) {
    // False for m = -inf and for NaN as well.
    Value cm = g.mul(c, g.loadF(vectorElement(m, r)));
    Value bad = g.cmp(CmpF::UGE, g.abs(cm), g.f32c(referenceLimit));
    return SmallVector<Value>{g.either(now[0], bad)};
  });
  Value one = g.maxI(g.minI(blocks, g.i32c(1)), g.i32c(0));
  Value prefix = g.select(open[0], one, g.i32c(0));
  map.map(op.getResult(), g.select(map.lookup(op.getExact()), blocks, prefix));
}

void KernelLowering::lower(CheckOp op) {
  Buffer o = buffer(op.getO()), l = buffer(op.getL());
  Value yes = arith::ConstantOp::create(g.b, g.loc, g.b.getBoolAttr(true));
  if (options.failCheck) {
    map.map(op.getResult(),
            arith::ConstantOp::create(g.b, g.loc, g.b.getBoolAttr(false)));
    return;
  }
  Value limit = g.f32c(std::ldexp(1.0f, op.getLimit()));
  auto good = g.loop(g.i64c(0), liveRows, 1, yes, [&](Value r, ValueRange now) {
    Value row = rowAddress(o, r);
    // x * 0 is 0 for finite x and NaN otherwise.
    auto zeros = forVectors(
        o.cols, g.vfc(0), [&](Value col, unsigned tail, ValueRange acc) {
          Value x = g.loadV(g.at(row, col, g.f32));
          if (tail)
            x = g.select(g.firstLanes(tail), x, g.vfc(0));
          return SmallVector<Value>{g.fma(x, g.vfc(0), acc[0])};
        });
    Value finite = g.cmp(CmpF::OEQ, g.sumLanes(zeros[0]), g.f32c(0));
    Value sum = g.loadF(vectorElement(l, r));
    Value small = g.cmp(CmpF::OLT, sum, limit);
    return SmallVector<Value>{g.both(now[0], g.both(finite, small))};
  });
  map.map(op.getResult(), good[0]);
}

} // namespace attn::cpu
