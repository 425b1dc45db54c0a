//===- NumberRun.cpp - a role run on numbers ------------------------------===//
//
// Arithmetic and control flow; see NumberRun.h.
//
//===----------------------------------------------------------------------===//

#include "NumberRun.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn::pipe;

ChannelOp attn::pipe::channelOf(Value slot) {
  if (auto acquire = slot.getDefiningOp<AcquireOp>())
    return acquire.getChannel().getDefiningOp<ChannelOp>();
  if (auto wait = slot.getDefiningOp<WaitOp>())
    return wait.getChannel().getDefiningOp<ChannelOp>();
  return {};
}

int64_t NumberRun::get(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, 0);
  if (!isNew)
    return entry->second;
  // Defined above the roles: a constant, or a parameter that they all read.
  Operation *def = value.getDefiningOp();
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
      entry->second = integer.getValue().getSExtValue();
  } else if (def && value.getType().isSignlessInteger()) {
    uint32_t place = above;
    for (Operation *op = def->getPrevNode(); op; op = op->getPrevNode())
      place = place * 31u + 1u;
    entry->second = draw(value.getType(), place);
  }
  return entry->second;
}

void NumberRun::take(Block &block, ArrayRef<int64_t> values) {
  for (auto [arg, value] : llvm::zip_equal(block.getArguments(), values))
    numbers[arg] = value;
}

/// The sequence holds borders of blocks, their neighbours and small numbers.
int64_t NumberRun::draw(Type type, uint32_t &seed) {
  static constexpr int64_t pool[] = {0,  1,   2,   3,   4,   7,   63,  64,
                                     65, 127, 128, 129, 191, 192, 448, 449};
  seed = seed * 1664525u + 1013904223u;
  uint32_t bits = seed >> 16;
  return type.isInteger(1) ? bits & 1 : pool[bits % std::size(pool)];
}

LogicalResult NumberRun::arithmetic(Operation *op, bool &known) {
  known = true;
  auto wrap = [&](int64_t v) {
    unsigned width = op->getResult(0).getType().getIntOrFloatBitWidth();
    if (width == 1)
      return v & 1;
    return width >= 64 ? v
                       : int64_t(uint64_t(v) << (64 - width)) >> (64 - width);
  };
  auto set = [&](int64_t v) {
    numbers[op->getResult(0)] = wrap(v);
    return success();
  };
  if (auto x = dyn_cast<arith::ConstantOp>(op)) {
    auto integer = dyn_cast<IntegerAttr>(x.getValue());
    return set(integer ? integer.getValue().getSExtValue() : 0);
  }
  int64_t a = op->getNumOperands() > 0 ? get(op->getOperand(0)) : 0;
  int64_t b = op->getNumOperands() > 1 ? get(op->getOperand(1)) : 0;
  unsigned inWidth =
      op->getNumOperands() > 0 && op->getOperand(0).getType().isInteger()
          ? op->getOperand(0).getType().getIntOrFloatBitWidth()
          : 64;
  uint64_t mask = inWidth >= 64 ? ~uint64_t(0) : (uint64_t(1) << inWidth) - 1;
  uint64_t ua = uint64_t(a) & mask, ub = uint64_t(b) & mask;
  auto floorDiv = [](int64_t n, int64_t d) {
    return n / d - ((n % d != 0) && ((n < 0) != (d < 0)));
  };
  bool divisible = b != 0 && b != -1;
  if (isa<arith::AddIOp>(op))
    return set(int64_t(uint64_t(a) + uint64_t(b)));
  if (isa<arith::SubIOp>(op))
    return set(int64_t(uint64_t(a) - uint64_t(b)));
  if (isa<arith::MulIOp>(op))
    return set(int64_t(uint64_t(a) * uint64_t(b)));
  if (isa<arith::DivSIOp>(op))
    return set(divisible ? a / b : b ? -a : 0);
  if (isa<arith::FloorDivSIOp>(op))
    return set(divisible ? floorDiv(a, b) : b ? -a : 0);
  if (isa<arith::CeilDivSIOp>(op))
    return set(divisible ? -floorDiv(-a, b) : b ? -a : 0);
  if (isa<arith::RemSIOp>(op))
    return set(divisible ? a % b : 0);
  if (isa<arith::DivUIOp>(op))
    return set(ub ? int64_t(ua / ub) : 0);
  if (isa<arith::RemUIOp>(op))
    return set(ub ? int64_t(ua % ub) : 0);
  if (isa<arith::CeilDivUIOp>(op))
    return set(ub ? int64_t(ua / ub + (ua % ub != 0)) : 0);
  if (isa<arith::MinSIOp>(op))
    return set(std::min(a, b));
  if (isa<arith::MaxSIOp>(op))
    return set(std::max(a, b));
  if (isa<arith::MinUIOp>(op))
    return set(ua < ub ? a : b);
  if (isa<arith::MaxUIOp>(op))
    return set(ua > ub ? a : b);
  if (isa<arith::AndIOp>(op))
    return set(a & b);
  if (isa<arith::OrIOp>(op))
    return set(a | b);
  if (isa<arith::XOrIOp>(op))
    return set(a ^ b);
  if (isa<arith::ShLIOp>(op))
    return set(int64_t(uint64_t(a) << (ub % inWidth)));
  if (isa<arith::ShRSIOp>(op))
    return set(a >> (ub % inWidth));
  if (isa<arith::ShRUIOp>(op))
    return set(int64_t(ua >> (ub % inWidth)));
  if (isa<arith::ExtSIOp>(op))
    return set(inWidth == 1 ? -a : a);
  if (isa<arith::ExtUIOp>(op))
    return set(int64_t(ua));
  if (isa<arith::TruncIOp, arith::IndexCastOp>(op))
    return set(a);
  if (isa<arith::SelectOp>(op))
    return set(a ? b : get(op->getOperand(2)));
  if (auto x = dyn_cast<arith::CmpIOp>(op)) {
    switch (x.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return set(a == b);
    case arith::CmpIPredicate::ne:
      return set(a != b);
    case arith::CmpIPredicate::slt:
      return set(a < b);
    case arith::CmpIPredicate::sle:
      return set(a <= b);
    case arith::CmpIPredicate::sgt:
      return set(a > b);
    case arith::CmpIPredicate::sge:
      return set(a >= b);
    case arith::CmpIPredicate::ult:
      return set(ua < ub);
    case arith::CmpIPredicate::ule:
      return set(ua <= ub);
    case arith::CmpIPredicate::ugt:
      return set(ua > ub);
    case arith::CmpIPredicate::uge:
      return set(ua >= ub);
    }
  }
  known = false;
  return success();
}

LogicalResult NumberRun::runLoop(Operation *op) {
  SmallVector<int64_t> state, results;
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Region &region = get(branch.getCondition()) ? branch.getThenRegion()
                                                : branch.getElseRegion();
    if (!region.empty() && failed(runBlock(region.front(), results)))
      return failure();
    state = results;
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    int64_t lo = get(loop.getLowerBound()), hi = get(loop.getUpperBound());
    int64_t by = std::max<int64_t>(get(loop.getStep()), 1);
    trips += " " + std::to_string(hi > lo ? (hi - lo + by - 1) / by : 0);
    for (Value init : loop.getInitArgs())
      state.push_back(get(init));
    for (int64_t i = lo; i < hi && ops < maxOps; i += by) {
      SmallVector<int64_t> args{i};
      llvm::append_range(args, state);
      take(*loop.getBody(), args);
      if (failed(runBlock(*loop.getBody(), results)))
        return failure();
      state = results;
    }
  } else {
    auto whileOp = cast<scf::WhileOp>(op);
    for (Value init : whileOp.getInits())
      state.push_back(get(init));
    // A loop that data controls ends by itself after a few turns.
    for (unsigned turn = 0;; ++turn) {
      take(whileOp.getBefore().front(), state);
      if (failed(runBlock(whileOp.getBefore().front(), results)))
        return failure();
      bool again = results.front() && turn < maxTurns && ops < maxOps;
      state.assign(results.begin() + 1, results.end());
      if (!again)
        break;
      take(whileOp.getAfter().front(), state);
      if (failed(runBlock(whileOp.getAfter().front(), results)))
        return failure();
      state = results;
    }
  }
  for (auto [result, number] : llvm::zip_equal(op->getResults(), state))
    numbers[result] = number;
  return success();
}

LogicalResult NumberRun::runOp(Operation *op) {
  ++ops;
  if (isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op))
    return runLoop(op);
  bool known = false;
  if (isa_and_nonnull<PipeDialect>(op->getDialect())) {
    if (failed(runPipe(op, known)))
      return failure();
  } else if (op->getNumResults() == 1 &&
             op->getResult(0).getType().isSignlessInteger() &&
             isa_and_nonnull<arith::ArithDialect>(op->getDialect())) {
    if (failed(arithmetic(op, known)))
      return failure();
  }
  if (known)
    return success();
  auto atMost = op->getAttrOfType<DenseI32ArrayAttr>("pipe.at_most");
  for (Value result : op->getResults()) {
    if (!result.getType().isSignlessInteger())
      continue;
    int64_t number = draw(result.getType(), seed);
    if (atMost && atMost.size() == 2) {
      int64_t most =
          get(op->getOperand(atMost[1])) - get(op->getOperand(atMost[0]));
      number = most > 0 ? number % (most + 1) : 0;
    }
    numbers[result] = number;
  }
  return success();
}

LogicalResult NumberRun::runBlock(Block &block,
                                  SmallVectorImpl<int64_t> &results) {
  results.clear();
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (Value operand : op.getOperands())
        results.push_back(get(operand));
      return success();
    }
    if (failed(runOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult NumberRun::run(Region &role) {
  SmallVector<int64_t> results;
  return runBlock(role.front(), results);
}
