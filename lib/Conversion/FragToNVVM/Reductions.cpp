//===- Reductions.cpp - over registers, lanes and the CTA -----------------===//
//
//   frag.reduce_row max row     max over the thread's registers of a row, then
//   a
//                               butterfly over the lanes that share the row
//   frag.reduce_row sum thread  the thread's share only
//   frag.reduce_quad            the butterfly of a partial vector
//   frag.any                    one barrier with an `or` reduction
//   frag.pack                   cvt of pairs
//
// A row is summed in a fixed order, so results do not depend on the launch:
// four chains, because one would wait for every addition.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

static Value combine(Emitter &e, ReduceKind kind, Value x, Value y) {
  if (kind == ReduceKind::Max)
    return arith::MaxNumFOp::create(e.b, e.loc, x, y);
  return arith::AddFOp::create(e.b, e.loc, x, y);
}

static Value reduceChains(Emitter &e, ReduceKind kind, ArrayRef<Value> values) {
  constexpr size_t numChains = 4;
  SmallVector<Value> chains(values.take_front(numChains));
  for (size_t i = chains.size(); i < values.size(); ++i)
    chains[i % numChains] = combine(e, kind, chains[i % numChains], values[i]);
  while (chains.size() > 1) {
    size_t half = (chains.size() + 1) / 2;
    for (size_t i = 0; i + half < chains.size(); ++i)
      chains[i] = combine(e, kind, chains[i], chains[i + half]);
    chains.resize(half);
  }
  return chains.front();
}

namespace {

struct ReduceRowLowering : OpConversionPattern<ReduceRowOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ReduceRowOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    auto type = cast<RegType>(op.getTile().getType());
    layout::Layout layout = layoutOf(type);
    SmallVector<SmallVector<Value>> rows(layout.rowsPerThread());
    for (unsigned reg = 0; reg < layout.registersPerThread(); ++reg)
      rows[layout.rowSlot(reg)].push_back(
          elementOf(e, type, adaptor.getTile(), reg));
    std::vector<unsigned> masks;
    if (op.getScope() == ReduceScope::Row)
      masks = layout.rowLaneMasks();
    SmallVector<SmallVector<Value>> results(1);
    for (ArrayRef<Value> row : rows)
      results[0].push_back(e.overLanes(
          reduceChains(e, op.getKind(), row), masks,
          [&](Value x, Value y) { return combine(e, op.getKind(), x, y); }));
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

struct ReduceQuadLowering : OpConversionPattern<ReduceQuadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ReduceQuadOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    layout::Layout layout = layoutOf(cast<VecType>(op.getVec().getType()));
    std::vector<unsigned> masks = layout.rowLaneMasks();
    SmallVector<SmallVector<Value>> results(1);
    for (Value share : adaptor.getVec())
      results[0].push_back(e.overLanes(share, masks, [&](Value x, Value y) {
        return combine(e, ReduceKind::Sum, x, y);
      }));
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

struct AnyLowering : OpConversionPattern<AnyOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(AnyOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    Value own;
    for (Value row : adaptor.getVec())
      own = own ? arith::OrIOp::create(rewriter, op.getLoc(), own, row)
                : Value(row);
    if (op.getScope() != VoteScope::Cta) {
      if (op.getScope() == VoteScope::Warpgroup) {
        int64_t barrier = *op.getBarrier();
        Value id = op.getRank() ? e.add(adaptor.getRank().front(), barrier)
                                : e.i32(barrier);
        own = e.assembly("bar.red.or.pred $0, $1, $2, $3;", "=b,r,n,b",
                         {id, e.i32(4 * layout::warpSize), own},
                         rewriter.getI1Type())
                  .front();
      }
      // The vote of a warp is what ptxas knows to be the same in all lanes; the
      // barrier's is not.
      rewriter.replaceOpWithNewOp<NVVM::VoteSyncOp>(
          op, rewriter.getI1Type(), e.i32(-1), own, NVVM::VoteSyncKind::any);
      return success();
    }
    Value word = arith::ExtUIOp::create(rewriter, op.getLoc(),
                                        rewriter.getI32Type(), own);
    Value all =
        NVVM::BarrierOp::create(
            rewriter, op.getLoc(), rewriter.getI32Type(), Value(), Value(),
            NVVM::BarrierReductionAttr::get(op.getContext(),
                                            NVVM::BarrierReduction::OR),
            word)
            .getRes();
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, arith::CmpIPredicate::ne,
                                               e.uniform(all), e.i32(0));
    return success();
  }
};

struct PackLowering : OpConversionPattern<PackOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(PackOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    auto from = cast<RegType>(op.getTile().getType());
    auto to = cast<RegType>(op.getType());
    layout::Layout source = layoutOf(from), target = layoutOf(to);
    ValueRange values = adaptor.getTile();
    // P is made in the shadow of the exponentials.  LLVM would sink it behind a branch,
    // out of the shadow.
    bool stays = op.getHere();
    SmallVector<SmallVector<Value>> results(1);
    for (unsigned reg = 0; reg < target.registersPerThread(); reg += 2) {
      // Same element, same thread: only the register's number may differ.
      layout::Coord at = target.registerOffset(reg);
      layout::Coord next = target.registerOffset(reg + 1);
      Value low = values[source.owner(at.row, at.col).reg];
      Value high = values[source.owner(next.row, next.col).reg];
      results[0].push_back(stays ? e.packHere(low, high, to.getElement())
                                 : e.pack(low, high, to.getElement()));
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

} // namespace

void frag::populateReductionPatterns(const TypeConverter &types,
                                     RewritePatternSet &patterns) {
  patterns
      .add<ReduceRowLowering, ReduceQuadLowering, AnyLowering, PackLowering>(
          types, patterns.getContext());
}
