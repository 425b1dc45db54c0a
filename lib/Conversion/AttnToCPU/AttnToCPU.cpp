//===- AttnToCPU.cpp - L1 to vector loops, one function a kernel ----------===//
//
//   attn.kernel @f(..) { attn.for_work .. }
//     ->  llvm.func @f(%record, %params, %scratch) {attn.scratch_bytes = N}
//
// The body of for_work is one item, whose fields are read from the record; the
// loop over items belongs to the runtime.  How tiles become memory is described
// in Lowering.h.
//
// Invariant: afterwards only upstream dialects remain; a kernel that cannot be
// lowered is an error at the op that cannot.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

#include "attn/Analysis/PassOrder.h"
#include "attn/Conversion/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attn {
#define GEN_PASS_DEF_ATTNTOCPU
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;

namespace attn::cpu {

KernelLowering::KernelLowering(KernelOp kernel, const Options &options)
    : kernel(kernel), options(options), lanes(options.lanes),
      panelVectors(options.lanes == 16 ? 4 : 2), layout(kernel),
      g(OpBuilder(kernel), kernel.getLoc(), options.lanes) {}

LogicalResult KernelLowering::run() {
  if (failed(requirePasses(
          kernel, "attn-to-cpu",
          {"attn-tile", "attn-expand-softmax", "attn-expand-segments"})))
    return failure();
  auto voidType = LLVM::LLVMVoidType::get(kernel.getContext());
  auto type = LLVM::LLVMFunctionType::get(voidType, {g.ptr, g.ptr, g.ptr});
  func = LLVM::LLVMFuncOp::create(g.b, g.loc, kernel.getSymName(), type);
  Block *entry = func.addEntryBlock(g.b);
  func.setArgAttr(2, LLVM::LLVMDialect::getNoAliasAttrName(),
                  g.b.getUnitAttr());
  record = entry->getArgument(0);
  params = entry->getArgument(1);
  scratch = entry->getArgument(2);
  g.b.setInsertionPointToEnd(entry);
  if (failed(loadParameters()) || failed(lowerBlock(kernel.getBody().front())))
    return failure();
  LLVM::ReturnOp::create(g.b, g.loc, ValueRange());
  func->setAttr("attn.scratch_bytes", g.b.getI64IntegerAttr(high));
  expandMath(func);
  return success();
}

LogicalResult KernelLowering::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(lowerOp(op)))
      return failure();
  return success();
}

LogicalResult KernelLowering::lowerWork(Operation *op, Block &body,
                                        unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    map.map(body.getArgument(i),
            g.load(g.i32, g.atByte(record, int64_t(i) * 4), 4));
  Value rows = map.lookup(body.getArgument(3));
  liveRows = g.toI64(rows);
  rowBlocks = g.divC(g.add(liveRows, g.i64c(rowBlock - 1)), rowBlock);
  LogicalResult result = success();
  // An inert record does nothing, whatever its other fields say.
  g.ifThen(g.cmp(CmpI::sgt, rows, g.i32c(0)),
           [&] { result = lowerBlock(body); });
  return result;
}

LogicalResult KernelLowering::lowerOp(Operation &op) {
  g.loc = op.getLoc();
  auto done = [&](auto typed) {
    lower(typed);
    return success();
  };
  auto tried = [&](auto typed) { return lower(typed); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<VariantOp>([](auto) { return success(); })
      .Case<ForWorkOp>([&](ForWorkOp work) {
        return lowerWork(work, work.getBody().front(), 8);
      })
      .Case<ForMergeOp>([&](ForMergeOp work) {
        return lowerWork(work, work.getBody().front(), 6);
      })
      .Case<ParamOp>([&](ParamOp param) -> LogicalResult {
        auto value = loadField(("param." + param.getName()).str(),
                               param.getResult().getType());
        if (failed(value))
          return failure();
        map.map(param.getResult(), *value);
        return success();
      })
      .Case<RowMapOp>([&](RowMapOp rows) {
        RowsInfo &info = rowMaps[rows.getResult()];
        info.request = map.lookup(rows.getRequest());
        info.head = map.lookup(rows.getHead());
        info.row0 = map.lookup(rows.getRow0());
        info.qBegin = map.lookup(rows.getQBegin());
        info.qLen = map.lookup(rows.getQLen());
        info.kvLen = map.lookup(rows.getKvLen());
        info.pack = rows.getPack();
        return success();
      })
      .Case<ForKVOp>([&](ForKVOp loop) { return lowerForKV(loop); })
      .Case<SpeculateOp>([&](SpeculateOp s) { return lowerSpeculate(s); })
      .Case<scf::ForOp>([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case<scf::IfOp>([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case<RequestOp, LoadQueryOp, LoadKVOp, StoreOp, StorePartialOp,
            LoadPartialOp, StateInitOp, RowMaxOp, LazyMaxOp, AlphaOp, ExpOp,
            RowSumOp, RescaleOp, PackOp, FinishOp, MergeStateOp, AddTileOp,
            ExactPrefixOp, CheckOp>(done)
      .Case<QKOp, PVOp, ApplyScoreOp, ApplyMaskOp, ApplySinkOp, TransformRowsOp,
            TransformKeysOp>(tried)
      .Default([&](Operation *other) -> LogicalResult {
        StringRef dialect = other->getName().getDialectNamespace();
        if ((dialect != "arith" && dialect != "math") || other->getNumRegions())
          return other->emitOpError(
              "is not an op of expanded tiles, which attn-to-cpu lowers");
        g.b.clone(*other, map);
        return success();
      });
}

namespace {

struct AttnToCPUPass : attn::impl::AttnToCPUBase<AttnToCPUPass> {
  using AttnToCPUBase::AttnToCPUBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (vectorBits != 256 && vectorBits != 512) {
      module.emitError() << "vector-bits is " << int(vectorBits)
                         << " but must be 256 or 512";
      return signalPassFailure();
    }
    Options options;
    options.lanes = unsigned(vectorBits) / 32;
    options.forceExact = forceExact;
    options.failCheck = failCheck;
    for (KernelOp kernel :
         llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      // The function takes the kernel's name, so the kernel moves aside first.
      KernelLowering lowering(kernel, options);
      if (failed(lowering.run()))
        return signalPassFailure();
      kernel.erase();
    }
    for (VariantOp variant :
         llvm::make_early_inc_range(module.getOps<VariantOp>()))
      variant.erase();
  }
};

} // namespace
} // namespace attn::cpu
