//===- Case.cpp - one kernel with inputs, plan and reference --------------===//

#include "Case.h"

#include "attn/Analysis/ParamLayout.h"
#include "attn/Compiler/Compiler.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Sim/Interp.h"
#include "attn/Sim/TensorMap.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>

using namespace mlir;
using namespace attn;

static workload::Element elementOf(Type type) {
  if (type.isF32())
    return workload::Element::F32;
  return type.isF16() ? workload::Element::F16 : workload::Element::BF16;
}

LogicalResult attn::makeCase(KernelOp kernel, const VerifyOptions &options,
                             Case &out) {
  FailureOr<emit::Kernel> described = describeKernel(kernel);
  if (failed(described))
    return failure();
  out.kernel = std::move(*described);
  ScheduleAttr schedule = kernel.getScheduleAttr();
  out.spec.tileQ = schedule.getTileQ();
  out.spec.tileK = schedule.getTileK();
  out.spec.pack = schedule.getPack();
  out.spec.entry = out.kernel.name;
  out.spec.mergeEntry = out.kernel.name + "_merge";
  out.spec.paramsBytes = ParamLayout(kernel).totalBytes();

  auto attention = *kernel.getBody().front().getOps<AttentionOp>().begin();
  workload::Options inputs;
  inputs.seed = options.seed;
  inputs.inputs = options.inputs;
  inputs.unseenMargin = options.unseenMargin;
  inputs.element = elementOf(
      cast<attn::TensorType>(attention.getQuery().getType()).getElement());
  inputs.output = elementOf(
      cast<attn::TensorType>(attention.getOutput().getType()).getElement());
  std::string error;
  workload::KernelDesc desc = workloadDescOf(out.kernel);
  if (options.scale != 0)
    desc.defaultScale = options.scale;
  if (!workload::Workload::make(desc, options.batch, inputs, out.workload,
                                error) ||
      !out.launch.make(out.workload, out.kernel, out.spec, options, error))
    return kernel.emitError(error);
  // A visit takes some ten steps a warp.  A kernel that sends words for ever would
  // otherwise go on for hours.
  uint64_t visits = 0;
  for (const attn_work_item &item : out.launch.items())
    visits += 2 + uint64_t(item.kv_end - item.kv_begin) / out.spec.tileK;
  out.stepLimit = options.maxSteps ? options.maxSteps : 100000 + 20000 * visits;
  return success();
}

LevelResult attn::judge(Case &c, StringRef level, bool ran,
                        const std::string &error) {
  LevelResult result;
  result.kernel = c.kernel.name;
  result.level = level.str();
  if (ran)
    result.verdict = c.workload.check();
  else
    result.verdict.message = error;
  result.ok = result.verdict.ok;
  return result;
}

/// Extent of the token dimension of a tensor map: what a ragged tensor's buffer
/// holds, padding and all, or the longest request of a dense one.
static uint32_t tokensOf(const workload::Tensor &tensor, int32_t heads,
                         int32_t dim, bool ragged,
                         const std::vector<int32_t> &lens) {
  if (!ragged)
    return lens.empty() ? 0
                        : uint32_t(*std::max_element(lens.begin(), lens.end()));
  int64_t last = int64_t(heads - 1) * tensor.strides.head + dim;
  if (tensor.strides.token <= 0 || tensor.elements < last)
    return 0;
  return uint32_t((tensor.elements - last) / tensor.strides.token + 1);
}

bool attn::completeParams(Case &c, frag::KernelOp kernel, std::string &error) {
  MutableArrayRef<char> params =
      c.launch.extend(size_t(kernel.getParamsBytes()));
  const emit::Kernel &k = c.kernel;
  const workload::Batch &lens = c.workload.batch;
  auto extent = [&](const char *name, const workload::Tensor &tensor,
                    int32_t heads, int32_t dim,
                    const std::vector<int32_t> &tokens) -> sim::TensorExtent {
    return {name, tokensOf(tensor, heads, dim, k.ragged, tokens),
            uint32_t(heads), k.ragged ? 1 : uint32_t(lens.size()),
            uint32_t(dim)};
  };
  sim::TensorExtent tensors[] = {
      extent("q", c.workload.q, k.heads, k.dim, lens.qLens),
      extent("k", c.workload.k, k.kvHeads, k.dim, lens.kvLens),
      extent("v", c.workload.v, k.kvHeads, k.dimV, lens.kvLens)};
  if (!sim::fillTensorMaps(kernel, params, tensors, error))
    return false;
  return true;
}

/// Turns of the innermost loops around products of a kernel.  The loop over items,
/// which a product in front of the others may stand in, is none of them.
static std::vector<uint64_t> visitsOf(ModuleOp module, StringRef entry,
                                      const sim::Report &report) {
  std::vector<uint64_t> visits;
  llvm::SmallSetVector<Operation *, 4> loops;
  if (Operation *kernel = SymbolTable::lookupSymbolIn(module, entry))
    kernel->walk([&](Operation *op) {
      if (!isa<QKOp, frag::MmaOp, frag::WgmmaOp>(op))
        return;
      Operation *loop = op->getParentOp();
      while (loop != kernel && !isa<ForKVOp, scf::ForOp, scf::WhileOp>(loop))
        loop = loop->getParentOp();
      if (loop != kernel)
        loops.insert(loop);
    });
  loops.remove_if([&](Operation *outer) {
    return llvm::any_of(loops, [&](Operation *inner) {
      return outer->isProperAncestor(inner);
    });
  });
  for (Operation *loop : loops)
    visits.push_back(report.turns.lookup(loop));
  return visits;
}

LevelResult attn::interpret(Case &c, ModuleOp module, StringRef level,
                            const VerifyOptions &options, const Turn *turn,
                            sim::MachineCache *cache) {
  sim::LaunchOptions launch;
  launch.ctas = options.ctas;
  launch.forceExact = options.forceExact;
  launch.failCheck = options.failCheck;
  if (turn) {
    launch.schedule = turn->kind;
    launch.seed = turn->seed;
    launch.maxSteps = turn->maxSteps ? turn->maxSteps : c.stepLimit;
  }
  c.workload.poisonOutputs();
  c.launch.reset();
  sim::Report report;
  for (StringRef entry :
       {StringRef(c.spec.entry), StringRef(c.spec.mergeEntry)}) {
    Operation *op = SymbolTable::lookupSymbolIn(module, entry);
    if (!op) {
      // A kernel by itself is enough where nothing is split.
      if (entry == c.spec.mergeEntry && c.launch.merges().empty())
        continue;
      report.give(sim::Verdict::NotRun, "module has no kernel " + entry);
      break;
    }
    auto kernel = dyn_cast<frag::KernelOp>(op);
    if (kernel) {
      std::string error;
      if (!completeParams(c, kernel, error)) {
        report.give(sim::Verdict::NotRun, error);
        break;
      }
    }
    if (kernel && turn) {
      sim::MachineOptions machine;
      machine.kind = turn->kind;
      machine.seed = turn->seed;
      machine.ctas = options.ctas;
      machine.cache = cache;
      machine.reached = entry == c.spec.entry ? turn->reached : nullptr;
      machine.maxSteps = launch.maxSteps;
      // Steps of both kernels count: limits are set by them.
      sim::Report before = std::move(report);
      report = sim::runMachine(op, c.launch.params(), machine);
      report.steps += before.steps;
      report.turns.insert(before.turns.begin(), before.turns.end());
    } else {
      // A merge kernel has no channels.
      launch.traces = turn && entry == c.spec.entry ? turn->traces : nullptr;
      (void)sim::runKernel(op, c.launch.params(), launch, report);
    }
    if (!report.ok())
      break;
  }
  std::string error = report.message;
  for (const sim::ReportNote &note : report.notes)
    error += "; " + note.text;
  LevelResult result = judge(c, level, report.ok(), error);
  result.visits = visitsOf(module, c.spec.entry, report);
  report.turns.clear(); // its keys die with the module
  if (report.ok() && !result.ok)
    report.give(sim::Verdict::WrongValues, result.verdict.message);
  result.report = std::move(report);
  result.runs = 1;
  return result;
}

Turn attn::turnOf(const VerifyOptions &options, int32_t n) {
  Turn turn;
  turn.kind = options.kinds[size_t(n) % options.kinds.size()];
  turn.seed = options.firstSeed + uint64_t(n);
  return turn;
}

/// Fragments of several roles wait for each other, and groups of warps for what the
/// others have written: no lock step runs them.
static bool needsSchedule(ModuleOp module) {
  return module
      ->walk([](Operation *op) {
        return isa<frag::RoleDispatchOp, frag::GroupRankOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LevelResult attn::interpretSeeds(Case &c, ModuleOp module, StringRef level,
                                 const VerifyOptions &options) {
  int32_t seeds = options.seeds;
  if (seeds <= 0 && needsSchedule(module))
    seeds = 1;
  if (seeds <= 0)
    return interpret(c, module, level, options);
  sim::MachineCache cache;
  LevelResult result;
  for (int32_t i = 0; i < seeds; ++i) {
    Turn turn = turnOf(options, i);
    result = interpret(c, module, level, options, &turn, &cache);
    result.runs = i + 1;
    if (!result.ok)
      break;
  }
  return result;
}
