//===- Control.cpp - loops, branches, speculation -------------------------===//
//
// Loops lose their tile-typed values: those live in buffers.
//
//   %r = attn.for_kv ... carry (%o = %o0)   ->   scf.for over the block number,
//                                                %o, %o0 and %r in one buffer
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

using namespace mlir;

namespace attn::cpu {

static bool isTile(Value v) { return isa<TileType, RowVecType>(v.getType()); }

void KernelLowering::carry(Operation *op, ValueRange inits, ValueRange args,
                           ValueRange results) {
  llvm::SmallDenseSet<int64_t> taken;
  for (auto [init, arg, result] : llvm::zip_equal(inits, args, results)) {
    if (!isTile(init))
      continue;
    Buffer from = buffer(init), own = from;
    if (!diesIn(init, op) || !taken.insert(from.offset).second) {
      own = allocateFor(init.getType());
      copy(from, own);
    }
    buffers[arg] = own;
    buffers[result] = own;
  }
}

void KernelLowering::yieldInto(ValueRange yielded,
                               llvm::ArrayRef<Buffer> targets) {
  // A value that stands in another target's buffer is saved first, so that the
  // order of the copies does not matter.
  SmallVector<Buffer> from;
  for (auto [value, target] : llvm::zip_equal(yielded, targets)) {
    Buffer b = buffer(value);
    bool inOther = llvm::any_of(targets, [&, t = target.offset](auto &other) {
      return other.offset == b.offset && t != b.offset;
    });
    if (inOther) {
      Buffer saved = allocateFor(value.getType());
      copy(b, saved);
      b = saved;
    }
    from.push_back(b);
  }
  for (auto [b, target] : llvm::zip_equal(from, targets))
    if (b.offset != target.offset)
      copy(b, target);
}

LogicalResult KernelLowering::lowerForKV(ForKVOp op) {
  Block &body = op.getBody().front();
  carry(op, op.getInits(), op.getCarried(), op.getResults());
  SmallVector<Buffer> targets;
  for (Value arg : op.getCarried())
    targets.push_back(buffer(arg));

  Value lo = map.lookup(op.getLo()), hi = map.lookup(op.getHi());
  Value base = map.lookup(op.getBase());
  auto loop = scf::ForOp::create(g.b, g.loc, lo, hi, g.i32c(1));
  OpBuilder::InsertionGuard guard(g.b);
  g.b.setInsertionPoint(loop.getBody()->getTerminator());
  int64_t mark = top;
  Value j = loop.getInductionVar();
  if (op.getOrder() == KVOrder::Descending)
    j = g.sub(g.add(lo, g.sub(hi, g.i32c(1))), j);
  map.map(op.getIndex(), j);
  map.map(op.getK0(), g.add(base, g.mul(j, g.i32c(op.getTileK()))));
  if (failed(lowerBlock(body)))
    return failure();
  yieldInto(body.getTerminator()->getOperands(), targets);
  top = mark;
  return success();
}

LogicalResult KernelLowering::lowerFor(scf::ForOp op) {
  carry(op, op.getInitArgs(), op.getRegionIterArgs(), op.getResults());
  SmallVector<Value> inits, tileYields;
  SmallVector<Buffer> targets;
  for (Value init : op.getInitArgs())
    if (!isTile(init))
      inits.push_back(map.lookup(init));
  for (Value arg : op.getRegionIterArgs())
    if (isTile(arg))
      targets.push_back(buffer(arg));

  auto loop = scf::ForOp::create(g.b, g.loc, map.lookup(op.getLowerBound()),
                                 map.lookup(op.getUpperBound()),
                                 map.lookup(op.getStep()), inits);
  unsigned next = 0;
  for (auto [arg, result] :
       llvm::zip_equal(op.getRegionIterArgs(), op.getResults()))
    if (!isTile(arg)) {
      map.map(arg, loop.getRegionIterArgs()[next]);
      map.map(result, loop.getResult(next++));
    }
  map.map(op.getInductionVar(), loop.getInductionVar());

  OpBuilder::InsertionGuard guard(g.b);
  Block *body = loop.getBody();
  if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
    body->back().erase();
  g.b.setInsertionPointToEnd(body);
  int64_t mark = top;
  if (failed(lowerBlock(*op.getBody())))
    return failure();
  SmallVector<Value> scalars;
  for (Value v : op.getBody()->getTerminator()->getOperands())
    if (isTile(v))
      tileYields.push_back(v);
    else
      scalars.push_back(map.lookup(v));
  yieldInto(tileYields, targets);
  scf::YieldOp::create(g.b, g.loc, scalars);
  top = mark;
  return success();
}

LogicalResult KernelLowering::lowerIf(scf::IfOp op) {
  SmallVector<Type> types;
  SmallVector<Buffer> targets;
  for (Value result : op.getResults())
    if (isTile(result))
      targets.push_back(buffers[result] = allocateFor(result.getType()));
    else
      types.push_back(result.getType());
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(g.b, g.loc, types,
                                  map.lookup(op.getCondition()), hasElse);
  unsigned next = 0;
  for (Value result : op.getResults())
    if (!isTile(result))
      map.map(result, branch.getResult(next++));

  auto lowerRegion = [&](Region &from, Region &to) {
    OpBuilder::InsertionGuard guard(g.b);
    Block *block = &to.front();
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      block->back().erase();
    g.b.setInsertionPointToEnd(block);
    int64_t mark = top;
    if (failed(lowerBlock(from.front())))
      return failure();
    SmallVector<Value> tiles, scalars;
    for (Value v : from.front().getTerminator()->getOperands())
      if (isTile(v))
        tiles.push_back(v);
      else
        scalars.push_back(map.lookup(v));
    yieldInto(tiles, targets);
    scf::YieldOp::create(g.b, g.loc, scalars);
    top = mark;
    return success();
  };
  if (failed(lowerRegion(op.getThenRegion(), branch.getThenRegion())))
    return failure();
  if (hasElse)
    return lowerRegion(op.getElseRegion(), branch.getElseRegion());
  return success();
}

// exact = force; do { body(exact); } while (!check && !exact, exact = true)
LogicalResult KernelLowering::lowerSpeculate(SpeculateOp op) {
  SmallVector<Buffer> targets;
  for (Value result : op.getResults())
    targets.push_back(buffers[result] = allocateFor(result.getType()));
  Value start = arith::ConstantOp::create(g.b, g.loc,
                                          g.b.getBoolAttr(options.forceExact));
  auto loop =
      scf::WhileOp::create(g.b, g.loc, TypeRange{g.i1}, ValueRange{start});
  OpBuilder::InsertionGuard guard(g.b);
  Block *before = g.b.createBlock(&loop.getBefore(), {}, {g.i1}, {g.loc});
  Value exact = before->getArgument(0);
  Block &body = op.getBody().front(), &check = op.getCheck().front();
  int64_t mark = top;
  map.map(body.getArgument(0), exact);
  if (failed(lowerBlock(body)))
    return failure();
  yieldInto(body.getTerminator()->getOperands(), targets);
  top = mark;
  for (auto [arg, target] : llvm::zip_equal(check.getArguments(), targets))
    buffers[arg] = target;
  if (failed(lowerBlock(check)))
    return failure();
  top = mark;
  Value good = map.lookup(check.getTerminator()->getOperand(0));
  Value yes = arith::ConstantOp::create(g.b, g.loc, g.b.getBoolAttr(true));
  Value again = arith::XOrIOp::create(g.b, g.loc, g.either(good, exact), yes);
  scf::ConditionOp::create(g.b, g.loc, again, ValueRange{yes});
  Block *after = g.b.createBlock(&loop.getAfter(), {}, {g.i1}, {g.loc});
  scf::YieldOp::create(g.b, g.loc, ValueRange{after->getArgument(0)});
  return success();
}

} // namespace attn::cpu
