//===- PeelClasses.cpp - attn-peel-classes --------------------------------===//
//
// One loop a block class, in visiting order; full loops lose the mask:
//
//   %b:3 = segments .. [full, partial]     %r1 = for_kv partial %b#1 .. %b#2
//   %r = for_kv partial %b#0 .. %b#2  ->   %r2 = for_kv full    %b#0 .. %b#1
//
// (descending order).  Invariant afterwards: a full loop has no apply_mask, a
// partial one exactly one, and each loop covers one segment.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"

namespace attn {
#define GEN_PASS_DEF_ATTNPEELCLASSES
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

void dropMask(ForKVOp loop) {
  loop.getBody().walk([](ApplyMaskOp mask) {
    mask.getResult().replaceAllUsesWith(mask.getTile());
    mask.erase();
  });
}

/// Replaces `loop` by one loop a segment of `segments`.
void peel(ForKVOp loop, SegmentsOp segments) {
  ArrayRef<BlockClass> classes = segments.getBlockMap().getClasses();
  OpBuilder builder(loop);
  SmallVector<Value> carried(loop.getInits());
  for (size_t visit = 0, n = classes.size(); visit < n; ++visit) {
    size_t segment =
        loop.getOrder() == KVOrder::Descending ? n - 1 - visit : visit;
    if (classes[segment] == BlockClass::Skip)
      continue;
    auto part = cast<ForKVOp>(builder.clone(*loop));
    part.getLoMutable().assign(segments.getBounds()[segment]);
    part.getHiMutable().assign(segments.getBounds()[segment + 1]);
    part.getInitsMutable().assign(carried);
    part.setBlockClass(classes[segment]);
    if (classes[segment] == BlockClass::Full)
      dropMask(part);
    carried.assign(part.getResults().begin(), part.getResults().end());
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
}

struct PeelClasses : public attn::impl::AttnPeelClassesBase<PeelClasses> {
  void runOnOperation() override {
    SmallVector<ForKVOp> loops;
    getOperation().walk([&](ForKVOp loop) { loops.push_back(loop); });
    for (ForKVOp loop : loops) {
      // Only the loop over all blocks is peeled; running twice changes nothing.
      auto segments = loop.getLo().getDefiningOp<SegmentsOp>();
      if (!segments || loop.getLo() != segments.getBounds().front() ||
          loop.getHi() != segments.getBounds().back() ||
          segments.getBlockMap().getClasses().size() < 2)
        continue;
      peel(loop, segments);
    }
  }
};

} // namespace
