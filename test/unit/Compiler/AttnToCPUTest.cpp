//===- AttnToCPUTest.cpp - CPU code against the oracle --------------------===//
#include "AttnToCPUFixture.h"

#include "attn/Emit/Object.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"

#include <csignal>
#include <cstdlib>
#include <limits>
#include <sys/resource.h>

using namespace mlir;
using namespace attn;
using namespace attn::test;

namespace {

using AttnToCPUTest = AttnToCPUFixture;

TEST_F(AttnToCPUTest, CausalElementTypesAndHeadDims) {
  struct {
    const char *element, *output;
    int dim, dimV;
  } cases[] = {{"f32", "f32", 64, 0},    {"f32", "f32", 128, 64},
               {"f32", "f32", 24, 40},   {"f16", "f16", 64, 0},
               {"bf16", "bf16", 128, 0}, {"bf16", "f32", 80, 0},
               {"f16", "f32", 72, 0}};
  for (auto &c : cases) {
    SCOPED_TRACE(std::string(c.element) + " " + std::to_string(c.dim));
    Spec spec;
    spec.variant = causalMask;
    spec.element = c.element;
    spec.output = c.output;
    spec.dim = c.dim;
    spec.dimV = c.dimV;
    expectAgrees(spec, {"q=70,3,0,9,64;kv=200,3,5,0,64", 7});
  }
}

TEST_F(AttnToCPUTest, EmptyRowsAreExact) {
  Spec spec;
  spec.variant = causalMask;
  auto compiled = compile(spec);
  ASSERT_TRUE(compiled);
  // More queries than keys: the first ones see nothing.
  RunResult result = compiled->run({"q=9,70;kv=4,0", 3});
  EXPECT_TRUE(result.verdict.ok) << result.verdict.message;
  EXPECT_EQ(result.verdict.comparison.wrongEmptyRows, 0);
  auto *lse = reinterpret_cast<const float *>(result.lse.data());
  EXPECT_EQ(lse[0], -std::numeric_limits<float>::infinity());
}

TEST_F(AttnToCPUTest, DenseStorageAndPackedHeads) {
  Spec spec;
  spec.variant = causalMask;
  spec.storage = "dense";
  spec.heads = 6;
  spec.kvHeads = 2;
  spec.dim = 32;
  for (const char *pack : {"pack=1", ""}) {
    spec.schedule = pack;
    expectAgrees(spec, {"q=33,1,50;kv=33,90,12", 11});
  }
  spec.heads = 8;
  expectAgrees(spec, {"q=33,1,50;kv=33,90,12", 12});
}

TEST_F(AttnToCPUTest, WindowSoftcapSinkSplitAndMerged) {
  Spec spec;
  spec.variant = windowSoftcapSink;
  spec.heads = 4;
  spec.kvHeads = 1;
  auto compiled = compile(spec);
  ASSERT_TRUE(compiled);
  uint32_t merges = 0;
  for (int split : {0, 64, 128})
    for (uint64_t seed : {1, 2, 3, 4}) {
      RunResult result =
          compiled->run({"q=100,2,1,0;kv=400,5,130,9", seed, split});
      EXPECT_TRUE(result.verdict.ok)
          << result.verdict.message << " split " << split << " seed " << seed;
      merges += result.merges;
    }
  EXPECT_GT(merges, 0u);
}

TEST_F(AttnToCPUTest, ScoresOfAnySize) {
  // Huge and hugely negative scores are ordinary ones: the reference of a row
  // is no sentinel.  (Score errors of the product itself grow with the gain, so
  // the large gains give rows with one weight.)
  Spec spec;
  spec.variant = std::string(R"(
    %gain = attn.param "gain" : f32 {default = 1.0 : f32}
    %shift = attn.param "shift" : f32 {default = 0.0 : f32})") +
                 causalMask + R"(
    attn.hook score(%s, %b, %h, %q, %k) {
      %x = arith.mulf %s, %gain : f32
      %r = arith.addf %x, %shift : f32
      attn.yield %r : f32
    })";
  spec.dim = 16;
  auto compiled = compile(spec);
  ASSERT_TRUE(compiled);
  for (auto [gain, shift] : {std::pair(1.0f, 0.0f), std::pair(1e4f, 0.0f),
                             std::pair(1e33f, 0.0f), std::pair(0.0f, -1e36f),
                             std::pair(0.0f, 1e30f), std::pair(0.0f, 3e8f)}) {
    // Unsplit: a partial's LSE is one f32, which cannot tell a sum of 10 from
    // one of 100 at 1e36.
    RunOptions options{"q=40,20;kv=150,300", 5};
    options.params = {{"gain", oracle::floatToBits(gain)},
                      {"shift", oracle::floatToBits(shift)}};
    RunResult result = compiled->run(options);
    EXPECT_TRUE(result.verdict.ok)
        << result.verdict.message << " gain " << gain << " shift " << shift;
  }
}

TEST_F(AttnToCPUTest, NormaliserNone) {
  Spec spec;
  spec.variant = sigmoid;
  spec.normaliser = "none";
  spec.element = "bf16";
  spec.output = "f32";
  auto compiled = compile(spec);
  ASSERT_TRUE(compiled);
  for (int split : {0, 64}) {
    RunResult result = compiled->run({"q=70,1,3;kv=200,300,0", 2, split});
    EXPECT_TRUE(result.verdict.ok) << result.verdict.message;
  }
}

TEST_F(AttnToCPUTest, TablesAreReadInRange) {
  // Two-dimensional bias with indices far out of range, documents, i32 tables.
  Spec spec;
  spec.variant = R"(
    %bias = attn.table "bias" : !attn.table<f32, [head, free]> {sample = [-2.0 : f32, 2.0 : f32]}
    %doc = attn.table "doc" : !attn.table<i32, [position]> {sample = [0 : i32, 3 : i32], sorted}
    attn.hook score(%s, %b, %h, %q, %k) {
      %d = arith.subi %k, %q : i32
      %x = attn.read %bias[%h, %d] : !attn.table<f32, [head, free]>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    }
    attn.hook mask(%b, %h, %q, %k) {
      %dq = attn.read %doc[%q] : !attn.table<i32, [position]>
      %dk = attn.read %doc[%k] : !attn.table<i32, [position]>
      %r = arith.cmpi eq, %dq, %dk : i32
      attn.yield %r : i1
    })";
  expectAgrees(spec, {"q=100,30;kv=230,90", 9});
}

TEST_F(AttnToCPUTest, HookFunctions) {
  // Functions without a vector form of ours, divisions, lengths.
  Spec spec;
  spec.variant = R"(
    attn.hook score(%s, %b, %h, %q, %k) {
      %kl = attn.length kv
      %ql = attn.length q
      %c3 = arith.constant 3 : i32
      %d = arith.subi %q, %k : i32
      %fd = arith.floordivsi %d, %c3 : i32
      %f = arith.sitofp %fd : i32 to f32
      %g = math.sin %f : f32
      %a = math.absf %s : f32
      %one = arith.constant 1.0 : f32
      %b1 = arith.addf %a, %one : f32
      %l = math.log %b1 : f32
      %r1 = math.sqrt %b1 : f32
      %l2 = math.log2 %b1 : f32
      %x = arith.mulf %g, %l : f32
      %y = arith.addf %x, %r1 : f32
      %y2 = arith.addf %y, %l2 : f32
      %rl = arith.remsi %kl, %c3 : i32
      %rq = arith.addi %rl, %ql : i32
      %fl = arith.sitofp %rq : i32 to f32
      %co = math.cos %fl : f32
      %e2 = math.exp2 %co : f32
      %z = arith.mulf %y2, %e2 : f32
      attn.yield %z : f32
    })";
  expectAgrees(spec, {"q=20,30;kv=80,31", 4});
}

TEST_F(AttnToCPUTest, VectorHooks) {
  // A rotation of pairs on Q and K, a gate on V, a scaled output; positions and
  // heads are used, and the output hook also runs after a merge.
  std::string rotate = R"((%x: vector<64xf32>, %b, %h, %pos, %i) {
      %c32 = arith.constant 32 : i32
      %j = arith.xori %i, %c32 : i32
      %self = attn.element %x[%i] : vector<64xf32>
      %other = attn.element %x[%j] : vector<64xf32>
      %f = arith.sitofp %pos : i32 to f32
      %g = arith.sitofp %h : i32 to f32
      %c = arith.constant 0.01 : f32
      %a0 = arith.addf %f, %g : f32
      %a = arith.mulf %a0, %c : f32
      %cos = math.cos %a : f32
      %sin = math.sin %a : f32
      %low = arith.cmpi slt, %i, %c32 : i32
      %nsin = arith.negf %sin : f32
      %sgn = arith.select %low, %nsin, %sin : f32
      %p = arith.mulf %self, %cos : f32
      %q = arith.mulf %other, %sgn : f32
      %r = arith.addf %p, %q : f32
      attn.yield %r : f32
    })";
  Spec spec;
  spec.heads = 4;
  spec.variant = std::string(causalMask) + "\n attn.hook query" + rotate +
                 "\n attn.hook key" + rotate + R"(
    attn.hook value(%x: vector<64xf32>, %b, %h, %pos, %i) {
      %v = attn.element %x[%i] : vector<64xf32>
      %one = arith.constant 1 : i32
      %n = arith.addi %i, %one : i32
      %w = attn.element %x[%n] : vector<64xf32>
      %t = math.tanh %w : f32
      %r = arith.mulf %v, %t : f32
      attn.yield %r : f32
    }
    attn.hook output(%x: vector<64xf32>, %b, %h, %pos, %i) {
      %v = attn.element %x[%i] : vector<64xf32>
      %f = arith.sitofp %pos : i32 to f32
      %r0 = arith.addf %v, %f : f32
      attn.yield %r0 : f32
    })";
  auto compiled = compile(spec);
  ASSERT_TRUE(compiled);
  for (int split : {0, 64}) {
    RunResult result = compiled->run({"q=70,5;kv=150,90", 8, split});
    EXPECT_TRUE(result.verdict.ok) << result.verdict.message;
  }
}

TEST_F(AttnToCPUTest, NonFiniteInputsStayInTheRowsThatSeeThem) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  float inf = std::numeric_limits<float>::infinity();
  for (bool softmax : {true, false}) {
    Spec spec;
    spec.variant = softmax ? causalMask : sigmoid;
    spec.normaliser = softmax ? "" : "none";
    auto compiled = compile(spec);
    ASSERT_TRUE(compiled);
    for (float bad : {nan, inf, -inf})
      for (int which = 0; which < 3; ++which) {
        RunOptions options{"q=100;kv=100", 6};
        options.edit = [&](workload::Workload &w) {
          workload::Tensor *t[] = {&w.q, &w.k, &w.v};
          setRow(*t[which], 2, 50, 64, bad);
        };
        RunResult result = compiled->run(options);
        EXPECT_TRUE(result.verdict.ok)
            << result.verdict.message << " tensor " << which << " " << bad;
        // Rows 50 to 99 see key 50; one row if it is a query.
        const oracle::Comparison &c = result.verdict.comparison;
        EXPECT_LE(c.nanRows + c.skippedRows, which ? 100 : 2);
        EXPECT_GT(c.nanRows + c.skippedRows, 0);
      }
  }
}

//===----------------------------------------------------------------------===//
// emitSharedObject
//===----------------------------------------------------------------------===//

TEST_F(AttnToCPUTest, ObjectErrorsAreReported) {
  auto module =
      parseSourceString<ModuleOp>("llvm.func @f() { llvm.return }", &context);
  ASSERT_TRUE(module);
  EXPECT_TRUE(failed(emit::emitSharedObject(*module, "pentium")));
  EXPECT_NE(diagnostics.find("unknown cpu level 'pentium', known are x86-64-v3 "
                             "and x86-64-v4"),
            std::string::npos)
      << diagnostics;

  diagnostics.clear();
  setenv("TMPDIR", "/nonexistent/folder", 1);
  EXPECT_TRUE(failed(emit::emitSharedObject(*module, "x86-64-v3")));
  unsetenv("TMPDIR");
  EXPECT_NE(diagnostics.find("cannot make a temporary file: "),
            std::string::npos)
      << diagnostics;

  // A disk that is full: files may have 16 bytes.
  diagnostics.clear();
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit little = before;
  little.rlim_cur = 16;
  auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  bool full = failed(emit::emitSharedObject(*module, "x86-64-v3"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, oldHandler);
  EXPECT_TRUE(full);
  EXPECT_NE(diagnostics.find("cannot write a temporary file: "),
            std::string::npos)
      << diagnostics;

  diagnostics.clear();
  auto hidden = parseSourceString<ModuleOp>(R"(
    llvm.func hidden @missing()
    llvm.func @f() { llvm.call @missing() : () -> () llvm.return })",
                                            &context);
  ASSERT_TRUE(hidden) << diagnostics;
  EXPECT_TRUE(failed(emit::emitSharedObject(*hidden, "x86-64-v3")));
  EXPECT_NE(diagnostics.find("linking failed: "), std::string::npos)
      << diagnostics;
  // The linker can be used again after an error.
  EXPECT_TRUE(succeeded(emit::emitSharedObject(*module, "x86-64-v3")));
}

TEST_F(AttnToCPUTest, LinkingLeavesCommandLineOptionsAlone) {
  static llvm::cl::opt<int> option("attn-test-option", llvm::cl::init(1));
  ASSERT_FALSE(option.addOccurrence(1, "attn-test-option", "7"));
  auto module =
      parseSourceString<ModuleOp>("llvm.func @f() { llvm.return }", &context);
  ASSERT_TRUE(succeeded(emit::emitSharedObject(*module, "x86-64-v3")));
  EXPECT_EQ(option, 7);
  EXPECT_EQ(llvm::cl::getRegisteredOptions().count("attn-test-option"), 1u);
}

TEST_F(AttnToCPUTest, ObjectExportsItsEntriesAlone) {
  auto module = parseSourceString<ModuleOp>(R"(
    llvm.func internal @helper(%x: f32) -> f32 attributes {no_inline} {
      llvm.return %x : f32
    }
    llvm.func @f(%p: !llvm.ptr) {
      %x = llvm.load %p : !llvm.ptr -> f32
      %y = llvm.intr.log2(%x) : (f32) -> f32
      %z = llvm.call @helper(%y) : (f32) -> f32
      llvm.store %z, %p : f32, !llvm.ptr
      llvm.return
    })",
                                            &context);
  ASSERT_TRUE(module) << diagnostics;
  auto object = load(*module, "x86-64-v3");
  ASSERT_TRUE(object) << diagnostics;
  EXPECT_EQ(object->symbol("helper"), nullptr);
  auto *f = reinterpret_cast<void (*)(float *)>(object->symbol("f"));
  ASSERT_TRUE(f);
  float x = 8;
  f(&x);
  EXPECT_EQ(x, 3.0f);
}

} // namespace
