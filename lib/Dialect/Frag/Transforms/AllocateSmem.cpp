//===- AllocateSmem.cpp - where the rings, words and barriers lie ---------===//
//
//   %q = frag.smem "q" at -1   : !frag.ring<128x128xbf16, ..., slots = 1>
//   %k = frag.smem "k" at -1   : !frag.ring<64x128xbf16, ..., slots = 2>
//   %f = frag.bars "k.full" at -1 count 1 : !frag.bars<slots = 2>
//     -> at 0, at 32768 and at 65536, kernel smem 65552
//
// Rings follow each other in the order of the text, then the words, then the
// barriers: all of them live as long as the kernel.  Overlays follow each other from
// byte 0 on, over the other rings.
//
// Invariant: the offset of a ring is a multiple of 1024 bytes, the
// period of the widest swizzle; that of words and barriers a multiple of 16.
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

constexpr int64_t period = 1024, unit = 16;

struct AllocateSmem
    : public attn::frag::impl::FragAllocateSmemBase<AllocateSmem> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    Builder builder(&getContext());
    int64_t next = 0;
    // Places one op behind the last; words and barriers are small and dense.
    auto place = [&](auto op, StringRef what, int64_t bytes,
                     int64_t align) -> WalkResult {
      if (int32_t(op.getOffset()) >= 0) {
        op.emitOpError() << what << " '" << op.getName()
                         << "' already has offset " << int32_t(op.getOffset());
        return WalkResult::interrupt();
      }
      next = int64_t(llvm::alignTo(next, align));
      if (next + bytes > INT32_MAX) {
        op.emitOpError() << what << " '" << op.getName() << "' ends at byte "
                         << next + bytes << " but offsets end at " << INT32_MAX;
        return WalkResult::interrupt();
      }
      op.setOffsetAttr(builder.getI32IntegerAttr(int32_t(next)));
      next += bytes;
      return WalkResult::advance();
    };
    int64_t end = 0;
    for (bool overlay : {false, true}) {
      next = 0;
      WalkResult rings = kernel.walk([&](SmemOp op) {
        if (op.getOverlay() != overlay)
          return WalkResult::advance();
        return place(op, "ring", op.getRing().getType().getBytes(), period);
      });
      if (rings.wasInterrupted())
        return signalPassFailure();
      end = std::max(end, next);
    }
    next = int64_t(llvm::alignTo(end, period));
    WalkResult words = kernel.walk([&](WordsOp op) {
      return place(op, "words", op.getWords().getType().getBytes(), unit);
    });
    if (words.wasInterrupted())
      return signalPassFailure();
    WalkResult bars = kernel.walk([&](BarsOp op) {
      return place(op, "barriers", op.getBars().getType().getBytes(), unit);
    });
    if (bars.wasInterrupted())
      return signalPassFailure();
    kernel.setSmemAttr(builder.getI32IntegerAttr(int32_t(next)));
  }
};

} // namespace
