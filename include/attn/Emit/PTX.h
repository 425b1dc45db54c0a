//===- PTX.h - modules to PTX, PTX to cubins --------------------*- C++ -*-===//
//
//   FailureOr<std::string> ptx = attn::emitPTX(module, *target);
//   attn::PtxasResult result;
//   if (!attn::runPtxas(*ptx, *target, *attn::findPtxas("", error), result,
//   error))
//
// The compiler needs no CUDA toolkit: PTX is always made in this process, ptxas
// is a child process where there is one.
//
// Invariant: nothing here ends the process on a module that verifies; what LLVM
// would abort on is looked for first and named.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_EMIT_PTX_H
#define ATTN_EMIT_PTX_H

#include "attn/Target/TargetSpec.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace attn {

/// What translation to LLVM IR needs in the context; call it before the
/// context's dialects are loaded.
void registerPTXTranslation(mlir::DialectRegistry &registry);

/// PTX of a module of llvm and nvvm ops, in the target's lowest PTX version.
/// Errors are emitted at the module.
mlir::FailureOr<std::string> emitPTX(mlir::ModuleOp module,
                                     const TargetSpec &target);

/// What `ptxas -v` says about one kernel.
struct PtxasKernel {
  std::string name;
  unsigned registers = 0;
  unsigned stackBytes = 0;
  unsigned spillStoreBytes = 0;
  unsigned spillLoadBytes = 0;
  unsigned sharedBytes = 0; ///< static
};

struct PtxasResult {
  std::string cubin;
  std::vector<PtxasKernel> kernels;
  /// Lines with a C75xx note: asynchronous MMAs that were serialised.
  std::vector<std::string> notes;
  std::string log;
};

/// The path of ptxas: `hint` if it is given, else PATH, $CUDA_HOME/bin,
/// /usr/local/cuda/bin, then the nvidia/cuda_nvcc wheel of a Python on PATH.
std::optional<std::string> findPtxas(llvm::StringRef hint, std::string &error);

/// Assembles; false with the tool's own message in `error` if it refuses.
bool runPtxas(llvm::StringRef ptx, const TargetSpec &target,
              llvm::StringRef ptxas, PtxasResult &result, std::string &error);

/// Reads the output of `ptxas -v`.
void parsePtxasLog(llvm::StringRef log, PtxasResult &result);

/// False for a result that our own schedules must not have: spills, a stack of
/// more than a few words (none if the target has wgmma), or a C75xx note.
bool checkPtxasResult(const PtxasResult &result, const TargetSpec &target,
                      std::string &error);

} // namespace attn

#endif // ATTN_EMIT_PTX_H
