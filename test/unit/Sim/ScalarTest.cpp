//===- ScalarTest.cpp - scalar ops, regions and scf -----------------------===//

#include "KernelText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::test;
using sim::Word;

namespace {

class ScalarTest : public ::testing::Test, public SimFixture {
protected:
  /// Compiles the body of the only function.
  bool compile(const std::string &body, std::string &error) {
    module = parse("func.func @f" + body);
    EXPECT_TRUE(module) << diagnostics;
    auto f = module->lookupSymbol<mlir::func::FuncOp>("f");
    return program.compile(
        f.getBody().front(), [](mlir::Operation *) { return sim::ExternFn(); },
        error);
  }
  Word eval(const std::string &body, std::vector<Word> args) {
    std::string error;
    EXPECT_TRUE(compile(body, error)) << error;
    args.resize(program.numSlots());
    program.run(args.data());
    return program.result(args.data());
  }
  /// A binary op on integers of a type.
  int64_t binary(const std::string &op, const std::string &type, int64_t a,
                 int64_t b) {
    return eval("(%a: " + type + ", %b: " + type + ") -> " + type + " { %r = " +
                    op + " %a, %b : " + type + " return %r : " + type + " }",
                {Word::ofInt(a), Word::ofInt(b)})
        .i;
  }
  float unary(const std::string &op, float x) {
    return eval("(%a: f32) -> f32 { %r = " + op + " %a : f32 return %r : f32 }",
                {Word::ofFloat(x)})
        .f;
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
  sim::ScalarProgram program;
};

TEST_F(ScalarTest, IntegersWrap) {
  EXPECT_EQ(binary("arith.addi", "i32", INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(binary("arith.subi", "i32", INT32_MIN, 1), INT32_MAX);
  EXPECT_EQ(binary("arith.muli", "i32", 65536, 65536), 0);
  EXPECT_EQ(binary("arith.addi", "i64", INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(binary("arith.addi", "i8", 127, 1), -128);
  EXPECT_EQ(binary("arith.addi", "i1", 1, 1), 0);
}

TEST_F(ScalarTest, DivisionRoundsAndNeverTraps) {
  EXPECT_EQ(binary("arith.divsi", "i32", -7, 2), -3);
  EXPECT_EQ(binary("arith.floordivsi", "i32", -7, 2), -4);
  EXPECT_EQ(binary("arith.ceildivsi", "i32", -7, 2), -3);
  EXPECT_EQ(binary("arith.ceildivsi", "i32", 7, 2), 4);
  EXPECT_EQ(binary("arith.remsi", "i32", -7, 2), -1);
  EXPECT_EQ(binary("arith.divui", "i32", -2, 2), INT32_MAX);
  EXPECT_EQ(binary("arith.remui", "i32", -1, 16), 15);
  for (const char *op : {"arith.divsi", "arith.floordivsi", "arith.ceildivsi",
                         "arith.divui", "arith.remsi", "arith.remui"})
    EXPECT_EQ(binary(op, "i32", 5, 0), 0) << op;
  EXPECT_EQ(binary("arith.divsi", "i32", INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(binary("arith.remsi", "i64", INT64_MIN, -1), 0);
}

TEST_F(ScalarTest, ShiftsAndBits) {
  EXPECT_EQ(binary("arith.shrsi", "i32", -8, 1), -4);
  EXPECT_EQ(binary("arith.shrui", "i32", -1, 28), 15);
  EXPECT_EQ(binary("arith.shli", "i32", 1, 33), 2);
  EXPECT_EQ(binary("arith.xori", "i32", 6, 3), 5);
  EXPECT_EQ(binary("arith.minui", "i32", -1, 3), 3);
  EXPECT_EQ(binary("arith.minsi", "i32", -1, 3), -1);
  EXPECT_EQ(binary("arith.maxui", "i32", -1, 3), -1);
}

TEST_F(ScalarTest, CompareAndExtend) {
  auto compare = [&](const char *predicate, int64_t a, int64_t b) {
    return eval(std::string("(%a: i32, %b: i32) -> i1 { %r = arith.cmpi ") +
                    predicate + ", %a, %b : i32 return %r : i1 }",
                {Word::ofInt(a), Word::ofInt(b)})
        .i;
  };
  EXPECT_EQ(compare("slt", -1, 0), 1);
  EXPECT_EQ(compare("ult", -1, 0), 0);
  EXPECT_EQ(compare("uge", -1, 5), 1);
  EXPECT_EQ(
      eval(
          "(%a: i1) -> i32 { %r = arith.extsi %a : i1 to i32 return %r : i32 }",
          {Word::ofInt(1)})
          .i,
      -1);
  EXPECT_EQ(eval("(%a: i32) -> i64 { %r = arith.extui %a : i32 to i64 return "
                 "%r : i64 }",
                 {Word::ofInt(-1)})
                .i,
            0xffffffffll);
  EXPECT_EQ(eval("(%a: i64) -> i32 { %r = arith.trunci %a : i64 to i32 return "
                 "%r : i32 }",
                 {Word::ofInt(0x1ffffffffll)})
                .i,
            -1);
}

TEST_F(ScalarTest, Floats) {
  EXPECT_EQ(unary("math.exp2", 3), 8);
  EXPECT_EQ(unary("math.absf", -2), 2);
  EXPECT_EQ(unary("arith.negf", 2), -2);
  EXPECT_EQ(unary("math.floor", -1.5f), -2);
  EXPECT_EQ(unary("math.sqrt", 9), 3);
  EXPECT_NEAR(unary("math.log2", 8), 3, 1e-6);
  EXPECT_NEAR(unary("math.tanh", 0.5f), std::tanh(0.5), 1e-6);
  const float nan = std::nanf("");
  auto two = [&](const char *op, float a, float b) {
    return eval(std::string("(%a: f32, %b: f32) -> f32 { %r = ") + op +
                    " %a, %b : f32 return %r : f32 }",
                {Word::ofFloat(a), Word::ofFloat(b)})
        .f;
  };
  EXPECT_EQ(two("arith.maxnumf", nan, 1), 1);
  EXPECT_TRUE(std::isnan(two("arith.maximumf", nan, 1)));
  EXPECT_EQ(two("arith.divf", 1, 4), 0.25f);
  EXPECT_EQ(eval("(%a: f32) -> f32 { %t = arith.truncf %a : f32 to bf16 "
                 "%r = arith.extf %t : bf16 to f32 return %r : f32 }",
                 {Word::ofFloat(1.00390625f)})
                .f,
            1.0f);
}

TEST_F(ScalarTest, FloatToIntegerSaturates) {
  auto convert = [&](float x) {
    return eval("(%a: f32) -> i32 { %r = arith.fptosi %a : f32 to i32 return "
                "%r : i32 }",
                {Word::ofFloat(x)})
        .i;
  };
  EXPECT_EQ(convert(-1.9f), -1);
  EXPECT_EQ(convert(1e20f), INT32_MAX);
  EXPECT_EQ(convert(-1e20f), INT32_MIN);
  EXPECT_EQ(convert(std::nanf("")), 0);
}

TEST_F(ScalarTest, UnknownOpIsNamed) {
  std::string error;
  EXPECT_FALSE(compile(
      "(%a: f32) -> f32 { %r = math.erf %a : f32 return %r : f32 }", error));
  EXPECT_EQ(error, "'math.erf' is not a scalar op");
}

TEST_F(ScalarTest, ControlFlow) {
  auto source = parse(R"(func.func @f(%n: i32) -> (i32, i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> i32 : i32 {
      %odd = arith.andi %i, %c1 : i32
      %is = arith.cmpi eq, %odd, %c1 : i32
      %x = scf.if %is -> i32 {
        scf.yield %i : i32
      } else {
        scf.yield %c0 : i32
      }
      %t = arith.addi %s, %x : i32
      scf.yield %t : i32
    }
    %turns = scf.while (%a = %c1) : (i32) -> i32 {
      %go = arith.cmpi slt, %a, %n : i32
      scf.condition(%go) %a : i32
    } do {
    ^bb0(%a: i32):
      %b = arith.muli %a, %c3 : i32
      scf.yield %b : i32
    }
    return %sum, %turns : i32, i32
  })");
  ASSERT_TRUE(source) << diagnostics;
  auto f = source->lookupSymbol<mlir::func::FuncOp>("f");
  sim::LaunchOptions options;
  sim::Interp interp({}, options);
  llvm::SmallVector<sim::Datum> results;
  ASSERT_TRUE(
      succeeded(interp.run(f.getBody(), {sim::Datum::ofInt(10)}, results)));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].asInt(), 1 + 3 + 5 + 7 + 9);
  EXPECT_EQ(results[1].asInt(), 27);
  EXPECT_EQ(interp.param<int32_t>(100), 0); // past the end
}

} // namespace
