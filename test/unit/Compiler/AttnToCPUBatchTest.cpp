//===- AttnToCPUBatchTest.cpp - random batches, tiles, speculation on the CPU ===//
#include "AttnToCPUFixture.h"

#include <random>

using namespace mlir;
using namespace attn;
using namespace attn::test;

namespace {

using AttnToCPUBatchTest = AttnToCPUFixture;

TEST_F(AttnToCPUBatchTest, FrozenAndForcedSidesAgree) {
  Spec spec;
  spec.variant = causalMask;
  spec.schedule = "softmax=frozen";
  for (auto [exact, fail] : {std::pair(false, false), std::pair(true, false),
                             std::pair(false, true)}) {
    spec.forceExact = exact;
    spec.failCheck = fail;
    auto compiled = compile(spec);
    ASSERT_TRUE(compiled);
    for (int split : {0, 128}) {
      RunOptions options{"q=90,64,5;kv=500,64,2", 3, split};
      RunResult result = compiled->run(options);
      EXPECT_TRUE(result.verdict.ok)
          << result.verdict.message << " exact " << exact << " fail " << fail;
      // A key that dwarfs the frozen reference: the check must catch it.
      options.edit = [](workload::Workload &w) {
        setRow(w.k, 2, 3, 64, 0.0f);
        setRow(w.k, 2, 3, 1, 1000.0f);
        setRow(w.q, 2, 20, 1, 8.0f);
      };
      result = compiled->run(options);
      EXPECT_TRUE(result.verdict.ok) << result.verdict.message;
    }
  }
}

TEST_F(AttnToCPUBatchTest, LazyReference) {
  for (const char *schedule :
       {"softmax=lazy", "softmax=lazy,limit=0", "softmax=lazy,limit=64"}) {
    SCOPED_TRACE(schedule);
    Spec spec;
    spec.variant = causalMask;
    spec.schedule = schedule;
    auto compiled = compile(spec);
    ASSERT_TRUE(compiled);
    for (int split : {0, 128}) {
      RunOptions options{"q=90,64,5;kv=500,64,2", 3, split};
      RunResult result = compiled->run(options);
      EXPECT_TRUE(result.verdict.ok) << result.verdict.message;
      // Keys that dwarf the reference of the blocks before them.
      options.edit = [](workload::Workload &w) {
        setRow(w.k, 2, 3, 64, 0.0f);
        setRow(w.k, 2, 3, 1, 1000.0f);
        setRow(w.k, 2, 200, 64, 3.0f);
        setRow(w.q, 2, 20, 1, 8.0f);
      };
      result = compiled->run(options);
      EXPECT_TRUE(result.verdict.ok) << result.verdict.message;
    }
  }
}

TEST_F(AttnToCPUBatchTest, SameInputsSameBits) {
  Spec spec;
  spec.variant = windowSoftcapSink;
  auto first = compile(spec), second = compile(spec);
  ASSERT_TRUE(first && second);
  RunOptions options{"q=70,30;kv=300,200", 13, 64};
  RunResult a = first->run(options), b = first->run(options),
            c = second->run(options);
  EXPECT_EQ(a.output, b.output);
  EXPECT_EQ(a.lse, b.lse);
  EXPECT_EQ(a.output, c.output);
}

TEST_F(AttnToCPUBatchTest, OddTiles) {
  // Tiles that are no multiple of the vector: padded columns must not count.
  Spec spec;
  spec.variant = "";
  for (const char *tiles : {"tile_q=32,tile_k=32", "tile_q=16,tile_k=128"}) {
    spec.schedule = tiles;
    expectAgrees(spec, {"q=50,1;kv=130,77", 21});
  }
  spec.variant = causalMask;
  spec.schedule = "kv_order=ascending";
  expectAgrees(spec, {"q=50,100;kv=130,77", 22});
}

TEST_F(AttnToCPUBatchTest, RandomBatches) {
  std::mt19937_64 random(99);
  auto number = [&](int lo, int hi) {
    return std::uniform_int_distribution<int>(lo, hi)(random);
  };
  for (const char *variant : {causalMask, windowSoftcapSink, ""}) {
    Spec spec;
    spec.variant = variant;
    spec.heads = 4;
    spec.kvHeads = number(0, 1) ? 2 : 4;
    spec.element = number(0, 1) ? "bf16" : "f32";
    spec.output = spec.element;
    auto compiled = compile(spec);
    ASSERT_TRUE(compiled);
    for (int round = 0; round < 12; ++round) {
      std::string q = "q=", kv = "kv=";
      int n = number(1, 4);
      for (int r = 0; r < n; ++r) {
        q += (r ? "," : "") + std::to_string(number(0, 90));
        kv += (r ? "," : "") + std::to_string(number(0, 260));
      }
      RunOptions options{q + ",1;" + kv + ",1", uint64_t(round),
                         number(0, 2) * 64};
      RunResult result = compiled->run(options);
      EXPECT_TRUE(result.verdict.ok)
          << result.verdict.message << " " << options.batch << " split "
          << options.splitKeys << " round " << round;
    }
  }
}

TEST_F(AttnToCPUBatchTest, WideVectorsWhereTheMachineHasThem) {
  Spec spec;
  spec.variant = windowSoftcapSink;
  spec.dim = 80;
  spec.vectorBits = 512;
  auto compiled = compile(spec); // always compiled, run if possible
  ASSERT_TRUE(compiled);
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq"))
    return;
  for (int split : {0, 64}) {
    RunResult result = compiled->run({"q=70,3,0;kv=200,3,9", 5, split});
    EXPECT_TRUE(result.verdict.ok) << result.verdict.message;
  }
}

} // namespace
