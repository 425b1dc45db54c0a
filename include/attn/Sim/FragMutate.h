//===- FragMutate.h - broken versions of an L3 kernel -----------*- C++ -*-===//
//
// The edits that real bugs are made of, each at each place: a barrier, wait,
// arrival, fence or copy dropped, a phase, count or number of bytes altered, a
// position that stands still, a release before the wait that it depends on.
//
//   for (const FragMutant &m : listFragMutants(kernel)) {
//     clone the module; applyFragMutant(clone's kernel, m); run; expect a verdict
//   }
//
// Invariant: a mutant names its op by the number it has in a walk of the kernel,
// so it fits every clone.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_FRAGMUTATE_H
#define ATTN_SIM_FRAGMUTATE_H

#include "mlir/IR/Operation.h"

#include <string>
#include <vector>

namespace attn::sim {

struct FragMutant {
  enum class Kind {
    DropBarrier, ///< cta_sync, barrier_sync, barrier_arrive, init's
    DropCommit,  ///< cp_async_commit
    CommitEarly, ///< before the copies that it should cover
    DropWait,    ///< cp_async_wait, mbar_wait
    WeakerWait,  ///< one group more may be under way: cp_async_wait, wgmma_wait
    DropCopy,    ///< cp_async, tma_load
    DropArrive,  ///< mbar_arrive, mbar_arrive_one, mbar_expect
    DoubleArrive,
    ArriveEarly,    ///< before the wait that the arrival depends on
    ArriveUnsynced, ///< without the barrier of the warp
    OtherLane,      ///< of barriers or words of several replicas
    CountLess,      ///< one arrival a phase less
    CountMore,
    BytesLess, ///< half of the bytes expected
    BytesMore, ///< twice
    DropFence,
    DropRows,
    DropWords,     ///< st_words
    FlipPhase,     ///< of a first position
    StuckPos,      ///< next gives the same position
    SkipPos,       ///< next skips a slot
    WaitAhead,     ///< mbar_wait for the next position
    WaitFlipped,   ///< mbar_wait with the other parity
    WaitLate,      ///< behind the access or barrier that it guards
    DepthLess,     ///< a slot less for all that have as many
    BarrierId,     ///< a named barrier with its neighbour's id
    MoreRegisters, ///< set_registers asks for, or keeps, eight more
    DropRegisters, ///< registers are not given back
  };
  Kind kind;
  unsigned op;      ///< number in a pre-order walk of the kernel
  std::string name; ///< "drop mbar_arrive on 'k.empty' (12:5)"
};

llvm::StringRef nameOf(FragMutant::Kind kind);

/// All edits that apply.
std::vector<FragMutant> listFragMutants(mlir::Operation *kernel);

/// Carries one out; the IR need not verify afterwards, but runs.  False if the
/// kernel has no such op.
bool applyFragMutant(mlir::Operation *kernel, const FragMutant &mutant);

} // namespace attn::sim

#endif // ATTN_SIM_FRAGMUTATE_H
