//===- Scalar.h - scalar arithmetic of every level --------------*- C++ -*-===//
//
// One implementation of arith and math on the CPU: an op is decoded once into a
// function pointer and slot numbers, then run as often as needed.
//
//   %d = arith.subi %q, %k : i32      ->  {fn = sub32, dst = 2, in = {0, 1}}
//   %r = arith.cmpi sge, %d, %z : i32 ->  {fn = sge,   dst = 4, in = {2, 3}}
//
// Integers are kept sign extended in 64 bits, i1 as 0 or 1, every float as an
// f32 that holds a value of its own type.  Semantics where LLVM has none are
// those of HookExpr.h: a zero divisor gives 0, shift counts are taken modulo
// the width, float to integer saturates and NaN gives 0.
//
// Invariant: no input traps or is undefined.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_SCALAR_H
#define ATTN_SIM_SCALAR_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attn::sim {

/// A scalar: one of the two fields, by the type of the value.
struct Word {
  int64_t i = 0;
  float f = 0;
  static Word ofInt(int64_t v) { return {v, 0}; }
  static Word ofFloat(float v) { return {0, v}; }
};

struct ScalarInstr;
using ScalarFn = void (*)(Word *slots, const ScalarInstr &instr);

/// Reads a scalar that arithmetic cannot give (table, parameter, memory); the
/// operands of the op are passed in order.
using ExternFn = std::function<Word(const Word *operands)>;

struct ScalarInstr {
  ScalarFn fn = nullptr;
  uint32_t dst = 0;
  uint32_t in[3] = {0, 0, 0};
  int32_t width = 32;   ///< of the integer result
  int32_t inWidth = 32; ///< of the first integer operand
  int32_t index = 0;    ///< into ScalarProgram::externs, or a predicate
  Word imm;
};

/// Decodes an arith or math op on scalars (index counts as 64 bits).  The slot
/// numbers are left to the caller.  False if the op is not one of these.
bool decodeScalar(mlir::Operation *op, ScalarInstr &instr);

/// True if `type` is a scalar of this header: i1..i64, index, f32, f16, bf16.
bool isScalar(mlir::Type type);

/// Rounds to a float type (f32, f16, bf16).
float roundToType(mlir::Type type, float value);

/// A block of scalar ops as a flat list, e.g. a hook.
class ScalarProgram {
public:
  /// Decodes `block`.  Its arguments are the first slots; values from outside
  /// and ops that are not arithmetic go through `resolve`, which returns a null
  /// function if it does not know the op.  Constants above the block are
  /// folded. On failure `error` names the op.
  bool compile(mlir::Block &block,
               llvm::function_ref<ExternFn(mlir::Operation *)> resolve,
               std::string &error);

  unsigned numArgs() const { return args; }
  unsigned numResults() const { return results.size(); }

  /// Runs on `slots`, which holds numSlots() words with the arguments in front.
  void run(Word *slots) const {
    for (const ScalarInstr &instr : code)
      if (instr.fn)
        instr.fn(slots, instr);
      else
        runExtern(slots, instr);
  }
  unsigned numSlots() const { return slotCount; }
  Word result(const Word *slots, unsigned i = 0) const {
    return slots[results[i]];
  }

private:
  void runExtern(Word *slots, const ScalarInstr &instr) const;
  uint32_t slotOf(mlir::Value value,
                  llvm::function_ref<ExternFn(mlir::Operation *)> resolve,
                  std::string &error);
  bool append(mlir::Operation *op,
              llvm::function_ref<ExternFn(mlir::Operation *)> resolve,
              std::string &error);

  unsigned args = 0;
  unsigned slotCount = 0;
  std::vector<ScalarInstr> code;
  std::vector<ExternFn> externs;
  std::vector<std::vector<uint32_t>> externOperands;
  std::vector<uint32_t> results;
  llvm::DenseMap<mlir::Value, uint32_t> slots;
};

} // namespace attn::sim

#endif // ATTN_SIM_SCALAR_H
