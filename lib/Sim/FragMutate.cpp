//===- FragMutate.cpp - broken versions of an L3 kernel -------------------===//
//
// Each edit leaves IR that the machine can run; it need not verify.
//
//   %s = frag.wgmma_wait pending 0 %a      ArriveEarly ->
//   frag.mbar_arrive %ke[%p]               frag.mbar_arrive %ke[%p]
//                                          %s = frag.wgmma_wait pending 0 %a
//
// An edit that leaves a legal kernel, such as one more group waited for, a position
// of one slot where no phase is looked at, or another group of two that are always
// waited for together, is not among them.
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/FragMutate.h"

#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Sim/Verdict.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

using Kind = FragMutant::Kind;

llvm::StringRef attn::sim::nameOf(Kind kind) {
  switch (kind) {
  case Kind::DropBarrier:
  case Kind::DropCommit:
  case Kind::DropWait:
  case Kind::DropCopy:
  case Kind::DropArrive:
  case Kind::DropFence:
  case Kind::DropRows:
  case Kind::DropWords:
  case Kind::DropRegisters:
    return "drop";
  case Kind::CommitEarly:
    return "early";
  case Kind::WeakerWait:
    return "weaker";
  case Kind::DoubleArrive:
    return "double";
  case Kind::ArriveEarly:
    return "early";
  case Kind::ArriveUnsynced:
    return "unsynced";
  case Kind::OtherLane:
    return "other lane of";
  case Kind::CountLess:
    return "count less of";
  case Kind::CountMore:
    return "count more of";
  case Kind::BytesLess:
    return "bytes less of";
  case Kind::BytesMore:
    return "bytes more of";
  case Kind::FlipPhase:
    return "flipped phase of";
  case Kind::StuckPos:
    return "stuck";
  case Kind::SkipPos:
    return "double";
  case Kind::WaitAhead:
    return "a slot ahead";
  case Kind::WaitFlipped:
    return "flipped phase of";
  case Kind::WaitLate:
    return "late";
  case Kind::DepthLess:
    return "depth less of";
  case Kind::BarrierId:
    return "other barrier of";
  case Kind::MoreRegisters:
    return "eight more of";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Name of the storage that an op works on, or empty.
static std::string storageOf(Operation *op) {
  auto nameOfOp = [](Operation *def) -> std::string {
    if (auto smem = dyn_cast_or_null<frag::SmemOp>(def))
      return smem.getName().str();
    if (auto words = dyn_cast_or_null<frag::WordsOp>(def))
      return words.getName().str();
    if (auto bars = dyn_cast_or_null<frag::BarsOp>(def))
      return bars.getName().str();
    return "";
  };
  std::string own = nameOfOp(op);
  if (!own.empty() || isa<frag::InitOp, frag::NextOp, frag::PosOp>(op))
    return own;
  for (mlir::Value operand : op->getOperands())
    if (std::string name = nameOfOp(operand.getDefiningOp()); !name.empty())
      return name;
  return "";
}

/// The op in the arrival's block behind which it has to stay: what finishes the
/// reads or writes that it announces.
static Operation *guardOf(Operation *arrival) {
  for (Operation *op = arrival->getPrevNode(); op; op = op->getPrevNode()) {
    for (mlir::Value operand : arrival->getOperands())
      if (operand.getDefiningOp() == op)
        return nullptr;
    if (isa<frag::WgmmaWaitOp, frag::LdWordsOp, frag::StWordsOp,
            frag::ZeroRowsOp, frag::RewriteRowsOp, scf::ForOp>(op))
      return op;
    // Announces nothing that lies in front of a wait.
    if (isa<frag::MbarWaitOp, frag::MbarArriveOp>(op))
      return nullptr;
  }
  return nullptr;
}

/// What a wait guards: the next op that is more than arithmetic and another
/// wait; null if there is none in its block.
static Operation *guardedBy(Operation *wait) {
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      return nullptr;
    if (!isPure(op) && !isa<frag::MbarWaitOp, frag::CpAsyncWaitOp>(op))
      return op;
  }
  return nullptr;
}

/// The next commit or wait on the way, through branches and round loops; null at
/// the end of the kernel.
static Operation *nextOfGroups(Operation *from) {
  auto inside = [](Operation *op) {
    Operation *found = nullptr;
    op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
      if (!isa<frag::CpAsyncCommitOp, frag::CpAsyncWaitOp>(nested))
        return WalkResult::advance();
      found = nested;
      return WalkResult::interrupt();
    });
    return found;
  };
  for (Operation *op = from; op && !isa<frag::KernelOp>(op);
       op = op->getParentOp()) {
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (Operation *found = inside(next))
        return found;
    if (isa<scf::ForOp>(op->getParentOp()))
      return inside(op->getParentOp());
  }
  return nullptr;
}

/// True where nobody can tell to which of two groups a copy belongs: the next
/// one is closed before any wait, and that wait is for all groups.
static bool anyGroupWillDo(Operation *commit) {
  Operation *next = nextOfGroups(commit);
  if (!isa_and_nonnull<frag::CpAsyncCommitOp>(next))
    return false;
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (isa_and_nonnull<frag::CpAsyncCommitOp>(next) &&
         seen.insert(next).second)
    next = nextOfGroups(next);
  auto wait = dyn_cast_or_null<frag::CpAsyncWaitOp>(next);
  return wait && wait.getPending() == 0;
}

static bool hasBars(Operation *op) {
  bool found = false;
  op->getParentOfType<frag::KernelOp>()->walk(
      [&](frag::BarsOp) { found = true; });
  return found;
}

/// Slots of a storage.
static int32_t slotsOf(Type type) {
  if (auto ring = dyn_cast<frag::RingType>(type))
    return ring.getSlots();
  if (auto words = dyn_cast<frag::WordsType>(type))
    return words.getSlots();
  return cast<frag::BarsType>(type).getSlots();
}

static Type withSlots(Type type, int32_t slots) {
  MLIRContext *context = type.getContext();
  if (auto ring = dyn_cast<frag::RingType>(type))
    return frag::RingType::get(context, ring.getRows(), ring.getCols(),
                               ring.getElement(), ring.getSwizzle(), slots);
  if (auto words = dyn_cast<frag::WordsType>(type))
    return frag::WordsType::get(context, words.getCount(), slots,
                                words.getLanes());
  return frag::BarsType::get(context, slots,
                             cast<frag::BarsType>(type).getLanes());
}

/// Edits that an op takes.
static SmallVector<Kind> kindsOf(Operation *op) {
  SmallVector<Kind> kinds;
  if (isa<frag::CtaSyncOp, frag::ClusterSyncOp, frag::InitOp>(op)) {
    kinds.push_back(Kind::DropBarrier);
  } else if (isa<frag::BarrierSyncOp, frag::BarrierArriveOp>(op)) {
    kinds.append({Kind::DropBarrier, Kind::BarrierId});
  } else if (auto any = dyn_cast<frag::AnyOp>(op)) {
    if (any.getScope() != frag::VoteScope::Warp)
      kinds.push_back(Kind::DropBarrier);
    if (any.getRank())
      kinds.push_back(Kind::BarrierId);
  } else if (isa<frag::CpAsyncCommitOp>(op)) {
    if (anyGroupWillDo(op))
      return kinds;
    kinds.push_back(Kind::DropCommit);
    if (isa_and_nonnull<frag::CpAsyncOp>(op->getPrevNode()))
      kinds.push_back(Kind::CommitEarly);
  } else if (isa<frag::CpAsyncWaitOp>(op)) {
    kinds.append({Kind::DropWait, Kind::WeakerWait});
    if (guardedBy(op))
      kinds.push_back(Kind::WaitLate);
  } else if (isa<frag::CpAsyncOp, frag::TmaLoadOp>(op)) {
    kinds.push_back(Kind::DropCopy);
  } else if (isa<frag::MbarWaitOp>(op)) {
    kinds.append({Kind::DropWait, Kind::WaitAhead, Kind::WaitFlipped});
    if (guardedBy(op))
      kinds.push_back(Kind::WaitLate);
  } else if (isa<frag::WgmmaWaitOp>(op)) {
    kinds.push_back(Kind::WeakerWait);
  } else if (isa<frag::MbarArriveOp, frag::MbarArriveOneOp>(op)) {
    kinds.append({Kind::DropArrive, Kind::DoubleArrive});
    if (guardOf(op))
      kinds.push_back(Kind::ArriveEarly);
    auto arrive = dyn_cast<frag::MbarArriveOp>(op);
    if (arrive && arrive.getSync())
      kinds.push_back(Kind::ArriveUnsynced);
    if (arrive && arrive.getLane())
      kinds.push_back(Kind::OtherLane);
  } else if (isa<frag::MbarExpectOp>(op)) {
    kinds.append({Kind::DropArrive, Kind::BytesLess, Kind::BytesMore});
  } else if (isa<frag::FenceOp>(op)) {
    kinds.push_back(Kind::DropFence);
  } else if (isa<frag::ZeroRowsOp, frag::RewriteRowsOp>(op)) {
    kinds.push_back(Kind::DropRows);
  } else if (isa<frag::StWordsOp>(op)) {
    kinds.push_back(Kind::DropWords);
  } else if (isa<frag::PosOp>(op)) {
    if (hasBars(op))
      kinds.push_back(Kind::FlipPhase);
  } else if (auto next = dyn_cast<frag::NextOp>(op)) {
    int32_t slots = next.getPos().getType().getSlots();
    bool phases = hasBars(op);
    if (slots > 1 || phases)
      kinds.push_back(Kind::StuckPos);
    if (slots > 2 || phases)
      kinds.push_back(Kind::SkipPos);
  } else if (auto registers = dyn_cast<frag::SetRegistersOp>(op)) {
    if (registers.getDir() == frag::RegistersDir::Dec)
      kinds.push_back(Kind::DropRegisters);
    kinds.push_back(Kind::MoreRegisters);
  }
  if (isa<frag::SmemOp, frag::WordsOp, frag::BarsOp>(op) &&
      slotsOf(op->getResult(0).getType()) > 1)
    kinds.push_back(Kind::DepthLess);
  if (auto bars = dyn_cast<frag::BarsOp>(op)) {
    kinds.push_back(Kind::CountMore);
    if (bars.getCount() > 1)
      kinds.push_back(Kind::CountLess);
  }
  return kinds;
}

std::vector<FragMutant> attn::sim::listFragMutants(Operation *kernel) {
  std::vector<FragMutant> mutants;
  unsigned number = 0;
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Kind kind : kindsOf(op)) {
      FragMutant mutant{kind, number, nameOf(kind).str()};
      mutant.name += " " + op->getName().stripDialect().str();
      if (std::string storage = storageOf(op); !storage.empty())
        mutant.name += " '" + storage + "'";
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

/// The first copy of the run in front of a commit.
static Operation *firstCopy(Operation *commit) {
  Operation *first = commit;
  while (isa_and_nonnull<frag::CpAsyncOp>(first->getPrevNode()))
    first = first->getPrevNode();
  return first;
}

static void edit(Operation *op, Kind kind) {
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  switch (kind) {
  case Kind::DropBarrier:
    if (auto any = dyn_cast<frag::AnyOp>(op)) {
      any.setScope(frag::VoteScope::Warp);
      return;
    }
    op->erase();
    return;
  case Kind::DropCommit:
  case Kind::DropWait:
  case Kind::DropCopy:
  case Kind::DropArrive:
  case Kind::DropFence:
  case Kind::DropRows:
  case Kind::DropWords:
  case Kind::DropRegisters:
    op->erase();
    return;
  case Kind::CommitEarly:
    op->moveBefore(firstCopy(op));
    return;
  case Kind::WeakerWait:
    if (auto wait = dyn_cast<frag::CpAsyncWaitOp>(op))
      wait.setPending(wait.getPending() + 1);
    else
      cast<frag::WgmmaWaitOp>(op).setPending(
          cast<frag::WgmmaWaitOp>(op).getPending() + 1);
    return;
  case Kind::DoubleArrive:
    b.clone(*op);
    return;
  case Kind::ArriveEarly:
    op->moveBefore(guardOf(op));
    return;
  case Kind::ArriveUnsynced:
    cast<frag::MbarArriveOp>(op).setSync(false);
    return;
  case Kind::OtherLane: {
    b.setInsertionPoint(op);
    cast<frag::MbarArriveOp>(op).getLaneMutable().assign(
        arith::ConstantIntOp::create(b, op->getLoc(), 0, 32).getResult());
    return;
  }
  case Kind::CountLess:
    cast<frag::BarsOp>(op).setCount(cast<frag::BarsOp>(op).getCount() - 1);
    return;
  case Kind::CountMore:
    cast<frag::BarsOp>(op).setCount(cast<frag::BarsOp>(op).getCount() + 1);
    return;
  case Kind::BytesLess:
    cast<frag::MbarExpectOp>(op).setBytes(
        cast<frag::MbarExpectOp>(op).getBytes() / 2);
    return;
  case Kind::BytesMore:
    cast<frag::MbarExpectOp>(op).setBytes(
        cast<frag::MbarExpectOp>(op).getBytes() * 2);
    return;
  case Kind::FlipPhase:
    cast<frag::PosOp>(op).setPhase(1 - cast<frag::PosOp>(op).getPhase());
    return;
  case Kind::StuckPos:
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
    return;
  case Kind::SkipPos: {
    auto again = cast<frag::NextOp>(b.clone(*op));
    again->setOperand(0, op->getResult(0));
    op->getResult(0).replaceAllUsesExcept(again.getResult(), again);
    return;
  }
  case Kind::WaitAhead:
  case Kind::WaitFlipped: {
    b.setInsertionPoint(op);
    auto wait = cast<frag::MbarWaitOp>(op);
    mlir::Value pos = wait.getPos();
    // The same slot in the next lap has the other parity.
    int32_t steps = kind == Kind::WaitAhead
                        ? 1
                        : cast<frag::PosType>(pos.getType()).getSlots();
    for (int32_t i = 0; i < steps; ++i)
      pos =
          frag::NextOp::create(b, op->getLoc(), pos.getType(), pos).getResult();
    wait.getPosMutable().assign(pos);
    return;
  }
  case Kind::WaitLate:
    op->moveAfter(guardedBy(op));
    return;
  case Kind::DepthLess: {
    mlir::Value storage = op->getResult(0);
    storage.setType(
        withSlots(storage.getType(), slotsOf(storage.getType()) - 1));
    return;
  }
  case Kind::BarrierId: {
    auto shift = [](auto barrier) {
      if (barrier.getRank())
        barrier.getRankMutable().clear();
      else
        barrier.setId(barrier.getId() + 1);
    };
    if (auto any = dyn_cast<frag::AnyOp>(op))
      any.getRankMutable().clear();
    else if (auto sync = dyn_cast<frag::BarrierSyncOp>(op))
      shift(sync);
    else
      shift(cast<frag::BarrierArriveOp>(op));
    return;
  }
  case Kind::MoreRegisters:
    cast<frag::SetRegistersOp>(op).setCount(
        cast<frag::SetRegistersOp>(op).getCount() + 8);
    return;
  }
}

bool attn::sim::applyFragMutant(Operation *kernel, const FragMutant &mutant) {
  Operation *found = nullptr;
  unsigned number = 0;
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (number++ == mutant.op) {
      found = op;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (!found || !llvm::is_contained(kindsOf(found), mutant.kind))
    return false;
  edit(found, mutant.kind);
  return true;
}
