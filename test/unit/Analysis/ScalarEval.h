//===- ScalarEval.h - direct interpretation of hook bodies ------*- C++ -*-===//
//
// Runs arith, math and vector.broadcast on lanes of 32-bit words, one operation
// of the region after another.  It shares no code with the encoder.  Two uses:
// on hooks, where undefined cases have the meaning of HookExpr.h, and on
// inlined code, where an undefined case is a failure.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_ANALYSIS_SCALAREVAL_H
#define ATTN_TEST_UNIT_ANALYSIS_SCALAREVAL_H

#include "attn/Dialect/Attn/IR/Attn.h"

#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attn::test {

using Lanes = std::vector<uint32_t>; // one word a lane; one lane: a scalar

struct ScalarEval {
  /// Words of values that come from outside: arguments, parameters.
  llvm::DenseMap<mlir::Value, Lanes> values;
  /// attn.read, attn.length, attn.element.
  std::function<uint32_t(mlir::Operation *, llvm::ArrayRef<uint32_t>)> source;
  /// Undefined cases (zero divisor, shift count, fptosi) are errors.
  bool strict = false;
  std::string error;

  /// Runs a block up to its terminator.
  void run(mlir::Block &block);

private:
  uint32_t evaluate(mlir::Operation *op, llvm::ArrayRef<uint32_t> x);
  int64_t divide(mlir::Operation *op, int64_t x, int64_t d);
  uint32_t undefined(mlir::Operation *op);
};

inline float asFloat(uint32_t word) { return llvm::bit_cast<float>(word); }
inline uint32_t asWord(float f) { return llvm::bit_cast<uint32_t>(f); }

} // namespace attn::test

#endif // ATTN_TEST_UNIT_ANALYSIS_SCALAREVAL_H
