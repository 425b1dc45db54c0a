//===- attnc.cpp - the user's compiler driver -----------------------------===//
//
//   attnc llama3.mlir --target=cpu,sm_80 -o llama3.attn
//   attnc llama3.mlir --target=sm_80 --emit=tiles
//   attnc llama3.mlir --target=sm_80 --verify-each-level --batch='q=5;kv=7'
//
// Writes the whole output file or none: a failed compile leaves an existing
// file as it was.
//
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Cache.h"
#include "attn/Compiler/Compiler.h"
#include "attn/Compiler/RemarkFilter.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Emit/Bundle.h"
#include "attn/Emit/PTX.h"
#include "attn/InitAll.h"
#include "attn/Schedule/Schedule.h"
#include "attn/Target/TargetSpec.h"
#include "attn/Verify/VerifyLevels.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

#include <chrono>
#include <functional>

using namespace mlir;
using namespace attn;
namespace cl = llvm::cl;

static cl::OptionCategory category("attnc options");

/// What --emit takes beside "bundle".
static const StringRef textKinds[] = {"attn",      "tiles", "pipe", "frag",
                                      "nvvm",      "llvm",  "ptx",  "schedule",
                                      "block-map", "report"};
static const std::string emitKinds =
    "bundle, " + llvm::join(llvm::ArrayRef(textKinds), ", ");

static cl::opt<std::string> input(cl::Positional, cl::desc("<kernel.mlir>"),
                                  cl::Required, cl::cat(category));
static cl::list<std::string> targets("target", cl::CommaSeparated,
                                     cl::value_desc("name,..."),
                                     cl::desc("targets: cpu, sm_80, sm_90a"),
                                     cl::cat(category));
static cl::opt<std::string>
    output("o", cl::desc("output file (- for standard output)"),
           cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string> emitKind("emit", cl::init("bundle"),
                                     cl::cat(category), cl::value_desc("kind"),
                                     cl::desc(emitKinds));
static cl::opt<std::string> kernelName("kernel", cl::value_desc("name"),
                                       cl::desc("compile this kernel only"),
                                       cl::cat(category));
static cl::opt<std::string>
    schedule("schedule", cl::value_desc("field=value,..."),
             cl::desc("override fields of the schedule"), cl::cat(category));
static cl::list<std::string>
    cpuTypes("cpu-dtypes", cl::CommaSeparated, cl::value_desc("f32,f16,bf16"),
             cl::desc("element types of cpu specialisations besides the "
                      "declared one (default f32)"),
             cl::cat(category));
static cl::opt<std::string> ptxasPath("ptxas", cl::value_desc("path"),
                                      cl::desc("assembler (default: searched)"),
                                      cl::cat(category));
static cl::opt<bool> noCubin("no-cubin", cl::desc("PTX only"),
                             cl::cat(category));
static cl::opt<std::string>
    cacheFolder("cache", cl::value_desc("folder"), cl::cat(category),
                cl::desc("keep bundles there by content (default: the "
                         "environment's ATTN_CACHE, else none)"));
static cl::opt<bool> tuneSet("tune-set", cl::cat(category),
                             cl::desc("a bundle with every schedule worth "
                                      "measuring (see scripts/tune.py)"));
static cl::opt<bool> showRemarks("remarks", cl::cat(category),
                                 cl::desc("say what was chosen and why"));
static cl::opt<bool> showTime("time", cl::desc("print the time of each stage"),
                              cl::cat(category));
static cl::opt<int64_t> tokens("tokens", cl::init(4096),
                               cl::desc("tokens of --emit=report"),
                               cl::cat(category));

static cl::opt<bool> verifyLevels(
    "verify-each-level", cl::cat(category),
    cl::desc("run random inputs at every level against the oracle"));
static cl::opt<std::string>
    batchText("batch",
              cl::init("q=0,1,17,128,300,5,40;kv=7,1,33,128,1000,0,13"),
              cl::desc("lengths for --verify-each-level"), cl::cat(category));
static cl::opt<int>
    verifyHeads("verify-kv-heads", cl::init(2), cl::cat(category),
                cl::desc("KV heads that --verify-each-level runs (0: all)"));
static cl::opt<int> splitKeys(
    "split", cl::init(0), cl::cat(category),
    cl::desc("keys of a split for --verify-each-level (0: for balance)"));
static cl::opt<int> verifyUnseen(
    "verify-poison-unseen", cl::init(-1), cl::cat(category),
    cl::desc("keys of --verify-each-level that are more than so many tokens "
             "from all that a row sees are NaN (-1: none)"));
static cl::opt<std::string>
    verifyForce("verify-force", cl::value_desc("exact|redo"), cl::cat(category),
                cl::desc("speculations of --verify-each-level run exact, or "
                         "are all redone"));
static cl::opt<std::string>
    dtype("dtype", cl::cat(category),
          cl::desc("element type for --verify-each-level"));
static cl::opt<uint64_t> seed("seed", cl::init(1),
                              cl::desc("seed for --verify-each-level"),
                              cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "attnc: error: " << message << "\n";
  return 1;
}

/// Text to the output file, all or nothing.
static int writeText(StringRef text) {
  if (output.empty() || output == "-") {
    llvm::outs() << text;
    llvm::outs().flush();
    if (!llvm::outs().has_error())
      return 0;
    std::string why = llvm::outs().error().message();
    llvm::outs().clear_error();
    return fail("cannot write to standard output: " + why);
  }
  if (llvm::Error e =
          emit::writeFileAtomically(output, {text.data(), text.size()}))
    return fail(llvm::toString(std::move(e)));
  return 0;
}

static LoweringOptions lowering(StringRef target) {
  LoweringOptions options;
  options.target = target.str();
  options.schedule = schedule;
  return options;
}

/// The schedule of each specialisation that a bundle gets if the assembler takes
/// all: the first choice, then what belongs beside it.
static bool printSchedules(ModuleOp module, const LoweringOptions &options,
                           llvm::raw_ostream &os) {
  OwningOpRef<ModuleOp> lowered = lowerTo(module, options, Level::Problem);
  if (!lowered)
    return false;
  std::string error;
  const TargetSpec *spec = findTarget(options.target, error);
  for (KernelOp kernel : lowered->getOps<KernelOp>()) {
    os << kernel.getSymName() << ": " << kernel.getScheduleAttr() << "\n";
    auto source = module.lookupSymbol<KernelOp>(kernel.getSymName());
    ProblemFacts facts;
    if (!options.schedule.empty() || (source && source.getScheduleAttr()) ||
        !spec || !ProblemFacts::of(kernel, facts, error))
      continue; // one that the user named stands alone
    for (ScheduleAttr beside : chooseSchedules(facts, *spec).beside)
      os << kernel.getSymName() << ": " << beside << "\n";
  }
  return true;
}

/// One form of the kernels as text; null if the compile failed.
static std::optional<std::string> textOf(ModuleOp module, StringRef target,
                                         StringRef kind) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto print = [&](Level level) {
    OwningOpRef<ModuleOp> lowered = lowerTo(module, lowering(target), level);
    if (lowered)
      lowered->print(os);
    return bool(lowered);
  };
  auto printAttr = [&](llvm::function_ref<Attribute(KernelOp)> get) {
    OwningOpRef<ModuleOp> lowered =
        lowerTo(module, lowering(target), Level::Problem);
    if (lowered)
      for (KernelOp kernel : lowered->getOps<KernelOp>())
        os << kernel.getSymName() << ": " << get(kernel) << "\n";
    return bool(lowered);
  };
  bool ok = false;
  if (kind == "attn")
    ok = print(Level::Problem);
  else if (kind == "tiles")
    ok = print(Level::Tiles);
  else if (kind == "pipe")
    ok = print(Level::Pipe);
  else if (kind == "frag")
    ok = print(Level::Frag);
  else if (kind == "nvvm")
    ok = print(Level::Base);
  else if (kind == "schedule")
    ok = printSchedules(module, lowering(target), os);
  else if (kind == "block-map")
    ok = printAttr([](KernelOp k) -> Attribute { return k.getBlockMapAttr(); });
  else if (kind == "report")
    ok = succeeded(printReport(module, lowering(target), tokens, os));
  else if (kind == "llvm") {
    OwningOpRef<ModuleOp> lowered =
        lowerTo(module, lowering(target), Level::Base);
    llvm::LLVMContext context;
    if (lowered)
      if (auto ir = translateModuleToLLVMIR(*lowered, context)) {
        os << *ir;
        ok = true;
      }
  } else if (FailureOr<std::string> ptx =
                 compileToPTX(module, lowering(target));
             succeeded(ptx)) {
    os << *ptx;
    ok = true;
  }
  if (!ok)
    return std::nullopt;
  return text;
}

/// A bar on a terminal, once a compile has taken a second.
class ProgressBar {
public:
  void operator()(unsigned done, unsigned total, StringRef what) {
    using namespace std::chrono;
    if (!llvm::sys::Process::StandardErrIsDisplayed() ||
        steady_clock::now() - begin < seconds(1))
      return;
    unsigned width = 30, full = total ? width * done / total : width;
    llvm::errs() << "\r[" << std::string(full, '=')
                 << std::string(width - full, ' ') << "] " << done << "/"
                 << total << " " << llvm::left_justify(what, 40);
    drawn = true;
  }
  void clear() {
    if (drawn)
      llvm::errs() << "\r" << std::string(80, ' ') << "\r";
  }

private:
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
  bool drawn = false;
};

static void printTimes(const StageTimes &times) {
  double total = 0;
  for (const auto &[stage, ms] : times) {
    llvm::errs() << llvm::format("%10.1f ms  ", ms) << stage << "\n";
    total += ms;
  }
  llvm::errs() << llvm::format("%10.1f ms  total\n", total);
}

static int verify(ModuleOp module) {
  VerifyOptions options;
  std::string error;
  if (!workload::parseBatch(batchText, options.batch, error))
    return fail(error);
  options.schedule = schedule;
  options.element = dtype;
  options.kvHeads = verifyHeads;
  options.unseenMargin = verifyUnseen;
  options.splitKeys = splitKeys;
  options.seed = seed;
  if (!verifyForce.empty() && verifyForce != "exact" && verifyForce != "redo")
    return fail("--verify-force is '" + verifyForce +
                "' but must be exact or redo");
  options.forceExact = verifyForce == "exact";
  options.failCheck = verifyForce == "redo";
  bool ok = true;
  for (const std::string &target : targets) {
    options.target = target;
    FailureOr<std::vector<LevelResult>> results =
        verifyEachLevel(module, options);
    if (failed(results))
      return 1;
    for (const LevelResult &r : *results) {
      const oracle::Comparison &c = r.verdict.comparison;
      llvm::outs() << target << " " << r.kernel << " "
                   << llvm::left_justify(r.level, 10)
                   << (r.ok ? " agrees" : " DISAGREES") << " rows "
                   << r.verdict.rows
                   << llvm::format(" error %.2e of %.2e lse %.1e",
                                   c.tensorError, c.tensorLimit, c.lseError);
      if (!r.verdict.message.empty())
        llvm::outs() << " (" << r.verdict.message << ")";
      llvm::outs() << "\n";
      ok &= r.ok;
    }
  }
  llvm::outs() << (ok ? "all levels agree\n" : "levels disagree\n");
  return ok ? 0 : 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "attnc: attention kernels to bundles\n");

  if (targets.empty())
    return fail("no target; give --target=cpu,sm_80");
  if (emitKind != "bundle" && !llvm::is_contained(textKinds, emitKind))
    return fail("unknown --emit=" + emitKind + " (known: " + emitKinds + ")");
  std::string error;
  for (const std::string &target : targets) {
    const TargetSpec *spec = findTarget(target, error);
    if (!spec)
      return fail(error);
    if (!spec->isGpu() && llvm::is_contained({"pipe", "frag", "ptx"}, emitKind))
      return fail("target " + target + " has no " + emitKind);
  }
  for (const std::string &type : cpuTypes)
    if (!llvm::is_contained({"f32", "f16", "bf16"}, type))
      return fail("unknown element type " + type + " (known: f32, f16, bf16)");
  if (tuneSet && !schedule.empty())
    return fail("--tune-set and --schedule exclude each other");
  if (tokens < 1)
    return fail("tokens must be at least 1 but is " + llvm::Twine(tokens));
  auto file = openInputFile(input, &error);
  if (!file)
    return fail(error);

  DialectRegistry registry;
  registerDialects(registry, levels::all);
  registerPTXTranslation(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  // The user's file has the line; the op in generic form says no more.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  RemarkFilter remarks(&context, showRemarks);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1;
  if (!kernelName.empty()) {
    if (!module->lookupSymbol<KernelOp>(kernelName))
      return fail("module has no kernel \"" + kernelName + "\"");
    for (KernelOp kernel :
         llvm::make_early_inc_range(module->getOps<KernelOp>()))
      if (kernel.getSymName() != kernelName)
        kernel.erase();
  }
  if (verifyLevels)
    return verify(*module);
  if (module->getOps<KernelOp>().empty())
    return fail("module has 0 kernels");
  if (emitKind != "bundle") {
    if (targets.size() != 1)
      return fail("--emit=" + emitKind + " needs 1 target but got " +
                  llvm::Twine(targets.size()));
    std::optional<std::string> text = textOf(*module, targets[0], emitKind);
    return text ? writeText(*text) : 1;
  }

  if (output.empty())
    return fail("no output file; give -o kernel.attn");
  CompileOptions options;
  options.targets = targets;
  options.schedule = schedule;
  if (!cpuTypes.empty())
    options.cpuTypes = cpuTypes;
  options.ptxas = ptxasPath;
  options.useCubin = !noCubin;
  options.tuneSet = tuneSet;
  StageTimes times;
  ProgressBar bar;
  options.progress = std::ref(bar);
  std::string folder = cacheFolder;
  if (!cacheFolder.getNumOccurrences())
    folder = llvm::sys::Process::GetEnv("ATTN_CACHE").value_or("");
  FailureOr<std::vector<char>> bytes =
      compileToFile(*module, options, folder, times);
  bar.clear();
  if (failed(bytes))
    return 1;
  if (llvm::Error e = emit::writeFileAtomically(output, *bytes))
    return fail(llvm::toString(std::move(e)));
  if (showTime)
    printTimes(times);
  return 0;
}
