//===- PipeMutate.cpp - broken versions of an L2 kernel -------------------===//
//
// Each edit leaves IR that the simulator can run; it need not verify.
//
//   acquire k; issue {copy}; commit     DropVisit   ->
//   acquire k; issue {copy}; commit     DoubleVisit -> acquire k; ...; commit
//                                                      acquire k; ...; commit
//
// Invariant: an edit touches one op, or one visit.
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/PipeMutate.h"

#include "PipeState.h"

#include "attn/Sim/PipeTrace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

using Kind = PipeMutant::Kind;

llvm::StringRef attn::sim::nameOf(Kind kind) {
  switch (kind) {
  case Kind::DropVisit:
    return "drop visit";
  case Kind::DoubleVisit:
    return "double visit";
  case Kind::DoubleWait:
    return "double wait";
  case Kind::DropCommit:
    return "drop commit";
  case Kind::DoubleCommit:
    return "double commit";
  case Kind::CommitEarly:
    return "commit early";
  case Kind::DropRelease:
    return "drop release";
  case Kind::DoubleRelease:
    return "double release";
  case Kind::ReleaseEarly:
    return "release early";
  case Kind::ReleaseBeforeJoin:
    return "release before join";
  case Kind::Unguarded:
    return "unguarded";
  case Kind::DropSend:
    return "drop send";
  case Kind::DoubleSend:
    return "double send";
  case Kind::DropRecv:
    return "drop recv";
  case Kind::DoubleRecv:
    return "double recv";
  case Kind::DropRows:
    return "drop rows";
  case Kind::DropTurn:
    return "drop turn";
  case Kind::DepthLess:
    return "depth less";
  case Kind::NoTokens:
    return "no tokens";
  case Kind::TokensLess:
    return "tokens less";
  case Kind::SwapVisits:
    return "swap visits";
  case Kind::OtherReplica:
    return "other replica";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Channel of a slot or of an op on a channel; null for other ops.
static pipe::ChannelOp channelOf(Operation *op) {
  if (auto channel = dyn_cast<pipe::ChannelOp>(op))
    return channel;
  if (!isa<pipe::AcquireOp, pipe::WaitOp, pipe::CommitOp, pipe::ReleaseOp,
           pipe::SendOp, pipe::RecvOp>(op))
    return {};
  mlir::Value value = op->getOperand(0);
  if (auto acquire = value.getDefiningOp<pipe::AcquireOp>())
    value = acquire.getChannel();
  else if (auto wait = value.getDefiningOp<pipe::WaitOp>())
    value = wait.getChannel();
  return value.getDefiningOp<pipe::ChannelOp>();
}

/// The ops of the acquire's block that depend on its slot, in order; empty if
/// one of them gives a value to somebody else.
static SmallVector<Operation *> visitOf(pipe::AcquireOp acquire) {
  Block *block = acquire->getBlock();
  llvm::SetVector<Operation *> set;
  set.insert(acquire);
  for (size_t i = 0; i < set.size(); ++i)
    for (Operation *user : set[i]->getUsers()) {
      Operation *here = block->findAncestorOpInBlock(*user);
      if (!here || here->hasTrait<OpTrait::IsTerminator>())
        return {};
      set.insert(here);
    }
  SmallVector<Operation *> visit(set.begin(), set.end());
  llvm::sort(visit,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return visit;
}

/// The acquire of the next visit that starts in the block behind `visit`.
static pipe::AcquireOp nextVisit(ArrayRef<Operation *> visit) {
  for (Operation *op = visit.back()->getNextNode(); op; op = op->getNextNode())
    if (auto acquire = dyn_cast<pipe::AcquireOp>(op))
      return acquire;
  return {};
}

/// True if one role is on both sides: the order of its own ops is what guards
/// the slot and says what comes first, not the acquire.
static bool isOwn(pipe::ChannelOp channel) {
  return llvm::all_of(
      channel.getConsumers().getAsValueRange<StringAttr>(),
      [&](StringRef role) { return role == channel.getProducer(); });
}

/// The join in the release's block that makes a token of the release.
static pipe::JoinOp joinOf(pipe::ReleaseOp release) {
  for (mlir::Value done : release.getDone())
    if (auto join = done.getDefiningOp<pipe::JoinOp>())
      if (join->getBlock() == release->getBlock())
        return join;
  return {};
}

/// What threads write into slots.
static bool writesRows(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return name == "attn.zero_rows" || name.starts_with("attn.rewrite_");
}

/// Edits that an op takes.
static SmallVector<Kind> kindsOf(Operation *op) {
  SmallVector<Kind> kinds;
  if (auto x = dyn_cast<pipe::AcquireOp>(op)) {
    bool own = isOwn(channelOf(op));
    if (!own)
      kinds.push_back(Kind::Unguarded);
    SmallVector<Operation *> visit = visitOf(x);
    if (!visit.empty()) {
      kinds.append({Kind::DropVisit, Kind::DoubleVisit});
      pipe::AcquireOp next = nextVisit(visit);
      if (!own && next && next.getChannel() != x.getChannel() &&
          !visitOf(next).empty())
        kinds.push_back(Kind::SwapVisits);
    }
  } else if (isa<pipe::WaitOp>(op)) {
    kinds.append({Kind::Unguarded, Kind::DoubleWait});
  } else if (auto x = dyn_cast<pipe::CommitOp>(op)) {
    kinds.append({Kind::DropCommit, Kind::DoubleCommit});
    if (!x.getFutures().empty())
      kinds.push_back(Kind::CommitEarly);
  } else if (auto x = dyn_cast<pipe::ReleaseOp>(op)) {
    kinds.append({Kind::DropRelease, Kind::DoubleRelease, Kind::ReleaseEarly});
    if (joinOf(x))
      kinds.push_back(Kind::ReleaseBeforeJoin);
  } else if (isa<pipe::SendOp>(op)) {
    kinds.append({Kind::DropSend, Kind::DoubleSend});
    if (channelOf(op).getInitial() == 0)
      kinds.push_back(Kind::Unguarded);
  } else if (isa<pipe::RecvOp>(op)) {
    kinds.append({Kind::DropRecv, Kind::DoubleRecv, Kind::Unguarded});
  } else if (auto x = dyn_cast<pipe::ChannelOp>(op)) {
    if (x.getInitial() != 0)
      kinds.push_back(Kind::NoTokens);
    if (x.getInitial() > 1)
      kinds.push_back(Kind::TokensLess);
    else if (x.getResult().getType().getDepth() > 1)
      kinds.push_back(Kind::DepthLess);
  } else if (auto x = dyn_cast<pipe::RolesOp>(op)) {
    for (Region &body : x.getBodies())
      if (body.getNumArguments() && !body.getArgument(0).use_empty())
        kinds.push_back(Kind::OtherReplica);
  } else if (isa<pipe::TakeTurnOp, pipe::PassTurnOp>(op)) {
    kinds.push_back(Kind::DropTurn);
  } else if (writesRows(op)) {
    kinds.push_back(Kind::DropRows);
  }
  return kinds;
}

std::vector<PipeMutant> attn::sim::listPipeMutants(Operation *kernel) {
  std::vector<PipeMutant> mutants;
  unsigned number = 0;
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Kind kind : kindsOf(op)) {
      PipeMutant mutant{kind, number, nameOf(kind).str()};
      if (kind == Kind::Unguarded)
        mutant.name += " " + op->getName().stripDialect().str();
      if (pipe::ChannelOp channel = channelOf(op))
        mutant.name += " of channel '" + channel.getName().str() + "'";
      std::string where = locText(op->getLoc());
      if (!where.empty())
        mutant.name += " (" + where + ")";
      mutants.push_back(std::move(mutant));
    }
    ++number;
  });
  return mutants;
}

//===----------------------------------------------------------------------===//
// Edits
//===----------------------------------------------------------------------===//

static void setDepth(pipe::ChannelOp op, int32_t depth) {
  pipe::ChannelType type = op.getResult().getType();
  op.getResult().setType(pipe::ChannelType::get(
      op.getContext(), type.getPayload(), depth, type.getLanes()));
}

static void edit(Operation *op, Kind kind) {
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  switch (kind) {
  case Kind::DropVisit: {
    SmallVector<Operation *> visit = visitOf(cast<pipe::AcquireOp>(op));
    for (Operation *part : llvm::reverse(visit))
      part->erase();
    return;
  }
  case Kind::DoubleVisit: {
    SmallVector<Operation *> visit = visitOf(cast<pipe::AcquireOp>(op));
    IRMapping map;
    b.setInsertionPointAfter(visit.back());
    for (Operation *part : visit)
      b.clone(*part, map);
    return;
  }
  case Kind::SwapVisits: {
    SmallVector<Operation *> visit = visitOf(cast<pipe::AcquireOp>(op));
    Operation *behind = visitOf(nextVisit(visit)).back();
    for (Operation *part : visit) {
      part->moveAfter(behind);
      behind = part;
    }
    return;
  }
  case Kind::DoubleWait: {
    auto again = cast<pipe::WaitOp>(b.clone(*op));
    pipe::ReleaseOp::create(b, op->getLoc(), again.getSlot());
    return;
  }
  case Kind::DropCommit:
  case Kind::DropRelease:
  case Kind::DropSend:
  case Kind::DropRows:
  case Kind::DropTurn:
    op->erase();
    return;
  case Kind::DoubleCommit:
  case Kind::DoubleRelease:
  case Kind::DoubleSend:
  case Kind::DoubleRecv:
    b.clone(*op);
    return;
  case Kind::CommitEarly:
    cast<pipe::CommitOp>(op).getFuturesMutable().clear();
    return;
  case Kind::ReleaseEarly: {
    auto release = cast<pipe::ReleaseOp>(op);
    release.getDoneMutable().clear();
    release->moveAfter(release.getSlot().getDefiningOp());
    return;
  }
  case Kind::ReleaseBeforeJoin: {
    auto release = cast<pipe::ReleaseOp>(op);
    pipe::JoinOp join = joinOf(release);
    release.getDoneMutable().clear();
    release->moveBefore(join);
    return;
  }
  case Kind::Unguarded:
    op->setAttr(unguardedAttr, b.getUnitAttr());
    return;
  case Kind::DropRecv: {
    auto zero = arith::ConstantIntOp::create(b, op->getLoc(), 0, 32);
    for (mlir::Value result : op->getResults())
      result.replaceAllUsesWith(zero);
    op->erase();
    return;
  }
  case Kind::DepthLess: {
    auto channel = cast<pipe::ChannelOp>(op);
    setDepth(channel, channel.getResult().getType().getDepth() - 1);
    return;
  }
  case Kind::NoTokens:
    cast<pipe::ChannelOp>(op).setInitial(0);
    return;
  case Kind::TokensLess: {
    auto channel = cast<pipe::ChannelOp>(op);
    setDepth(channel, channel.getInitial() - 1);
    channel.setInitial(channel.getInitial() - 1);
    return;
  }
  case Kind::OtherReplica:
    for (Region &body : cast<pipe::RolesOp>(op).getBodies())
      if (body.getNumArguments()) {
        b.setInsertionPointToStart(&body.front());
        body.getArgument(0).replaceAllUsesWith(
            arith::ConstantIntOp::create(b, op->getLoc(), 0, 32));
      }
    return;
  }
}

bool attn::sim::applyPipeMutant(Operation *kernel, const PipeMutant &mutant) {
  unsigned number = 0;
  Operation *found = nullptr;
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (number++ != mutant.op)
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  if (!found || !llvm::is_contained(kindsOf(found), mutant.kind))
    return false;
  edit(found, mutant.kind);
  return true;
}

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

static MutantVerdict judge(ModuleOp module, StringRef kernel,
                           const PipeMutant &mutant,
                           ArrayRef<LaunchOptions> launches, MutantRun run,
                           uint64_t maxStates) {
  MutantVerdict verdict;
  verdict.mutant = mutant;
  OwningOpRef<ModuleOp> clone = module.clone();
  if (!applyPipeMutant(SymbolTable::lookupSymbolIn(*clone, kernel), mutant)) {
    verdict.report.give(Verdict::NotRun, "the kernel has no such op");
    return verdict;
  }
  std::vector<PipeTrace> traces;
  for (LaunchOptions launch : launches) {
    std::vector<PipeTrace> own;
    launch.traces = &own;
    verdict.report = run(*clone, launch);
    if (!verdict.report.ok())
      return verdict;
    for (PipeTrace &trace : own)
      if (llvm::none_of(
              traces, [&](const PipeTrace &t) { return t.sameEvents(trace); }))
        traces.push_back(std::move(trace));
  }
  verdict.equivalent = true;
  for (const PipeTrace &trace : traces) {
    Exploration all = explorePipe(trace, maxStates);
    verdict.states += all.states;
    if (!all.report.ok()) {
      verdict.equivalent = false;
      verdict.report = all.report;
      return verdict;
    }
    verdict.open |= !all.complete;
  }
  verdict.equivalent = !verdict.open;
  return verdict;
}

std::vector<MutantVerdict>
attn::sim::judgePipeMutants(ModuleOp module, StringRef kernel,
                            ArrayRef<LaunchOptions> launches, MutantRun run,
                            uint64_t maxStates) {
  std::vector<MutantVerdict> verdicts;
  Operation *op = SymbolTable::lookupSymbolIn(module, kernel);
  if (!op)
    return verdicts;
  for (const PipeMutant &mutant : listPipeMutants(op))
    verdicts.push_back(judge(module, kernel, mutant, launches, run, maxStates));
  return verdicts;
}
