//===- Transpose.cpp - accumulators to eight neighbours a lane ------------===//
//
//   frag.quad_transpose: a row's 32 columns on the four lanes of a quad
//     before: word x of lane l holds columns 8 x + 2 l
//     after:  word x of lane l holds columns 8 l + 2 x
//
// A 4 x 4 transpose of 32-bit words by two butterfly steps.  In step `bit`,
// words whose numbers differ in that bit change places with the lane whose
// number does: each lane sends the one that its partner keeps.  Words of columns
// that the tile does not have are 0.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

static constexpr unsigned quad = 4;

namespace {

struct QuadTransposeLowering : OpConversionPattern<QuadTransposeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(QuadTransposeOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    layout::Layout source = layoutOf(op.getTile().getType());
    layout::Layout target = layoutOf(op.getResult().getType());
    ValueRange words = adaptor.getTile();
    SmallVector<SmallVector<Value>> results(1);
    results[0].resize(target.registersPerThread() / 2);
    unsigned width = target.getAtom().cols;
    Value odd[2];
    for (unsigned step = 0; step < 2; ++step)
      odd[step] =
          arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::ne,
                                e.bitAnd(e.threadId(), 1u << step), e.i32(0));
    for (unsigned slot = 0; slot < target.rowsPerThread(); ++slot)
      for (unsigned col = 0; col < target.getCols(); col += width) {
        // Registers of thread 0: others hold the same ones, elsewhere.
        unsigned row = target.rowOffset(slot);
        Value block[quad];
        for (unsigned x = 0; x < quad; ++x) {
          unsigned from = col + x * width / quad;
          block[x] = from < source.getCols()
                         ? words[source.owner(row, from).reg / 2]
                         : e.i32(0);
        }
        for (unsigned step = 0; step < 2; ++step)
          exchange(e, block, step, odd[step]);
        for (unsigned x = 0; x < quad; ++x)
          results[0][target.owner(row, col + 2 * x).reg / 2] = block[x];
      }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }

  static void exchange(Emitter &e, Value (&block)[quad], unsigned step,
                       Value odd) {
    unsigned mask = 1u << step;
    for (unsigned low = 0; low < quad; ++low) {
      if (low & mask)
        continue;
      Value &even = block[low], &other = block[low | mask];
      Value sent = arith::SelectOp::create(e.b, e.loc, odd, even, other);
      Value got = NVVM::ShflOp::create(e.b, e.loc, sent.getType(), e.i32(-1),
                                       sent, e.i32(mask), e.i32(31),
                                       NVVM::ShflKind::bfly, UnitAttr());
      Value kept = arith::SelectOp::create(e.b, e.loc, odd, got, even);
      other = arith::SelectOp::create(e.b, e.loc, odd, other, got);
      even = kept;
    }
  }
};

} // namespace

void frag::populateTransposePatterns(const TypeConverter &types,
                                     RewritePatternSet &patterns) {
  patterns.add<QuadTransposeLowering>(types, patterns.getContext());
}
