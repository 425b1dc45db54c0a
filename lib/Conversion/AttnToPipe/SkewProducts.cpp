//===- SkewProducts.cpp - the second product one visit later --------------===//
//
// With `skew = {pv = 1}` a visit issues its QK beside the PV of the visit before,
// and does its softmax under both.
//
//   for visits {                          QK(first); softmax
//     QK(j); softmax; PV(j)        ->     for the rest {
//   }                                       QK(j), PV(before); softmax; join PV
//                                         }
//                                         PV(last)
//
// The first visit is the masked one if its block is partial; it takes the
// maximum.  What is left of the segments is theirs cut at that block, so the run
// stays contiguous:  descending from bn,  b_i -> min(b_i, bn - 1).
//
// What PV reads of its visit is carried: P, and O as the visit has rescaled it.
// Both are made behind the join of the PV before, which reads their registers.  A
// hook on V goes with its PV, and the first key of its block is carried for it.
//
// The role that copies does the same with V:  K(first); {K(j) V(before)}; V(last),
// so that both sides take the channels in one order and no depth is too small.
//
// Invariant: as many QK as PV, in visiting order, over the borders of segments.
//
//===----------------------------------------------------------------------===//

#include "CopyGroup.h"
#include "HandOut.h"
#include "VisitProducts.h"
#include "attn/Conversion/Passes.h"

namespace attn {
#define GEN_PASS_DEF_PIPESKEWPRODUCTS
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// The role that copies
//===----------------------------------------------------------------------===//

/// K(first); for the rest { K(j); V(before) }; V(last)
static LogicalResult skewCopies(VisitLoop old) {
  StringRef valueChannel = channelOf(TensorRole::Value);
  FailureOr<CopyGroup> all = collectCopies(old);
  FailureOr<CopyGroup> late = collectCopies(old, valueChannel);
  FailureOr<CopyGroup> early = collectCopies(old, channelOf(TensorRole::Key));
  if (failed(all) || failed(late) || failed(early))
    return failure();
  // The fetch of the next item waits, so K(first) goes in front of it.
  Operation *fetch = fetchBefore(old.loop);
  OpBuilder b(fetch ? fetch : old.loop);
  Location loc = old.loop.getLoc();
  bool descending = old.descending;
  Value one = old.loop.getStep();
  Value first = firstVisit(b, loc, descending, old.lo(), old.hi(), one);
  Value last = lastVisit(b, loc, descending, old.lo(), old.hi(), one);
  cloneCopies(b, *early, first);
  b.setInsertionPoint(old.loop);
  Value lo = old.lo(), hi = old.hi();
  if (descending)
    hi = first;
  else
    lo = arith::AddIOp::create(b, loc, first, one);
  auto [rest, index] = createVisits(b, loc, descending, lo, hi, one);
  b.setInsertionPoint(rest.loop.getBody()->getTerminator());
  cloneCopies(b, *early, index);
  Value before = descending ? Value(arith::AddIOp::create(b, loc, index, one))
                            : Value(arith::SubIOp::create(b, loc, index, one));
  cloneCopies(b, *late, before);
  b.setInsertionPointAfter(rest.loop);
  cloneCopies(b, *late, last);
  Operation *top =
      descending ? old.index().getDefiningOp()->getOperand(0).getDefiningOp()
                 : nullptr;
  old.loop.erase();
  while (top && top->use_empty()) {
    Operation *sum = top->getOperand(0).getDefiningOp();
    top->erase();
    top = sum && isa<arith::AddIOp>(sum) ? sum : nullptr;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The role that computes
//===----------------------------------------------------------------------===//

namespace {
/// The values that a visit hands on.
struct Carried {
  SmallVector<Value> state; ///< as the loops carry it
  Value p;                  ///< weights of the last visit
  Value k0;                 ///< its first key, if a hook rewrites V; or null

  /// What the loops carry beside the state.
  SmallVector<Value, 2> extra() const {
    return k0 ? SmallVector<Value, 2>{p, k0} : SmallVector<Value, 2>{p};
  }
};

class ComputeSkewer {
public:
  explicit ComputeSkewer(const VisitChain &chain)
      : loops(chain.loops), descending(chain.descending), begin(chain.first),
        end(chain.last), front(loops[0].loop), block(front->getBlock()),
        b(front), loc(front.getLoc()) {}
  LogicalResult run();

private:
  Value isPartial();
  LogicalResult peelFirst();
  LogicalResult shareConstants(VisitLoop loop, IRMapping &map);
  void cutBorders(Operation *from);
  void dropPrefix();
  LogicalResult rotate(VisitLoop loop);
  void finish();

  SmallVector<VisitLoop, 3> loops;
  bool descending;
  Value begin, end; ///< borders where the visits begin and end
  scf::ForOp front;
  Block *block; ///< that the loops stand in
  OpBuilder b;
  Location loc;

  VisitProducts model; ///< of the visit that is peeled
  unsigned acc = 0;    ///< number of O in the state
  Value first;         ///< block of the first visit
  Carried carried;
};
} // namespace

/// Is the first visit's block in no full segment?  Null if no segment is full.
Value ComputeSkewer::isPartial() {
  auto isFull = [](VisitLoop loop) {
    auto kind = loop.loop->getAttrOfType<StringAttr>(classAttr);
    return kind && kind.getValue() == stringifyBlockClass(BlockClass::Full);
  };
  Value partial;
  auto outside = [&](arith::CmpIPredicate predicate, Value border) {
    Value out = arith::CmpIOp::create(b, loc, predicate, first, border);
    partial = partial ? Value(arith::OrIOp::create(b, loc, partial, out)) : out;
  };
  for (size_t i = 0, n = loops.size(); i < n; ++i) {
    if (!isFull(loops[i]))
      continue;
    size_t last = i; // loops of one segment share its outer borders
    while (last + 1 < n && isFull(loops[last + 1]))
      ++last;
    Value near = descending ? loops[i].hi() : loops[i].lo();
    Value far = descending ? loops[last].lo() : loops[last].hi();
    // Nothing is visible beyond the ends of the run.
    if (near != begin)
      outside(descending ? arith::CmpIPredicate::sge
                         : arith::CmpIPredicate::slt,
              near);
    if (far != end)
      outside(descending ? arith::CmpIPredicate::slt
                         : arith::CmpIPredicate::sge,
              far);
    i = last;
  }
  return partial;
}

/// Constants beside a later loop that its body uses, for a clone of the body.
LogicalResult ComputeSkewer::shareConstants(VisitLoop loop, IRMapping &map) {
  WalkResult result = loop.loop.getBody()->walk([&](Operation *op) {
    if (op->hasAttr(visitIndexAttr))
      return WalkResult::advance();
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!def || def->getBlock() != block || map.contains(operand) ||
          def->isBeforeInBlock(&*b.getInsertionPoint()))
        continue;
      if (!isa<arith::ConstantOp>(def))
        return WalkResult(
            op->emitError("a visit depends on more than its index"));
      b.clone(*def, map);
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// A visit of `first` by itself, without its PV.
LogicalResult ComputeSkewer::peelFirst() {
  Value partial = isPartial();
  // The masked loop is the model: it takes the maximum, and a full block is one
  // whose mask is left out.
  VisitLoop loop = loops[0];
  for (VisitLoop candidate : llvm::reverse(loops))
    if (!candidate.loop.getBody()->getOps<ApplyMaskOp>().empty())
      loop = candidate;
  FailureOr<VisitProducts> found = findProducts(loop, "skew of pv");
  if (failed(found))
    return failure();
  model = *found;
  PVOp product = model.pv();

  IRMapping map;
  map.map(loop.index(), first);
  StateInitOp unit;
  for (auto [arg, init] :
       llvm::zip_equal(loop.loop.getRegionIterArgs(), front.getInitArgs())) {
    map.map(arg, init);
    if (auto op = init.getDefiningOp<StateInitOp>())
      unit = op;
  }
  if (failed(shareConstants(loop, map)))
    return failure();
  auto isUnit = [&](Value value) {
    return unit && map.lookupOrDefault(value).getDefiningOp() == unit;
  };
  for (Operation &op : loop.loop.getBody()->without_terminator()) {
    if (op.hasAttr(visitIndexAttr) || model.isLate(&op))
      continue;
    if (auto mask = dyn_cast<ApplyMaskOp>(op); mask && partial) {
      auto branch = scf::IfOp::create(b, loc, TypeRange{mask.getType()},
                                      partial, /*withElseRegion=*/true);
      OpBuilder then = branch.getThenBodyBuilder();
      Operation *masked = then.clone(op, map);
      scf::YieldOp::create(then, loc, masked->getResults());
      OpBuilder other = branch.getElseBodyBuilder();
      scf::YieldOp::create(other, loc, map.lookup(mask.getTile()));
      map.map(mask.getResult(), branch.getResult(0));
      continue;
    }
    // The unit, scaled, is the unit.
    auto scaled = dyn_cast<RescaleOp>(op);
    if (scaled && isUnit(scaled.getTile())) {
      map.map(scaled.getResult(), map.lookup(scaled.getTile()));
      continue;
    }
    Operation *clone = b.clone(op, map);
    auto sum = dyn_cast<RowSumOp>(clone);
    if (sum && sum.getAlpha() && isUnit(sum.getL())) {
      Operation *alpha = sum.getAlpha().getDefiningOp();
      sum.getAlphaMutable().clear();
      if (alpha->use_empty())
        alpha->erase();
    }
    // What is held over the loops is released by the first reader's token.
    auto join = dyn_cast<pipe::JoinOp>(clone);
    auto issue = join ? join.getFuture().getDefiningOp<pipe::IssueOp>()
                      : pipe::IssueOp();
    if (!issue)
      continue;
    issue.walk([&](QKOp qk) {
      if (pipe::ReleaseOp release = releaseBeside(front, qk.getQuery()))
        release.getDoneMutable().append(join.getDone());
    });
  }
  for (auto [i, value] :
       llvm::enumerate(loop.loop.getBody()->getTerminator()->getOperands())) {
    bool isAcc = value == model.join.getPayload();
    acc = isAcc ? unsigned(i) : acc;
    carried.state.push_back(
        map.lookupOrDefault(isAcc ? product.getAcc() : value));
  }
  carried.p = map.lookupOrDefault(product.getP());
  if (model.rewrite)
    carried.k0 = map.lookupOrDefault(model.rewrite.getK0());
  return success();
}

/// The segments without the first visit.  Borders are operands of the loops, of
/// exact_prefix, and of the sums and differences beside them.
void ComputeSkewer::cutBorders(Operation *from) {
  Value rest = first;
  if (!descending)
    rest = arith::AddIOp::create(b, loc, first, front.getStep());
  llvm::DenseMap<Value, Value> cut{{begin, rest}, {end, end}};
  for (VisitLoop loop : loops)
    for (Value border : {loop.lo(), loop.hi()}) {
      if (cut.contains(border) ||
          block->getParent()->isAncestor(border.getParentRegion()))
        continue;
      cut[border] = descending
                        ? Value(arith::MinSIOp::create(b, loc, border, rest))
                        : Value(arith::MaxSIOp::create(b, loc, border, rest));
    }
  for (Operation &op : llvm::make_range(Block::iterator(from), block->end())) {
    bool holdsBorders = asVisitLoop(&op) ||
                        isa<ExactPrefixOp, arith::AddIOp, arith::SubIOp>(op);
    if (holdsBorders)
      for (OpOperand &operand : op.getOpOperands())
        if (Value border = cut.lookup(operand.get());
            border && !(asVisitLoop(&op) && operand.getOperandNumber() > 1))
          operand.set(border);
    // What the visits began with has become what the first one left.
    for (auto [init, state] : llvm::zip_equal(
             SmallVector<Value>(front.getInitArgs()), carried.state))
      if (&op != front)
        op.replaceUsesOfWith(init, state);
  }
  front.getInitArgsMutable().assign(carried.state);
}

/// Without a mask every row has a reference behind the first visit.  A row whose
/// scores a hook made -inf has none and is found by the check like any other, so
/// nobody asks.
void ComputeSkewer::dropPrefix() {
  auto kernel = front->getParentOfType<KernelOp>();
  if (kernel.getVariant() && kernel.getVariant().getHook(HookKind::Mask))
    return;
  for (ExactPrefixOp op :
       llvm::make_early_inc_range(block->getOps<ExactPrefixOp>())) {
    OpBuilder at(op);
    Value blocks =
        arith::SubIOp::create(at, op.getLoc(), op.getHi(), op.getLo());
    Value zero = arith::ConstantIntOp::create(at, op.getLoc(), 0, 32);
    op.replaceAllUsesWith(Value(
        arith::SelectOp::create(at, op.getLoc(), op.getExact(), blocks, zero)));
    op.erase();
  }
}

/// QK(j) beside PV of the visit before, whose P and O the loop carries.
LogicalResult ComputeSkewer::rotate(VisitLoop old) {
  FailureOr<VisitProducts> found = findProducts(old, "skew of pv");
  if (failed(found))
    return failure();
  VisitProducts late = *found;
  PVOp product = late.pv();
  b.setInsertionPoint(old.loop);
  SmallVector<Value> inits(old.loop.getInitArgs());
  llvm::append_range(inits, carried.extra());
  auto loop =
      scf::ForOp::create(b, loc, old.lo(), old.hi(), old.loop.getStep(), inits);
  loop->setDiscardableAttrs(old.loop->getDiscardableAttrDictionary());
  Block *body = loop.getBody();
  body->clear();
  body->getOperations().splice(body->end(),
                               old.loop.getBody()->getOperations());
  for (auto [from, to] :
       llvm::zip(old.loop.getBody()->getArguments(), body->getArguments()))
    from.replaceAllUsesWith(to);
  Value oldO = loop.getRegionIterArg(acc);
  unsigned states = old.loop.getNumResults();
  Value oldP = loop.getRegionIterArg(states);

  // In this body O meant the sum up to the visit before: that is what PV, which
  // now belongs to that visit, gives.
  Value p = product.getP(), o = product.getAcc();
  Value joined = late.join.getPayload();
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  oldO.replaceAllUsesWith(joined);
  o = o == oldO ? joined : o;
  yield.setOperand(acc, o);
  yield.getResultsMutable().append(p);
  if (late.rewrite) {
    yield.getResultsMutable().append(late.rewrite.getK0());
    late.rewrite.getK0Mutable().assign(loop.getRegionIterArg(states + 1));
  }
  product.getPMutable().assign(oldP);
  product.getAccMutable().assign(oldO);

  late.wait->moveAfter(late.qk);
  late.issue->moveAfter(late.wait);
  if (late.rewrite)
    late.rewrite->moveAfter(late.wait);
  // P and O are in use until the join, so their successors are made behind it.
  Operation *behind = late.release;
  for (Value value : {p, o}) {
    Operation *def = value.getDefiningOp();
    if (def && def != late.join && def->getBlock() == body &&
        def->isBeforeInBlock(behind))
      behind = def;
  }
  if (behind != late.release) {
    late.join->moveBefore(behind);
    late.release->moveBefore(behind);
  }
  old.loop.replaceAllUsesWith(loop.getResults().take_front(states));
  carried.state = SmallVector<Value>(loop->getResults().take_front(states));
  carried.p = loop.getResult(states);
  if (late.rewrite)
    carried.k0 = loop.getResult(states + 1);
  old.loop.erase();
  return success();
}

/// The last visit's PV, behind all loops.
void ComputeSkewer::finish() {
  Operation *yield = block->getTerminator();
  b.setInsertionPoint(yield);
  IRMapping map;
  map.map(model.pv().getP(), carried.p);
  map.map(model.pv().getAcc(), carried.state[acc]);
  if (model.rewrite)
    map.map(model.rewrite.getK0(), carried.k0);
  for (Operation *op : {model.wait.getOperation(), model.rewrite.getOperation(),
                        model.issue.getOperation(), model.join.getOperation(),
                        model.release.getOperation()})
    if (op)
      b.clone(*op, map);
  yield->replaceUsesOfWith(carried.state[acc],
                           map.lookup(model.join.getPayload()));
}

LogicalResult ComputeSkewer::run() {
  // Behind the waits for what all visits share.
  Operation *from = &block->front();
  while (from != front && isa<pipe::WaitOp, RewriteQueryOp, SliceTileOp>(from))
    from = from->getNextNode();
  b.setInsertionPoint(from);
  Value lo = descending ? end : begin, hi = descending ? begin : end;
  first = firstVisit(b, loc, descending, lo, hi, front.getStep());
  if (failed(peelFirst()))
    return failure();
  cutBorders(from);
  dropPrefix();
  for (VisitLoop loop : loops)
    if (failed(rotate(loop)))
      return failure();
  finish();
  return success();
}

namespace {
struct SkewProducts : attn::impl::PipeSkewProductsBase<SkewProducts> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = getPipeSchedule(kernel, "pipe-skew-products");
    if (failed(schedule))
      return signalPassFailure();
    int32_t skew = schedule->getSkew("pv");
    if (skew == 0 || kernel.getMergeOfAttr())
      return markAllAnalysesPreserved();
    if (skew != 1 || !hasRoles(*schedule)) {
      kernel.emitError() << "skew = {pv = " << skew << "} of "
                         << schedule->getRoles().size()
                         << " roles is not built; use {pv = 1} of 2 roles";
      return signalPassFailure();
    }
    SmallVector<VisitChain> chains;
    if (failed(findVisitChains(kernel, chains)))
      return signalPassFailure();
    for (VisitChain &chain : chains) {
      bool computes = false;
      for (VisitLoop loop : chain.loops)
        loop.loop.walk([&](PVOp) { computes = true; });
      if (failed(computes ? ComputeSkewer(chain).run()
                          : skewCopies(chain.loops[0])))
        return signalPassFailure();
    }
  }
};
} // namespace
