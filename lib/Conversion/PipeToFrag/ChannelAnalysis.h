//===- ChannelAnalysis.h - waits and barriers of one role -------*- C++ -*-===//
//
// What the single-role lowering has to know about the channels of a kernel
// before it writes anything:
//
//   pending   wait on k: one younger group (v) may stay in flight -> 1
//   sync      acquire q: the slot may still be read by other warps -> barrier
//   leader    k and v move in step -> one position is threaded for both
//
// It is an abstract run over L2: arms are joined, loops run to a fixed point.
// Every answer is on the safe side: a smaller `pending`, a barrier more.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_PIPETOFRAG_CHANNELANALYSIS_H
#define ATTN_LIB_CONVERSION_PIPETOFRAG_CHANNELANALYSIS_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace attn {

class ChannelAnalysis {
public:
  /// Runs over `body`, the region of the one role.  Fails with an error on an
  /// op that is not structured control flow.
  mlir::LogicalResult run(llvm::ArrayRef<pipe::ChannelOp> channels,
                          mlir::Block &body);

  /// Groups younger than the awaited one that may stay in flight.
  int32_t pending(pipe::WaitOp op) const { return pendings.lookup(op); }
  bool needsSync(pipe::AcquireOp op) const { return syncs.contains(op); }
  /// The channel whose position stands for this one's.
  unsigned leader(unsigned channel) const { return leaders[channel]; }
  unsigned indexOf(mlir::Value channel) const {
    return indices.lookup(channel);
  }

private:
  struct Channel {
    /// One entry a committed slot that is not awaited yet, oldest first: the
    /// number of groups committed after it.
    llvm::SmallVector<int32_t, 4> ages;
    int32_t held = 0;  ///< slots acquired and not given back
    int32_t dirty = 0; ///< given back since the last barrier
    bool operator==(const Channel &o) const {
      return ages == o.ages && held == o.held && dirty == o.dirty;
    }
    void join(const Channel &o);
  };
  using State = llvm::SmallVector<Channel, 4>;

  static void join(State &a, const State &b);
  mlir::LogicalResult runBlock(mlir::Block &block, State &state);
  mlir::LogicalResult runOp(mlir::Operation *op, State &state);
  mlir::LogicalResult runLoop(llvm::ArrayRef<mlir::Block *> blocks,
                              State &state);
  void barrier(State &state);
  bool moveInStep(unsigned a, unsigned b, mlir::Block &block) const;
  bool touches(mlir::Operation *op, unsigned a, unsigned b) const;

  llvm::SmallVector<int32_t> depths;
  llvm::SmallVector<unsigned> leaders;
  /// Is every payload read into registers right after its wait?
  llvm::SmallVector<bool> registers;
  llvm::DenseMap<mlir::Value, unsigned> indices;
  llvm::DenseMap<mlir::Operation *, int32_t> pendings;
  llvm::DenseSet<mlir::Operation *> syncs;
};

} // namespace attn

#endif // ATTN_LIB_CONVERSION_PIPETOFRAG_CHANNELANALYSIS_H
