//===- Unroller.cpp - copies of a region for elements ---------------------===//

#include "Unroller.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void Unroller::setRow(Value arg, ArrayRef<Value> values) {
  for (auto [map, value] : llvm::zip(rows, values))
    map.map(arg, value);
}

void Unroller::setCol(Value arg, ArrayRef<Value> values) {
  for (auto [map, value] : llvm::zip(cols, values))
    map.map(arg, value);
}

void Unroller::setCol(Value arg, Value first, ArrayRef<int64_t> offsets) {
  firstColumn = first;
  columnOffsets.assign(offsets.begin(), offsets.end());
  auto isRamps = [&](Operation *user) { return depends.isRampPosition(user); };
  if (llvm::all_of(arg.getUsers(), isRamps))
    return;
  Emitter e(rewriter, arg.getLoc());
  for (auto [map, offset] : llvm::zip(cols, offsets))
    map.map(arg, e.add(first, offset));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

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

void Unroller::clone(Operation *op, IRMapping &map, Outer outer) {
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      adopt(operand, map, outer);
  });
  if (auto read = dyn_cast<ElementOp>(op)) {
    bool own = read.getIndex() == body.getArgument(1);
    map.map(read.getResult(),
            readElement(own ? Value() : map.lookupOrDefault(read.getIndex())));
    return;
  }
  if (auto exp2 = dyn_cast<math::Exp2Op>(op)) {
    Emitter e(rewriter, op->getLoc());
    map.map(exp2.getResult(),
            emitExp2(e, map.lookupOrDefault(exp2.getOperand()), exp2OnFma));
    return;
  }
  rewriter.clone(*op, map);
}

void Unroller::emitShared() {
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

Value Unroller::firstFactor() const {
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

SmallVector<Value> Unroller::emitElement(IRMapping &element, unsigned rowSlot,
                                         unsigned colSlot, bool onFma,
                                         ReadElement read) {
  readElement = read;
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

//===----------------------------------------------------------------------===//
// Ramps
//===----------------------------------------------------------------------===//

/// A ramp at the thread's first column: once a row.  Further columns are a
/// constant away, so each is one FMA with an immediate.
void Unroller::startRamp(math::FmaOp ramp) {
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

Value Unroller::rampAt(math::FmaOp ramp, unsigned rowSlot, unsigned colSlot) {
  Emitter e(rewriter, ramp.getLoc());
  auto [slope, first] = ramps[ramp][rowSlot];
  int64_t offset = columnOffsets[colSlot];
  return offset == 0 ? first
                     : math::FmaOp::create(rewriter, e.loc, slope,
                                           e.f32(float(offset)), first);
}
