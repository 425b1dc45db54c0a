//===- Roles.cpp - which warps run a role ---------------------------------===//
//
//   pipe.roles [load x 1 warp, compute x 4 warps x 2]
//     -> frag.role_dispatch [load: warps 0-3, 1 active; compute: warps 4-11]
//
// The text of one role that is alone with one replica is the kernel's own.
// Otherwise each role gets whole warpgroups, which is what set_registers acts
// on, in the order of pipe.roles.
//
// Votes: one role alone asks its CTA; a replica asks its warpgroup on a named
// barrier of its own.
//
// Turns of replicas go round on another named barrier each:
//
//   pipe.take_turn   -> frag.barrier_sync first + rank     both: the replica and
//   pipe.pass_turn   -> frag.barrier_arrive first + next   the one before it
//
// Replica 0 has the first turn because the last one passes it at the start; the
// turn that the last one passes at the end is left over.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

static constexpr int32_t warpgroup = 4;
static constexpr int32_t lastNamedBarrier = 15;
static constexpr int32_t warpSize = 32;

LogicalResult KernelLowering::setUp(pipe::RolesOp roles) {
  SmallVector<pipe::ChannelOp> ops;
  kernel.walk([&](pipe::ChannelOp op) { ops.push_back(op); });
  for (Region &body : roles.getBodies())
    findPartials(body.front());
  // Behind the first walk: it knows what control flow joins.
  for (Region &body : roles.getBodies())
    findGroupValues(body.front());
  if (roles.getRoles().size() == 1 && roles.getRole(0).getReplicas() == 1) {
    auto one = std::make_unique<SameRole>(b);
    if (failed(one->analyse(ops, roles.getBodies().front().front())))
      return failure();
    channels = std::move(one);
    return success();
  }
  channels = std::make_unique<Barriers>(b, roles);
  int32_t next = 0;
  for (unsigned i = 0; i < roles.getRoles().size(); ++i) {
    pipe::RoleAttr attr = roles.getRole(i);
    int32_t warps = int32_t(llvm::alignTo(attr.getWarps(), warpgroup));
    auto made = frag::RoleAttr::getChecked(
        [&] { return roles.emitOpError(); }, b.getContext(), attr.getName(),
        next, warps, attr.getWarps(), attr.getReplicas());
    if (!made)
      return failure();
    launched.push_back(made);
    next = made.getEndWarp();
  }
  return success();
}

LogicalResult KernelLowering::convertRole(pipe::RolesOp op, unsigned index) {
  Region &body = op.getBodies()[index];
  role = RoleInfo();
  role.attr = op.getRole(index);
  role.warps = role.attr.getWarps();
  // What a merge kernel joins is finished.
  role.unit = kernel.getMergeOfAttr() ? Unit::None : Unit::Mma;
  body.walk([&](Operation *inner) {
    if (isa<QKOp, PVOp>(inner) &&
        frag::wgmmaColumns(schedule.getAtom(isa<QKOp>(inner) ? "qk" : "pv")))
      role.unit = Unit::Wgmma;
  });
  if (role.async() && launched.empty())
    return op.emitOpError() << "role '" << role.name()
                            << "' multiplies by wgmma but is the only one, "
                               "which is not built for level L3";
  if (failed(setGroups(op)))
    return failure();
  if (!body.getArguments().empty()) {
    role.rank = b.getInsertionBlock()->getArgument(0);
    mapping.map(body.getArgument(0), role.rank);
  }
  int32_t registers = role.attr.getRegs();
  int32_t given = frag::launchRegisters(result.getThreads());
  if (!launched.empty() && registers != 0 && registers != given)
    frag::SetRegistersOp::create(b, op.getLoc(),
                                 registers < given ? frag::RegistersDir::Dec
                                                   : frag::RegistersDir::Inc,
                                 registers);
  if (failed(channels->enter(role, body.front())) || failed(startTurns(body)) ||
      failed(convertBlock(body.front())))
    return failure();
  // The queue is given back by whoever took from it.
  WalkResult takes = body.walk([](pipe::NextWorkOp work) {
    return work.getOrder() == pipe::WorkOrder::Dynamic ? WalkResult::interrupt()
                                                       : WalkResult::advance();
  });
  if (takes.wasInterrupted())
    frag::NextWorkDoneOp::create(b, op.getLoc(), queue());
  return success();
}

LogicalResult KernelLowering::convert(pipe::RolesOp op) {
  if (launched.empty())
    return convertRole(op, 0);
  channels->begin();
  SmallVector<Attribute> attrs(launched.begin(), launched.end());
  auto dispatch = frag::RoleDispatchOp::create(
      b, op.getLoc(), b.getArrayAttr(attrs), unsigned(launched.size()));
  for (unsigned i = 0; i < launched.size(); ++i) {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Type> args(launched[i].getReplicas() > 1, b.getI32Type());
    b.createBlock(&dispatch.getBodies()[i], {}, args,
                  SmallVector<Location>(args.size(), op.getLoc()));
    if (failed(convertRole(op, i)))
      return failure();
    frag::YieldOp::create(b, op.getLoc(), ValueRange());
  }
  return success();
}

FailureOr<Value> KernelLowering::vote(Value vec, Operation *op) {
  if (launched.empty())
    return Value(
        frag::AnyOp::create(b, op->getLoc(), b.getI1Type(), vec).getResult());
  if (role.warps != warpgroup)
    return op->emitOpError()
           << "asks the " << role.warps << " warps of role '" << role.name()
           << "' but a vote is built for " << warpgroup;
  if (role.voteBarrier == 0 &&
      failed(nameBarriers(op, role.voteBarrier, role.replicas())))
    return failure();
  return Value(frag::AnyOp::create(b, op->getLoc(), b.getI1Type(), vec,
                                   frag::VoteScope::Warpgroup,
                                   b.getI32IntegerAttr(role.voteBarrier),
                                   role.rank)
                   .getResult());
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// Takes named barriers that nobody else uses.
LogicalResult KernelLowering::nameBarriers(Operation *op, int32_t &first,
                                           int32_t count) {
  first = namedBarriers + 1;
  namedBarriers += count;
  if (namedBarriers > lastNamedBarrier)
    return op->emitOpError() << "needs named barrier " << namedBarriers
                             << " but the last one is " << lastNamedBarrier;
  return success();
}

/// Threads of a replica and of its neighbour.
static int32_t turnThreads(const RoleInfo &role) {
  return 2 * role.warps * warpSize;
}

LogicalResult KernelLowering::startTurns(Region &body) {
  pipe::TakeTurnOp first;
  body.walk([&](pipe::TakeTurnOp op) { first = first ? first : op; });
  if (!first || role.replicas() == 1)
    return success();
  if (failed(nameBarriers(first, role.turnBarrier, role.replicas())))
    return failure();
  Scalars s{b, first.getLoc()};
  Value last =
      s.cmp(arith::CmpIPredicate::eq, role.rank, s.i32(role.replicas() - 1));
  role.nextRank = s.select(last, s.i32(0), s.add(role.rank, s.i32(1)));
  auto ifOp = scf::IfOp::create(b, first.getLoc(), last,
                                /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&ifOp.getThenRegion().front());
  frag::BarrierArriveOp::create(b, first.getLoc(), role.turnBarrier,
                                /*rank=*/Value(), turnThreads(role));
  return success();
}

LogicalResult KernelLowering::convert(pipe::TakeTurnOp op) {
  if (role.turnBarrier)
    frag::BarrierSyncOp::create(b, op.getLoc(), role.turnBarrier, role.rank,
                                turnThreads(role));
  return success();
}

LogicalResult KernelLowering::convert(pipe::PassTurnOp op) {
  if (role.turnBarrier)
    frag::BarrierArriveOp::create(b, op.getLoc(), role.turnBarrier,
                                  role.nextRank, turnThreads(role));
  return success();
}
