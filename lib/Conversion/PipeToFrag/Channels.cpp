//===- Channels.cpp - rings and the positions in them ---------------------===//
//
//   scf.for ... iter_args(%O)   ->   scf.for ... iter_args(%O, %consume)
//     pipe.wait %k                     use of %ring[%consume]
//                                      %further = frag.next %consume
//                                      scf.yield ..., %further
//
// A position is threaded through exactly the loops and branches that move it.
//
//===----------------------------------------------------------------------===//

#include "Channels.h"

#include "attn/Layout/Padding.h"

using namespace mlir;
using namespace attn;

bool attn::heldInRegisters(Value channel) {
  auto kernel = channel.getDefiningOp()->getParentOfType<KernelOp>();
  auto schedule =
      dyn_cast_or_null<pipe::ScheduleAttr>(kernel.getSchedule()->getPipe());
  if (!schedule || schedule.getAtom("qk") == mmaShared)
    return false;
  for (Operation *user : channel.getUsers())
    if (auto wait = dyn_cast<pipe::WaitOp>(user))
      for (OpOperand &use : wait.getPayload().getUses()) {
        auto qk = dyn_cast<QKOp>(use.getOwner());
        if (!qk || use.getOperandNumber() != 0)
          return false;
      }
  return true;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value Channels::makePosition(int32_t slots, int32_t phase, Location loc) {
  return frag::PosOp::create(b, loc, frag::PosType::get(b.getContext(), slots),
                             phase);
}

Value Channels::advance(unsigned position, Location loc) {
  Position &p = positions[position];
  Value before = p.value;
  if (p.fixed)
    return before;
  // Positions that are always equal ask twice.
  for (Operation *user : before.getUsers())
    if (isa<frag::NextOp>(user) && user->getBlock() == b.getInsertionBlock()) {
      p.value = user->getResult(0);
      return before;
    }
  p.value = frag::NextOp::create(b, loc, before.getType(), before);
  return before;
}

SmallVector<unsigned> Channels::movedIn(Operation *op) {
  SmallVector<unsigned> moved;
  op->walk([&](Operation *inner) { movedBy(inner, moved); });
  llvm::erase_if(moved, [&](unsigned i) {
    return positions[i].fixed || positions[i].leader != i;
  });
  llvm::sort(moved);
  moved.erase(llvm::unique(moved), moved.end());
  return moved;
}

void Channels::set(ArrayRef<unsigned> which, ValueRange values) {
  for (auto [i, value] : llvm::zip_equal(which, values))
    positions[i].value = value;
  for (Position &p : positions)
    if (p.value)
      p.value = positions[p.leader].value;
}

//===----------------------------------------------------------------------===//
// Storage, and what is refused
//===----------------------------------------------------------------------===//

frag::SmemOp Channels::makeRing(pipe::ChannelOp op, TileType tile) {
  // Products read all columns of a slot.
  unsigned cols = layout::productColumns(tile.getCols());
  unsigned bytes = cols * tile.getElement().getIntOrFloatBitWidth() / 8;
  auto type = frag::RingType::getChecked(
      [&] { return op.emitOpError(); }, b.getContext(), tile.getRows(),
      int32_t(cols), tile.getElement(),
      int32_t(layout::Swizzle::tightest(bytes)),
      op.getResult().getType().getDepth());
  if (!type)
    return {};
  return frag::SmemOp::create(b, op.getLoc(), type, op.getName(),
                              /*offset=*/-1);
}

static LogicalResult notInOneRole(Operation *op) {
  return op->emitOpError("is not built for one role at level L3");
}

LogicalResult Channels::join(pipe::JoinOp op, const SlotTile &) {
  return notInOneRole(op);
}
LogicalResult Channels::send(pipe::SendOp op, ValueRange) {
  return notInOneRole(op);
}
FailureOr<ValueRange> Channels::recv(pipe::RecvOp op) {
  return notInOneRole(op);
}
