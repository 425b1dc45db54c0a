//===- Words.cpp - words and zeroed rows in shared memory -----------------===//
//
//   %w:2 = frag.ld_words 2 of %work[%p]    -> ld.shared.v2 [work + slot * 64]
//   frag.st_words (%x) to %verdict[%p]     -> bar.warp.sync; @lane0 st.shared
//   frag.zero_rows %v[%p] from %first      -> st.shared.v4 of zeros, a chunk of
//                                             16 bytes a thread and turn
//
// Plain loads and stores: the barriers around them clobber memory.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

namespace {

struct LdWordsLowering : OpConversionPattern<LdWordsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(LdWordsOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    WordsType type = op.getWords().getType();
    // What is loaded from a uniform address is uniform.  Positions are, but here
    // they go round a loop whose end the words decide, which ptxas does not see
    // through.
    Value slot = slotOfWords(e, type, adaptor.getWords().front(),
                             e.uniform(adaptor.getPos()[0]));
    SmallVector<SmallVector<Value>> results;
    for (int32_t lane = 0; lane < type.getLanes(); ++lane)
      for (int32_t word = 0; word < int32_t(op.getCount()); ++word)
        results.push_back({LLVM::LoadOp::create(
            rewriter, op.getLoc(), rewriter.getI32Type(),
            e.advance(slot, 4 * (int64_t(lane) * type.getCount() + word)), 4)});
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

struct StWordsLowering : OpConversionPattern<StWordsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(StWordsOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    WordsType type = op.getWords().getType();
    // The elected thread is alone already.
    if (!op->getParentOfType<ElectOp>())
      e.syncWarp();
    Value first = e.isFirstLane();
    Value lane = op.getLane() ? adaptor.getLane().front() : Value();
    Value slot = slotOfWords(e, type, adaptor.getWords().front(),
                             adaptor.getPos()[0], lane);
    int32_t lanes = lane ? 1 : type.getLanes();
    SmallVector<Value> values;
    for (ValueRange value : adaptor.getValues())
      values.push_back(value.front());
    for (int32_t i = 0; i < lanes; ++i) {
      ArrayRef<Value> rest = values;
      int64_t at = int64_t(4) * i * type.getCount();
      while (!rest.empty()) {
        size_t width = widthOf(op, rest.size());
        e.storeIf(first, sharedSpace, slot, at, rest.take_front(width));
        rest = rest.drop_front(width);
        at += 4 * int64_t(width);
      }
    }
    rewriter.eraseOp(op);
    return success();
  }

  /// Words that one store may take: 4, 2 or 1, as every lane of every slot is
  /// aligned to them.
  static size_t widthOf(StWordsOp op, size_t left) {
    auto storage = op.getWords().getDefiningOp<WordsOp>();
    if (!storage)
      return 1;
    uint32_t aligned =
        storage.getOffset() | 4 * op.getWords().getType().getCount();
    for (size_t width : {4, 2})
      if (width <= left && aligned % (4 * width) == 0)
        return width;
    return 1;
  }
};

struct ZeroRowsLowering : OpConversionPattern<ZeroRowsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ZeroRowsOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    constexpr unsigned chunkBytes = 16;
    Location loc = op.getLoc();
    Emitter e(rewriter, loc);
    RingType type = op.getRing().getType();
    layout::Swizzle tile = swizzleOf(type);
    Value slot = slotAddress(e, type, adaptor.getRing().front(),
                             adaptor.getPos().front());
    // A row of a panel is one run of bytes: the swizzle stays inside it.
    unsigned chunks = tile.rowPitchBytes() / chunkBytes;
    Value first = e.add(e.mul(adaptor.getFirst().front(), chunks),
                        executingThread(e, op));
    auto loop =
        scf::ForOp::create(rewriter, loc, first, e.i32(tile.getRows() * chunks),
                           e.i32(executingThreads(op)));
    rewriter.setInsertionPointToStart(loop.getBody());
    Value chunk = e.advance(slot, e.mul(loop.getInductionVar(), chunkBytes));
    Value zeros = e.zero(VectorType::get(4, rewriter.getI32Type()));
    for (unsigned panel = 0; panel < tile.panels(); ++panel)
      LLVM::StoreOp::create(
          rewriter, loc, zeros,
          e.advance(chunk, int64_t(panel) * tile.panelBytes()), chunkBytes);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void frag::populateWordPatterns(const TypeConverter &types,
                                RewritePatternSet &patterns) {
  patterns.add<LdWordsLowering, StWordsLowering, ZeroRowsLowering>(
      types, patterns.getContext());
}
