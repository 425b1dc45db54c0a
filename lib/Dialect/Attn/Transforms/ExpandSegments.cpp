//===- ExpandSegments.cpp - attn-expand-segments --------------------------===//
//
// `segments` to integer arithmetic on the row map's inputs.  Keys are counted
// from kv0, the slice has n of them; ql and qh are the lowest and the highest
// live position.  Causal:
//
//   bn = ceil(clamp(qh + 1 - kv0, 0, n) / tile_k)
//   b1 = floor(clamp(ql + 1 - kv0, 0, n) / tile_k)      [0, b1) full, [b1, bn)
//
// In general row q sees [lo(q), hi(q)], the largest lower and the smallest
// upper bound, the slice's ends among them; neither decreases with q and both
// move by at most one a row.  So
//
//   the rows that see a key are an interval [qa, qb], found from the pairs of a
//     lower and an upper bound;
//   some row sees exactly the keys of [lo(qa), hi(qb)];
//   every row sees exactly the keys of [lo(qh), hi(ql)].
//
// Invariant: exact, not only sound: a block outside [b0, bn) is invisible to
// all live rows, a full one is visible to all, any other block is neither (or
// no block is full).  Bounds are summed in 64 bits; coefficients are below
// 2^16, so no sum overflows.
//
//===----------------------------------------------------------------------===//

#include "attn/ABI/WorkItem.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"

#include <map>

namespace attn {
#define GEN_PASS_DEF_ATTNEXPANDSEGMENTS
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

class SegmentWriter {
public:
  SegmentWriter(SegmentsOp op, RowMapOp rows, KernelOp kernel)
      : op(op), rows(rows), kernel(kernel), builder(op), loc(op.getLoc()) {}
  LogicalResult run();

private:
  // Plain arithmetic on whatever width the operands have.
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value max(Value a, Value b) {
    return arith::MaxSIOp::create(builder, loc, a, b);
  }
  Value min(Value a, Value b) {
    return arith::MinSIOp::create(builder, loc, a, b);
  }
  Value compare(arith::CmpIPredicate p, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, p, a, b);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  Value constant(int64_t v, unsigned width) {
    Value &known = constants[{v, width}];
    if (!known)
      known = arith::ConstantIntOp::create(builder, loc, v, width);
    return known;
  }
  Value i32(int64_t v) { return constant(v, 32); }
  Value i64(int64_t v) { return constant(v, 64); }
  Value wide(Value v) {
    return arith::ExtSIOp::create(builder, loc, builder.getI64Type(), v);
  }
  Value narrow(Value v) {
    return arith::TruncIOp::create(builder, loc, builder.getI32Type(), v);
  }
  /// v / tile_k for v >= 0.
  Value blocksDown(Value v) {
    return arith::DivUIOp::create(builder, loc, v, i32(op.getTileK()));
  }
  Value blocksUp(Value v) { return blocksDown(add(v, i32(op.getTileK() - 1))); }
  /// Into [0, keys]; `v` may be i32 or i64, the result is i32.
  Value clampKeys(Value v);

  void positions();
  bool isPosition(BoundAttr bound) const;
  Value param(StringAttr name);
  Value offset(BoundAttr bound);
  void split();
  Value at(ArrayRef<BoundAttr> bounds, ArrayRef<Value> offsets, Value q,
           bool isUpper);
  void upperOnly();
  void general();
  void opaque();
  void finish(ArrayRef<Value> bounds);

  SegmentsOp op;
  RowMapOp rows;
  KernelOp kernel;
  OpBuilder builder;
  Location loc;
  std::map<std::pair<int64_t, unsigned>, Value> constants;
  Value ql, qh; // i32, meaningless without live rows
  Value keys;   // of the slice, 0 without live rows
  SmallVector<BoundAttr> lowers, uppers;
};

} // namespace

Value SegmentWriter::clampKeys(Value v) {
  if (v.getType().isInteger(32))
    return min(max(v, i32(0)), keys);
  return narrow(min(max(v, i64(0)), wide(keys)));
}

void SegmentWriter::positions() {
  Value shift = sub(rows.getKvLen(), rows.getQLen());
  Value last = sub(add(rows.getRow0(), rows.getNrows()), i32(1));
  auto token = [&](Value row) -> Value {
    if (rows.getPack() == 1)
      return row;
    return arith::DivUIOp::create(builder, loc, row, i32(rows.getPack()));
  };
  ql = add(token(rows.getRow0()), shift);
  qh = add(token(last), shift);
  Value length = max(sub(op.getKv1(), op.getKv0()), i32(0));
  Value live = compare(arith::CmpIPredicate::sgt, rows.getNrows(), i32(0));
  keys = select(live, length, i32(0));
}

/// `k <= q` and nothing else: 32 bits are enough.
bool SegmentWriter::isPosition(BoundAttr bound) const {
  return bound.getQ() == 1 && bound.getConstant() == 0 &&
         bound.getQLen() == 0 && bound.getKvLen() == 0 &&
         bound.getParams().empty();
}

/// The parameter as a value at the top of the kernel, one op a name.
Value SegmentWriter::param(StringAttr name) {
  Block &entry = kernel.getBody().front();
  for (ParamOp param : entry.getOps<ParamOp>())
    if (param.getName() == name.getValue())
      return param.getResult();
  OpBuilder top = OpBuilder::atBlockBegin(&entry);
  for (Operation &other : entry)
    if (isa<VariantOp>(other))
      top.setInsertionPointAfter(&other);
  return ParamOp::create(top, loc, top.getI32Type(), name);
}

/// The bound without its share of q, from kv0, in 64 bits.
Value SegmentWriter::offset(BoundAttr bound) {
  Value sum = sub(i64(bound.getConstant()), wide(op.getKv0()));
  auto term = [&](Value value, int64_t coefficient) {
    if (coefficient == 0)
      return;
    Value v = wide(value);
    if (coefficient == -1) {
      sum = sub(sum, v);
      return;
    }
    if (coefficient != 1)
      v = arith::MulIOp::create(builder, loc, v, i64(coefficient));
    sum = add(sum, v);
  };
  term(rows.getQLen(), bound.getQLen());
  term(rows.getKvLen(), bound.getKvLen());
  for (NamedAttribute p : bound.getParams())
    term(param(p.getName()), cast<IntegerAttr>(p.getValue()).getInt());
  return sum;
}

/// The tightest of `bounds` at position q (64 bits), from kv0; q may be null if
/// there is none to add.
Value SegmentWriter::at(ArrayRef<BoundAttr> bounds, ArrayRef<Value> offsets,
                        Value q, bool isUpper) {
  Value tightest;
  for (auto [bound, value] : llvm::zip(bounds, offsets)) {
    Value v = bound.getQ() ? add(value, q) : value;
    tightest = !tightest ? v : isUpper ? min(tightest, v) : max(tightest, v);
  }
  return tightest;
}

void SegmentWriter::finish(ArrayRef<Value> bounds) {
  op->replaceAllUsesWith(bounds);
  op.erase();
}

/// Without lower bounds every row sees a prefix of the slice: the clamps alone
/// make every empty case 0.
void SegmentWriter::upperOnly() {
  Value any = keys, all = keys;
  if (uppers.size() == 1 && isPosition(uppers[0])) {
    any = clampKeys(add(sub(qh, op.getKv0()), i32(1)));
    all = clampKeys(add(sub(ql, op.getKv0()), i32(1)));
  } else if (!uppers.empty()) {
    SmallVector<Value> offsets;
    for (BoundAttr bound : uppers)
      offsets.push_back(offset(bound));
    Value one = i64(1);
    any = clampKeys(add(at(uppers, offsets, wide(qh), true), one));
    all = clampKeys(add(at(uppers, offsets, wide(ql), true), one));
  }
  finish({i32(0), blocksDown(all), blocksUp(any)});
}

void SegmentWriter::general() {
  SmallVector<Value> lo, hi;
  for (BoundAttr bound : lowers)
    lo.push_back(offset(bound));
  for (BoundAttr bound : uppers)
    hi.push_back(offset(bound));
  Value wideLow = wide(ql), wideHigh = wide(qh), wideKeys = wide(keys);

  // The rows [qa, qb] with at least one key.  The slice is the bounds k >= 0
  // and k <= keys - 1, neither with q.
  Value qa = wideLow, qb = wideHigh;
  Value possible = compare(arith::CmpIPredicate::sgt, wideKeys, i64(0)); // i1
  auto pair = [&](bool lowerQ, Value lower, bool upperQ, Value upper) {
    // lower + lowerQ * q <= upper + upperQ * q
    Value difference = sub(lower, upper);
    if (lowerQ == upperQ)
      possible = arith::AndIOp::create(
          builder, loc, possible,
          compare(arith::CmpIPredicate::sle, difference, i64(0)));
    else if (upperQ)
      qa = max(qa, difference);
    else
      qb = min(qb, sub(i64(0), difference));
  };
  Value first = i64(0), last = sub(wideKeys, i64(1));
  for (auto [bound, value] : llvm::zip(lowers, lo)) {
    pair(bound.getQ(), value, false, last);
    for (auto [other, otherValue] : llvm::zip(uppers, hi))
      pair(bound.getQ(), value, other.getQ(), otherValue);
  }
  for (auto [other, otherValue] : llvm::zip(uppers, hi))
    pair(false, first, other.getQ(), otherValue);
  Value some = arith::AndIOp::create(
      builder, loc, possible, compare(arith::CmpIPredicate::sle, qa, qb));

  Value one = i64(1);
  auto upperEnd = [&](Value q) {
    return uppers.empty() ? keys : clampKeys(add(at(uppers, hi, q, true), one));
  };
  auto lowerBegin = [&](Value q) {
    return lowers.empty() ? i32(0) : clampKeys(at(lowers, lo, q, false));
  };
  Value b0 = blocksDown(lowerBegin(qa)), bn = blocksUp(upperEnd(qb));
  Value b1 = blocksUp(lowerBegin(wideHigh));
  Value b2 = blocksDown(upperEnd(wideLow));
  // No full block: everything is the last segment.
  Value full = compare(arith::CmpIPredicate::sgt, b2, b1);
  b1 = select(full, b1, b0);
  b2 = select(full, b2, b0);
  Value zero = i32(0);
  SmallVector<Value> bounds{b0, b1, b2, bn};
  for (Value &bound : bounds)
    bound = select(some, bound, zero);
  finish(bounds);
}

/// As the plan says; without its word all blocks are the first segment.
void SegmentWriter::opaque() {
  Value blocks = blocksUp(keys), edge = i32(ATTN_ITEM_EDGE);
  Value body = arith::AndIOp::create(builder, loc, op.getFlags(), i32(0xff));
  Value known = compare(arith::CmpIPredicate::ne, body, i32(0));
  Value edges = sub(body, i32(1));
  Value first = arith::DivUIOp::create(builder, loc, edges, edge);
  Value last = arith::RemUIOp::create(builder, loc, edges, edge);
  Value b1 = min(select(known, first, blocks), blocks);
  Value b2 = max(select(known, sub(blocks, last), blocks), b1);
  finish({i32(0), b1, b2, blocks});
}

LogicalResult SegmentWriter::run() {
  BlockMapAttr map = op.getBlockMap();
  for (BoundAttr bound : map.getBounds())
    (bound.getKind() == BoundKind::Upper ? uppers : lowers).push_back(bound);
  auto is = [&](ArrayRef<BlockClass> classes) {
    return map.getClasses() == classes;
  };
  using enum_ = BlockClass;
  bool closed = map.getForm() == MapForm::Closed;
  bool threeWay = is({enum_::Partial, enum_::Full, enum_::Partial});
  bool twoWay = is({enum_::Full, enum_::Partial}) && lowers.empty();
  bool oneClass = !closed && is({enum_::Partial});
  if (!threeWay && !(closed && twoWay) && !oneClass)
    return op.emitOpError() << "has a class list without integer code";
  positions();
  if (oneClass)
    finish({i32(0), blocksUp(keys)});
  else if (!closed)
    opaque();
  else if (twoWay)
    upperOnly();
  else
    general();
  return success();
}

namespace {

struct ExpandSegments
    : public attn::impl::AttnExpandSegmentsBase<ExpandSegments> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    SmallVector<SegmentsOp> ops;
    kernel.walk([&](SegmentsOp op) { ops.push_back(op); });
    for (SegmentsOp op : ops) {
      auto rows = op.getRows().getDefiningOp<RowMapOp>();
      if (!rows) {
        op.emitOpError() << "needs rows that attn.row_map makes";
        return signalPassFailure();
      }
      if (failed(SegmentWriter(op, rows, kernel).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
