//===- attn-translate.cpp - kernels to text outside MLIR ------------------===//
//
//   attn-translate --attn-to-ptx --attn-target=sm_80 llama3.mlir
//   attn-translate --attn-to-ptxas prefill.frag.mlir      one line a kernel
//   attn-translate --attn-to-llvmir --attn-target=cpu llama3.mlir
//   attn-translate --attn-report llama3.mlir
//
// Input is level L0 (every pass runs) or L3 and below (the last ones do).
//
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Compiler.h"
#include "attn/InitAll.h"
#include "attn/Target/TargetSpec.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace attn;
namespace cl = llvm::cl;

static cl::opt<std::string> targetName("attn-target",
                                       cl::desc("target of the kernels"),
                                       cl::init("sm_80"));
static cl::opt<std::string>
    schedule("attn-schedule", cl::desc("schedule overrides, field=value,..."));
static cl::opt<int64_t> tokens("attn-tokens", cl::desc("tokens of the report"),
                               cl::init(4096));
static cl::opt<std::string>
    ptxasPath("attn-ptxas",
              cl::desc("ptxas to use instead of the one that is found"));

static LoweringOptions options() {
  LoweringOptions o;
  o.target = targetName;
  o.schedule = schedule;
  return o;
}

/// The module at L4; null after diagnostics.
static OwningOpRef<ModuleOp> lower(Operation *op) {
  auto module = cast<ModuleOp>(op);
  if (!module.getOps<KernelOp>().empty())
    return lowerTo(module, options(), Level::Base);
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager pm(op->getContext());
  addNVVMPasses(pm);
  if (failed(pm.run(*copy)))
    return nullptr;
  return copy;
}

static FailureOr<std::string> makePTX(Operation *op,
                                      const TargetSpec *&target) {
  std::string error;
  target = findTarget(targetName.getValue(), error);
  if (!target)
    return op->emitError(error);
  OwningOpRef<ModuleOp> module = lower(op);
  if (!module)
    return failure();
  return emitPTX(*module, *target);
}

static LogicalResult toPTX(Operation *op, llvm::raw_ostream &os) {
  const TargetSpec *target = nullptr;
  FailureOr<std::string> ptx = makePTX(op, target);
  if (succeeded(ptx))
    os << *ptx;
  return ptx;
}

static LogicalResult toPtxas(Operation *op, llvm::raw_ostream &os) {
  const TargetSpec *target = nullptr;
  FailureOr<std::string> ptx = makePTX(op, target);
  if (failed(ptx))
    return failure();
  std::string error;
  PtxasResult result;
  std::optional<std::string> ptxas = findPtxas(ptxasPath, error);
  if (!ptxas || !runPtxas(*ptx, *target, *ptxas, result, error) ||
      !checkPtxasResult(result, *target, error))
    return op->emitError(error);
  for (const PtxasKernel &kernel : result.kernels)
    os << "kernel " << kernel.name << ": " << kernel.registers << " registers, "
       << kernel.spillStoreBytes + kernel.spillLoadBytes << " bytes spilled, "
       << kernel.stackBytes << " bytes of stack, cubin "
       << (result.cubin.empty() ? "empty" : "made") << "\n";
  return success();
}

static LogicalResult toLLVMIR(Operation *op, llvm::raw_ostream &os) {
  OwningOpRef<ModuleOp> module = lower(op);
  if (!module)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(*module, context);
  if (!translated)
    return failure();
  translated->print(os, nullptr);
  return success();
}

static LogicalResult toReport(Operation *op, llvm::raw_ostream &os) {
  return printReport(cast<ModuleOp>(op), options(), tokens, os);
}

int main(int argc, char **argv) {
  auto init = [](DialectRegistry &registry) {
    registerDialects(registry, levels::all);
    registerPTXTranslation(registry);
  };
  TranslateFromMLIRRegistration ptx("attn-to-ptx", "kernels to PTX", toPTX,
                                    init);
  TranslateFromMLIRRegistration ptxas(
      "attn-to-ptxas", "kernels through ptxas, registers and spills", toPtxas,
      init);
  TranslateFromMLIRRegistration llvmir("attn-to-llvmir", "kernels to LLVM IR",
                                       toLLVMIR, init);
  TranslateFromMLIRRegistration report("attn-report", "work and data movement",
                                       toReport, init);
  return failed(mlirTranslateMain(argc, argv, "attn kernels to text\n"));
}
