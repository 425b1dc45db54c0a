//===- MachineHopper.h - barriers and agents of Hopper ----------*- C++ -*-===//
//
// Private to the machine of L3: what MachineBars.cpp and MachineAsync.cpp share.
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
mlir::LogicalResult landBytes(Cta &cta, mlir::Operation *op, BarsObject &bars,
                              int32_t slot, int32_t phase, int64_t bytes,
                              const Order &order);

/// TMA, wgmma and their waits.  Sets `known` to false for any other op.
mlir::LogicalResult runAsyncOp(mlir::Operation *op, Warp &warp, bool &known);

} // namespace attn::sim

#endif // ATTN_LIB_SIM_MACHINEHOPPER_H
