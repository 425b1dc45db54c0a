//===- LazyTest.cpp - the lazy row reference at L3 ------------------------===//
//
// A rescale that is skipped leaves no trace in the results, so the tests that ask
// which rows move spoil it: a row that moves loses what it summed.
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

/// Blocks are visited from the last key on: scores rise by `step` a key, to 0
/// at key 0.
std::string rising(double step) {
  return R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %step = arith.constant )" +
         std::to_string(-step) + R"( : f32
      %f = arith.sitofp %kp : i32 to f32
      %x = arith.mulf %f, %step : f32
      attn.yield %x : f32
    })";
}

/// The same for all keys: far from 0 c m is not precise.
std::string level(const std::string &value) {
  return R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %x = arith.constant )" +
         value + R"( : f32
      attn.yield %x : f32
    })";
}

// NaN in the row of position 7, and -inf in that of 9.
const char *oddRows = R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %seven = arith.constant 7 : i32
      %nine = arith.constant 9 : i32
      %nan = arith.constant 0x7FC00000 : f32
      %low = arith.constant 0xFF800000 : f32
      %is7 = arith.cmpi eq, %qp, %seven : i32
      %is9 = arith.cmpi eq, %qp, %nine : i32
      %x = arith.select %is7, %nan, %s : f32
      %y = arith.select %is9, %low, %x : f32
      attn.yield %y : f32
    })";

struct Lazy : testing::Test {
  Lazy() {
    shape = FragFixture::shape();
    shape.lazy = 8;
  }

  void lower(const std::string &score) {
    shape.score = !score.empty();
    shape.hooks = score + mask;
    ASSERT_TRUE(fixture.lower(FragFixture::text(shape))) << fixture.diagnostics;
  }

  /// The branch around the rescaling in each loop.
  template <typename Fn> void forRescales(unsigned count, Fn change) {
    auto kernel = fixture.frag->lookupSymbol<frag::KernelOp>("k");
    unsigned found = 0;
    kernel.walk([&](mlir::scf::IfOp branch) {
      auto any = branch.getCondition().getDefiningOp<frag::AnyOp>();
      if (!any || !branch->getParentOfType<mlir::scf::ForOp>())
        return;
      EXPECT_EQ(any.getScope(), frag::VoteScope::Warp);
      change(branch);
      ++found;
    });
    EXPECT_EQ(found, count);
  }

  /// A row whose factor is not 1 becomes 0.
  void spoilRescale() {
    forRescales(2, [](mlir::scf::IfOp branch) {
      mlir::Operation *yield = branch.thenBlock()->getTerminator();
      auto map = yield->getOperand(0).getDefiningOp<frag::MapOp>();
      ASSERT_TRUE(map);
      mlir::Block &body = map.getBody().front();
      mlir::Operation *end = body.getTerminator();
      mlir::OpBuilder b(end);
      auto constant = [&](float value) -> mlir::Value {
        return mlir::arith::ConstantOp::create(b, map.getLoc(),
                                               b.getF32FloatAttr(value));
      };
      mlir::Value kept = mlir::arith::CmpFOp::create(
          b, map.getLoc(), mlir::arith::CmpFPredicate::OEQ, body.getArgument(1),
          constant(1));
      end->setOperand(0, mlir::arith::SelectOp::create(b, map.getLoc(), kept,
                                                       body.getArgument(0),
                                                       constant(0)));
    });
  }

  /// No warp rescales.
  void dropRescale() {
    forRescales(2, [](mlir::scf::IfOp branch) {
      mlir::OpBuilder b(branch);
      branch.getConditionMutable().assign(mlir::arith::ConstantOp::create(
          b, branch.getLoc(), b.getBoolAttr(false)));
    });
  }

  std::string outcome(const Batch &batch, int32_t split = 0) {
    return fixture.outcome(shape, batch, split);
  }

  FragFixture fixture;
  KernelShape shape;
};

/// Every row sees nearly all blocks.
const Batch decode = {{5, 9}, {90, 70}};

TEST_F(Lazy, RightForEveryThreshold) {
  for (const char *element : {"bf16", "f16"})
    for (int32_t threshold : {0, 1, 8, 15}) {
      shape.element = element;
      shape.lazy = threshold;
      for (double step : {0.0, 0.01, 0.3, 1.0, 50.0}) {
        lower(step == 0 ? "" : rising(step));
        EXPECT_EQ(outcome(ragged), "") << element << threshold << step;
        EXPECT_EQ(outcome(decode, 32), "") << element << threshold << step;
      }
    }
}

TEST_F(Lazy, ThresholdZeroIsTheMaximum) {
  std::vector<float> o, lse;
  for (int32_t threshold : {-1, 0, 8}) {
    shape.lazy = threshold;
    lower(rising(0.05));
    EXPECT_EQ(outcome(ragged), "");
    if (threshold < 0) {
      o = fixture.lastO;
      lse = fixture.lastLse;
    } else {
      EXPECT_EQ(o == fixture.lastO, threshold == 0);
      EXPECT_EQ(lse == fixture.lastLse, threshold == 0);
    }
  }
}

TEST_F(Lazy, NearMaximaDoNotMoveTheReference) {
  for (const std::string &score : {std::string(), rising(0.05)}) {
    lower(score);
    spoilRescale();
    // From -inf on O is 0 whatever its factor is.
    EXPECT_EQ(outcome(decode), "");
    dropRescale();
    EXPECT_EQ(outcome(decode), "");
  }
  // The maximum is moved by every rise.
  shape.lazy = 0;
  lower(rising(0.05));
  spoilRescale();
  EXPECT_EQ(outcome(decode), "wrong values");
}

TEST_F(Lazy, FarMaximaMoveIt) {
  lower(rising(0.3)); // 90 keys are 27, or 39 units
  EXPECT_EQ(outcome(decode), "");
  dropRescale();
  EXPECT_EQ(outcome(decode), "wrong values");
  lower(rising(0.3));
  spoilRescale();
  EXPECT_EQ(outcome(decode), "wrong values");
}

TEST_F(Lazy, HugeScoresTakeTheMaximum) {
  // Precise, not precise, beyond the middle case.
  for (const char *value :
       {"1.0e5", "-2.0e7", "1.0e8", "-1.0e30", "1.0e38", "-1.0e38"}) {
    lower(level(value));
    EXPECT_EQ(outcome(ragged), "") << value;
  }
  for (double step : {1e5, 3e6, 1e36}) {
    lower(rising(step));
    EXPECT_EQ(outcome(ragged), "") << step;
    EXPECT_EQ(outcome(ragged, 32), "") << step;
  }
}

TEST_F(Lazy, OddRowsHarmNoOther) {
  lower(oddRows);
  EXPECT_EQ(outcome(ragged), "");
  EXPECT_EQ(outcome(decode), "");
}

} // namespace
