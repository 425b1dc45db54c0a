//===- HandOut.cpp - work words and who sends them ------------------------===//
//
// See HandOut.h for the words and their order.
//
//   %x:2 = pipe.recv %verdict             a word a replica
//   %word = select(bad, oldest | 2^30, next), or the end
//   %record = scf.if bad { record of the oldest } else { record of next }
//   ...
//   %next, %record = scf.if %fetches { next_work, load_item, request }
//
// Invariant: one next_work a turn at most, and none after it has said -1.
//
//===----------------------------------------------------------------------===//

#include "HandOut.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;

static Value constant(OpBuilder &b, Location loc, int32_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}

SmallVector<Value> HandOut::values() const {
  SmallVector<Value> all(history);
  all.push_back(next);
  all.append(record);
  return all;
}

HandOut HandOut::at(ValueRange args) const {
  HandOut there;
  size_t words = history.size();
  there.history.assign(args.begin(), args.begin() + words);
  there.next = args[words];
  there.record = llvm::to_vector(args.slice(words + 1, record.size()));
  return there;
}

/// The record of an item; of none, for an index below 0.
static SmallVector<Value> readRecord(OpBuilder &b, const WorkSource &source,
                                     Value index) {
  IRMapping map;
  map.map(source.index, index);
  for (Operation *op : source.reads)
    b.clone(*op, map);
  SmallVector<Value> record;
  for (Value value : source.record)
    record.push_back(map.lookup(value));
  return record;
}

static void fetch(OpBuilder &b, Location loc, const WorkSource &source,
                  Value previous, HandOut &state) {
  state.next = pipe::NextWorkOp::create(b, loc, b.getI32Type(), source.plan,
                                        previous, source.order,
                                        /*merges=*/false);
  state.record = readRecord(b, source, state.next);
}

HandOut attn::startHandOut(OpBuilder &b, Location loc,
                           const WorkSource &source) {
  HandOut state;
  Value none = constant(b, loc, noItem);
  if (source.verdicts) {
    auto type = cast<pipe::ChannelType>(source.verdicts.getType());
    state.history.assign(type.getDepth(), none);
  }
  fetch(b, loc, source, none, state);
  return state;
}

void attn::fetchNext(OpBuilder &b, Location loc, const WorkSource &source,
                     Value fetches, HandOut &state) {
  SmallVector<Value> old{state.next};
  old.append(state.record);
  auto branch = scf::IfOp::create(b, loc, ValueRange(old).getTypes(), fetches,
                                  /*withElseRegion=*/true);
  OpBuilder then = branch.getThenBodyBuilder();
  HandOut fresh;
  fetch(then, loc, source, state.next, fresh);
  scf::YieldOp::create(then, loc, fresh.values());
  OpBuilder other = branch.getElseBodyBuilder();
  scf::YieldOp::create(other, loc, old);
  state.next = branch.getResult(0);
  state.record = llvm::to_vector_of<Value>(branch.getResults().drop_front());
}

Operation *attn::fetchBefore(Operation *op) {
  auto branch = dyn_cast_or_null<scf::IfOp>(op->getPrevNode());
  if (branch && !branch.thenBlock()->getOps<pipe::NextWorkOp>().empty())
    return branch;
  return nullptr;
}

Turn attn::handOut(OpBuilder &b, Location loc, const WorkSource &source,
                   HandOut &state) {
  auto compare = [&](arith::CmpIPredicate predicate, Value x,
                     Value y) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  };
  Value zero = constant(b, loc, 0);
  Value next = state.next, due = next, bad;
  Turn turn;
  turn.record = state.record;
  if (source.verdicts) {
    auto verdict = pipe::RecvOp::create(b, loc, source.verdicts);
    Value any = verdict.getWords().front();
    for (Value word : verdict.getWords().drop_front())
      any = arith::OrIOp::create(b, loc, any, word);
    bad = compare(arith::CmpIPredicate::ne, any, zero);
    Value flag = constant(b, loc, exactBit);
    Value redo = arith::OrIOp::create(b, loc, state.history.front(), flag);
    due = arith::SelectOp::create(b, loc, bad, redo, next);
    auto branch =
        scf::IfOp::create(b, loc, ValueRange(state.record).getTypes(), bad,
                          /*withElseRegion=*/true);
    OpBuilder then = branch.getThenBodyBuilder();
    scf::YieldOp::create(then, loc, readRecord(then, source, redo));
    OpBuilder other = branch.getElseBodyBuilder();
    scf::YieldOp::create(other, loc, state.record);
    turn.record = llvm::to_vector_of<Value>(branch.getResults());
  }

  // The end: nothing to hand out, and the words not judged yet are no items.
  Value last = compare(arith::CmpIPredicate::slt, due, zero);
  if (state.history.size() > 1) {
    Value open = state.history[1];
    for (Value word : llvm::drop_begin(state.history, 2))
      open = arith::AndIOp::create(b, loc, open, word);
    Value closed = compare(arith::CmpIPredicate::slt, open, zero);
    last = arith::AndIOp::create(b, loc, last, closed);
  }
  Value end = constant(b, loc, endWord);
  turn.word = arith::SelectOp::create(b, loc, last, end, due);

  // A redo leaves the item that was fetched for later.
  turn.fetches = compare(arith::CmpIPredicate::sge, next, zero);
  if (source.verdicts) {
    Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
    Value good = arith::XOrIOp::create(b, loc, bad, yes);
    turn.fetches = arith::AndIOp::create(b, loc, turn.fetches, good);
    state.history.erase(state.history.begin());
    state.history.push_back(turn.word);
  }
  return turn;
}
