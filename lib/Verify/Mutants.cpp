//===- Mutants.cpp - does the simulator find what is broken? --------------===//
//
// A mutant goes through the inputs until one gives a verdict; the schedules of
// the options must agree on it.  One that none finds counts as equivalent only if
// the inputs reach the op that it changes:
//
//   input 0: clean, input 1: race, race, race   -> caught
//   input 0: clean, input 1: race, clean, race  -> split
//   all inputs clean                            -> equivalent
//
// Invariant: the kernel itself is clean on every input under every schedule, so
// that a verdict is about the edit.
//
//===----------------------------------------------------------------------===//

#include "attn/Verify/Mutants.h"

#include "Case.h"

#include "attn/Compiler/Compiler.h"
#include "attn/Pipelines/Pipelines.h"
#include "attn/Sim/FragInterp.h"
#include "attn/Sim/FragMutate.h"
#include "attn/Sim/PipeMutate.h"

#include <deque>

using namespace mlir;
using namespace attn;

namespace {

/// One kernel on one input.
struct Input {
  Case c;
  uint64_t steps = 0; ///< of the longest run of the kernel itself
};

/// Stays where it is: a workload refers to itself.
using Inputs = std::deque<Input>;

/// A kernel that goes on much longer than it should makes no progress.
uint64_t limitOf(const Input &input) { return 20 * input.steps + 10000; }

/// Runs the kernel itself on every input under every schedule.
LogicalResult runControl(Inputs &inputs, ModuleOp module, StringRef level,
                         const VerifyOptions &options,
                         llvm::DenseSet<Operation *> &reached) {
  sim::MachineCache cache;
  for (Input &input : inputs)
    for (int32_t i = 0; i < options.seeds; ++i) {
      Turn turn = turnOf(options, i);
      turn.reached = &reached;
      LevelResult own =
          interpret(input.c, module, level, options, &turn, &cache);
      if (!own.ok)
        return module.emitError(
            "kernel " + input.c.kernel.name + " at " + level.str() +
            " is not correct before it is broken: " + own.report.message);
      input.steps = std::max(input.steps, own.report.steps);
    }
  return success();
}

/// Mutants of L2 on one input: each seed as it is and with every speculation
/// redone; one that none of these finds goes through every interleaving of their
/// traces.
std::vector<sim::MutantVerdict> judgePipe(Input &input, ModuleOp module,
                                          const VerifyOptions &options) {
  Case &c = input.c;
  std::vector<sim::LaunchOptions> launches;
  for (int32_t i = 0; i < options.seeds; ++i)
    for (bool redo : {options.failCheck, !options.failCheck}) {
      Turn turn = turnOf(options, i);
      sim::LaunchOptions launch;
      launch.schedule = turn.kind;
      launch.seed = turn.seed;
      launch.failCheck = redo;
      launch.maxSteps = 2 * limitOf(input); // a redo doubles the work
      launches.push_back(launch);
    }
  auto run = [&](ModuleOp broken, const sim::LaunchOptions &launch) {
    VerifyOptions how = options;
    how.failCheck = launch.failCheck;
    Turn turn;
    turn.kind = launch.schedule;
    turn.seed = launch.seed;
    turn.maxSteps = launch.maxSteps;
    turn.traces = launch.traces;
    return interpret(c, broken, "pipe", how, &turn).report;
  };
  return sim::judgePipeMutants(module, c.spec.entry, launches, run);
}

/// Caught on one input, or equivalent on all.
void runPipe(Inputs &inputs, ModuleOp module, const VerifyOptions &options,
             std::vector<MutantResult> &results) {
  std::vector<sim::MutantVerdict> verdicts;
  for (Input &input : inputs) {
    auto own = judgePipe(input, module, options);
    if (verdicts.empty()) {
      verdicts = std::move(own);
      continue;
    }
    for (auto [v, other] : llvm::zip_equal(verdicts, own)) {
      if (!v.equivalent && !v.open)
        continue;
      if (!other.equivalent && !other.open) {
        v = std::move(other);
        continue;
      }
      v.states += other.states;
      v.open |= other.open;
      v.equivalent = !v.open;
    }
  }
  for (sim::MutantVerdict &v : verdicts) {
    MutantResult result;
    result.kernel = inputs.front().c.kernel.name;
    result.level = "pipe";
    result.name = v.mutant.name;
    result.fate = v.equivalent ? MutantResult::Equivalent
                  : v.open     ? MutantResult::Alive
                               : MutantResult::Caught;
    if (v.equivalent || v.open)
      result.reason =
          "after " + std::to_string(v.states) + " states of every interleaving";
    result.report = std::move(v.report);
    results.push_back(std::move(result));
  }
}

/// Runs a mutant of L3 on the inputs.
void judge(Inputs &inputs, ModuleOp broken, const VerifyOptions &options,
           MutantResult &result) {
  sim::MachineCache cache;
  uint64_t steps = 0;
  for (auto [n, input] : llvm::enumerate(inputs)) {
    int32_t caught = 0;
    for (int32_t i = 0; i < options.seeds; ++i) {
      Turn turn = turnOf(options, i);
      turn.maxSteps = limitOf(input);
      LevelResult run =
          interpret(input.c, broken, "frag", options, &turn, &cache);
      steps += run.report.steps;
      if (!run.ok && ++caught == 1)
        result.report = std::move(run.report);
    }
    // Schedules of several CTAs may share out the items otherwise.
    if (caught == options.seeds || (caught && options.ctas > 1)) {
      result.fate = MutantResult::Caught;
      return;
    }
    if (caught) {
      result.fate = MutantResult::Split;
      result.reason =
          "input " + std::to_string(n) + ": " + std::to_string(caught) +
          " of " + std::to_string(options.seeds) +
          " schedules give a verdict, one of them: " + result.report.message;
      return;
    }
  }
  result.fate =
      options.ctas == 1 ? MutantResult::Equivalent : MutantResult::Alive;
  result.reason = "clean on " + std::to_string(inputs.size()) +
                  (inputs.size() == 1 ? " input, " : " inputs, ") +
                  std::to_string(steps) + " steps" +
                  (options.ctas == 1 ? ": every interleaving is the same"
                                     : " of several CTAs");
}

void runFrag(Inputs &inputs, ModuleOp module, const VerifyOptions &options,
             const llvm::DenseSet<Operation *> &reached,
             std::vector<MutantResult> &results) {
  const Case &c = inputs.front().c;
  StringRef entry = c.spec.entry;
  Operation *kernel = SymbolTable::lookupSymbolIn(module, entry);
  std::vector<Operation *> ops;
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (const sim::FragMutant &mutant : sim::listFragMutants(kernel)) {
    MutantResult result;
    result.kernel = c.kernel.name;
    result.level = "frag";
    result.name = mutant.name;
    if (reached.contains(ops[mutant.op])) {
      OwningOpRef<ModuleOp> broken = module.clone();
      [[maybe_unused]] bool applied = sim::applyFragMutant(
          SymbolTable::lookupSymbolIn(*broken, entry), mutant);
      assert(applied && "a clone has the ops that mutants were listed from");
      judge(inputs, *broken, options, result);
    } else {
      result.reason = "no input reaches the op";
    }
    results.push_back(std::move(result));
  }
}

LogicalResult runLevel(Inputs &inputs, ModuleOp module, StringRef level,
                       const VerifyOptions &options,
                       std::vector<MutantResult> &results) {
  llvm::DenseSet<Operation *> reached;
  if (failed(runControl(inputs, module, level, options, reached)))
    return failure();
  if (level == "pipe")
    runPipe(inputs, module, options, results);
  else
    runFrag(inputs, module, options, reached, results);
  return success();
}

} // namespace

FailureOr<std::vector<MutantResult>>
attn::verifyMutants(ModuleOp source, ModuleOp lowered, StringRef level,
                    const VerifyOptions &options,
                    ArrayRef<SimInput> mutantInputs) {
  sim::registerFragKernels();
  LoweringOptions lowering;
  lowering.target = options.target;
  lowering.schedule = options.schedule;
  OwningOpRef<ModuleOp> small = prepareSource(source, options);
  ModuleOp origin = lowered ? source : *small;
  OwningOpRef<ModuleOp> problem = lowerTo(origin, lowering, Level::Problem);
  if (!problem)
    return failure();
  OwningOpRef<ModuleOp> pipe, frag;
  if (!lowered) {
    pipe = lowerTo(origin, lowering, Level::Pipe);
    frag = pipe ? lowerTo(origin, lowering, Level::Frag) : nullptr;
    if (!frag)
      return failure();
  }
  std::vector<MutantResult> results;
  for (KernelOp kernel : problem->getOps<KernelOp>()) {
    Inputs inputs;
    for (const SimInput &given : mutantInputs) {
      VerifyOptions own = options;
      own.batch = given.batch;
      own.scale = given.scale;
      if (failed(makeCase(kernel, own, inputs.emplace_back().c)))
        return failure();
    }
    if (lowered) {
      if (failed(runLevel(inputs, lowered, level, options, results)))
        return failure();
      continue;
    }
    if (failed(runLevel(inputs, *pipe, "pipe", options, results)) ||
        failed(runLevel(inputs, *frag, "frag", options, results)))
      return failure();
  }
  return results;
}
