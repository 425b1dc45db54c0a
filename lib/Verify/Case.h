//===- Case.h - one kernel with inputs, plan and reference ------*- C++ -*-===//
//
// Private to the Verify library.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_VERIFY_CASE_H
#define ATTN_LIB_VERIFY_CASE_H

#include "Launch.h"

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Sim/Machine.h"
#include "attn/Sim/PipeTrace.h"
#include "attn/Verify/VerifyLevels.h"

namespace attn {

/// One kernel's workload, plan and specialisation facts.
struct Case {
  emit::Kernel kernel;
  emit::Specialisation spec;
  workload::Workload workload;
  Launch launch;
  /// Decisions of a scheduler that no sound run comes near.
  uint64_t stepLimit = 0;
};

/// Fills a case from the problem form (block map and schedule present).
mlir::LogicalResult makeCase(KernelOp kernel, const VerifyOptions &options,
                             Case &out);

/// The L0 module that is verified: fewer heads, another element type.
mlir::OwningOpRef<mlir::ModuleOp> prepareSource(mlir::ModuleOp source,
                                                const VerifyOptions &options);

/// Fills the tensor maps of a kernel at L3; false with a message.
bool completeParams(Case &c, frag::KernelOp kernel, std::string &error);

LevelResult judge(Case &c, llvm::StringRef level, bool ran,
                  const std::string &error);

/// Who runs next in one run.
struct Turn {
  sim::ScheduleKind kind = sim::ScheduleKind::RoundRobin;
  uint64_t seed = 0;
  uint64_t maxSteps = 0; ///< 0: see stepLimit
  /// Not null: gets the channel ops of each CTA of the kernel (L2).
  std::vector<sim::PipeTrace> *traces = nullptr;
  /// Not null: gets each op of the kernel that ran (L3).
  llvm::DenseSet<mlir::Operation *> *reached = nullptr;
};

/// Runs kernel and merge kernel of a lowered module once; with `turn` under its
/// schedule, at L3 with the concurrency of the device.
LevelResult interpret(Case &c, mlir::ModuleOp module, llvm::StringRef level,
                      const VerifyOptions &options, const Turn *turn = nullptr,
                      sim::MachineCache *cache = nullptr);

/// The schedule of the n-th seed of the options.
Turn turnOf(const VerifyOptions &options, int32_t n);

/// The same for each seed of the options, up to the first that fails.
LevelResult interpretSeeds(Case &c, mlir::ModuleOp module,
                           llvm::StringRef level, const VerifyOptions &options);

} // namespace attn

#endif // ATTN_LIB_VERIFY_CASE_H
