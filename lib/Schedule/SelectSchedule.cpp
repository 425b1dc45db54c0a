//===- SelectSchedule.cpp - attn-select-schedule --------------------------===//
//
//   attn.kernel @prefill(..) attributes {target = "sm_80"}
//   ->
//   attn.kernel @prefill(..) attributes {target = "sm_80", schedule =
//     #attn.schedule<tile_q = 128, tile_k = 64, pack = 4, ..>}
//
// A schedule that the kernel carries already is kept and only overridden.
//
// Invariant: no later pass makes a choice.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Schedule/Schedule.h"

namespace attn {
#define GEN_PASS_DEF_ATTNSELECTSCHEDULE
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct SelectSchedule
    : public attn::impl::AttnSelectScheduleBase<SelectSchedule> {
  using AttnSelectScheduleBase::AttnSelectScheduleBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getMergeOfAttr())
      return; // shares the schedule of the kernel whose partials it merges
    std::string error;
    ScheduleAttr schedule = choose(kernel, error);
    if (!schedule) {
      kernel.emitOpError() << error;
      return signalPassFailure();
    }
    kernel.setScheduleAttr(schedule);
  }

  ScheduleAttr choose(KernelOp kernel, std::string &error) {
    StringAttr name = kernel.getTargetAttr();
    if (!name) {
      error = "has no target";
      return {};
    }
    const TargetSpec *target = findTarget(name.getValue().str(), error);
    if (!target)
      return {};
    ProblemFacts facts;
    if (!ProblemFacts::of(kernel, facts, error))
      return {};
    ScheduleAttr schedule = kernel.getScheduleAttr();
    if (!schedule)
      schedule = chooseSchedule(facts, *target);
    return applyOverrides(schedule, overrides, error);
  }
};

} // namespace
