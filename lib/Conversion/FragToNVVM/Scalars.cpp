//===- Scalars.cpp - parameters, ids, pointers, rings, positions ----------===//
//
//   %q = frag.param "q" at 0 : !frag.ptr<bf16>   ->  load ptr<1>, params + 0
//   %p = frag.next %pos : !frag.pos<slots = 2>   ->  slot ^ 1, phase ^ slot
//   %x = frag.load_scalar %t[%i]                 ->  load, read-only cache
//
// Parameters are read from the grid-constant struct: constant bank loads, never
// a local copy.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

namespace {

struct ParamLowering : OpConversionPattern<ParamOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ParamOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    auto func = op->getParentOfType<LLVM::LLVMFuncOp>();
    Emitter e(rewriter, op.getLoc());
    Value address = e.advance(func.getArgument(0), op.getOffset());
    unsigned bytes = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() / 8 : 8;
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, type, address, bytes,
                                              /*isVolatile=*/false,
                                              /*isNonTemporal=*/false,
                                              /*isInvariant=*/true);
    return success();
  }
};

template <typename SourceOp, typename TargetOp>
struct RegisterLowering : OpConversionPattern<SourceOp> {
  using OpConversionPattern<SourceOp>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SourceOp op, typename SourceOp::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<TargetOp>(op, rewriter.getI32Type());
    return success();
  }
};

struct OpaqueLowering : OpConversionPattern<OpaqueOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpaqueOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    rewriter.replaceOp(op, e.opaque(adaptor.getValue()));
    return success();
  }
};

struct OffsetLowering : OpConversionPattern<OffsetOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OffsetOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    Type element = cast<PtrType>(op.getBase().getType()).getElement();
    rewriter.replaceOp(
        op, e.element(adaptor.getBase(), element, adaptor.getElements()));
    return success();
  }
};

struct LoadScalarLowering : OpConversionPattern<LoadScalarOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(LoadScalarOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    Type element = op.getType();
    // A truth value in memory is a byte.
    Type stored = element.isInteger(1) ? rewriter.getI8Type() : element;
    Value address = e.element(adaptor.getBase(), stored, adaptor.getIndex());
    Value x = LLVM::LoadOp::create(rewriter, op.getLoc(), stored, address,
                                   stored.getIntOrFloatBitWidth() / 8,
                                   /*isVolatile=*/false,
                                   /*isNonTemporal=*/false,
                                   /*isInvariant=*/true);
    if (op->hasAttr(uniformAttr) && element.isInteger(32))
      x = e.uniform(x);
    if (element.isInteger(1))
      x = arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::ne,
                                x, e.zero(stored));
    rewriter.replaceOp(op, x);
    return success();
  }
};

/// A ring, barriers or words.
template <typename SourceOp>
struct StorageLowering : OpConversionPattern<SourceOp> {
  using OpConversionPattern<SourceOp>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SourceOp op, typename SourceOp::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    Value base = LLVM::AddressOfOp::create(
        rewriter, op.getLoc(),
        LLVM::LLVMPointerType::get(op.getContext(), sharedSpace), sharedSymbol);
    rewriter.replaceOp(op, e.advance(base, op.getOffset()));
    return success();
  }
};

struct PosLowering : OpConversionPattern<PosOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(PosOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    SmallVector<SmallVector<Value>> results = {
        {e.i32(0), e.i32(op.getPhase())}};
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

struct NextLowering : OpConversionPattern<NextOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(NextOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    unsigned slots = op.getType().getSlots();
    Value slot = adaptor.getPos()[0], phase = adaptor.getPos()[1];
    if (slots == 1) {
      phase = e.bitXor(phase, 1);
    } else if (slots == 2) {
      // Slot 1 is the last: it is 1 where the phase flips.
      phase = e.bitXor(phase, slot);
      slot = e.bitXor(slot, 1);
    } else {
      Value next = e.add(slot, 1);
      Value wrap = arith::CmpIOp::create(
          rewriter, op.getLoc(), arith::CmpIPredicate::eq, next, e.i32(slots));
      slot =
          arith::SelectOp::create(rewriter, op.getLoc(), wrap, e.i32(0), next);
      phase = arith::SelectOp::create(rewriter, op.getLoc(), wrap,
                                      e.bitXor(phase, 1), phase);
    }
    SmallVector<SmallVector<Value>> results = {{slot, phase}};
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

/// A select of tiles, vectors, pointers or positions.
struct SelectLowering : OpConversionPattern<arith::SelectOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(arith::SelectOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<SmallVector<Value>> results(1);
    for (auto [yes, no] :
         llvm::zip(adaptor.getTrueValue(), adaptor.getFalseValue()))
      results[0].push_back(arith::SelectOp::create(
          rewriter, op.getLoc(), adaptor.getCondition().front(), yes, no));
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

} // namespace

void frag::populateScalarPatterns(const TypeConverter &types,
                                  RewritePatternSet &patterns) {
  patterns.add<ParamLowering, RegisterLowering<CtaIdOp, NVVM::BlockIdXOp>,
               RegisterLowering<CtaCountOp, NVVM::GridDimXOp>, OffsetLowering,
               OpaqueLowering, LoadScalarLowering, StorageLowering<SmemOp>,
               StorageLowering<BarsOp>, StorageLowering<WordsOp>, PosLowering,
               NextLowering, SelectLowering>(types, patterns.getContext());
}
