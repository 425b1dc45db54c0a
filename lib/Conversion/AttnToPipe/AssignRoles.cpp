//===- AssignRoles.cpp - work loops into roles ----------------------------===//
//
// The work loop of a kernel becomes the body of one role: a loop over work
// indices, the fields of a record by index, and the loops over key blocks as
// scf.for over their borders.  A schedule with more roles gets them by
// pipe-split-roles, which cuts this one where channels run through it; a merge
// kernel keeps it, and takes the rows of a record in turns (MergeRows.cpp).
//
//   attn.for_work %plan (%req, ...) { B }
//   ->
//   pipe.roles [#pipe.role<"all", ...>] {
//     scf.while (%p = %neg) : (i32) -> i32 {
//       %w = pipe.next_work static_order %plan after %p merges = false
//       ... scf.condition(%w >= 0) %w
//     } do { ^bb0(%w: i32):
//       %req, ... = attn.load_item %plan[%w]
//       B
//       scf.yield %w
//     }
//   }
//
// Invariant: every tile op is in the role; the visits of an item depend on its
// record alone.  Speculation becomes a loop of two turns where the role stays
// one; where it is cut, the role that hands out items repeats the item.
//
//===----------------------------------------------------------------------===//

#include "MergeRows.h"
#include "VisitLoop.h"
#include "attn/Analysis/PassOrder.h"
#include "attn/Conversion/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace attn {
#define GEN_PASS_DEF_PIPEASSIGNROLES
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static Value constantI32(OpBuilder &b, Location loc, int32_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}

/// Moves the ops of `from` before the terminator's place in `to` and drops the
/// terminator of `from`; returns that terminator's operands.
static SmallVector<Value> moveBody(Block *from, Block *to,
                                   Block::iterator where, ValueRange args) {
  for (auto [arg, value] : llvm::zip_equal(from->getArguments(), args))
    arg.replaceAllUsesWith(value);
  Operation *terminator = from->getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  terminator->erase();
  to->getOperations().splice(where, from->getOperations());
  return results;
}

/// attn.for_kv to scf.for, see VisitLoop.h.
static void convertForKV(ForKVOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  bool descending = op.getOrder() == KVOrder::Descending;
  Value one = constantI32(b, loc, 1);
  Value tileK = constantI32(b, loc, op.getTileK());
  auto [visits, j] = createVisits(b, loc, descending, op.getLo(), op.getHi(),
                                  one, op.getInits());
  scf::ForOp loop = visits.loop;
  loop->setAttr(classAttr,
                b.getStringAttr(stringifyBlockClass(op.getBlockClass())));

  Block *body = loop.getBody();
  if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
    body->back().erase();
  b.setInsertionPointToEnd(body);
  Value offset = arith::MulIOp::create(b, loc, j, tileK);
  Value k0 = arith::AddIOp::create(b, loc, op.getBase(), offset);
  SmallVector<Value> args{j, k0};
  llvm::append_range(args, loop.getRegionIterArgs());
  SmallVector<Value> yielded =
      moveBody(&op.getBody().front(), body, body->end(), args);
  b.setInsertionPointToEnd(body);
  scf::YieldOp::create(b, loc, yielded);
  op.replaceAllUsesWith(loop.getResults());
  op.erase();
}

/// attn.speculate to a loop of at most two turns.
static void convertSpeculate(SpeculateOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value no = arith::ConstantIntOp::create(b, loc, 0, 1);
  Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
  Type i1 = b.getI1Type();
  SmallVector<Type> types(op.getResultTypes());
  auto loop = scf::WhileOp::create(b, loc, types, ValueRange{no});

  Block *before = b.createBlock(&loop.getBefore(), {}, {i1}, {loc});
  Value exact = before->getArgument(0);
  SmallVector<Value> state =
      moveBody(&op.getBody().front(), before, before->end(), ValueRange{exact});
  SmallVector<Value> ok =
      moveBody(&op.getCheck().front(), before, before->end(), state);
  b.setInsertionPointToEnd(before);
  Value done = arith::OrIOp::create(b, loc, ok.front(), exact);
  Value again = arith::XOrIOp::create(b, loc, done, yes);
  scf::ConditionOp::create(b, loc, again, state);

  SmallVector<Location> locs(types.size(), loc);
  b.createBlock(&loop.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, loc, ValueRange{yes});
  op.replaceAllUsesWith(loop.getResults());
  op.erase();
}

/// One work op to one pipe.roles with one role.
static void convertWork(Operation *op, Value plan, Block *work,
                        pipe::RoleAttr all, bool merges) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  auto roles = pipe::RolesOp::create(b, loc, b.getArrayAttr({all}), 1);
  Block *role = b.createBlock(&roles.getBodies()[0]);

  Value none = constantI32(b, loc, -1);
  Value zero = constantI32(b, loc, 0);
  Type i32 = b.getI32Type();
  auto loop = scf::WhileOp::create(b, loc, TypeRange{i32}, ValueRange{none});
  pipe::YieldOp::create(b, loc);

  Block *before = b.createBlock(&loop.getBefore(), {}, {i32}, {loc});
  Value index =
      pipe::NextWorkOp::create(b, loc, i32, plan, before->getArgument(0),
                               pipe::WorkOrder::Static, merges);
  Value go =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, index, zero);
  scf::ConditionOp::create(b, loc, go, ValueRange{index});

  Block *after = b.createBlock(&loop.getAfter(), {}, {i32}, {loc});
  Value word = after->getArgument(0);
  SmallVector<Type> fields(work->getNumArguments(), i32);
  auto item = LoadItemOp::create(b, loc, fields, plan, word);
  moveBody(work, after, after->end(), item.getResults());
  b.setInsertionPointToEnd(after);
  scf::YieldOp::create(b, loc, ValueRange{word});
  (void)role;
  op->erase();
}

namespace {
struct AssignRoles : attn::impl::PipeAssignRolesBase<AssignRoles> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = getPipeSchedule(kernel, "pipe-assign-roles");
    if (failed(schedule) || failed(check(kernel, *schedule)))
      return signalPassFailure();

    SmallVector<Operation *> work;
    SmallVector<ForKVOp> loops;
    SmallVector<SpeculateOp> speculations;
    kernel.walk([&](Operation *op) {
      if (isa<ForWorkOp, ForMergeOp>(op))
        work.push_back(op);
      else if (auto loop = dyn_cast<ForKVOp>(op))
        loops.push_back(loop);
      else if (auto speculate = dyn_cast<SpeculateOp>(op))
        speculations.push_back(speculate);
    });
    if (work.size() != 1) {
      kernel.emitError() << "pipe-assign-roles needs one work loop but the "
                            "kernel has "
                         << work.size();
      return signalPassFailure();
    }
    for (ForKVOp loop : loops)
      convertForKV(loop);
    if (!hasRoles(*schedule))
      for (SpeculateOp speculate : speculations)
        convertSpeculate(speculate);
    if (auto op = dyn_cast<ForWorkOp>(work[0])) {
      convertWork(op, op.getPlan(), &op.getBody().front(), oneRole(*schedule),
                  /*merges=*/false);
      return;
    }
    auto op = cast<ForMergeOp>(work[0]);
    FailureOr<pipe::RoleAttr> role = takeRowsInTurns(op);
    if (failed(role))
      return signalPassFailure();
    convertWork(op, op.getPlan(), &op.getBody().front(), *role,
                /*merges=*/true);
  }

  LogicalResult checkOneRole(KernelOp kernel, pipe::ScheduleAttr schedule) {
    auto role = cast<pipe::RoleAttr>(schedule.getRoles()[0]);
    if (role.getReplicas() != 1)
      return kernel.emitError()
             << "a kernel of one role has 1 replica but role " << role.getName()
             << " has " << role.getReplicas();
    if (schedule.getPersist().getValue() == "dynamic")
      return kernel.emitError() << "persist = " << schedule.getPersist()
                                << " needs 2 roles but the schedule has 1";
    if (schedule.getHandover().getValue() != "none")
      return kernel.emitError() << "handover = " << schedule.getHandover()
                                << " needs 2 roles but the schedule has 1";
    return success();
  }

  /// One role copies tiles and hands out items, the other computes.
  LogicalResult checkRoles(KernelOp kernel, pipe::ScheduleAttr schedule) {
    if (schedule.getRoles().size() != 2)
      return kernel.emitError() << "pipe-assign-roles builds 1 or 2 roles but "
                                   "the schedule has "
                                << schedule.getRoles().size();
    StringRef load = schedule.getRoleOf("load_kv");
    StringRef query = schedule.getRoleOf("load_query");
    StringRef rest = schedule.getRoleOf("default");
    if (load == rest || query != load)
      return kernel.emitError()
             << "load_query and load_kv are placed in roles '" << query
             << "' and '" << load << "' but must share one beside '" << rest
             << "'";
    for (Attribute attr : schedule.getRoles()) {
      auto role = cast<pipe::RoleAttr>(attr);
      if (role.getName().getValue() == load && role.getReplicas() != 1)
        return kernel.emitError()
               << "role '" << load << "' of the copies has "
               << role.getReplicas() << " replicas but 1 is built";
    }
    return success();
  }

  /// What is not built is refused by name.
  LogicalResult check(KernelOp kernel, pipe::ScheduleAttr schedule) {
    if (failed(hasRoles(schedule) ? checkRoles(kernel, schedule)
                                  : checkOneRole(kernel, schedule)))
      return failure();
    if (schedule.getUnroll() != 1)
      return kernel.emitError()
             << "unroll = " << schedule.getUnroll() << " is not built; use 1";
    return requirePasses(
        kernel, "pipe-assign-roles",
        {"attn-tile", "attn-expand-softmax", "attn-expand-segments"});
  }
};
} // namespace
