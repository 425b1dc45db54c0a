//===- Maps.cpp - elementwise regions, unrolled over registers ------------===//
//
//   %m = frag.map (%s = %S, %l = %lim) at (%row, %col) -> S {
//     %in = arith.cmpi slt, %col, %l        for each register g:
//     %x = arith.select %in, %s, %ninf   ->   %in_g = cmpi slt, %col_g,
//     %l_slot(g) frag.yield %x                           %x_g = select %in_g,
//     %S_g, %ninf
//   }
//
// Elements are paced through a map with several MUFU instructions: what an
// element multiplies by first is made to depend on an element before it.
//
//===----------------------------------------------------------------------===//

#include "Unroller.h"
#include "attn/Target/Exp2.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

/// In a map with several MUFU instructions an element ptxas puts the rest of all
/// elements first and leaves the MUFU idle meanwhile.  So an element takes a
/// factor that is there only when the element this far before it is done.  On an
/// H200 8 was 5 to 6 percent faster than none; 12, 16 and 24 0 to 7.
static constexpr unsigned paceAhead = 8;

namespace {

struct SplatLowering : OpConversionPattern<SplatOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SplatOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    Value value = adaptor.getValue().front();
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getType(), types)))
      return failure();
    if (auto tile = dyn_cast<RegType>(op.getType()))
      if (isPacked(tile.getElement()))
        value = e.join(value, value, tile.getElement());
    SmallVector<SmallVector<Value>> results = {
        SmallVector<Value>(types.size(), value)};
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

struct MapLowering : OpConversionPattern<MapOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(MapOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    bool tiled = op.hasTile();
    std::optional<layout::Layout> layout = layoutOfMap(op);
    if (!layout)
      return rewriter.notifyMatchFailure(op, "map of nothing");
    Block &body = op.getBody().front();
    unsigned numRows = layout->rowsPerThread();
    unsigned numCols = tiled ? layout->colsPerThread() : 0;
    Unroller unroller(rewriter, body, Dependences(op), numRows, numCols);

    unsigned numInputs = op.getInputs().size();
    for (unsigned i = 0; i < numInputs; ++i) {
      if (isa<VecType>(op.getInputs()[i].getType()))
        unroller.setRow(body.getArgument(i),
                        llvm::to_vector(adaptor.getInputs()[i]));
    }
    ThreadCoord base = e.threadCoord(*layout);
    SmallVector<Value> rows;
    if (body.getNumArguments() > numInputs) {
      for (unsigned i = 0; i < numRows; ++i)
        rows.push_back(e.add(base.row, layout->rowOffset(i)));
      unroller.setRow(body.getArgument(numInputs), rows);
    }
    if (tiled && !body.getArgument(numInputs + 1).use_empty()) {
      // Columns are sums with constants: made here they cost an add each, moved
      // out of the loop a register each.
      SmallVector<int64_t> offsets;
      for (unsigned i = 0; i < numCols; ++i)
        offsets.push_back(layout->colOffset(i));
      unroller.setCol(body.getArgument(numInputs + 1), e.opaque(base.col),
                      offsets);
    }
    unroller.emitShared();
    unsigned share = op.getExp2Fma().value_or(0);

    SmallVector<SmallVector<Value>> results(op.getNumResults());
    auto keep = [&](ArrayRef<Value> yielded) {
      for (auto [list, value] : llvm::zip(results, yielded))
        list.push_back(value);
    };
    if (tiled) {
      Value factor = mufuOps(op) > 1 ? unroller.firstFactor() : Value();
      for (unsigned reg = 0; reg < layout->registersPerThread(); ++reg) {
        IRMapping element;
        if (factor && reg >= paceAhead)
          element.map(factor, e.behind(unroller.ofUniform(factor),
                                       results[0][reg - paceAhead]));
        for (unsigned i = 0; i < numInputs; ++i)
          if (auto tile = dyn_cast<RegType>(op.getInputs()[i].getType()))
            element.map(body.getArgument(i),
                        elementOf(e, tile, adaptor.getInputs()[i], reg));
        unsigned col = layout->colSlot(reg);
        keep(unroller.emitElement(element, layout->rowSlot(reg), col,
                                  exp2fma::isOnFma(col, share)));
      }
      for (unsigned i = 0; i < op.getNumResults(); ++i)
        if (auto tile = dyn_cast<RegType>(op.getResult(i).getType()))
          results[i] = packTile(e, tile, results[i]);
    } else {
      for (unsigned slot = 0; slot < numRows; ++slot) {
        IRMapping element;
        keep(unroller.emitElement(element, slot, 0, /*onFma=*/false));
      }
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }

  static std::optional<layout::Layout> layoutOfMap(MapOp op) {
    std::optional<layout::Layout> rows;
    for (TypeRange types :
         {TypeRange(op.getInputs().getTypes()), TypeRange(op.getResultTypes())})
      for (Type type : types) {
        if (auto tile = dyn_cast<RegType>(type))
          return layoutOf(tile);
        if (!rows)
          rows = layoutOf(cast<VecType>(type));
      }
    return rows;
  }
};

struct KeepColumnsLowering : OpConversionPattern<KeepColumnsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(KeepColumnsOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    auto type = op.getTile().getType();
    layout::Layout layout = layoutOf(type);
    Value first = e.threadCoord(layout).col;
    auto fromFirst = [&](ValueRange limits) {
      return llvm::map_to_vector(limits, [&](Value limit) -> Value {
        return arith::SubIOp::create(rewriter, op.getLoc(), limit, first);
      });
    };
    SmallVector<Value> hi = fromFirst(adaptor.getHi()), lo;
    if (op.getLo())
      lo = fromFirst(adaptor.getLo());
    Value fill = adaptor.getFill().front();
    SmallVector<SmallVector<Value>> results(1);
    for (unsigned reg = 0; reg < layout.registersPerThread(); ++reg) {
      unsigned row = layout.rowSlot(reg);
      Value col = e.i32(layout.colOffset(layout.colSlot(reg)));
      auto is = [&](arith::CmpIPredicate predicate, Value limit) -> Value {
        return arith::CmpIOp::create(rewriter, op.getLoc(), predicate, limit,
                                     col);
      };
      Value kept = is(arith::CmpIPredicate::sgt, hi[row]);
      if (!lo.empty())
        kept = arith::AndIOp::create(rewriter, op.getLoc(), kept,
                                     is(arith::CmpIPredicate::sle, lo[row]));
      results[0].push_back(arith::SelectOp::create(
          rewriter, op.getLoc(), kept,
          elementOf(e, type, adaptor.getTile(), reg), fill));
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

} // namespace

void frag::populateMapPatterns(const TypeConverter &types,
                               RewritePatternSet &patterns) {
  patterns.add<SplatLowering, MapLowering, KeepColumnsLowering>(
      types, patterns.getContext());
}
