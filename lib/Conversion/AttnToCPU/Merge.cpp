//===- Merge.cpp - merging states -----------------------------------------===//
//
//   M = max(ma, mb), wa = 2^(ref ma - ref M), wb likewise
//   l = wa la + wb lb,  O = wa A + wb B
//
// (0, -inf, 0) is the unit, also twice: no NaN from -inf - -inf.  A NaN, which a
// maximum passes over, is in l and O and stays.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

using namespace mlir;

namespace attn::cpu {

void KernelLowering::lower(MergeStateOp op) {
  Buffer a = buffer(op.getOA()), b = buffer(op.getOB());
  Buffer ma = buffer(op.getMA()), mb = buffer(op.getMB());
  Buffer la = buffer(op.getLA()), lb = buffer(op.getLB());
  Buffer out = resultBuffer(op, op.getO(), op.getOA());
  Buffer m = resultBuffer(op, op.getM(), op.getMA());
  Buffer l = resultBuffer(op, op.getL(), op.getLA());
  Value c = map.lookup(op.getC());
  forRows([&](Value r) {
    Value first = g.loadF(vectorElement(ma, r));
    Value second = g.loadF(vectorElement(mb, r));
    Value top = g.maxIgnoringNaN(first, second);
    Value wa = referenceWeight(first, top, c);
    Value wb = referenceWeight(second, top, c);
    Value sum = g.mul(wb, g.loadF(vectorElement(lb, r)));
    sum = g.fma(wa, g.loadF(vectorElement(la, r)), sum);
    g.storeF(top, vectorElement(m, r));
    g.storeF(sum, vectorElement(l, r));
    Value va = g.splat(wa), vb = g.splat(wb);
    Value rowA = rowAddress(a, r), rowB = rowAddress(b, r);
    Value to = rowAddress(out, r);
    g.loop(g.i64c(0), g.i64c(out.pitch), lanes, [&](Value col) {
      Value x = g.mul(va, g.loadV(g.at(rowA, col, g.f32)));
      x = g.fma(vb, g.loadV(g.at(rowB, col, g.f32)), x);
      g.storeV(x, g.at(to, col, g.f32));
    });
  });
}

void KernelLowering::lower(AddTileOp op) {
  Buffer a = buffer(op.getA()), b = buffer(op.getB());
  Buffer out = resultBuffer(op, op.getTile(), op.getA());
  forRows([&](Value r) {
    Value rowA = rowAddress(a, r), rowB = rowAddress(b, r);
    Value to = rowAddress(out, r);
    g.loop(g.i64c(0), g.i64c(out.pitch), lanes, [&](Value c) {
      Value x =
          g.add(g.loadV(g.at(rowA, c, g.f32)), g.loadV(g.at(rowB, c, g.f32)));
      g.storeV(x, g.at(to, c, g.f32));
    });
  });
}

} // namespace attn::cpu
