//===- attn-translate.cpp - L0 modules to other forms ---------------------------------------===//
//
//   attn-translate --attn-to-ptx --attn-target=sm_80 llama3.mlir
//   attn-translate --attn-to-llvmir --attn-target=cpu llama3.mlir
//   attn-translate --attn-report --attn-target=sm_80 llama3.mlir
//
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Compiler.h"
#include "attn/InitAll.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace attn;

static llvm::cl::opt<std::string> target("attn-target", llvm::cl::desc("target to compile for"),
                                         llvm::cl::init("sm_80"));
static llvm::cl::opt<std::string> schedule("attn-schedule",
                                           llvm::cl::desc("schedule overrides, field=value,..."));
static llvm::cl::opt<int64_t> tokens("attn-tokens", llvm::cl::desc("tokens of the report"),
                                     llvm::cl::init(4096));

static LoweringOptions options() {
  LoweringOptions o;
  o.target = target;
  o.schedule = schedule;
  return o;
}

static LogicalResult toPTX(Operation *op, raw_ostream &os) {
  FailureOr<std::string> ptx = compileToPTX(cast<ModuleOp>(op), options());
  if (succeeded(ptx))
    os << *ptx;
  return ptx;
}

static LogicalResult toLLVMIR(Operation *op, raw_ostream &os) {
  OwningOpRef<ModuleOp> module = lowerTo(cast<ModuleOp>(op), options(), Level::Base);
  if (!module)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(*module, context);
  if (!llvmModule)
    return failure();
  os << *llvmModule;
  return success();
}

static LogicalResult toReport(Operation *op, raw_ostream &os) {
  return printReport(cast<ModuleOp>(op), options(), tokens, os);
}

int main(int argc, char **argv) {
  auto init = [](DialectRegistry &registry) { registerAllDialects(registry); };
  TranslateFromMLIRRegistration ptx("attn-to-ptx", "PTX of every kernel", toPTX, init);
  TranslateFromMLIRRegistration ir("attn-to-llvmir", "LLVM IR of every kernel", toLLVMIR, init);
  TranslateFromMLIRRegistration report("attn-report", "work and data movement", toReport, init);
  return failed(mlirTranslateMain(argc, argv, "attn-mlir translation"));
}
