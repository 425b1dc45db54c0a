//===- LevelTest.cpp - L3 of small kernels against the oracle -------------===//

#include "FragFixture.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace attn;
using namespace attn::test;

namespace {

const char *causal = R"(
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    })";

// A parameter, a table, the query head and the lengths: all that hooks read.
const char *everything = R"(
    %w = attn.param "window" : i32 {default = 1024 : i32}
    %cap = attn.param "cap" : f32 {default = 50.0 : f32}
    %t = attn.table "sink" : !attn.table<f32, [head]>
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %bias = attn.read %t[%h] : !attn.table<f32, [head]>
      %x0 = arith.addf %s, %bias : f32
      %x1 = arith.divf %x0, %cap : f32
      %x2 = math.tanh %x1 : f32
      %x3 = arith.mulf %cap, %x2 : f32
      attn.yield %x3 : f32
    }
    attn.hook mask(%b, %h, %qp, %kp) {
      %zero = arith.constant 0 : i32
      %d = arith.subi %qp, %kp : i32
      %lo = arith.cmpi sge, %d, %zero : i32
      %hi = arith.cmpi slt, %d, %w : i32
      %len = attn.length kv
      %in = arith.cmpi slt, %kp, %len : i32
      %r0 = arith.andi %lo, %hi : i1
      %r = arith.andi %r0, %in : i1
      attn.yield %r : i1
    }
    attn.hook sink(%b, %h) {
      %x = attn.read %t[%h] : !attn.table<f32, [head]>
      attn.yield %x : f32
    })";

struct Case {
  const char *name;
  void (*change)(KernelShape &);
  int32_t splitKeys;
};

const Case cases[] = {
    {"causal bf16", [](KernelShape &) {}, 0},
    {"f16", [](KernelShape &s) { s.element = "f16"; }, 0},
    {"split keys", [](KernelShape &) {}, 32},
    {"pack 1", [](KernelShape &s) { s.pack = 1; }, 0},
    {"ascending", [](KernelShape &s) { s.ascending = true; }, 0},
    {"one opaque segment", [](KernelShape &s) { s.closed = false; }, 0},
    {"wide tile of keys",
     [](KernelShape &s) {
       s.tileK = 48;
       s.dim = 128;
     },
     0},
    {"wide values", [](KernelShape &s) { s.dimV = 128; }, 32},
    {"one slot", [](KernelShape &s) { s.depth = 1, s.skew = 0; }, 0},
    {"three slots", [](KernelShape &s) { s.depth = 3; }, 0},
    {"all that hooks read",
     [](KernelShape &s) {
       s.hooks = everything;
       s.score = s.sink = true;
       s.closed = false;
     },
     0},
    {"sink of split rows",
     [](KernelShape &s) {
       s.hooks = everything;
       s.score = s.sink = true;
       s.closed = false;
     },
     32},
    {"normaliser none",
     [](KernelShape &s) {
       s.softmax = false;
       s.score = true;
       s.closed = false;
     },
     32},
};

TEST(FragLevel, MatchesTheOracle) {
  for (const Case &c : cases) {
    FragFixture fixture;
    KernelShape shape = FragFixture::shape();
    shape.hooks = causal;
    c.change(shape);
    if (shape.hooks == everything) {
      float cap = 20;
      uint32_t bits;
      std::memcpy(&bits, &cap, sizeof(bits));
      fixture.params = {9, bits};
      fixture.table = {0.5f, -1, 2, -3};
    }
    ASSERT_TRUE(fixture.lower(FragFixture::text(shape)))
        << c.name << ": " << fixture.diagnostics;
    std::string error;
    auto result = fixture.run(shape, ragged, error, c.splitKeys);
    EXPECT_TRUE(result.ok) << c.name << ": " << error << " " << result.message;
    EXPECT_EQ(error, "") << c.name;
  }
}

TEST(FragLevel, ItemsFollowEachOtherInOneCta) {
  // Positions go on from item to item: an odd number of visits each.
  FragFixture fixture;
  KernelShape shape = FragFixture::shape();
  shape.hooks = causal;
  ASSERT_TRUE(fixture.lower(FragFixture::text(shape))) << fixture.diagnostics;
  std::string error;
  auto result = fixture.run(shape, {{3, 2, 1, 40}, {35, 3, 33, 47}}, error,
                            /*splitKeys=*/0, /*ctas=*/1);
  EXPECT_TRUE(result.ok) << error << result.message;
}

TEST(FragLevel, EmptyBatch) {
  FragFixture fixture;
  KernelShape shape = FragFixture::shape();
  shape.hooks = causal;
  ASSERT_TRUE(fixture.lower(FragFixture::text(shape))) << fixture.diagnostics;
  std::string error;
  EXPECT_TRUE(fixture.run(shape, {{0}, {5}}, error).ok) << error;
}

TEST(FragLevel, FullSizeTile) {
  FragFixture fixture;
  KernelShape shape = FragFixture::shape();
  shape.hooks = causal;
  shape.dim = shape.dimV = 128;
  shape.tileQ = 128;
  shape.tileK = 64;
  ASSERT_TRUE(fixture.lower(FragFixture::text(shape))) << fixture.diagnostics;
  std::string error;
  auto result = fixture.run(shape, {{70}, {200}}, error);
  EXPECT_TRUE(result.ok) << error << result.message;
}

} // namespace
