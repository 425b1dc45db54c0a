//===- SameRole.cpp - channels of a CTA that is one role ------------------===//
//
//   pipe.acquire %k            -> nothing (or a barrier, see ChannelAnalysis)
//   pipe.commit                -> frag.cp_async_commit
//   pipe.wait %k               -> frag.cp_async_wait pending n; frag.cta_sync
//   pipe.release               -> nothing
//
// With one role the order of the text is the order of time, so a release needs
// no signal: the barrier of the next wait, which every warp reaches after its
// last read of the slot, stands before the next copy into it.  Waits that
// follow each other share one barrier.
//
// Channels that move in step share their positions; a ring of one slot has one
// position, which never moves: nothing reads phases here.
//
//===----------------------------------------------------------------------===//

#include "Channels.h"

using namespace mlir;
using namespace attn;

LogicalResult SameRole::declare(pipe::ChannelOp op) {
  auto type = op.getResult().getType();
  auto tile = dyn_cast<TileType>(type.getPayload());
  if (!tile)
    return op.emitOpError() << "payload " << type.getPayload()
                            << " is not built for level L3 (known: tiles)";
  auto ring = makeRing(op, tile);
  if (!ring)
    return failure();
  rings.push_back(ring);
  unsigned leader = analysis.leader(analysis.indexOf(op.getResult()));
  Value pos = makePosition(type.getDepth(), /*phase=*/0, op.getLoc());
  bool fixed = type.getDepth() == 1;
  positions.push_back({pos, 2 * leader, fixed});     // of the next acquire
  positions.push_back({pos, 2 * leader + 1, fixed}); // of the next wait
  return success();
}

void SameRole::movedBy(Operation *op, SmallVectorImpl<unsigned> &moved) {
  if (auto acquire = dyn_cast<pipe::AcquireOp>(op))
    moved.push_back(2 * analysis.indexOf(acquire.getChannel()));
  else if (auto wait = dyn_cast<pipe::WaitOp>(op))
    moved.push_back(2 * analysis.indexOf(wait.getChannel()) + 1);
}

SlotTile SameRole::acquire(pipe::AcquireOp op) {
  unsigned index = analysis.indexOf(op.getChannel());
  if (analysis.needsSync(op))
    frag::CtaSyncOp::create(b, op.getLoc());
  return {rings[index], advance(2 * index, op.getLoc()), index};
}

LogicalResult SameRole::commit(pipe::CommitOp op, const SlotTile &) {
  frag::CpAsyncCommitOp::create(b, op.getLoc());
  return success();
}

SlotTile SameRole::wait(pipe::WaitOp op) {
  unsigned index = analysis.indexOf(op.getChannel());
  // The first of a run of waits waits for all of them.
  if (!isa_and_nonnull<pipe::WaitOp>(op->getPrevNode())) {
    int32_t pending = analysis.pending(op);
    for (Operation *other = op->getNextNode(); isa<pipe::WaitOp>(other);
         other = other->getNextNode())
      pending = std::min(pending, analysis.pending(cast<pipe::WaitOp>(other)));
    frag::CpAsyncWaitOp::create(b, op.getLoc(), pending);
    frag::CtaSyncOp::create(b, op.getLoc());
  }
  return {rings[index], advance(2 * index + 1, op.getLoc()), index};
}
