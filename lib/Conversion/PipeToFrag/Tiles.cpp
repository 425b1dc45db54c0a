//===- Tiles.cpp - softmax steps, merges ----------------------------------===//
//
//   attn.row_max %s, %m     -> frag.reduce_row max row; map maxnumf
//   attn.finish %O, %m, %l  -> map o / l; a warp with an empty row: map select 0
//
// Invariant: no difference of two infinities is ever used: each one is decided
// by a select on its operands.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

static constexpr float log2E = 1.44269504088896340736f;
static constexpr float ln2 = 0.693147180559945309417f;

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::convert(PackOp op) {
  Type type = convertType(op.getResult());
  if (!type)
    return failure();
  // Where visits may be redone a branch follows the frozen one; the others are like it,
  // so that P is in the same registers.
  bool here = role.async() && kernel.getSchedule()->getRedo() == Redo::Visit;
  mapping.map(op.getResult(), frag::PackOp::create(b, op.getLoc(), type,
                                                   at(op.getTile()), here));
  return success();
}

LogicalResult KernelLowering::convert(StateInitOp op) {
  Scalars s{b, op.getLoc()};
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    if (isa<StateType>(result.getType()))
      return op.emitOpError("has a state that is not expanded");
    Type type = convertType(result);
    if (!type)
      return failure();
    // O = 0, m = -inf, l = 0.
    Value unit = i == 1 ? s.negInf() : s.f32(0);
    mapping.map(result, frag::SplatOp::create(b, op.getLoc(), type, unit));
  }
  return success();
}

Value KernelLowering::rowMaximum(Value tile, Location loc) {
  int32_t rows = cast<TileType>(tile.getType()).getRows();
  return frag::ReduceRowOp::create(b, loc, vecType(rows, b.getF32Type()),
                                   frag::ReduceKind::Max,
                                   frag::ReduceScope::Row, at(tile));
}

LogicalResult KernelLowering::convert(RowMaxOp op) {
  Value rowMax = rowMaximum(op.getTile(), op.getLoc());
  Type type = rowMax.getType();
  Value m = complete(op.getM(), op.getLoc());
  mapping.map(op.getResult(), map(type, {m, rowMax}, op.getLoc(),
                                  [](Scalars &s, ValueRange x, auto &yield) {
                                    yield.push_back(arith::MaxNumFOp::create(
                                        s.b, s.loc, x[0], x[1]));
                                  }));
  return success();
}

LogicalResult KernelLowering::convert(AlphaOp op) {
  Value c = at(op.getC());
  Value m = complete(op.getM(), op.getLoc());
  Value mNew = complete(op.getMNew(), op.getLoc());
  mapping.map(op.getResult(),
              map(m.getType(), {m, mNew}, op.getLoc(),
                  [&](Scalars &s, ValueRange x, auto &yield) {
                    Value e = s.exp2(s.mulF(s.subF(x[0], x[1]), c));
                    Value none =
                        s.cmpF(arith::CmpFPredicate::OEQ, x[1], s.negInf());
                    yield.push_back(s.select(none, s.f32(1), e));
                  }));
  return success();
}

LogicalResult KernelLowering::convert(RowSumOp op) {
  Type type = convertType(op.getResult());
  if (!type)
    return failure();
  Value l = at(op.getL());
  Value sum =
      frag::ReduceRowOp::create(b, op.getLoc(), type, frag::ReduceKind::Sum,
                                frag::ReduceScope::Thread, at(op.getTile()));
  SmallVector<Value> inputs = {l, sum};
  if (op.getAlpha())
    inputs.push_back(complete(op.getAlpha(), op.getLoc()));
  mapping.map(op.getResult(), map(type, inputs, op.getLoc(),
                                  [&](Scalars &s, ValueRange x, auto &yield) {
                                    if (op.getAlpha())
                                      yield.push_back(math::FmaOp::create(
                                          s.b, s.loc, x[0], x[2], x[1]));
                                    else
                                      yield.push_back(s.addF(x[0], x[1]));
                                  }));
  return success();
}

Value KernelLowering::ifWarpHas(Value vec, Value tile, Location loc,
                                llvm::function_ref<Value()> change) {
  Value some =
      frag::AnyOp::create(b, loc, b.getI1Type(), vec, frag::VoteScope::Warp,
                          IntegerAttr(), Value());
  auto branch = scf::IfOp::create(b, loc, TypeRange{tile.getType()}, some,
                                  /*withElseRegion=*/true);
  OpBuilder other = branch.getElseBodyBuilder();
  scf::YieldOp::create(other, loc, tile);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value changed = change();
  scf::YieldOp::create(b, loc, changed);
  return branch.getResult(0);
}

//===----------------------------------------------------------------------===//
// Finish and merge
//===----------------------------------------------------------------------===//

namespace {
/// Two weights, relative to the larger one; -inf weighs 0.
struct Weights {
  Value top, a, b;
};
} // namespace

/// Exponents of base 2: (x, y) -> (max, 2^(x - max), 2^(y - max)), (-inf, 0, 0) if
/// both are -inf.  Others are given in units of `unit`, which acts behind the
/// difference: x * unit - base would be contracted, and of equal and large x the
/// rounding error of base would be left as an exponent.
static Weights weigh(Scalars &s, Value x, Value y, float unit = 1) {
  Value top = arith::MaxNumFOp::create(s.b, s.loc, x, y);
  Value none = s.cmpF(arith::CmpFPredicate::OEQ, top, s.negInf());
  Value base = s.select(none, s.f32(0), top);
  auto weight = [&](Value exponent) {
    Value below = s.subF(exponent, base);
    return s.exp2(unit == 1 ? below : s.mulF(below, s.f32(unit)));
  };
  return {top, weight(x), weight(y)};
}

/// 1 / x, and 0 where there is nothing to divide by.
static Value inverse(Scalars &s, Value x) {
  Value none = s.cmpF(arith::CmpFPredicate::OEQ, x, s.f32(0));
  return s.select(none, s.f32(0), s.divF(s.f32(1), x));
}

/// ln of 2^top * sum, -inf for an empty sum.
static Value logOf(Scalars &s, Value top, Value sum) {
  Value none = s.cmpF(arith::CmpFPredicate::OEQ, sum, s.f32(0));
  Value value = s.mulF(s.addF(top, s.log2(sum)), s.f32(ln2));
  return s.select(none, s.negInf(), value);
}

/// ln of e^top * sum.  A merge of many parts stays in natural units: to base 2 and back
/// is off by 1e-8 of the LSE, always to one side, and a row of 260 parts would be off by
/// more than its tolerance.
static Value mergedLog(Scalars &s, Value top, Value sum) {
  Value none = s.cmpF(arith::CmpFPredicate::OEQ, sum, s.f32(0));
  Value value = math::FmaOp::create(s.b, s.loc, s.log2(sum), s.f32(ln2), top);
  return s.select(none, s.negInf(), value);
}

LogicalResult KernelLowering::convert(FinishOp op) {
  Value c = at(op.getC());
  FailureOr<State> whole =
      joinGroups(op.getO(), op.getM(), op.getL(), c, op.getLoc());
  if (failed(whole))
    return failure();
  Value m = whole->m, l = whole->l;
  SmallVector<Value> inputs = {m, l};
  if (op.getSink())
    inputs.push_back(complete(op.getSink(), op.getLoc()));
  auto factorAndLse =
      maps({m.getType(), m.getType()}, inputs, op.getLoc(),
           [&](Scalars &s, ValueRange x, auto &yield) {
             Value cm = s.mulF(x[0], c);
             if (!op.getSink()) {
               yield.push_back(inverse(s, x[1]));
               yield.push_back(logOf(s, cm, x[1]));
               return;
             }
             // An empty row has weight 0 whatever its reference is.
             Value empty = s.cmpF(arith::CmpFPredicate::OEQ, x[1], s.f32(0));
             Value own = s.select(empty, s.negInf(), cm);
             Weights w = weigh(s, own, s.mulF(x[2], s.f32(log2E)));
             Value sum = s.addF(s.mulF(x[1], w.a), w.b);
             yield.push_back(s.mulF(w.a, inverse(s, sum)));
             yield.push_back(logOf(s, w.top, sum));
           });
  auto o = cast<TypedValue<frag::RegType>>(whole->o);
  Value factor = factorAndLse[0];
  Location loc = op.getLoc();
  Value scaled = map(o.getType(), {o, factor}, loc,
                     [](Scalars &s, ValueRange x, auto &yield) {
                       yield.push_back(s.mulF(x[0], x[1]));
                     });
  // A row without a key is exactly 0 even if O holds a NaN of another row's V.
  // Such rows are rare, so a warp without one does not select.
  auto isEmpty = [](Scalars &s, Value factor) {
    return s.cmpF(arith::CmpFPredicate::OEQ, factor, s.f32(0));
  };
  Type flags = vecType(o.getType().getRows(), b.getI1Type(), /*partial=*/false,
                       Holding::Joined);
  Value empty =
      map(flags, factor, loc, [&](Scalars &s, ValueRange x, auto &yield) {
        yield.push_back(isEmpty(s, x[0]));
      });
  auto zeroed = [&] {
    return map(o.getType(), {scaled, factor}, loc,
               [&](Scalars &s, ValueRange x, auto &yield) {
                 yield.push_back(s.select(isEmpty(s, x[1]), s.f32(0), x[0]));
               });
  };
  mapping.map(op.getTile(), ifWarpHas(empty, scaled, loc, zeroed));
  mapping.map(op.getRowLse(), factorAndLse[1]);
  return success();
}

LogicalResult KernelLowering::convert(MergeTileOp op) {
  Value lseA = complete(op.getLseA(), op.getLoc());
  Value lseB = complete(op.getLseB(), op.getLoc());
  Type type = lseA.getType();
  auto parts = maps({type, type, type}, {lseA, lseB}, op.getLoc(),
                    [](Scalars &s, ValueRange x, auto &yield) {
                      Weights w = weigh(s, x[0], x[1], log2E);
                      Value sum = s.addF(w.a, w.b);
                      Value inv = inverse(s, sum);
                      yield.push_back(s.mulF(w.a, inv));
                      yield.push_back(s.mulF(w.b, inv));
                      yield.push_back(mergedLog(s, w.top, sum));
                    });
  Value a = at(op.getA()), other = at(op.getB());
  mapping.map(op.getTile(),
              map(a.getType(), {a, other, parts[0], parts[1]}, op.getLoc(),
                  [](Scalars &s, ValueRange x, auto &yield) {
                    Value second = s.mulF(x[1], x[3]);
                    yield.push_back(
                        math::FmaOp::create(s.b, s.loc, x[0], x[2], second));
                  }));
  mapping.map(op.getRowLse(), parts[2]);
  return success();
}

LogicalResult KernelLowering::convert(MergeSinkOp op) {
  Value lseA = complete(op.getLseA(), op.getLoc());
  Value sink = complete(op.getSink(), op.getLoc());
  Type type = lseA.getType();
  auto parts = maps({type, type}, {lseA, sink}, op.getLoc(),
                    [](Scalars &s, ValueRange x, auto &yield) {
                      Weights w = weigh(s, x[0], x[1], log2E);
                      Value sum = s.addF(w.a, w.b);
                      yield.push_back(s.mulF(w.a, inverse(s, sum)));
                      yield.push_back(mergedLog(s, w.top, sum));
                    });
  Value a = at(op.getA());
  mapping.map(op.getTile(), map(a.getType(), {a, parts[0]}, op.getLoc(),
                                [](Scalars &s, ValueRange x, auto &yield) {
                                  yield.push_back(s.mulF(x[0], x[1]));
                                }));
  mapping.map(op.getRowLse(), parts[1]);
  return success();
}

LogicalResult KernelLowering::convert(AddTileOp op) {
  Value a = at(op.getA()), other = at(op.getB());
  mapping.map(op.getTile(), map(a.getType(), {a, other}, op.getLoc(),
                                [](Scalars &s, ValueRange x, auto &yield) {
                                  yield.push_back(s.addF(x[0], x[1]));
                                }));
  return success();
}
