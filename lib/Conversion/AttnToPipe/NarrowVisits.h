//===- NarrowVisits.h - each replica visits what its rows see -- -*- C++ -*-===//
//
// The borders of an item's visits hold for all its rows.  A replica has some of
// them, and its own borders lie inside:
//
//   causal, 256 rows of 4 replicas, blocks of 64 keys, the last four visits
//     item        partial partial partial partial
//     replica 0   passes  passes  passes  partial
//     replica 2   passes  partial full    full
//
//   if visits { wait q; for visits { .. }; release q }
//   ->
//   for [own hi, hi) { wait k; release k; wait v; release v }     passes
//   if own visits { wait q; for own visits { .. }; release q }
//   else if visits { wait q; release q }
//   for [lo, own lo) { passes }
//
// A block that is passed is taken from its channels and given back: all replicas
// go through the same slots.
//
// Invariant: passes and visits of a replica are the visits of the item, in order.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_ATTNTOPIPE_NARROWVISITS_H
#define ATTN_LIB_CONVERSION_ATTNTOPIPE_NARROWVISITS_H

#include "VisitLoop.h"

namespace attn {

/// On a loop of passes.
constexpr llvm::StringLiteral passesAttr = "pipe.passes";

/// Narrows the visits of `chain`, inside `visits`, to the rows
/// [rank * part, (rank + 1) * part) of the item's `rows`.  Borders are integers
/// of the block that `rows` and `visits` stand in.  Nothing changes if they do
/// not depend on the first row.
void narrowVisits(VisitChain &chain, mlir::scf::IfOp visits, RowMapOp rows,
                  mlir::Value rank, int32_t part);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_ATTNTOPIPE_NARROWVISITS_H
