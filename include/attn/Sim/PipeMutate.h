//===- PipeMutate.h - broken versions of an L2 kernel -----------*- C++ -*-===//
//
// The edits that real bugs are made of, each at each place: an op dropped,
// doubled, moved, or no longer blocking; a channel's depth or tokens changed.
//
//   judgePipeMutants(module, "prefill", run)
//     drop release of channel 'k' (x.mlir:210:13): deadlock: ...
//     depth less of channel 'k' (x.mlir:72:5): equivalent, 5,321 states
//
// Invariant: a mutant names its op by the number it has in a walk of the
// kernel, so it fits every clone.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_PIPEMUTATE_H
#define ATTN_SIM_PIPEMUTATE_H

#include "attn/Sim/Interp.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace attn::sim {

struct PipeMutant {
  enum class Kind {
    DropVisit,   ///< an acquire with its copies and its commit
    DoubleVisit, ///< the same once more
    DoubleWait,  ///< one more wait and release
    DropCommit,
    DoubleCommit,
    CommitEarly, ///< without waiting for its copies
    DropRelease,
    DoubleRelease,
    ReleaseEarly,      ///< right behind its wait
    ReleaseBeforeJoin, ///< before the join of its last asynchronous reader
    Unguarded,         ///< acquire, wait, send or recv does not block
    DropSend,
    DoubleSend,
    DropRecv, ///< the words are 0
    DoubleRecv,
    DropRows,
    DropTurn,     ///< a take or a pass
    DepthLess,    ///< one slot less
    NoTokens,     ///< no initial tokens
    TokensLess,   ///< one initial token, and slot, less
    SwapVisits,   ///< two neighbouring visits of a producer change places
    OtherReplica, ///< every replica takes itself for the first
  };
  Kind kind;
  unsigned op;      ///< number in a pre-order walk of the kernel
  std::string name; ///< "drop release of channel 'k' (file:12:5)"
};

llvm::StringRef nameOf(PipeMutant::Kind kind);

/// All edits that apply.
std::vector<PipeMutant> listPipeMutants(mlir::Operation *kernel);

/// Carries one out.  False if the kernel has no such op.
bool applyPipeMutant(mlir::Operation *kernel, const PipeMutant &mutant);

struct MutantVerdict {
  PipeMutant mutant;
  Report report;           ///< what caught it
  bool equivalent = false; ///< every interleaving of all its runs is right
  bool open = false;       ///< neither: the exhaustive run hit its limit
  uint64_t states = 0;     ///< of the exhaustive runs
};

/// Runs a module and compares its outputs; the verdict is `correct` or why not.
using MutantRun =
    llvm::function_ref<Report(mlir::ModuleOp module, const LaunchOptions &)>;

/// Every mutant of the kernel under each of `launches`; one that they all find
/// correct goes through every interleaving of the traces of these runs.
std::vector<MutantVerdict>
judgePipeMutants(mlir::ModuleOp module, llvm::StringRef kernel,
                 llvm::ArrayRef<LaunchOptions> launches, MutantRun run,
                 uint64_t maxStates = 2000000);

} // namespace attn::sim

#endif // ATTN_SIM_PIPEMUTATE_H
