//===- PTX.cpp - modules to PTX -------------------------------------------===//
//
// llvm and nvvm ops -> LLVM IR -> O3 with the target's cost model -> PTX.
//
// Three things that nothing upstream does: shared pointers are 32 bits wide
// (nvptx-short-ptr), inline assembly is convergent, and calls that the back end
// cannot select (llvm.exp and its kind, undefined functions) are errors before
// code generation, where they would abort the process.
//
//===----------------------------------------------------------------------===//

#include "attn/Emit/PTX.h"

#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

extern "C" void LLVMInitializeNVPTXTarget();
extern "C" void LLVMInitializeNVPTXTargetInfo();
extern "C" void LLVMInitializeNVPTXTargetMC();
extern "C" void LLVMInitializeNVPTXAsmPrinter();

using namespace mlir;
using namespace attn;

void attn::registerPTXTranslation(DialectRegistry &registry) {
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static void initialiseNVPTX() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // A global option of the back end; there is no other way to set it.
    auto &options = llvm::cl::getRegisteredOptions();
    if (auto it = options.find("nvptx-short-ptr"); it != options.end())
      it->second->addOccurrence(1, "nvptx-short-ptr", "true");
  });
}

/// True for intrinsics that NVPTX selects only with `afn`.
static bool needsApproximation(llvm::Intrinsic::ID id) {
  switch (id) {
  case llvm::Intrinsic::sin:
  case llvm::Intrinsic::cos:
  case llvm::Intrinsic::tanh:
    return true;
  default:
    return false;
  }
}

/// True for intrinsics that NVPTX never selects.
static bool hasNoInstruction(llvm::Intrinsic::ID id) {
  switch (id) {
  case llvm::Intrinsic::exp:
  case llvm::Intrinsic::exp10:
  case llvm::Intrinsic::log:
  case llvm::Intrinsic::log2:
  case llvm::Intrinsic::log10:
  case llvm::Intrinsic::pow:
  case llvm::Intrinsic::powi:
  case llvm::Intrinsic::tan:
  case llvm::Intrinsic::asin:
  case llvm::Intrinsic::acos:
  case llvm::Intrinsic::atan:
  case llvm::Intrinsic::atan2:
  case llvm::Intrinsic::sinh:
  case llvm::Intrinsic::cosh:
  case llvm::Intrinsic::ldexp:
  case llvm::Intrinsic::frexp:
    return true;
  default:
    return false;
  }
}

/// The first call that code generation would abort on, or empty.
static std::string findUnselectable(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    for (const llvm::Instruction &inst : llvm::instructions(function)) {
      const auto *call = llvm::dyn_cast<llvm::CallInst>(&inst);
      if (!call)
        continue;
      const llvm::Function *callee = call->getCalledFunction();
      if (!callee || !callee->isDeclaration())
        continue;
      llvm::Intrinsic::ID id = callee->getIntrinsicID();
      if (id == llvm::Intrinsic::not_intrinsic || hasNoInstruction(id) ||
          (needsApproximation(id) && !call->getFastMathFlags().approxFunc()))
        return callee->getName().str();
    }
  return "";
}

namespace {

/// Leaves loop strength reduction out of the pass pipelines that are built in
/// its scope.  ptxas does its own: on our kernels the pass takes a third of code
/// generation and the SASS needs one register more.  The option is global, so
/// pipelines are built one at a time here.
class WithoutStrengthReduction {
public:
  WithoutStrengthReduction() : lock(mutex) { set("true"); }
  ~WithoutStrengthReduction() { set("false"); }

private:
  static void set(llvm::StringRef value) {
    auto &options = llvm::cl::getRegisteredOptions();
    if (auto it = options.find("disable-lsr"); it != options.end())
      it->second->addOccurrence(1, "disable-lsr", value);
  }
  static inline std::mutex mutex;
  std::lock_guard<std::mutex> lock;
};

/// LLVM's own errors, collected; without a handler the first one ends the
/// process.
struct DiagnosticCollector : llvm::DiagnosticHandler {
  explicit DiagnosticCollector(std::string &errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream os(errors);
      llvm::DiagnosticPrinterRawOStream printer(os);
      info.print(printer);
    }
    return true;
  }
  std::string &errors;
};

} // namespace

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  // The lowering has unrolled what there is to unroll: O3 gives the same PTX, to
  // a shift or two, and takes a quarter longer.
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1)
      .run(module, mam);
}

FailureOr<std::string> attn::emitPTX(ModuleOp module,
                                     const TargetSpec &target) {
  if (!target.isGpu())
    return module.emitError("target ")
           << std::string(target.name) << " has no ptx";
  initialiseNVPTX();

  PassManager passes(module.getContext());
  passes.addPass(createConvertNVVMToLLVMPass());
  if (failed(passes.run(module)))
    return failure();

  llvm::LLVMContext context;
  std::string errors;
  context.setDiagnosticHandler(std::make_unique<DiagnosticCollector>(errors));
  // Verified below, where the verifier's words can go into the diagnostic.
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(
      module, context, "attn", /*disableVerification=*/true);
  if (!llvmModule)
    return module.emitError("translation to llvm ir failed");
  for (llvm::Function &function : *llvmModule)
    for (llvm::Instruction &inst : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&inst);
          call && call->isInlineAsm())
        call->setConvergent();

  llvm::Triple triple{llvm::StringRef(target.triple)};
  std::string lookupError;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, lookupError);
  if (!backend)
    return module.emitError(lookupError);
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      triple, llvm::StringRef(target.chip),
      llvm::StringRef(target.chipFeatures), {}, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  llvmModule->setTargetTriple(triple);
  llvmModule->setDataLayout(machine->createDataLayout());

  std::string broken;
  llvm::raw_string_ostream os(broken);
  if (llvm::verifyModule(*llvmModule, &os))
    return module.emitError("invalid llvm ir: ") << broken;
  if (std::string name = findUnselectable(*llvmModule); !name.empty())
    return module.emitError("no instruction on ")
           << std::string(target.name) << " for '" << name << "'";

  optimise(*llvmModule, *machine);
  // Optimisation may form what was not there before.
  if (std::string name = findUnselectable(*llvmModule); !name.empty())
    return module.emitError("no instruction on ")
           << std::string(target.name) << " for '" << name << "'";

  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager codegen;
  bool unsupported;
  {
    WithoutStrengthReduction scope;
    unsupported = machine->addPassesToEmitFile(
        codegen, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
  }
  assert(!unsupported && "NVPTX prints assembly");
  (void)unsupported;
  codegen.run(*llvmModule);
  if (!errors.empty())
    return module.emitError("code generation failed: ") << errors;
  return std::string(ptx);
}
