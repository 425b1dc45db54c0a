//===- Shapes.h - tile shapes worth compiling -------------------*- C++ -*-===//
//
// The table of schedules: for a head dim and a mask form, which tiles in which
// order.
//
//   head dim 64, no mask     ladder    3 x 64 rows x 128 keys, then 96, 64, ..
//                            beside    4 x 64 rows x 64 keys: short sequences
//                            measured  2 x 64 rows x 128 keys
//
// Invariant: a later rung of a ladder leaves a thread more registers beside its
// tiles than an earlier one.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_SCHEDULE_SHAPES_H
#define ATTN_LIB_SCHEDULE_SHAPES_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace attn {

/// Shape of a schedule with roles.
struct RoleShape {
  int32_t replicas; ///< computing warpgroups
  int32_t tileK;
  int32_t queryDepth, depth; ///< slots of Q, of K and V
  bool ring = false;         ///< warpgroups issue in turn
  bool fixed = false;        ///< items in static order, else from the queue
  bool exp2Fma = true;       ///< exponentials may move to the FMA pipe
};

struct RoleShapes {
  llvm::ArrayRef<RoleShape> ladder;   ///< see ScheduleChoices
  llvm::ArrayRef<RoleShape> beside;   ///< further specialisations
  llvm::ArrayRef<RoleShape> measured; ///< for --tune-set only
};

/// `oneMufu`: the score hook has one MUFU instruction an element.
RoleShapes roleShapesOf(int32_t dim, int32_t valueDim, bool masked,
                        bool oneMufu);

/// Operand A of Q K^T from registers, or from shared memory in each product.
constexpr llvm::StringLiteral mmaAtom = "mma.m16n8k16";
constexpr llvm::StringLiteral mmaSharedAtom = "mma.m16n8k16.ss";

/// Shape of a schedule of one role, with mma.sync.
struct WarpShape {
  int32_t warps, tileQ, tileK;
  bool sharedQuery = false; ///< Q stays in shared memory
  int32_t depth = 2;        ///< slots of K and V
  int32_t regs = 0;         ///< of a thread at most; 0: the target's limit
};

/// The pipe part of a shape without further roles.
pipe::ScheduleAttr oneRole(mlir::Builder &builder, const WarpShape &shape);

struct WarpShapes {
  llvm::ArrayRef<WarpShape> ladder, beside, measured;
};

/// Whether a schedule's pipe part has roles beside the computing one, which do the
/// copies; else all warps do all.
bool hasRoles(mlir::Attribute pipe);

/// Groups of warps that share out the keys of a block; 0 if the tile's rows go to no
/// number of them, 1 with roles beside the computing one.
uint32_t keyGroupsOf(ScheduleAttr schedule);

WarpShapes warpShapesOf(int32_t dim, int32_t valueDim, bool masked);

} // namespace attn

#endif // ATTN_LIB_SCHEDULE_SHAPES_H
