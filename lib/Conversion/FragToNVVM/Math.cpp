//===- Math.cpp - math that the back end can select -----------------------===//
//
//   exp2(x)  -> ex2.approx.ftz          exp(x)  -> ex2(x * log2 e)
//   log2(x)  -> lg2.approx              log(x)  -> lg2(x) * ln 2
//   tanh(x)  -> 1 - 2 rcp(ex2(2 x log2 e) + 1), a polynomial near 0
//   sin, cos -> reduced to [-pi, pi], then the approximation
//   1 / y    -> rcp.approx.ftz (1 ulp)
//   x / y    -> x * (1 / y) with 1 / y before the map if y is uniform,
//               else div.full (2 ulp)
//
// It runs on maps before they are unrolled.  exp2 flushes denormal results: the
// other form costs three more instructions an element and no tolerance sees it.
// Products and sums get `contract`, without which no FMA is made.
//
// Invariant: no op is left that LLVM would abort on.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

namespace {

constexpr float log2e = 1.44269504f;
constexpr float ln2 = 0.693147181f;

/// f32 arithmetic that may be contracted.
struct FloatEmitter : Emitter {
  using Emitter::Emitter;
  Value add(Value x, Value y) { return contract<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return contract<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return contract<arith::MulFOp>(x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, loc, x, y, z);
  }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value exp2(Value x) { return call("llvm.nvvm.ex2.approx.ftz.f32", x); }
  Value log2(Value x) { return call("llvm.nvvm.lg2.approx.f", x); }
  Value rcp(Value x) { return call("llvm.nvvm.rcp.approx.ftz.f", x); }
  Value div(Value x, Value y) { return call("llvm.nvvm.div.full", {x, y}); }
  Value call(StringRef name, ValueRange args) {
    return intrinsic(name, b.getF32Type(), args);
  }

private:
  template <typename OpTy> Value contract(Value x, Value y) {
    return OpTy::create(b, loc, x, y, arith::FastMathFlags::contract);
  }
};

} // namespace

/// Relative error below 1e-6 everywhere: near 0 the quotient would cancel.
static Value emitTanh(FloatEmitter &e, Value x) {
  Value one = e.f32(1);
  Value growth = e.add(e.exp2(e.mul(x, e.f32(2 * log2e))), one);
  Value far = e.fma(e.f32(-2), e.rcp(growth), one);
  // x - x^3/3 + 2 x^5/15 - 17 x^7/315
  Value square = e.mul(x, x);
  Value near = e.fma(square, e.f32(-17.0f / 315), e.f32(2.0f / 15));
  near = e.fma(square, near, e.f32(-1.0f / 3));
  near = e.fma(e.mul(square, near), x, x);
  Value small = arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OLT,
                                      e.abs(x), e.f32(0.25f));
  return arith::SelectOp::create(e.b, e.loc, small, near, far);
}

/// x minus the nearest multiple of 2 pi, in two parts.
static Value reduceAngle(FloatEmitter &e, Value x) {
  Value turns =
      math::RoundEvenOp::create(e.b, e.loc, e.mul(x, e.f32(0.159154943f)));
  Value rest = e.fma(turns, e.f32(-6.28125f), x);
  return e.fma(turns, e.f32(-1.93530717959e-3f), rest);
}

/// The quotient; a divisor from outside a map is inverted there, once.
static Value emitDivision(FloatEmitter &e, arith::DivFOp op) {
  Value x = op.getLhs(), y = op.getRhs();
  auto map = op->getParentOfType<MapOp>();
  FloatAttr constant;
  if (auto known = y.getDefiningOp<arith::ConstantOp>())
    constant = dyn_cast<FloatAttr>(known.getValue());
  if (constant)
    return e.mul(x, e.f32(1.0f / constant.getValue().convertToFloat()));
  if (matchPattern(x, m_OneFloat()))
    return e.rcp(y);
  if (!map || map.getBody().isAncestor(y.getParentRegion()))
    return e.div(x, y);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPoint(map);
  Value inverse = e.div(e.f32(1), y);
  e.b.setInsertionPoint(op);
  return e.mul(x, inverse);
}

/// Division that rounds down or up; 0 for a divisor of 0, as hooks define it.
template <typename OpTy>
static Value emitRoundedDivision(Emitter &e, OpTy op, bool up) {
  OpBuilder &b = e.b;
  Location loc = e.loc;
  Value x = op.getLhs(), y = op.getRhs(), none = e.zero(x.getType());
  auto compare = [&](arith::CmpIPredicate p, Value l, Value r) -> Value {
    return arith::CmpIOp::create(b, loc, p, l, r);
  };
  Value one =
      arith::ConstantOp::create(b, loc, b.getIntegerAttr(x.getType(), 1));
  Value isZero = compare(arith::CmpIPredicate::eq, y, none);
  Value divisor = arith::SelectOp::create(b, loc, isZero, one, y);
  Value quotient = arith::DivSIOp::create(b, loc, x, divisor);
  Value rest = arith::SubIOp::create(
      b, loc, x, arith::MulIOp::create(b, loc, quotient, divisor));
  Value inexact = compare(arith::CmpIPredicate::ne, rest, none);
  // The signs of rest and divisor differ where truncation rounded up.
  Value negative = compare(arith::CmpIPredicate::slt,
                           arith::XOrIOp::create(b, loc, rest, divisor), none);
  if (up)
    negative = arith::XOrIOp::create(
        b, loc, negative,
        arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  Value off = arith::AndIOp::create(b, loc, inexact, negative);
  Value moved = up ? arith::AddIOp::create(b, loc, quotient, one).getResult()
                   : arith::SubIOp::create(b, loc, quotient, one).getResult();
  Value result = arith::SelectOp::create(b, loc, off, moved, quotient);
  return arith::SelectOp::create(b, loc, isZero, none, result);
}

/// The replacement of an op; null if it can stay.
static Value legalise(Operation *op, FloatEmitter &e) {
  constexpr auto approximate = LLVM::FastmathFlags::afn;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::Exp2Op op) { return e.exp2(op.getOperand()); })
      .Case([&](math::ExpOp op) {
        return e.exp2(e.mul(op.getOperand(), e.f32(log2e)));
      })
      .Case([&](math::Log2Op op) { return e.log2(op.getOperand()); })
      .Case([&](math::LogOp op) {
        return e.mul(e.log2(op.getOperand()), e.f32(ln2));
      })
      .Case([&](math::TanhOp op) { return emitTanh(e, op.getOperand()); })
      .Case([&](math::SinOp op) {
        return LLVM::SinOp::create(e.b, e.loc, e.b.getF32Type(),
                                   reduceAngle(e, op.getOperand()), approximate)
            .getResult();
      })
      .Case([&](math::CosOp op) {
        return LLVM::CosOp::create(e.b, e.loc, e.b.getF32Type(),
                                   reduceAngle(e, op.getOperand()), approximate)
            .getResult();
      })
      .Case([&](arith::DivFOp op) { return emitDivision(e, op); })
      .Case([&](arith::FloorDivSIOp op) {
        return emitRoundedDivision(e, op, /*up=*/false);
      })
      .Case([&](arith::CeilDivSIOp op) {
        return emitRoundedDivision(e, op, /*up=*/true);
      })
      // Saturates and takes NaN to 0, which llvm.fptosi leaves open.
      .Case([&](arith::FPToSIOp op) -> Value {
        if (!op.getType().isInteger(32))
          return Value();
        return e.intrinsic("llvm.nvvm.f2i.rz", op.getType(), op.getIn());
      })
      .Default([](Operation *) { return Value(); });
}

/// Math ops that NVPTX has an instruction for.
static bool isNative(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp,
             math::CeilOp, math::TruncOp, math::RoundEvenOp, math::SqrtOp,
             math::CopySignOp>(op);
}

static bool isF32(Operation *op) {
  return llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return type.isF32(); });
}

LogicalResult frag::legaliseMath(frag::KernelOp kernel) {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (isa<math::MathDialect, arith::ArithDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    bool isMath = isa<math::MathDialect>(op->getDialect());
    if (isMath && !isNative(op) && !isF32(op))
      return op->emitOpError("has no lowering for ")
             << op->getOperand(0).getType() << ", only for f32";
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op)) {
      auto flags = arith::FastMathFlagsAttr::get(
          op->getContext(), arith::FastMathFlags::contract);
      op->setAttr("fastmath", flags);
      continue;
    }
    if (isa<arith::DivFOp, arith::FPToSIOp>(op) && !isF32(op))
      continue;
    OpBuilder b(op);
    FloatEmitter e(b, op->getLoc());
    if (Value value = legalise(op, e)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    } else if (isMath && !isNative(op)) {
      return op->emitOpError("has no lowering for a GPU target");
    }
  }
  return success();
}
