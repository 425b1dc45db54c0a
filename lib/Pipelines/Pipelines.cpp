//===- Pipelines.cpp - the road from level to level -----------------------===//

#include "attn/Pipelines/Pipelines.h"

#include "attn/Conversion/CPULowering.h"
#include "attn/Conversion/Passes.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Dialect/Frag/Transforms/Passes.h"
#include "attn/Dialect/Pipe/Transforms/Passes.h"

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace attn;

void attn::addProblemPasses(OpPassManager &pm, StringRef overrides) {
  pm.addPass(createAttnResolveVariant());
  OpPassManager &kernel = pm.nest<KernelOp>();
  kernel.addPass(createAttnVerifyProblem());
  kernel.addPass(createAttnDeriveBlockMap());
  AttnSelectScheduleOptions select;
  select.overrides = overrides.str();
  kernel.addPass(createAttnSelectSchedule(select));
  kernel.addPass(createAttnCheckResources());
}

void attn::addTilePasses(OpPassManager &pm) {
  pm.addPass(createAttnTile());
  OpPassManager &kernel = pm.nest<KernelOp>();
  kernel.addPass(createAttnPeelClasses());
  kernel.addPass(createAttnSplitKV());
  kernel.addPass(createAttnExpandSoftmax());
  kernel.addPass(createAttnExpandSegments());
  kernel.addPass(createAttnVerifyTiles());
}

void attn::addRolePasses(OpPassManager &pm) {
  OpPassManager &kernel = pm.nest<KernelOp>();
  kernel.addPass(createPipeAssignRoles());
  kernel.addPass(pipe::createPipeVerifySchedule());
  kernel.addPass(createPipeInsertChannels());
  kernel.addPass(pipe::createPipeVerifySchedule());
  kernel.addPass(createPipeSplitRoles());
  kernel.addPass(pipe::createPipeVerifySchedule());
  kernel.addPass(createPipeIssueProducts());
  kernel.addPass(pipe::createPipeVerifySchedule());
  kernel.addPass(createPipeSkewProducts());
  kernel.addPass(pipe::createPipeVerifySchedule());
  kernel.addPass(createPipeHandOver());
  kernel.addPass(pipe::createPipeVerifySchedule());
  kernel.addPass(createPipeRevisit());
  kernel.addPass(pipe::createPipeVerifySchedule());
  kernel.addPass(createPipeSkew());
  kernel.addPass(pipe::createPipeVerifySchedule());
  kernel.addPass(createPipeReceiveEarly());
  kernel.addPass(pipe::createPipeVerifySchedule());
}

void attn::addFragmentPasses(OpPassManager &pm) {
  pm.addPass(createPipeToFrag());
  OpPassManager &kernel = pm.nest<frag::KernelOp>();
  kernel.addPass(createCSEPass());
  kernel.addPass(frag::createFragJoinMaps());
  kernel.addPass(frag::createFragFoldAffine());
  kernel.addPass(frag::createFragAllocateSmem());
  kernel.addPass(frag::createFragVerify());
}

void attn::addNVVMPasses(OpPassManager &pm) { pm.addPass(createFragToNVVM()); }

void attn::addCPUPasses(OpPassManager &pm, unsigned vectorBits) {
  AttnToCPUOptions options;
  options.vectorBits = int(vectorBits);
  pm.addPass(createAttnToCPU(options));
  buildCPULoweringPipeline(pm);
}

namespace {
struct ScheduleOptions : PassPipelineOptions<ScheduleOptions> {
  Option<std::string> schedule{*this, "schedule",
                               llvm::cl::desc("field=value overrides"),
                               llvm::cl::init("")};
};
} // namespace

void attn::registerPipelines() {
  PassPipelineRegistration<ScheduleOptions>(
      "attn-to-tiles", "L0 to L1; kernels carry `target`",
      [](OpPassManager &pm, const ScheduleOptions &options) {
        addProblemPasses(pm, options.schedule.getValue());
        addTilePasses(pm);
      });
  PassPipelineRegistration<>("attn-to-pipe", "L1 to L2", addRolePasses);
  PassPipelineRegistration<>("attn-to-frag", "L2 to L3", addFragmentPasses);
  PassPipelineRegistration<>("attn-to-nvvm", "L3 to L4", addNVVMPasses);
  PassPipelineRegistration<>("attn-to-cpu-llvm", "L1 to LLVM for the CPU",
                             [](OpPassManager &pm) { addCPUPasses(pm, 256); });
}
