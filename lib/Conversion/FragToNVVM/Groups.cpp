//===- Groups.cpp - groups of warps and what they exchange ----------------===//
//
//   frag.group_rank of 4                   tid / (threads / 4), from lane 0
//   frag.st_tile %o into %ring part %g     st.shared.v2 of the registers' pairs
//   frag.st_tile %m into %ring part %g     @lane of the row: st.shared
//   frag.ld_tile %ring part %c1            ld.shared.v4 for row_c
//
// Addresses are those of ldmatrix: row and swizzle are the thread's, a register
// adds rows as a constant and xors its columns in, which have other bits.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

static constexpr unsigned elementBytes = 4;

namespace {

/// Where the elements of a tile or the rows of a vector lie in a part of a ring.
class PartAddresses {
public:
  PartAddresses(Emitter &e, const layout::Layout &layout, RingType ring,
                Value base, Value part, unsigned col)
      : e(e), layout(layout), swizzle(swizzleOf(ring)), col(col) {
    slot = e.advance(
        base, e.mul(part, int64_t(layout.getRows()) * swizzle.rowPitchBytes()));
    // Once an item: addresses must not be kept through the loops before.
    ThreadCoord own = e.threadCoord(layout);
    threadCol = e.opaque(own.col);
    threadRow = e.mul(own.row, swizzle.rowPitchBytes());
    if (swizzle.xorRowMask()) {
      Value row =
          e.bitAnd(e.shr(own.row, swizzle.xorRowShift()), swizzle.xorRowMask());
      threadSwizzle = e.shl(row, 4);
    }
  }

  /// Of a register of the tile.
  Value ofRegister(unsigned reg) {
    layout::Coord offset = layout.registerOffset(reg);
    return at(offset.row, offset.col + col, e.shl(threadCol, 2));
  }
  /// Of a row slot's element of the vector.
  Value ofRow(unsigned slot) {
    return at(layout.rowOffset(slot), col, Value());
  }

private:
  Value at(unsigned row, unsigned column, Value threadBytes) {
    unsigned panel = 0;
    if (swizzle.getSwizzle()) {
      panel = column / swizzle.panelCols();
      column %= swizzle.panelCols();
    }
    Value &inRow = columns[{column, threadBytes ? 1u : 0u}];
    if (!inRow) {
      Value bytes = e.i32(column * elementBytes);
      if (threadBytes)
        bytes = e.bitXor(threadBytes, int64_t(column) * elementBytes);
      if (threadSwizzle)
        bytes = e.bitXor(bytes, threadSwizzle);
      inRow = e.advance(slot, e.add(threadRow, bytes));
    }
    return e.advance(inRow, int64_t(panel) * swizzle.panelBytes() +
                                int64_t(row) * swizzle.rowPitchBytes());
  }

  Emitter &e;
  const layout::Layout &layout;
  layout::Swizzle swizzle;
  unsigned col;
  Value slot, threadCol, threadRow, threadSwizzle;
  llvm::SmallDenseMap<std::pair<unsigned, unsigned>, Value> columns;
};

struct GroupRankLowering : OpConversionPattern<GroupRankOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(GroupRankOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    unsigned each = executingThreads(op) / op.getGroups();
    // All lanes see that they agree on it.
    rewriter.replaceOp(
        op, e.ofFirstLane(e.shr(executingThread(e, op), llvm::Log2_32(each))));
    return success();
  }
};

struct StTileLowering : OpConversionPattern<StTileOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(StTileOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    RingType ring = op.getRing().getType();
    ValueRange values = adaptor.getValue();
    Value base = adaptor.getRing().front(), part = adaptor.getPart().front();
    if (auto vec = dyn_cast<VecType>(op.getValue().getType())) {
      layout::Layout layout = layoutOf(vec);
      PartAddresses addresses(e, layout, ring, base, part, op.getCol());
      // One of the lanes that share a row: the one whose bits in it are 0.
      unsigned sharing = 0;
      for (unsigned mask : layout.rowLaneMasks())
        sharing |= mask;
      Value first =
          arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::eq,
                                e.bitAnd(e.threadId(), sharing), e.i32(0));
      for (auto [slot, value] : llvm::enumerate(values))
        e.storeIf(first, sharedSpace, addresses.ofRow(unsigned(slot)), 0,
                  value);
      rewriter.eraseOp(op);
      return success();
    }
    layout::Layout layout = layoutOf(cast<RegType>(op.getValue().getType()));
    PartAddresses addresses(e, layout, ring, base, part, op.getCol());
    unsigned count = neighbours(layout, rewriter.getF32Type());
    auto access = VectorType::get(count, rewriter.getF32Type());
    for (unsigned reg = 0; reg < values.size(); reg += count) {
      Value vector = LLVM::UndefOp::create(rewriter, op.getLoc(), access);
      for (unsigned i = 0; i < count; ++i)
        vector = LLVM::InsertElementOp::create(rewriter, op.getLoc(), vector,
                                               values[reg + i], e.i32(i));
      LLVM::StoreOp::create(rewriter, op.getLoc(), vector,
                            addresses.ofRegister(reg), count * elementBytes);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct LdTileLowering : OpConversionPattern<LdTileOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(LdTileOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Emitter e(rewriter, loc);
    RingType ring = op.getRing().getType();
    Value base = adaptor.getRing().front(), part = adaptor.getPart().front();
    Type f32 = rewriter.getF32Type();
    SmallVector<SmallVector<Value>> results(1);
    if (auto vec = dyn_cast<VecType>(op.getResult().getType())) {
      layout::Layout layout = layoutOf(vec);
      PartAddresses addresses(e, layout, ring, base, part, op.getCol());
      for (unsigned slot = 0; slot < layout.rowsPerThread(); ++slot)
        results[0].push_back(LLVM::LoadOp::create(
            rewriter, loc, f32, addresses.ofRow(slot), elementBytes));
      rewriter.replaceOpWithMultiple(op, std::move(results));
      return success();
    }
    layout::Layout layout = layoutOf(cast<RegType>(op.getResult().getType()));
    PartAddresses addresses(e, layout, ring, base, part, op.getCol());
    unsigned count = neighbours(layout, f32);
    Type access = VectorType::get(count, f32);
    Value col = e.threadCoord(layout).col;
    unsigned width =
        0; // columns from the first lane's to behind the last one's
    for (layout::Coord lane : layout.getAtom().laneBasis)
      width += lane.col;
    width += count;
    for (unsigned reg = 0; reg < layout.registersPerThread(); reg += count) {
      // There is room for the columns that the ring has not: a panel is as wide
      // as an atom, or wider.
      Value loaded =
          LLVM::LoadOp::create(rewriter, loc, access, addresses.ofRegister(reg),
                               count * elementBytes);
      unsigned first = layout.registerOffset(reg).col + op.getCol();
      Value inside;
      if (first + width > unsigned(ring.getCols()))
        inside = arith::CmpIOp::create(
            rewriter, loc, arith::CmpIPredicate::slt, col,
            e.i32(int64_t(ring.getCols()) - int64_t(first)));
      for (unsigned i = 0; i < count; ++i) {
        Value x =
            LLVM::ExtractElementOp::create(rewriter, loc, loaded, e.i32(i));
        if (inside)
          x = arith::SelectOp::create(rewriter, loc, inside, x, e.f32(0));
        results[0].push_back(x);
      }
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

} // namespace

void frag::populateGroupPatterns(const TypeConverter &types,
                                 RewritePatternSet &patterns) {
  patterns.add<GroupRankLowering, StTileLowering, LdTileLowering>(
      types, patterns.getContext());
}
