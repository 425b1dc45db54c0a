//===- VerifyTiles.cpp - attn-verify-tiles --------------------------------===//
//
// The level verifier of L1:
//
//   only tile ops, arith, math and scf, and the variant's own ops;
//   a state, or the O tile of an expanded one, is used once on each path;
//   each path of an item stores exactly once.
//
// That a full loop has no mask and a partial one exactly one is checked by the
// op itself.  Invariant: changes nothing.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"

namespace attn {
#define GEN_PASS_DEF_ATTNVERIFYTILES
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// The most times `test` holds on one path through the block.  A loop's body
/// counts as one pass; the arms of an scf.if are alternatives.
template <typename Test> int64_t mostOnAPath(Block &block, Test test) {
  int64_t count = 0;
  for (Operation &op : block) {
    count += test(op);
    int64_t inside = 0;
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        int64_t n = mostOnAPath(inner, test);
        inside = isa<scf::IfOp>(op) ? std::max(inside, n) : inside + n;
      }
    count += inside;
  }
  return count;
}

/// The fewest, for ops that must not be missing; loops may run no turn.
template <typename Test> int64_t fewestOnAPath(Block &block, Test test) {
  int64_t count = 0;
  for (Operation &op : block) {
    count += test(op);
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch || branch.getElseRegion().empty())
      continue;
    count += std::min(fewestOnAPath(*branch.thenBlock(), test),
                      fewestOnAPath(*branch.elseBlock(), test));
  }
  return count;
}

bool isStoreOp(Operation &op) { return isa<StoreOp, StorePartialOp>(op); }

class TileVerifier {
public:
  explicit TileVerifier(KernelOp kernel) : kernel(kernel) {}
  LogicalResult run();

private:
  LogicalResult checkDialects();
  LogicalResult checkLinear(Value value);
  LogicalResult checkStores(Operation *work, Block &body);

  KernelOp kernel;
};

} // namespace

LogicalResult TileVerifier::checkDialects() {
  WalkResult result = kernel.getBody().walk([](Operation *op) -> WalkResult {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect != "attn" && dialect != "arith" && dialect != "math" &&
        dialect != "scf") {
      op->emitOpError() << "is not part of level L1 (attn, arith, math, scf)";
      return WalkResult::interrupt();
    }
    if (isa<AttentionOp, MergeOp, KernelOp>(op)) {
      op->emitOpError() << "is a problem op, not part of level L1";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult TileVerifier::checkLinear(Value value) {
  if (value.use_empty())
    return success();
  auto uses = [&](Operation &op) {
    return llvm::count(op.getOperands(), value);
  };
  int64_t count = mostOnAPath(*value.getParentBlock(), uses);
  if (count <= 1)
    return success();
  return emitError(value.getLoc())
         << "a state is used " << count << " times on one path but is linear";
}

LogicalResult TileVerifier::checkStores(Operation *work, Block &body) {
  int64_t fewest = fewestOnAPath(body, isStoreOp);
  int64_t most = mostOnAPath(body, isStoreOp);
  if (fewest == 1 && most == 1)
    return success();
  return work->emitOpError() << "stores " << (fewest != 1 ? fewest : most)
                             << " times on a path of an item but needs 1";
}

LogicalResult TileVerifier::run() {
  if (failed(checkDialects()))
    return failure();
  int64_t works = 0;
  for (Operation &op : kernel.getBody().front()) {
    if (!isa<ForWorkOp, ForMergeOp>(op))
      continue;
    ++works;
    if (failed(checkStores(&op, op.getRegion(0).front())))
      return failure();
  }
  if (works != 1)
    return kernel.emitOpError() << "has " << works << " work loops but needs 1";
  // States: values of state type and what a loop over blocks carries as O.
  WalkResult result = kernel.getBody().walk([&](Operation *op) -> WalkResult {
    if (auto loop = dyn_cast<ForKVOp>(op))
      if (!loop.getInits().empty() &&
          (failed(checkLinear(loop.getCarried()[0])) ||
           failed(checkLinear(loop.getInits()[0]))))
        return WalkResult::interrupt();
    for (Value value : op->getResults())
      if (isa<StateType>(value.getType()) && failed(checkLinear(value)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {

struct VerifyTiles : public attn::impl::AttnVerifyTilesBase<VerifyTiles> {
  void runOnOperation() override {
    if (failed(TileVerifier(getOperation()).run()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
