//===- Math.cpp - math that the back end can select -----------------------===//
//
//   exp2(x)  -> ex2.approx.ftz          exp(x)  -> ex2(x * log2 e)
//               in a map with exp2_fma left to its elements (emitExp2)
//   log2(x)  -> lg2.approx, .ftz with afn    log(x)  -> lg2(x) * ln 2
//   tanh(x)  -> w rsqrt(1 + w^2), w = sinh x by a polynomial; tanh.approx with afn
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
#include "attn/Target/Exp2.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

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
  Value log2Flushed(Value x) { return call("llvm.nvvm.lg2.approx.ftz.f", x); }
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

/// x times a constant, which a factor of x that all columns of a row share takes in:
/// a score was scaled before it comes to a soft cap.
static Value scaled(FloatEmitter &e, Value x, float by) {
  auto product = x.getDefiningOp<arith::MulFOp>();
  auto map = product ? product->getParentOfType<MapOp>() : MapOp();
  if (map && product->hasOneUse()) {
    Dependences depends(map);
    for (auto [rest, factor] : {std::pair(product.getLhs(), product.getRhs()),
                                std::pair(product.getRhs(), product.getLhs())})
      if (depends.isOfRow(factor))
        return e.mul(rest, e.mul(factor, e.f32(by)));
  }
  return e.mul(x, e.f32(by));
}

/// tanh x = w / sqrt(1 + w^2) with w = sinh x, an odd polynomial.  An error of w
/// counts 1 / (1 + w^2) of itself, so that five terms make the quotient true to
/// 1e-6 up to |x| = 8, where it is 1 - 2e-7; beyond, w goes on as a line and the
/// quotient to 1.  One MUFU where exp2 and a reciprocal are two, and no case for
/// small x.
///
/// u = min((x/8)^2, 1) costs nothing beyond the square, and w is computed 2^16
/// times smaller; x is flushed to 0 below 2^-110, and beyond 2^60 taken for that,
/// so that w^2 does not overflow.  A NaN stays one.
static Value emitTanh(FloatEmitter &e, Value x) {
  // sinh x = x (c0 + c1 x^2 + ..): minimax of the quotient's relative error.
  constexpr double terms[] = {1.00000083, 0.166655716, 8.34999791e-3,
                              1.91787176e-4, 3.56949593e-6};
  constexpr double small = 1.0 / 65536;
  Value part = scaled(e, x, 0.125f);
  part = arith::MinimumFOp::create(e.b, e.loc, part, e.f32(0x1p57f));
  part = arith::MaximumFOp::create(e.b, e.loc, part, e.f32(-0x1p57f));
  Value square = e.call("llvm.nvvm.saturate.ftz.f", e.mul(part, part));
  auto coefficient = [&](int k) {
    return e.f32(float(terms[k] * small * 8 * std::pow(64.0, k)));
  };
  Value sum = coefficient(4);
  for (int k = 3; k >= 0; --k)
    sum = e.fma(sum, square, coefficient(k));
  Value w = e.mul(part, sum);
  Value size = e.fma(w, w, e.f32(float(small * small)));
  return e.mul(w, e.call("llvm.nvvm.rsqrt.approx.ftz.f", size));
}

/// No `contract`: t - rounder must stay what it is.
static Value emitExp2OnFma(FloatEmitter &e, Value x) {
  OpBuilder &b = e.b;
  Location loc = e.loc;
  Value rounder = e.f32(exp2fma::rounder);
  Value z = arith::MinNumFOp::create(b, loc, x, e.f32(exp2fma::highest));
  z = arith::MaxNumFOp::create(b, loc, z, e.f32(exp2fma::lowest));
  Value t = arith::AddFOp::create(b, loc, z, rounder);
  Value n = arith::SubFOp::create(b, loc, t, rounder);
  Value f = arith::SubFOp::create(b, loc, z, n);
  Value p = e.f32(exp2fma::terms[exp2fma::degree - 1]);
  for (int i = exp2fma::degree - 2; i >= 0; --i)
    p = e.fma(p, f, e.f32(exp2fma::terms[i]));
  p = e.fma(p, f, e.f32(1));
  Type i32 = b.getI32Type();
  Value exponent = e.shl(arith::BitcastOp::create(b, loc, i32, t), /*bits=*/23);
  Value sum =
      e.Emitter::add(arith::BitcastOp::create(b, loc, i32, p), exponent);
  return arith::BitcastOp::create(b, loc, b.getF32Type(), sum);
}

unsigned frag::mufuOps(MapOp map) {
  constexpr StringRef names[] = {"ex2.", "lg2.", "rcp.", "rsqrt.", "div."};
  Dependences depends(map);
  return llvm::count_if(map.getBody().front(), [&](Operation &op) {
    if (!(depends.of(&op) & (Dependence::Element | Dependence::Col)))
      return false;
    auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
    return isa<math::Exp2Op, LLVM::SinOp, LLVM::CosOp, LLVM::TanhOp>(op) ||
           (call && llvm::any_of(names, [&](StringRef name) {
              return call.getIntrin().contains(name);
            }));
  });
}

Value frag::emitExp2(Emitter &e, Value x, bool onFma) {
  FloatEmitter f(e.b, e.loc);
  return onFma ? emitExp2OnFma(f, x) : f.exp2(x);
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
      .Case([&](math::Exp2Op op) {
        // Elements of such a map differ.
        auto map = op->getParentOfType<MapOp>();
        return map && map.getExp2Fma() ? Value() : e.exp2(op.getOperand());
      })
      .Case([&](math::ExpOp op) {
        return e.exp2(e.mul(op.getOperand(), e.f32(log2e)));
      })
      .Case([&](math::Log2Op op) {
        // Subnormal numbers cost three instructions more.
        bool flushed =
            bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn);
        return flushed ? e.log2Flushed(op.getOperand())
                       : e.log2(op.getOperand());
      })
      .Case([&](math::LogOp op) {
        return e.mul(e.log2(op.getOperand()), e.f32(ln2));
      })
      .Case([&](math::TanhOp op) {
        bool mayApproximate =
            bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
        return mayApproximate
                   ? LLVM::TanhOp::create(e.b, e.loc, e.b.getF32Type(),
                                          op.getOperand(), approximate)
                         .getResult()
                   : emitTanh(e, op.getOperand());
      })
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
      // A factor taken in leaves its product behind; it came earlier in the walk.
      SmallVector<Value> operands(op->getOperands());
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
      for (Value operand : operands)
        if (Operation *source = operand.getDefiningOp();
            isa_and_nonnull<arith::MulFOp>(source) && source->use_empty())
          source->erase();
    } else if (isMath && !isNative(op) && !isa<math::Exp2Op>(op)) {
      return op->emitOpError("has no lowering for a GPU target");
    }
  }
  return success();
}
