//===- MachineHopper.h - barriers and agents of Hopper ----------*- C++ -*-===//
//
// Private to the machine of L3: what MachineBars.cpp, MachineAsync.cpp and
// MachineCluster.cpp share.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_SIM_MACHINEHOPPER_H
#define ATTN_LIB_SIM_MACHINEHOPPER_H

#include "MachineState.h"

namespace attn::sim {

/// Adds a piece of shared memory that overlaps no other.
mlir::LogicalResult addRegion(Warp &warp, mlir::Operation *op, Storage region);

/// "slot 1 of bars 'k.full'"
std::string describe(const BarsObject &bars, int32_t slot, int32_t lane);

/// The order of `warp` has seen the end of the phase before the one that runs:
/// what it does counts for this phase in every schedule.
mlir::LogicalResult inPhase(Warp &warp, mlir::Operation *op,
                            const BarsObject &bars, int32_t slot, int32_t lane);

/// One arrival, with `bytes` more to come.
mlir::LogicalResult arrive(Warp &warp, mlir::Operation *op, BarsObject &bars,
                           int64_t pos, int32_t lane, int64_t bytes);

/// Bytes of a copy that was started in `phase` have landed.
mlir::LogicalResult landBytes(mlir::Operation *op, BarsObject &bars,
                              int32_t slot, int32_t phase, int64_t bytes,
                              const Order &order);

/// The barriers of the CTA with number `rank` in the cluster of `warp`, at the
/// place of `bars`; null with a verdict.
std::shared_ptr<BarsObject> barsOf(Warp &warp, mlir::Operation *op,
                                   const BarsObject &bars, int32_t rank);

/// `warp` reaches `cta`, which must not have ended and must not end unordered.
mlir::LogicalResult visit(Warp &warp, Cta &cta, const Access &by);

/// The CTAs that a copy goes to, by their barriers; empty with a verdict.
llvm::SmallVector<std::shared_ptr<BarsObject>> targetsOf(frag::TmaLoadOp op,
                                                         Warp &warp);

/// Rank and barrier of a cluster.  Sets `known` to false for any other op.
mlir::LogicalResult runClusterOp(mlir::Operation *op, Warp &warp, bool &known);

/// TMA, wgmma and their waits.  Sets `known` to false for any other op.
mlir::LogicalResult runAsyncOp(mlir::Operation *op, Warp &warp, bool &known);

} // namespace attn::sim

#endif // ATTN_LIB_SIM_MACHINEHOPPER_H
