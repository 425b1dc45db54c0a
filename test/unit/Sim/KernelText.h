//===- KernelText.h - small L1 kernels as text, and their launch *- C++ -*-===//
//
// Writes level-L1 modules with small tiles, lowers them to L2, and runs them on
// random ragged batches against the oracle.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_SIM_KERNELTEXT_H
#define ATTN_TEST_UNIT_SIM_KERNELTEXT_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Oracle/Compare.h"
#include "attn/Sim/Interp.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace attn::test {

struct KernelShape {
  std::string element = "bf16";
  int32_t heads = 4, kvHeads = 2, dim = 16, dimV = 16;
  int32_t tileQ = 16, tileK = 8, pack = 2;
  bool closed = true; ///< causal in two segments; else one opaque segment
  bool ascending = false;
  bool softmax = true;
  bool score = false; ///< call the score hook; the scale is not folded
  bool sink = false;
  bool frozen = false; ///< speculate; closed kernels only
  int32_t lazy = -1;   ///< threshold of a lazy reference; -1: the maximum
  std::string hooks;   ///< body of the variant
  int32_t depth = 2, skew = -1;
  std::string pipe; ///< schedule of several roles; empty: one role, cp.async
  std::string name = "k"; ///< of the kernel; the merge kernel's has _merge
};

/// The kernel @k and its merge kernel @k_merge.
std::string kernelText(const KernelShape &shape);

struct Batch {
  std::vector<int32_t> q, kv;
};

class SimFixture {
public:
  SimFixture();

  /// Parses `text`; empty on failure, with `diagnostics`.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);
  /// The passes of attn-to-pipe and the verifier after each.
  bool toPipe(mlir::ModuleOp module);
  bool verifySchedule(mlir::ModuleOp module);

  /// A worked kernel of test/Sim/Inputs with tiles and head dim of 16, which
  /// `shape` then describes.
  mlir::OwningOpRef<mlir::ModuleOp> parseWorked(const std::string &file,
                                                KernelShape &shape);

  /// Plans the batch, runs @k and @k_merge, compares with the oracle.
  oracle::Comparison run(mlir::ModuleOp module, const KernelShape &shape,
                         const Batch &batch, std::string &error,
                         int32_t splitKeys = 0,
                         sim::LaunchOptions options = {});

  mlir::MLIRContext context;
  std::string diagnostics;
  /// Values of parameters (bit patterns) in order of declaration, and of the
  /// one table, f32 by head.
  std::vector<uint32_t> params;
  std::vector<float> table;
  std::vector<float> lastO, lastLse;
  /// Of the last run; `wrong values` if it disagrees with the oracle.
  sim::Report report;
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_SIM_KERNELTEXT_H
