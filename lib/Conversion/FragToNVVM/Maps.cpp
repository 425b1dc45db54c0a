//===- Maps.cpp - elementwise regions, unrolled over registers ------------===//
//
//   %m = frag.map (%s = %S, %l = %lim) at (%row, %col) -> S {
//     %in = arith.cmpi slt, %col, %l        for each register g:
//     %x = arith.select %in, %s, %ninf   ->   %in_g = cmpi slt, %col_g,
//     %l_slot(g) frag.yield %x                           %x_g = select %in_g,
//     %S_g, %ninf
//   }
//
// An op that depends on the row alone is cloned once a row of the thread, one
// that depends on the column alone once a column, a uniform one once: the
// unrolled code is what is left.  It keeps compile time in bounds; LLVM would
// find the same.  Only base + slope * float(column) it would not: that is the value
// at the thread's first column plus slope times a constant.
//
// Elements are paced through a map with several MUFU instructions: what an
// element multiplies by first is made to depend on an element before it.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "attn/Target/Exp2.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

/// In a map with several MUFU instructions an element ptxas puts the rest of all
/// elements first and leaves the MUFU idle meanwhile.  So an element takes a
/// factor that is there only when the element this far before it is done.  On an
/// H200 8 was 5 to 6 percent faster than none; 12, 16 and 24 0 to 7.
static constexpr unsigned paceAhead = 8;

namespace {

/// Copies of a region's ops by what they depend on.
class Unroller {
public:
  Unroller(ConversionPatternRewriter &rewriter, MapOp map, unsigned rows,
           unsigned cols)
      : rewriter(rewriter), body(map.getBody().front()), depends(map),
        rows(rows), cols(cols) {}

  void setRow(Value arg, ArrayRef<Value> values) {
    for (auto [map, value] : llvm::zip(rows, values))
      map.map(arg, value);
  }
  /// Columns are `first` and these constants behind it.
  void setCol(Value arg, Value first, ArrayRef<int64_t> offsets) {
    firstColumn = first;
    columnOffsets.assign(offsets.begin(), offsets.end());
    if (llvm::all_of(arg.getUsers(), [&](Operation *user) {
          return depends.isRampPosition(user);
        }))
      return;
    Emitter e(rewriter, arg.getLoc());
    for (auto [map, offset] : llvm::zip(cols, offsets))
      map.map(arg, e.add(first, offset));
  }

  /// Everything that does not depend on an element.
  void emitShared() {
    for (Operation &op : body.without_terminator()) {
      if (depends.isRampPosition(&op))
        continue;
      if (auto ramp = depends.asRamp(&op)) {
        startRamp(ramp);
        continue;
      }
      unsigned dependence = depends.of(&op);
      if (dependence == Uniform)
        clone(&op, uniform, {});
      else if (dependence == Row)
        for (IRMapping &row : rows)
          clone(&op, row, {&uniform});
      else if (dependence == Col)
        for (IRMapping &col : cols)
          clone(&op, col, {&uniform});
    }
  }

  /// A uniform f32 operand of the first op that depends on the element; null if
  /// it has none.
  Value firstFactor() {
    for (Operation &op : body.without_terminator()) {
      if (!(depends.of(&op) & Element))
        continue;
      for (Value operand : op.getOperands())
        if (operand.getType().isF32() && !depends.of(operand))
          return operand;
      return {};
    }
    return {};
  }
  Value ofUniform(Value value) { return uniform.lookupOrDefault(value); }

  /// The rest for one element, whose tile arguments `element` maps; the
  /// yielded values.  `onFma`: where exp2 is computed.
  SmallVector<Value> emitElement(IRMapping &element, unsigned rowSlot,
                                 unsigned colSlot, bool onFma) {
    exp2OnFma = onFma;
    SmallVector<IRMapping *> outer = {&uniform, &rows[rowSlot]};
    if (!cols.empty())
      outer.push_back(&cols[colSlot]);
    for (Operation &op : body.without_terminator()) {
      unsigned dependence = depends.of(&op);
      if (!(dependence & Element) && dependence != (Row | Col))
        continue;
      if (auto ramp = depends.asRamp(&op))
        element.map(ramp.getResult(), rampAt(ramp, rowSlot, colSlot));
      else
        clone(&op, element, outer);
    }
    SmallVector<Value> results;
    for (Value value : body.getTerminator()->getOperands()) {
      adopt(value, element, outer);
      results.push_back(element.lookupOrDefault(value));
    }
    return results;
  }

private:
  /// A ramp at the thread's first column: once a row.  Further columns are a
  /// constant away, so each is one FMA with an immediate.
  void startRamp(math::FmaOp ramp) {
    OpBuilder &b = rewriter;
    Location loc = ramp.getLoc();
    Value first = arith::SIToFPOp::create(b, loc, b.getF32Type(), firstColumn);
    auto start = [&](IRMapping &row) {
      for (Value operand : {ramp.getA(), ramp.getC()})
        adopt(operand, row, {&uniform});
      Value slope = row.lookupOrDefault(ramp.getA());
      ramps[ramp].push_back(
          {slope, math::FmaOp::create(b, loc, slope, first,
                                      row.lookupOrDefault(ramp.getC()))});
    };
    if (depends.of(ramp.getResult()) & Row) {
      for (IRMapping &row : rows)
        start(row);
      return;
    }
    start(uniform);
    for (auto [slot, col] : llvm::enumerate(cols))
      col.map(ramp.getResult(), rampAt(ramp, 0, slot));
  }
  Value rampAt(math::FmaOp ramp, unsigned rowSlot, unsigned colSlot) {
    Emitter e(rewriter, ramp.getLoc());
    auto [slope, first] = ramps[ramp][rowSlot];
    int64_t offset = columnOffsets[colSlot];
    return offset == 0 ? first
                       : math::FmaOp::create(rewriter, e.loc, slope,
                                             e.f32(float(offset)), first);
  }

  /// Makes `value` known to `map` if an outer map has it.
  static void adopt(Value value, IRMapping &map, ArrayRef<IRMapping *> outer) {
    if (map.contains(value))
      return;
    for (IRMapping *other : outer)
      if (Value found = other->lookupOrNull(value)) {
        map.map(value, found);
        return;
      }
  }

  void clone(Operation *op, IRMapping &map, ArrayRef<IRMapping *> outer) {
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        adopt(operand, map, outer);
    });
    if (auto exp2 = dyn_cast<math::Exp2Op>(op)) {
      Emitter e(rewriter, op->getLoc());
      map.map(exp2.getResult(),
              emitExp2(e, map.lookupOrDefault(exp2.getOperand()), exp2OnFma));
      return;
    }
    rewriter.clone(*op, map);
  }

  ConversionPatternRewriter &rewriter;
  Block &body;
  Dependences depends;
  bool exp2OnFma = false;
  IRMapping uniform;
  SmallVector<IRMapping> rows, cols;
  Value firstColumn;
  SmallVector<int64_t> columnOffsets;
  /// Slope and value at the first column, once a row or once.
  DenseMap<Operation *, SmallVector<std::pair<Value, Value>>> ramps;
};

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
    Unroller unroller(rewriter, op, numRows, numCols);

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
