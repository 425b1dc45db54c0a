//===- VisitLoop.h - loops over key blocks in roles ----------- -*- C++ -*-===//
//
// `attn.for_kv` becomes `scf.for` over its own bounds: the bounds are the
// segment's borders, and the induction variable counts visits from `lo`.
//
//   scf.for %i = %lo to %hi step %c1 {          // descending
//     %j = arith.subi %top, %i                  // top = lo + hi - 1
//     %x = arith.muli %j, %c64
//     %k0 = arith.addi %base, %x
//   } {pipe.visits = "descending"}
//
// Up to the end of pipe-skew the op that computes %j carries `pipe.visit_index`,
// so that no pass need recognise the arithmetic.
//
// Invariant: the loops of one item stand in one block, in visiting order, and
// each begins where the one before it ended.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_ATTNTOPIPE_VISITLOOP_H
#define ATTN_LIB_CONVERSION_ATTNTOPIPE_VISITLOOP_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace attn {

constexpr llvm::StringLiteral visitsAttr = "pipe.visits";
constexpr llvm::StringLiteral visitIndexAttr = "pipe.visit_index";
constexpr llvm::StringLiteral classAttr = "pipe.class";

struct VisitLoop {
  mlir::scf::ForOp loop;
  bool descending;

  explicit operator bool() { return static_cast<bool>(loop); }
  mlir::Value lo() { return loop.getLowerBound(); }
  mlir::Value hi() { return loop.getUpperBound(); }
  /// The block number of a visit inside the body, or null if it was lost.
  mlir::Value index();
};

/// The visit loop that `op` is, or a null one.
VisitLoop asVisitLoop(mlir::Operation *op);

/// A visit loop over [lo, hi) with an empty body, and the number of the visited
/// block inside it; `one` is the constant 1.
std::pair<VisitLoop, mlir::Value> createVisits(mlir::OpBuilder &b,
                                               mlir::Location loc,
                                               bool descending, mlir::Value lo,
                                               mlir::Value hi, mlir::Value one,
                                               mlir::ValueRange inits = {});

/// All visits of one item.
struct VisitChain {
  llvm::SmallVector<VisitLoop, 3> loops;
  bool descending = false;
  mlir::Value first; ///< border where the visits begin: bn if descending
  mlir::Value last;  ///< border where they end: b0 if descending
};

/// The visit loops below `root` as chains, one a block; fails with a diagnostic
/// if two neighbours do not meet.
mlir::LogicalResult findVisitChains(mlir::Operation *root,
                                    llvm::SmallVectorImpl<VisitChain> &chains);

/// The first and the last visited block of borders [lo, hi), in visiting order.
mlir::Value firstVisit(mlir::OpBuilder &b, mlir::Location loc, bool descending,
                       mlir::Value lo, mlir::Value hi, mlir::Value one);
mlir::Value lastVisit(mlir::OpBuilder &b, mlir::Location loc, bool descending,
                      mlir::Value lo, mlir::Value hi, mlir::Value one);

/// The release, in the block of `op`, of the slot that `payload` or the tile that
/// it is a slice of lies in; null if there is none.
pipe::ReleaseOp releaseBeside(mlir::Operation *op, mlir::Value payload);

/// What rewrites the slot of a wait; null if nothing does.
mlir::Operation *rewriteOf(pipe::WaitOp wait);

/// The pipe part of a kernel's schedule; a diagnostic in the name of `pass` if
/// there is none.
mlir::FailureOr<pipe::ScheduleAttr> getPipeSchedule(KernelOp kernel,
                                                    llvm::StringRef pass);

/// True if the schedule cuts kernels into several roles.
bool hasRoles(pipe::ScheduleAttr schedule);
/// The one role that a kernel has before it is cut.
pipe::RoleAttr oneRole(pipe::ScheduleAttr schedule);

/// The schedule's name of a load ("load_query", "load_kv") and of the channel
/// that carries it ("q", "k", "v").
llvm::StringRef channelOf(TensorRole role);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_ATTNTOPIPE_VISITLOOP_H
