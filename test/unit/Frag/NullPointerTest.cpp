//===- NullPointerTest.cpp - accesses of L3 through null pointers ---------===//
//
// A field of the parameter struct that the host left 0 ends the run with an
// error; rows off the mask touch no memory, so that they need no pointer.
//
//===----------------------------------------------------------------------===//

#include "FragFixture.h"
#include "attn/Sim/FragInterp.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace attn;
using namespace attn::test;

namespace {

struct NullPointer : testing::Test {
  /// The error of a kernel with this body; %f points to `pointer`.
  std::string run(const std::string &body, const void *pointer) {
    auto module = fixture.parse(R"(
#C = #frag.layout<"mma_c", warps = 1>
!tile = !frag.reg<16x8xf32, #C>
!vec = !frag.vec<16xf32, #C>
!offsets = !frag.vec<16xi64, #C>
!mask = !frag.vec<16xi1, #C>
frag.kernel @k threads 32 smem 0 params 8 {
  %f = frag.param "f" at 0 : !frag.ptr<f32>
  %zero = arith.constant 0 : i64
  %yes = arith.constant true
  %no = arith.constant false
  %all = frag.splat %yes : i1 -> !mask
  %none = frag.splat %no : i1 -> !mask
  %at = frag.map () at (%row) -> !offsets {
    %c8 = arith.constant 8 : i64
    %r = arith.extui %row : i32 to i64
    %o = arith.muli %r, %c8 : i64
    frag.yield %o : i64
  }
)" + body + "  frag.return\n}\n");
    EXPECT_TRUE(module) << fixture.diagnostics;
    if (!module)
      return fixture.diagnostics;
    std::vector<char> params(8);
    std::memcpy(params.data(), &pointer, sizeof(pointer));
    sim::registerFragKernels();
    std::string error;
    bool ok =
        succeeded(sim::runKernel(module->lookupSymbol("k"), params, {}, error));
    EXPECT_EQ(ok, error.empty());
    return error;
  }

  static std::string access(const std::string &op, const std::string &mask) {
    const std::string where =
        "%f, %at, " + mask + " : !frag.ptr<f32>, !offsets, !mask";
    if (op == "load")
      return "  %x = frag.load " + where + " -> !tile\n";
    return "  %x = frag.load_vec " + where + " -> !vec\n";
  }

  FragFixture fixture;
};

TEST_F(NullPointer, Scalar) {
  const std::string load =
      "  %x = frag.load_scalar %f[%zero] : !frag.ptr<f32>\n";
  float value = 1;
  EXPECT_EQ(run(load, &value), "");
  EXPECT_EQ(run(load, nullptr),
            "frag.load_scalar: reads through a null pointer");
}

TEST_F(NullPointer, Tiles) {
  std::vector<float> memory(16 * 8);
  std::iota(memory.begin(), memory.end(), 1.0f);
  EXPECT_EQ(run(access("load", "%all"), memory.data()), "");
  EXPECT_EQ(run(access("load", "%none"), nullptr), "");
  EXPECT_EQ(run(access("load", "%all"), nullptr),
            "frag.load: goes through a null pointer");
  EXPECT_EQ(run(access("load", "%none") +
                    "  frag.store %x, %f, %at, %all : !tile, !frag.ptr<f32>, "
                    "!offsets, !mask\n",
                nullptr),
            "frag.store: goes through a null pointer");
  // The same store with a pointer writes the zeros of the rows off the mask.
  EXPECT_EQ(run(access("load", "%none") +
                    "  frag.store %x, %f, %at, %all : !tile, !frag.ptr<f32>, "
                    "!offsets, !mask\n",
                memory.data()),
            "");
  EXPECT_EQ(memory, std::vector<float>(16 * 8, 0.0f));
}

TEST_F(NullPointer, Vectors) {
  std::vector<float> memory(16 * 8, 2.0f);
  EXPECT_EQ(run(access("load_vec", "%all"), memory.data()), "");
  EXPECT_EQ(run(access("load_vec", "%none"), nullptr), "");
  EXPECT_EQ(run(access("load_vec", "%all"), nullptr),
            "frag.load_vec: goes through a null pointer");
  EXPECT_EQ(run(access("load_vec", "%none") +
                    "  frag.store_vec %x, %f, %at, %all : !vec, "
                    "!frag.ptr<f32>, !offsets, !mask\n",
                nullptr),
            "frag.store_vec: goes through a null pointer");
}

} // namespace
