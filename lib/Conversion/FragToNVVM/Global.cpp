//===- Global.cpp - tiles and row vectors to and from global memory -------===//
//
//   frag.store %O, %base, %offsets, %live
//     -> a row:  @live st.global.v2 [base + offset + col], ...
//
// Neighbouring columns that a thread holds go in one access of up to 16 bytes
// (mma_c: pairs), so rows must be aligned to that access; the planner's
// `requires` sees to it.  Loads of one row share one branch; stores have a
// predicate each, so that the lanes of a warp do not part in them.
//
// Where memory has fewer columns than the tile, an access is there for all lanes,
// for none, or for those that lie before the end: atoms whose lanes hold several
// accesses of a row (quad16, row_c) have such at the end.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

unsigned frag::neighbours(const layout::Layout &layout, Type element) {
  const std::vector<layout::Coord> &basis = layout.getAtom().registerBasis;
  unsigned bytes = element.getIntOrFloatBitWidth() / 8, count = 1;
  for (layout::Coord share : basis) {
    if (share.row != 0 || share.col != count || 2 * count * bytes > 16)
      break;
    count *= 2;
  }
  return count;
}

/// Registers of each row slot, in steps of `count`.
static SmallVector<SmallVector<unsigned>>
groupsByRow(const layout::Layout &layout, unsigned count) {
  SmallVector<SmallVector<unsigned>> rows(layout.rowsPerThread());
  for (unsigned reg = 0; reg < layout.registersPerThread(); reg += count)
    rows[layout.rowSlot(reg)].push_back(reg);
  return rows;
}

/// First column of the thread behind row `slot`'s offset.
static Value rowAddress(Emitter &e, Type element, Value base, Value offset,
                        Value col) {
  return e.element(base, element, e.add(e.extend(offset), e.extend(col)));
}

namespace {

/// Which lanes of an access lie in the columns that memory has.
class MemoryCols {
public:
  MemoryCols(Emitter &e, const layout::Layout &layout, unsigned count,
             std::optional<uint32_t> cols, Value threadCol)
      : e(e), layout(layout), cols(cols.value_or(layout.getCols())),
        threadCol(threadCol), width(count) {
    for (layout::Coord lane : layout.getAtom().laneBasis)
      width += lane.col;
  }

  /// Of the access that begins with register `reg`.
  bool anyLane(unsigned reg) const { return offset(reg) < cols; }
  bool allLanes(unsigned reg) const { return offset(reg) + width <= cols; }
  /// Of this lane; the same value for accesses of the same columns.
  Value thisLane(unsigned reg) {
    Value &inside = lanes[offset(reg)];
    if (!inside)
      inside = arith::CmpIOp::create(
          e.b, e.loc, arith::CmpIPredicate::slt, threadCol,
          e.i32(int32_t(cols) - int32_t(offset(reg))));
    return inside;
  }

private:
  unsigned offset(unsigned reg) const { return layout.registerOffset(reg).col; }

  Emitter &e;
  const layout::Layout &layout;
  unsigned cols;
  Value threadCol;
  unsigned width; ///< columns from the first lane's to the last one's
  llvm::DenseMap<unsigned, Value> lanes;
};

struct StoreLowering : OpConversionPattern<StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(StoreOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    auto type = cast<RegType>(op.getTile().getType());
    Type element = type.getElement();
    layout::Layout layout = layoutOf(type);
    unsigned count = neighbours(layout, element);
    unsigned perWord = isPacked(element) ? 2 : 1;
    if (count < perWord)
      return op.emitError("store needs pairs of neighbouring columns but "
                          "layout ")
             << type.getLayout() << " has " << count;
    unsigned bytes = element.getIntOrFloatBitWidth() / 8;
    SmallVector<Value> values = llvm::to_vector(adaptor.getTile());
    // Once an item: addresses must not be kept through the loops before.
    Value col = e.opaque(e.threadCoord(layout).col);
    MemoryCols memory(e, layout, count, op.getCols(), col);
    for (auto [slot, regs] : llvm::enumerate(groupsByRow(layout, count))) {
      Value row = rowAddress(e, element, adaptor.getBase().front(),
                             adaptor.getOffsets()[slot], col);
      for (unsigned reg : regs) {
        if (!memory.anyLane(reg))
          continue;
        Value stored = adaptor.getMask()[slot];
        if (!memory.allLanes(reg))
          stored = arith::AndIOp::create(rewriter, op.getLoc(), stored,
                                         memory.thisLane(reg));
        e.storeIf(stored, globalSpace, row,
                  layout.registerOffset(reg).col * bytes,
                  ArrayRef(values).slice(reg / perWord, count / perWord));
      }
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct LoadLowering : OpConversionPattern<LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(LoadOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    auto type = cast<RegType>(op.getType());
    Type element = type.getElement();
    layout::Layout layout = layoutOf(type);
    unsigned count = neighbours(layout, element);
    unsigned perWord = isPacked(element) ? 2 : 1;
    if (count < perWord)
      return op.emitError("load needs pairs of neighbouring columns but "
                          "layout ")
             << type.getLayout() << " has " << count;
    unsigned bytes = element.getIntOrFloatBitWidth() / 8;
    unsigned words = count / perWord;
    Type wordType = isPacked(element) ? rewriter.getI32Type() : element;
    Type access = words == 1 ? wordType : VectorType::get(words, wordType);
    Value col = e.threadCoord(layout).col;
    MemoryCols memory(e, layout, count, op.getCols(), col);
    SmallVector<SmallVector<Value>> results(1);
    results[0].assign(layout.registersPerThread() / perWord, Value());
    for (auto [slot, regs] : llvm::enumerate(groupsByRow(layout, count))) {
      // Accesses that one branch makes, and who takes it.
      auto load = [&](ArrayRef<unsigned> regs, Value wanted) {
        SmallVector<Type> types(regs.size() * words, wordType);
        auto branch = scf::IfOp::create(rewriter, op.getLoc(), types, wanted,
                                        /*addThenBlock=*/true,
                                        /*addElseBlock=*/true);
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(&branch.getThenRegion().front());
        Value row = rowAddress(e, element, adaptor.getBase().front(),
                               adaptor.getOffsets()[slot], col);
        SmallVector<Value> loaded;
        for (unsigned reg : regs) {
          Value value = LLVM::LoadOp::create(
              rewriter, op.getLoc(), access,
              e.advance(row, int64_t(layout.registerOffset(reg).col) * bytes),
              count * bytes);
          for (unsigned i = 0; i < words; ++i)
            loaded.push_back(words == 1
                                 ? value
                                 : LLVM::ExtractElementOp::create(
                                       rewriter, op.getLoc(), value, e.i32(i))
                                       .getResult());
        }
        scf::YieldOp::create(rewriter, op.getLoc(), loaded);
        rewriter.setInsertionPointToStart(&branch.getElseRegion().front());
        scf::YieldOp::create(
            rewriter, op.getLoc(),
            SmallVector<Value>(types.size(), e.zero(wordType)));
        for (auto [i, reg] : llvm::enumerate(regs))
          for (unsigned word = 0; word < words; ++word)
            results[0][reg / perWord + word] =
                branch.getResult(i * words + word);
      };
      SmallVector<unsigned> whole;
      for (unsigned reg : regs) {
        if (memory.allLanes(reg)) {
          whole.push_back(reg);
          continue;
        }
        if (!memory.anyLane(reg)) {
          for (unsigned word = 0; word < words; ++word)
            results[0][reg / perWord + word] = e.zero(wordType);
          continue;
        }
        Value wanted = arith::AndIOp::create(rewriter, op.getLoc(),
                                             Value(adaptor.getMask()[slot]),
                                             memory.thisLane(reg));
        load(reg, wanted);
      }
      if (!whole.empty())
        load(whole, adaptor.getMask()[slot]);
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

struct LoadVecLowering : OpConversionPattern<LoadVecOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(LoadVecOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    Type element = cast<VecType>(op.getType()).getElement();
    SmallVector<SmallVector<Value>> results(1);
    for (auto [offset, mask] :
         llvm::zip(adaptor.getOffsets(), adaptor.getMask())) {
      auto branch = scf::IfOp::create(rewriter, op.getLoc(), element, mask,
                                      /*addThenBlock=*/true,
                                      /*addElseBlock=*/true);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(&branch.getThenRegion().front());
      Value address =
          e.element(adaptor.getBase().front(), element, e.extend(offset));
      Value value =
          LLVM::LoadOp::create(rewriter, op.getLoc(), element, address);
      scf::YieldOp::create(rewriter, op.getLoc(), value);
      rewriter.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(rewriter, op.getLoc(), e.zero(element));
      results[0].push_back(branch.getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

struct StoreVecLowering : OpConversionPattern<StoreVecOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(StoreVecOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    auto type = cast<VecType>(op.getVec().getType());
    // One of the lanes that share a row: the one whose bits in it are 0.
    unsigned sharing = 0;
    for (unsigned mask : layoutOf(type).rowLaneMasks())
      sharing |= mask;
    Value first =
        arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::eq,
                              e.bitAnd(e.threadId(), sharing), e.i32(0));
    for (auto [value, offset, mask] :
         llvm::zip(adaptor.getVec(), adaptor.getOffsets(), adaptor.getMask())) {
      Value stores =
          arith::AndIOp::create(rewriter, op.getLoc(), first, Value(mask));
      Value address = e.element(adaptor.getBase().front(), type.getElement(),
                                e.extend(offset));
      e.storeIf(stores, globalSpace, address, 0, value);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void frag::populateGlobalPatterns(const TypeConverter &types,
                                  RewritePatternSet &patterns) {
  patterns.add<StoreLowering, LoadLowering, LoadVecLowering, StoreVecLowering>(
      types, patterns.getContext());
}
