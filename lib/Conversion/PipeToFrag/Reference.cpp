//===- Reference.cpp - exponentials by a row's reference, and its check ---===//
//
// The weight of a score is exp2(c (s - m)) with the row's reference m.  Both
// forms are one FMA and one exp2 an element, with two numbers (f, b) a row:
//
//   attn.exp exact %s, %m    -> map m -> (f, b);  map p = exp2(s f + b)
//   attn.exp frozen %s, %m   -> map m -> b, before the loop if the loop keeps
//   m;
//                               map p = exp2(s c + b)
//
//   m = -inf       f = any  b = 0        every score of the row is -inf
//   |c m| < 2^29   f = c    b = -c m
//   else           f = 2^k  b = -f m     2^30 <= |f m| < 2^31
//
// The last case: neighbouring f32 scores are at least 2^5 apart after the
// product with c, so a row's maximum weighs 1 and every other score less than
// 2^-32.  With a power of two f m is exact and neighbours are at least 2^6
// apart: the maximum weighs exactly 1 again and the others less than 2^-64,
// where -c m, rounded to a multiple of 2^6, would lose the row.
//
// A lazy reference stays while the new maximum M is near it:
//
//   attn.lazy_max %s, %m by t  ->  |c m| < 2^22 and c (M - m) <= t ? m : M
//   attn.rescale rare %O, %al  ->  if any row of the warp has alpha != 1:
//                                    map o * alpha
//
// Below 2^22 the product c m is rounded by 1/4 at most, so that no weight is more than
// 2^(t + 1/4) and 16-bit weights hold t = 15.  Up to 2^29 it may be off by 16, which
// beside the maximum itself only scales a row.
//
// The frozen form carries the schedule's exp2_fma; the exact one, which a tile
// that fails the check runs, does not.
//
// Invariant: what is decided here is the same for the whole CTA or replica, and rows past
// the item's never decide anything.  Whether O is multiplied is decided by a warp, where
// any row may ask for it: by 1 it stays what it is.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace attn;

/// |c m| below this can be subtracted inside the exponent without losing it.
static constexpr float largeReference = 536870912.0f; // 2^29
/// |c m| below this is rounded by 1/4 at most.
static constexpr float preciseReference = 4194304.0f; // 2^22

namespace {
/// The exponent field of an f32 and of two powers of two.
constexpr int32_t exponentMask = 0x7f800000;
constexpr int32_t signMask = int32_t(0x80000000);
/// Field of 2^k minus this field is the field of 2^(30 - k).
constexpr int32_t mirror = int32_t(0x8e000000);
/// The least field whose mirror is a finite power of two.
constexpr int32_t leastField = 0x0f000000;
} // namespace

static Value isSmall(Scalars &s, Value cm, float limit = largeReference) {
  Value size = math::AbsFOp::create(s.b, s.loc, cm);
  return s.cmpF(arith::CmpFPredicate::OLT, size, s.f32(limit));
}

/// The power of two f of the sign of c with 2^30 <= |f m| < 2^31.
static Value powerFor(Scalars &s, Value m, Value c) {
  Type i32 = s.b.getI32Type();
  auto bits = [&](Value x, int32_t mask) -> Value {
    Value word = arith::BitcastOp::create(s.b, s.loc, i32, x);
    return arith::AndIOp::create(s.b, s.loc, word, s.i32(mask));
  };
  Value field = arith::MaxSIOp::create(s.b, s.loc, bits(m, exponentMask),
                                       s.i32(leastField));
  Value word = arith::OrIOp::create(s.b, s.loc, s.sub(s.i32(mirror), field),
                                    bits(c, signMask));
  return arith::BitcastOp::create(s.b, s.loc, s.b.getF32Type(), word);
}

/// Weights of states whose rows have the references m and sums l, behind those of the
/// whole: (M, l, w_0, ..).  References differ by what exponentials subtracted: c m as
/// it was rounded, so that what it lost scales no state more than another.
void attn::weighStates(Scalars &s, ValueRange m, ValueRange l, Value c,
                       SmallVectorImpl<Value> &yield) {
  Value top = m.front();
  for (Value x : m.drop_front())
    top = arith::MaxNumFOp::create(s.b, s.loc, top, x);
  Value none = s.cmpF(arith::CmpFPredicate::OEQ, top, s.negInf());
  Value base = s.select(none, s.f32(0), top), sum;
  // A product by itself would be contracted with the difference.
  auto product = [&](Value x) -> Value {
    return math::FmaOp::create(s.b, s.loc, c, x, s.f32(0));
  };
  Value cTop = product(base), small = isSmall(s, cTop);
  SmallVector<Value> weights;
  for (auto [part, share] : llvm::zip_equal(m, l)) {
    Value cm = product(part);
    Value near = arith::AndIOp::create(s.b, s.loc, small, isSmall(s, cm));
    Value below =
        s.select(near, s.subF(cm, cTop), s.mulF(s.subF(part, base), c));
    weights.push_back(s.exp2(below));
    sum = sum ? math::FmaOp::create(s.b, s.loc, weights.back(), share, sum)
                    .getResult()
              : s.mulF(weights.back(), share);
  }
  yield.push_back(top);
  yield.push_back(sum);
  llvm::append_range(yield, weights);
}

LogicalResult KernelLowering::convert(LazyMaxOp op) {
  Value c = at(op.getC());
  Value rowMax = rowMaximum(op.getTile(), op.getLoc());
  Type type = rowMax.getType();
  Value m = complete(op.getM(), op.getLoc());
  float threshold = float(op.getThreshold());
  mapping.map(op.getResult(),
              map(type, {m, rowMax}, op.getLoc(),
                  [&](Scalars &s, ValueRange x, auto &yield) {
                    Value top =
                        arith::MaxNumFOp::create(s.b, s.loc, x[0], x[1]);
                    Value rise = s.mulF(s.subF(top, x[0]), c);
                    Value near = s.cmpF(arith::CmpFPredicate::OLE, rise,
                                        s.f32(threshold));
                    // -inf and NaN are not small.
                    Value small = isSmall(s, s.mulF(x[0], c), preciseReference);
                    Value keep = arith::AndIOp::create(s.b, s.loc, small, near);
                    yield.push_back(s.select(keep, x[0], top));
                  }));
  return success();
}

LogicalResult KernelLowering::convert(RescaleOp op) {
  Location loc = op.getLoc();
  Value tile = at(op.getTile());
  Value factor = complete(op.getFactor(), loc);
  auto scale = [&] {
    return map(tile.getType(), {tile, factor}, loc,
               [](Scalars &s, ValueRange x, auto &yield) {
                 yield.push_back(s.mulF(x[0], x[1]));
               });
  };
  if (!op.getRare()) {
    mapping.map(op.getResult(), scale());
    return success();
  }
  auto rows = cast<frag::VecType>(factor.getType()).getRows();
  // True for NaN.
  Value moved =
      map(vecType(rows, b.getI1Type()), factor, loc,
          [](Scalars &s, ValueRange x, auto &yield) {
            yield.push_back(s.cmpF(arith::CmpFPredicate::UNE, x[0], s.f32(1)));
          });
  mapping.map(op.getResult(), ifWarpHas(moved, tile, loc, scale));
  return success();
}

/// The value that a loop starts with, if `m` never changes in the loop around `op`:
/// carried by it, or from outside; null otherwise.
static Value startOfInvariant(ExpOp op) {
  auto around = dyn_cast<LoopLikeOpInterface>(op->getParentOp());
  if (around && around.isDefinedOutsideOfLoop(op.getM()) &&
      around.isDefinedOutsideOfLoop(op.getC()))
    return op.getM();
  auto arg = dyn_cast<BlockArgument>(op.getM());
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!arg || !loop || arg.getOwner() != loop.getBody() ||
      !loop.isDefinedOutsideOfLoop(op.getC()))
    return {};
  OpOperand *yielded = loop.getTiedLoopYieldedValue(arg);
  return yielded && yielded->get() == arg ? loop.getTiedLoopInit(arg)->get()
                                          : Value();
}

LogicalResult KernelLowering::convert(ExpOp op) {
  Value c = at(op.getC()), tile = at(op.getTile());
  Location loc = op.getLoc();
  auto element = [&](ValueRange vectors, auto factor) {
    SmallVector<Value> inputs = {tile};
    llvm::append_range(inputs, vectors);
    mapping.map(op.getResult(),
                map(tile.getType(), inputs, loc,
                    [&](Scalars &s, ValueRange x, auto &yield) {
                      auto [f, b] = factor(x);
                      yield.push_back(
                          s.exp2(math::FmaOp::create(s.b, s.loc, x[0], f, b)));
                    }));
  };

  if (op.getReference() == Reference::Exact) {
    Value m = complete(op.getM(), loc);
    auto fb =
        maps({m.getType(), m.getType()}, {m}, loc,
             [&](Scalars &s, ValueRange x, auto &yield) {
               Value small = isSmall(s, s.mulF(x[0], c));
               Value f = s.select(small, c, powerFor(s, x[0], c));
               Value none = s.cmpF(arith::CmpFPredicate::OEQ, x[0], s.negInf());
               Value minus = arith::NegFOp::create(s.b, s.loc, s.mulF(x[0], f));
               yield.push_back(f);
               yield.push_back(s.select(none, s.f32(0), minus));
             });
    element(fb, [](ValueRange x) { return std::pair(x[1], x[2]); });
    return success();
  }

  OpBuilder::InsertionGuard guard(b);
  Value start = startOfInvariant(op);
  auto restore = b.saveInsertionPoint();
  if (start)
    b.setInsertionPoint(b.getInsertionBlock()->getParentOp());
  Value m = complete(start ? start : op.getM(), loc);
  Value minus =
      map(m.getType(), {m}, loc, [&](Scalars &s, ValueRange x, auto &yield) {
        Value cm = s.mulF(x[0], c);
        Value nan = s.f32(std::numeric_limits<float>::quiet_NaN());
        Value neg = arith::NegFOp::create(s.b, s.loc, cm);
        yield.push_back(s.select(isSmall(s, cm), neg, nan));
      });
  b.restoreInsertionPoint(restore);
  element(minus, [&](ValueRange x) { return std::pair(c, x[1]); });
  if (int32_t share = kernel.getSchedule()->getExp2Fma())
    at(op.getResult()).getDefiningOp<frag::MapOp>().setExp2Fma(share);
  return success();
}

/// True for the CTA or replica if `bad` holds in a live row; `bad` sees the
/// inputs.
FailureOr<Value>
KernelLowering::anyLive(RowsInfo &rows, ValueRange inputs, Operation *op,
                        llvm::function_ref<Value(Scalars &, ValueRange)> bad) {
  bool partial = llvm::any_of(inputs.getTypes(), [](Type type) {
    return cast<frag::VecType>(type).getPartial();
  });
  Value found =
      map(vecType(rows.rows, b.getI1Type(), partial), inputs, op->getLoc(),
          [&](Scalars &s, ValueRange x, auto &yield) {
            Value row = rows.inTile(s, x.back());
            Value live = s.cmp(arith::CmpIPredicate::slt, row, rows.nrows);
            yield.push_back(arith::AndIOp::create(s.b, s.loc, live, bad(s, x)));
          });
  return vote(found, op);
}

static Value negate(Scalars &s, Value x) {
  Value yes = arith::ConstantOp::create(s.b, s.loc, s.b.getBoolAttr(true));
  return arith::XOrIOp::create(s.b, s.loc, x, yes);
}

LogicalResult KernelLowering::convert(ExactPrefixOp op) {
  Value c = at(op.getC());
  Value m = complete(op.getM(), op.getLoc());
  // -inf and NaN are not small either.
  FailureOr<Value> some =
      anyLive(rowMaps[op.getRows()], m, op, [&](Scalars &s, ValueRange x) {
        return negate(s, isSmall(s, s.mulF(x[0], c)));
      });
  if (failed(some))
    return failure();
  Scalars s{b, op.getLoc()};
  Value blocks = s.sub(at(op.getHi()), at(op.getLo()));
  Value one = arith::MinSIOp::create(b, op.getLoc(), blocks, s.i32(1));
  Value prefix = s.select(*some, one, s.i32(0));
  mapping.map(op.getResult(), s.select(at(op.getExact()), blocks, prefix));
  return success();
}

/// Each thread looks at its share of a row's sum: a share that is small is the sum
/// of small weights, and four small ones make no large sum.
LogicalResult KernelLowering::convert(CheckSumsOp op) {
  float limit = std::ldexp(1.0f, int32_t(op.getLimit()));
  FailureOr<Value> bad = anyLive(
      rowMaps[op.getRows()], at(op.getL()), op, [&](Scalars &s, ValueRange x) {
        return s.cmpF(arith::CmpFPredicate::UGE, x[0], s.f32(limit));
      });
  if (failed(bad))
    return failure();
  Scalars s{b, op.getLoc()};
  mapping.map(op.getResult(), negate(s, *bad));
  return success();
}

/// As above each thread looks at its own share, of O's columns too, so that nothing goes
/// from lane to lane before the vote; a share of the limit keeps sums below it.  What a
/// settled row is, its whole sum says.
LogicalResult KernelLowering::convert(CheckOp op) {
  RowsInfo &rows = rowMaps[op.getRows()];
  Value o = at(op.getO()), l = at(op.getL());
  auto sums = cast<frag::VecType>(l.getType());
  bool shares = sums.getPartial() && !op.getSettled();
  // What is stored needs whole sums: they go from lane to lane while the vote is taken.
  Value whole = complete(op.getL(), op.getLoc());
  completed[op.getL()] = whole;
  if (!shares)
    l = whole;
  // A sum is finite only if all its terms are.  Where it overflows by itself the
  // tile is redone for nothing, with the same result.
  Value sum = frag::ReduceRowOp::create(
      b, op.getLoc(), vecType(rows.rows, b.getF32Type(), shares),
      frag::ReduceKind::Sum,
      shares ? frag::ReduceScope::Thread : frag::ReduceScope::Row, o);
  size_t sharing =
      shares ? size_t(1) << frag::layoutOf(sums).rowLaneMasks().size() : 1;
  float limit = std::ldexp(1.0f, int32_t(op.getLimit())) / float(sharing);
  FailureOr<Value> bad =
      anyLive(rows, {l, sum}, op, [&](Scalars &s, ValueRange x) {
        Value small = s.cmpF(arith::CmpFPredicate::OLT, x[0], s.f32(limit));
        Value size = math::AbsFOp::create(s.b, s.loc, x[1]);
        Value finite =
            s.cmpF(arith::CmpFPredicate::OLT, size, s.f32(HUGE_VALF));
        Value good = arith::AndIOp::create(s.b, s.loc, small, finite);
        if (op.getSettled()) {
          Value nan = s.cmpF(arith::CmpFPredicate::UNO, x[0], x[0]);
          good = arith::OrIOp::create(s.b, s.loc, good, nan);
        }
        return negate(s, good);
      });
  if (failed(bad))
    return failure();
  Scalars s{b, op.getLoc()};
  mapping.map(op.getResult(), negate(s, *bad));
  return success();
}
