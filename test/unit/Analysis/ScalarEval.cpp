//===- ScalarEval.cpp - direct interpretation of hook bodies --------------===//

#include "ScalarEval.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace attn::test;

uint32_t ScalarEval::undefined(Operation *op) {
  if (strict)
    error = "undefined " + op->getName().getStringRef().str();
  return 0;
}

/// Mathematical quotient or remainder of 64-bit values.
int64_t ScalarEval::divide(Operation *op, int64_t x, int64_t d) {
  if (d == 0 || (d == -1 && x == INT32_MIN)) {
    undefined(op);
    if (d == 0)
      return 0;
  }
  int64_t quotient = x / d, rest = x % d;
  if (isa<arith::RemSIOp>(op))
    return rest;
  if (isa<arith::FloorDivSIOp>(op) && rest != 0 && (rest < 0) != (d < 0))
    return quotient - 1;
  if (isa<arith::CeilDivSIOp>(op) && rest != 0 && (rest < 0) == (d < 0))
    return quotient + 1;
  return quotient;
}

static bool compare(arith::CmpIPredicate p, int32_t x, int32_t y) {
  switch (p) {
  case arith::CmpIPredicate::eq:
    return x == y;
  case arith::CmpIPredicate::ne:
    return x != y;
  case arith::CmpIPredicate::slt:
    return x < y;
  case arith::CmpIPredicate::sle:
    return x <= y;
  case arith::CmpIPredicate::sgt:
    return x > y;
  default:
    return x >= y;
  }
}

static bool compare(arith::CmpFPredicate p, float x, float y) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(x) || std::isnan(y);
  switch (p) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::OEQ:
    return x == y;
  case P::OGT:
    return x > y;
  case P::OGE:
    return x >= y;
  case P::OLT:
    return x < y;
  case P::OLE:
    return x <= y;
  case P::ONE:
    return !unordered && x != y;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || x == y;
  case P::UGT:
    return unordered || x > y;
  case P::UGE:
    return unordered || x >= y;
  case P::ULT:
    return unordered || x < y;
  case P::ULE:
    return unordered || x <= y;
  case P::UNE:
    return unordered || x != y;
  case P::UNO:
    return unordered;
  }
  return false;
}

uint32_t ScalarEval::evaluate(Operation *op, ArrayRef<uint32_t> x) {
  auto f = [&](unsigned i) { return asFloat(x[i]); };
  auto s = [&](unsigned i) { return int32_t(x[i]); };
  bool isBool = getElementTypeOrSelf(op->getResult(0).getType()).isInteger(1);
  uint32_t mask = isBool ? 1 : ~0u;
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return compare(cmp.getPredicate(), s(0), s(1));
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return compare(cmp.getPredicate(), f(0), f(1));
  if (isa<arith::AddIOp>(op))
    return x[0] + x[1];
  if (isa<arith::SubIOp>(op))
    return x[0] - x[1];
  if (isa<arith::MulIOp>(op))
    return x[0] * x[1];
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp>(op))
    return uint32_t(divide(op, s(0), s(1)));
  if (isa<arith::MinSIOp>(op))
    return s(0) < s(1) ? x[0] : x[1];
  if (isa<arith::MaxSIOp>(op))
    return s(0) > s(1) ? x[0] : x[1];
  if (isa<arith::AndIOp>(op))
    return x[0] & x[1];
  if (isa<arith::OrIOp>(op))
    return x[0] | x[1];
  if (isa<arith::XOrIOp>(op))
    return (x[0] ^ x[1]) & mask;
  if (isa<arith::ShLIOp, arith::ShRSIOp>(op)) {
    if (x[1] >= 32)
      undefined(op);
    uint32_t n = x[1] & 31;
    return isa<arith::ShLIOp>(op) ? x[0] << n : uint32_t(int64_t(s(0)) >> n);
  }
  if (isa<math::AbsIOp>(op))
    return s(0) < 0 ? 0u - x[0] : x[0];
  if (isa<arith::SelectOp>(op))
    return x[0] ? x[1] : x[2];
  bool fromBool =
      getElementTypeOrSelf(op->getOperand(0).getType()).isInteger(1);
  if (isa<arith::ExtUIOp>(op))
    return x[0];
  if (isa<arith::ExtSIOp>(op))
    return x[0] ? ~0u : 0u;
  if (isa<arith::TruncIOp>(op))
    return x[0] & 1;
  if (isa<arith::SIToFPOp>(op))
    return asWord(fromBool ? (x[0] ? -1.0f : 0.0f) : float(s(0)));
  if (isa<arith::UIToFPOp>(op))
    return asWord(float(x[0]));
  if (isa<arith::FPToSIOp>(op)) {
    if (std::isnan(f(0)))
      return undefined(op);
    if (f(0) >= 2147483648.0f || f(0) < -2147483648.0f) {
      undefined(op);
      return f(0) < 0 ? uint32_t(INT32_MIN) : uint32_t(INT32_MAX);
    }
    return uint32_t(int32_t(f(0)));
  }
  if (isa<arith::AddFOp>(op))
    return asWord(f(0) + f(1));
  if (isa<arith::SubFOp>(op))
    return asWord(f(0) - f(1));
  if (isa<arith::MulFOp>(op))
    return asWord(f(0) * f(1));
  if (isa<arith::DivFOp>(op))
    return asWord(f(0) / f(1));
  if (isa<arith::NegFOp>(op))
    return asWord(-f(0));
  if (isa<arith::MinNumFOp, arith::MaxNumFOp, arith::MinimumFOp,
          arith::MaximumFOp>(op)) {
    bool spreads = isa<arith::MinimumFOp, arith::MaximumFOp>(op);
    bool isMin = isa<arith::MinNumFOp, arith::MinimumFOp>(op);
    if (std::isnan(f(0)) || std::isnan(f(1)))
      return spreads == std::isnan(f(0)) ? x[0] : x[1];
    return asWord(isMin ? std::fmin(f(0), f(1)) : std::fmax(f(0), f(1)));
  }
  if (isa<math::AbsFOp>(op))
    return asWord(std::fabs(f(0)));
  if (isa<math::ExpOp>(op))
    return asWord(std::exp(f(0)));
  if (isa<math::Exp2Op>(op))
    return asWord(std::exp2(f(0)));
  if (isa<math::LogOp>(op))
    return asWord(std::log(f(0)));
  if (isa<math::Log2Op>(op))
    return asWord(std::log2(f(0)));
  if (isa<math::TanhOp>(op))
    return asWord(std::tanh(f(0)));
  if (isa<math::SqrtOp>(op))
    return asWord(std::sqrt(f(0)));
  if (isa<math::SinOp>(op))
    return asWord(std::sin(f(0)));
  if (isa<math::CosOp>(op))
    return asWord(std::cos(f(0)));
  error = "not interpreted: " + op->getName().getStringRef().str();
  return 0;
}

static uint32_t wordOf(Attribute attr) {
  if (auto splat = dyn_cast<SplatElementsAttr>(attr))
    return wordOf(splat.getSplatValue<Attribute>());
  if (auto number = dyn_cast<FloatAttr>(attr))
    return asWord(number.getValue().convertToFloat());
  return uint32_t(cast<IntegerAttr>(attr).getValue().getZExtValue());
}

void ScalarEval::run(Block &block) {
  for (Operation &op : block.without_terminator()) {
    size_t lanes = 1;
    if (auto vector = dyn_cast<VectorType>(op.getResult(0).getType()))
      lanes = vector.getNumElements();
    Lanes result;
    for (size_t lane = 0; lane != lanes; ++lane) {
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        result.push_back(wordOf(constant.getValue()));
        continue;
      }
      SmallVector<uint32_t> operands;
      for (Value operand : op.getOperands()) {
        auto it = values.find(operand);
        if (it == values.end())
          continue; // a table or the vector of a vector hook
        if (it->second.size() != 1 && it->second.size() != lanes)
          error = "lanes do not match";
        else
          operands.push_back(it->second[it->second.size() == 1 ? 0 : lane]);
      }
      if (isa<vector::BroadcastOp>(op))
        result.push_back(operands[0]);
      else if (op.getName().getDialectNamespace() == "attn")
        result.push_back(source(&op, operands));
      else
        result.push_back(evaluate(&op, operands));
      if (!error.empty())
        return;
    }
    values[op.getResult(0)] = result;
  }
}
