//===- SplitRoles.cpp - one role into two, along its channels -------------===//
//
// The role that fills the channels goes its own way: it takes the items, works
// out which blocks they visit, and copies; the other receives the rest as words.
//
//   roles [all] {                        roles [load, compute x 2] {
//     while %i = next_work {               while %word = hand out (HandOut.h) {
//       item, request, rows, borders         rows, borders
//       if visits {                          send words
//         acquire, copy, commit q            if visits {
//         wait q                      ->       acquire, copy, commit q
//         for visits {                         fetch the next item, request
//           copies; wait; compute; release     for all visits { copies }
//         }                                  } else { fetch }
//       }                                }, (%rank) {
//       store                              recv words
//     }                                    while %word {
//   }                                        if visits { wait q; for visits {
//                                              wait; compute; release } }
//                                            recv words; store
//                                        } }
//
// The copies of all classes of blocks are the same, so load has one loop.  A
// replica computes `tile_q / replicas` rows of the item, and passes the blocks that
// those do not see (NarrowVisits.h).  Integers that follow
// from the item's record (borders of the block map, lengths) are worked out once
// in load, and those that compute uses are the words.
//
// `attn.speculate` loses its second run: compute sends a verdict and stores
// what is good, and load hands a bad item out once more, with the exact bit.
//
// Invariant: load and compute go through the same visits in the same order, for
// both run from border to border of the same numbers.
//
//===----------------------------------------------------------------------===//

#include "CopyGroup.h"
#include "HandOut.h"
#include "NarrowVisits.h"
#include "RowParts.h"
#include "attn/Conversion/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace attn {
#define GEN_PASS_DEF_PIPESPLITROLES
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

class Splitter {
public:
  Splitter(KernelOp kernel, pipe::RolesOp one, pipe::ScheduleAttr schedule)
      : schedule(schedule), one(one),
        tileQ(kernel.getScheduleAttr().getTileQ()),
        tileK(kernel.getScheduleAttr().getTileK()), b(one), loc(one.getLoc()) {}

  LogicalResult run();

private:
  LogicalResult find();
  LogicalResult cutCopies();
  void inlineSpeculation();
  void takeReplicas();
  void sinkIntoVisits();
  void narrowToReplica();
  void makeChannels();
  void copyAndFetch(const WorkSource &source, HandOut &state, Value fetches);
  LogicalResult buildLoad();
  void buildCompute();

  pipe::RoleAttr roleOf(StringRef op);
  Value constant(int32_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  }
  void findRecord();
  bool isOfLoad(Operation *op) const {
    return op == copies || op == copiesGuard;
  }
  void addWord(Value value);
  void gatherWords();

  pipe::ScheduleAttr schedule;
  pipe::RolesOp one;
  int32_t tileQ, tileK;
  OpBuilder b;
  Location loc;

  // The one role.
  Block *item = nullptr; ///< body of its work loop; the argument is the word
  LoadItemOp record;
  SpeculateOp speculation; ///< or null
  VisitChain chain;
  scf::IfOp visits; ///< around the chain

  // What becomes of it.
  pipe::RolesOp roles;
  Operation *copiesGuard = nullptr; ///< is there a visit?
  scf::IfOp copies;                 ///< load's part of the item
  Value workChannel, verdictChannel;
  llvm::DenseSet<Value> ofRecord;
  llvm::SetVector<Value> words; ///< in the item's own terms, the index first
};

} // namespace

pipe::RoleAttr Splitter::roleOf(StringRef op) {
  for (Attribute attr : schedule.getRoles()) {
    auto role = cast<pipe::RoleAttr>(attr);
    if (role.getName().getValue() == schedule.getRoleOf(op))
      return role;
  }
  return {};
}

/// The item's loop, the run of visits in it and the guard around them.
LogicalResult Splitter::find() {
  SmallVector<VisitChain> chains;
  if (failed(findVisitChains(one, chains)))
    return failure();
  auto loops = one.getBodies()[0].getOps<scf::WhileOp>();
  if (chains.size() != 1 || loops.empty())
    return one.emitError() << "pipe-split-roles needs 1 run of visits in a "
                              "work loop but the role has "
                           << chains.size();
  chain = chains[0];
  item = &(*loops.begin()).getAfter().front();
  visits = dyn_cast<scf::IfOp>(chain.loops[0].loop->getParentOp());
  for (LoadItemOp op : item->getOps<LoadItemOp>())
    record = op;
  for (SpeculateOp op : item->getOps<SpeculateOp>())
    speculation = op;
  bool inItem = visits && (visits->getBlock() == item ||
                           visits->getParentOp() == speculation);
  if (!inItem || !record)
    return one.emitError("pipe-split-roles needs visits with channels");
  return success();
}

//===----------------------------------------------------------------------===//
// load's part of the item
//===----------------------------------------------------------------------===//

/// Makes `copies` from the ops that fill slots, and drops them where they were.
LogicalResult Splitter::cutCopies() {
  SmallVector<CopyGroup> groups;
  for (VisitLoop loop : chain.loops) {
    FailureOr<CopyGroup> group = collectCopies(loop);
    if (failed(group))
      return failure();
    groups.push_back(*group);
  }
  b.setInsertionPoint(item->findAncestorOpInBlock(*visits));
  Value lo = chain.descending ? chain.last : chain.first;
  Value hi = chain.descending ? chain.first : chain.last;
  copiesGuard =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, hi, lo);
  copies = scf::IfOp::create(b, loc, copiesGuard->getResult(0),
                             /*withElseRegion=*/false);
  b.setInsertionPoint(copies.thenBlock()->getTerminator());
  SmallVector<Operation *> once = fillsOf(visits.thenBlock());
  IRMapping map;
  for (Operation *op : once)
    b.clone(*op, map);
  Value step = constant(1);
  auto [loop, index] = createVisits(b, loc, chain.descending, lo, hi, step);
  b.setInsertionPoint(loop.loop.getBody()->getTerminator());
  cloneCopies(b, groups.front(), index);

  for (Operation *op : llvm::reverse(once))
    op->erase();
  for (const CopyGroup &group : groups)
    eraseCopies(group);
  return success();
}

//===----------------------------------------------------------------------===//
// compute's part of the item
//===----------------------------------------------------------------------===//

/// speculate { body } check { check }; rest
/// ->  body; check; send verdict; if good { rest }
void Splitter::inlineSpeculation() {
  b.setInsertionPoint(speculation);
  Block *body = &speculation.getBody().front();
  Block *check = &speculation.getCheck().front();
  Value flag = constant(exactBit), zero = constant(0);
  Value bit = arith::AndIOp::create(b, loc, item->getArgument(0), flag);
  Value exact =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit, zero);
  auto moveHere = [&](Block *from, ValueRange args) {
    for (auto [arg, value] : llvm::zip_equal(from->getArguments(), args))
      arg.replaceAllUsesWith(value);
    SmallVector<Value> results(from->getTerminator()->getOperands());
    from->getTerminator()->erase();
    item->getOperations().splice(Block::iterator(speculation),
                                 from->getOperations());
    return results;
  };
  SmallVector<Value> state = moveHere(body, exact);
  Value good = moveHere(check, state).front();
  speculation.replaceAllUsesWith(state);
  // The second run is not checked.
  Value ok = arith::OrIOp::create(b, loc, good, exact);
  Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
  Value bad = arith::XOrIOp::create(b, loc, ok, yes);
  Value verdict = arith::ExtUIOp::create(b, loc, b.getI32Type(), bad);
  pipe::SendOp::create(b, loc, verdictChannel, verdict);
  auto publish = scf::IfOp::create(b, loc, ok, /*withElseRegion=*/false);
  publish.thenBlock()->getOperations().splice(
      Block::iterator(publish.thenBlock()->getTerminator()),
      item->getOperations(), std::next(Block::iterator(speculation)),
      Block::iterator(item->getTerminator()));
  speculation.erase();
  speculation = {};

  // The number of visits must not depend on data.
  item->walk([&](ExactPrefixOp op) {
    op->setAttr("pipe.at_most", b.getDenseI32ArrayAttr({3, 4}));
  });
}

/// Each replica has its share of the item's rows.
void Splitter::takeReplicas() {
  pipe::RoleAttr compute = roleOf("default");
  int32_t parts = compute.getReplicas();
  if (parts == 1)
    return;
  Value rank =
      roles.getBodies()[roles.indexOf(compute.getName())].front().getArgument(
          0);
  RowParts share{tileQ, parts};
  for (Operation &top : *item)
    if (!isOfLoad(&top))
      share.retype(&top);
  auto useSlice = [&](Value whole, Operation *slice) {
    whole.replaceUsesWithIf(slice->getResult(0), [&](OpOperand &use) {
      return use.getOwner() != slice && !copies->isAncestor(use.getOwner());
    });
  };
  for (RowMapOp rows : llvm::make_early_inc_range(item->getOps<RowMapOp>())) {
    b.setInsertionPointAfter(rows);
    useSlice(rows, share.slice(b, loc, rows, rank));
  }
  for (pipe::WaitOp wait : visits.thenBlock()->getOps<pipe::WaitOp>()) {
    Operation *rewrite = rewriteOf(wait);
    b.setInsertionPointAfter(rewrite ? rewrite : wait.getOperation());
    Value tile = wait.getPayload();
    useSlice(tile, SliceTileOp::create(b, loc, share.of(tile.getType()), tile,
                                       rank, parts));
  }
}

/// Waits come as late as they can, and arithmetic on borders that only the visits
/// use goes to them: borders are words, what is counted from them is not.
void Splitter::sinkIntoVisits() {
  for (VisitLoop loop : chain.loops)
    for (pipe::WaitOp wait : llvm::make_early_inc_range(
             loop.loop.getBody()->getOps<pipe::WaitOp>())) {
      Block *body = wait->getBlock();
      Operation *rewrite = rewriteOf(wait), *first = nullptr;
      for (Operation *user : wait->getUsers()) {
        Operation *here = body->findAncestorOpInBlock(*user);
        if (here != rewrite && (!first || here->isBeforeInBlock(first)))
          first = here;
      }
      wait->moveBefore(first);
      if (rewrite)
        rewrite->moveBefore(first);
    }
  // Integers that the visits alone use: what a data-dependent border or the
  // number of a block is counted from.
  Operation *front = chain.loops.front().loop;
  SmallVector<Operation *> candidates;
  for (Operation &op : llvm::make_range(item->begin(), visits->getIterator()))
    if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
            ExactPrefixOp>(op))
      candidates.push_back(&op);
  for (Operation *op : llvm::reverse(candidates)) {
    bool isRecord = ofRecord.contains(op->getResult(0));
    if (llvm::all_of(op->getUsers(), [&](Operation *user) {
          return visits->isProperAncestor(user) &&
                 (!isRecord || isa<arith::ArithDialect>(user->getDialect()));
        })) {
      op->moveBefore(front);
      ofRecord.erase(op->getResult(0));
      front = op;
    }
  }
}

/// Blocks shorter than an item are not all seen by all replicas.  Replicas that
/// rewrite a block together all visit it.
void Splitter::narrowToReplica() {
  pipe::RoleAttr compute = roleOf("default");
  auto rows = item->getOps<RowMapOp>();
  if (compute.getReplicas() == 1 || tileK >= tileQ || rows.empty())
    return;
  for (VisitLoop loop : chain.loops)
    if (!loop.loop.getBody()->getOps<RewriteKVOp>().empty())
      return;
  Region &body = roles.getBodies()[roles.indexOf(compute.getName())];
  narrowVisits(chain, visits, *rows.begin(), body.front().getArgument(0),
               tileQ / compute.getReplicas());
}

//===----------------------------------------------------------------------===//
// Words and channels
//===----------------------------------------------------------------------===//

/// What follows from the item's record alone, by ops of the item's own block;
/// what follows from the word itself does not.
void Splitter::findRecord() {
  for (Operation &op : *item) {
    bool follows = isa<LoadItemOp, RequestOp>(op);
    if (isa<arith::ArithDialect>(op.getDialect()))
      follows = llvm::all_of(op.getOperands(), [&](Value operand) {
        return ofRecord.contains(operand) ||
               !one->isAncestor(operand.getParentRegion()->getParentOp());
      });
    if (follows)
      ofRecord.insert(op.result_begin(), op.result_end());
  }
}

/// Compute uses `value`: an integer of the record is a word; anything else that
/// follows from it is worked out again.
void Splitter::addWord(Value value) {
  Operation *def = value.getDefiningOp();
  if (!ofRecord.contains(value) || isa_and_nonnull<arith::ConstantOp>(def))
    return;
  if (value.getType().isInteger(32)) {
    words.insert(value);
    return;
  }
  for (Value operand : def->getOperands())
    addWord(operand);
}

/// What compute uses of the record, in the record's order, and its channel.
void Splitter::gatherWords() {
  words.insert(item->getArgument(0));
  for (Operation &top : *item) {
    bool isRecord = top.getNumResults() && ofRecord.contains(top.getResult(0));
    if (isRecord || isOfLoad(&top) || top.hasTrait<OpTrait::IsTerminator>())
      continue;
    top.walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        addWord(operand);
    });
  }
  // In the order of the record.
  SmallVector<Value> ordered(words.begin(), words.end());
  llvm::sort(ordered, [&](Value x, Value y) {
    Operation *dx = x.getDefiningOp(), *dy = y.getDefiningOp();
    if (!dx || !dy)
      return !dx && dy;
    if (dx != dy)
      return dx->isBeforeInBlock(dy);
    return cast<OpResult>(x).getResultNumber() <
           cast<OpResult>(y).getResultNumber();
  });
  words.clear();
  words.insert(ordered.begin(), ordered.end());
  b.setInsertionPoint(roles);
  MLIRContext *context = b.getContext();
  workChannel = pipe::ChannelOp::create(
      b, loc,
      pipe::ChannelType::get(
          context, pipe::WordsType::get(context, int32_t(words.size())),
          schedule.getDepth("work")),
      b.getStringAttr("work"), roleOf("load_kv").getName(),
      b.getStrArrayAttr({roleOf("default").getName().getValue()}));
}

void Splitter::makeChannels() {
  StringAttr load = roleOf("load_kv").getName();
  pipe::RoleAttr compute = roleOf("default");
  for (pipe::ChannelOp channel : one->getBlock()->getOps<pipe::ChannelOp>()) {
    channel.setProducerAttr(load);
    channel.setConsumersAttr(b.getStrArrayAttr({compute.getName().getValue()}));
  }
  if (!speculation)
    return;
  MLIRContext *context = b.getContext();
  int32_t depth = schedule.getDepth("verdict");
  auto type =
      pipe::ChannelType::get(context, pipe::WordsType::get(context, 1), depth,
                             /*lanes=*/compute.getReplicas());
  b.setInsertionPoint(roles);
  verdictChannel = pipe::ChannelOp::create(
      b, loc, type, b.getStringAttr("verdict"), compute.getName(),
      b.getStrArrayAttr({load.getValue()}), b.getI32IntegerAttr(depth));
}

//===----------------------------------------------------------------------===//
// The roles
//===----------------------------------------------------------------------===//

/// if visits { copies, but the next item fetched before the loop } else { fetch }
void Splitter::copyAndFetch(const WorkSource &source, HandOut &state,
                            Value fetches) {
  Block *after = b.getInsertionBlock();
  copiesGuard->moveBefore(after, after->end());
  SmallVector<Value> old{state.next};
  old.append(state.record);
  auto branch = scf::IfOp::create(b, loc, ValueRange(old).getTypes(),
                                  copiesGuard->getResult(0),
                                  /*withElseRegion=*/true);
  branch.thenBlock()->getOperations().splice(
      branch.thenBlock()->end(), copies.thenBlock()->getOperations());
  copies.erase();
  copies = branch;
  scf::ForOp visiting = *branch.thenBlock()->getOps<scf::ForOp>().begin();
  branch.thenBlock()->getTerminator()->erase();
  for (Block *arm : {branch.thenBlock(), branch.elseBlock()}) {
    OpBuilder in = OpBuilder::atBlockEnd(arm);
    if (arm == branch.thenBlock())
      in.setInsertionPoint(visiting);
    HandOut fresh = state;
    fetchNext(in, loc, source, fetches, fresh);
    in.setInsertionPointToEnd(arm);
    fresh.history.clear();
    scf::YieldOp::create(in, loc, fresh.values());
  }
  state.next = branch.getResult(0);
  state.record = llvm::to_vector_of<Value>(branch.getResults().drop_front());
}

/// while { hand out; record; send } do { copies }
LogicalResult Splitter::buildLoad() {
  // Values of the record that the copies need, and all that is behind them.
  llvm::SetVector<Value> carried;
  SmallVector<OpOperand *> constants;
  auto need = [&](Operation *op) -> WalkResult {
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      Operation *def = value.getDefiningOp();
      if (!one->isAncestor(value.getParentRegion()->getParentOp()) ||
          (def && (def == copiesGuard || copies->isAncestor(def))) ||
          copies->isAncestor(value.getParentRegion()->getParentOp()))
        continue;
      if (isa_and_nonnull<arith::ConstantOp>(def))
        constants.push_back(&operand);
      else if (value.getParentBlock() == item)
        carried.insert(value);
      else
        return WalkResult(
            op->emitError("copies depend on more than the item's record"));
    }
    return WalkResult::advance();
  };
  if (need(copiesGuard).wasInterrupted() || copies->walk(need).wasInterrupted())
    return failure();
  llvm::SmallPtrSet<Operation *, 32> slice;
  SmallVector<Value> todo(carried.begin(), carried.end());
  todo.append(words.begin(), words.end());
  while (!todo.empty()) {
    Operation *def = todo.pop_back_val().getDefiningOp();
    if (!def || def->getBlock() != item || !slice.insert(def).second)
      continue;
    if (!isPure(def))
      return def->emitError("copies depend on more than the item's record");
    todo.append(def->operand_begin(), def->operand_end());
  }

  // What is read of the plan is fetched ahead; what follows from it is worked
  // out when it is handed out.
  WorkSource source{record.getPlan(),
                    schedule.getPersist().getValue() == "dynamic"
                        ? pipe::WorkOrder::Dynamic
                        : pipe::WorkOrder::Static,
                    verdictChannel,
                    item->getArgument(0),
                    {},
                    {}};
  SmallVector<Operation *> rest;
  for (Operation &op : *item)
    if (slice.contains(&op))
      (isa<LoadItemOp, RequestOp>(op) ? source.reads : rest).push_back(&op);
  for (Operation *op : source.reads)
    for (Value value : op->getResults())
      if (carried.contains(value) || words.contains(value) ||
          llvm::any_of(rest, [&](Operation *user) {
            return llvm::is_contained(user->getOperands(), value);
          }))
        source.record.push_back(value);

  pipe::RoleAttr load = roleOf("load_kv");
  Region &body = roles.getBodies()[roles.indexOf(load.getName())];
  b.setInsertionPoint(body.front().getTerminator());
  HandOut state = startHandOut(b, loc, source);
  SmallVector<Value> start = state.values();
  SmallVector<Type> types(ValueRange(start).getTypes());
  SmallVector<Location> locs(start.size(), loc);
  SmallVector<Type> passed(types);
  passed.push_back(b.getI1Type());
  llvm::append_range(passed, ValueRange(carried.getArrayRef()).getTypes());
  auto loop = scf::WhileOp::create(b, loc, passed, start);

  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  state = state.at(before->getArguments());
  Turn turn = handOut(b, loc, source, state);
  IRMapping map;
  map.map(item->getArgument(0), turn.word);
  map.map(source.record, turn.record);
  for (Operation *op : rest)
    b.clone(*op, map);
  SmallVector<Value> sent;
  for (Value value : words)
    sent.push_back(map.lookup(value));
  pipe::SendOp::create(b, loc, workChannel, sent);
  Value end = constant(endWord);
  Value go =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, turn.word, end);
  SmallVector<Value> forwarded = state.values();
  forwarded.push_back(turn.fetches);
  for (Value value : carried)
    forwarded.push_back(map.lookup(value));
  scf::ConditionOp::create(b, loc, go, forwarded);

  locs.assign(passed.size(), loc);
  Block *after = b.createBlock(&loop.getAfter(), {}, passed, locs);
  state = state.at(after->getArguments());
  Value fetches = after->getArgument(start.size());
  copyAndFetch(source, state, fetches);
  scf::YieldOp::create(b, loc, state.values());
  b.setInsertionPointToStart(after);
  IRMapping here;
  for (OpOperand *use : constants) {
    if (!here.contains(use->get()))
      b.clone(*use->get().getDefiningOp(), here);
    use->set(here.lookup(use->get()));
  }
  for (auto [i, entry] : llvm::enumerate(carried))
    Value(entry).replaceUsesWithIf(after->getArgument(start.size() + 1 + i),
                                   [&](OpOperand &use) {
                                     return use.getOwner() == copiesGuard ||
                                            copies->isAncestor(use.getOwner());
                                   });
  return success();
}

/// recv; while { words } do { visits; verdict; recv the next; the rest }
void Splitter::buildCompute() {
  pipe::RoleAttr compute = roleOf("default");
  Region &body = roles.getBodies()[roles.indexOf(compute.getName())];
  b.setInsertionPoint(body.front().getTerminator());
  auto received = pipe::RecvOp::create(b, loc, workChannel);
  SmallVector<Type> types(words.size(), b.getI32Type());
  SmallVector<Location> locs(words.size(), loc);
  auto loop = scf::WhileOp::create(b, loc, types, received.getWords());
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value end = constant(endWord);
  Value go = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                   before->getArgument(0), end);
  scf::ConditionOp::create(b, loc, go, before->getArguments());

  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  item->getTerminator()->erase();
  after->getOperations().splice(after->end(), item->getOperations());
  // A verdict may be what the next words wait for; results are not.
  Operation *behind = visits;
  for (Operation &op : *after)
    if (isa<pipe::SendOp>(op) || op.hasAttr(passesAttr))
      behind = op.isBeforeInBlock(behind) ? behind : &op;
  b.setInsertionPointAfter(behind);
  auto next = pipe::RecvOp::create(b, loc, workChannel);
  b.setInsertionPointToEnd(after);
  scf::YieldOp::create(b, loc, next.getWords());
  for (auto [i, entry] : llvm::enumerate(words))
    Value(entry).replaceUsesWithIf(after->getArgument(i), [&](OpOperand &use) {
      return body.isAncestor(use.getOwner()->getParentRegion());
    });
  // What the record gives is load's business now.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*after)))
    if (op.use_empty() && isPure(&op) && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
}

LogicalResult Splitter::run() {
  if (failed(find()))
    return failure();
  b.setInsertionPoint(one);
  roles = pipe::RolesOp::create(b, loc, schedule.getRoles(),
                                schedule.getRoles().size());
  for (auto [region, attr] :
       llvm::zip_equal(roles.getBodies(), schedule.getRoles())) {
    Block &block = region.emplaceBlock();
    if (cast<pipe::RoleAttr>(attr).getReplicas() > 1)
      block.addArgument(b.getI32Type(), loc);
    b.setInsertionPointToEnd(&block);
    pipe::YieldOp::create(b, loc);
  }
  makeChannels();
  if (failed(cutCopies()))
    return failure();
  if (speculation)
    inlineSpeculation();
  takeReplicas();
  findRecord();
  sinkIntoVisits();
  narrowToReplica();

  gatherWords();
  if (failed(buildLoad()))
    return failure();
  buildCompute();
  one.erase();
  return success();
}

namespace {
struct SplitRoles : attn::impl::PipeSplitRolesBase<SplitRoles> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = getPipeSchedule(kernel, "pipe-split-roles");
    if (failed(schedule))
      return signalPassFailure();
    if (!hasRoles(*schedule) || kernel.getMergeOfAttr())
      return markAllAnalysesPreserved();
    SmallVector<pipe::RolesOp> roles(kernel.getOps<pipe::RolesOp>());
    if (roles.size() != 1 || roles[0].getBodies().size() != 1) {
      kernel.emitError() << "pipe-split-roles needs 1 pipe.roles of 1 role but "
                            "the kernel has "
                         << roles.size();
      return signalPassFailure();
    }
    if (failed(Splitter(kernel, roles[0], *schedule).run()))
      signalPassFailure();
  }
};
} // namespace
