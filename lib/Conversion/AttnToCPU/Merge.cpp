//===- Merge.cpp - merging finished (O, LSE) pairs ------------------------===//
//
//   lse = ln(exp(la) + exp(lb)),  O = exp(la - lse) A + exp(lb - lse) B
//
// (0, -inf) is the unit, also twice: no NaN from -inf - -inf.  A NaN stays one, also
// beside the unit.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

using namespace mlir;

namespace attn::cpu {

KernelLowering::Weights KernelLowering::mergeWeights(Value lseA, Value lseB) {
  Value zero = g.f32c(0), low = g.infinity(false, true);
  Value top = g.maxIgnoringNaN(lseA, lseB);
  // With both empty the weights become exp2(-inf) = 0.  Only their sum says that it
  // is so: beside a NaN the maximum is -inf too, and the NaN must stay.
  Value ref = g.select(g.cmp(CmpF::OEQ, top, low), zero, top);
  Value log2e = g.f32c(1.44269504f);
  Value wa = g.exp2(g.mul(g.sub(lseA, ref), log2e));
  Value wb = g.exp2(g.mul(g.sub(lseB, ref), log2e));
  Value sum = g.add(wa, wb);
  Value empty = g.cmp(CmpF::OEQ, sum, zero);
  Value lse = g.fma(g.log2(sum), g.f32c(0.693147181f), ref);
  Weights w;
  w.lse = g.select(empty, low, lse);
  w.a = g.select(empty, zero, g.div(wa, sum));
  w.b = g.select(empty, zero, g.div(wb, sum));
  return w;
}

void KernelLowering::lower(MergeTileOp op) {
  Buffer a = buffer(op.getA()), b = buffer(op.getB());
  Buffer la = buffer(op.getLseA()), lb = buffer(op.getLseB());
  Buffer out = resultBuffer(op, op.getTile(), op.getA());
  Buffer lse = resultBuffer(op, op.getRowLse(), op.getLseA());
  forRows([&](Value r) {
    Weights w = mergeWeights(g.loadF(vectorElement(la, r)),
                             g.loadF(vectorElement(lb, r)));
    g.storeF(w.lse, vectorElement(lse, r));
    Value wa = g.splat(w.a), wb = g.splat(w.b);
    Value rowA = rowAddress(a, r), rowB = rowAddress(b, r);
    Value to = rowAddress(out, r);
    g.loop(g.i64c(0), g.i64c(out.pitch), lanes, [&](Value c) {
      Value x = g.mul(wa, g.loadV(g.at(rowA, c, g.f32)));
      x = g.fma(wb, g.loadV(g.at(rowB, c, g.f32)), x);
      g.storeV(x, g.at(to, c, g.f32));
    });
  });
}

void KernelLowering::lower(MergeSinkOp op) {
  Buffer a = buffer(op.getA()), la = buffer(op.getLseA());
  Buffer sink = buffer(op.getSink());
  Buffer out = resultBuffer(op, op.getTile(), op.getA());
  Buffer lse = resultBuffer(op, op.getRowLse(), op.getLseA());
  forRows([&](Value r) {
    Weights w = mergeWeights(g.loadF(vectorElement(la, r)),
                             g.loadF(vectorElement(sink, r)));
    g.storeF(w.lse, vectorElement(lse, r));
    Value wa = g.splat(w.a);
    Value from = rowAddress(a, r), to = rowAddress(out, r);
    g.loop(g.i64c(0), g.i64c(out.pitch), lanes, [&](Value c) {
      g.storeV(g.mul(wa, g.loadV(g.at(from, c, g.f32))), g.at(to, c, g.f32));
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
