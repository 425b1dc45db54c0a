//===- Rows.cpp - types, row vectors, which of them are shares ------------===//
//
// A row of an mma_c tile lies in four lanes.  The running sum l need not be
// added up over them on every visit: each lane keeps its own share, scaled like
// the whole, and `finish` adds the four once.
//
//   %l1 = attn.row_sum %p, %l scaled %al   -> %ps = frag.reduce_row sum thread
//                                             %l1 = map l * al + ps   (partial)
//   attn.finish ..., %l                    -> %c = frag.reduce_quad %l
//
// Which vectors are shares is a property of the whole data flow: all values
// that control flow joins with a row_sum's result or operand.
//
// Padding begins at this level: the levels above speak of head dims as they are, and
// here a tile gets the columns that products take (include/attn/Layout/Padding.h) or,
// where nobody multiplies, those that a warp loads at a time.  Copies and loads fill
// what is added with zeros, stores leave it out:
//
//   head dim 72   K in a slot   ring<64x80>,      cp_async .. cols 72, or a box of
//                                                 a tensor map that ends at 72
//                 O             reg<128x80xf32>   store .. cols 72
//
// Zeros are finite, so that a test of O finds nothing in them.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "attn/Layout/Padding.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value Scalars::i32(int32_t v) const {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(v));
}
Value Scalars::i64(int64_t v) const {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v));
}
Value Scalars::f32(float v) const {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v));
}
Value Scalars::negInf() const { return f32(-HUGE_VALF); }
Value Scalars::add(Value x, Value y) const {
  return arith::AddIOp::create(b, loc, x, y);
}
Value Scalars::addPositions(Value x, Value y) const {
  return arith::AddIOp::create(b, loc, x, y, arith::IntegerOverflowFlags::nsw);
}
Value Scalars::sub(Value x, Value y) const {
  return arith::SubIOp::create(b, loc, x, y);
}
Value Scalars::mul(Value x, Value y) const {
  return arith::MulIOp::create(b, loc, x, y);
}
Value Scalars::divU(Value x, int32_t y) const {
  return y == 1 ? x : arith::DivUIOp::create(b, loc, x, i32(y));
}
Value Scalars::remU(Value x, int32_t y) const {
  return y == 1 ? i32(0) : arith::RemUIOp::create(b, loc, x, i32(y));
}
Value Scalars::ext(Value x) const {
  return arith::ExtSIOp::create(b, loc, b.getI64Type(), x);
}
Value Scalars::extU(Value x) const {
  return arith::ExtUIOp::create(b, loc, b.getI64Type(), x);
}
Value Scalars::cmp(arith::CmpIPredicate p, Value x, Value y) const {
  return arith::CmpIOp::create(b, loc, p, x, y);
}
Value Scalars::addF(Value x, Value y) const {
  return arith::AddFOp::create(b, loc, x, y);
}
Value Scalars::subF(Value x, Value y) const {
  return arith::SubFOp::create(b, loc, x, y);
}
Value Scalars::mulF(Value x, Value y) const {
  return arith::MulFOp::create(b, loc, x, y);
}
Value Scalars::divF(Value x, Value y) const {
  return arith::DivFOp::create(b, loc, x, y);
}
Value Scalars::cmpF(arith::CmpFPredicate p, Value x, Value y) const {
  return arith::CmpFOp::create(b, loc, p, x, y);
}
Value Scalars::select(Value c, Value x, Value y) const {
  return arith::SelectOp::create(b, loc, c, x, y);
}
Value Scalars::exp2(Value x) const { return math::Exp2Op::create(b, loc, x); }
/// Of sums of weights: 0 or normal numbers, as what is smaller was flushed.
Value Scalars::log2(Value x) const {
  return math::Log2Op::create(b, loc, x, arith::FastMathFlags::afn);
}

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

void KernelLowering::findPartials(Block &body) {
  auto unite = [&](Value x, Value y) {
    if (isa<RowVecType, TileType>(x.getType()))
      classes.unionSets(x.getAsOpaquePointer(), y.getAsOpaquePointer());
  };
  auto uniteAll = [&](auto xs, auto ys) {
    for (auto [x, y] : llvm::zip(xs, ys))
      unite(x, y);
  };
  SmallVector<Value> seeds;
  body.walk([&](Operation *op) {
    if (auto sum = dyn_cast<RowSumOp>(op)) {
      unite(sum.getL(), sum.getResult());
      seeds.push_back(sum.getResult());
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      uniteAll(loop.getInitArgs(), loop.getRegionIterArgs());
      uniteAll(loop.getResults(), loop.getRegionIterArgs());
      uniteAll(loop.getBody()->getTerminator()->getOperands(),
               loop.getRegionIterArgs());
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      uniteAll(loop.getInits(), loop.getBeforeArguments());
      uniteAll(loop.getYieldOp().getResults(), loop.getBeforeArguments());
      uniteAll(loop.getConditionOp().getArgs(), loop.getAfterArguments());
      uniteAll(loop.getConditionOp().getArgs(), loop.getResults());
    } else if (auto ifOp = dyn_cast<scf::IfOp>(op)) {
      for (Region &region : ifOp->getRegions())
        if (!region.empty())
          uniteAll(region.front().getTerminator()->getOperands(),
                   ifOp.getResults());
    }
  });
  for (Value seed : seeds)
    partialLeaders.insert(classes.getLeaderValue(seed.getAsOpaquePointer()));
}

bool KernelLowering::isPartial(Value rowVec) const {
  return isIn(partialLeaders, rowVec);
}

Value KernelLowering::complete(Value rowVec, Location loc) {
  Value vec = at(rowVec);
  auto type = cast<frag::VecType>(vec.getType());
  if (!type.getPartial())
    return vec;
  Value known = completed.lookup(rowVec);
  if (known &&
      known.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
    return known;
  return frag::ReduceQuadOp::create(
      b, loc, vecType(type.getRows(), type.getElement()), vec);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// wgmma has the same atoms, for the four warps of a warpgroup alone.
StringRef KernelLowering::layoutName(Holding holding) const {
  if (role.unit == Unit::None)
    return "row_c";
  switch (holding) {
  case Holding::Accumulator:
    return role.async() ? "wgmma_c" : "mma_c";
  case Holding::OperandA:
    return role.async() ? "wgmma_a" : "mma_a";
  case Holding::Transposed:
    return "quad16";
  case Holding::Joined:
    return role.groups > 1 ? "row_c" : layoutName(Holding::Accumulator);
  }
  llvm_unreachable("all are listed");
}

frag::LayoutAttr KernelLowering::layoutAttr(Holding holding) const {
  return frag::LayoutAttr::get(b.getContext(),
                               b.getStringAttr(layoutName(holding)), role.warps,
                               holding == Holding::Joined ? 1 : role.groups);
}

IntegerAttr KernelLowering::memoryCols(int32_t cols, int32_t held) {
  return cols == held ? IntegerAttr() : b.getI32IntegerAttr(cols);
}

frag::RegType KernelLowering::regType(int32_t rows, int32_t cols, Type element,
                                      Holding holding) {
  std::string error;
  unsigned granule = layout::findAtom(layoutName(holding).str(), error)->cols;
  if (role.unit != Unit::None)
    granule = std::max(granule, layout::productGranule);
  cols = int32_t(llvm::alignTo(cols, granule));
  return frag::RegType::getChecked([&] { return kernel.emitError(); },
                                   b.getContext(), rows, cols, element,
                                   layoutAttr(holding));
}

frag::VecType KernelLowering::vecType(int32_t rows, Type element, bool partial,
                                      Holding holding) {
  return frag::VecType::getChecked([&] { return kernel.emitError(); },
                                   b.getContext(), rows, element,
                                   layoutAttr(holding), partial);
}

/// Null, with an error, for a type that has no place in registers.
Type KernelLowering::convertType(Value value) {
  Type type = value.getType();
  bool whole = isIn(joinedLeaders, value);
  if (auto tile = dyn_cast<TileType>(type)) {
    int32_t cols = tile.getCols();
    if (isIn(keyLeaders, value))
      cols /= role.groups;
    Holding own =
        tile.getElement().isF32() ? Holding::Accumulator : Holding::OperandA;
    return regType(tile.getRows(), cols, tile.getElement(),
                   whole ? Holding::Joined : own);
  }
  if (auto vec = dyn_cast<RowVecType>(type))
    return vecType(vec.getRows(), vec.getElement(), isPartial(value),
                   whole ? Holding::Joined : Holding::Accumulator);
  if (type.isIntOrFloat())
    return type;
  emitError(value.getLoc()) << "value of type " << type
                            << " across control flow is not built for level L3";
  return {};
}

ResultRange KernelLowering::maps(TypeRange results, ValueRange inputs,
                                 Location loc, Body body) {
  auto op =
      frag::MapOp::create(b, loc, results, inputs,
                          [&](OpBuilder &inner, Location loc, ValueRange args) {
                            Scalars s{inner, loc};
                            SmallVector<Value> values;
                            body(s, args, values);
                            frag::YieldOp::create(inner, loc, values);
                          });
  return op.getResults();
}
