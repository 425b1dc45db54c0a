//===- Dependences.cpp - what a map computes how often --------------------===//

#include "attn/Dialect/Frag/IR/Dependences.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attn::frag;

Dependences::Dependences(MapOp map) {
  Block &body = map.getBody().front();
  unsigned numInputs = map.getInputs().size();
  for (BlockArgument arg : body.getArguments()) {
    unsigned i = arg.getArgNumber();
    bool ofTile = i < numInputs && isa<RegType>(map.getInputs()[i].getType());
    bits[arg] = ofTile               ? Dependence::Element
                : i == numInputs + 1 ? Dependence::Col
                                     : Dependence::Row;
  }
  if (map.hasTile())
    column = body.getArguments().back();
  for (Operation &op : body)
    for (Value result : op.getResults())
      bits[result] = of(&op);
}

unsigned Dependences::of(Operation *op) const {
  unsigned depends = Uniform;
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
