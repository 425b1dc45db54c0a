//===- SplitKV.cpp - attn-split-kv ----------------------------------------===//
//
// An item that owns a slot stores a partial instead of the result:
//
//   %z = apply_sink                    if slot >= 0 {
//   %f:2 = state_finish %st sink %z      store_partial %st slot
//   store %f#0 lse %f#1          ->    } else {
//                                        (as before)
//                                      }
//
// Invariant afterwards: a partial is the state as the loops left it, with neither the
// sink logit nor the output hook; the merge kernel finishes the merged row, once.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"

namespace attn {
#define GEN_PASS_DEF_ATTNSPLITKV
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// The slot among the block arguments of for_work (WorkItem.h).
constexpr unsigned slotArgument = 6;

LogicalResult split(StoreOp store, ForWorkOp work) {
  SmallVector<Operation *> direct; // in program order, the store last
  Value tile = store.getTile();
  if (auto hook = tile.getDefiningOp<TransformRowsOp>()) {
    direct.push_back(hook);
    tile = hook.getTile();
  }
  auto finish = tile.getDefiningOp<StateFinishOp>();
  if (!finish)
    return store.emitOpError()
           << "does not store a finished state; run attn-tile first";
  direct.push_back(finish);
  if (finish.getSink())
    if (auto sink = finish.getSink().getDefiningOp<ApplySinkOp>())
      direct.push_back(sink);
  std::reverse(direct.begin(), direct.end());
  direct.push_back(store);

  Location loc = store.getLoc();
  OpBuilder builder(store);
  Value slot = work.getBody().getArgument(slotArgument);
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Value isSplit = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                        slot, zero);
  auto branch = scf::IfOp::create(builder, loc, isSplit, /*withElse=*/true);

  OpBuilder then = branch.getThenBodyBuilder();
  bool softmax =
      finish.getState().getType().getNormaliser() == Normaliser::Softmax;
  StorePartialOp::create(then, loc, ValueRange{finish.getState()},
                         softmax ? finish.getC() : Value(), store.getRows(),
                         work.getPlan(), slot);

  Operation *end = branch.elseBlock()->getTerminator();
  for (Operation *op : direct)
    op->moveBefore(end);
  return success();
}

struct SplitKV : public attn::impl::AttnSplitKVBase<SplitKV> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    bool failed = false;
    for (ForWorkOp work : getOperation().getBody().getOps<ForWorkOp>()) {
      SmallVector<StoreOp> stores(work.getBody().getOps<StoreOp>());
      for (StoreOp store : stores)
        failed |= mlir::failed(split(store, work));
    }
    if (failed)
      signalPassFailure();
  }
};

} // namespace
