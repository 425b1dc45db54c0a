//===- Compiler.h - from a module to a bundle -------------------*- C++ -*-===//
//
// What attnc and the level verifier are made of.  A source module holds L0
// kernels; each (target, element type) works on its own clone.
//
//   OwningOpRef<ModuleOp> tiles = lowerTo(source, {"sm_80"}, Level::Tiles);
//   FailureOr<emit::Bundle> b = compile(source, options, times);
//
// Invariant: the source module is never changed, and a failed compile leaves
// nothing behind but diagnostics.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_COMPILER_H
#define ATTN_COMPILER_COMPILER_H

#include "attn/Emit/Bundle.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LogicalResult.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Where a lowering stops.
enum class Level { Problem, Tiles, Pipe, Frag, Base };

struct LoweringOptions {
  std::string target;
  std::string schedule;      ///< field=value overrides
  unsigned vectorBits = 256; ///< CPU
  bool printReproducer = true;
};

struct CompileOptions {
  std::vector<std::string> targets;
  std::string schedule;
  /// Element types besides the declared one for which the cpu target also gets
  /// a specialisation.
  std::vector<std::string> cpuTypes = {"f32"};
  std::string ptxas;    ///< path; empty: search
  bool useCubin = true; ///< assemble if ptxas is there
  /// Every schedule worth measuring becomes a specialisation, GPU targets.
  bool tuneSet = false;
  /// Called before each step with the steps done, their number, and what comes.
  std::function<void(unsigned done, unsigned total, llvm::StringRef what)>
      progress;
};

/// Milliseconds a stage took, in order.
using StageTimes = std::vector<std::pair<std::string, double>>;

/// A clone of the module at a level.  Null after diagnostics.
mlir::OwningOpRef<mlir::ModuleOp>
lowerTo(mlir::ModuleOp source, const LoweringOptions &options, Level level);

/// A copy of the L0 module with element type `type` for the queries of each
/// kernel and every tensor that has their type: k and v, and o unless it was
/// declared otherwise.
mlir::OwningOpRef<mlir::ModuleOp> withElementType(mlir::ModuleOp source,
                                                  mlir::Type type);
/// A copy with at most `kvHeads` KV heads a kernel (the group stays).
mlir::OwningOpRef<mlir::ModuleOp> withFewerHeads(mlir::ModuleOp source,
                                                 int32_t kvHeads);

/// Compiles every kernel for every target.
mlir::FailureOr<emit::Bundle> compile(mlir::ModuleOp source,
                                      const CompileOptions &options,
                                      StageTimes &times);

/// PTX of the module's kernels for a GPU target.
mlir::FailureOr<std::string> compileToPTX(mlir::ModuleOp source,
                                          const LoweringOptions &options,
                                          StageTimes *times = nullptr);

/// Name, shapes, parameters, hooks of a kernel with block map and variant.
mlir::FailureOr<emit::Kernel> describeKernel(mlir::Operation *kernel);

/// What a launch of the specialisation needs, from its kernels at the fragment
/// level: threads, shared memory, parameter struct, tensor maps, order of work.
void describeLaunch(mlir::ModuleOp module, emit::Specialisation &s);

/// Work and data movement of each kernel for the target, as text; see
/// docs/report.md for the formulas.
mlir::LogicalResult printReport(mlir::ModuleOp source,
                                const LoweringOptions &options, int64_t tokens,
                                llvm::raw_ostream &os);

/// The version that goes into bundles.
llvm::StringRef compilerVersion();

} // namespace attn

#endif // ATTN_COMPILER_COMPILER_H
