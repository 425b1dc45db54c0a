//===- Dependences.cpp - what a map computes how often --------------------===//

#include "attn/Dialect/Frag/IR/Dependences.h"

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
