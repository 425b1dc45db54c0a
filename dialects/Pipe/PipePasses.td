//===- PipePasses.td - passes of level L2 that do not see attention -------===//

#ifndef PIPE_PASSES
#define PIPE_PASSES

include "mlir/Pass/PassBase.td"

def PipeVerifySchedule : Pass<"pipe-verify-schedule"> {
  let summary = "level verifier of L2";
  let description = [{
    Runs after every scheduling pass.  Spans (a slot is used between acquire and
    commit, or wait and release, and released once on every path), producers and
    consumers are the declared roles, futures stay in their block, and a bounded
    symbolic run for trip counts 0, 1, 2, 3, 7 finds no blocked role and no slot
    left in use.
  }];
}

#endif // PIPE_PASSES
