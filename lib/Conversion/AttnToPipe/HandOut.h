//===- HandOut.h - work words and who sends them -------------- -*- C++ -*-===//
//
// One role takes items from the plan and hands them to the other as words:
//
//   i            item i
//   i | 2^30     item i once more, by the exact loop
//   -1           no item; something handed out before may still fail
//   -2           the end
//
// Where a kernel speculates, a verdict comes back on every word but the end; it
// is read `depth` turns later, depth being that of the feedback channel, whose
// initial tokens stand for the words before the first.  An item with a bad
// verdict is handed out again in that turn, before any new one.  Exact words
// have a good verdict, and so do words that are no items: -1 has bit 30 set.
//
//   turn    1   2   3   4       5   6   7   8
//   word    0   1   2   0|2^30  -1  -1  -1  -2      item 0 fails, depth 3
//
// The next item and its record are fetched a turn before they are handed out, in
// the midst of the copies of the present one, where waiting costs nothing: the
// queue and the plan are in global memory.
//
//   item, record = next_work, load_item, request
//   while {
//     word, its record = verdict bad ? oldest | 2^30, read again : item, record
//     send
//   } do {
//     first copies
//     item, record = next_work, load_item, request      unless a redo left them
//     other copies
//   }
//
// Invariant: the end is sent once, when no item is left and every item that was
// handed out has a good verdict or is the word before.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_ATTNTOPIPE_HANDOUT_H
#define ATTN_LIB_CONVERSION_ATTNTOPIPE_HANDOUT_H

#include "VisitLoop.h"

namespace attn {

constexpr int32_t noItem = -1, endWord = -2, exactBit = 1 << 30;

/// What the role that hands out carries from turn to turn.
struct HandOut {
  llvm::SmallVector<mlir::Value> history; ///< words without a verdict, oldest
                                          ///< first
  mlir::Value next;                       ///< item fetched ahead, or -1
  llvm::SmallVector<mlir::Value> record;  ///< of `next`

  llvm::SmallVector<mlir::Value> values() const;
  /// The same, of the arguments of a block that begin with `values`.
  HandOut at(mlir::ValueRange args) const;
};

/// Where items come from, and verdicts if the kernel speculates.
struct WorkSource {
  mlir::Value plan;
  pipe::WorkOrder order;
  mlir::Value verdicts; ///< the feedback channel, or null
  mlir::Value index;    ///< of the item, as `reads` have it
  llvm::SmallVector<mlir::Operation *> reads; ///< of the plan, in order
  llvm::SmallVector<mlir::Value> record;      ///< results of theirs
};

/// One turn: what is handed out.
struct Turn {
  mlir::Value word;
  llvm::SmallVector<mlir::Value> record; ///< of the word
  mlir::Value fetches; ///< is `next` used up, and may another item follow?
};

/// Before the first turn: no word is open, the first item is fetched.
HandOut startHandOut(mlir::OpBuilder &b, mlir::Location loc,
                     const WorkSource &source);

/// The word to send; its place in the history is taken.
Turn handOut(mlir::OpBuilder &b, mlir::Location loc, const WorkSource &source,
             HandOut &state);

/// The next item and its record if this turn fetches, else what there is.
void fetchNext(mlir::OpBuilder &b, mlir::Location loc, const WorkSource &source,
               mlir::Value fetches, HandOut &state);

/// The branch of a fetch right in front of `op`, or null.
mlir::Operation *fetchBefore(mlir::Operation *op);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_ATTNTOPIPE_HANDOUT_H
