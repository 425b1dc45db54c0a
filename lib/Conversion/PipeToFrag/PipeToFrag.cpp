//===- PipeToFrag.cpp - L2 with one role to L3 ----------------------------===//
//
// The driver: each attn.kernel becomes a frag.kernel of the same name, and the
// structure of the text (loops, branches, scalar arithmetic) is kept:
//
//   scf.for ... iter_args(%O, %m, %l)
//     -> scf.for ... iter_args(%O, %m, %l, %consume, %produce)
//
// Invariant: the result holds frag, scf, arith and math only, or the module is
// untouched and an error names what is not built.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "attn/Conversion/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attn {
#define GEN_PASS_DEF_PIPETOFRAG
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

LogicalResult KernelLowering::refuse(Operation *op, const Twine &what) {
  return op->emitOpError() << what << " is not built for level L3";
}

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::check() {
  auto schedule = kernel.getSchedule();
  auto pipe = schedule ? dyn_cast<pipe::ScheduleAttr>(schedule->getPipe())
                       : pipe::ScheduleAttr();
  if (!pipe)
    return kernel.emitOpError("has no #pipe.schedule");
  for (StringRef op : {"qk", "pv"})
    if (StringRef atom = pipe.getAtom(op);
        !atom.empty() && atom != frag::mmaM16N8K16)
      return kernel.emitOpError()
             << "atom " << atom << " of " << op
             << " is not built for level L3 (built: " << frag::mmaM16N8K16
             << ")";
  return success();
}

LogicalResult KernelLowering::setUp(pipe::RolesOp roles) {
  if (roles.getRoles().size() != 1)
    return roles.emitOpError() << "has " << roles.getRoles().size()
                               << " roles but level L3 is built for 1";
  auto role = cast<pipe::RoleAttr>(roles.getRoles()[0]);
  if (role.getReplicas() != 1)
    return roles.emitOpError()
           << "role '" << role.getName().getValue() << "' has "
           << role.getReplicas() << " replicas but level L3 is built for 1";
  warps = role.getWarps();
  Block &body = roles.getBodies().front().front();
  findPartials(body);
  SmallVector<pipe::ChannelOp> ops;
  kernel.walk([&](pipe::ChannelOp op) { ops.push_back(op); });
  return analysis.run(ops, body);
}

FailureOr<frag::KernelOp> KernelLowering::run() {
  FailureOr<frag::KernelOp> made = write();
  if (failed(made) && result)
    result.erase();
  return made;
}

FailureOr<frag::KernelOp> KernelLowering::write() {
  pipe::RolesOp roles;
  for (Operation &op : kernel.getBody().front())
    if (auto found = dyn_cast<pipe::RolesOp>(op))
      roles = found;
  if (!roles)
    return kernel.emitOpError("is not at level L2: it has no pipe.roles");
  if (failed(check()) || failed(setUp(roles)))
    return failure();

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(kernel);
  Location loc = kernel.getLoc();
  result = frag::KernelOp::create(b, loc, kernel.getSymName(), warps * 32,
                                  /*smem=*/0, int32_t(params.totalBytes()),
                                  kernel.getTargetAttr());
  b.setInsertionPointToStart(b.createBlock(&result.getBody()));
  auto marker = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  prologueEnd = marker;
  if (Value scale = kernel.getScale())
    mapping.map(scale, param("scale", b.getF32Type()));
  for (Operation &op : kernel.getBody().front()) {
    if (isa<VariantOp, ReturnOp>(op))
      continue;
    if (op.getNumRegions() == 0 || isa<scf::SCFDialect>(op.getDialect())) {
      if (failed(convertOp(&op)))
        return failure();
      continue;
    }
    if (&op != roles)
      return refuse(&op, "an operation with regions beside pipe.roles");
    if (failed(convertBlock(roles.getBodies().front().front())))
      return failure();
  }
  frag::ReturnOp::create(b, loc);
  prologueEnd = nullptr;
  marker.erase();
  removeDead();
  return result;
}

void KernelLowering::removeDead() {
  SmallVector<Operation *> ops;
  result.walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Bodies go with their op.
    ops.push_back(op);
    return isa<frag::MapOp, frag::CpAsyncOp>(op) ? WalkResult::skip()
                                                 : WalkResult::advance();
  });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::convertBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(convertOp(&op)))
      return failure();
  return success();
}

LogicalResult KernelLowering::convertOp(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](pipe::ChannelOp op) { return makeChannel(op); })
      .Case([&](scf::IfOp op) { return convertIf(op); })
      .Case([&](scf::ForOp op) { return convertFor(op); })
      .Case([&](scf::WhileOp op) { return convertWhile(op); })
      // By order of the text, see Channels.cpp.
      .Case([&](pipe::ReleaseOp) { return success(); })
      .Case([&](ParamOp op) {
        mapping.map(op.getResult(), param(("param." + op.getName()).str(),
                                          op.getResult().getType()));
        return success();
      })
      .Case<pipe::AcquireOp, pipe::IssueOp, pipe::CommitOp, pipe::WaitOp,
            pipe::NextWorkOp, LoadItemOp, RequestOp, RowMapOp, QKOp, PVOp,
            PackOp, StateInitOp, RowMaxOp, AlphaOp, ExpOp, RowSumOp, RescaleOp,
            ExactPrefixOp, CheckOp, FinishOp, MergeTileOp, MergeSinkOp,
            AddTileOp, ApplyScoreOp, ApplyMaskOp, ApplySinkOp, StoreOp,
            StorePartialOp, LoadPartialOp>([&](auto op) { return convert(op); })
      .Default([&](Operation *op) -> LogicalResult {
        bool scalar =
            isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
            op->getNumRegions() == 0 &&
            llvm::all_of(op->getResultTypes(),
                         [](Type type) { return type.isIntOrFloat(); });
        if (!scalar)
          return op->emitOpError("is not built for level L3");
        b.clone(*op, mapping);
        return success();
      });
}

LogicalResult KernelLowering::convertIf(scf::IfOp op) {
  SmallVector<Value *> moved = movedIn(op);
  SmallVector<Type> types;
  for (Value value : op.getResults()) {
    types.push_back(convertType(value));
    if (!types.back())
      return failure();
  }
  for (Value *pos : moved)
    types.push_back(pos->getType());
  bool hasElse = !op.getElseRegion().empty() || !types.empty();
  auto newOp =
      scf::IfOp::create(b, op.getLoc(), types, at(op.getCondition()), hasElse);
  SmallVector<ChannelState> before(channels);
  auto convertArm = [&](Region &from, Region &to) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    if (to.front().mightHaveTerminator() && !to.front().empty())
      to.front().back().erase();
    b.setInsertionPointToEnd(&to.front());
    channels = before;
    SmallVector<Value> yields;
    if (!from.empty()) {
      if (failed(convertBlock(from.front())))
        return failure();
      for (Value value : from.front().getTerminator()->getOperands())
        yields.push_back(at(value));
    }
    for (Value *pos : moved)
      yields.push_back(*pos);
    scf::YieldOp::create(b, op.getLoc(), yields);
    return success();
  };
  // `moved` points into `channels`, whose storage does not move.
  if (failed(convertArm(op.getThenRegion(), newOp.getThenRegion())))
    return failure();
  if (hasElse && failed(convertArm(op.getElseRegion(), newOp.getElseRegion())))
    return failure();
  channels = before;
  for (auto [i, value] : llvm::enumerate(op.getResults()))
    mapping.map(value, newOp.getResult(i));
  for (auto [i, pos] : llvm::enumerate(moved))
    *pos = newOp.getResult(op.getNumResults() + i);
  followLeaders();
  return success();
}

LogicalResult KernelLowering::convertFor(scf::ForOp op) {
  SmallVector<Value *> moved = movedIn(op);
  SmallVector<Value> inits;
  for (auto [init, arg] : llvm::zip(op.getInitArgs(), op.getRegionIterArgs()))
    inits.push_back(at(init));
  for (Value *pos : moved)
    inits.push_back(*pos);
  auto newOp =
      scf::ForOp::create(b, op.getLoc(), at(op.getLowerBound()),
                         at(op.getUpperBound()), at(op.getStep()), inits);
  OpBuilder::InsertionGuard guard(b);
  Block *body = newOp.getBody();
  if (!body->empty())
    body->back().erase(); // the terminator of a loop without values
  b.setInsertionPointToEnd(body);
  mapping.map(op.getInductionVar(), newOp.getInductionVar());
  for (auto [i, arg] : llvm::enumerate(op.getRegionIterArgs()))
    mapping.map(arg, newOp.getRegionIterArg(i));
  unsigned values = op.getNumRegionIterArgs();
  for (auto [i, pos] : llvm::enumerate(moved))
    *pos = newOp.getRegionIterArg(values + i);
  followLeaders();
  if (failed(convertBlock(*op.getBody())))
    return failure();
  SmallVector<Value> yields;
  for (Value value : op.getBody()->getTerminator()->getOperands())
    yields.push_back(at(value));
  for (Value *pos : moved)
    yields.push_back(*pos);
  scf::YieldOp::create(b, op.getLoc(), yields);
  for (auto [i, value] : llvm::enumerate(op.getResults()))
    mapping.map(value, newOp.getResult(i));
  for (auto [i, pos] : llvm::enumerate(moved))
    *pos = newOp.getResult(values + i);
  followLeaders();
  return success();
}

LogicalResult KernelLowering::convertWhile(scf::WhileOp op) {
  SmallVector<Value *> moved = movedIn(op);
  SmallVector<Value> inits;
  for (Value init : op.getInits())
    inits.push_back(at(init));
  SmallVector<Type> types;
  for (Value value : op.getResults()) {
    types.push_back(convertType(value));
    if (!types.back())
      return failure();
  }
  for (Value *pos : moved) {
    inits.push_back(*pos);
    types.push_back(pos->getType());
  }
  auto newOp = scf::WhileOp::create(b, op.getLoc(), types, inits);
  OpBuilder::InsertionGuard guard(b);

  auto enter = [&](Region &region, Block::BlockArgListType old,
                   TypeRange argTypes) {
    Block *block =
        b.createBlock(&region, {}, argTypes,
                      SmallVector<Location>(argTypes.size(), op.getLoc()));
    for (auto [i, arg] : llvm::enumerate(old))
      mapping.map(arg, block->getArgument(i));
    for (auto [i, pos] : llvm::enumerate(moved))
      *pos = block->getArgument(old.size() + i);
    followLeaders();
  };
  enter(newOp.getBefore(), op.getBeforeArguments(),
        SmallVector<Type>(ValueRange(inits).getTypes()));
  if (failed(convertBlock(op.getBefore().front())))
    return failure();
  SmallVector<Value> forwarded;
  for (Value value : op.getConditionOp().getArgs())
    forwarded.push_back(at(value));
  SmallVector<Value> exits;
  for (Value *pos : moved) {
    forwarded.push_back(*pos);
    exits.push_back(*pos);
  }
  scf::ConditionOp::create(b, op.getLoc(),
                           at(op.getConditionOp().getCondition()), forwarded);

  enter(newOp.getAfter(), op.getAfterArguments(), types);
  if (failed(convertBlock(op.getAfter().front())))
    return failure();
  SmallVector<Value> yields;
  for (Value value : op.getYieldOp().getResults())
    yields.push_back(at(value));
  for (Value *pos : moved)
    yields.push_back(*pos);
  scf::YieldOp::create(b, op.getLoc(), yields);

  for (auto [i, value] : llvm::enumerate(op.getResults()))
    mapping.map(value, newOp.getResult(i));
  for (auto [i, pos] : llvm::enumerate(moved))
    *pos = newOp.getResult(op.getNumResults() + i);
  followLeaders();
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct PipeToFrag : public attn::impl::PipeToFragBase<PipeToFrag> {
  void runOnOperation() override {
    SmallVector<KernelOp> kernels(getOperation().getOps<KernelOp>());
    SmallVector<frag::KernelOp> made;
    OpBuilder builder(&getContext());
    for (KernelOp kernel : kernels) {
      FailureOr<frag::KernelOp> result = KernelLowering(kernel, builder).run();
      if (failed(result)) {
        for (frag::KernelOp op : made)
          op.erase();
        return signalPassFailure();
      }
      made.push_back(*result);
    }
    for (KernelOp kernel : kernels)
      kernel.erase();
    for (VariantOp variant :
         llvm::make_early_inc_range(getOperation().getOps<VariantOp>()))
      variant.erase();
  }
};

} // namespace
