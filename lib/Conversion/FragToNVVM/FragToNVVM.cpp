//===- FragToNVVM.cpp - fragments to LLVM and NVVM ------------------------===//
//
//   frag.kernel @k threads 256 smem 98304 params 200 { ... }
//     -> llvm.func @k(!llvm.ptr {byval struct of 200 bytes, grid constant})
//          attributes {nvvm.kernel, nvvm.reqntid = [256, 1, 1]} { ... }
//
// In five steps: math to what the back end selects (Math.cpp), kernels to
// functions, frag values to machine values (one to many, patterns in the other
// files), roles to branches (Roles.cpp), then scf, arith and cf to llvm.
//
// Invariant of the result: llvm and nvvm only; kernels in the order and with
// the names of the input; the shared memory a kernel needs is its `smem`
// attribute, kept as `attn.smem` on the function for the launch facts.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "attn/Conversion/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

namespace attn {
#define GEN_PASS_DEF_FRAGTONVVM
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::frag;

/// The body moves; the parameter struct becomes the only argument.
static void kernelToFunction(frag::KernelOp kernel) {
  OpBuilder b(kernel);
  MLIRContext *ctx = b.getContext();
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(ctx);
  auto func = LLVM::LLVMFuncOp::create(
      b, loc, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(ctx), {pointer}));
  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                b.getDenseI32ArrayAttr(
                    {static_cast<int32_t>(kernel.getThreads()), 1, 1}));
  func->setAttr("attn.smem", b.getI32IntegerAttr(kernel.getSmem()));
  // f32 arithmetic flushes denormals, as the exponentials do: no tolerance sees
  // them.
  func.setPassthroughAttr(b.getArrayAttr(
      {b.getStrArrayAttr({"denormal-fp-math-f32", "preserve-sign"})}));
  // Warps may trade registers only in a kernel that says how many of its CTAs
  // share an SM.
  if (!kernel.getOps<RoleDispatchOp>().empty())
    func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  b.getI32IntegerAttr(1));
  // Said, so that ptxas does not spill to fit one more CTA.
  if (IntegerAttr registers = kernel.getRegistersAttr())
    func->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(), registers);
  auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), kernel.getParamsBytes());
  func.setArgAttr(
      0, LLVM::LLVMDialect::getByValAttrName(),
      TypeAttr::get(LLVM::LLVMStructType::getLiteral(ctx, {bytes})));
  bool hasMaps = !kernel.getOps<TmapOp>().empty();
  func.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(),
                  b.getI64IntegerAttr(hasMaps ? TmapOp::alignment : 16));
  func.setArgAttr(0, NVVM::NVVMDialect::getGridConstantAttrName(),
                  b.getUnitAttr());
  func.getBody().takeBody(kernel.getBody());
  Block &entry = func.getBody().front();
  entry.addArgument(pointer, loc);
  Operation *end = entry.getTerminator();
  b.setInsertionPoint(end);
  LLVM::ReturnOp::create(b, end->getLoc(), ValueRange());
  end->erase();
  kernel.erase();
}

static LogicalResult fragToMachine(ModuleOp module) {
  MLIRContext *ctx = module.getContext();
  MachineTypes types;
  RewritePatternSet patterns(ctx);
  ConversionTarget target(*ctx);
  target.addLegalDialect<arith::ArithDialect, math::MathDialect,
                         LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addIllegalDialect<FragDialect>();
  // Left for rolesToBranches; what is inside them is converted.
  target.addLegalOp<RoleDispatchOp, ElectOp>();
  target.addDynamicallyLegalOp<frag::YieldOp>([](frag::YieldOp op) {
    return isa<RoleDispatchOp, ElectOp>(op->getParentOp());
  });
  scf::populateSCFStructuralTypeConversionsAndLegality(types, patterns, target);
  // A select of positions or pointers changes its type only.
  target.addDynamicallyLegalOp<arith::SelectOp>(
      [&](arith::SelectOp op) { return types.isLegal(op.getType()); });
  populateScalarPatterns(types, patterns);
  populateMapPatterns(types, patterns);
  populateReductionPatterns(types, patterns);
  populateGlobalPatterns(types, patterns);
  populateCopyPatterns(types, patterns);
  populateMmaPatterns(types, patterns);
  populateBarrierPatterns(types, patterns);
  populateWordPatterns(types, patterns);
  populateTmaPatterns(types, patterns);
  populateWgmmaPatterns(types, patterns);
  populateWorkPatterns(types, patterns);
  populateRewritePatterns(types, patterns);
  populateTransposePatterns(types, patterns);
  populateGroupPatterns(types, patterns);
  return applyPartialConversion(module, target, std::move(patterns));
}

static LogicalResult machineToLLVM(ModuleOp module) {
  MLIRContext *ctx = module.getContext();
  {
    RewritePatternSet patterns(ctx);
    ConversionTarget target(*ctx);
    target.addIllegalDialect<scf::SCFDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    populateSCFToControlFlowConversionPatterns(patterns);
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      return failure();
  }
  LowerToLLVMOptions options(ctx);
  LLVMTypeConverter types(ctx, options);
  RewritePatternSet patterns(ctx);
  LLVMConversionTarget target(*ctx);
  target.addLegalDialect<NVVM::NVVMDialect>();
  target.addLegalOp<ModuleOp>();
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  return applyFullConversion(module, target, std::move(patterns));
}

template <typename OpTy>
static LogicalResult checkPlaced(frag::KernelOp kernel, StringRef kind) {
  WalkResult placed = kernel.walk([&](OpTy op) -> WalkResult {
    if (int32_t(op.getOffset()) >= 0)
      return WalkResult::advance();
    return op.emitError() << kind << " '" << op.getName()
                          << "' without an offset in shared memory";
  });
  return failure(placed.wasInterrupted());
}

namespace {

struct FragToNVVM : attn::impl::FragToNVVMBase<FragToNVVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<frag::KernelOp> kernels(module.getOps<frag::KernelOp>());
    if (kernels.empty())
      return;
    for (frag::KernelOp kernel : kernels) {
      // Ops that reach other CTAs are in no other kernel.
      if (kernel.getCluster() != 1) {
        kernel.emitOpError()
            << "clusters are not built: cluster is "
            << int32_t(kernel.getCluster()) << " but must be 1";
        return signalPassFailure();
      }
      if (failed(checkPlaced<SmemOp>(kernel, "ring")) ||
          failed(checkPlaced<BarsOp>(kernel, "barriers")) ||
          failed(checkPlaced<WordsOp>(kernel, "words")) ||
          failed(legaliseMath(kernel)))
        return signalPassFailure();
      // Regions are cloned to every element; what stands outside of them is the
      // same for all threads.  Without shared memory nothing in the kernel asks
      // for threads that run together.
      kernel.walk([&](LoadScalarOp op) {
        if (kernel.getSmem() &&
            !isa<MapOp, CpAsyncOp, RewriteRowsOp, RewriteTileOp>(
                op->getParentOp()) &&
            !op->getParentOfType<ElectOp>())
          op->setAttr(uniformAttr, UnitAttr::get(op.getContext()));
      });
    }
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    // 1024: the period of the widest swizzle.
    LLVM::GlobalOp::create(
        b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, sharedSymbol,
        Attribute(), /*alignment=*/1024, sharedSpace);
    for (frag::KernelOp kernel : kernels)
      kernelToFunction(kernel);
    if (failed(fragToMachine(module)))
      return signalPassFailure();
    for (auto func : module.getOps<LLVM::LLVMFuncOp>())
      if (failed(rolesToBranches(func)))
        return signalPassFailure();
    if (failed(machineToLLVM(module)))
      signalPassFailure();
  }
};

} // namespace
