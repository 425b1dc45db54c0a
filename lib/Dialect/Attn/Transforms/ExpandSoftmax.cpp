//===- ExpandSoftmax.cpp - attn-expand-softmax ----------------------------===//
//
// The state becomes its parts (O, m, l), or O alone without normaliser:
//
//   %s1 = state_step exact %s, %x, %v, %c
//   ->  %m1 = row_max %x, %m              %p  = exp exact %x, %m1, %c
//       %al = alpha %m, %m1, %c           %l1 = row_sum %p, %l scaled %al
//       %O1 = pv (pack %p), %v, (rescale %O, %al)
//
// With softmax = lazy the reference moves only where it must, and alpha is 1 in a
// row that keeps it:
//
//   %m1 = lazy_max %x, %m, %c by limit    %O1 = pv .., (rescale rare %O, %al)
//
// With softmax = frozen the loops move into `speculate`; a full loop becomes
// `exact_prefix`, a loop with the maximum over that many blocks in visiting
// order, and a loop whose reference stays frozen:
//
//   for_kv full [b0, b1)  ->  %e = exact_prefix %m, .., %b0, %b1, %exact
//                             for_kv full exact  [b1 - e, b1)
//                             for_kv full frozen [b0, b1 - e)
//
// Invariant afterwards: no value of state type.  The text is masked loop, exact
// loop, frozen loop in sequence: `exact` only moves blocks between the loops.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"

namespace attn {
#define GEN_PASS_DEF_ATTNEXPANDSOFTMAX
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// O, then m and l with softmax.
using Parts = SmallVector<Value, 3>;

class Expander {
public:
  Expander(ForWorkOp work, ScheduleAttr schedule)
      : work(work), schedule(schedule) {}

  LogicalResult run();

private:
  bool isState(Value value) const { return isa<StateType>(value.getType()); }
  SmallVector<Type> partTypes(StateType type) const;
  LogicalResult expand(Block &block);
  LogicalResult expandOp(Operation *op);
  void expandInit(StateInitOp op);
  void expandLoop(ForKVOp op);
  void expandStep(StateStepOp op);
  void expandFinish(StateFinishOp op);

  LogicalResult speculate();
  void splitFullLoop(ForKVOp loop, Value exact);

  /// Replaces `op` by one with several results for its state; done when the
  /// whole block is rewritten, so that uses still find the old value.
  void retire(Operation *op) { dead.push_back(op); }

  ForWorkOp work;
  ScheduleAttr schedule;
  llvm::DenseMap<Value, Parts> parts;
  SmallVector<Operation *> dead;
};

} // namespace

SmallVector<Type> Expander::partTypes(StateType type) const {
  Type f32 = Float32Type::get(type.getContext());
  SmallVector<Type> types{
      TileType::get(type.getContext(), type.getRows(), type.getCols(), f32)};
  if (type.getNormaliser() == Normaliser::Softmax)
    types.append(2, RowVecType::get(type.getContext(), type.getRows(), f32));
  return types;
}

void Expander::expandInit(StateInitOp op) {
  OpBuilder builder(op);
  auto type = cast<StateType>(op.getResult(0).getType());
  auto init = StateInitOp::create(builder, op.getLoc(), partTypes(type));
  parts[op.getResult(0)] = Parts(init.getResults());
  retire(op);
}

void Expander::expandStep(StateStepOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Parts old = parts.lookup(op.getState());
  Value s = op.getS(), value = op.getValue(), c = op.getC();
  auto scoreType = cast<TileType>(s.getType());
  Type element = cast<TileType>(value.getType()).getElement();
  auto packed = [&](Value p) -> Value {
    if (element == scoreType.getElement())
      return p;
    auto type = TileType::get(builder.getContext(), scoreType.getRows(),
                              scoreType.getCols(), element);
    return PackOp::create(builder, loc, type, p);
  };
  auto product = [&](Value p, Value acc) -> Value {
    return PVOp::create(builder, loc, acc.getType(), packed(p), value, acc);
  };

  if (old.size() == 1) { // the scores are the weights
    parts[op.getResult()] = {product(s, old[0])};
    return retire(op);
  }
  Value o = old[0], m = old[1], l = old[2];
  Type vec = m.getType();
  if (op.getReference() == Reference::Frozen) {
    Value p =
        ExpOp::create(builder, loc, s.getType(), s, m, c, Reference::Frozen);
    Value l1 = RowSumOp::create(builder, loc, vec, p, l, /*alpha=*/Value());
    parts[op.getResult()] = {product(p, o), m, l1};
    return retire(op);
  }
  bool lazy = schedule.getSoftmax() == SoftmaxKind::Lazy;
  Value m1 = lazy ? Value(LazyMaxOp::create(builder, loc, vec, s, m, c,
                                            schedule.getLimit()))
                  : Value(RowMaxOp::create(builder, loc, vec, s, m));
  Value alpha = AlphaOp::create(builder, loc, vec, m, m1, c);
  Value p =
      ExpOp::create(builder, loc, s.getType(), s, m1, c, Reference::Exact);
  Value l1 = RowSumOp::create(builder, loc, vec, p, l, alpha);
  Value weights = packed(p); // before the rescale, as the hardware issues them
  Value scaled = RescaleOp::create(builder, loc, o.getType(), o, alpha, lazy);
  Value o1 = PVOp::create(builder, loc, o.getType(), weights, value, scaled);
  parts[op.getResult()] = {o1, m1, l1};
  retire(op);
}

void Expander::expandLoop(ForKVOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Parts inits = parts.lookup(op.getInits()[0]);
  auto loop =
      ForKVOp::create(builder, loc, ValueRange(inits).getTypes(), op.getLo(),
                      op.getHi(), op.getBase(), inits, op.getBlockClass(),
                      op.getReference(), op.getOrder(), op.getTileK());
  // The old block moves over; its one state argument is replaced at the end.
  loop.getBody().takeBody(op.getBody());
  Block &body = loop.getBody().front();
  Value state = body.getArgument(2);
  Parts inside;
  for (Value init : inits)
    inside.push_back(body.addArgument(init.getType(), loc));
  parts[state] = inside;
  for (Operation &inner : llvm::make_early_inc_range(body))
    if (auto step = dyn_cast<StateStepOp>(inner))
      expandStep(step);
  auto yield = cast<YieldOp>(body.getTerminator());
  yield.getValuesMutable().assign(parts.lookup(yield.getValues()[0]));
  parts[op.getResult(0)] = Parts(loop.getResults());
  // Users of the argument are retired steps: drop them before the argument.
  while (!dead.empty() && dead.back()->getBlock() == &body)
    dead.pop_back_val()->erase();
  body.eraseArgument(2);
  retire(op);
}

void Expander::expandFinish(StateFinishOp op) {
  OpBuilder builder(op);
  Parts state = parts.lookup(op.getState());
  if (state.size() == 1) {
    op.getTile().replaceAllUsesWith(state[0]);
  } else {
    auto finish = FinishOp::create(builder, op.getLoc(), state[0].getType(),
                                   state[1].getType(), state[0], state[1],
                                   state[2], op.getC(), op.getSink());
    op.getTile().replaceAllUsesWith(finish.getTile());
    op.getRowLse().replaceAllUsesWith(finish.getRowLse());
  }
  op.erase();
}

LogicalResult Expander::expandOp(Operation *op) {
  if (auto init = dyn_cast<StateInitOp>(op)) {
    if (isState(init.getResult(0)))
      expandInit(init);
    return success();
  }
  if (auto loop = dyn_cast<ForKVOp>(op)) {
    if (loop.getInits().size() == 1 && isState(loop.getInits()[0]))
      expandLoop(loop);
    return success();
  }
  if (auto finish = dyn_cast<StateFinishOp>(op)) {
    expandFinish(finish);
    return success();
  }
  if (auto partial = dyn_cast<StorePartialOp>(op)) {
    if (isState(partial.getParts()[0]))
      partial.getPartsMutable().assign(parts.lookup(partial.getParts()[0]));
    return success();
  }
  for (Value result : op->getResults())
    if (isState(result))
      return op->emitOpError() << "makes a state that attn-expand-softmax "
                                  "does not know";
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(expand(block)))
        return failure();
  return success();
}

LogicalResult Expander::expand(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(expandOp(&op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// softmax = frozen
//===----------------------------------------------------------------------===//

/// `loop` is expanded and full: cut it at the number of blocks that need the
/// maximum, and freeze the reference of the rest.
void Expander::splitFullLoop(ForKVOp loop, Value exact) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value m = loop.getInits()[1];
  RowMapOp rows;
  for (RowMapOp op : work.getBody().getOps<RowMapOp>())
    rows = op;
  // The factor is an operand of every exponential.
  Value c;
  loop.getBody().walk([&](ExpOp op) { c = op.getC(); });
  Value prefix =
      ExactPrefixOp::create(builder, loc, builder.getI32Type(), m, rows, c,
                            loop.getLo(), loop.getHi(), exact);
  // In range whatever the state holds: the level below counts visits without
  // knowing what the op decides.
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Value blocks =
      arith::SubIOp::create(builder, loc, loop.getHi(), loop.getLo());
  prefix = arith::MaxSIOp::create(builder, loc, prefix, zero);
  Value count = arith::MinSIOp::create(builder, loc, prefix, blocks);
  bool descending = loop.getOrder() == KVOrder::Descending;
  Value middle =
      descending
          ? Value(arith::SubIOp::create(builder, loc, loop.getHi(), count))
          : Value(arith::AddIOp::create(builder, loc, loop.getLo(), count));

  builder.setInsertionPointAfter(loop);
  auto frozen = cast<ForKVOp>(builder.clone(*loop));
  loop.replaceAllUsesWith(frozen.getResults());
  frozen.getInitsMutable().assign(loop.getResults());
  frozen.setReference(Reference::Frozen);
  (descending ? loop.getLoMutable() : loop.getHiMutable()).assign(middle);
  (descending ? frozen.getHiMutable() : frozen.getLoMutable()).assign(middle);

  // The frozen body: no maximum, no rescale.
  auto carried = frozen.getCarried();
  for (Operation &op : llvm::make_early_inc_range(frozen.getBody().front())) {
    if (auto max = dyn_cast<RowMaxOp>(op)) {
      max.getResult().replaceAllUsesWith(carried[1]);
      max.erase();
    } else if (auto exp = dyn_cast<ExpOp>(op)) {
      exp.setReference(Reference::Frozen);
    } else if (auto sum = dyn_cast<RowSumOp>(op)) {
      sum.getAlphaMutable().clear();
    } else if (auto rescale = dyn_cast<RescaleOp>(op)) {
      rescale.getResult().replaceAllUsesWith(rescale.getTile());
      rescale.erase();
    }
  }
  for (AlphaOp op :
       llvm::make_early_inc_range(frozen.getBody().front().getOps<AlphaOp>()))
    op.erase();
}

/// Moves state_init and the loops into `speculate`.
LogicalResult Expander::speculate() {
  StateInitOp init;
  SmallVector<ForKVOp> loops;
  for (Operation &op : work.getBody().front()) {
    if (auto i = dyn_cast<StateInitOp>(op))
      init = i;
    if (auto loop = dyn_cast<ForKVOp>(op))
      loops.push_back(loop);
  }
  if (!init || init.getResults().size() != 3)
    return success();
  // Masked blocks take the maximum anyway: nothing to speculate on.
  if (llvm::none_of(loops, [](ForKVOp loop) {
        return loop.getBlockClass() == BlockClass::Full;
      }))
    return success();
  RowMapOp rows;
  for (RowMapOp op : work.getBody().getOps<RowMapOp>())
    rows = op;

  OpBuilder builder(init);
  Location loc = init.getLoc();
  ForKVOp last = loops.back();
  builder.setInsertionPointAfter(last);
  auto spec = SpeculateOp::create(builder, loc, last.getResultTypes());
  Block &body = spec.getBody().emplaceBlock();
  Value exact = body.addArgument(builder.getI1Type(), loc);
  last.replaceAllUsesWith(spec.getResults());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, loc, last.getResults());
  Operation *end = body.getTerminator();
  init->moveBefore(end);
  for (ForKVOp loop : loops)
    loop->moveBefore(end);

  Block &check = spec.getCheck().emplaceBlock();
  SmallVector<Value> args;
  for (Type type : last.getResultTypes())
    args.push_back(check.addArgument(type, loc));
  builder.setInsertionPointToEnd(&check);
  Value ok = CheckOp::create(builder, loc, builder.getI1Type(), args[0],
                             args[2], rows, schedule.getLimit());
  YieldOp::create(builder, loc, ValueRange{ok});

  for (ForKVOp loop : loops)
    if (loop.getBlockClass() == BlockClass::Full)
      splitFullLoop(loop, exact);
  return success();
}

LogicalResult Expander::run() {
  if (failed(expand(work.getBody().front())))
    return failure();
  // Users come after what they use.
  for (Operation *op : llvm::reverse(dead))
    op->erase();
  if (schedule.getSoftmax() == SoftmaxKind::Frozen)
    return speculate();
  return success();
}

namespace {

struct ExpandSoftmax : public attn::impl::AttnExpandSoftmaxBase<ExpandSoftmax> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    ScheduleAttr schedule = kernel.getScheduleAttr();
    if (!schedule) {
      kernel.emitOpError() << "has no schedule";
      return signalPassFailure();
    }
    SmallVector<ForWorkOp> works(kernel.getBody().getOps<ForWorkOp>());
    for (ForWorkOp work : works)
      if (failed(Expander(work, schedule).run()))
        return signalPassFailure();
    // Without normaliser nothing is an exponent.
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(kernel.getBody().front())))
      if (isa<arith::ConstantOp, arith::MulFOp>(op) && op.use_empty())
        op.erase();
  }
};

} // namespace
