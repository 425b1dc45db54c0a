//===- Products.cpp - the two products of attention -----------------------===//
//
// The atom of the schedule says which unit multiplies.  `mma.m16n8k16` takes A
// from registers, or with `.ss` from the query's slot, and is done when it
// returns; `wgmma` is started and waited for:
//
//   %f = pipe.issue mma { attn.pv }   -> %f = frag.wgmma ...
//   ... %p ...
//   %o, %d = pipe.join %f             -> %o, %p1 = frag.wgmma_wait pending n %f
//   %P = attn.pack %p                       pin %p
//                                        %P = frag.pack %p1
//
// `pending` is the number of younger products that may stay under way.  What is
// packed behind a join was computed beside the product, but the registers of the
// pack are an operand of the next one: pinned over the wait, so that nothing moves
// the pack up to where the product still runs.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

/// Operand A of Q K^T: what the query was put into, or all rows of its slot, with
/// the slot's position where the product looks for it itself.
std::pair<Value, Value> KernelLowering::queryOperand(QKOp op) {
  if (Value query = mapping.lookupOrNull(op.getQuery()))
    return {query, Value()};
  auto slot = slots.find(op.getQuery());
  if (slot == slots.end())
    return {};
  if (!role.async()) {
    if (schedule.getAtom("qk") != mmaShared)
      return {};
    return {slot->second.ring, slot->second.pos};
  }
  auto ring = cast<frag::RingType>(slot->second.ring.getType());
  auto type =
      frag::ViewType::get(b.getContext(), ring.getRows(), ring.getCols(),
                          ring.getElement(), ring.getSwizzle());
  Scalars s{b, op.getLoc()};
  return {frag::ViewRowsOp::create(b, op.getLoc(), type, slot->second.ring,
                                   slot->second.pos, s.i32(0)),
          Value()};
}

FailureOr<KernelLowering::Product> KernelLowering::productOf(Operation *op) {
  if (auto qk = dyn_cast<QKOp>(op)) {
    auto key = slots.find(qk.getKey());
    auto [query, position] = queryOperand(qk);
    if (key == slots.end() || !query)
      return op->emitOpError()
             << "needs Q in " << (role.async() ? "a slot" : "registers")
             << " and K in a slot";
    return Product{query,   position,   key->second, frag::BOrder::NK,
                   Value(), groupRank()};
  }
  auto pv = cast<PVOp>(op);
  auto value = slots.find(pv.getValue());
  if (value == slots.end())
    return op->emitOpError("needs V in a slot");
  if (pv.getP().getType().getElement().isF32())
    return refuse(op, "p_type = f32");
  return Product{at(pv.getP()),    Value(),         value->second,
                 frag::BOrder::KN, at(pv.getAcc()), groupRank()};
}

FailureOr<Value> KernelLowering::startProduct(Operation *op) {
  StringRef atom = schedule.getAtom(isa<QKOp>(op) ? "qk" : "pv");
  if (!frag::wgmmaColumns(atom))
    return op->emitOpError() << "is started before it is waited for but its "
                                "atom '"
                             << atom << "' is synchronous";
  FailureOr<Product> product = productOf(op);
  if (failed(product))
    return failure();
  auto type = dyn_cast_or_null<frag::RegType>(convertType(op->getResult(0)));
  if (!type)
    return failure();
  auto inflight =
      frag::InflightType::get(b.getContext(), type.getRows(), type.getCols(),
                              type.getElement(), type.getLayout());
  return Value(frag::WgmmaOp::create(
                   b, op->getLoc(), inflight, atom, product->order, product->a,
                   product->b.ring, product->b.pos, product->acc)
                   .getResult());
}

/// A product that is not issued is done where it stands.
LogicalResult KernelLowering::multiply(Operation *op) {
  Location loc = op->getLoc();
  if (role.async()) {
    FailureOr<Value> started = startProduct(op);
    if (failed(started))
      return failure();
    auto wait = frag::WgmmaWaitOp::create(b, loc, /*pending=*/0, *started,
                                          ValueRange());
    mapping.map(op->getResult(0), wait.getResult());
    return success();
  }
  FailureOr<Product> product = productOf(op);
  Type type = succeeded(product) ? convertType(op->getResult(0)) : Type();
  if (!type)
    return failure();
  mapping.map(op->getResult(0),
              frag::MmaOp::create(b, loc, type, frag::mmaM16N8K16,
                                  product->order, product->a, product->aPos,
                                  product->b.ring, product->b.pos,
                                  product->part, product->acc));
  return success();
}

//===----------------------------------------------------------------------===//
// Joins
//===----------------------------------------------------------------------===//

static pipe::JoinOp joinOf(pipe::IssueOp issue) {
  for (Operation *user : issue.getFuture().getUsers())
    if (auto join = dyn_cast<pipe::JoinOp>(user))
      return join;
  return {};
}

/// Products of the block that were issued after `issue` and that are not joined
/// before its join.
static int32_t youngerThan(pipe::IssueOp issue, pipe::JoinOp join) {
  int32_t younger = 0;
  for (Operation *op = issue->getNextNode(); op && op != join;
       op = op->getNextNode()) {
    auto other = dyn_cast<pipe::IssueOp>(op);
    if (!other || other.getAgent() != pipe::Agent::Mma)
      continue;
    pipe::JoinOp end = joinOf(other);
    younger += !end || join->isBeforeInBlock(end);
  }
  return younger;
}

/// Packs behind the join, but not behind another one.
static SmallVector<PackOp> packsBehind(pipe::JoinOp join) {
  SmallVector<PackOp> packs;
  for (Operation *op = join->getNextNode(); op; op = op->getNextNode()) {
    auto other = dyn_cast<pipe::JoinOp>(op);
    if (other && other.getPayload())
      break;
    if (auto pack = dyn_cast<PackOp>(op))
      packs.push_back(pack);
  }
  return packs;
}

LogicalResult KernelLowering::joinProduct(pipe::JoinOp op,
                                          pipe::IssueOp issue) {
  SmallVector<Value> old, pinned;
  for (PackOp pack : packsBehind(op)) {
    Value tile = pack.getTile();
    // Not written yet: it is computed behind the join.
    Value made = mapping.lookupOrNull(tile);
    if (!made || llvm::is_contained(old, tile))
      continue;
    old.push_back(tile);
    pinned.push_back(made);
  }
  auto wait = frag::WgmmaWaitOp::create(b, op.getLoc(), youngerThan(issue, op),
                                        at(op.getFuture()), pinned);
  mapping.map(op.getPayload(), wait.getResult());
  for (auto [tile, released] : llvm::zip_equal(old, wait.getReleased()))
    mapping.map(tile, released);
  return success();
}
