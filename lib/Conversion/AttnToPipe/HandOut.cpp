//===- HandOut.cpp - work words and who sends them ------------------------===//
//
// See HandOut.h for the words and their order.
//
//   %x:2 = pipe.recv %verdict             a word a replica
//   %word = select(bad, oldest | 2^30, next), or the end
//   %next = pipe.next_work ... after %next
//
// Invariant: one next_work a turn at most, and none after it has said -1.
//
//===----------------------------------------------------------------------===//

#include "HandOut.h"

using namespace mlir;
using namespace attn;

static Value constant(OpBuilder &b, Location loc, int32_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}

static Value fetch(OpBuilder &b, Location loc, const WorkSource &source,
                   Value previous) {
  return pipe::NextWorkOp::create(b, loc, b.getI32Type(), source.plan, previous,
                                  source.order, /*merges=*/false);
}

HandOut attn::startHandOut(OpBuilder &b, Location loc,
                           const WorkSource &source) {
  HandOut state;
  Value none = constant(b, loc, noItem);
  if (source.verdicts) {
    auto type = cast<pipe::ChannelType>(source.verdicts.getType());
    state.history.assign(type.getDepth(), none);
  }
  state.next = fetch(b, loc, source, none);
  return state;
}

Value attn::handOut(OpBuilder &b, Location loc, const WorkSource &source,
                    HandOut &state) {
  auto compare = [&](arith::CmpIPredicate predicate, Value x,
                     Value y) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  };
  Value zero = constant(b, loc, 0);
  Value next = state.next, due = next, bad;
  if (source.verdicts) {
    auto verdict = pipe::RecvOp::create(b, loc, source.verdicts);
    Value any = verdict.getWords().front();
    for (Value word : verdict.getWords().drop_front())
      any = arith::OrIOp::create(b, loc, any, word);
    bad = compare(arith::CmpIPredicate::ne, any, zero);
    Value flag = constant(b, loc, exactBit);
    Value redo = arith::OrIOp::create(b, loc, state.history.front(), flag);
    due = arith::SelectOp::create(b, loc, bad, redo, next);
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
  Value word = arith::SelectOp::create(b, loc, last, end, due);

  // A redo leaves the item that was fetched for later.
  Value more = compare(arith::CmpIPredicate::sge, next, zero);
  if (bad) {
    Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
    Value good = arith::XOrIOp::create(b, loc, bad, yes);
    more = arith::AndIOp::create(b, loc, more, good);
  }
  auto branch = scf::IfOp::create(b, loc, TypeRange{b.getI32Type()}, more,
                                  /*withElseRegion=*/true);
  OpBuilder then = branch.getThenBodyBuilder();
  scf::YieldOp::create(then, loc, ValueRange{fetch(then, loc, source, next)});
  OpBuilder other = branch.getElseBodyBuilder();
  scf::YieldOp::create(other, loc, ValueRange{next});
  state.next = branch.getResult(0);
  if (source.verdicts) {
    state.history.erase(state.history.begin());
    state.history.push_back(word);
  }
  return word;
}
