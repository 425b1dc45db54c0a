//===- RandomHook.h - random hook regions -----------------------*- C++ -*-===//
//
// A variant with two parameters, two tables and one hook of random operations
// over everything that HookExpr.h can say.  Small integers are frequent, so
// that divisions by zero, shifts and table indices at the ends do occur.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_ANALYSIS_RANDOMHOOK_H
#define ATTN_TEST_UNIT_ANALYSIS_RANDOMHOOK_H

#include "attn/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

#include <random>
#include <vector>

namespace attn::test {

class RandomHook {
public:
  RandomHook(mlir::MLIRContext *context, unsigned seed)
      : b(context), random(seed) {}

  /// A module that holds the variant; `hook` is set to its hook.
  mlir::OwningOpRef<mlir::ModuleOp> make(HookKind kind, HookOp &hook);

  unsigned below(unsigned n) { return unsigned(random() % n); }
  int32_t anyInt() {
    switch (below(4)) {
    case 0:
      return int32_t(below(7)) - 3;
    case 1:
      return int32_t(below(4096));
    case 2:
      return below(2) ? INT32_MIN : INT32_MAX;
    default:
      return int32_t(random());
    }
  }
  float anyFloat() {
    static const float special[] = {0.0f, 1.0f,   -1.0f, INFINITY, -INFINITY,
                                    NAN,  1e-30f, 3e9f,  -3e9f,    0.5f};
    if (below(4) == 0)
      return special[below(10)];
    return (float(below(20001)) - 10000.0f) / 256.0f;
  }

private:
  using Values = std::vector<mlir::Value>;
  mlir::Value pick(const Values &from) {
    // The newest values most of the time, so that expressions get deep.
    unsigned n = unsigned(from.size());
    return from[below(2) ? n - 1 - below(std::min(n, 3u)) : below(n)];
  }
  void addInt();
  void addFloat();
  void addBool();
  template <class... Ops> mlir::Value oneOf(const Values &from);
  template <class... Ops> mlir::Value oneOfUnary(const Values &from);

  mlir::OpBuilder b;
  mlir::Location loc = b.getUnknownLoc();
  std::mt19937 random;
  Values ints, floats, bools;
  mlir::Value intTable, floatTable, vector;
};

template <class... Ops> mlir::Value RandomHook::oneOf(const Values &from) {
  using Make = mlir::Value (*)(mlir::OpBuilder &, mlir::Location, mlir::Value,
                               mlir::Value);
  static constexpr Make makers[] = {[](mlir::OpBuilder &b, mlir::Location loc,
                                       mlir::Value x,
                                       mlir::Value y) -> mlir::Value {
    return Ops::create(b, loc, x, y);
  }...};
  mlir::Value x = pick(from), y = pick(from);
  return makers[below(sizeof...(Ops))](b, loc, x, y);
}

template <class... Ops> mlir::Value RandomHook::oneOfUnary(const Values &from) {
  using Make = mlir::Value (*)(mlir::OpBuilder &, mlir::Location, mlir::Value);
  static constexpr Make makers[] = {
      [](mlir::OpBuilder &b, mlir::Location loc, mlir::Value x) -> mlir::Value {
        return Ops::create(b, loc, x);
      }...};
  mlir::Value x = pick(from);
  return makers[below(sizeof...(Ops))](b, loc, x);
}

inline void RandomHook::addInt() {
  using namespace mlir;
  Type i32 = b.getI32Type();
  Value v;
  switch (below(12)) {
  case 0:
    v = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(anyInt()));
    break;
  case 1:
    v = LengthOp::create(b, loc, i32, b.getBoolAttr(below(2)));
    break;
  case 2:
    v = ReadOp::create(b, loc, i32, intTable,
                       ValueRange{pick(ints), pick(ints)});
    break;
  case 3:
    v = arith::SelectOp::create(b, loc, pick(bools), pick(ints), pick(ints));
    break;
  case 4:
    v = below(2) ? Value(arith::ExtUIOp::create(b, loc, i32, pick(bools)))
                 : Value(arith::ExtSIOp::create(b, loc, i32, pick(bools)));
    break;
  case 5:
    v = arith::FPToSIOp::create(b, loc, i32, pick(floats));
    break;
  case 6:
    v = math::AbsIOp::create(b, loc, pick(ints));
    break;
  case 7:
  case 8:
    v = oneOf<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
              arith::CeilDivSIOp>(ints);
    break;
  default:
    v = oneOf<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp,
              arith::MaxSIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
              arith::ShLIOp, arith::ShRSIOp>(ints);
    break;
  }
  ints.push_back(v);
}

inline void RandomHook::addFloat() {
  using namespace mlir;
  Type f32 = b.getF32Type();
  Value v;
  switch (below(vector ? 9 : 8)) {
  case 0:
    v = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(anyFloat()));
    break;
  case 1:
    v = ReadOp::create(b, loc, f32, floatTable, ValueRange{pick(ints)});
    break;
  case 2:
    v = arith::SelectOp::create(b, loc, pick(bools), pick(floats),
                                pick(floats));
    break;
  case 3:
    v = below(2) ? Value(arith::SIToFPOp::create(b, loc, f32, pick(ints)))
                 : Value(arith::SIToFPOp::create(b, loc, f32, pick(bools)));
    break;
  case 4:
    v = arith::UIToFPOp::create(b, loc, f32, pick(bools));
    break;
  case 5:
    v = oneOfUnary<arith::NegFOp, math::AbsFOp, math::ExpOp, math::Exp2Op,
                   math::LogOp, math::Log2Op, math::TanhOp, math::SqrtOp,
                   math::SinOp, math::CosOp>(floats);
    break;
  case 8:
    v = ElementOp::create(b, loc, f32, vector, pick(ints));
    break;
  default:
    v = oneOf<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
              arith::MinNumFOp, arith::MaxNumFOp, arith::MinimumFOp,
              arith::MaximumFOp>(floats);
    break;
  }
  floats.push_back(v);
}

inline void RandomHook::addBool() {
  using namespace mlir;
  Value v;
  switch (below(8)) {
  case 0:
    v = arith::ConstantOp::create(b, loc, b.getBoolAttr(below(2)));
    break;
  case 1:
    v = arith::TruncIOp::create(b, loc, b.getI1Type(), pick(ints));
    break;
  case 2:
    v = arith::SelectOp::create(b, loc, pick(bools), pick(bools), pick(bools));
    break;
  case 3:
    v = oneOf<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(bools);
    break;
  case 4:
    v = arith::CmpIOp::create(
        b, loc, below(2) ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne,
        pick(bools), pick(bools));
    break;
  case 5:
    v = arith::CmpFOp::create(b, loc, arith::CmpFPredicate(below(16)),
                              pick(floats), pick(floats));
    break;
  default: // eq, ne, slt, sle, sgt, sge are 0 to 5
    v = arith::CmpIOp::create(b, loc, arith::CmpIPredicate(below(6)),
                              pick(ints), pick(ints));
    break;
  }
  bools.push_back(v);
}

inline mlir::OwningOpRef<mlir::ModuleOp> RandomHook::make(HookKind kind,
                                                          HookOp &hook) {
  using namespace mlir;
  MLIRContext *context = b.getContext();
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToStart(module->getBody());
  auto variant = VariantOp::create(b, loc, b.getStringAttr("v"));
  b.setInsertionPointToStart(&variant.getBody().emplaceBlock());
  Value p0 = ParamOp::create(b, loc, i32, b.getStringAttr("p0"));
  floatTable =
      TableOp::create(b, loc, TableType::get(context, f32, {IndexSpace::Head}),
                      b.getStringAttr("t0"));
  intTable = TableOp::create(
      b, loc,
      TableType::get(context, i32, {IndexSpace::Batch, IndexSpace::Free}),
      b.getStringAttr("t1"));
  Value p1 = ParamOp::create(b, loc, f32, b.getStringAttr("p1"));
  hook = HookOp::create(b, loc, HookKindAttr::get(context, kind));
  Block &body = hook.getBody().emplaceBlock();
  b.setInsertionPointToStart(&body);
  ints = {p0};
  floats = {p1};
  bools = {};
  vector = {};
  if (kind == HookKind::Score)
    floats.push_back(body.addArgument(f32, loc));
  if (isVectorHook(kind))
    vector = body.addArgument(VectorType::get({8}, f32), loc);
  for (unsigned i = 0, n = kind == HookKind::Sink ? 2 : 4; i != n; ++i)
    ints.push_back(body.addArgument(i32, loc));
  bools.push_back(arith::ConstantOp::create(b, loc, b.getBoolAttr(below(2))));
  for (unsigned i = 0, n = 5 + below(25); i != n; ++i)
    switch (below(5)) {
    case 0:
    case 1:
      addInt();
      break;
    case 2:
    case 3:
      addFloat();
      break;
    default:
      addBool();
      break;
    }
  if (kind == HookKind::Mask)
    addBool();
  else
    addFloat();
  YieldOp::create(
      b, loc,
      ValueRange{kind == HookKind::Mask ? bools.back() : floats.back()});
  return module;
}

} // namespace attn::test

#endif // ATTN_TEST_UNIT_ANALYSIS_RANDOMHOOK_H
