//===- attn-sim.cpp - run kernels of any level on the CPU -----------------===//
//
// Random ragged batches through the interpreter, against the oracle.
//
//   attn-sim llama3.mlir --target=sm_80 --batch='q=5,1;kv=7,300'
//       lowers the problem and runs every level
//   attn-sim llama3.mlir --lowered=broken.mlir
//       runs a module that was lowered (and perhaps changed) elsewhere, at the
//       level it is on; the problem gives its inputs and its reference
//
// Prints a line a kernel and level; the exit status is 1 if one disagrees.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/InitAll.h"
#include "attn/Verify/VerifyLevels.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace attn;
namespace cl = llvm::cl;

static cl::OptionCategory category("attn-sim options");
static cl::opt<std::string> input(cl::Positional, cl::desc("<problem.mlir>"),
                                  cl::Required, cl::cat(category));
static cl::opt<std::string> loweredFile("lowered", cl::value_desc("file"),
                                        cl::desc("module to run instead of the "
                                                 "problem's own lowering"),
                                        cl::cat(category));
static cl::opt<std::string> target("target", cl::init("sm_80"),
                                   cl::desc("target to lower for"),
                                   cl::cat(category));
static cl::opt<std::string>
    schedule("schedule", cl::value_desc("field=value,..."),
             cl::desc("override fields of the schedule"), cl::cat(category));
static cl::opt<std::string> batchText("batch",
                                      cl::init("q=5,1,0,17;kv=7,30,4,0"),
                                      cl::desc("lengths of the requests"),
                                      cl::cat(category));
static cl::opt<std::string> dtype("dtype", cl::desc("element type of q, k, v"),
                                  cl::cat(category));
static cl::opt<int> kvHeads("kv-heads", cl::init(2),
                            cl::desc("KV heads that are run at most (0: all)"),
                            cl::cat(category));
static cl::opt<int> ctas("ctas", cl::init(3), cl::desc("blocks of the launch"),
                         cl::cat(category));
static cl::opt<int> splitKeys("split", cl::init(0),
                              cl::desc("keys of a split (0: for balance)"),
                              cl::cat(category));
static cl::opt<uint64_t> seed("seed", cl::init(1), cl::desc("of the inputs"),
                              cl::cat(category));
static cl::opt<bool> forceExact("force-exact",
                                cl::desc("run speculations exact"),
                                cl::cat(category));
static cl::opt<bool> failCheck("fail-check", cl::desc("redo every speculation"),
                               cl::cat(category));

static int refuse(const llvm::Twine &message) {
  llvm::errs() << "attn-sim: error: " << message << "\n";
  return 1;
}

/// Name of the level that a module is on.
static StringRef levelOf(ModuleOp module) {
  StringRef level = "tiles";
  module->walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    if (name == "frag.kernel")
      level = "frag";
    else if (name == "pipe.roles")
      level = "pipe";
  });
  return level;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv, "run attention kernels on the CPU, level by level\n");

  VerifyOptions options;
  std::string error;
  if (!workload::parseBatch(batchText, options.batch, error))
    return refuse(error);
  options.target = target;
  options.schedule = schedule;
  options.element = dtype;
  options.kvHeads = kvHeads;
  options.splitKeys = splitKeys;
  options.ctas = ctas;
  options.seed = seed;
  options.forceExact = forceExact;
  options.failCheck = failCheck;

  DialectRegistry registry;
  registerDialects(registry, levels::all);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> source = parseSourceFile<ModuleOp>(input, &context);
  if (!source)
    return 1;

  FailureOr<std::vector<LevelResult>> results;
  if (loweredFile.empty()) {
    results = verifyEachLevel(*source, options);
  } else {
    OwningOpRef<ModuleOp> lowered =
        parseSourceFile<ModuleOp>(loweredFile, &context);
    if (!lowered)
      return 1;
    results = verifyLowered(*source, *lowered, levelOf(*lowered), options);
  }
  if (failed(results))
    return 1;

  bool ok = true;
  for (const LevelResult &r : *results) {
    ok &= r.ok;
    llvm::outs() << llvm::left_justify(r.kernel, 16) << " "
                 << llvm::left_justify(r.level, 10) << " ";
    if (r.ok)
      llvm::outs() << "ok      O "
                   << llvm::format("%.1e", r.verdict.comparison.tensorError)
                   << " of "
                   << llvm::format("%.1e", r.verdict.comparison.tensorLimit)
                   << ", LSE "
                   << llvm::format("%.1e", r.verdict.comparison.lseError)
                   << ", " << r.verdict.rows << " rows\n";
    else
      llvm::outs() << "FAILED  " << r.verdict.message << "\n";
  }
  return ok ? 0 : 1;
}
