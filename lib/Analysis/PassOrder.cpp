//===- PassOrder.cpp - what a pass finds gone -----------------------------===//
//
// See PassOrder.h.  The table is the only place that knows which pass an op waits for.
//
//===----------------------------------------------------------------------===//
#include "attn/Analysis/PassOrder.h"

#include "attn/Dialect/Attn/IR/Attn.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace attn;

namespace {
struct Removal {
  StringRef pass;
  bool (*takes)(Operation *op);
};
} // namespace

static bool isState(Type type) { return isa<StateType>(type); }

static const Removal removals[] = {
    {"attn-tile", [](Operation *op) { return isa<AttentionOp>(op); }},
    {"attn-expand-softmax",
     [](Operation *op) {
       return llvm::any_of(op->getResultTypes(), isState) ||
              llvm::any_of(op->getOperandTypes(), isState);
     }},
    {"attn-expand-segments", [](Operation *op) { return isa<SegmentsOp>(op); }},
};

LogicalResult attn::requirePasses(Operation *root, StringRef pass,
                                  ArrayRef<StringRef> before) {
  WalkResult result = root->walk([&](Operation *op) {
    for (const Removal &removal : removals)
      if (llvm::is_contained(before, removal.pass) && removal.takes(op))
        return WalkResult(op->emitOpError()
                          << "is in the way of " << pass << ": run "
                          << removal.pass << " first");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
