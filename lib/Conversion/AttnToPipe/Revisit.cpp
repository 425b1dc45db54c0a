//===- Revisit.cpp - a visit that overflows is done again, exactly --------===//
//
// A frozen reference holds for almost every row there is, but not for a key far above
// all before it.  The check at the item's end finds such a row when all the work is
// done.  With `redo = visit` the loop itself looks at the sums of each visit, while the
// visit's K is still in its slot:
//
//   exact loop [mid, hi)              rounds (from = hi, mid) {
//   frozen loop [lo, mid)               exact loop [mid, from)
//                             ->        while visits are left and good {
//                                         frozen visit
//                                         good = check_sums
//                                         if not good { QK again; exact visit }
//                                         release K
//                                       }
//                                     } while not good, with the rest exact
//
// So an item pays for one visit more than the exact loop, wherever its rows overflow.
// The PV of the visit before is in O already and needs no second run.
//
// The check at the end stays: O can overflow by V alone.  A sum that is NaN there is
// the row's own.
//
// Invariant: visits, slots and turns of an item are as many as before; what decides is
// the same for all rows of a replica and depends on its live rows alone.
//
//===----------------------------------------------------------------------===//

#include "VisitProducts.h"
#include "attn/Conversion/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace attn {
#define GEN_PASS_DEF_PIPEREVISIT
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Sums that a thread may reach before a weight of f16 overflows.
static constexpr int32_t f16Limit = 15;

namespace {
/// The two full loops of a chain, one behind the other.
class Revisiter {
public:
  Revisiter(VisitLoop exact, VisitLoop frozen, CheckOp check)
      : exact(exact), frozen(frozen), verdict(check),
        descending(frozen.descending), b(frozen.loop),
        loc(frozen.loop.getLoc()), one(frozen.loop.getStep()) {}
  LogicalResult run();

private:
  Value near(VisitLoop loop) { return descending ? loop.hi() : loop.lo(); }
  Value far(VisitLoop loop) { return descending ? loop.lo() : loop.hi(); }
  LogicalResult check();
  void moveBody(VisitLoop from, Block *to, Value index);
  void buildExact(Value from, Value mid, ValueRange state);
  void buildFrozen(Value mid);
  void closeVisit(Block *body, Value index);
  void visitAgain(OpBuilder &in, Value index, Value oldSum);

  VisitLoop exact, frozen;
  CheckOp verdict; ///< the check at the item's end
  bool descending;
  OpBuilder b;
  Location loc;
  Value one;

  VisitLoop exactRest;         ///< the exact loop of a round
  VisitProducts again, inLoop; ///< of the exact and the frozen visit
  RowSumOp sum;                ///< of the frozen visit
  scf::WhileOp visits;         ///< the frozen loop of a round
};
} // namespace

LogicalResult Revisiter::check() {
  FailureOr<VisitProducts> first = findProducts(exact, "redo of a visit");
  FailureOr<VisitProducts> second = findProducts(frozen, "redo of a visit");
  if (failed(first) || failed(second))
    return failure();
  again = *first;
  inLoop = *second;
  auto sums = frozen.loop.getBody()->getOps<RowSumOp>();
  if (!llvm::hasSingleElement(sums))
    return frozen.loop.emitError("redo of a visit needs one sum a visit");
  sum = *sums.begin();
  if (!exact.index() || !frozen.index())
    return frozen.loop.emitError(
        "redo of a visit needs the numbers of the blocks");
  return success();
}

/// Moves a visit's ops; the caller maps what the loop carried.
void Revisiter::moveBody(VisitLoop from, Block *to, Value index) {
  Value old = from.index();
  old.replaceAllUsesWith(index);
  if (descending)
    old.getDefiningOp()->erase();
  to->getOperations().splice(to->end(), from.loop.getBody()->getOperations());
}

void Revisiter::buildExact(Value from, Value mid, ValueRange state) {
  auto [rest, index] = createVisits(b, loc, descending, descending ? mid : from,
                                    descending ? from : mid, one, state);
  rest.loop->setAttr(classAttr, exact.loop->getAttr(classAttr));
  moveBody(exact, rest.loop.getBody(), index);
  for (auto [old, arg] : llvm::zip_equal(exact.loop.getRegionIterArgs(),
                                         rest.loop.getRegionIterArgs()))
    old.replaceAllUsesWith(arg);
  exactRest = rest;
}

/// The else arm: the visit with the row maximum, from its QK on, in `in`.
void Revisiter::visitAgain(OpBuilder &in, Value index, Value oldSum) {
  IRMapping map;
  map.map(exactRest.index(), index);
  map.map(again.key->getResults(), inLoop.key->getResults());
  map.map(again.join.getPayload(), inLoop.join.getPayload());
  auto yield = cast<scf::YieldOp>(exactRest.loop.getBody()->getTerminator());
  for (auto [i, arg] : llvm::enumerate(exactRest.loop.getRegionIterArgs())) {
    // O and P come with the PV that is over; what is left is m and l.
    bool isSum = yield.getOperand(i).getDefiningOp<RowSumOp>() != nullptr;
    map.map(arg, isSum ? oldSum : exactRest.loop.getResult(i));
  }
  for (Operation &op : exactRest.loop.getBody()->without_terminator()) {
    if (op.hasAttr(visitIndexAttr) || again.isLate(&op) || &op == again.key ||
        &op == again.keyRelease ||
        isa<RewriteKVOp, pipe::TakeTurnOp, pipe::PassTurnOp>(op))
      continue;
    in.clone(op, map);
  }
  SmallVector<Value> results;
  for (Value value : yield.getOperands())
    results.push_back(map.lookupOrDefault(value));
  scf::YieldOp::create(in, loc, results);
}

/// Behind a frozen visit: is it good, and if not, once more.
void Revisiter::closeVisit(Block *body, Value index) {
  Operation *end = body->getTerminator();
  // In front of the join of PV, so that the vote is over when the visit is.
  b.setInsertionPointAfter(sum);
  Type p = inLoop.pv().getP().getType();
  int32_t limit = int32_t(verdict.getLimit());
  if (cast<TileType>(p).getElement().isF16())
    limit = std::min(limit, f16Limit);
  Value good =
      CheckSumsOp::create(b, loc, sum.getResult(), verdict.getRows(), limit);
  b.setInsertionPoint(end);
  SmallVector<Value> fast(end->getOperands());
  auto branch = scf::IfOp::create(b, loc, ValueRange(fast).getTypes(), good,
                                  /*withElseRegion=*/true);
  OpBuilder then = branch.getThenBodyBuilder();
  scf::YieldOp::create(then, loc, fast);
  OpBuilder other = branch.getElseBodyBuilder();
  visitAgain(other, index, sum.getL());
  inLoop.keyRelease->moveBefore(end); // the second QK is joined in its arm

  Value next = descending
                   ? index
                   : arith::AddIOp::create(b, loc, index, one).getResult();
  SmallVector<Value> yields{next, good};
  llvm::append_range(yields, branch.getResults());
  scf::YieldOp::create(b, loc, yields);
  end->erase();
}

/// while (h, good, state) { visits are left and good } do { visit }
void Revisiter::buildFrozen(Value mid) {
  ValueRange state = exactRest.loop.getResults();
  Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
  SmallVector<Value> inits{mid, yes};
  llvm::append_range(inits, state);
  SmallVector<Type> types(ValueRange(inits).getTypes());
  SmallVector<Location> locs(types.size(), loc);
  visits = scf::WhileOp::create(b, loc, types, inits);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&visits.getBefore(), {}, types, locs);
  Value left = arith::CmpIOp::create(b, loc,
                                     descending ? arith::CmpIPredicate::sgt
                                                : arith::CmpIPredicate::slt,
                                     before->getArgument(0), far(frozen));
  Value go = arith::AndIOp::create(b, loc, left, before->getArgument(1));
  scf::ConditionOp::create(b, loc, go, before->getArguments());

  Block *body = b.createBlock(&visits.getAfter(), {}, types, locs);
  Value index = body->getArgument(0);
  if (descending)
    index = arith::SubIOp::create(b, loc, index, one);
  moveBody(frozen, body, index);
  // What a good visit leaves as it is (m) is the value from outside: so it is seen not
  // to change while the loop runs.
  for (auto [i, old] : llvm::enumerate(frozen.loop.getRegionIterArgs())) {
    bool kept = body->getTerminator()->getOperand(i) == old;
    old.replaceAllUsesWith(kept ? state[i] : Value(body->getArgument(i + 2)));
  }
  closeVisit(body, index);
}

LogicalResult Revisiter::run() {
  if (failed(check()))
    return failure();
  verdict.setSettled(true);
  Value last = far(frozen);
  SmallVector<Value> inits{near(exact), near(frozen)};
  llvm::append_range(inits, exact.loop.getInitArgs());
  SmallVector<Type> types(ValueRange(inits).getTypes());
  SmallVector<Type> passed(types.begin() + 1, types.end());
  SmallVector<Location> locs(types.size(), loc);
  auto rounds = scf::WhileOp::create(b, loc, passed, inits);

  Block *before = b.createBlock(&rounds.getBefore(), {}, types, locs);
  buildExact(before->getArgument(0), before->getArgument(1),
             before->getArguments().drop_front(2));
  buildFrozen(before->getArgument(1));
  Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
  Value bad = arith::XOrIOp::create(b, loc, visits.getResult(1), yes);
  SmallVector<Value> forwarded{visits.getResult(0)};
  llvm::append_range(forwarded, visits.getResults().drop_front(2));
  scf::ConditionOp::create(b, loc, bad, forwarded);

  locs.pop_back();
  Block *after = b.createBlock(&rounds.getAfter(), {}, passed, locs);
  SmallVector<Value> next{after->getArgument(0), last};
  llvm::append_range(next, after->getArguments().drop_front());
  scf::YieldOp::create(b, loc, next);

  frozen.loop.replaceAllUsesWith(rounds.getResults().drop_front());
  frozen.loop.erase();
  exact.loop.erase();
  return success();
}

static bool isFrozen(VisitLoop loop) {
  return llvm::any_of(loop.loop.getBody()->getOps<ExpOp>(), [](ExpOp op) {
    return op.getReference() == Reference::Frozen;
  });
}

namespace {
struct Revisit : attn::impl::PipeRevisitBase<Revisit> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = getPipeSchedule(kernel, "pipe-revisit");
    if (failed(schedule))
      return signalPassFailure();
    if (kernel.getScheduleAttr().getRedo() != Redo::Visit ||
        kernel.getMergeOfAttr())
      return markAllAnalysesPreserved();
    CheckOp check;
    kernel.walk([&](CheckOp op) { check = op; });
    SmallVector<VisitChain> chains;
    if (!check || failed(findVisitChains(kernel, chains)))
      return check ? signalPassFailure() : markAllAnalysesPreserved();
    for (VisitChain &chain : chains)
      for (size_t i = 0; i < chain.loops.size(); ++i) {
        VisitLoop frozen = chain.loops[i];
        if (!isFrozen(frozen))
          continue;
        VisitLoop exact = i ? chain.loops[i - 1] : VisitLoop();
        if (!exact || isFrozen(exact) ||
            exact.loop->getAttr(classAttr) != frozen.loop->getAttr(classAttr) ||
            frozen.loop.getInitArgs() != ValueRange(exact.loop.getResults())) {
          frozen.loop.emitError(
              "redo of a visit needs an exact loop in front of the frozen one");
          return signalPassFailure();
        }
        if (failed(Revisiter(exact, frozen, check).run()))
          return signalPassFailure();
      }
  }
};
} // namespace
