//===- FrozenTest.cpp - the frozen row reference at L3 --------------------===//
//
// A redo leaves no trace in the results, so the tests that ask whether one took
// place spoil it: in the second turn of a tile every row's sum becomes 0.
//
//===----------------------------------------------------------------------===//

#include "FragFixture.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;

namespace {

const char *mask = R"(
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    })";

// Key 3 is in the block that is visited last.
const char *lateSpike = R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %three = arith.constant 3 : i32
      %big = arith.constant 1000.0 : f32
      %at = arith.cmpi eq, %kp, %three : i32
      %x = arith.addf %s, %big : f32
      %r = arith.select %at, %x, %s : f32
      attn.yield %r : f32
    })";

// Rows past the item's have positions past the last key.
const char *deadSpike = R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %len = attn.length kv
      %three = arith.constant 3 : i32
      %big = arith.constant 1000.0 : f32
      %dead = arith.cmpi sge, %qp, %len : i32
      %third = arith.cmpi eq, %kp, %three : i32
      %at = arith.andi %dead, %third : i1
      %x = arith.addf %s, %big : f32
      %r = arith.select %at, %x, %s : f32
      attn.yield %r : f32
    })";

const char *deadNan = R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %len = attn.length kv
      %nan = arith.constant 0x7FC00000 : f32
      %dead = arith.cmpi sge, %qp, %len : i32
      %r = arith.select %dead, %nan, %s : f32
      attn.yield %r : f32
    })";

// All scores of a row are the same and huge: its keys have the same weight.
const char *equalHuge = R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %x = arith.constant -1.0e36 : f32
      attn.yield %x : f32
    })";

// Huge scores that differ: one key of each row has all the weight.
const char *rampHuge = R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %unit = arith.constant 1.0e36 : f32
      %f = arith.sitofp %kp : i32 to f32
      %x = arith.mulf %f, %unit : f32
      attn.yield %x : f32
    })";

// The first blocks that a row sees hold nothing for it.
const char *lateStart = R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %limit = arith.constant 20 : i32
      %low = arith.constant 0xFF800000 : f32
      %late = arith.cmpi sge, %kp, %limit : i32
      %r = arith.select %late, %low, %s : f32
      attn.yield %r : f32
    })";

struct Frozen : testing::Test {
  Frozen() {
    shape = FragFixture::shape();
    shape.frozen = true;
  }

  void lower(const char *score, const char *from = "", const char *to = "") {
    shape.score = *score;
    shape.hooks = std::string(score) + mask;
    std::string text = FragFixture::text(shape);
    if (*from) {
      size_t at = text.find(from);
      ASSERT_NE(at, std::string::npos);
      text.replace(at, std::string(from).size(), to);
    }
    ASSERT_TRUE(fixture.lower(text)) << fixture.diagnostics;
  }

  void spoilRedo() {
    auto kernel = fixture.frag->lookupSymbol<frag::KernelOp>("k");
    unsigned spoiled = 0;
    kernel.walk([&](mlir::scf::WhileOp loop) {
      if (!loop->getParentOfType<mlir::scf::WhileOp>())
        return;
      mlir::Value exact = loop.getBeforeArguments()[0];
      ASSERT_TRUE(exact.getType().isInteger(1));
      auto condition = loop.getConditionOp();
      mlir::OpOperand *sum = nullptr;
      for (mlir::OpOperand &operand : condition->getOpOperands())
        if (auto vec = mlir::dyn_cast<frag::VecType>(operand.get().getType()))
          if (vec.getPartial())
            sum = &operand;
      ASSERT_TRUE(sum);
      mlir::OpBuilder builder(condition);
      auto map = frag::MapOp::create(
          builder, loop.getLoc(), sum->get().getType(), sum->get(),
          [&](mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange args) {
            mlir::Value zero =
                mlir::arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
            mlir::Value value =
                mlir::arith::SelectOp::create(b, loc, exact, zero, args[0]);
            frag::YieldOp::create(b, loc, value);
          });
      sum->set(map.getResult(0));
      ++spoiled;
    });
    ASSERT_EQ(spoiled, 1u);
  }

  std::string outcome(const Batch &batch, int32_t split = 0) {
    return fixture.outcome(shape, batch, split);
  }

  FragFixture fixture;
  KernelShape shape;
};

/// Every row sees the block of key 3 as a full one.
const Batch decode = {{5, 9}, {90, 70}};

TEST_F(Frozen, NormalInputsAreNotRedone) {
  lower("");
  EXPECT_EQ(outcome(ragged), "");
  EXPECT_EQ(outcome(ragged, 32), "");
  spoilRedo();
  EXPECT_EQ(outcome(ragged), "");
}

TEST_F(Frozen, F16) {
  shape.element = "f16";
  lower("");
  EXPECT_EQ(outcome(ragged), "");
}

TEST_F(Frozen, ForcedExactNeedsNoRedo) {
  lower(lateSpike,
        "%e0 = attn.exact_prefix %r1#1, %rows, %c, %zero, %bAll, %exact",
        "%yes = arith.constant true\n"
        "%e0 = attn.exact_prefix %r1#1, %rows, %c, %zero, %bAll, %yes");
  spoilRedo();
  EXPECT_EQ(outcome(decode), "");
  EXPECT_EQ(outcome(decode, 32), "");
}

TEST_F(Frozen, FailedCheckIsRedone) {
  lower("", "%ok = attn.check %O, %l, %rows limit 64 : !Ot, !R, !rows",
        "%ok = arith.constant false");
  EXPECT_EQ(outcome(ragged), "");
  EXPECT_EQ(outcome(ragged, 32), "");
  spoilRedo();
  EXPECT_EQ(outcome(ragged), "wrong values");
}

TEST_F(Frozen, LateHugeScoreIsRedone) {
  lower(lateSpike);
  EXPECT_EQ(outcome(decode), "");
  spoilRedo();
  EXPECT_EQ(outcome(decode), "wrong values");
}

TEST_F(Frozen, WithoutTheCheckALateHugeScoreIsWrong) {
  lower(lateSpike, "%ok = attn.check %O, %l, %rows limit 64 : !Ot, !R, !rows",
        "%ok = arith.constant true");
  EXPECT_EQ(outcome(decode), "wrong values");
}

TEST_F(Frozen, DeadRowsDecideNothing) {
  for (const char *score : {deadSpike, deadNan}) {
    lower(score);
    EXPECT_EQ(outcome(decode), "");
    spoilRedo();
    EXPECT_EQ(outcome(decode), "");
  }
}

TEST_F(Frozen, RowsWithoutAReferenceTakeOneExactBlock) {
  // Masked blocks leave m = -inf, and so does a full block of -inf alone.
  lower(lateStart);
  EXPECT_EQ(outcome(decode), "");
}

TEST_F(Frozen, HugeScores) {
  for (const char *score : {equalHuge, rampHuge})
    for (bool frozen : {false, true}) {
      shape.frozen = frozen;
      lower(score);
      EXPECT_EQ(outcome(ragged), "") << score;
      // The LSE of a split has no room for the number of its keys beside 1e36.
      if (score == rampHuge) {
        EXPECT_EQ(outcome(ragged, 32), "") << score;
      }
    }
}

} // namespace
