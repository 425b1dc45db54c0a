//===- Work.cpp - the queue of items --------------------------------------===//
//
//   %i = frag.next_work %queue below %n
//     -> lane 0: old = atom.add [queue], 1; shfl.idx; old < n ? old : -1
//   frag.next_work_done %queue
//     -> lane 0: if atom.add [queue + 4], 1 == CTAs - 1, both words become 0
//
// A CTA counts itself out behind its last item, so nobody counts in a queue
// that is being reset.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

/// The word's value before 1 was added.
static Value countIn(Emitter &e, Value word, LLVM::AtomicOrdering ordering) {
  return LLVM::AtomicRMWOp::create(e.b, e.loc, LLVM::AtomicBinOp::add, word,
                                   e.i32(1), ordering, "device");
}

namespace {

struct NextWorkLowering : OpConversionPattern<NextWorkOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(NextWorkOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Emitter e(rewriter, loc);
    Type i32 = rewriter.getI32Type();
    auto branch = scf::IfOp::create(rewriter, loc, i32, e.isFirstLane(),
                                    /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(
          rewriter, loc,
          countIn(e, adaptor.getQueue(), LLVM::AtomicOrdering::monotonic));
      rewriter.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(rewriter, loc, e.i32(0));
    }
    Value index = e.ofFirstLane(branch.getResult(0));
    Value there = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::ult, index, adaptor.getLimit());
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, there, index, e.i32(-1));
    return success();
  }
};

struct NextWorkDoneLowering : OpConversionPattern<NextWorkDoneOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(NextWorkDoneOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Emitter e(rewriter, loc);
    auto branch = scf::IfOp::create(rewriter, loc, e.isFirstLane(),
                                    /*withElseRegion=*/false);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    Value next = adaptor.getQueue(), done = e.advance(next, int64_t(4));
    Value old = countIn(e, done, LLVM::AtomicOrdering::acq_rel);
    Value ctas = NVVM::GridDimXOp::create(rewriter, loc, rewriter.getI32Type());
    Value last = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                       old, e.add(ctas, -1));
    auto reset = scf::IfOp::create(rewriter, loc, last,
                                   /*withElseRegion=*/false);
    rewriter.setInsertionPointToStart(reset.thenBlock());
    LLVM::StoreOp::create(rewriter, loc, e.i32(0), next, 4);
    LLVM::StoreOp::create(rewriter, loc, e.i32(0), done, 4);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void frag::populateWorkPatterns(const TypeConverter &types,
                                RewritePatternSet &patterns) {
  patterns.add<NextWorkLowering, NextWorkDoneLowering>(types,
                                                       patterns.getContext());
}
