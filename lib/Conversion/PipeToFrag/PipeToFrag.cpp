//===- PipeToFrag.cpp - L2 to L3 ------------------------------------------===//
//
// The driver: each attn.kernel becomes a frag.kernel of the same name, and the
// structure of the text (roles, loops, branches, scalar arithmetic) is kept:
//
//   attn.kernel @k { pipe.channel ... pipe.roles [...] { } }
//     -> frag.kernel @k { frag.smem ... frag.role_dispatch [...] { } }
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
  auto attr = kernel.getSchedule();
  schedule = attr ? dyn_cast<pipe::ScheduleAttr>(attr->getPipe())
                  : pipe::ScheduleAttr();
  if (!schedule)
    return kernel.emitOpError("has no #pipe.schedule");
  for (StringRef op : {"qk", "pv"})
    if (StringRef atom = schedule.getAtom(op);
        !atom.empty() && atom != frag::mmaM16N8K16 &&
        !(atom == mmaShared && op == "qk") && !frag::wgmmaColumns(atom))
      return kernel.emitOpError()
             << "atom " << atom << " of " << op
             << " is not built for level L3 (built: " << frag::mmaM16N8K16
             << ", wgmma.m64n<N>k16)";
  return success();
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
  int32_t warps = launched.empty() ? roles.getRole(0).getWarps()
                                   : launched.back().getEndWarp();
  // Roles that are launched together set their own (Roles.cpp).
  IntegerAttr registers;
  if (int32_t count = roles.getRole(0).getRegs(); launched.empty() && count)
    registers = b.getI32IntegerAttr(count);
  result = frag::KernelOp::create(b, loc, kernel.getSymName(), warps * 32,
                                  /*smem=*/0, int32_t(params.totalBytes()),
                                  kernel.getTargetAttr(), registers);
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
    if (failed(convert(roles)))
      return failure();
  }
  frag::ReturnOp::create(b, loc);
  if (!tmaps.empty())
    result.setParamsBytes(params.bytesWithTensorMaps(3));
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
    return isa<frag::MapOp, frag::CpAsyncOp, frag::RewriteRowsOp,
               frag::RewriteTileOp>(op)
               ? WalkResult::skip()
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
      .Case([&](pipe::ChannelOp op) { return channels->declare(op); })
      .Case([&](scf::IfOp op) { return convertIf(op); })
      .Case([&](scf::ForOp op) { return convertFor(op); })
      .Case([&](scf::WhileOp op) { return convertWhile(op); })
      .Case([&](ParamOp op) {
        mapping.map(op.getResult(), param(("param." + op.getName()).str(),
                                          op.getResult().getType()));
        return success();
      })
      .Case<pipe::AcquireOp, pipe::IssueOp, pipe::JoinOp, pipe::CommitOp,
            pipe::WaitOp, pipe::ReleaseOp, pipe::SendOp, pipe::RecvOp,
            pipe::TakeTurnOp, pipe::PassTurnOp, pipe::NextWorkOp, LoadItemOp,
            RequestOp, RowMapOp, SliceRowsOp, SliceTileOp, ZeroRowsOp, QKOp,
            PVOp, PackOp, StateInitOp, RowMaxOp, LazyMaxOp, AlphaOp, ExpOp,
            RowSumOp, RescaleOp, ExactPrefixOp, CheckSumsOp, CheckOp, FinishOp,
            MergeStateOp, AddTileOp, ApplyScoreOp, ApplyMaskOp, ApplySinkOp,
            TransformRowsOp, RewriteQueryOp, RewriteKVOp, StoreOp,
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
    // A kernel and its merge kernel are launched with one parameter struct.
    for (auto [kernel, result] : llvm::zip_equal(kernels, made))
      if (FlatSymbolRefAttr of = kernel.getMergeOfAttr())
        for (frag::KernelOp other : made)
          if (other.getSymName() == of.getValue())
            result.setParamsBytes(other.getParamsBytes());
    for (KernelOp kernel : kernels)
      kernel.erase();
    for (VariantOp variant :
         llvm::make_early_inc_range(getOperation().getOps<VariantOp>()))
      variant.erase();
  }
};

} // namespace
