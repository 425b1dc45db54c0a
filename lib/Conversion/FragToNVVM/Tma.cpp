//===- Tma.cpp - tensor maps and copies by TMA ----------------------------===//
//
//   frag.tma_load %t(%row, %head, %batch) into %k[%p] on %full[%b]
//     -> for each panel c of the slot:
//        cp.async.bulk.tensor.4d [slot + c * panel], [map, {64 c, row, head,
//                                batch}], [barrier], hint
//
// A tensor map is read where it lies in the parameter struct, and fetched once
// at the begin; kernels that have one get a struct aligned to 64 bytes
// (FragToNVVM.cpp).
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

/// Cache policies that createpolicy makes for whole accesses.
static int64_t policyOf(CacheHint hint) {
  return hint == CacheHint::EvictFirst ? 0x12F0000000000000
                                       : 0x14F0000000000000;
}

/// By the elected thread: a predicate and no branch, like all that it does.
static void emitBox(Emitter &e, Value target, Value map,
                    ArrayRef<Value> coordinates, Value barrier, Value hint) {
  SmallVector<Value> args = {e.isFirstLane(), e.sharedAddress(target), map,
                             e.sharedAddress(barrier)};
  std::string constraints = "b,r,l,r", list;
  for (Value coordinate : coordinates) {
    list += (list.empty() ? "$" : ", $") + std::to_string(args.size());
    args.push_back(coordinate);
    constraints += ",r";
  }
  std::string text = "@$0 cp.async.bulk.tensor." +
                     std::to_string(coordinates.size()) +
                     "d.shared::cta.global.tile.mbarrier::complete_tx::bytes";
  std::string policy;
  if (hint) {
    text += ".L2::cache_hint";
    policy = ", $" + std::to_string(args.size());
    args.push_back(hint);
    constraints += ",l";
  }
  e.assembly(text + " [$1], [$2, {" + list + "}], [$3]" + policy + ";",
             constraints, args);
}

namespace {

struct TmapLowering : OpConversionPattern<TmapOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(TmapOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    auto func = op->getParentOfType<LLVM::LLVMFuncOp>();
    Value map = e.advance(func.getArgument(0), op.getOffset());
    // The first copy would wait for its map; here nobody waits yet.
    Value first =
        arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::eq,
                              e.threadId(), e.i32(0));
    e.assembly("@$0 prefetch.tensormap [$1];", "b,l", {first, map});
    rewriter.replaceOp(op, map);
    return success();
  }
};

struct TmaLoadLowering : OpConversionPattern<TmaLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(TmaLoadOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    RingType type = op.getRing().getType();
    layout::Swizzle tile = swizzleOf(type);
    Value slot = slotAddress(e, type, adaptor.getRing().front(),
                             adaptor.getPos().front());
    if (op.getFirst())
      slot =
          e.advance(slot, e.mul(adaptor.getFirst().front(),
                                int64_t(tile.panelBytes() / tile.getRows())));
    Value barrier =
        slotOfBars(e, op.getBars().getType(), adaptor.getBars().front(),
                   adaptor.getBarPos().front());
    Value hint = op.getHint() ? e.i64(policyOf(*op.getHint())) : Value();
    for (unsigned panel = 0; panel < tile.panels(); ++panel) {
      SmallVector<Value> coordinates = {e.i32(panel * tile.panelCols())};
      for (ValueRange coordinate : adaptor.getCoordinates())
        coordinates.push_back(coordinate.front());
      emitBox(e, e.advance(slot, int64_t(panel) * tile.panelBytes()),
              adaptor.getTmap().front(), coordinates, barrier, hint);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void frag::populateTmaPatterns(const TypeConverter &types,
                               RewritePatternSet &patterns) {
  patterns.add<TmapLowering, TmaLoadLowering>(types, patterns.getContext());
}
