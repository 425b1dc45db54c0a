//===- InlineHook.cpp - clone a hook's body at a builder ------------------===//

#include "attn/Analysis/InlineHook.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

namespace {

class Inliner {
public:
  Inliner(OpBuilder &builder, const HookReads &reads)
      : b(builder), reads(reads) {}

  FailureOr<Value> run(HookOp hook, ValueRange args);

private:
  FailureOr<Value> inlineOp(Operation &op);
  static bool isDistance(Operation &op);
  FailureOr<Value> lookup(Operation &user, Value value);
  FailureOr<Value> cloneElementwise(Operation &op, ArrayRef<Value> operands);
  Value divide(Operation &op, Value a, Value d);
  Value floorDivide(Value a, Value d, std::optional<int64_t> constant,
                    bool ceil);
  Value saturate(Value x, Type scalar);

  /// Brings all values to one shape; failure if there are two shapes.
  LogicalResult unify(Operation &op, MutableArrayRef<Value> values);

  /// A constant of the shape of `like`.
  Value intLike(Value like, int64_t value);
  Value floatLike(Value like, double value);
  Value splat(Value like, TypedAttr scalar);

  Value cmp(arith::CmpIPredicate p, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, p, x, y);
  }
  Value select(Value c, Value x, Value y) {
    return arith::SelectOp::create(b, loc, c, x, y);
  }

  OpBuilder &b;
  const HookReads &reads;
  Location loc = b.getUnknownLoc();
  IRMapping mapping;
};

} // namespace

Value Inliner::splat(Value like, TypedAttr scalar) {
  Value value = arith::ConstantOp::create(b, loc, scalar);
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    return vector::BroadcastOp::create(b, loc, vector.clone(scalar.getType()),
                                       value);
  return value;
}

Value Inliner::intLike(Value like, int64_t value) {
  return splat(like, b.getI32IntegerAttr(int32_t(value)));
}

Value Inliner::floatLike(Value like, double value) {
  return splat(like, b.getF32FloatAttr(float(value)));
}

LogicalResult Inliner::unify(Operation &op, MutableArrayRef<Value> values) {
  VectorType shape;
  for (Value value : values) {
    auto vector = dyn_cast<VectorType>(value.getType());
    if (!vector)
      continue;
    if (shape && shape.getShape() != vector.getShape())
      return op.emitOpError("mixes vectors ") << shape << " and " << vector;
    shape = vector;
  }
  if (!shape)
    return success();
  for (Value &value : values)
    if (!isa<VectorType>(value.getType()))
      value = vector::BroadcastOp::create(b, loc, shape.clone(value.getType()),
                                          value);
  return success();
}

FailureOr<Value> Inliner::lookup(Operation &user, Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  auto param = value.getDefiningOp<ParamOp>();
  if (!param)
    return user.emitOpError("uses a value that has no meaning here");
  if (!reads.param)
    return param.emitOpError("parameters cannot be read here");
  FailureOr<Value> result = reads.param(param);
  if (succeeded(result))
    mapping.map(value, *result);
  return result;
}

FailureOr<Value> Inliner::cloneElementwise(Operation &op,
                                           ArrayRef<Value> operands) {
  IRMapping local;
  VectorType shape;
  for (auto [old, now] : llvm::zip(op.getOperands(), operands)) {
    local.map(old, now);
    if (auto vector = dyn_cast<VectorType>(now.getType()))
      shape = vector;
  }
  Operation *clone = op.clone(local);
  // Operands that are the same value in the hook map to one value; set them one
  // by one all the same, they may differ in shape after broadcasting.
  clone->setOperands(operands);
  if (shape)
    for (Value result : clone->getResults())
      result.setType(shape.clone(result.getType()));
  return b.insert(clone)->getResult(0);
}

/// floor(a / d), or ceil; d is not 0 and not -1.
Value Inliner::floorDivide(Value a, Value d, std::optional<int64_t> constant,
                           bool ceil) {
  if (constant && *constant > 0 && llvm::isPowerOf2_64(*constant) && !ceil)
    return arith::ShRSIOp::create(b, loc, a,
                                  intLike(a, llvm::Log2_64(*constant)));
  Value zero = intLike(a, 0);
  Value q = arith::DivSIOp::create(b, loc, a, d);
  Value r =
      arith::SubIOp::create(b, loc, a, arith::MulIOp::create(b, loc, q, d));
  // The quotient was rounded towards zero; r has the sign of a.
  Value inexact = cmp(arith::CmpIPredicate::ne, r, zero);
  Value rNegative = cmp(arith::CmpIPredicate::slt, r, zero);
  Value dNegative = cmp(arith::CmpIPredicate::slt, d, zero);
  Value differ = cmp(ceil ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne,
                     rNegative, dNegative);
  Value adjust = arith::AndIOp::create(b, loc, inexact, differ);
  Value one = intLike(a, ceil ? 1 : -1);
  return arith::AddIOp::create(b, loc, q, select(adjust, one, zero));
}

/// divsi, remsi, floordivsi, ceildivsi without undefined cases.
Value Inliner::divide(Operation &op, Value a, Value d) {
  std::optional<int64_t> constant;
  APInt value;
  if (matchPattern(op.getOperand(1), m_ConstantInt(&value)))
    constant = value.getSExtValue();
  bool safe = constant && *constant != 0 && *constant != -1;
  Value divisor = d, isZero, isMinusOne;
  if (!safe) {
    isZero = cmp(arith::CmpIPredicate::eq, d, intLike(d, 0));
    isMinusOne = cmp(arith::CmpIPredicate::eq, d, intLike(d, -1));
    Value trap = arith::OrIOp::create(b, loc, isZero, isMinusOne);
    divisor = select(trap, intLike(d, 1), d);
  }
  bool remainder = isa<arith::RemSIOp>(op);
  Value result;
  if (remainder)
    result = arith::RemSIOp::create(b, loc, a, divisor);
  else if (isa<arith::DivSIOp>(op))
    result = arith::DivSIOp::create(b, loc, a, divisor);
  else
    result = floorDivide(a, divisor, constant, isa<arith::CeilDivSIOp>(op));
  if (safe)
    return result;
  Value zero = intLike(a, 0);
  if (!remainder) // a / -1 = 0 - a, which wraps
    result = select(isMinusOne, arith::SubIOp::create(b, loc, zero, a), result);
  return select(isZero, zero, result);
}

/// fptosi that saturates, NaN gives 0.
Value Inliner::saturate(Value x, Type scalar) {
  Value low = floatLike(x, -2147483648.0), high = floatLike(x, 2147483648.0);
  Value below =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, low);
  Value above =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x, high);
  Value ordered =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, x, x);
  Value inside = select(ordered, x, floatLike(x, 0.0));
  inside = select(arith::OrIOp::create(b, loc, below, above), floatLike(x, 0.0),
                  inside);
  Type type = scalar;
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    type = vector.clone(scalar);
  Value result = arith::FPToSIOp::create(b, loc, type, inside);
  result = select(above, intLike(x, INT32_MAX), result);
  return select(below, intLike(x, INT32_MIN), result);
}

FailureOr<Value> Inliner::inlineOp(Operation &op) {
  if (auto length = dyn_cast<LengthOp>(op)) {
    if (!reads.length)
      return op.emitOpError("lengths cannot be read here");
    return reads.length(length);
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return Value(arith::ConstantOp::create(b, loc, constant.getValue()));

  SmallVector<Value> operands;
  for (Value operand : op.getOperands()) {
    // Tables and the vector of a vector hook are not values here.
    if (isa<TableType>(operand.getType()) ||
        (isa<ElementOp>(op) && isa<VectorType>(operand.getType())))
      continue;
    FailureOr<Value> value = lookup(op, operand);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  if (auto read = dyn_cast<ReadOp>(op)) {
    if (!reads.read)
      return op.emitOpError("tables cannot be read here");
    if (failed(unify(op, operands)))
      return failure();
    return reads.read(read, operands);
  }
  if (auto element = dyn_cast<ElementOp>(op)) {
    if (!reads.element)
      return op.emitOpError("vectors cannot be read here");
    return reads.element(element, operands[0]);
  }
  if (op.getNumResults() != 1 || op.getNumRegions() != 0)
    return op.emitOpError("cannot be inlined");
  if (failed(unify(op, operands)))
    return failure();
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp>(op))
    return divide(op, operands[0], operands[1]);
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op)) {
    APInt count;
    if (!matchPattern(op.getOperand(1), m_ConstantInt(&count)) || count.uge(32))
      operands[1] =
          arith::AndIOp::create(b, loc, operands[1], intLike(operands[1], 31));
  }
  if (isa<arith::FPToSIOp>(op) && op.getResult(0).getType().isInteger(32))
    return saturate(operands[0], op.getResult(0).getType());
  FailureOr<Value> result = cloneElementwise(op, operands);
  if (succeeded(result) && isDistance(op))
    cast<arith::SubIOp>(result->getDefiningOp())
        .setOverflowFlags(arith::IntegerOverflowFlags::nsw);
  return result;
}

/// k - q or q - k.  Of positions less than 2^31 apart: kv_len - q_len <= q and
/// k < kv_len, so k - q < q_len, and q - k < kv_len.
bool Inliner::isDistance(Operation &op) {
  auto difference = dyn_cast<arith::SubIOp>(op);
  auto hook = cast<HookOp>(op.getParentOp());
  if (!difference ||
      !llvm::is_contained({HookKind::Score, HookKind::Mask}, hook.getKind()))
    return false;
  auto last = hook.getBody().front().getArguments().take_back(2);
  Value q = last[0], k = last[1];
  Value x = difference.getLhs(), y = difference.getRhs();
  return (x == q && y == k) || (x == k && y == q);
}

FailureOr<Value> Inliner::run(HookOp hook, ValueRange args) {
  Block &body = hook.getBody().front();
  if (args.size() != body.getNumArguments())
    return hook.emitOpError("has ")
           << body.getNumArguments() << " arguments, got " << args.size();
  for (auto [argument, value] : llvm::zip(body.getArguments(), args))
    if (value)
      mapping.map(argument, value);
  for (Operation &op : body.without_terminator()) {
    loc = op.getLoc();
    FailureOr<Value> value = inlineOp(op);
    if (failed(value))
      return failure();
    mapping.map(op.getResult(0), *value);
  }
  return lookup(*body.getTerminator(), hook.getYielded());
}

FailureOr<Value> attn::inlineHook(OpBuilder &builder, HookOp hook,
                                  ValueRange args, const HookReads &reads) {
  return Inliner(builder, reads).run(hook, args);
}

Type attn::elementBehindHook(Value tile) {
  if (auto load = tile.getDefiningOp<LoadQueryOp>())
    return load.getTensor().getType().getElement();
  if (auto load = tile.getDefiningOp<LoadKVOp>())
    return load.getTensor().getType().getElement();
  return Float32Type::get(tile.getContext());
}
