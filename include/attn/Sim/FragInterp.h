//===- FragInterp.h - run level L3 on the CPU -------------------*- C++ -*-===//
//
//   registerFragKernels();
//   runKernel(fragKernel, params, {/*ctas=*/2}, error);
//
// Registers are [thread][register] through the layout library, shared memory is
// bytes with the ring's swizzle, and operands of an MMA are read along the lane
// addresses of ldmatrix, so that a wrong layout, swizzle or order gives wrong
// values here as it would on the device.
//
// Invariant: a copy's bytes appear at the barrier behind the wait that covers
// it; a read before that, or a copy over a slot that was read since the last
// barrier, ends the run with an error.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_FRAGINTERP_H
#define ATTN_SIM_FRAGINTERP_H

#include "attn/Sim/Interp.h"

namespace attn::sim {

/// Runs one CTA of a `frag.kernel`.
mlir::LogicalResult runFragKernel(mlir::Operation *kernel, Interp &interp);

/// Makes runKernel take `frag.kernel`.  May be called more than once.
void registerFragKernels();

} // namespace attn::sim

#endif // ATTN_SIM_FRAGINTERP_H
