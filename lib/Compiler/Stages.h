//===- Stages.h - what the roads of all targets share -----------*- C++ -*-===//
//
// Between Compiler.cpp (modules, levels, the cpu target) and Candidates.cpp
// (GPU targets).
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_COMPILER_STAGES_H
#define ATTN_LIB_COMPILER_STAGES_H

#include "attn/Compiler/Compiler.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Target/TargetSpec.h"

#include "mlir/Pass/PassManager.h"

#include <chrono>

namespace attn {

/// Adds the time of its scope to a stage.
class StageTimer {
public:
  StageTimer(StageTimes *times, llvm::StringRef name)
      : times(times), name(name.str()),
        begin(std::chrono::steady_clock::now()) {}
  ~StageTimer();

private:
  StageTimes *times;
  std::string name;
  std::chrono::steady_clock::time_point begin;
};

/// Runs passes; with a reproducer in the temporary folder if they fail.
mlir::LogicalResult
runPasses(mlir::ModuleOp module, bool reproducer,
          llvm::function_ref<void(mlir::OpPassManager &)> build);

/// What every specialisation of a kernel says, from its L0 form with a schedule.
emit::Specialisation beginSpecialisation(KernelOp kernel,
                                         const TargetSpec &target);

/// The specialisations of the source's one kernel for a GPU target.  `problem`
/// is its L0 form with the schedule of the passes.
mlir::LogicalResult
compileForGPU(mlir::ModuleOp source, KernelOp problem, const TargetSpec &target,
              const LoweringOptions &lowering, const CompileOptions &options,
              std::vector<emit::Specialisation> &out, StageTimes *times);

} // namespace attn

#endif // ATTN_LIB_COMPILER_STAGES_H
