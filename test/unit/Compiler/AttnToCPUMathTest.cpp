//===- AttnToCPUMathTest.cpp - accuracy of the expanded functions ---------===//
#include "AttnToCPUFixture.h"

#include "Lowering.h"

#include "mlir/Parser/Parser.h"

#include <cmath>
#include <limits>
#include <vector>

using namespace mlir;
using namespace attn;
using namespace attn::test;

namespace {

class AttnToCPUMathTest : public AttnToCPUFixture {
protected:
  /// Applies a math op to 8 values at a time.
  std::vector<float> apply(const std::string &op, std::vector<float> in) {
    std::vector<float> out(in.size());
    std::string text = R"(llvm.func @f(%in: !llvm.ptr, %out: !llvm.ptr) {
      %x = llvm.load %in {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %y = math.)" + op +
                       R"( %x : vector<8xf32>
      llvm.store %y, %out {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      llvm.return
    })";
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(bool(module)) << diagnostics;
    cpu::expandMath(*module);
    module->walk([&](Operation *o) {
      EXPECT_NE(o->getName().getStringRef(), "math." + op);
    });
    EXPECT_TRUE(lowerToLLVM(*module)) << diagnostics;
    auto object = load(*module, "x86-64-v3");
    if (!object)
      return out;
    auto *f =
        reinterpret_cast<void (*)(const float *, float *)>(object->symbol("f"));
    for (size_t i = 0; i + 8 <= in.size(); i += 8)
      f(&in[i], &out[i]);
    return out;
  }

  /// Worst relative error over [lo, hi].
  double worst(const std::string &op, double (*reference)(double), float lo,
               float hi) {
    std::vector<float> in;
    const int n = 80000;
    for (int i = 0; i < n; ++i)
      in.push_back(lo + (hi - lo) * float(i) / float(n - 1));
    std::vector<float> out = apply(op, in);
    double error = 0;
    for (int i = 0; i < n; ++i) {
      double ref = reference(double(in[i]));
      if (ref != 0)
        error = std::max(error, std::abs(out[i] - ref) / std::abs(ref));
    }
    return error;
  }
};

constexpr float inf = std::numeric_limits<float>::infinity();

TEST_F(AttnToCPUMathTest, Exp2) {
  EXPECT_LT(worst("exp2", std::exp2, -125.0f, 127.99f), 2e-7);
  EXPECT_LT(worst("exp2", std::exp2, -1.0f, 1.0f), 2e-7);
  std::vector<float> out = apply(
      "exp2", {0.0f, -0.0f, -inf, inf, std::nanf(""), -127.0f, 128.0f, -1e30f});
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], 1.0f);
  EXPECT_EQ(out[2], 0.0f);
  EXPECT_EQ(out[3], inf);
  EXPECT_TRUE(std::isnan(out[4]));
  EXPECT_EQ(out[5], 0.0f);
  EXPECT_EQ(out[6], inf);
  EXPECT_EQ(out[7], 0.0f);
  // Whole numbers are exact.
  for (int n = -120; n < 128; n += 8) {
    std::vector<float> in;
    for (int i = 0; i < 8; ++i)
      in.push_back(float(n + i));
    out = apply("exp2", in);
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(out[i], std::ldexp(1.0f, n + i));
    n += 64;
  }
}

TEST_F(AttnToCPUMathTest, Exp) {
  EXPECT_LT(worst("exp", std::exp, -86.0f, 88.7f), 2e-7);
  EXPECT_LT(worst("exp", std::exp, -1.0f, 1.0f), 2e-7);
  std::vector<float> out = apply(
      "exp", {0.0f, -inf, inf, std::nanf(""), -100.0f, 89.0f, -0.0f, -1e30f});
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], 0.0f);
  EXPECT_EQ(out[2], inf);
  EXPECT_TRUE(std::isnan(out[3]));
  EXPECT_EQ(out[4], 0.0f);
  EXPECT_EQ(out[5], inf);
  EXPECT_EQ(out[6], 1.0f);
  EXPECT_EQ(out[7], 0.0f);
}

TEST_F(AttnToCPUMathTest, Tanh) {
  EXPECT_LT(worst("tanh", std::tanh, -12.0f, 12.0f), 3e-7);
  EXPECT_LT(worst("tanh", std::tanh, 0.5f, 0.8f), 3e-7);
  EXPECT_LT(worst("tanh", std::tanh, -1e-3f, 1e-3f), 3e-7);
  std::vector<float> out = apply(
      "tanh", {0.0f, -0.0f, inf, -inf, std::nanf(""), 50.0f, -1e30f, 1e-30f});
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_EQ(out[1], 0.0f);
  EXPECT_EQ(out[2], 1.0f);
  EXPECT_EQ(out[3], -1.0f);
  EXPECT_TRUE(std::isnan(out[4]));
  EXPECT_EQ(out[5], 1.0f);
  EXPECT_EQ(out[6], -1.0f);
  EXPECT_EQ(out[7], 1e-30f);
}

} // namespace
