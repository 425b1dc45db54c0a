//===- AttnToCPUFixture.cpp - L0 text to CPU code and back to the oracle --===//
#include "AttnToCPUFixture.h"

#include "attn/ABI/KernelParams.h"
#include "attn/Analysis/EncodeHook.h"
#include "attn/Analysis/ParamLayout.h"
#include "attn/Conversion/CPULowering.h"
#include "attn/Conversion/Passes.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Emit/Object.h"
#include "attn/Workload/Launch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace attn;
using namespace attn::test;

const char *const attn::test::causalMask = R"(
  attn.hook mask(%b, %h, %q, %k) {
    %r = arith.cmpi sge, %q, %k : i32
    attn.yield %r : i1
  })";

const char *const attn::test::windowSoftcapSink = R"(
  %w = attn.param "window" : i32 {default = 40 : i32, sample = [1 : i32, 90 : i32]}
  %cap = attn.param "cap" : f32 {default = 3.0 : f32, sample = [2.0 : f32, 9.0 : f32]}
  %sink = attn.table "sink" : !attn.table<f32, [head]> {sample = [-2.0 : f32, 3.0 : f32]}
  attn.hook score(%s, %b, %h, %q, %k) {
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %y = arith.mulf %cap, %t : f32
    attn.yield %y : f32
  }
  attn.hook mask(%b, %h, %q, %k) {
    %zero = arith.constant 0 : i32
    %d = arith.subi %q, %k : i32
    %past = arith.cmpi sge, %d, %zero : i32
    %near = arith.cmpi slt, %d, %w : i32
    %r = arith.andi %past, %near : i1
    attn.yield %r : i1
  }
  attn.hook sink(%b, %h) {
    %x = attn.read %sink[%h] : !attn.table<f32, [head]>
    attn.yield %x : f32
  })";

const char *const attn::test::sigmoid = R"(
  attn.hook score(%s, %b, %h, %q, %k) {
    %one = arith.constant 1.0 : f32
    %n = arith.negf %s : f32
    %e = math.exp %n : f32
    %d = arith.addf %one, %e : f32
    %r = arith.divf %one, %d : f32
    attn.yield %r : f32
  }
  attn.hook mask(%b, %h, %q, %k) {
    %r = arith.cmpi sge, %q, %k : i32
    attn.yield %r : i1
  })";

void attn::test::setRow(workload::Tensor &t, int32_t heads, int64_t token,
                        int64_t dim, float value) {
  auto *data = reinterpret_cast<float *>(t.buffer.data());
  for (int32_t h = 0; h < heads; ++h)
    for (int64_t c = 0; c < dim; ++c)
      data[token * t.strides.token + h * t.strides.head + c] = value;
}

LoadedObject::LoadedObject(llvm::ArrayRef<char> bytes) {
  int fd = memfd_create("attn-test", 0);
  if (fd < 0 ||
      write(fd, bytes.data(), bytes.size()) != ssize_t(bytes.size())) {
    message = "cannot write the object";
    return;
  }
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    message = dlerror();
  close(fd);
}

LoadedObject::~LoadedObject() {
  if (handle)
    dlclose(handle);
}

void *LoadedObject::symbol(const std::string &name) const {
  return handle ? dlsym(handle, name.c_str()) : nullptr;
}

AttnToCPUFixture::AttnToCPUFixture() {
  context.disableMultithreading();
  context.loadDialect<AttnDialect, pipe::PipeDialect, arith::ArithDialect,
                      math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                      LLVM::LLVMDialect, cf::ControlFlowDialect>();
  context.getDiagEngine().registerHandler([this](Diagnostic &d) {
    diagnostics += d.str() + "\n";
    return success();
  });
}

bool AttnToCPUFixture::lowerToLLVM(ModuleOp module) {
  PassManager pm(&context);
  buildCPULoweringPipeline(pm);
  return succeeded(pm.run(module));
}

std::unique_ptr<LoadedObject> AttnToCPUFixture::load(ModuleOp module,
                                                     StringRef level) {
  auto bytes = emit::emitSharedObject(module, level);
  if (failed(bytes))
    return nullptr;
  auto object = std::make_unique<LoadedObject>(*bytes);
  EXPECT_EQ(object->error(), "");
  return object;
}

static std::string textOf(const Spec &s) {
  int dimV = s.dimV ? s.dimV : s.dim;
  auto tensor = [&](const char *role, const std::string &element, int heads,
                    int dim) {
    return "!attn.tensor<" + std::string(role) + ", " + element +
           ", heads = " + std::to_string(heads) +
           ", dim = " + std::to_string(dim) + ", " + s.storage + ">";
  };
  bool softmax = s.normaliser.empty();
  std::string text;
  text += "!Q = " + tensor("query", s.element, s.heads, s.dim) + "\n";
  text += "!K = " + tensor("key", s.element, s.kvHeads, s.dim) + "\n";
  text += "!V = " + tensor("value", s.element, s.kvHeads, dimV) + "\n";
  text += "!O = " + tensor("output", s.output, s.heads, dimV) + "\n";
  text += "!L = " + tensor("lse", "f32", s.heads, 1) + "\n";
  text += "attn.variant @v ";
  if (!softmax)
    text += "normaliser(" + s.normaliser + ") ";
  text += "{" + s.variant + "\n}\n";
  text += "attn.kernel @f(%q: !Q, %k: !K, %v: !V, %scale: f32) {\n";
  if (softmax)
    text += "  %o, %l = attn.attention %q, %k, %v, %scale variant(@v)"
            " : (!Q, !K, !V) -> (!O, !L)\n  attn.return %o, %l : !O, !L\n}\n";
  else
    text += "  %o = attn.attention %q, %k, %v, %scale variant(@v)"
            " : (!Q, !K, !V) -> (!O)\n  attn.return %o : !O\n}\n";
  return text;
}

static uint32_t bitsOf(Attribute attr) {
  if (auto i = dyn_cast<IntegerAttr>(attr))
    return uint32_t(i.getInt());
  return oracle::floatToBits(float(cast<FloatAttr>(attr).getValueAsDouble()));
}

static void describe(KernelOp kernel, const Spec &spec, Compiled &out) {
  workload::KernelDesc &d = out.desc;
  d.name = "f";
  d.heads = spec.heads;
  d.kvHeads = spec.kvHeads;
  d.dim = spec.dim;
  d.dimV = spec.dimV ? spec.dimV : spec.dim;
  d.ragged = spec.storage == "ragged";
  d.softmax = spec.normaliser.empty();
  d.defaultScale = float(1.0 / std::sqrt(double(spec.dim)));
  ParamLayout layout(kernel);
  out.paramsBytes = layout.totalBytes();
  auto scalar = [](Type t) { return t.isF32() ? ATTN_F32 : ATTN_I32; };
  auto sample = [](Operation &op, uint32_t &lo, uint32_t &hi) {
    if (auto range = op.getAttrOfType<ArrayAttr>("sample")) {
      lo = bitsOf(range[0]);
      hi = bitsOf(range[1]);
    }
  };
  for (Operation &op : kernel.getVariant().getBody().front()) {
    if (auto param = dyn_cast<ParamOp>(op)) {
      workload::ParamDesc p;
      p.name = param.getName().str();
      p.type = scalar(param.getResult().getType());
      if (Attribute value = op.getAttr("default")) {
        p.hasDefault = true;
        p.defaultBits = p.sampleLo = p.sampleHi = bitsOf(value);
      }
      sample(op, p.sampleLo, p.sampleHi);
      d.params.push_back(p);
      out.offsets.emplace_back(p.name, *layout.offsetOf("param." + p.name));
    } else if (auto table = dyn_cast<TableOp>(op)) {
      workload::TableDesc t;
      t.name = table.getName().str();
      auto type = table.getResult().getType();
      t.element = scalar(type.getElement());
      for (IndexSpace space : type.getIndex())
        t.index.push_back(attn_index_space(space));
      sample(op, t.sampleLo, t.sampleHi);
      t.sorted = op.hasAttr("sorted");
      d.tables.push_back(t);
      out.offsets.emplace_back(t.name,
                               *layout.offsetOf("table." + t.name + ".data"));
    } else if (auto hook = dyn_cast<HookOp>(op)) {
      auto code = encodeHook(hook);
      ASSERT_TRUE(succeeded(code));
      d.hooks.push_back(*code);
    }
  }
}

std::unique_ptr<Compiled> AttnToCPUFixture::compile(const Spec &spec) {
  diagnostics.clear();
  auto module = parseSourceString<ModuleOp>(textOf(spec), &context);
  if (!module) {
    ADD_FAILURE() << diagnostics << textOf(spec);
    return nullptr;
  }
  for (KernelOp kernel : module->getOps<KernelOp>())
    kernel.setTarget("cpu");
  PassManager problem(&context);
  problem.addPass(createAttnResolveVariant());
  OpPassManager &first = problem.nest<KernelOp>();
  first.addPass(createAttnVerifyProblem());
  first.addPass(createAttnDeriveBlockMap());
  AttnSelectScheduleOptions select;
  select.overrides = spec.schedule;
  first.addPass(createAttnSelectSchedule(select));
  first.addPass(createAttnCheckResources());
  if (failed(problem.run(*module))) {
    ADD_FAILURE() << diagnostics;
    return nullptr;
  }
  auto out = std::make_unique<Compiled>();
  out->spec = spec;
  KernelOp kernel = *module->getOps<KernelOp>().begin();
  describe(kernel, spec, *out);
  ScheduleAttr schedule = kernel.getScheduleAttr();
  out->tileQ = schedule.getTileQ();
  out->tileK = schedule.getTileK();
  out->pack = schedule.getPack();

  PassManager pm(&context);
  pm.addPass(createAttnTile());
  OpPassManager &tiles = pm.nest<KernelOp>();
  tiles.addPass(createAttnPeelClasses());
  tiles.addPass(createAttnSplitKV());
  tiles.addPass(createAttnExpandSoftmax());
  tiles.addPass(createAttnExpandSegments());
  tiles.addPass(createAttnVerifyTiles());
  AttnToCPUOptions options;
  options.vectorBits = int(spec.vectorBits);
  options.forceExact = spec.forceExact;
  options.failCheck = spec.failCheck;
  pm.addPass(createAttnToCPU(options));
  if (failed(pm.run(*module)) || !lowerToLLVM(*module)) {
    ADD_FAILURE() << diagnostics;
    return nullptr;
  }
  for (auto func : module->getOps<LLVM::LLVMFuncOp>())
    if (auto bytes = func->getAttrOfType<IntegerAttr>("attn.scratch_bytes"))
      out->scratchBytes = std::max(out->scratchBytes, bytes.getInt());
  out->object =
      load(*module, spec.vectorBits == 512 ? "x86-64-v4" : "x86-64-v3");
  if (!out->object) {
    ADD_FAILURE() << diagnostics;
    return nullptr;
  }
  return out;
}

static uint64_t address(const void *p) {
  return uint64_t(reinterpret_cast<uintptr_t>(p));
}

RunResult Compiled::run(const RunOptions &options) const {
  RunResult result;
  std::string error;
  workload::Batch batch;
  workload::Options inputs;
  inputs.seed = options.seed;
  auto element = [](const std::string &name) {
    return name == "f32"   ? workload::Element::F32
           : name == "f16" ? workload::Element::F16
                           : workload::Element::BF16;
  };
  inputs.element = element(spec.element);
  inputs.output = element(spec.output);
  inputs.params = options.params;
  workload::Workload w;
  if (!workload::parseBatch(options.batch, batch, error) ||
      !workload::Workload::make(desc, batch, inputs, w, error)) {
    result.verdict.message = error;
    return result;
  }
  if (options.edit)
    options.edit(w);
  w.poisonOutputs();

  plan::Options planOptions;
  planOptions.splitKeys = options.splitKeys;
  plan::Summary summary;
  std::vector<char> planBuffer;
  if (!workload::planWorkload(w, {pack, tileQ, tileK}, planOptions, planBuffer,
                              summary, result.verdict.message))
    return result;

  float nan = std::nanf("");
  std::vector<float> partialO(size_t(summary.slots) * tileQ * desc.dimV, nan);
  std::vector<float> partialRows(size_t(summary.slots) * 2 * tileQ, nan);
  std::vector<char> params(paramsBytes);
  attn_kernel_params fixed = workload::fixedParams(w);
  fixed.plan = address(planBuffer.data());
  fixed.partial_o = address(partialO.data());
  fixed.partial_rows = address(partialRows.data());
  std::memcpy(params.data(), &fixed, sizeof(fixed));
  size_t next = 0;
  for (uint32_t bits : w.paramBits)
    std::memcpy(params.data() + offsets[next++].second, &bits, 4);
  for (const workload::BoundTable &t : w.tables) {
    attn_table_param table = workload::tableParam(t);
    // Tables come behind all parameters in the list of offsets as well.
    std::memcpy(params.data() + offsets[next++].second, &table, sizeof(table));
  }

  using Entry = void (*)(const void *, const void *, void *);
  auto entry = reinterpret_cast<Entry>(object->symbol("f"));
  auto merge = reinterpret_cast<Entry>(object->symbol("f_merge"));
  if (!entry || !merge) {
    result.verdict.message = "object has no entry f or f_merge";
    return result;
  }
  // Scratch starts as NaN and ends in a canary: nothing may rely on zeros.
  size_t bytes = size_t(scratchBytes);
  std::unique_ptr<char, decltype(&free)> scratch(
      static_cast<char *>(aligned_alloc(64, (bytes + 127) / 64 * 64)), free);
  std::memset(scratch.get(), 0xff, bytes);
  std::memset(scratch.get() + bytes, 0x5a, 64);
  auto *header = reinterpret_cast<const attn_plan_header *>(planBuffer.data());
  const char *base = planBuffer.data();
  auto *items =
      reinterpret_cast<const attn_work_item *>(base + header->items_offset);
  auto *merges =
      reinterpret_cast<const attn_merge_item *>(base + header->merges_offset);
  for (uint32_t i = 0; i < header->items; ++i)
    entry(&items[i], params.data(), scratch.get());
  for (uint32_t i = 0; i < header->merges; ++i)
    merge(&merges[i], params.data(), scratch.get());
  // Inert records write nothing.
  attn_work_item inertItem{};
  inertItem.slot = -1;
  attn_merge_item inertMerge{};
  entry(&inertItem, params.data(), scratch.get());
  merge(&inertMerge, params.data(), scratch.get());

  result.items = header->items;
  result.merges = header->merges;
  result.verdict = w.check();
  result.output.assign(w.o.buffer.data(),
                       w.o.buffer.data() + w.o.buffer.size());
  result.lse.assign(w.lse.buffer.data(),
                    w.lse.buffer.data() + w.lse.buffer.size());
  for (size_t i = 0; i < 64; ++i)
    if (scratch.get()[bytes + i] != 0x5a) {
      result.verdict.ok = false;
      result.verdict.message =
          "wrote past " + std::to_string(bytes) + " bytes of scratch";
    }
  return result;
}

void AttnToCPUFixture::expectAgrees(const Spec &spec,
                                    const RunOptions &options) {
  std::unique_ptr<Compiled> compiled = compile(spec);
  if (!compiled)
    return;
  RunResult result = compiled->run(options);
  EXPECT_TRUE(result.verdict.ok) << result.verdict.message << "\n"
                                 << options.batch << " seed " << options.seed
                                 << " split " << options.splitKeys << "\n"
                                 << textOf(spec);
  EXPECT_GT(result.verdict.rows, 0);
}
