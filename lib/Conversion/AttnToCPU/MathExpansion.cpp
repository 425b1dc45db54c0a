//===- MathExpansion.cpp - exp2, exp and tanh by polynomials --------------===//
//
//   exp2(x) = 2^n * 2^f,  n = round(x),  |f| <= 1/2,  2^f by a polynomial
//
// Coefficients: minimax fits of our own.  Relative error of exp2 and exp below
// 2e-7, of tanh below 3e-7 everywhere, also near 0.
//
// Invariants: exp2(0) = 1 exactly, -inf and everything below -126 give 0, inf
// gives inf, NaN stays NaN; no conversion of a float out of an integer's range.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

using namespace mlir;

namespace attn::cpu {
namespace {

class Expander {
public:
  Expander(OpBuilder &b, Location loc, Type type) : b(b), loc(loc), type(type) {
    Type i32 = b.getI32Type();
    intType = type;
    if (auto v = dyn_cast<VectorType>(type))
      intType = VectorType::get(v.getShape(), i32);
    else
      intType = i32;
  }

  // 2 * 2^f for |f| <= 1/2, exactly 2 at 0.  The factor 2 leaves room in the
  // exponent: 2^n alone would overflow for x in [127.5, 128).
  Value twicePow2(Value f) {
    static const float q[] = {0.693147202855f,   0.240226479136f,
                              0.0555033247126f,  0.00961843735844f,
                              0.00133988743782f, 0.000153533617864f};
    Value p = c(2 * q[5]);
    for (int i = 4; i >= 0; --i)
      p = fma(p, f, c(2 * q[i]));
    return fma(p, f, c(2));
  }

  // 2^(n - 1) for an integer-valued n in [-126, 129]: 0 at the lower end,
  // infinity at the upper.  `shifted` is n + 1.5 * 2^23.
  Value half2n(Value shifted) {
    Value bits = arith::BitcastOp::create(b, loc, intType, shifted);
    bits = arith::AddIOp::create(b, loc, bits, ic(126));
    bits = arith::ShLIOp::create(b, loc, bits, ic(23));
    return arith::BitcastOp::create(b, loc, type, bits);
  }

  Value exp2(Value x) {
    Value t = clamp(x, -126, 129);
    Value shifted = add(t, c(roundingShift));
    Value n = sub(shifted, c(roundingShift));
    return mul(twicePow2(sub(t, n)), half2n(shifted));
  }

  // The product x log2(e) alone would cost |x| units of rounding; the remainder
  // is taken in two pieces instead.
  Value exp(Value x) {
    Value t = clamp(x, -87.33f, 89);
    Value shifted = fma(t, c(1.44269504f), c(roundingShift));
    Value n = sub(shifted, c(roundingShift));
    Value r = fma(n, c(-0.693145752f), t);
    r = fma(n, c(-1.42860682e-06f), r);
    return mul(twicePow2(mul(r, c(1.44269504f))), half2n(shifted));
  }

  // |x| < 0.632: x + x^3 P(x^2); else 1 - 2 / (e^2|x| + 1) with x's sign.
  Value tanh(Value x) {
    static const float q[] = {-0.333332760593f, 0.133312744328f,
                              -0.0537251266205f, 0.0205898265029f,
                              -0.00564831649046f};
    Value z = mul(x, x);
    Value p = c(q[4]);
    for (int i = 3; i >= 0; --i)
      p = fma(p, z, c(q[i]));
    Value small = fma(mul(x, z), p, x);
    Value size = math::AbsFOp::create(b, loc, x);
    Value e = exp(add(size, size));
    Value big = sub(c(1), arith::DivFOp::create(b, loc, c(2), add(e, c(1))));
    Value negated = arith::NegFOp::create(b, loc, big);
    big = select(cmp(CmpF::OLT, x, c(0)), negated, big);
    return select(cmp(CmpF::OLT, size, c(0.632f)), small, big);
  }

private:
  static constexpr float roundingShift = 12582912.0f; // 1.5 * 2^23

  Value c(float v) {
    TypedAttr attr = b.getF32FloatAttr(v);
    if (auto vt = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vt, Attribute(attr));
    return arith::ConstantOp::create(b, loc, attr);
  }
  Value ic(int32_t v) {
    TypedAttr attr = b.getI32IntegerAttr(v);
    if (auto vt = dyn_cast<VectorType>(intType))
      attr = DenseElementsAttr::get(vt, Attribute(attr));
    return arith::ConstantOp::create(b, loc, attr);
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, loc, x, y, z);
  }
  Value cmp(CmpF p, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, p, x, y);
  }
  Value select(Value k, Value x, Value y) {
    return arith::SelectOp::create(b, loc, k, x, y);
  }
  Value clamp(Value x, float lo, float hi) {
    // Written so that a NaN stays a NaN.
    Value t = select(cmp(CmpF::OLT, x, c(lo)), c(lo), x);
    return select(cmp(CmpF::OGT, t, c(hi)), c(hi), t);
  }

  OpBuilder &b;
  Location loc;
  Type type, intType;
};

} // namespace

void expandMath(Operation *root) {
  SmallVector<Operation *> work;
  root->walk([&](Operation *op) {
    if (isa<math::Exp2Op, math::ExpOp, math::TanhOp>(op) &&
        getElementTypeOrSelf(op->getResult(0).getType()).isF32())
      work.push_back(op);
  });
  for (Operation *op : work) {
    OpBuilder b(op);
    Expander e(b, op->getLoc(), op->getResult(0).getType());
    Value x = op->getOperand(0);
    Value y = isa<math::Exp2Op>(op)  ? e.exp2(x)
              : isa<math::ExpOp>(op) ? e.exp(x)
                                     : e.tanh(x);
    op->getResult(0).replaceAllUsesWith(y);
    op->erase();
  }
}

} // namespace attn::cpu
