//===- Gen.cpp - builder shorthand for vector code ------------------------===//
#include "Gen.h"

using namespace mlir;

namespace attn::cpu {

Gen::Gen(OpBuilder builder, Location loc, unsigned lanes)
    : b(builder), loc(loc), lanes(lanes) {
  f32 = b.getF32Type();
  i1 = b.getI1Type();
  i32 = b.getI32Type();
  i64 = b.getI64Type();
  ptr = LLVM::LLVMPointerType::get(b.getContext());
  vf = VectorType::get({int64_t(lanes)}, f32);
  vi = VectorType::get({int64_t(lanes)}, i32);
}

static bool isFloat(Value v) {
  return isa<FloatType>(getElementTypeOrSelf(v.getType()));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Gen::i32c(int32_t v) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(v));
}
Value Gen::i64c(int64_t v) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v));
}
Value Gen::f32c(float v) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v));
}
Value Gen::vfc(float v) {
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(vf, b.getF32FloatAttr(v)));
}
Value Gen::vic(int32_t v) {
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(vi, b.getI32IntegerAttr(v)));
}
Value Gen::infinity(bool vector, bool negative) {
  float inf = std::numeric_limits<float>::infinity();
  float v = negative ? -inf : inf;
  return vector ? vfc(v) : f32c(v);
}
Value Gen::iota() {
  SmallVector<int32_t> values(lanes);
  for (unsigned i = 0; i < lanes; ++i)
    values[i] = int32_t(i);
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(vi, ArrayRef<int32_t>(values)));
}
Value Gen::firstLanes(unsigned n) {
  SmallVector<bool> values(lanes);
  for (unsigned i = 0; i < lanes; ++i)
    values[i] = i < n;
  auto type = VectorType::get({int64_t(lanes)}, i1);
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, ArrayRef<bool>(values)));
}
Value Gen::constLike(Value like, float v) {
  Type t = like.getType();
  if (auto vt = dyn_cast<VectorType>(t))
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(vt, b.getF32FloatAttr(v)));
  return f32c(v);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

Value Gen::splat(Value scalar) {
  auto type = VectorType::get({int64_t(lanes)}, scalar.getType());
  return vector::BroadcastOp::create(b, loc, type, scalar);
}
Value Gen::add(Value x, Value y) {
  if (isFloat(x))
    return arith::AddFOp::create(b, loc, x, y);
  return arith::AddIOp::create(b, loc, x, y);
}
Value Gen::sub(Value x, Value y) {
  if (isFloat(x))
    return arith::SubFOp::create(b, loc, x, y);
  return arith::SubIOp::create(b, loc, x, y);
}
Value Gen::mul(Value x, Value y) {
  if (isFloat(x))
    return arith::MulFOp::create(b, loc, x, y);
  return arith::MulIOp::create(b, loc, x, y);
}
Value Gen::div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
Value Gen::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, loc, x, y, z);
}
Value Gen::cmp(CmpF p, Value x, Value y) {
  return arith::CmpFOp::create(b, loc, p, x, y);
}
Value Gen::cmp(CmpI p, Value x, Value y) {
  return arith::CmpIOp::create(b, loc, p, x, y);
}
Value Gen::both(Value x, Value y) {
  return arith::AndIOp::create(b, loc, x, y);
}
Value Gen::either(Value x, Value y) {
  return arith::OrIOp::create(b, loc, x, y);
}
Value Gen::select(Value c, Value x, Value y) {
  return arith::SelectOp::create(b, loc, c, x, y);
}
Value Gen::abs(Value x) { return math::AbsFOp::create(b, loc, x); }
Value Gen::exp2(Value x) { return math::Exp2Op::create(b, loc, x); }
Value Gen::log2(Value x) { return math::Log2Op::create(b, loc, x); }
Value Gen::maxIgnoringNaN(Value x, Value m) {
  return select(cmp(CmpF::OGT, x, m), x, m);
}
Value Gen::minI(Value x, Value y) {
  return arith::MinSIOp::create(b, loc, x, y);
}
Value Gen::maxI(Value x, Value y) {
  return arith::MaxSIOp::create(b, loc, x, y);
}
Value Gen::toI64(Value v) { return arith::ExtSIOp::create(b, loc, i64, v); }
Value Gen::toI32(Value v) { return arith::TruncIOp::create(b, loc, i32, v); }
Value Gen::divC(Value x, int64_t c) {
  if (c == 1)
    return x;
  return arith::DivUIOp::create(b, loc, x, i64c(c));
}
Value Gen::remC(Value x, int64_t c) {
  return arith::RemUIOp::create(b, loc, x, i64c(c));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

// `reassoc` only lets the back end use a tree instead of a chain of adds; the
// tree is the same in every run.
Value Gen::sumLanes(Value v) {
  return vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, v,
                                     arith::FastMathFlags::reassoc);
}
Value Gen::maxLanes(Value v) {
  // Halving by shuffles keeps the cheap maximum; lanes never hold NaN here.
  for (unsigned half = lanes / 2; half; half /= 2) {
    SmallVector<int64_t> mask(lanes);
    for (unsigned i = 0; i < lanes; ++i)
      mask[i] = int64_t((i + half) % lanes);
    v = maxIgnoringNaN(vector::ShuffleOp::create(b, loc, v, v, mask), v);
  }
  return vector::ExtractOp::create(b, loc, v, int64_t(0));
}
Value Gen::anyLane(Value v) {
  return vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, v);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Gen::at(Value base, Value index, Type element) {
  return LLVM::GEPOp::create(b, loc, ptr, element, base,
                             ArrayRef<LLVM::GEPArg>{index});
}
Value Gen::atByte(Value base, int64_t offset) {
  if (offset == 0)
    return base;
  return LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{i64c(offset)});
}
Value Gen::load(Type type, Value p, unsigned align) {
  return LLVM::LoadOp::create(b, loc, type, p, align);
}
void Gen::store(Value v, Value p, unsigned align) {
  LLVM::StoreOp::create(b, loc, v, p, align);
}

Value Gen::loadElement(Value p, Type element, bool vector) {
  auto shaped = [&](Type t) -> Type {
    return vector ? Type(VectorType::get({int64_t(lanes)}, t)) : t;
  };
  if (element.isF32())
    return load(shaped(f32), p, 4);
  if (element.isF16())
    return arith::ExtFOp::create(b, loc, shaped(f32),
                                 load(shaped(element), p, 2));
  Value bits = load(shaped(b.getI16Type()), p, 2);
  Value wide = arith::ExtUIOp::create(b, loc, shaped(i32), bits);
  Value up = arith::ShLIOp::create(b, loc, wide, vector ? vic(16) : i32c(16));
  return arith::BitcastOp::create(b, loc, shaped(f32), up);
}

Value Gen::bf16Bits(Value v) {
  bool vector = isa<VectorType>(v.getType());
  auto c = [&](int32_t x) { return vector ? vic(x) : i32c(x); };
  Value bits = arith::BitcastOp::create(b, loc, vector ? Type(vi) : i32, v);
  Value high = arith::ShRUIOp::create(b, loc, bits, c(16));
  Value odd = arith::AndIOp::create(b, loc, high, c(1));
  Value round = add(add(bits, c(0x7fff)), odd);
  Value rounded = arith::ShRUIOp::create(b, loc, round, c(16));
  // A NaN must stay one even if its mantissa's upper bits are 0.
  Value nan = arith::OrIOp::create(b, loc, high, c(0x40));
  return select(cmp(CmpF::UNO, v, v), nan, rounded);
}

void Gen::storeElement(Value v, Value p, Type element) {
  if (element.isF32())
    return store(v, p, 4);
  bool vector = isa<VectorType>(v.getType());
  auto shaped = [&](Type t) -> Type {
    return vector ? Type(VectorType::get({int64_t(lanes)}, t)) : t;
  };
  if (element.isF16())
    return store(arith::TruncFOp::create(b, loc, shaped(element), v), p, 2);
  store(arith::TruncIOp::create(b, loc, shaped(b.getI16Type()), bf16Bits(v)), p,
        2);
}

Value Gen::roundTo(Value v, Type element) {
  if (element.isF32())
    return v;
  bool vector = isa<VectorType>(v.getType());
  Type wide = v.getType();
  if (element.isF16()) {
    Type half =
        vector ? Type(VectorType::get({int64_t(lanes)}, element)) : element;
    Value narrow = arith::TruncFOp::create(b, loc, half, v);
    return arith::ExtFOp::create(b, loc, wide, narrow);
  }
  Value up =
      arith::ShLIOp::create(b, loc, bf16Bits(v), vector ? vic(16) : i32c(16));
  return arith::BitcastOp::create(b, loc, wide, up);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void Gen::loop(Value lo, Value hi, int64_t step, Body body) {
  Value s = lo.getType() == i64 ? i64c(step) : i32c(int32_t(step));
  auto op = scf::ForOp::create(b, loc, lo, hi, s);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.getBody()->getTerminator());
  body(op.getInductionVar());
}

SmallVector<Value> Gen::loop(Value lo, Value hi, int64_t step, ValueRange inits,
                             CarryBody body) {
  Value s = lo.getType() == i64 ? i64c(step) : i32c(int32_t(step));
  auto op = scf::ForOp::create(b, loc, lo, hi, s, inits);
  OpBuilder::InsertionGuard guard(b);
  if (!op.getBody()->empty() &&
      op.getBody()->back().hasTrait<OpTrait::IsTerminator>())
    op.getBody()->back().erase();
  b.setInsertionPointToEnd(op.getBody());
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(b, loc, next);
  return SmallVector<Value>(op.getResults());
}

void Gen::ifThen(Value cond, llvm::function_ref<void()> then,
                 llvm::function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(b, loc, cond, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
  if (otherwise) {
    b.setInsertionPoint(op.elseBlock()->getTerminator());
    otherwise();
  }
}

} // namespace attn::cpu
