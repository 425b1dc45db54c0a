//===- attn-translate.cpp - kernels to text outside MLIR ------------------===//
//
//   attn-translate --attn-to-ptx --attn-target=sm_80 k.frag.mlir
//   attn-translate --attn-to-llvmir k.frag.mlir
//   attn-translate --attn-to-ptxas k.frag.mlir    one line a kernel
//
// Input is level L3 (frag) or L4 (llvm and nvvm).
//
//===----------------------------------------------------------------------===//

#include "attn/Conversion/Passes.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Emit/PTX.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

static llvm::cl::opt<std::string>
    targetName("attn-target", llvm::cl::desc("target of the kernels"),
               llvm::cl::init("sm_80"));
static llvm::cl::opt<std::string>
    ptxasPath("attn-ptxas", llvm::cl::desc("ptxas to use instead of the one "
                                           "that is found"),
              llvm::cl::init(""));

static void registerDialects(DialectRegistry &registry) {
  registry.insert<attn::frag::FragDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, math::MathDialect, scf::SCFDialect>();
  attn::registerPTXTranslation(registry);
}

static FailureOr<ModuleOp> lower(Operation *op) {
  // The parser wraps whatever stands at the top into a module.
  auto module = cast<ModuleOp>(op);
  PassManager passes(op->getContext());
  passes.addPass(attn::createFragToNVVM());
  if (failed(passes.run(module)))
    return failure();
  return module;
}

static FailureOr<std::string> toPTX(Operation *op,
                                    const attn::TargetSpec *&target) {
  std::string error;
  target = attn::findTarget(targetName.getValue(), error);
  if (!target)
    return op->emitError(error);
  FailureOr<ModuleOp> module = lower(op);
  if (failed(module))
    return failure();
  return attn::emitPTX(*module, *target);
}

static LogicalResult translateToPTX(Operation *op, llvm::raw_ostream &os) {
  const attn::TargetSpec *target = nullptr;
  FailureOr<std::string> ptx = toPTX(op, target);
  if (failed(ptx))
    return failure();
  os << *ptx;
  return success();
}

static LogicalResult translateToPtxas(Operation *op, llvm::raw_ostream &os) {
  const attn::TargetSpec *target = nullptr;
  FailureOr<std::string> ptx = toPTX(op, target);
  if (failed(ptx))
    return failure();
  std::string error;
  attn::PtxasResult result;
  std::optional<std::string> ptxas = attn::findPtxas(ptxasPath, error);
  if (!ptxas || !attn::runPtxas(*ptx, *target, *ptxas, result, error) ||
      !attn::checkPtxasResult(result, error))
    return op->emitError(error);
  for (const attn::PtxasKernel &kernel : result.kernels)
    os << "kernel " << kernel.name << ": " << kernel.registers
       << " registers, " << kernel.spillStoreBytes + kernel.spillLoadBytes
       << " bytes spilled, " << kernel.stackBytes << " bytes of stack, cubin "
       << (result.cubin.empty() ? "empty" : "made") << "\n";
  return success();
}

static LogicalResult translateToLLVMIR(Operation *op, llvm::raw_ostream &os) {
  FailureOr<ModuleOp> module = lower(op);
  if (failed(module))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(*module, context);
  if (!translated)
    return failure();
  translated->print(os, nullptr);
  return success();
}

int main(int argc, char **argv) {
  TranslateFromMLIRRegistration ptx("attn-to-ptx", "kernels to PTX",
                                    translateToPTX, registerDialects);
  TranslateFromMLIRRegistration ptxas(
      "attn-to-ptxas", "kernels through ptxas, registers and spills",
      translateToPtxas, registerDialects);
  TranslateFromMLIRRegistration llvmir("attn-to-llvmir", "kernels to LLVM IR",
                                       translateToLLVMIR, registerDialects);
  return failed(mlirTranslateMain(argc, argv, "attn kernels to text\n"));
}
