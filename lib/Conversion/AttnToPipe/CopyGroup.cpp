//===- CopyGroup.cpp - the copies of one visit ----------------------------===//
//
// See CopyGroup.h for what a group is.
//
// Invariant: ops are collected in the order of their block.
//
//===----------------------------------------------------------------------===//

#include "CopyGroup.h"

using namespace mlir;
using namespace attn;

/// True if `op` takes a slot of the channel, or an arm of it does.
static bool fills(Operation *op, StringRef name) {
  return op
      ->walk([&](pipe::AcquireOp acquire) {
        auto channel = acquire.getChannel().getDefiningOp<pipe::ChannelOp>();
        bool found = channel && (name.empty() || channel.getName() == name);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

SmallVector<Operation *> attn::fillsOf(Block *block, StringRef channel) {
  llvm::SmallPtrSet<Operation *, 16> members;
  for (Operation &op : *block) {
    if (isa<pipe::AcquireOp, scf::IfOp>(op) && fills(&op, channel))
      members.insert(&op);
    auto commit = dyn_cast<pipe::CommitOp>(op);
    if (!commit || !members.contains(commit.getSlot().getDefiningOp()))
      continue;
    members.insert(commit);
    for (Value future : commit.getFutures())
      members.insert(future.getDefiningOp());
  }
  SmallVector<Operation *> ops;
  for (Operation &op : *block)
    if (members.contains(&op))
      ops.push_back(&op);
  return ops;
}

FailureOr<CopyGroup> attn::collectCopies(VisitLoop loop, StringRef channel) {
  CopyGroup group;
  group.index = loop.index();
  if (!group.index)
    return loop.loop.emitError("visit loop has lost its pipe.visit_index");
  Block *body = loop.loop.getBody();
  group.ops = fillsOf(body, channel);
  // What the copies use from the body, down to the index.
  llvm::SmallPtrSet<Operation *, 16> needed;
  SmallVector<Value> todo;
  auto addOperands = [&](Operation *op) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        todo.push_back(operand);
    });
  };
  for (Operation *op : group.ops)
    addOperands(op);
  while (!todo.empty()) {
    Value value = todo.pop_back_val();
    if (value == group.index || value.getParentBlock() != body)
      continue;
    Operation *def = value.getDefiningOp();
    if (def && llvm::is_contained(group.ops, def))
      continue;
    if (!def || !isPure(def))
      return loop.loop.emitError(
          "copies depend on more than the index of the visit");
    if (needed.insert(def).second)
      addOperands(def);
  }
  for (Operation &op : *body)
    if (needed.contains(&op))
      group.slice.push_back(&op);
  return group;
}

void attn::cloneCopies(OpBuilder &b, const CopyGroup &group, Value index) {
  IRMapping map;
  map.map(group.index, index);
  for (Operation *op : group.slice)
    b.clone(*op, map);
  for (Operation *op : group.ops)
    b.clone(*op, map);
}

void attn::eraseCopies(const CopyGroup &group) {
  for (Operation *op : llvm::reverse(group.ops))
    op->erase();
  for (Operation *op : llvm::reverse(group.slice))
    if (op->use_empty())
      op->erase();
}
