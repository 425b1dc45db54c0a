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
// The next item is fetched a turn before it is handed out, so that the queue's
// latency is spent while the present item is copied.
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

  llvm::SmallVector<mlir::Value> values() const {
    llvm::SmallVector<mlir::Value> all(history);
    all.push_back(next);
    return all;
  }
};

/// Where items come from, and verdicts if the kernel speculates.
struct WorkSource {
  mlir::Value plan;
  pipe::WorkOrder order;
  mlir::Value verdicts; ///< the feedback channel, or null
};

/// Before the first turn: no word is open, the first item is fetched.
HandOut startHandOut(mlir::OpBuilder &b, mlir::Location loc,
                     const WorkSource &source);

/// One turn: the word to send, and in `state` what the next turn starts from.
mlir::Value handOut(mlir::OpBuilder &b, mlir::Location loc,
                    const WorkSource &source, HandOut &state);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_ATTNTOPIPE_HANDOUT_H
