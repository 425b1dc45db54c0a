//===- Mutants.cpp - does the simulator find what is broken? --------------===//

#include "attn/Verify/Mutants.h"

#include "Case.h"

#include "attn/Compiler/Compiler.h"
#include "attn/Pipelines/Pipelines.h"
#include "attn/Sim/FragInterp.h"
#include "attn/Sim/FragMutate.h"
#include "attn/Sim/PipeMutate.h"

using namespace mlir;
using namespace attn;

namespace {

/// A mutant of L3.
struct Edit {
  std::string name;
  std::function<bool(Operation *kernel)> apply;
};

std::vector<Edit> editsOf(Operation *kernel) {
  std::vector<Edit> edits;
  for (const sim::FragMutant &m : sim::listFragMutants(kernel))
    edits.push_back(
        {m.name, [m](Operation *op) { return sim::applyFragMutant(op, m); }});
  return edits;
}

/// The schedules of the seeds, kinds in turn.
Turn turnOf(const VerifyOptions &options, int32_t i) {
  static constexpr sim::ScheduleKind kinds[] = {sim::ScheduleKind::Random,
                                                sim::ScheduleKind::Adversarial,
                                                sim::ScheduleKind::RoundRobin};
  Turn turn;
  turn.kind = kinds[i % 3];
  turn.seed = options.firstSeed + uint64_t(i);
  return turn;
}

/// Mutants of L2: each seed as it is and with every speculation redone; one that
/// none of these finds goes through every interleaving of their traces.
void runPipe(Case &c, ModuleOp module, const VerifyOptions &options,
             uint64_t steps, std::vector<MutantResult> &results) {
  std::vector<sim::LaunchOptions> launches;
  for (int32_t i = 0; i < options.seeds; ++i)
    for (bool redo : {options.failCheck, !options.failCheck}) {
      Turn turn = turnOf(options, i);
      sim::LaunchOptions launch;
      launch.schedule = turn.kind;
      launch.seed = turn.seed;
      launch.failCheck = redo;
      launch.maxSteps = 40 * steps + 10000; // a redo doubles the work
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
  for (sim::MutantVerdict &v :
       sim::judgePipeMutants(module, c.spec.entry, launches, run)) {
    MutantResult result;
    result.kernel = c.kernel.name;
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

LogicalResult runLevel(Case &c, ModuleOp module, StringRef level,
                       const VerifyOptions &options, const MutantOptions &how,
                       std::vector<MutantResult> &results) {
  uint64_t steps = 0;
  {
    sim::MachineCache cache;
    for (int32_t i = 0; i < options.seeds; ++i) {
      Turn turn = turnOf(options, i);
      LevelResult own = interpret(c, module, level, options, &turn, &cache);
      if (!own.ok)
        return module.emitError(
            "kernel " + c.kernel.name + " at " + level.str() +
            " is not correct before it is broken: " + own.report.message);
      steps = std::max(steps, own.report.steps);
    }
  }
  if (level == "pipe") {
    runPipe(c, module, options, steps, results);
    return success();
  }
  // The control: the limit and the search must not call the kernel itself broken.
  {
    sim::MachineCache cache;
    sim::Explorer explorer(how.preemptions,
                           std::min<uint64_t>(how.exploreRuns, 5));
    do {
      Turn turn;
      turn.scheduler = &explorer;
      turn.seed = options.firstSeed;
      turn.maxSteps = 20 * steps + 10000;
      LevelResult own = interpret(c, module, level, options, &turn, &cache);
      if (!own.ok)
        return module.emitError(
            "kernel " + c.kernel.name + " at " + level.str() +
            " is not correct before it is broken: " + own.report.message);
    } while (explorer.next());
  }
  Operation *kernel =
      SymbolTable::lookupSymbolIn(module, StringRef(c.spec.entry));
  for (const Edit &edit : editsOf(kernel)) {
    OwningOpRef<ModuleOp> broken = module.clone();
    Operation *target =
        SymbolTable::lookupSymbolIn(*broken, StringRef(c.spec.entry));
    MutantResult result;
    result.kernel = c.kernel.name;
    result.level = level.str();
    result.name = edit.name;
    [[maybe_unused]] bool applied = edit.apply(target);
    assert(applied && "a clone has the ops that the mutants were listed from");
    sim::MachineCache cache;
    auto caught = [&](const Turn &turn) {
      LevelResult run = interpret(c, *broken, level, options, &turn, &cache);
      if (run.ok)
        return false;
      result.fate = MutantResult::Caught;
      result.report = std::move(run.report);
      return true;
    };
    bool found = false;
    for (int32_t i = 0; i < options.seeds && !found; ++i) {
      Turn turn = turnOf(options, i);
      // A kernel that goes on much longer than it should makes no progress.
      turn.maxSteps = 20 * steps + 10000;
      found = caught(turn);
    }
    if (!found) {
      sim::Explorer explorer(how.preemptions, how.exploreRuns);
      do {
        Turn turn;
        turn.scheduler = &explorer;
        turn.seed =
            options.firstSeed; // what agents do beside the picks is fixed
        turn.maxSteps = 20 * steps + 10000;
        found = caught(turn);
      } while (!found && explorer.next());
      if (!found) {
        result.fate = explorer.complete() ? MutantResult::Equivalent
                                          : MutantResult::Alive;
        result.reason = "after " + std::to_string(explorer.runs()) +
                        " runs with " + std::to_string(how.preemptions) +
                        " preemptions at most";
      }
    }
    results.push_back(std::move(result));
  }
  return success();
}

} // namespace

FailureOr<std::vector<MutantResult>>
attn::verifyMutants(ModuleOp source, ModuleOp lowered, StringRef level,
                    const VerifyOptions &options, const MutantOptions &how) {
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
    Case c;
    if (failed(makeCase(kernel, options, c)))
      return failure();
    if (lowered) {
      if (failed(runLevel(c, lowered, level, options, how, results)))
        return failure();
      continue;
    }
    if (failed(runLevel(c, *pipe, "pipe", options, how, results)) ||
        (frag && failed(runLevel(c, *frag, "frag", options, how, results))))
      return failure();
  }
  return results;
}
