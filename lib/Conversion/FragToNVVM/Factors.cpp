//===- Factors.cpp - one product in place of several ----------------------===//
//
//   map (%s) { %x = mulf %s, %scale          map (%s) {
//              %y = mulf %x, %inverse          %y = mulf %s, %f
//              .. }                            .. }
//   map (%t) { yield (mulf %t, %cap) }  ->   map (%t) { yield %t }
//   map (%y) { %z = fma %y, %c, %b }         map (%t) { %z = fma %t, %g, %b }
//
//                                            with f = scale inverse and
//                                            g = cap c in front of the maps
//
// A hook does not know that its score was scaled before and becomes an exponent
// behind it.  Factors that are the same for all elements become one.  What that
// rounds differently is a relative error of 2^-24 in a factor that all scores
// have in common.
//
// Invariant: no map has more operations an element than before.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

/// A value that all elements of the map share.
static bool isUniform(Value value, MapOp map) {
  return !map.getBody().isAncestor(value.getParentRegion()) ||
         value.getDefiningOp<arith::ConstantOp>();
}

/// value = rest * factor with a uniform factor; null if it is no such product,
/// or one that is needed elsewhere as well.
static arith::MulFOp asScaled(Value value, MapOp map, Value &rest,
                              Value &factor) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product || !value.hasOneUse() || !value.getType().isF32() ||
      isUniform(value, map))
    return {};
  rest = product.getLhs(), factor = product.getRhs();
  if (!isUniform(factor, map))
    std::swap(rest, factor);
  return isUniform(factor, map) ? product : arith::MulFOp();
}

/// Multiplies the uniform factor beside operand `i` of a product of `map` by
/// `more`, in front of the map; false if there is none.
static bool addFactor(Operation *op, unsigned i, MapOp map, Value more) {
  if (!isa<arith::MulFOp, math::FmaOp>(op) || i > 1 ||
      !isUniform(op->getOperand(1 - i), map))
    return false;
  OpBuilder b(map);
  auto outside = [&](Value value) -> Value {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    return constant ? b.clone(*constant)->getResult(0) : value;
  };
  Value left = outside(more), right = outside(op->getOperand(1 - i));
  op->setOperand(1 - i, arith::MulFOp::create(b, map.getLoc(), left, right,
                                              arith::FastMathFlags::contract));
  return true;
}

/// Within a map: (x u) v -> x (u v).
static void foldWithin(MapOp map) {
  for (Operation &op : map.getBody().front())
    for (unsigned i = 0; i < op.getNumOperands(); ++i) {
      Value rest, factor;
      arith::MulFOp product = asScaled(op.getOperand(i), map, rest, factor);
      if (!product || !addFactor(&op, i, map, factor))
        continue;
      op.setOperand(i, rest);
      product.erase();
      break;
    }
}

/// A factor of a map's result becomes one of the only map that reads it.
static void foldAcross(MapOp map) {
  if (map->getNumResults() != 1 || !map.hasTile() ||
      !map.getResult(0).hasOneUse())
    return;
  OpOperand &use = *map.getResult(0).use_begin();
  auto user = dyn_cast<MapOp>(use.getOwner());
  if (!user)
    return;
  BlockArgument arg = user.getBody().getArgument(use.getOperandNumber());
  if (!arg.hasOneUse())
    return;
  OpOperand &inner = *arg.use_begin();
  Operation *yield = map.getBody().front().getTerminator();
  Value rest, factor;
  arith::MulFOp product = asScaled(yield->getOperand(0), map, rest, factor);
  if (!product ||
      !addFactor(inner.getOwner(), inner.getOperandNumber(), user, factor))
    return;
  yield->setOperand(0, rest);
  product.erase();
}

void frag::foldFactors(frag::KernelOp kernel) {
  SmallVector<MapOp> maps;
  kernel.walk([&](MapOp map) { maps.push_back(map); });
  for (MapOp map : maps) {
    foldWithin(map);
    foldAcross(map);
  }
}
