//===- VerifyLevels.cpp - the same inputs through every level -------------===//

#include "attn/Verify/VerifyLevels.h"

#include "Case.h"

#include "attn/Compiler/Compiler.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Emit/Object.h"
#include "attn/Pipelines/Pipelines.h"
#include "attn/Sim/FragInterp.h"
#include "attn/Sim/Interp.h"
#include "attn/Target/TargetSpec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace attn;

namespace {

/// The highest CPU level that this machine runs.
const CpuLevel &hostLevel() {
  std::string error;
  const TargetSpec &cpu = *findTarget("cpu", error);
  bool wide = llvm::sys::getHostCPUFeatures().lookup("avx512vl");
  const CpuLevel *best = &cpu.cpuLevels.front();
  for (const CpuLevel &level : cpu.cpuLevels)
    if (level.vectorBytes <= (wide ? 64u : 32u) &&
        level.vectorBytes > best->vectorBytes)
      best = &level;
  return *best;
}

/// Compiles L1 for this machine and runs it.
FailureOr<LevelResult> runOnCPU(Case &c, ModuleOp tiles,
                                const VerifyOptions &options) {
  const CpuLevel &level = hostLevel();
  OwningOpRef<ModuleOp> module = tiles.clone();
  PassManager pm(module->getContext());
  addCPUPasses(pm, level.vectorBytes * 8);
  if (failed(pm.run(*module)))
    return failure();
  auto scratch = [&](StringRef entry) {
    auto func = module->lookupSymbol<LLVM::LLVMFuncOp>(entry);
    return uint32_t(
        func->getAttrOfType<IntegerAttr>("attn.scratch_bytes").getInt());
  };
  c.spec.scratchBytes = scratch(c.spec.entry);
  c.spec.mergeScratchBytes = scratch(c.spec.mergeEntry);
  auto object = emit::emitSharedObject(*module, level.name);
  if (failed(object))
    return failure();
  c.workload.poisonOutputs();
  std::string error;
  bool ran = runObject(*object, c.spec, c.launch, error);
  return judge(c, "tiles-cpu", ran, error);
}

} // namespace

OwningOpRef<ModuleOp> attn::prepareSource(ModuleOp source,
                                          const VerifyOptions &options) {
  OwningOpRef<ModuleOp> module = options.kvHeads > 0
                                     ? withFewerHeads(source, options.kvHeads)
                                     : source.clone();
  Builder b(module->getContext());
  if (options.element == "f32")
    return withElementType(*module, b.getF32Type());
  if (options.element == "f16")
    return withElementType(*module, b.getF16Type());
  if (options.element == "bf16")
    return withElementType(*module, b.getBF16Type());
  return module;
}

/// Decides every speculation in L1 itself, so that all levels below follow: the
/// body runs exact at once, or the check fails and it runs again.
static void forceSpeculations(ModuleOp tiles, const VerifyOptions &options) {
  if (!options.forceExact && !options.failCheck)
    return;
  tiles.walk([&](SpeculateOp op) {
    auto constant = [](Block &block, bool value) -> Value {
      OpBuilder b = OpBuilder::atBlockBegin(&block);
      return arith::ConstantIntOp::create(b, block.getParentOp()->getLoc(),
                                          value, 1);
    };
    Block &body = op.getBody().front(), &check = op.getCheck().front();
    if (options.forceExact)
      body.getArgument(0).replaceAllUsesWith(constant(body, true));
    check.getTerminator()->setOperand(0, constant(check, options.forceExact));
  });
}

/// A copy of the module after more passes; null after an error.
static OwningOpRef<ModuleOp>
lowerFrom(ModuleOp module, llvm::function_ref<void(OpPassManager &)> add) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager pm(module.getContext());
  add(pm);
  return succeeded(pm.run(*copy)) ? std::move(copy) : OwningOpRef<ModuleOp>();
}

static LoweringOptions loweringOf(const VerifyOptions &options) {
  LoweringOptions lowering;
  lowering.target = options.target;
  lowering.schedule = options.schedule;
  return lowering;
}

FailureOr<std::vector<LevelResult>>
attn::verifyLowered(ModuleOp source, ModuleOp lowered, StringRef level,
                    const VerifyOptions &options) {
  sim::registerFragKernels();
  OwningOpRef<ModuleOp> problem =
      lowerTo(source, loweringOf(options), Level::Problem);
  if (!problem)
    return failure();
  std::vector<LevelResult> results;
  for (KernelOp kernel : problem->getOps<KernelOp>()) {
    Case c;
    if (failed(makeCase(kernel, options, c)))
      return failure();
    results.push_back(interpretSeeds(c, lowered, level, options));
  }
  return results;
}

FailureOr<std::vector<LevelResult>>
attn::verifyEachLevel(ModuleOp source, const VerifyOptions &options) {
  sim::registerFragKernels();
  OwningOpRef<ModuleOp> module = prepareSource(source, options);
  LoweringOptions lowering = loweringOf(options);
  OwningOpRef<ModuleOp> problem = lowerTo(*module, lowering, Level::Problem);
  OwningOpRef<ModuleOp> tiles =
      problem ? lowerTo(*module, lowering, Level::Tiles) : nullptr;
  if (!tiles)
    return failure();
  forceSpeculations(*tiles, options);
  OwningOpRef<ModuleOp> pipe, frag;
  if (options.target != "cpu") {
    pipe = lowerFrom(*tiles, addRolePasses);
    frag = pipe ? lowerFrom(*pipe, addFragmentPasses) : nullptr;
    if (!frag)
      return failure();
  }
  std::vector<LevelResult> results;
  for (KernelOp kernel : problem->getOps<KernelOp>()) {
    Case c;
    if (failed(makeCase(kernel, options, c)))
      return failure();
    results.push_back(interpret(c, *tiles, "tiles", options));
    FailureOr<LevelResult> cpu = runOnCPU(c, *tiles, options);
    if (failed(cpu))
      return failure();
    results.push_back(std::move(*cpu));
    if (pipe)
      results.push_back(interpretSeeds(c, *pipe, "pipe", options));
    if (frag)
      results.push_back(interpretSeeds(c, *frag, "frag", options));
  }
  return results;
}
