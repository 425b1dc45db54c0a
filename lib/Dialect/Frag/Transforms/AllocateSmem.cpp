//===- AllocateSmem.cpp - where the rings lie -----------------------------===//
//
//   %q = frag.smem "q" at -1   : !frag.ring<128x128xbf16, ..., slots = 1>
//   %k = frag.smem "k" at -1   : !frag.ring<64x128xbf16, ..., slots = 2>
//     -> at 0 and at 32768, kernel smem 65536
//
// Rings follow each other in the order of the text: all of them live as long as
// the kernel, so there is nothing to share.  Invariant: every offset is a
// multiple of 1024 bytes, the period of the widest swizzle.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Frag/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace attn::frag {
#define GEN_PASS_DEF_FRAGALLOCATESMEM
#include "attn/Dialect/Frag/FragPasses.h.inc"
} // namespace attn::frag

using namespace mlir;
using namespace attn::frag;

namespace {

constexpr int64_t period = 1024;

struct AllocateSmem
    : public attn::frag::impl::FragAllocateSmemBase<AllocateSmem> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    Builder builder(&getContext());
    int64_t next = 0;
    WalkResult result = kernel.walk([&](SmemOp op) {
      if (int32_t(op.getOffset()) >= 0) {
        op.emitOpError() << "ring '" << op.getName() << "' already has offset "
                         << int32_t(op.getOffset());
        return WalkResult::interrupt();
      }
      int64_t bytes = op.getRing().getType().getBytes();
      if (next + bytes > INT32_MAX) {
        op.emitOpError() << "ring '" << op.getName() << "' ends at byte "
                         << next + bytes << " but offsets end at " << INT32_MAX;
        return WalkResult::interrupt();
      }
      op.setOffsetAttr(builder.getI32IntegerAttr(int32_t(next)));
      next = int64_t(llvm::alignTo(next + bytes, period));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    kernel.setSmemAttr(builder.getI32IntegerAttr(int32_t(next)));
  }
};

} // namespace
