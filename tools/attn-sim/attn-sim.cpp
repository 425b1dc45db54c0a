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
//   attn-sim llama3.mlir --seeds=20 --schedule=random
//       roles, warps and agents at the same time, under 20 random schedules (of
//       several kinds in turn); a failing one is replayed by --seeds=1
//       --schedule=<its kind> --first-seed=<its seed>
//   attn-sim llama3.mlir --batch='q=5;kv=300' --batch='q=40;kv=7' --mutants
//       breaks each barrier, wait, fence, phase, count and release in turn; each
//       mutant must be found on one of the batches, or be the same as the kernel
//   attn-sim llama3.mlir --timing --ctas=1 --batch='q=4096;kv=4096'
//       how many clocks the L3 kernel takes; --json, --timeline=FILE
//
// Prints a line a kernel and level; the exit status is 1 if one disagrees.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/InitAll.h"
#include "attn/Verify/Mutants.h"
#include "attn/Verify/TimeKernels.h"
#include "attn/Verify/VerifyLevels.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"

#include <cmath>
#include <map>

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
static cl::list<std::string>
    schedules("schedule",
              cl::value_desc("rr|random|adversarial|field=value,..."),
              cl::desc("who runs next, with --seeds; or override fields of the "
                       "schedule"),
              cl::cat(category));
static cl::opt<int>
    seeds("seeds", cl::init(0),
          cl::desc("schedules to run pipe and frag under (0: in "
                   "lock step)"),
          cl::cat(category));
static cl::opt<uint64_t>
    maxSteps("max-steps", cl::init(0),
             cl::desc("decisions of a schedule before a run is given up (0: as "
                      "many as a sound run of the batch can take)"),
             cl::cat(category));
static cl::opt<uint64_t> firstSeed("first-seed", cl::init(0),
                                   cl::desc("of the schedules"),
                                   cl::cat(category));
static cl::opt<bool>
    mutants("mutants", cl::desc("break the kernel in every way it can be"),
            cl::cat(category));
static cl::opt<bool> listMutants("list-mutants",
                                 cl::desc("with --mutants: a line a mutant"),
                                 cl::cat(category));
static cl::list<std::string>
    batchTexts("batch",
               cl::desc("lengths of the requests; several: one after another "
                        "(default q=5,1,0,17;kv=7,30,4,0)"),
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
static cl::opt<bool>
    freeSplits("free-splits",
               cl::desc("split the items of the last wave wherever the blocks "
                        "of the launch then end earlier, whatever it costs"),
               cl::cat(category));
static cl::opt<uint64_t> seed("seed", cl::init(1), cl::desc("of the inputs"),
                              cl::cat(category));
static cl::list<float>
    scales("scale",
           cl::desc("factor of the scores (0: the kernel's); several: of the "
                    "batches in turn"),
           cl::cat(category));
static cl::opt<std::string>
    inputKind("inputs", cl::init("random"), cl::value_desc("kind"),
              cl::desc("what q, k and v look like: random, rising, late-peak, "
                       "huge-row, nan-row, nan-key or floor"),
              cl::cat(category));
static cl::opt<bool>
    showVisits("visits",
               cl::desc("print how often each loop with products was "
                        "gone through, in the order of the text"),
               cl::cat(category));
static cl::opt<bool> forceExact("force-exact",
                                cl::desc("run speculations exact"),
                                cl::cat(category));
static cl::opt<bool> failCheck("fail-check", cl::desc("redo every speculation"),
                               cl::cat(category));

static cl::opt<bool> timing("timing", cl::desc("clocks of the frag level"),
                            cl::cat(category));
static cl::opt<bool> values("values",
                            cl::desc("with --timing: tiles have values, which "
                                     "are compared with the oracle"),
                            cl::cat(category));
static cl::opt<bool> json("json", cl::desc("with --timing: print JSON"),
                          cl::cat(category));
static cl::opt<std::string>
    timeline("timeline", cl::value_desc("file.json"),
             cl::desc("with --timing: write a timeline for Perfetto"),
             cl::cat(category));
static cl::opt<std::string> device(
    "device", cl::value_desc("target"),
    cl::desc("with --timing: whose clocks (default: the kernel's target)"),
    cl::cat(category));
static cl::opt<unsigned>
    ctasPerSm("ctas-per-sm", cl::init(1),
              cl::desc("with --timing: CTAs that share an SM"),
              cl::cat(category));

/// Products of random vectors are some hundreds; f32 keeps 24 bits of a score, and
/// exponentials need its fraction.
static constexpr int largestScale = 1024;

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

/// Prints what became of each mutant; 1 if one lives.
static int runMutants(ModuleOp source, ModuleOp lowered,
                      const VerifyOptions &options, ArrayRef<SimInput> inputs) {
  FailureOr<std::vector<MutantResult>> results =
      verifyMutants(source, lowered, lowered ? levelOf(lowered) : StringRef(),
                    options, inputs);
  if (failed(results))
    return 1;
  size_t caught = 0, same = 0, alive = 0;
  std::map<std::string, size_t> verdicts;
  for (const MutantResult &r : *results) {
    bool lives = r.fate == MutantResult::Alive || r.fate == MutantResult::Split;
    (r.fate == MutantResult::Caught ? caught : lives ? alive : same)++;
    if (r.fate == MutantResult::Caught)
      ++verdicts[nameOf(r.report.verdict).str()];
    if (r.fate == MutantResult::Caught && !listMutants)
      continue;
    llvm::outs() << llvm::left_justify(r.kernel, 16) << " "
                 << llvm::left_justify(r.level, 6) << " "
                 << llvm::left_justify(r.name, 44) << " ";
    if (r.fate == MutantResult::Caught)
      llvm::outs() << nameOf(r.report.verdict) << ": " << r.report.message;
    else
      llvm::outs() << (r.fate == MutantResult::Split   ? "NOT ALWAYS "
                       : r.fate == MutantResult::Alive ? "NOT FOUND "
                                                       : "equivalent ")
                   << r.reason;
    llvm::outs() << "\n";
  }
  llvm::outs() << results->size() << " mutants: " << caught << " caught, "
               << same << " equivalent, " << alive << " not found";
  for (auto &[name, count] : verdicts)
    llvm::outs() << (&name == &verdicts.begin()->first ? "; " : ", ") << count
                 << " " << name;
  llvm::outs() << "\n";
  return alive ? 1 : 0;
}

static void printTiming(const KernelTiming &timed) {
  const sim::TimingReport &r = timed.report;
  auto share = [](double x) { return llvm::format("%.3f", x); };
  auto clocks = [](double x) { return llvm::format("%.1f", x); };
  llvm::raw_ostream &os = llvm::outs();
  os << timed.kernel << " on " << timed.device << ": " << clocks(r.cycles)
     << " clocks, " << r.ctaCycles.size() << " CTAs, tensor "
     << share(r.tensorShare) << ", of visible pairs "
     << share(timed.utilisation) << "\n";
  for (const sim::TimingLoop &loop : r.loops)
    os << "  loop " << loop.where << ": " << clocks(loop.cycles)
       << " clocks a visit, " << loop.count << " visits\n";
  os << "  units:";
  for (const sim::TimingUnit &unit : r.units)
    os << " " << unit.name << " " << share(unit.share);
  os << "\n";
  for (const sim::TimingRole &role : r.roles) {
    os << "  cta " << role.cta << " "
       << (role.role.empty() ? "all" : role.role);
    if (role.rank >= 0)
      os << "[" << role.rank << "]";
    os << ": " << clocks(role.cycles) << " clocks, issue "
       << clocks(role.issue);
    for (auto &[cause, cycles] : role.stalls)
      os << ", " << cause << " " << clocks(cycles);
    os << "\n";
  }
}

static int runTiming(ModuleOp source, ModuleOp lowered,
                     const VerifyOptions &options) {
  TimeOptions time;
  time.device = device;
  time.ctasPerSm = ctasPerSm;
  time.timeline = !timeline.empty();
  time.values = values;
  if (ctasPerSm < 1)
    return refuse("--ctas-per-sm is 0 but needs at least 1");
  FailureOr<std::vector<KernelTiming>> results =
      timeKernels(source, lowered, options, time);
  if (failed(results))
    return 1;
  llvm::json::Array all;
  for (const KernelTiming &timed : *results) {
    if (!json) {
      printTiming(timed);
      continue;
    }
    llvm::json::Value value = sim::toJSON(timed.report);
    (*value.getAsObject())["kernel"] = timed.kernel;
    (*value.getAsObject())["device"] = timed.device;
    (*value.getAsObject())["utilisation"] =
        std::round(timed.utilisation * 1000) / 1000;
    all.push_back(std::move(value));
  }
  if (json)
    llvm::outs() << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(all)));
  if (timeline.empty())
    return 0;
  // Of the first kernel: a file is one timeline.
  std::error_code failed;
  llvm::raw_fd_ostream out(timeline, failed);
  if (!failed) {
    out << sim::toTimeline(results->front().report) << "\n";
    out.close();
    failed = out.error();
  }
  if (failed) {
    out.clear_error();
    return refuse("cannot write '" + timeline + "': " + failed.message());
  }
  return 0;
}

/// ", visits 1 0 5", or nothing.
static std::string visitsText(const LevelResult &result) {
  if (!showVisits || result.visits.empty())
    return "";
  std::string text = ", visits";
  for (uint64_t n : result.visits)
    text += " " + std::to_string(n);
  return text;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv, "run attention kernels on the CPU, level by level\n");

  VerifyOptions options;
  std::string error;
  std::vector<SimInput> inputs;
  if (batchTexts.empty())
    batchTexts.push_back("q=5,1,0,17;kv=7,30,4,0");
  for (auto [n, text] : llvm::enumerate(batchTexts)) {
    SimInput input;
    if (!workload::parseBatch(text, input.batch, error))
      return refuse(error);
    if (!scales.empty())
      input.scale = scales[n % scales.size()];
    inputs.push_back(std::move(input));
  }
  if (seeds < 0)
    return refuse("--seeds is " + llvm::Twine(int(seeds)) +
                  " but the least is 0");
  if (kvHeads < 0)
    return refuse("--kv-heads is " + llvm::Twine(int(kvHeads)) +
                  " but the least is 0");
  if (!dtype.empty() &&
      !llvm::is_contained({"f32", "f16", "bf16"}, StringRef(dtype)))
    return refuse("unknown element type " + dtype + " (known: f32, f16, bf16)");
  for (double scale : scales)
    if (!std::isfinite(scale))
      return refuse("--scale is " + std::to_string(scale) +
                    " but must be finite");
    else if (std::fabs(scale) > largestScale)
      return refuse("--scale is " +
                    llvm::Twine(llvm::formatv("{0:e1}", scale)) +
                    " but the largest is " + llvm::Twine(largestScale) +
                    ": beyond it scores have no exact differences");
  options.target = target;
  std::vector<sim::ScheduleKind> kinds;
  for (const std::string &text : schedules)
    if (auto kind = sim::parseScheduleKind(text))
      kinds.push_back(*kind);
    else if (text.find('=') == std::string::npos)
      return refuse("unknown schedule '" + text +
                    "' (known: rr, random, adversarial, or field=value)");
    else
      options.schedule += (options.schedule.empty() ? "" : ",") + text;
  if (mutants && kinds.empty())
    kinds = {sim::ScheduleKind::Random, sim::ScheduleKind::Adversarial,
             sim::ScheduleKind::RoundRobin};
  if (!kinds.empty())
    options.kinds = kinds;
  options.seeds = mutants ? std::max(1, int(seeds)) : int(seeds);
  options.firstSeed = firstSeed;
  options.maxSteps = maxSteps;
  options.element = dtype;
  options.kvHeads = kvHeads;
  options.splitKeys = splitKeys;
  options.freeSplits = freeSplits;
  options.ctas = ctas;
  options.seed = seed;
  std::optional<workload::InputKind> kind = workload::parseInputKind(inputKind);
  if (!kind)
    return refuse("unknown inputs '" + inputKind + "' (known: " +
                  llvm::join(workload::inputKindNames(), ", ") + ")");
  options.inputs = *kind;
  options.forceExact = forceExact;
  options.failCheck = failCheck;

  DialectRegistry registry;
  registerDialects(registry, levels::all);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> source = parseSourceFile<ModuleOp>(input, &context);
  if (!source)
    return 1;

  OwningOpRef<ModuleOp> lowered;
  if (!loweredFile.empty()) {
    lowered = parseSourceFile<ModuleOp>(loweredFile, &context);
    if (!lowered)
      return 1;
  }
  for (const cl::Option *option :
       {(const cl::Option *)&json, (const cl::Option *)&timeline,
        (const cl::Option *)&values, (const cl::Option *)&device,
        (const cl::Option *)&ctasPerSm})
    if (!timing && option->getNumOccurrences())
      return refuse("--" + option->ArgStr + " needs --timing");
  if (showVisits && (timing || mutants))
    return refuse("--visits goes neither with --timing nor with --mutants");
  if (timing && inputs.size() > 1)
    return refuse("--timing takes one --batch but got " +
                  llvm::Twine(inputs.size()));
  options.batch = inputs.front().batch;
  options.scale = inputs.front().scale;
  if (lowered && !timing && (failCheck || forceExact) &&
      levelOf(*lowered) == "frag")
    return refuse("--fail-check and --force-exact decide at the levels above "
                  "frag; a kernel of level frag redoes what its data fails: "
                  "give a large --scale");
  if (timing)
    return runTiming(*source, lowered ? *lowered : nullptr, options);
  if (mutants)
    return runMutants(*source, lowered ? *lowered : nullptr, options, inputs);

  std::vector<LevelResult> results;
  for (const SimInput &input : inputs) {
    options.batch = input.batch;
    options.scale = input.scale;
    FailureOr<std::vector<LevelResult>> own =
        lowered ? verifyLowered(*source, *lowered, levelOf(*lowered), options)
                : verifyEachLevel(*source, options);
    if (failed(own))
      return 1;
    llvm::append_range(results, *own);
  }

  bool ok = true;
  for (const LevelResult &r : results) {
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
                   << ", " << r.verdict.rows << " rows"
                   << (r.runs > 1 ? ", " + std::to_string(r.runs) + " schedules"
                                  : "")
                   << visitsText(r) << "\n";
    else if (options.seeds > 0 && r.report.verdict != sim::Verdict::Correct) {
      llvm::outs() << "FAILED  " << nameOf(r.report.verdict) << " ("
                   << r.report.schedule << " schedule, seed " << r.report.seed
                   << ")\n";
      r.report.print(llvm::outs());
    } else {
      llvm::outs() << "FAILED  " << r.verdict.message << "\n";
    }
  }
  return ok ? 0 : 1;
}
