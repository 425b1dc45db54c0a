//===- InsertChannels.cpp - tile loads to channels ------------------------===//
//
// Every tile that comes from memory goes through a channel: the load becomes
// acquire, issue, commit on the producer's side and wait, release on the
// consumer's.
//
//   %kt = attn.load_kv %k ...
//   %s = attn.qk %qt, %kt
//   ->
//   %a = pipe.acquire %kch
//   %f = pipe.issue cp_async { attn.copy_kv %a, %k ... }
//   pipe.commit %a after %f
//   %kt, %b = pipe.wait %kch
//   %s = attn.qk %qt, %kt
//   pipe.release %b
//
// With `v_tail = "zero_rows"` a copy of V that may bring rows from outside of the
// request is joined, and those rows are set to 0, before the commit.
//
// The visits of an item are put under `scf.if first < last`, and Q is loaded
// inside it: an item that sees no block starts no copy and leaves no slot full.
//
// A query, key or value hook acts on the slot, behind its wait:
//
//   %kt = attn.load_kv %k ...             %kt, %b = pipe.wait %kch
//   %kx = attn.transform_keys key %kt ->  attn.rewrite_kv key %b ...
//   %s = attn.qk %qt, %kx                 %s = attn.qk %qt, %kt
//
// Invariant: per item, a channel has as many waits as commits; a slot is
// released right after the last use of its payload in the wait's block.
//
//===----------------------------------------------------------------------===//

#include "VisitLoop.h"
#include "attn/Conversion/Passes.h"

#include "mlir/IR/Builders.h"

namespace attn {
#define GEN_PASS_DEF_PIPEINSERTCHANNELS
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {
/// Channels of one kernel by name, declared in front of the roles.
class Channels {
public:
  Channels(pipe::RolesOp roles, pipe::ScheduleAttr schedule)
      : roles(roles), schedule(schedule), owner(roles.getRole(0).getName()) {}

  /// The channel of a load; null with a diagnostic if the payload differs from
  /// an earlier load's.
  Value get(Operation *load, TensorRole role, Type payload) {
    StringRef name = channelOf(role);
    Value &channel = byName[name];
    if (!channel) {
      OpBuilder b(roles);
      channel = pipe::ChannelOp::create(
          b, load->getLoc(),
          pipe::ChannelType::get(b.getContext(), payload,
                                 schedule.getDepth(name)),
          b.getStringAttr(name), owner, b.getStrArrayAttr({owner.getValue()}));
      return channel;
    }
    Type held = cast<pipe::ChannelType>(channel.getType()).getPayload();
    if (held != payload) {
      load->emitError() << "loads " << payload << " but channel '" << name
                        << "' holds " << held;
      return {};
    }
    return channel;
  }

private:
  pipe::RolesOp roles;
  pipe::ScheduleAttr schedule;
  StringAttr owner; ///< the one role, on both sides
  llvm::StringMap<Value> byName;
};
} // namespace

/// Last op of `block` that uses `value` inside itself or its regions.
static Operation *lastUserIn(Block *block, Value value) {
  Operation *last = nullptr;
  for (Operation *user : value.getUsers())
    if (Operation *here = block->findAncestorOpInBlock(*user))
      if (!last || last->isBeforeInBlock(here))
        last = here;
  return last;
}

/// Puts the ops from the first to the last visit loop under `first < last`.
static scf::IfOp guardVisits(VisitChain &chain) {
  scf::ForOp front = chain.loops.front().loop, back = chain.loops.back().loop;
  Block *block = front->getBlock();
  OpBuilder b(front);
  Location loc = front.getLoc();
  Value lo = chain.descending ? chain.last : chain.first;
  Value hi = chain.descending ? chain.first : chain.last;
  Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, hi, lo);
  auto guard = scf::IfOp::create(b, loc, back.getResultTypes(), some,
                                 /*withElseRegion=*/true);
  Block *then = guard.thenBlock();
  for (Block *arm : {then, guard.elseBlock()})
    if (!arm->empty())
      arm->clear();
  Block::iterator end = std::next(Block::iterator(back));
  then->getOperations().splice(then->end(), block->getOperations(),
                               Block::iterator(front), end);
  // Without visits every loop hands on what the first one was given.
  SmallVector<Value> unit;
  for (Value result : back.getResults()) {
    Value value = result;
    while (auto loop = value.getDefiningOp<scf::ForOp>()) {
      if (!loop->hasAttr(visitsAttr))
        break;
      value = loop.getInitArgs()[cast<OpResult>(value).getResultNumber()];
    }
    unit.push_back(value);
  }
  back->replaceUsesWithIf(guard.getResults(), [&](OpOperand &use) {
    return !guard->isProperAncestor(use.getOwner());
  });
  b.setInsertionPointToEnd(then);
  scf::YieldOp::create(b, loc, back.getResults());
  b.setInsertionPointToEnd(guard.elseBlock());
  scf::YieldOp::create(b, loc, unit);
  return guard;
}

namespace {
/// A load on its way through a channel.
struct Fill {
  Value channel;
  pipe::Agent agent;
  function_ref<void(OpBuilder &, Value slot)> copy;

  /// acquire, issue, commit.  With `valid` the copy is joined and the rows from
  /// there on set to 0 before the commit.
  void produce(OpBuilder &b, Location loc, Value valid = {}) const {
    Type payload = cast<pipe::ChannelType>(channel.getType()).getPayload();
    auto slotType = pipe::SlotType::get(b.getContext(), payload);
    Value slot = pipe::AcquireOp::create(b, loc, slotType, channel);
    auto issue = pipe::IssueOp::create(
        b, loc, pipe::FutureType::get(b.getContext()), agent);
    {
      OpBuilder::InsertionGuard guard(b);
      b.createBlock(&issue.getBody());
      copy(b, slot);
      pipe::YieldOp::create(b, loc);
    }
    if (!valid) {
      pipe::CommitOp::create(b, loc, slot, ValueRange{issue.getFuture()});
      return;
    }
    auto join = pipe::JoinOp::create(b, loc, issue.getFuture());
    ZeroRowsOp::create(b, loc, slot, valid);
    pipe::CommitOp::create(b, loc, slot, ValueRange(),
                           ValueRange{join.getDone()});
  }
};
} // namespace

/// The ragged form of a fill where rows past `kv1` come with the copy: 0 * NaN
/// is NaN, so they must not reach the second product.
static void produceRagged(OpBuilder &b, Location loc, const Fill &fill,
                          LoadKVOp load) {
  int32_t rows = cast<TileType>(load.getResult().getType()).getRows();
  Value valid = arith::SubIOp::create(b, loc, load.getKv1(), load.getK0());
  Value full = arith::ConstantIntOp::create(b, loc, rows, 32);
  Value ragged =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, valid, full);
  auto branch = scf::IfOp::create(b, loc, ragged, /*withElseRegion=*/true);
  OpBuilder then = branch.getThenBodyBuilder();
  fill.produce(then, loc, valid);
  OpBuilder other = branch.getElseBodyBuilder();
  fill.produce(other, loc);
}

/// Puts the hook on the payload of `load`, if there is one, behind `wait` as one on
/// the slot.
static void rewriteSlot(OpBuilder &b, Operation *load, pipe::WaitOp wait) {
  Value payload = load->getResult(0);
  if (!payload.hasOneUse())
    return;
  Operation *hook = *payload.user_begin();
  if (auto rows = dyn_cast<TransformRowsOp>(hook))
    RewriteQueryOp::create(b, hook->getLoc(), wait.getSlot(), rows.getRows());
  else if (auto keys = dyn_cast<TransformKeysOp>(hook))
    RewriteKVOp::create(b, hook->getLoc(), keys.getKind(), wait.getSlot(),
                        keys.getRequest(), keys.getKvHead(), keys.getK0(),
                        keys.getKv1(), keys.getQLen(), keys.getKvLen());
  else
    return;
  hook->getResult(0).replaceAllUsesWith(payload);
  hook->erase();
}

/// acquire, issue, commit, wait before `before`; the payload replaces the
/// load's result and is released after its last use in that block.
static LogicalResult
loadThroughChannel(Operation *load, Operation *before, TensorRole role,
                   pipe::Agent agent, bool zeroRows, Channels &channels,
                   function_ref<void(OpBuilder &, Value slot)> copy) {
  Type payload = load->getResult(0).getType();
  Value channel = channels.get(load, role, payload);
  if (!channel)
    return failure();
  OpBuilder b(before);
  Location loc = load->getLoc();
  Fill fill{channel, agent, copy};
  if (zeroRows)
    produceRagged(b, loc, fill, cast<LoadKVOp>(load));
  else
    fill.produce(b, loc);
  auto slotType = pipe::SlotType::get(b.getContext(), payload);
  auto wait = pipe::WaitOp::create(b, loc, payload, slotType, channel);
  rewriteSlot(b, load, wait);
  load->getResult(0).replaceAllUsesWith(wait.getPayload());
  Operation *last = lastUserIn(wait->getBlock(), wait.getPayload());
  b.setInsertionPointAfter(last ? last : wait.getOperation());
  pipe::ReleaseOp::create(b, loc, wait.getSlot());
  load->erase();
  return success();
}

/// Moves what rewrites slots of a body behind its last wait, in front of all
/// readers.
static void sinkRewrites(Block *block) {
  SmallVector<Operation *> rewrites;
  Operation *behind = nullptr;
  for (Operation &op : *block) {
    if (isa<pipe::WaitOp>(op))
      behind = &op;
    else if (isa<RewriteKVOp>(op))
      rewrites.push_back(&op);
  }
  for (Operation *rewrite : rewrites) {
    rewrite->moveAfter(behind);
    behind = rewrite;
  }
}

/// Moves each wait of a body down to the end of the copies, so that all copies
/// of a visit are started before the first wait.
static void sinkWaits(Block *block) {
  SmallVector<Operation *> waits;
  Operation *lastCommit = nullptr;
  for (Operation &op : *block) {
    if (isa<pipe::WaitOp>(op))
      waits.push_back(&op);
    else if (isa<pipe::CommitOp>(op))
      lastCommit = &op;
  }
  if (!lastCommit)
    return;
  for (Operation *wait : llvm::reverse(waits)) {
    bool usedLater = llvm::all_of(wait->getUsers(), [&](Operation *user) {
      return lastCommit->isBeforeInBlock(block->findAncestorOpInBlock(*user));
    });
    if (wait->isBeforeInBlock(lastCommit) && usedLater)
      wait->moveAfter(lastCommit);
  }
}

namespace {
struct InsertChannels : attn::impl::PipeInsertChannelsBase<InsertChannels> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = getPipeSchedule(kernel, "pipe-insert-channels");
    if (failed(schedule))
      return signalPassFailure();
    SmallVector<pipe::RolesOp> roles(kernel.getOps<pipe::RolesOp>());
    if (roles.size() != 1) {
      kernel.emitError() << "pipe-insert-channels needs roles but the kernel "
                            "has "
                         << roles.size() << " pipe.roles";
      return signalPassFailure();
    }
    Channels channels(roles[0], *schedule);
    bool zeroRows =
        kernel.getScheduleAttr().getVTail().getValue() == "zero_rows";
    SmallVector<VisitChain> chains;
    if (failed(findVisitChains(roles[0], chains)))
      return signalPassFailure();

    // Q once an item: in front of the visits, inside their guard.
    SmallVector<LoadQueryOp> queries;
    roles[0].walk([&](LoadQueryOp op) { queries.push_back(op); });
    if (queries.size() > 1 || chains.size() > 1) {
      kernel.emitError() << "pipe-insert-channels builds 1 query and 1 run of "
                            "visits but the role has "
                         << queries.size() << " and " << chains.size();
      return signalPassFailure();
    }
    for (VisitChain &chain : chains) {
      scf::IfOp guard = guardVisits(chain);
      for (LoadQueryOp op : queries)
        if (failed(convertQuery(op, guard, chain, *schedule, channels)))
          return signalPassFailure();
      for (VisitLoop &loop : chain.loops)
        if (failed(convertVisit(loop, *schedule, zeroRows, channels)))
          return signalPassFailure();
    }

    WalkResult left = roles[0].walk([](Operation *op) {
      if (isa<LoadQueryOp, LoadKVOp>(op))
        return WalkResult(
            op->emitError("stands outside the visits of an item"));
      return WalkResult::advance();
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult convertQuery(LoadQueryOp op, scf::IfOp guard, VisitChain &chain,
                             pipe::ScheduleAttr schedule, Channels &channels) {
    // A hook in front of the visits goes with the wait.
    Value query = op.getResult();
    if (query.hasOneUse() && isa<TransformRowsOp>(*query.user_begin()))
      query = query.user_begin()->getResult(0);
    for (Operation *user : query.getUsers())
      if (!guard->isProperAncestor(user))
        return user->emitError(
            "uses the query tile outside the visits of an item");
    Value tensor = op.getTensor(), rows = op.getRows();
    return loadThroughChannel(
        op, chain.loops.front().loop, TensorRole::Query,
        schedule.getAgent("load_query"),
        /*zeroRows=*/false, channels, [&](OpBuilder &b, Value slot) {
          CopyQueryOp::create(b, op.getLoc(), slot, tensor, rows);
        });
  }

  LogicalResult convertVisit(VisitLoop loop, pipe::ScheduleAttr schedule,
                             bool zeroRows, Channels &channels) {
    Block *body = loop.loop.getBody();
    for (LoadKVOp op : llvm::make_early_inc_range(body->getOps<LoadKVOp>())) {
      TensorRole role = op.getTensor().getType().getRole();
      LogicalResult done = loadThroughChannel(
          op, op, role, schedule.getAgent("load_kv"),
          zeroRows && role == TensorRole::Value, channels,
          [&](OpBuilder &b, Value slot) {
            CopyKVOp::create(b, op.getLoc(), slot, op.getTensor(),
                             op.getRequest(), op.getKvHead(), op.getKvBegin(),
                             op.getK0(), op.getKv1());
          });
      if (failed(done))
        return failure();
    }
    sinkRewrites(body);
    sinkWaits(body);
    return success();
  }
};
} // namespace
