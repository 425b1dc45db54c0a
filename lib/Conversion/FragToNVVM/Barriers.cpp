//===- Barriers.cpp - mbarriers, named barriers, fences, registers --------===//
//
//   frag.mbar_wait %kf[%p]     -> { W: try_wait.parity P, [slot], phase; ... }
//   frag.mbar_arrive %ke[%p]   -> @lane0 mbarrier.arrive [slot]
//   frag.barrier_sync 1 + %r   -> barrier.sync 1 + r, threads
//
// Waits and arrivals are inline assembly that clobbers memory: the intrinsics
// claim to touch the barrier alone, and what a barrier guards would be moved.
// A wait is one block with labels of its own, so that LLVM sees no loop.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

/// Address of a lane of a slot; `bytes` a lane.
static Value laneOfSlot(Emitter &e, int32_t lanes, int32_t bytes, Value storage,
                        Value slot, Value lane) {
  Value address = e.advance(storage, e.mul(slot, int64_t(lanes) * bytes));
  return lane ? e.advance(address, e.mul(lane, bytes)) : address;
}

Value frag::slotOfBars(Emitter &e, BarsType type, Value bars, Value slot,
                       Value lane) {
  constexpr int32_t mbarrierBytes = 8;
  return laneOfSlot(e, type.getLanes(), mbarrierBytes, bars, slot, lane);
}

Value frag::slotOfWords(Emitter &e, WordsType type, Value words, Value slot,
                        Value lane) {
  return laneOfSlot(e, type.getLanes(), 4 * type.getCount(), words, slot, lane);
}

namespace {

struct InitLowering : OpConversionPattern<InitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(InitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Emitter e(rewriter, loc);
    Value first = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                        e.threadId(), e.i32(0));
    auto branch = scf::IfOp::create(rewriter, loc, first,
                                    /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      for (auto [storage, address] :
           llvm::zip(op.getStorage(), adaptor.getStorage()))
        emitStart(e, storage, address);
      NVVM::FenceMbarrierInitOp::create(rewriter, loc);
      emitProxyFence(e);
    }
    NVVM::BarrierOp::create(rewriter, loc);
    rewriter.eraseOp(op);
    return success();
  }

  static void emitStart(Emitter &e, Value storage, Value address) {
    if (auto bars = dyn_cast<BarsType>(storage.getType())) {
      Value count = e.i32(storage.getDefiningOp<BarsOp>().getCount());
      for (int64_t at = 0; at < bars.getBytes(); at += 8)
        NVVM::MBarrierInitOp::create(e.b, e.loc, e.advance(address, at), count,
                                     /*predicate=*/Value());
      return;
    }
    auto words = cast<WordsType>(storage.getType());
    for (int64_t at = 0; at < words.getBytes(); at += 4)
      LLVM::StoreOp::create(e.b, e.loc, e.i32(0), e.advance(address, at), 4);
  }

  static void emitProxyFence(Emitter &e) {
    MLIRContext *ctx = e.b.getContext();
    NVVM::FenceProxyOp::create(
        e.b, e.loc,
        NVVM::ProxyKindAttr::get(ctx, NVVM::ProxyKind::async_shared),
        NVVM::SharedSpaceAttr::get(ctx, NVVM::SharedSpace::shared_cta));
  }
};

struct FenceLowering : OpConversionPattern<FenceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(FenceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    InitLowering::emitProxyFence(e);
    rewriter.eraseOp(op);
    return success();
  }
};

struct MbarWaitLowering : OpConversionPattern<MbarWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(MbarWaitOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    BarsType type = op.getBars().getType();
    Value slot =
        slotOfBars(e, type, adaptor.getBars().front(), adaptor.getPos()[0]);
    for (int32_t lane = 0; lane < type.getLanes(); ++lane)
      e.assembly("{\n.reg .pred P;\nW:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 P, [$0], $1;\n"
                 "@P bra D;\nbra W;\nD:\n}",
                 "r,r",
                 {e.sharedAddress(e.advance(slot, int64_t(8) * lane)),
                  adaptor.getPos()[1]});
    rewriter.eraseOp(op);
    return success();
  }
};

/// Lane 0 arrives once at the barrier of an op's position and lane.
template <class OpT>
void arriveByFirstLane(
    Emitter &e, OpT op,
    typename OpT::template GenericAdaptor<ArrayRef<ValueRange>> adaptor) {
  Value lane = op.getLane() ? adaptor.getLane().front() : Value();
  Value bar = slotOfBars(e, op.getBars().getType(), adaptor.getBars().front(),
                         adaptor.getPos()[0], lane);
  e.assembly("@$0 mbarrier.arrive.shared::cta.b64 _, [$1];", "b,r",
             {e.isFirstLane(), e.sharedAddress(bar)});
}

struct MbarArriveLowering : OpConversionPattern<MbarArriveOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(MbarArriveOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    if (op.getSync())
      e.syncWarp();
    arriveByFirstLane(e, op, adaptor);
    rewriter.eraseOp(op);
    return success();
  }
};

struct MbarArriveOneLowering : OpConversionPattern<MbarArriveOneOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(MbarArriveOneOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    arriveByFirstLane(e, op, adaptor);
    rewriter.eraseOp(op);
    return success();
  }
};

struct MbarExpectLowering : OpConversionPattern<MbarExpectOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(MbarExpectOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    Value bar = slotOfBars(e, op.getBars().getType(), adaptor.getBars().front(),
                           adaptor.getPos()[0]);
    e.assembly("@$0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], $2;",
               "b,r,n",
               {e.isFirstLane(), e.sharedAddress(bar), e.i32(op.getBytes())});
    rewriter.eraseOp(op);
    return success();
  }
};

/// Id + rank of a named barrier.
template <typename OpTy, typename Adaptor>
Value namedBarrier(Emitter &e, OpTy op, Adaptor adaptor) {
  return adaptor.getRank() ? e.add(adaptor.getRank(), int64_t(op.getId()))
                           : e.i32(op.getId());
}

struct BarrierSyncLowering : OpConversionPattern<BarrierSyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(BarrierSyncOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    NVVM::BarrierOp::create(rewriter, op.getLoc(), TypeRange(),
                            namedBarrier(e, op, adaptor),
                            e.i32(op.getThreads()), {}, Value());
    rewriter.eraseOp(op);
    return success();
  }
};

struct BarrierArriveLowering : OpConversionPattern<BarrierArriveOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(BarrierArriveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    e.assembly("bar.arrive $0, $1;", "r,n",
               {namedBarrier(e, op, adaptor), e.i32(op.getThreads())});
    rewriter.eraseOp(op);
    return success();
  }
};

struct SetRegistersLowering : OpConversionPattern<SetRegistersOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SetRegistersOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::SetMaxRegisterOp>(
        op, op.getCount(),
        op.getDir() == RegistersDir::Inc
            ? NVVM::SetMaxRegisterAction::increase
            : NVVM::SetMaxRegisterAction::decrease);
    return success();
  }
};

} // namespace

void frag::populateBarrierPatterns(const TypeConverter &types,
                                   RewritePatternSet &patterns) {
  patterns
      .add<InitLowering, FenceLowering, MbarWaitLowering, MbarArriveLowering,
           MbarArriveOneLowering, MbarExpectLowering, BarrierSyncLowering,
           BarrierArriveLowering, SetRegistersLowering>(types,
                                                        patterns.getContext());
}
