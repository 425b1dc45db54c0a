//===- ScalarWork.cpp - instructions of a scalar op on a GPU --------------===//
//
// See ScalarWork.h.
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/ScalarWork.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// 32-bit registers of a scalar.
static unsigned wordsOf(Type type) { return type.isInteger(64) ? 2 : 1; }

ScalarWork attn::scalarWorkOf(Operation *op,
                              llvm::function_ref<bool(Value)> uniform) {
  ScalarWork work;
  if (isa<arith::ConstantOp, arith::NegFOp, math::AbsFOp, arith::TruncIOp,
          arith::ExtUIOp, arith::BitcastOp>(op))
    return work;
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, math::FmaOp>(op)) {
    work.fma = 1;
  } else if (isa<math::Exp2Op>(op)) {
    work.mufu = 1;
  } else if (auto tanh = dyn_cast<math::TanhOp>(op)) {
    work.mufu = 1;
    if (!bitEnumContainsAll(tanh.getFastmath(), arith::FastMathFlags::afn))
      work.fma = 9;
  } else if (isa<math::ExpOp, math::LogOp, math::Log2Op, math::SqrtOp,
                 math::RsqrtOp>(op)) {
    work.fma = 1, work.mufu = 1;
  } else if (isa<math::SinOp, math::CosOp>(op)) {
    work.fma = 3, work.alu = 1, work.mufu = 1;
  } else if (isa<arith::DivFOp>(op)) {
    if (uniform(op->getOperand(1)))
      work.fma = 1;
    else // reciprocal and one Newton step
      work.fma = 4, work.mufu = 1;
  } else if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                 arith::FloorDivSIOp, arith::CeilDivSIOp>(op)) {
    APInt divisor;
    if (matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
      work.alu = divisor.isPowerOf2() ? 2 : 5;
    else
      work.alu = 16, work.mufu = 1;
  } else if (isa<arith::MulIOp>(op)) {
    work.fma = wordsOf(op->getResult(0).getType()) == 2 ? 4 : 1;
  } else if (isa<arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp,
                 arith::TruncFOp, arith::ExtFOp>(op)) {
    work.convert = 1;
  } else {
    Type type = op->getNumResults() ? op->getResult(0).getType() : Type();
    work.alu = type && isa<FloatType, IntegerType>(type) ? wordsOf(type) : 1;
  }
  return work;
}
