//===- Compiler.cpp - from a module to a bundle ---------------------------===//
//
//   source -(a kernel)-> L0 -> L1 -+-> llvm -> object        cpu, one a level
//                                  +-> L2 -> L3 -> PTX -> cubin          GPU,
//                                      one a schedule (Candidates.cpp)
//
// The passes up to the schedule may refuse what the user wrote; they run
// without a reproducer.  A failure below them is ours, and leaves one.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "attn/Analysis/ParamLayout.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Emit/Object.h"
#include "attn/Emit/PTX.h"
#include "attn/Pipelines/Pipelines.h"
#include "attn/Schedule/Schedule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace attn;

StringRef attn::compilerVersion() { return "attn-mlir " ATTN_VERSION; }

StageTimer::~StageTimer() {
  if (!times)
    return;
  double ms = std::chrono::duration<double, std::milli>(
                  std::chrono::steady_clock::now() - begin)
                  .count();
  for (auto &entry : *times)
    if (entry.first == name) {
      entry.second += ms;
      return;
    }
  times->emplace_back(name, ms);
}

LogicalResult attn::runPasses(ModuleOp module, bool reproducer,
                              llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext());
  if (reproducer) {
    SmallString<128> path;
    llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, path);
    llvm::sys::path::append(path, "attn-reproducer.mlir");
    pm.enableCrashReproducerGeneration(path);
  }
  build(pm);
  return pm.run(module);
}

/// The kernels of an L0 module, for the target.
static LogicalResult attachTarget(ModuleOp module, StringRef target) {
  std::string error;
  if (!findTarget(target.str(), error))
    return module.emitError(error);
  for (KernelOp kernel : module.getOps<KernelOp>())
    kernel.setTarget(target);
  return success();
}

OwningOpRef<ModuleOp>
attn::lowerTo(ModuleOp source, const LoweringOptions &options, Level level) {
  OwningOpRef<ModuleOp> module = source.clone();
  if (failed(attachTarget(*module, options.target)) ||
      failed(runPasses(*module, false, [&](OpPassManager &pm) {
        addProblemPasses(pm, options.schedule);
      })))
    return nullptr;
  if (level == Level::Problem)
    return module;
  bool cpu = options.target == "cpu";
  LogicalResult lowered =
      runPasses(*module, options.printReproducer, [&](OpPassManager &pm) {
        addTilePasses(pm);
        if (level == Level::Tiles)
          return;
        if (cpu) {
          addCPUPasses(pm, options.vectorBits);
          return;
        }
        addRolePasses(pm);
        if (level >= Level::Frag)
          addFragmentPasses(pm);
        if (level >= Level::Base)
          addNVVMPasses(pm);
      });
  if (failed(lowered))
    return nullptr;
  return module;
}

/// A module with this kernel alone, and every variant.
static OwningOpRef<ModuleOp> isolate(ModuleOp source, KernelOp kernel) {
  OwningOpRef<ModuleOp> module = source.clone();
  for (KernelOp other : llvm::make_early_inc_range(module->getOps<KernelOp>()))
    if (other.getSymName() != kernel.getSymName())
      other.erase();
  return module;
}

static emit::Element elementOf(Type type) {
  if (type.isF32())
    return emit::Element::F32;
  return type.isF16() ? emit::Element::F16 : emit::Element::BF16;
}

emit::Specialisation attn::beginSpecialisation(KernelOp kernel,
                                               const TargetSpec &target) {
  emit::Specialisation s;
  ScheduleAttr schedule = kernel.getScheduleAttr();
  s.target = std::string(target.name);
  auto attention = *kernel.getBody().front().getOps<AttentionOp>().begin();
  s.element = elementOf(
      cast<attn::TensorType>(attention.getQuery().getType()).getElement());
  s.output = elementOf(
      cast<attn::TensorType>(attention.getOutput().getType()).getElement());
  s.tileQ = schedule.getTileQ();
  s.tileK = schedule.getTileK();
  s.pack = schedule.getPack();
  s.entry = kernel.getSymName().str();
  s.mergeEntry = s.entry + "_merge";
  s.paramsBytes = ParamLayout(kernel).totalBytes();
  s.scalePositive = schedule.getFoldScale();
  ProblemFacts facts;
  std::string error;
  if (ProblemFacts::of(kernel, facts, error)) {
    ItemCost cost = costOf(facts, schedule, target);
    s.costQ = cost.row;
    s.costKv = cost.key;
  }
  if (auto pipe = dyn_cast<pipe::ScheduleAttr>(schedule.getPipe()))
    s.ctaAnItem = pipe.getPersist().getValue() == "none";
  llvm::raw_string_ostream(s.schedule) << schedule;
  return s;
}

static uint32_t scratchBytes(ModuleOp module, StringRef entry) {
  auto func = module.lookupSymbol<LLVM::LLVMFuncOp>(entry);
  auto attr = func ? func->getAttrOfType<IntegerAttr>("attn.scratch_bytes")
                   : IntegerAttr();
  return attr ? uint32_t(attr.getInt()) : 0;
}

/// One specialisation for one element type: an object for each CPU level.
static LogicalResult compileForCPU(ModuleOp source, const TargetSpec &target,
                                   const LoweringOptions &base,
                                   emit::Specialisation &s, StageTimes *times) {
  for (const CpuLevel &level : target.cpuLevels) {
    LoweringOptions options = base;
    options.vectorBits = level.vectorBytes * 8;
    OwningOpRef<ModuleOp> module;
    {
      StageTimer timer(times, "cpu passes");
      module = lowerTo(source, options, Level::Base);
    }
    if (!module)
      return failure();
    s.scratchBytes = std::max(s.scratchBytes, scratchBytes(*module, s.entry));
    s.mergeScratchBytes =
        std::max(s.mergeScratchBytes, scratchBytes(*module, s.mergeEntry));
    StageTimer timer(times, "cpu objects");
    auto object = emit::emitSharedObject(*module, level.name);
    if (failed(object))
      return failure();
    s.code.push_back({emit::CodeKind::SharedObject,
                      std::string(level.name),
                      {object->begin(), object->end()}});
  }
  return success();
}

/// The element types for which a kernel is compiled for the target.
static SmallVector<Type> elementTypes(KernelOp kernel, const TargetSpec &target,
                                      const CompileOptions &options) {
  Type declared =
      cast<attn::TensorType>(kernel.getTensor(TensorRole::Query).getType())
          .getElement();
  SmallVector<Type> types{declared};
  if (target.isGpu())
    return types;
  Builder b(kernel.getContext());
  for (const std::string &name : options.cpuTypes) {
    Type type = name == "f32"   ? Type(b.getF32Type())
                : name == "f16" ? Type(b.getF16Type())
                                : Type(b.getBF16Type());
    if (!llvm::is_contained(types, type))
      types.push_back(type);
  }
  return types;
}

/// All specialisations of one kernel for one target.
static LogicalResult compileKernel(ModuleOp source, KernelOp kernel,
                                   StringRef targetName,
                                   const CompileOptions &options,
                                   emit::Kernel &out, StageTimes *times) {
  std::string error;
  const TargetSpec *target = findTarget(targetName.str(), error);
  if (!target)
    return kernel.emitError(error);
  LoweringOptions lowering;
  lowering.target = targetName.str();
  lowering.schedule = options.schedule;
  OwningOpRef<ModuleOp> alone = isolate(source, kernel);
  for (Type type : elementTypes(kernel, *target, options)) {
    OwningOpRef<ModuleOp> twin = withElementType(*alone, type);
    OwningOpRef<ModuleOp> problem = lowerTo(*twin, lowering, Level::Problem);
    if (!problem)
      return failure();
    auto chosen = problem->lookupSymbol<KernelOp>(kernel.getSymName());
    if (out.name.empty()) {
      FailureOr<emit::Kernel> described = describeKernel(chosen);
      if (failed(described))
        return failure();
      out = std::move(*described);
    }
    if (target->isGpu()) {
      if (failed(compileForGPU(*twin, chosen, *target, lowering, options,
                               out.specialisations, times)))
        return failure();
      continue;
    }
    emit::Specialisation s = beginSpecialisation(chosen, *target);
    if (failed(compileForCPU(*twin, *target, lowering, s, times)))
      return failure();
    out.specialisations.push_back(std::move(s));
  }
  return success();
}

FailureOr<emit::Bundle> attn::compile(ModuleOp source,
                                      const CompileOptions &options,
                                      StageTimes &times) {
  emit::Bundle bundle;
  bundle.compiler = compilerVersion().str();
  auto kernels = source.getOps<KernelOp>();
  unsigned done = 0;
  unsigned total = unsigned(std::distance(kernels.begin(), kernels.end()) *
                            options.targets.size());
  for (KernelOp kernel : kernels) {
    emit::Kernel out;
    for (const std::string &target : options.targets) {
      if (options.progress)
        options.progress(done++, total,
                         (kernel.getSymName() + " for " + target).str());
      if (failed(compileKernel(source, kernel, target, options, out, &times)))
        return failure();
    }
    bundle.kernels.push_back(std::move(out));
  }
  return bundle;
}

FailureOr<std::string> attn::compileToPTX(ModuleOp source,
                                          const LoweringOptions &options,
                                          StageTimes *times) {
  std::string error;
  const TargetSpec *target = findTarget(options.target, error);
  if (!target)
    return source.emitError(error);
  if (!target->isGpu())
    return source.emitError("target cpu has no ptx");
  OwningOpRef<ModuleOp> module;
  {
    StageTimer timer(times, "gpu passes");
    module = lowerTo(source, options, Level::Base);
  }
  if (!module)
    return failure();
  StageTimer timer(times, "ptx");
  return emitPTX(*module, *target);
}
