//===- Rewrite.cpp - new elements from whole rows -------------------------===//
//
//   frag.rewrite_rows %k[%p] from %lo to %hi    64 columns of 16 bits
//     -> for row = lo + warp; row < hi; row += warps {
//          y0 = region(row, 2 lane), y1 = region(row, 2 lane + 1)
//          bar.warp.sync
//          st.shared.b32 [row, 2 lane], (y0, y1)
//        }
//
// A lane has two neighbouring columns of every 64.  All elements of a row are read
// before the first is written, and rows do not meet, so a row needs one barrier of
// its warp.
//
//   frag.rewrite_tile %o through %rows
//     -> for each row of the thread: bar.warp.sync; its registers to the rows;
//        bar.warp.sync; region, with the others' elements from there
//
// An element that the region reads at its own column is in registers already.
//
//===----------------------------------------------------------------------===//

#include "Unroller.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

static constexpr unsigned chunkBytes = 16;

/// Address of an element of a row in a slot.
static Value elementAddress(Emitter &e, const layout::Swizzle &swizzle,
                            Value slot, Value row, Value col) {
  unsigned bytes = swizzle.getElementBytes(), perChunk = chunkBytes / bytes;
  Value inRow =
      chunkAddress(e, swizzle, row, e.shr(col, llvm::Log2_32(perChunk)));
  return e.advance(slot,
                   e.add(inRow, e.mul(e.bitAnd(col, perChunk - 1), bytes)));
}

/// An index into the row.
static Value clamped(Emitter &e, Value index, unsigned cols) {
  Value low = arith::MinSIOp::create(e.b, e.loc, index, e.i32(cols - 1));
  return arith::MaxSIOp::create(e.b, e.loc, low, e.i32(0));
}

static Value toF32(Emitter &e, Value x) {
  return LLVM::FPExtOp::create(e.b, e.loc, e.b.getF32Type(), x);
}

/// The warp's number among those of its role, all replicas together; or of the
/// CTA.  All lanes see that they agree on it.
static Value warpOfRole(Emitter &e, Operation *op) {
  Value warp = e.shr(e.threadId(), llvm::Log2_32(layout::warpSize));
  if (RoleAttr role = roleOf(op))
    warp = e.add(warp, -int64_t(role.getFirstWarp()));
  return warp;
}

namespace {

struct RewriteRowsLowering : OpConversionPattern<RewriteRowsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RewriteRowsOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Emitter e(rewriter, loc);
    RingType type = op.getRing().getType();
    layout::Swizzle swizzle = swizzleOf(type);
    unsigned cols = swizzle.getCols(), step = 2 * layout::warpSize;
    Value slot = slotAddress(e, type, adaptor.getRing().front(),
                             adaptor.getPos().front());
    Value thread = executingThread(e, op);
    Value lane = e.bitAnd(thread, layout::warpSize - 1);
    Value warp = e.ofFirstLane(e.shr(thread, llvm::Log2_32(layout::warpSize)));
    auto loop = scf::ForOp::create(
        rewriter, loc, e.add(adaptor.getBegin().front(), warp),
        adaptor.getEnd().front(),
        e.i32(executingThreads(op) / layout::warpSize));
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar();

    Block &body = op.getBody().front();
    SmallVector<Value> columns, words, addresses;
    for (unsigned first = 0; first < cols; first += step) {
      Value col = e.add(e.shl(lane, 1), int64_t(first));
      // Lanes behind the last column compute the last one once more.
      if (first + step > cols)
        col = arith::MinSIOp::create(rewriter, loc, col, e.i32(cols - 2));
      columns.push_back(col);
      columns.push_back(e.add(col, 1));
      addresses.push_back(elementAddress(e, swizzle, slot, row, col));
    }
    Unroller unroller(rewriter, body, /*rows=*/1, columns.size());
    unroller.setRow(body.getArgument(0), row);
    unroller.setCol(body.getArgument(1), columns);
    unroller.emitShared();
    for (auto [i, address] : llvm::enumerate(addresses)) {
      Value own = LLVM::LoadOp::create(rewriter, loc, rewriter.getI32Type(),
                                       address, /*alignment=*/4);
      Value pair[2];
      for (unsigned half = 0; half < 2; ++half) {
        auto read = [&](Value index) -> Value {
          if (!index)
            return toF32(e, e.half(own, half, type.getElement()));
          Value at =
              elementAddress(e, swizzle, slot, row, clamped(e, index, cols));
          return toF32(e, LLVM::LoadOp::create(rewriter, loc, type.getElement(),
                                               at, /*alignment=*/2));
        };
        IRMapping element;
        pair[half] = unroller
                         .emitElement(element, /*rowSlot=*/0, 2 * i + half,
                                      /*onFma=*/false, read)
                         .front();
      }
      words.push_back(e.pack(pair[0], pair[1], type.getElement()));
    }
    e.syncWarp();
    // Several lanes may store the last columns: the same values.
    for (auto [address, word] : llvm::zip_equal(addresses, words))
      LLVM::StoreOp::create(rewriter, loc, word, address, /*alignment=*/4);
    rewriter.eraseOp(op);
    return success();
  }
};

struct RewriteTileLowering : OpConversionPattern<RewriteTileOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RewriteTileOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Emitter e(rewriter, loc);
    RegType type = op.getTile().getType();
    layout::Layout layout = layoutOf(type);
    unsigned numRows = layout.rowsPerThread(), numCols = layout.colsPerThread();
    ThreadCoord base = e.threadCoord(layout);
    base.col = e.opaque(base.col); // made here, as in a map
    SmallVector<Value> rows, cols;
    for (unsigned i = 0; i < numRows; ++i)
      rows.push_back(e.add(base.row, layout.rowOffset(i)));
    for (unsigned i = 0; i < numCols; ++i)
      cols.push_back(e.add(base.col, layout.colOffset(i)));
    Block &body = op.getBody().front();
    Unroller unroller(rewriter, body, numRows, numCols);
    unroller.setRow(body.getArgument(0), rows);
    unroller.setCol(body.getArgument(1), cols);
    unroller.emitShared();

    std::optional<layout::Swizzle> swizzle;
    Value scratch, scratchRow;
    if (op.getScratch() && op.readsOthers()) {
      swizzle = swizzleOf(op.getScratch().getType());
      scratch = adaptor.getScratch().front();
      // The lanes that share a row are numbered by the low bits.
      Value lane = e.bitAnd(e.threadId(), layout::warpSize - 1);
      scratchRow =
          e.add(e.mul(warpOfRole(e, op), RewriteTileOp::rowsAtATime(type)),
                e.shr(lane, layout.rowLaneMasks().size()));
    }
    auto own = [&](unsigned reg) {
      return elementOf(e, type, adaptor.getTile(), reg);
    };
    SmallVector<Value> elements(layout.registersPerThread());
    for (unsigned slot = 0; slot < numRows; ++slot) {
      SmallVector<unsigned> regs;
      for (unsigned reg = 0; reg < elements.size(); ++reg)
        if (layout.rowSlot(reg) == slot)
          regs.push_back(reg);
      if (swizzle) {
        e.syncWarp();
        for (unsigned reg : regs)
          LLVM::StoreOp::create(rewriter, loc, own(reg),
                                elementAddress(e, *swizzle, scratch, scratchRow,
                                               cols[layout.colSlot(reg)]),
                                /*alignment=*/4);
        e.syncWarp();
      }
      for (unsigned reg : regs) {
        auto read = [&](Value index) -> Value {
          if (!index)
            return own(reg);
          Value at = elementAddress(e, *swizzle, scratch, scratchRow,
                                    clamped(e, index, type.getCols()));
          return LLVM::LoadOp::create(rewriter, loc, rewriter.getF32Type(), at,
                                      /*alignment=*/4);
        };
        IRMapping element;
        elements[reg] = unroller
                            .emitElement(element, slot, layout.colSlot(reg),
                                         /*onFma=*/false, read)
                            .front();
      }
    }
    SmallVector<SmallVector<Value>> results = {elements};
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

} // namespace

void frag::populateRewritePatterns(const TypeConverter &types,
                                   RewritePatternSet &patterns) {
  patterns.add<RewriteRowsLowering, RewriteTileLowering>(types,
                                                         patterns.getContext());
}
