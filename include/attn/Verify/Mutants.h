//===- Mutants.h - does the simulator find what is broken? ------*- C++ -*-===//
//
// Every mutant of PipeMutate.h and FragMutate.h runs under the schedules of the
// options; the kernel itself must be correct under all of them.
//
//   caught      a run gives a verdict that is not `correct`
//   equivalent  no seed does, and neither does a depth-first run through the
//               schedules up to a number of preemptions and of runs
//   alive       the search was cut short: nobody knows
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_VERIFY_MUTANTS_H
#define ATTN_VERIFY_MUTANTS_H

#include "attn/Verify/VerifyLevels.h"

namespace attn {

struct MutantOptions {
  unsigned preemptions = 0;   ///< of the exhaustive search
  uint64_t exploreRuns = 200; ///< at most
};

struct MutantResult {
  enum Fate { Caught, Equivalent, Alive };
  std::string kernel, level, name;
  Fate fate = Alive;
  sim::Report report; ///< of the run that caught it
  std::string reason; ///< of the other two
};

/// Mutants of every kernel at L2 and L3; with `lowered` (may be null) of that
/// module's level alone.  Failure is a compile error, or a kernel that is not
/// correct before it is broken (diagnosed).
mlir::FailureOr<std::vector<MutantResult>>
verifyMutants(mlir::ModuleOp source, mlir::ModuleOp lowered,
              llvm::StringRef level, const VerifyOptions &options,
              const MutantOptions &how);

} // namespace attn

#endif // ATTN_VERIFY_MUTANTS_H
