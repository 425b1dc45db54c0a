//===- NarrowVisits.cpp - each replica visits what its rows see -----------===//
//
// See NarrowVisits.h.  The arithmetic of the borders is cloned with the part's
// rows in place of the item's, and clamped into the item's borders: a part
// without rows has no visits wherever the item's are.
//
//===----------------------------------------------------------------------===//

#include "NarrowVisits.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;

namespace {
class Narrower {
public:
  Narrower(VisitChain &chain, scf::IfOp visits, RowMapOp rows)
      : chain(chain), visits(visits), rows(rows), block(visits->getBlock()),
        b(visits), loc(visits.getLoc()) {}

  void run(Value rank, int32_t part);

private:
  bool collectSlice();
  void cloneSlice(Value rank, int32_t part);
  Value clamp(Value x, Value lo, Value hi) {
    return arith::MaxSIOp::create(
        b, loc, lo, arith::MinSIOp::create(b, loc, x, hi).getResult());
  }
  void createPasses(Value lo, Value hi);
  void passQuery(Value any);

  VisitChain &chain;
  scf::IfOp visits;
  RowMapOp rows;
  Block *block;
  OpBuilder b;
  Location loc;

  llvm::SetVector<Value> borders;     ///< of the block, in no order
  llvm::SetVector<Operation *> slice; ///< what they follow from
  IRMapping own;                      ///< the part's values
};
} // namespace

/// Borders and their arithmetic; false if they do not depend on the first row.
bool Narrower::collectSlice() {
  for (VisitLoop loop : chain.loops)
    for (Value border : {loop.lo(), loop.hi()})
      if (border.getParentBlock() == block)
        borders.insert(border);
  SmallVector<Value> todo(borders.begin(), borders.end());
  llvm::DenseSet<Operation *> seen;
  bool dependsOnRow = false;
  while (!todo.empty()) {
    Value value = todo.pop_back_val();
    dependsOnRow |= value == rows.getRow0();
    Operation *def = value.getDefiningOp();
    if (def && def->getBlock() == block && seen.insert(def).second &&
        isa<arith::ArithDialect>(def->getDialect()))
      todo.append(def->operand_begin(), def->operand_end());
  }
  for (Operation &op : *block)
    if (seen.contains(&op) && isa<arith::ArithDialect>(op.getDialect()))
      slice.insert(&op);
  return dependsOnRow;
}

void Narrower::cloneSlice(Value rank, int32_t part) {
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
  Value size = arith::ConstantIntOp::create(b, loc, part, 32);
  Value first = arith::MulIOp::create(b, loc, rank, size);
  Value row0 = arith::AddIOp::create(b, loc, rows.getRow0(), first);
  Value rest = arith::SubIOp::create(b, loc, rows.getNrows(), first);
  own.map(rows.getRow0(), row0);
  own.map(rows.getNrows(), clamp(rest, zero, size));
  for (Operation *op : slice)
    b.clone(*op, own);
}

/// Takes and gives back what `from` takes.
static void passSlots(OpBuilder &b, Block *from) {
  for (pipe::WaitOp wait : from->getOps<pipe::WaitOp>()) {
    auto taken = cast<pipe::WaitOp>(b.clone(*wait));
    pipe::ReleaseOp::create(b, wait.getLoc(), taken.getSlot(), ValueRange());
  }
}

/// for [lo, hi) { take and give back what a visit takes }
void Narrower::createPasses(Value lo, Value hi) {
  if (lo == hi)
    return;
  auto loop = scf::ForOp::create(b, loc, lo, hi, chain.loops[0].loop.getStep());
  loop->setAttr(passesAttr, b.getUnitAttr());
  OpBuilder body = OpBuilder::atBlockTerminator(loop.getBody());
  passSlots(body, chain.loops[0].loop.getBody());
}

/// Without a visit of its own a replica still takes the item's Q.
void Narrower::passQuery(Value any) {
  b.setInsertionPoint(visits.elseBlock()->getTerminator());
  auto branch = scf::IfOp::create(b, loc, any, /*withElseRegion=*/false);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  passSlots(b, visits.thenBlock());
}

void Narrower::run(Value rank, int32_t part) {
  if (!collectSlice())
    return;
  cloneSlice(rank, part);
  Value hi = chain.descending ? chain.first : chain.last;
  Value lo = chain.descending ? chain.last : chain.first;
  auto isConstant = [](Value x) {
    return isa_and_nonnull<arith::ConstantOp>(x.getDefiningOp());
  };
  Value ownHi = clamp(own.lookup(hi), lo, hi);
  Value ownLo = isConstant(lo) ? lo : clamp(own.lookup(lo), lo, ownHi);
  llvm::DenseMap<Value, Value> narrow{{hi, ownHi}, {lo, ownLo}};
  for (Value border : borders)
    if (border != hi && border != lo)
      narrow[border] = clamp(own.lookup(border), ownLo, ownHi);
  auto more = arith::CmpIPredicate::sgt;
  Value any = arith::CmpIOp::create(b, loc, more, hi, lo);
  Value ownAny = arith::CmpIOp::create(b, loc, more, ownHi, ownLo);

  bool descending = chain.descending;
  createPasses(descending ? ownHi : lo, descending ? hi : ownLo);
  b.setInsertionPointAfter(visits);
  createPasses(descending ? lo : ownHi, descending ? ownLo : hi);
  passQuery(any);
  visits.getConditionMutable().assign(ownAny);
  for (auto [border, value] : narrow)
    border.replaceUsesWithIf(value, [&](OpOperand &use) {
      return visits.thenBlock()->getParent()->isAncestor(
          use.getOwner()->getParentRegion());
    });
  chain.first = descending ? ownHi : ownLo;
  chain.last = descending ? ownLo : ownHi;
}

void attn::narrowVisits(VisitChain &chain, scf::IfOp visits, RowMapOp rows,
                        Value rank, int32_t part) {
  Narrower(chain, visits, rows).run(rank, part);
}
