//===- CheckResources.cpp - attn-check-resources --------------------------===//
//
//   tile_k = 512 at head dim 128 on sm_80
//   ->  tile needs 557056 bytes of shared memory but sm_80 has 166912
//
// Invariant afterwards: the schedule is legal for the kernel and the sums of
// shared memory, registers and threads are within the target's limits.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Schedule/Schedule.h"

namespace attn {
#define GEN_PASS_DEF_ATTNCHECKRESOURCES
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct CheckResources
    : public attn::impl::AttnCheckResourcesBase<CheckResources> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    std::string error;
    if (!kernel.getMergeOfAttr() && !check(kernel, error)) {
      kernel.emitOpError() << error;
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }

  static bool check(KernelOp kernel, std::string &error) {
    ScheduleAttr schedule = kernel.getScheduleAttr();
    if (!schedule || !kernel.getTargetAttr()) {
      error = schedule ? "has no target" : "has no schedule";
      return false;
    }
    const TargetSpec *target =
        findTarget(kernel.getTargetAttr().getValue().str(), error);
    ProblemFacts facts;
    return target && ProblemFacts::of(kernel, facts, error) &&
           checkSchedule(facts, schedule, *target, error) &&
           attn::checkResources(resourcesOf(facts, schedule), *target, error);
  }
};

} // namespace
