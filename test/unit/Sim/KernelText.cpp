//===- KernelText.cpp - small L1 kernels as text, and their launch --------===//

#include "KernelText.h"

#include "attn/ABI/KernelParams.h"
#include "attn/ABI/Version.h"
#include "attn/Analysis/EncodeHook.h"
#include "attn/Analysis/ParamLayout.h"
#include "attn/Conversion/Passes.h"
#include "attn/Dialect/Pipe/Transforms/Passes.h"
#include "attn/Plan/Planner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <limits>
#include <random>

using namespace attn;
using namespace attn::test;

namespace {
/// Replaces `$name` by its value; longer names first.
std::string
fill(std::string text,
     const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[name, value] : values) {
    std::string key = "$" + name + "$";
    for (size_t at = text.find(key); at != std::string::npos;
         at = text.find(key, at))
      text.replace(at, key.size(), value);
  }
  return text;
}

/// One visit of a segment.
std::string visitText(const KernelShape &s, bool partial, bool frozen) {
  std::string t = R"(
      %kt = attn.load_kv %k request %req kv_head %kvh kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !Kt
      %vt = attn.load_kv %v request %req kv_head %kvh kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !Vt
      %s0 = attn.qk %qt, %kt : !Qt, !Kt -> !S
)";
  std::string score = "%s0", p = "%p";
  if (s.score) {
    t += "      %s1 = attn.apply_score %s0, %scale, %rows, %k0, %kv1 : !S, "
         "!rows\n";
    score = "%s1";
  }
  if (partial) {
    t += std::string("      %s2 = attn.apply_mask ") +
         (s.softmax ? "neg_inf " : "zero ") + score +
         ", %rows, %k0, %kv1 : !S, !rows\n";
    score = "%s2";
  }
  if (s.softmax) {
    if (!frozen) {
      t += "      %m1 = attn." +
           (s.lazy < 0 ? "row_max " + score + ", %m"
                       : "lazy_max " + score + ", %m, %c by " +
                             std::to_string(s.lazy)) +
           " : !S, !R\n";
      t += "      %al = attn.alpha %m, %m1, %c : !R\n";
      t += "      %p = attn.exp exact " + score + ", %m1, %c : !S, !R\n";
      t += "      %l1 = attn.row_sum %p, %l scaled %al : !S, !R scaled !R\n";
    } else {
      t += "      %p = attn.exp frozen " + score + ", %m, %c : !S, !R\n";
      t += "      %l1 = attn.row_sum %p, %l : !S, !R\n";
    }
  } else {
    p = score;
  }
  if (s.element != "f32") {
    t += "      %pb = attn.pack " + p + " : !S -> !P\n";
    p = "%pb";
  }
  std::string acc = "%O";
  if (s.softmax && !frozen) {
    t += std::string("      %Or = attn.rescale ") +
         (s.lazy < 0 ? "" : "rare ") + "%O, %al : !Ot, !R\n";
    acc = "%Or";
  }
  t += "      %O1 = attn.pv " + p + ", %vt, " + acc + " : !P, !Vt, !Ot\n";
  t += s.softmax ? std::string("      attn.yield %O1, ") +
                       (frozen ? "%m" : "%m1") + ", %l1 : !Ot, !R, !R\n"
                 : "      attn.yield %O1 : !Ot\n";
  return t;
}

std::string loopText(const KernelShape &s, const std::string &name,
                     bool partial, bool frozen, const std::string &lo,
                     const std::string &hi, const std::string &from) {
  std::string t = "    %" + name + (s.softmax ? ":3" : "") + " = attn.for_kv ";
  t += partial ? "partial " : "full ";
  t += frozen ? "frozen " : "exact ";
  t += s.ascending ? "ascending " : "descending ";
  t += "tile_k $TK$ from " + lo + " to " + hi + " base %kv0 (%j, %k0) carry (";
  if (s.softmax)
    t += "%O = %" + from + "#0 : !Ot, %m = %" + from + "#1 : !R, %l = %" +
         from + "#2 : !R) {";
  else
    t += "%O = %" + from + " : !Ot) {";
  return t + visitText(s, partial, frozen) + "    }\n";
}
} // namespace

/// One role, cp.async.
static const char *const oneRole =
    R"(#pipe.schedule<roles = [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>], place = {default = "all"}, agents = {load_kv = "cp_async", load_query = "cp_async"},
    atoms = {}, channels = {k = $DEPTH$ : i32, q = 1 : i32, v = $DEPTH$ : i32}, skew = {load_kv = $SKEW$ : i32}, handover = "none", persist = "static", unroll = 1>)";

std::string attn::test::kernelText(const KernelShape &s) {
  std::string t = R"(
!Q = !attn.tensor<query, $E$, heads = $H$, dim = $D$, ragged>
!K = !attn.tensor<key, $E$, heads = $KH$, dim = $D$, ragged>
!V = !attn.tensor<value, $E$, heads = $KH$, dim = $DV$, ragged>
!O = !attn.tensor<output, $E$, heads = $H$, dim = $DV$, ragged>
!LSE = !attn.tensor<lse, f32, heads = $H$, dim = 1, ragged>
!Qt = !attn.tile<$TQ$x$D$x$E$>
!Kt = !attn.tile<$TK$x$D$x$E$>
!Vt = !attn.tile<$TK$x$DV$x$E$>
!S = !attn.tile<$TQ$x$TK$xf32>
!P = !attn.tile<$TQ$x$TK$x$E$>
!Ot = !attn.tile<$TQ$x$DV$xf32>
!R = !attn.rowvec<$TQ$xf32>
!rows = !attn.rows<$TQ$>
#sched = #attn.schedule<tile_q = $TQ$, tile_k = $TK$, pack = $PACK$, kv_order = $ORDER$, softmax = exact, limit = 64, fold_scale = $FOLD$, p_type = $E$, v_tail = "$TAIL$", merge = "kernel", epilogue = "direct", pipe = $PIPE$>

attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, $LSEARG$%plan: !attn.plan) attributes {schedule = #sched} {
  attn.variant @variant $NORM$ {
$HOOKS$
  }
  %log2e = arith.constant 1.44269502 : f32
  $CDEF$
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack $PACK$ : !rows
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %pack = arith.constant $PACK$ : i32
    %group = arith.constant $UNPACKED$ : i32
    %kvh = arith.divsi %head, %group : i32
    %tk = arith.constant $TK$ : i32
    %tk1 = arith.subi %tk, %one : i32
    %len0 = arith.subi %kv1, %kv0 : i32
    %len1 = arith.maxsi %len0, %zero : i32
    %alive = arith.cmpi sgt, %nrows, %zero : i32
    %len = arith.select %alive, %len1, %zero : i32
    %shift = arith.subi %kl, %ql : i32
    %t0 = arith.divui %row0, %pack : i32
    %qlo = arith.addi %t0, %shift : i32
    %end = arith.addi %row0, %nrows : i32
    %last = arith.subi %end, %one : i32
    %t1 = arith.divui %last, %pack : i32
    %qhi = arith.addi %t1, %shift : i32
    %rel0 = arith.subi %qhi, %kv0 : i32
    %rel1 = arith.addi %rel0, %one : i32
    %any0 = arith.maxsi %rel1, %zero : i32
    %any = arith.minsi %any0, %len : i32
    %rel2 = arith.subi %qlo, %kv0 : i32
    %rel3 = arith.addi %rel2, %one : i32
    %all0 = arith.maxsi %rel3, %zero : i32
    %all = arith.minsi %all0, %len : i32
    %anyUp = arith.addi %any, %tk1 : i32
    %lenUp = arith.addi %len, %tk1 : i32
    %bAny = arith.divui %anyUp, %tk : i32
    %bAll = arith.divui %all, %tk : i32
    %bLen = arith.divui %lenUp, %tk : i32
    %qt = attn.load_query %q, %rows : !Q, !rows -> !Qt
)";
  std::string result;
  if (s.softmax)
    t += "    %u:3 = attn.state_init : !Ot, !R, !R\n";
  else
    t += "    %u = attn.state_init : !Ot\n";
  if (s.frozen) {
    t += "    %st:3 = attn.speculate : !Ot, !R, !R {\n    ^bb0(%exact: i1):\n";
    t += loopText(s, "r1", true, false, "%bAll", "%bAny", "u");
    t += R"(
      %e0 = attn.exact_prefix %r1#1, %rows, %c, %zero, %bAll, %exact : !R, !rows
      %e1 = arith.maxsi %e0, %zero : i32
      %e = arith.minsi %e1, %bAll : i32
      %mid = arith.subi %bAll, %e : i32
)";
    t += loopText(s, "r2", false, false, "%mid", "%bAll", "r1");
    t += loopText(s, "r3", false, true, "%zero", "%mid", "r2");
    t += R"(
      attn.yield %r3#0, %r3#1, %r3#2 : !Ot, !R, !R
    } check {
    ^bb0(%O: !Ot, %m: !R, %l: !R):
      %ok = attn.check %O, %l, %rows limit 64 : !Ot, !R, !rows
      attn.yield %ok : i1
    }
)";
    result = "st";
  } else if (!s.closed) {
    t += loopText(s, "r1", true, false, "%zero", "%bLen", "u");
    result = "r1";
  } else if (s.ascending) {
    t += loopText(s, "r1", false, false, "%zero", "%bAll", "u");
    t += loopText(s, "r2", true, false, "%bAll", "%bAny", "r1");
    result = "r2";
  } else {
    t += loopText(s, "r1", true, false, "%bAll", "%bAny", "u");
    t += loopText(s, "r2", false, false, "%zero", "%bAll", "r1");
    result = "r2";
  }
  t += "    %split = arith.cmpi sge, %slot, %zero : i32\n    scf.if %split {\n";
  if (s.softmax) {
    std::string parts =
        "%" + result + "#0, %" + result + "#1, %" + result + "#2";
    t += "      attn.store_partial " + parts +
         " by %c in %rows, %plan slot %slot : !Ot, !R, !R in !rows\n";
    t += "    } else {\n";
    if (s.sink) {
      t += "      %z = attn.apply_sink %rows : !rows -> !R\n";
      t += "      %f:2 = attn.finish " + parts +
           ", %c sink %z : !Ot, !R sink !R\n";
    } else {
      t += "      %f:2 = attn.finish " + parts + ", %c : !Ot, !R\n";
    }
    t += "      attn.store %f#0 lse %f#1, %rows to %o lse %lse : !Ot lse !R, "
         "!rows to !O lse !LSE\n";
  } else {
    t += "      attn.store_partial %" + result +
         " in %rows, %plan slot %slot : !Ot in !rows\n";
    t += "    } else {\n";
    t += "      attn.store %" + result + ", %rows to %o : !Ot, !rows to !O\n";
  }
  t += R"(    }
  }
  attn.return
}
attn.kernel @k_merge(%scale: f32, %o: !O, $LSEARG$%plan: !attn.plan) attributes {schedule = #sched, merge_of = @k} {
  $MERGEVARIANT$
  %log2e = arith.constant 1.44269502 : f32
  $CDEF$
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack $PACK$ : !rows
    %c1 = arith.constant 1 : i32
    %second = arith.addi %first, %c1 : i32
    %end = arith.addi %first, %count : i32
)";
  if (s.softmax) {
    t += R"(
    %p0:3 = attn.load_partial %rows, %plan slot %first : !rows -> !Ot, !R, !R
    %r:3 = scf.for %s = %second to %end step %c1 iter_args(%O = %p0#0, %m = %p0#1, %l = %p0#2) -> (!Ot, !R, !R) : i32 {
      %p:3 = attn.load_partial %rows, %plan slot %s : !rows -> !Ot, !R, !R
      %x:3 = attn.merge_state (%O, %m, %l), (%p#0, %p#1, %p#2), %c : !Ot, !R
      scf.yield %x#0, %x#1, %x#2 : !Ot, !R, !R
    }
)";
    std::string sink;
    if (s.sink) {
      t += "    %z = attn.apply_sink %rows : !rows -> !R\n";
      sink = " sink %z : !Ot, !R sink !R\n";
    } else {
      sink = " : !Ot, !R\n";
    }
    t += "    %f:2 = attn.finish %r#0, %r#1, %r#2, %c" + sink;
    t += "    attn.store %f#0 lse %f#1, %rows to %o lse %lse : !Ot lse !R, "
         "!rows to !O lse !LSE\n";
  } else {
    t += R"(
    %p0 = attn.load_partial %rows, %plan slot %first : !rows -> !Ot
    %r = scf.for %s = %second to %end step %c1 iter_args(%O = %p0) -> (!Ot) : i32 {
      %p = attn.load_partial %rows, %plan slot %s : !rows -> !Ot
      %x = attn.add_tile %O, %p : !Ot
      scf.yield %x : !Ot
    }
    attn.store %r, %rows to %o : !Ot, !rows to !O
)";
  }
  t += "  }\n  attn.return\n}\n";
  std::string cdef = s.softmax
                         ? (s.score ? "%c = arith.constant 1.44269502 : f32"
                                    : "%c = arith.mulf %scale, %log2e : f32")
                         : "";
  std::string merge =
      s.sink ? "attn.variant @variant {\n" + s.hooks + "\n  }" : "";
  auto number = [](int32_t n) { return std::to_string(n); };
  return fill(t, {{"PIPE", s.pipe.empty() ? oneRole : s.pipe},
                  {"TAIL", s.pipe.empty() ? "zero_fill" : "zero_rows"},
                  {"HOOKS", s.hooks},
                  {"MERGEVARIANT", merge},
                  {"CDEF", cdef},
                  {"LSEARG", s.softmax ? "%lse: !LSE, " : ""},
                  {"NORM", s.softmax ? "" : "normaliser(none)"},
                  {"E", s.element},
                  {"H", number(s.heads)},
                  {"KH", number(s.kvHeads)},
                  {"D", number(s.dim)},
                  {"DV", number(s.dimV)},
                  {"TQ", number(s.tileQ)},
                  {"TK", number(s.tileK)},
                  {"PACK", number(s.pack)},
                  {"UNPACKED", number(s.heads / s.kvHeads / s.pack)},
                  {"ORDER", s.ascending ? "ascending" : "descending"},
                  {"FOLD", s.score ? "false" : "true"},
                  {"DEPTH", number(s.depth)},
                  {"SKEW", number(s.skew)}});
}

//===----------------------------------------------------------------------===//
// Fixture
//===----------------------------------------------------------------------===//

SimFixture::SimFixture() {
  context.loadDialect<AttnDialect, pipe::PipeDialect, mlir::arith::ArithDialect,
                      mlir::math::MathDialect, mlir::scf::SCFDialect,
                      mlir::func::FuncDialect>();
  context.disableMultithreading();
  context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diag) {
    if (diag.getSeverity() == mlir::DiagnosticSeverity::Error)
      diagnostics += diag.str() + "\n";
    return mlir::success();
  });
}

mlir::OwningOpRef<mlir::ModuleOp> SimFixture::parse(const std::string &text) {
  diagnostics.clear();
  return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
}

bool SimFixture::verifySchedule(mlir::ModuleOp module) {
  mlir::PassManager pm(&context);
  pm.addPass(pipe::createPipeVerifySchedule());
  return succeeded(pm.run(module));
}

bool SimFixture::toPipe(mlir::ModuleOp module) {
  mlir::PassManager pm(&context);
  for (auto create :
       {createPipeAssignRoles, createPipeInsertChannels, createPipeSplitRoles,
        createPipeIssueProducts, createPipeSkewProducts, createPipeHandOver,
        createPipeSkew}) {
    pm.addNestedPass<KernelOp>(create());
    pm.addPass(pipe::createPipeVerifySchedule());
  }
  return succeeded(pm.run(module));
}

namespace {
/// 16-byte aligned bytes.
struct Bytes {
  explicit Bytes(size_t size) : words((size + 15) / 16 * 2) {}
  char *data() { return reinterpret_cast<char *>(words.data()); }
  std::vector<uint64_t> words;
};

/// Ragged tensor [tokens][heads][dim], with NaN between requests.
struct Tensor {
  Tensor(oracle::Element element, int64_t tokens, int32_t heads, int32_t dim)
      : element(element), heads(heads), dim(dim),
        bytes(size_t(tokens) * heads * dim * oracle::elementBytes(element) +
              16) {
    for (int64_t i = 0; i < tokens * heads * dim; ++i)
      oracle::storeElement(element, bytes.data(), i,
                           std::numeric_limits<float>::quiet_NaN());
  }
  attn_strides strides() const { return {0, int64_t(heads) * dim, dim}; }
  void fill(std::mt19937 &rng, int64_t begin, int64_t count) {
    std::normal_distribution<float> normal(0, 1);
    int64_t row = int64_t(heads) * dim;
    for (int64_t i = begin * row; i < (begin + count) * row; ++i)
      oracle::storeElement(element, bytes.data(), i, normal(rng));
  }
  oracle::Element element;
  int32_t heads, dim;
  Bytes bytes;
};
} // namespace

oracle::Comparison SimFixture::run(mlir::ModuleOp module,
                                   const KernelShape &shape, const Batch &batch,
                                   std::string &error, int32_t splitKeys,
                                   sim::LaunchOptions options) {
  oracle::Comparison failed;
  failed.ok = false;
  oracle::Element element = shape.element == "bf16"  ? oracle::Element::BF16
                            : shape.element == "f16" ? oracle::Element::F16
                                                     : oracle::Element::F32;
  // Requests with a gap of two tokens of NaN between them.
  int32_t n = batch.q.size();
  std::vector<int32_t> qBegin(n), kvBegin(n);
  int32_t qTokens = 1, kvTokens = 1;
  for (int32_t i = 0; i < n; ++i) {
    qBegin[i] = qTokens;
    kvBegin[i] = kvTokens;
    qTokens += batch.q[i] + 2;
    kvTokens += batch.kv[i] + 2;
  }
  std::mt19937 rng(7);
  Tensor q(element, qTokens, shape.heads, shape.dim);
  Tensor k(element, kvTokens, shape.kvHeads, shape.dim);
  Tensor v(element, kvTokens, shape.kvHeads, shape.dimV);
  Tensor o(element, qTokens, shape.heads, shape.dimV);
  Tensor lse(oracle::Element::F32, qTokens, shape.heads, 1);
  for (int32_t i = 0; i < n; ++i) {
    q.fill(rng, qBegin[i], batch.q[i]);
    k.fill(rng, kvBegin[i], batch.kv[i]);
    v.fill(rng, kvBegin[i], batch.kv[i]);
  }

  // The plan.
  plan::Problem problem;
  problem.batch = n;
  problem.qLens = batch.q.data();
  problem.kvLens = batch.kv.data();
  problem.qBegins = qBegin.data();
  problem.kvBegins = kvBegin.data();
  problem.heads = shape.heads;
  problem.kvHeads = shape.kvHeads;
  problem.pack = shape.pack;
  problem.tileQ = shape.tileQ;
  problem.tileK = shape.tileK;
  plan::Options planOptions;
  planOptions.workers = options.ctas;
  planOptions.splitKeys = splitKeys;
  plan::Capacity capacity;
  plan::Error planError;
  plan::Summary summary;
  if (!plan::capacity(problem, planOptions, capacity, planError)) {
    error = planError.text;
    return failed;
  }
  Bytes planBytes(capacity.planBytes), scratch(capacity.scratchBytes);
  if (!plan::build(problem, planOptions, planBytes.data(), capacity.planBytes,
                   scratch.data(), capacity.scratchBytes, summary, planError)) {
    error = planError.text;
    return failed;
  }

  // The parameter struct.
  KernelOp kernel = module.lookupSymbol<KernelOp>(shape.name);
  KernelOp merge = module.lookupSymbol<KernelOp>(shape.name + "_merge");
  ParamLayout layout(kernel);
  Bytes params(layout.totalBytes());
  std::vector<float> partialO(size_t(capacity.slots) * shape.tileQ *
                              shape.dimV);
  std::vector<float> partialRows(size_t(capacity.slots) * 2 * shape.tileQ);
  attn_kernel_params fixed{};
  fixed.q = reinterpret_cast<uint64_t>(q.bytes.data());
  fixed.k = reinterpret_cast<uint64_t>(k.bytes.data());
  fixed.v = reinterpret_cast<uint64_t>(v.bytes.data());
  fixed.o = reinterpret_cast<uint64_t>(o.bytes.data());
  fixed.lse = shape.softmax ? reinterpret_cast<uint64_t>(lse.bytes.data()) : 0;
  fixed.plan = reinterpret_cast<uint64_t>(planBytes.data());
  fixed.partial_o = reinterpret_cast<uint64_t>(partialO.data());
  fixed.partial_rows = reinterpret_cast<uint64_t>(partialRows.data());
  fixed.q_strides = q.strides();
  fixed.k_strides = k.strides();
  fixed.v_strides = v.strides();
  fixed.o_strides = o.strides();
  fixed.lse_strides = lse.strides();
  fixed.heads = shape.heads;
  fixed.kv_heads = shape.kvHeads;
  fixed.scale = 1.0f / std::sqrt(float(shape.dim));
  std::memcpy(params.data(), &fixed, sizeof(fixed));
  VariantOp variant = kernel.getVariant();
  mask::Bindings bindings;
  mask::TableData tableData;
  size_t at = 0;
  for (auto param : variant.getBody().getOps<ParamOp>()) {
    auto offset = layout.offsetOf("param." + param.getName().str());
    std::memcpy(params.data() + *offset, &this->params[at++], 4);
  }
  bindings.params = this->params.data();
  bindings.numParams = this->params.size();
  for (auto op : variant.getBody().getOps<TableOp>()) {
    auto offset = layout.offsetOf("table." + op.getName().str() + ".data");
    attn_table_param entry{reinterpret_cast<uint64_t>(table.data()),
                           {uint32_t(table.size()), 1, 1},
                           0};
    std::memcpy(params.data() + *offset, &entry, sizeof(entry));
    tableData = {table.data(), ATTN_F32, 1, {uint32_t(table.size()), 1, 1}};
    bindings.tables = &tableData;
    bindings.numTables = 1;
  }

  // What is compared with.
  oracle::Problem reference;
  std::vector<mask::HookProgram> programs;
  programs.reserve(8);
  for (auto hook : variant.getBody().getOps<HookOp>()) {
    mask::HookProgram program;
    if (!encodeHook(hook, program, error))
      return failed;
    programs.push_back(program);
    reference.setHook(&programs.back());
  }
  for (int32_t i = 0; i < n; ++i)
    reference.requests.push_back(
        {qBegin[i], batch.q[i], kvBegin[i], batch.kv[i]});
  reference.heads = shape.heads;
  reference.kvHeads = shape.kvHeads;
  reference.dim = shape.dim;
  reference.dimV = shape.dimV;
  reference.qStrides = q.strides();
  reference.kStrides = k.strides();
  reference.vStrides = v.strides();
  reference.element = element;
  reference.q = q.bytes.data();
  reference.k = k.bytes.data();
  reference.v = v.bytes.data();
  reference.scale = fixed.scale;
  reference.softmax = shape.softmax;
  reference.bindings = bindings;
  oracle::Reference expected;
  if (!oracle::attention(reference, oracle::allRows(reference), expected, error,
                         1))
    return failed;

  llvm::ArrayRef<char> bytes(params.data(), layout.totalBytes());
  report = sim::Report();
  for (mlir::Operation *op : {kernel.getOperation(), merge.getOperation()}) {
    sim::LaunchOptions launch = options;
    if (op == merge)
      launch.traces = nullptr;
    if (mlir::succeeded(sim::runKernel(op, bytes, launch, report)))
      continue;
    error = report.message;
    for (const sim::ReportNote &note : report.notes)
      error += "; " + note.text;
    return failed;
  }

  lastO.clear();
  lastLse.clear();
  for (const oracle::RowId &row : expected.rows) {
    int64_t token = qBegin[row.request] + row.row;
    int64_t index = token * shape.heads + row.head;
    for (int32_t d = 0; d < shape.dimV; ++d)
      lastO.push_back(
          oracle::loadElement(element, o.bytes.data(), index * shape.dimV + d));
    lastLse.push_back(
        oracle::loadElement(oracle::Element::F32, lse.bytes.data(), index));
  }
  oracle::Comparison compared = oracle::compare(
      expected, lastO.data(), shape.softmax ? lastLse.data() : nullptr,
      oracle::toleranceOf(element, element), element);
  if (!compared.ok)
    report.give(sim::Verdict::WrongValues, compared.message);
  return compared;
}
