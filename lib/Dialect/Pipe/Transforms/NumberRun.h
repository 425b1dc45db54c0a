//===- NumberRun.h - a role run on numbers -------------------- -*- C++ -*-===//
//
// Integer arithmetic and control flow are exact, every other integer comes from
// a fixed sequence, and everything else has no value.  What an op of pipe does
// is up to the run:
//
//   %n = arith.subi %b2, %b0      exact
//   %b = attn.check ...           0 or 1 by the sequence
//   pipe.acquire ...              NumberRun::runPipe
//
// An op of another dialect whose result decides how visits are shared out over
// loops says what it can be: `pipe.at_most = array<i32: i, j>` is 0 up to
// operand j minus operand i.
//
// Invariant: a run is a function of its seed and of what runPipe puts into it.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_DIALECT_PIPE_TRANSFORMS_NUMBERRUN_H
#define ATTN_LIB_DIALECT_PIPE_TRANSFORMS_NUMBERRUN_H

#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "llvm/ADT/DenseMap.h"

#include <string>

namespace attn::pipe {

class NumberRun {
public:
  /// `above` is the seed of values from outside of the roles, the same for all.
  NumberRun(uint32_t seed, uint32_t above, unsigned maxTurns)
      : seed(seed), above(above), maxTurns(maxTurns) {}
  virtual ~NumberRun() = default;

  mlir::LogicalResult run(mlir::Region &role);
  /// Value of the first argument of the role's region.
  void setRank(mlir::Region &role, int64_t rank) {
    if (role.getNumArguments())
      numbers[role.getArgument(0)] = rank;
  }

protected:
  /// Executes an op of pipe; `known` says whether it is one that the run knows.
  virtual mlir::LogicalResult runPipe(mlir::Operation *op, bool &known) = 0;

  int64_t get(mlir::Value value);
  void set(mlir::Value value, int64_t number) { numbers[value] = number; }
  /// The turns of loops so far, for messages.
  std::string trips;

  static constexpr unsigned maxWork = 3;

private:
  mlir::LogicalResult runBlock(mlir::Block &block,
                               llvm::SmallVectorImpl<int64_t> &results);
  mlir::LogicalResult runOp(mlir::Operation *op);
  mlir::LogicalResult runLoop(mlir::Operation *op);
  mlir::LogicalResult arithmetic(mlir::Operation *op, bool &known);
  void take(mlir::Block &block, llvm::ArrayRef<int64_t> values);
  static int64_t draw(mlir::Type type, uint32_t &seed);

  static constexpr unsigned maxOps = 200000;

  uint32_t seed, above;
  unsigned maxTurns;
  unsigned ops = 0;
  llvm::DenseMap<mlir::Value, int64_t> numbers;
};

/// The channel that a slot belongs to, or null.
ChannelOp channelOf(mlir::Value slot);

/// Runs the roles of one op beside each other, for one seed.  Fails with a diagnostic if they block one another
/// or a slot is left in use.
mlir::LogicalResult runNetwork(RolesOp roles, uint32_t seed);

} // namespace attn::pipe

#endif // ATTN_LIB_DIALECT_PIPE_TRANSFORMS_NUMBERRUN_H
