//===- Dependences.cpp - what a map computes how often --------------------===//

#include "attn/Dialect/Frag/IR/Dependences.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attn::frag;

static SmallVector<unsigned> ofArguments(MapOp map) {
  SmallVector<unsigned> bits;
  for (Value input : map.getInputs())
    bits.push_back(isa<RegType>(input.getType()) ? Dependence::Element
                                                 : Dependence::Row);
  bits.append({Dependence::Row, Dependence::Col});
  return bits;
}

Dependences::Dependences(Block &body, ArrayRef<unsigned> ofArguments) {
  // A region that does not ask for its row and column may have no arguments.
  for (auto [arg, depends] : llvm::zip(body.getArguments(), ofArguments))
    bits[arg] = depends;
  for (Operation &op : body)
    for (Value result : op.getResults())
      bits[result] = of(&op);
}

Dependences::Dependences(MapOp map)
    : Dependences(map.getBody().front(), ofArguments(map)) {
  if (map.hasTile())
    column = map.getBody().front().getArguments().back();
}

unsigned Dependences::of(Operation *op) const {
  unsigned depends = isa<ElementOp>(op) ? Dependence::Element : Uniform;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      depends |= of(operand);
  });
  return depends;
}

math::FmaOp Dependences::asRamp(Operation *op) const {
  auto fma = dyn_cast<math::FmaOp>(op);
  if (!fma || !isOfRow(fma.getA()) || !isOfRow(fma.getC()))
    return {};
  auto position = fma.getB().getDefiningOp<arith::SIToFPOp>();
  return position && position.getIn() == column ? fma : math::FmaOp();
}

bool Dependences::isRampPosition(Operation *op) const {
  return isa<arith::SIToFPOp>(op) && op->getOperand(0) == column &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           math::FmaOp ramp = asRamp(user);
           return ramp && ramp.getB() == op->getResult(0);
         });
}
