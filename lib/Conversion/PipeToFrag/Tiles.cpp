//===- Tiles.cpp - softmax steps, merges ----------------------------------===//
//
//   attn.row_max %s, %m     -> frag.reduce_row max row; map maxnumf
//   attn.finish %O, %m, %l  -> map o / l; a warp with an empty row: map select 0
//   attn.merge_state        -> map m, l of both -> M, l, weights; map O
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
/// both are -inf.
static Weights weigh(Scalars &s, Value x, Value y) {
  Value top = arith::MaxNumFOp::create(s.b, s.loc, x, y);
  Value none = s.cmpF(arith::CmpFPredicate::OEQ, top, s.negInf());
  Value base = s.select(none, s.f32(0), top);
  return {top, s.exp2(s.subF(x, base)), s.exp2(s.subF(y, base))};
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

/// `tile` with 0 in the rows without a weight: O may hold a NaN of another row's V
/// there.  Such rows are rare, so a warp without one does not select.
Value KernelLowering::zeroEmptyRows(Value tile, Value weight, Location loc) {
  auto type = cast<frag::RegType>(tile.getType());
  auto isEmpty = [](Scalars &s, Value x) {
    return s.cmpF(arith::CmpFPredicate::OEQ, x, s.f32(0));
  };
  Type flags = vecType(type.getRows(), b.getI1Type(), /*partial=*/false,
                       Holding::Joined);
  Value empty =
      map(flags, weight, loc, [&](Scalars &s, ValueRange x, auto &yield) {
        yield.push_back(isEmpty(s, x[0]));
      });
  return ifWarpHas(empty, tile, loc, [&] {
    return map(type, {tile, weight}, loc,
               [&](Scalars &s, ValueRange x, auto &yield) {
                 yield.push_back(s.select(isEmpty(s, x[1]), s.f32(0), x[0]));
               });
  });
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
  mapping.map(op.getTile(), zeroEmptyRows(scaled, factor, loc));
  mapping.map(op.getRowLse(), factorAndLse[1]);
  return success();
}

LogicalResult KernelLowering::convert(MergeStateOp op) {
  Location loc = op.getLoc();
  Value c = at(op.getC());
  SmallVector<Value> rows;
  for (Value x : {op.getMA(), op.getMB(), op.getLA(), op.getLB()})
    rows.push_back(complete(x, loc));
  Type type = rows[0].getType();
  auto parts = maps({type, type, type, type}, rows, loc,
                    [&](Scalars &s, ValueRange x, auto &yield) {
                      weighStates(s, x.take_front(2), x.slice(2, 2), c, yield);
                    });
  Value a = at(op.getOA()), other = at(op.getOB());
  mapping.map(op.getO(), map(a.getType(), {a, other, parts[2], parts[3]}, loc,
                             [](Scalars &s, ValueRange x, auto &yield) {
                               Value second = s.mulF(x[1], x[3]);
                               yield.push_back(math::FmaOp::create(
                                   s.b, s.loc, x[0], x[2], second));
                             }));
  mapping.map(op.getM(), parts[0]);
  mapping.map(op.getL(), parts[1]);
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
