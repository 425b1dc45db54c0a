//===- Wgmma.h - roles and atoms of warpgroup products ----------*- C++ -*-===//
//
// What follows from the number of computing warpgroups and from the tile, for
// the default schedule and for an override that changes only those:
//
//   3 warpgroups -> load: 1 warp, 32 registers; compute: 3 x 4 warps, 160
//   128 keys     -> wgmma.m64n128k16
//
// Invariant: registers set by the roles fit what the launch gives its threads.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_SCHEDULE_WGMMA_H
#define ATTN_LIB_SCHEDULE_WGMMA_H

#include "mlir/IR/Builders.h"

#include <string>

namespace attn {

/// Warps of a warpgroup, and rows that its products have.
constexpr int32_t warpgroupWarps = 4, warpgroupRows = 64;

/// Roles "load" and "compute" for 1 to 4 computing warpgroups.
mlir::ArrayAttr wgmmaRoles(mlir::Builder &builder, int32_t replicas);

/// Name of the atom with n columns.
std::string wgmmaAtom(int32_t columns);

} // namespace attn

#endif // ATTN_LIB_SCHEDULE_WGMMA_H
