//===- HookRegisters.cpp - what hooks hold beside the tiles ---------------===//
//
// A thread computes two rows of a block, or four where a warp owns 32, and a
// quarter of its columns.  What a
// hook computes from the key alone is computed once a column and read for both
// rows, what it computes from the row alone once a row:
//
//   doc[q] == doc[k]         a value a row, a value a column
//   q / chunk == k / chunk   the same, and a quotient counts twice: it is
//                            corrected by its remainder
//   q >= k, q - k < window   nothing: sums of k cost less to make again
//
// A block of 128 keys then holds 32 and 64 registers for the columns.
//
// Invariant: an estimate, calibrated on what ptxas reports for examples/; the
// compiler still looks at its report.
//
//===----------------------------------------------------------------------===//

#include "attn/Schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace attn;

namespace {

/// What a value depends on.
enum Reads : unsigned { None = 0, Row = 1, Column = 2, Score = 4 };

/// What a value costs to hold; 0 if it is cheaper to make again.
unsigned weightOf(Operation *op, llvm::function_ref<unsigned(Value)> weight) {
  if (isa<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivSIOp,
          arith::RemSIOp>(op))
    return 2;
  if (isa<ReadOp>(op) || isa<math::MathDialect>(op->getDialect()))
    return 1;
  for (Value operand : op->getOperands())
    if (weight(operand))
      return 1;
  return 0;
}

} // namespace

HookValues attn::hookValuesOf(HookOp hook, bool packed) {
  llvm::DenseMap<Value, unsigned> reads, weights;
  // Arguments: (s, b, h, q, k) or (b, h, q, k); packed rows differ in h.
  Block &body = hook.getBody().front();
  unsigned first = hook.getKind() == HookKind::Score ? 1 : 0;
  if (first)
    reads[body.getArgument(0)] = Score;
  reads[body.getArgument(first + 1)] = packed ? Row : None;
  reads[body.getArgument(first + 2)] = Row;
  reads[body.getArgument(first + 3)] = Column;
  for (Operation &op : body.without_terminator()) {
    unsigned all = None;
    for (Value operand : op.getOperands())
      all |= reads.lookup(operand);
    unsigned weight = weightOf(&op, [&](Value v) { return weights.lookup(v); });
    for (Value result : op.getResults()) {
      reads[result] = all;
      weights[result] = weight;
    }
  }
  HookValues values;
  for (Operation &op : body.without_terminator())
    for (Value result : op.getResults()) {
      unsigned own = reads.lookup(result);
      if (own != Row && own != Column)
        continue;
      // Held if something that differs between elements reads it.
      bool held = llvm::any_of(result.getUsers(), [&](Operation *user) {
        return user->hasTrait<OpTrait::IsTerminator>() ||
               llvm::any_of(user->getResults(),
                            [&](Value v) { return reads.lookup(v) != own; });
      });
      if (held)
        (own == Row ? values.rows : values.columns) += weights.lookup(result);
    }
  return values;
}
