//===- JoinMaps.cpp - a map joins the one that reads it -------------------===//
//
//   %y = map (%s) { .. tanh .. }          %p = map (%s) { .. tanh .. exp2 .. }
//   %p = map (%y) { .. exp2 .. }     ->
//
// so that what a hook multiplies and adds meets what the softmax does (FoldAffine.cpp),
// and so that the MUFU, which starts an instruction every 8 clocks, can be given
// work all along, element by element: not the tanh of a whole tile first.
//
// Invariant: a map is joined only to the one user of its result, and nothing
// with an effect stands between: no operand lives across a product.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Frag/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attn::frag {
#define GEN_PASS_DEF_FRAGJOINMAPS
#include "attn/Dialect/Frag/FragPasses.h.inc"
} // namespace attn::frag

using namespace mlir;
using namespace attn::frag;

/// The map that makes operand `input` of `user` for it alone; null if none does.
static MapOp sourceToJoin(MapOp user, unsigned input) {
  Value value = user.getInputs()[input];
  auto source = value.getDefiningOp<MapOp>();
  if (!source || !value.hasOneUse() || source->getNumResults() != 1 ||
      !isa<RegType>(value.getType()) || source->getBlock() != user->getBlock())
    return {};
  for (Operation *op = source->getNextNode(); op != user;
       op = op->getNextNode())
    if (!isMemoryEffectFree(op))
      return {};
  return source;
}

/// `user` with the body of `source`, its operand `input`, in front of its own.
static MapOp join(MapOp source, MapOp user, unsigned input) {
  SmallVector<Value> inputs(source.getInputs());
  for (auto [i, value] : llvm::enumerate(user.getInputs()))
    if (i != input)
      inputs.push_back(value);
  OpBuilder b(user);
  auto joined = MapOp::create(
      b, user.getLoc(), user.getResultTypes(), inputs,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        IRMapping map;
        Block &first = source.getBody().front();
        Block &second = user.getBody().front();
        auto copy = [&](Block &body) {
          // Row and column stand last in all three.
          for (auto [from, to] :
               llvm::zip(body.getArguments().take_back(2), args.take_back(2)))
            map.map(from, to);
          for (Operation &op : body.without_terminator())
            inner.clone(op, map);
        };
        unsigned next = 0;
        for (unsigned i = 0; i < source.getInputs().size(); ++i)
          map.map(first.getArgument(i), args[next++]);
        copy(first);
        map.map(second.getArgument(input),
                map.lookupOrDefault(first.getTerminator()->getOperand(0)));
        for (unsigned i = 0; i < user.getInputs().size(); ++i)
          if (i != input)
            map.map(second.getArgument(i), args[next++]);
        copy(second);
        SmallVector<Value> results;
        for (Value value : second.getTerminator()->getOperands())
          results.push_back(map.lookupOrDefault(value));
        attn::frag::YieldOp::create(inner, loc, results);
      });
  joined.setExp2FmaAttr(user.getExp2FmaAttr());
  user.replaceAllUsesWith(joined.getResults());
  user.erase();
  source.erase();
  return joined;
}

namespace {

struct JoinMaps : public attn::frag::impl::FragJoinMapsBase<JoinMaps> {
  void runOnOperation() override {
    SmallVector<MapOp> maps;
    getOperation().walk([&](MapOp map) {
      if (map.hasTile())
        maps.push_back(map);
    });
    // Sources come earlier in the walk: they are done, and gone when joined.
    for (MapOp map : maps)
      for (unsigned i = 0; i < map.getInputs().size();) {
        MapOp source = sourceToJoin(map, i);
        if (source)
          map = join(source, map, i);
        i = source ? 0 : i + 1;
      }
  }
};

} // namespace
