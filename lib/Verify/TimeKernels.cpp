//===- TimeKernels.cpp - a planned batch in the order of time -------------===//
//
// Plan and parameters are those of a verified run; the merge kernel is not
// timed.
//
//===----------------------------------------------------------------------===//

#include "attn/Verify/TimeKernels.h"

#include "Case.h"

#include "attn/Compiler/Compiler.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Pipelines/Pipelines.h"

using namespace mlir;
using namespace attn;

static FailureOr<KernelTiming> timeKernel(Case &c, ModuleOp module,
                                          const VerifyOptions &options,
                                          const TimeOptions &time) {
  auto kernel = module.lookupSymbol<frag::KernelOp>(c.spec.entry);
  if (!kernel)
    return module.emitError("module has no frag.kernel @") << c.spec.entry;
  KernelTiming result;
  result.kernel = c.spec.entry;
  result.device =
      time.device.empty() ? kernel.getTarget().value_or("").str() : time.device;
  sim::TimingOptions timing;
  timing.sm = findTiming(result.device);
  if (!timing.sm)
    return kernel.emitError("target '")
           << result.device << "' has no timing (known: sm_80, sm_90a)";
  timing.ctasPerSm = time.ctasPerSm;
  timing.timeline = time.timeline;
  std::string error;
  if (!completeParams(c, kernel, error))
    return kernel.emitError(error);
  c.workload.poisonOutputs();
  c.launch.reset();
  sim::MachineOptions machine;
  machine.ctas = options.ctas;
  machine.seed = options.seed;
  machine.values = time.values;
  machine.foresee = time.values; // blank tiles leave no order behind
  machine.vote = options.failCheck;
  sim::Report report = sim::timeMachine(kernel, c.launch.params(), machine,
                                        timing, result.report);
  if (!report.ok())
    return kernel.emitError("timed run: ") << report.str();
  if (time.values && c.launch.merges().empty()) {
    workload::Verdict verdict = c.workload.check();
    if (!verdict.ok)
      return kernel.emitError("timed run has wrong values: ")
             << verdict.message;
  }
  result.visibleFlops =
      c.workload.visiblePairs() * 2.0 * (c.kernel.dim + c.kernel.dimV);
  double sms = (options.ctas + time.ctasPerSm - 1) / time.ctasPerSm;
  result.utilisation = result.visibleFlops /
                       (timing.sm->tensorFlops * sms * result.report.cycles);
  return result;
}

FailureOr<std::vector<KernelTiming>>
attn::timeKernels(ModuleOp source, ModuleOp lowered,
                  const VerifyOptions &options, const TimeOptions &time) {
  OwningOpRef<ModuleOp> module = prepareSource(source, options);
  LoweringOptions lowering;
  lowering.target = options.target;
  lowering.schedule = options.schedule;
  OwningOpRef<ModuleOp> problem = lowerTo(*module, lowering, Level::Problem);
  if (!problem)
    return failure();
  OwningOpRef<ModuleOp> own;
  if (!lowered) {
    own = lowerTo(*module, lowering, Level::Frag);
    if (!own)
      return failure();
    lowered = *own;
  }
  std::vector<KernelTiming> results;
  for (KernelOp kernel : problem->getOps<KernelOp>()) {
    Case c;
    if (failed(makeCase(kernel, options, c)))
      return failure();
    FailureOr<KernelTiming> timed = timeKernel(c, lowered, options, time);
    if (failed(timed))
      return failure();
    results.push_back(std::move(*timed));
  }
  return results;
}
