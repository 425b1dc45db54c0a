//===- LevelsTest.cpp - L1 and L2 of small kernels against the oracle -----===//

#include "KernelText.h"

#include "attn/Dialect/Pipe/IR/Pipe.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

const char *causal = R"(
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    })";

// Window by parameter, soft cap, a logit by head.
const char *capped = R"(
    %w = attn.param "window" : i32 {default = 1024 : i32}
    %cap = attn.param "cap" : f32 {default = 50.0 : f32}
    %t = attn.table "sink" : !attn.table<f32, [head]>
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %x1 = arith.divf %s, %cap : f32
      %x2 = math.tanh %x1 : f32
      %x3 = arith.mulf %cap, %x2 : f32
      attn.yield %x3 : f32
    }
    attn.hook mask(%b, %h, %qp, %kp) {
      %zero = arith.constant 0 : i32
      %d = arith.subi %qp, %kp : i32
      %lo = arith.cmpi sge, %d, %zero : i32
      %hi = arith.cmpi slt, %d, %w : i32
      %r = arith.andi %lo, %hi : i1
      attn.yield %r : i1
    }
    attn.hook sink(%b, %h) {
      %x = attn.read %t[%h] : !attn.table<f32, [head]>
      attn.yield %x : f32
    })";

// Sigmoid attention: the score is the weight.
const char *sigmoid = R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %one = arith.constant 1.0 : f32
      %n = arith.negf %s : f32
      %e = math.exp %n : f32
      %d = arith.addf %one, %e : f32
      %w = arith.divf %one, %d : f32
      attn.yield %w : f32
    }
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    })";

// Rows that see nothing (q > kv), requests without keys and without rows.
const Batch ragged = {{5, 1, 0, 17, 9, 33}, {7, 30, 4, 0, 3, 41}};

class LevelsTest : public ::testing::Test, public SimFixture {
protected:
  /// Both levels, unsplit and split, on one CTA and on three.
  void check(const KernelShape &shape, const Batch &batch) {
    auto module = parse(kernelText(shape));
    ASSERT_TRUE(module) << diagnostics;
    std::string error;
    for (int level = 1; level <= 2; ++level) {
      if (level == 2) {
        ASSERT_TRUE(toPipe(*module)) << diagnostics;
      }
      std::vector<float> first;
      for (int32_t split : {0, 16}) {
        for (int32_t ctas : {1, 3}) {
          sim::LaunchOptions options;
          options.ctas = ctas;
          oracle::Comparison c =
              run(*module, shape, batch, error, split, options);
          EXPECT_TRUE(error.empty()) << error;
          EXPECT_TRUE(c.ok) << "L" << level << ", split " << split << ", "
                            << ctas << " blocks: " << c.message;
        }
      }
    }
  }
};

TEST_F(LevelsTest, CausalPacked) {
  KernelShape shape;
  shape.hooks = causal;
  check(shape, ragged);
}

TEST_F(LevelsTest, CausalOneHeadATileAscending) {
  KernelShape shape;
  shape.hooks = causal;
  shape.pack = 1;
  shape.ascending = true;
  check(shape, ragged);
}

TEST_F(LevelsTest, F32DifferentValueDim) {
  KernelShape shape;
  shape.element = "f32";
  shape.dimV = 24;
  shape.hooks = causal;
  check(shape, ragged);
}

TEST_F(LevelsTest, F16WithoutSkew) {
  KernelShape shape;
  shape.element = "f16";
  shape.skew = 0;
  shape.depth = 1;
  shape.hooks = causal;
  check(shape, ragged);
}

TEST_F(LevelsTest, CapWindowAndSinkOpaque) {
  KernelShape shape;
  shape.closed = false;
  shape.score = true;
  shape.sink = true;
  shape.hooks = capped;
  float cap = 3.0f;
  uint32_t bits;
  std::memcpy(&bits, &cap, 4);
  params = {6, bits};
  table = {0.5f, -1.0f, 2.0f, -INFINITY};
  check(shape, ragged);
}

TEST_F(LevelsTest, NoNormaliser) {
  KernelShape shape;
  shape.softmax = false;
  shape.score = true;
  shape.closed = false;
  shape.hooks = sigmoid;
  check(shape, ragged);
}

TEST_F(LevelsTest, EmptyBatchAndEmptyRequests) {
  KernelShape shape;
  shape.hooks = causal;
  check(shape, {{}, {}});
  check(shape, {{0, 3, 0}, {0, 0, 5}});
}

TEST_F(LevelsTest, FrozenAllSides) {
  KernelShape shape;
  shape.frozen = true;
  shape.hooks = causal;
  auto module = parse(kernelText(shape));
  ASSERT_TRUE(module) << diagnostics;
  for (int level = 1; level <= 2; ++level) {
    if (level == 2) {
      ASSERT_TRUE(toPipe(*module)) << diagnostics;
    }
    for (int side = 0; side < 3; ++side) {
      sim::LaunchOptions options;
      options.forceExact = side == 1;
      options.failCheck = side == 2;
      std::string error;
      oracle::Comparison c = run(*module, shape, ragged, error, 16, options);
      EXPECT_TRUE(error.empty()) << error;
      EXPECT_TRUE(c.ok) << "L" << level << ", side " << side << ": "
                        << c.message;
    }
  }
}

// The levels do the same arithmetic in the same order.
TEST_F(LevelsTest, LevelsAgreeBitwise) {
  KernelShape shape;
  shape.hooks = causal;
  auto module = parse(kernelText(shape));
  ASSERT_TRUE(module) << diagnostics;
  std::string error;
  ASSERT_TRUE(run(*module, shape, ragged, error, 16).ok) << error;
  std::vector<float> o = lastO, lse = lastLse;
  ASSERT_TRUE(toPipe(*module)) << diagnostics;
  ASSERT_TRUE(run(*module, shape, ragged, error, 16).ok) << error;
  ASSERT_EQ(o.size(), lastO.size());
  EXPECT_EQ(0, std::memcmp(o.data(), lastO.data(), o.size() * sizeof(float)));
  EXPECT_EQ(
      0, std::memcmp(lse.data(), lastLse.data(), lse.size() * sizeof(float)));
}

// A kernel that forgets its mask must not pass: the comparison has teeth.
TEST_F(LevelsTest, WrongKernelIsFound) {
  KernelShape shape;
  shape.hooks = causal;
  std::string text = kernelText(shape);
  size_t at = text.find("%m1 = attn.row_max %s2");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 22, "%m1 = attn.row_max %s0");
  at = text.find("attn.exp exact %s2");
  text.replace(at, 18, "attn.exp exact %s0");
  auto module = parse(text);
  ASSERT_TRUE(module) << diagnostics;
  std::string error;
  EXPECT_FALSE(run(*module, shape, {{40}, {40}}, error).ok);
  EXPECT_EQ(error, "");
}

TEST_F(LevelsTest, LaunchErrors) {
  KernelShape shape;
  shape.hooks = causal;
  auto module = parse(kernelText(shape));
  ASSERT_TRUE(module) << diagnostics;
  auto kernel = module->lookupSymbol<KernelOp>("k");
  std::string error;
  std::vector<char> bytes(64);
  EXPECT_TRUE(failed(sim::runKernel(kernel, bytes, {}, error)));
  EXPECT_EQ(error, "attn.kernel: parameter struct has 64 bytes but needs 200");
  bytes.resize(200);
  EXPECT_TRUE(failed(sim::runKernel(kernel, bytes, {}, error)));
  EXPECT_EQ(error, "attn.kernel: plan pointer is null");
  sim::LaunchOptions none;
  none.ctas = 0;
  EXPECT_TRUE(failed(sim::runKernel(kernel, bytes, none, error)));
  EXPECT_EQ(error, "launch has 0 blocks but needs at least 1");
  EXPECT_TRUE(failed(sim::runKernel(*module, bytes, {}, error)));
  EXPECT_EQ(error, "'builtin.module' is not a kernel");
}

} // namespace
