//===- Mutants.h - does the simulator find what is broken? ------*- C++ -*-===//
//
// Every mutant of PipeMutate.h and FragMutate.h runs on each of several inputs,
// under the schedules of the options; the kernel itself must be correct under all
// of them.
//
//   caught      a run gives a verdict that is not `correct`
//   equivalent  no interleaving of any input does: at L2 by a search of the traces
//               (PipeTrace.h), at L3 by the rules of order of the machine, under
//               which one clean run of one CTA stands for all (Machine.h)
//   alive       nobody knows: the search was cut short, no input reaches the op, or
//               the launch has several CTAs
//   split       at L3: one schedule gives a verdict and another does not, so that
//               the machine's rules have a hole
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_VERIFY_MUTANTS_H
#define ATTN_VERIFY_MUTANTS_H

#include "attn/Verify/VerifyLevels.h"

namespace attn {

/// What a kernel and its mutants run on.
struct SimInput {
  workload::Batch batch;
  float scale = 0; ///< not 0: factor of the scores
};

struct MutantResult {
  enum Fate { Caught, Equivalent, Alive, Split };
  std::string kernel, level, name;
  Fate fate = Alive;
  sim::Report report; ///< of the run that caught it
  std::string reason; ///< of the other three
};

/// Mutants of every kernel at L2 and L3; with `lowered` (may be null) of that
/// module's level alone.  Failure is a compile error, or a kernel that is not
/// correct before it is broken (diagnosed).
mlir::FailureOr<std::vector<MutantResult>>
verifyMutants(mlir::ModuleOp source, mlir::ModuleOp lowered,
              llvm::StringRef level, const VerifyOptions &options,
              llvm::ArrayRef<SimInput> inputs);

} // namespace attn

#endif // ATTN_VERIFY_MUTANTS_H
