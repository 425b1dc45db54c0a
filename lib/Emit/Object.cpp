//===- Object.cpp - LLVM dialect to a shared object -----------------------===//
//
// module -> LLVM IR -> O3 -> object in memory -> lld in process -> bytes.  lld
// reads and writes files, so both sides go through temporary files that are
// removed again.
//
//===----------------------------------------------------------------------===//
#include "attn/Emit/Object.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "lld/Common/Driver.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;

static constexpr llvm::StringLiteral tripleName = "x86_64-unknown-linux-gnu";
static const llvm::StringRef levels[] = {"x86-64-v3", "x86-64-v4"};

llvm::ArrayRef<llvm::StringRef> attn::emit::cpuLevels() { return levels; }

unsigned attn::emit::vectorBitsOf(llvm::StringRef level) {
  return level == "x86-64-v4" ? 512 : 256;
}

static std::unique_ptr<llvm::TargetMachine> makeMachine(ModuleOp module,
                                                        llvm::StringRef level) {
  if (!llvm::is_contained(levels, level)) {
    module.emitError() << "unknown cpu level '" << level
                       << "', known are x86-64-v3 and x86-64-v4";
    return nullptr;
  }
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple(tripleName);
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  assert(target && "the x86-64 back end is linked and initialised");
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, level, "", options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

static std::unique_ptr<llvm::Module> translate(ModuleOp module,
                                               llvm::StringRef level,
                                               llvm::TargetMachine &machine,
                                               llvm::LLVMContext &context) {
  registerBuiltinDialectTranslation(*module->getContext());
  registerLLVMDialectTranslation(*module->getContext());
  std::unique_ptr<llvm::Module> ir =
      translateModuleToLLVMIR(module, context, "attn-cpu");
  if (!ir)
    return nullptr;
  ir->setDataLayout(machine.createDataLayout());
  ir->setTargetTriple(llvm::Triple(tripleName));
  ir->setPICLevel(llvm::PICLevel::BigPIC);
  for (llvm::Function &f : *ir) {
    if (f.isDeclaration())
      continue;
    f.addFnAttr("target-cpu", level);
    f.addFnAttr(llvm::Attribute::NoUnwind);
    // The kernels are written for 512-bit vectors at this level; the tuning
    // default of some models would split them.
    if (level == "x86-64-v4") {
      f.addFnAttr("prefer-vector-width", "512");
      f.addFnAttr("min-legal-vector-width", "512");
    }
    if (!f.hasLocalLinkage())
      f.setVisibility(llvm::GlobalValue::DefaultVisibility);
  }

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
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(*ir, mam);
  return ir;
}

std::unique_ptr<llvm::Module>
attn::emit::translateForCPU(ModuleOp module, llvm::StringRef level,
                            llvm::LLVMContext &context) {
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(module, level);
  return machine ? translate(module, level, *machine, context) : nullptr;
}

namespace {
/// A temporary file that is gone at the end of its scope.
struct TemporaryFile {
  llvm::SmallString<128> path;
  int fd = -1;
  std::error_code create(llvm::StringRef suffix) {
    return llvm::sys::fs::createTemporaryFile("attn-cpu", suffix, fd, path);
  }
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
};
} // namespace

namespace {
/// lld keeps state in globals, so one link at a time; and it resets every
/// command line option of the process to its default, so the options step
/// aside.
class LinkerScope {
public:
  LinkerScope() : lock(mutex()), top(llvm::cl::SubCommand::getTopLevel()) {
    exchange();
  }
  ~LinkerScope() { exchange(); }

private:
  static std::mutex &mutex() {
    static std::mutex m;
    return m;
  }
  void exchange() {
    std::swap(top.OptionsMap, options);
    std::swap(top.PositionalOpts, positional);
    std::swap(top.SinkOpts, sinks);
    std::swap(top.ConsumeAfterOpt, rest);
  }

  std::lock_guard<std::mutex> lock;
  llvm::cl::SubCommand &top;
  decltype(llvm::cl::SubCommand::OptionsMap) options;
  decltype(llvm::cl::SubCommand::PositionalOpts) positional;
  decltype(llvm::cl::SubCommand::SinkOpts) sinks;
  llvm::cl::Option *rest = nullptr;
};
} // namespace

FailureOr<llvm::SmallVector<char>>
attn::emit::emitSharedObject(ModuleOp module, llvm::StringRef level) {
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(module, level);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir =
      translate(module, level, *machine, context);
  if (!ir)
    return failure();

  llvm::SmallVector<char> object;
  {
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager codegen;
    bool unable = machine->addPassesToEmitFile(
        codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
    assert(!unable && "the x86-64 back end writes object files");
    (void)unable;
    codegen.run(*ir);
  }

  TemporaryFile input, output;
  std::error_code ec = input.create("o");
  if (!ec)
    ec = output.create("so");
  if (ec) {
    module.emitError() << "cannot make a temporary file: " << ec.message();
    return failure();
  }
  {
    llvm::raw_fd_ostream stream(input.fd, /*shouldClose=*/true);
    stream.write(object.data(), object.size());
    stream.flush();
    if (stream.has_error()) {
      ec = stream.error();
      stream.clear_error();
      module.emitError() << "cannot write a temporary file: " << ec.message();
      return failure();
    }
  }
  llvm::sys::fs::file_t outFile = output.fd;
  llvm::sys::fs::closeFile(outFile);

  bool ok;
  std::string message;
  {
    LinkerScope scope;
    const char *args[] = {"ld.lld",
                          "-shared",
                          "--allow-shlib-undefined",
                          "--hash-style=gnu",
                          "--build-id=none",
                          "--gc-sections",
                          "-z",
                          "noexecstack",
                          "-z",
                          "relro",
                          "-z",
                          "now",
                          "--threads=1",
                          "-o",
                          output.path.c_str(),
                          input.path.c_str()};
    std::string out;
    llvm::raw_string_ostream outStream(out), errStream(message);
    lld::Result result =
        lld::lldMain(args, outStream, errStream, {{lld::Gnu, &lld::elf::link}});
    ok = result.retCode == 0;
  }
  auto linked = llvm::MemoryBuffer::getFile(output.path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (ok && !linked)
    message = linked.getError().message();
  if (!ok || !linked) {
    module.emitError() << "linking failed: " << message;
    return failure();
  }
  llvm::StringRef bytes = (*linked)->getBuffer();
  return llvm::SmallVector<char>(bytes.begin(), bytes.end());
}
