//===- Candidates.cpp - the specialisations of a GPU target ---------------===//
//
// Down the ladder of schedules until ptxas is content, then what belongs beside
// it:
//
//   2 x 64 rows x 128 keys   spills 48 bytes: a remark, the next rung
//   2 x 64 rows x 96 keys    no spill: the default specialisation
//
// A schedule that the user names has no next rung: its spill is an error.
// Without ptxas the first rung is taken, which is why the ladder begins where an
// estimate says that the hooks fit.
//
// Invariant: a cubin in a bundle neither serialises a product nor spills more than
// a few words of an item (checkPtxasResult).
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "attn/Emit/PTX.h"
#include "attn/Pipelines/Pipelines.h"
#include "attn/Schedule/Schedule.h"

using namespace mlir;
using namespace attn;

static std::string tileOf(ScheduleAttr s) {
  return "tile_q = " + std::to_string(s.getTileQ()) +
         ", tile_k = " + std::to_string(s.getTileK());
}

namespace {

class Candidates {
public:
  Candidates(ModuleOp source, KernelOp problem, const TargetSpec &target,
             const LoweringOptions &lowering, const CompileOptions &options,
             StageTimes *times)
      : source(source), problem(problem), target(target), lowering(lowering),
        options(options), times(times) {}

  LogicalResult run(std::vector<emit::Specialisation> &out);

private:
  /// A specialisation, unless `refusal` says why its code is not good enough.
  FailureOr<emit::Specialisation> compile(ScheduleAttr schedule,
                                          std::string &refusal);
  LogicalResult assemble(StringRef ptx, emit::Specialisation &s,
                         std::string &refusal);
  /// Compiles each and keeps what is good.
  LogicalResult keep(ArrayRef<ScheduleAttr> schedules,
                     std::vector<emit::Specialisation> &out);
  LogicalResult descend(ArrayRef<ScheduleAttr> ladder,
                        std::vector<emit::Specialisation> &out);
  void remarkTaken(ScheduleAttr schedule, const emit::Specialisation &s) {
    problem.emitRemark() << "schedule for " << target.name << ": "
                         << describeSchedule(facts, schedule, s.sharedBytes);
    for (HookKind kind : {HookKind::Key, HookKind::Value})
      if (target.isGpu() && problem.getVariant() &&
          problem.getVariant().getHook(kind))
        problem.emitRemark()
            << stringifyHookKind(kind) << " hook for " << target.name
            << ": each block is rewritten for every tile of "
            << schedule.getTileQ() << " rows";
  }

  ModuleOp source;
  KernelOp problem;
  const TargetSpec &target;
  LoweringOptions lowering;
  const CompileOptions &options;
  StageTimes *times;
  ProblemFacts facts;
};

} // namespace

/// The cubin beside the PTX, if ptxas is there.
LogicalResult Candidates::assemble(StringRef ptx, emit::Specialisation &s,
                                   std::string &refusal) {
  std::string error;
  std::optional<std::string> ptxas = findPtxas(options.ptxas, error);
  if (!ptxas)
    return options.ptxas.empty() ? success()
                                 : LogicalResult(source.emitError(error));
  StageTimer timer(times, "ptxas");
  PtxasResult result;
  if (!runPtxas(ptx, target, *ptxas, result, error))
    return source.emitError(error);
  if (!checkPtxasResult(result, target, refusal))
    return success();
  for (const PtxasKernel &kernel : result.kernels)
    if (kernel.name == s.entry)
      s.registers = kernel.registers;
  s.code.push_back({emit::CodeKind::Cubin,
                    std::string(target.chip),
                    {result.cubin.begin(), result.cubin.end()}});
  return success();
}

FailureOr<emit::Specialisation> Candidates::compile(ScheduleAttr schedule,
                                                    std::string &refusal) {
  // The passes keep a schedule that they find.
  problem.setScheduleAttr(schedule);
  emit::Specialisation s = beginSpecialisation(problem, target);
  OwningOpRef<ModuleOp> module = source.clone();
  module->lookupSymbol<KernelOp>(problem.getSymName())
      .setScheduleAttr(schedule);
  {
    StageTimer timer(times, "gpu passes");
    module = lowerTo(*module, lowering, Level::Frag);
    if (!module)
      return failure();
    describeLaunch(*module, s);
    if (failed(runPasses(*module, lowering.printReproducer,
                         [](OpPassManager &pm) { addNVVMPasses(pm); })))
      return failure();
  }
  FailureOr<std::string> ptx = failure();
  {
    StageTimer timer(times, "ptx");
    ptx = emitPTX(*module, target);
  }
  if (failed(ptx))
    return failure();
  s.code.push_back({emit::CodeKind::PTX,
                    std::string(target.chip),
                    {ptx->begin(), ptx->end()}});
  s.strideMultiple = 16 / (s.element == emit::Element::F32 ? 4 : 2);
  s.baseAlign = 16;
  if (options.useCubin && failed(assemble(*ptx, s, refusal)))
    return failure();
  return s;
}

LogicalResult Candidates::descend(ArrayRef<ScheduleAttr> ladder,
                                  std::vector<emit::Specialisation> &out) {
  for (auto [i, schedule] : llvm::enumerate(ladder)) {
    std::string refusal;
    FailureOr<emit::Specialisation> s = compile(schedule, refusal);
    if (failed(s))
      return failure();
    if (refusal.empty()) {
      remarkTaken(schedule, *s);
      out.push_back(std::move(*s));
      return success();
    }
    if (i + 1 == ladder.size())
      return problem.emitError()
             << target.name << ": " << refusal
             << " (without a cubin, the driver assembles it as it is)";
    problem.emitRemark() << "schedule " << tileOf(schedule)
                         << " is refused: " << refusal << "; the next is "
                         << tileOf(ladder[i + 1]);
  }
  return failure();
}

LogicalResult Candidates::keep(ArrayRef<ScheduleAttr> schedules,
                               std::vector<emit::Specialisation> &out) {
  for (ScheduleAttr schedule : schedules) {
    std::string refusal;
    FailureOr<emit::Specialisation> s = compile(schedule, refusal);
    if (failed(s))
      return failure();
    if (!refusal.empty()) {
      problem.emitRemark() << "schedule " << tileOf(schedule)
                           << " is left out: " << refusal;
      continue;
    }
    remarkTaken(schedule, *s);
    out.push_back(std::move(*s));
  }
  return success();
}

LogicalResult Candidates::run(std::vector<emit::Specialisation> &out) {
  std::string error;
  if (!ProblemFacts::of(problem, facts, error))
    return problem.emitError(error);
  auto kernel = source.lookupSymbol<KernelOp>(problem.getSymName());
  bool named = !lowering.schedule.empty() || kernel.getScheduleAttr();
  lowering.schedule.clear(); // part of what the problem carries
  if (named)
    return descend(problem.getScheduleAttr(), out);
  ScheduleChoices choices = chooseSchedules(facts, target);
  if (failed(descend(choices.ladder, out)))
    return failure();
  if (!options.tuneSet)
    return keep(choices.beside, out);
  // Rungs below the one taken, then the rest; refused ones are not tried again.
  ScheduleAttr taken = problem.getScheduleAttr();
  SmallVector<ScheduleAttr> rest;
  rest.append(std::next(llvm::find(choices.ladder, taken)),
              choices.ladder.end());
  llvm::append_range(rest, choices.beside);
  llvm::append_range(rest, choices.measured);
  return keep(rest, out);
}

LogicalResult attn::compileForGPU(ModuleOp source, KernelOp problem,
                                  const TargetSpec &target,
                                  const LoweringOptions &lowering,
                                  const CompileOptions &options,
                                  std::vector<emit::Specialisation> &out,
                                  StageTimes *times) {
  return Candidates(source, problem, target, lowering, options, times).run(out);
}
