//===- MutationTest.cpp - what the L3 interpreter must notice -------------===//
//
// Each case breaks a correct kernel in one place; the run must end with an
// error or with wrong values.
//
//===----------------------------------------------------------------------===//

#include "FragFixture.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;

namespace {

struct Broken : testing::Test {
  Broken() {
    shape = FragFixture::shape();
    shape.hooks = R"(
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    })";
    lowered = fixture.lower(FragFixture::text(shape));
  }

  template <class OpT> std::vector<OpT> all() {
    std::vector<OpT> ops;
    fixture.frag->lookupSymbol<frag::KernelOp>("k").walk(
        [&](OpT op) { ops.push_back(op); });
    return ops;
  }

  /// The error, or "wrong values", or "" if nothing was noticed.
  std::string outcome() {
    std::string error;
    auto result = fixture.run(shape, {{40, 5}, {90, 37}}, error);
    if (!error.empty())
      return error;
    return result.ok ? "" : "wrong values";
  }

  FragFixture fixture;
  KernelShape shape;
  bool lowered = false;
};

TEST_F(Broken, NothingChanged) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  EXPECT_EQ(outcome(), "");
}

TEST_F(Broken, BarrierOfAVisitDropped) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  for (auto op : all<frag::CtaSyncOp>())
    if (mlir::isa<mlir::scf::ForOp>(op->getParentOp())) {
      op.erase();
      break;
    }
  EXPECT_EQ(outcome(), "frag.mma: reads slot 0 of ring 'k' before a wait and a "
                       "barrier cover its copy");
}

TEST_F(Broken, BarrierBeforeQueryDropped) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  // The one at the item's begin is there for a second item in the same CTA.
  auto syncs = all<frag::CtaSyncOp>();
  ASSERT_GT(syncs.size(), 1u);
  syncs[1].erase();
  EXPECT_EQ(outcome(), "frag.ldmatrix: reads slot 0 of ring 'q' before a wait "
                       "and a barrier cover its copy");
}

TEST_F(Broken, WaitTooWeak) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  mlir::Builder builder(&fixture.context);
  for (auto op : all<frag::CpAsyncWaitOp>())
    if (mlir::isa<mlir::scf::ForOp>(op->getParentOp()))
      op.setPendingAttr(builder.getI32IntegerAttr(1));
  EXPECT_EQ(outcome(), "frag.mma: reads slot 0 of ring 'v' before a wait and a "
                       "barrier cover its copy");
}

TEST_F(Broken, CommitDropped) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  auto commits = all<frag::CpAsyncCommitOp>();
  ASSERT_EQ(commits.size(), 7u);
  commits[2].erase();
  EXPECT_EQ(outcome(), "frag.ldmatrix: reads slot 0 of ring 'q' before a wait "
                       "and a barrier cover its copy");
}

TEST_F(Broken, PositionStandsStill) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  for (auto op : all<frag::NextOp>())
    op.replaceAllUsesWith(op.getPos());
  EXPECT_EQ(outcome(), "frag.mma: reads slot 0 of ring 'k' before a wait and a "
                       "barrier cover its copy");
}

TEST_F(Broken, CopyOverASlotInUse) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  // The copies of the next visit go behind the products that read the slot.
  for (auto op : all<frag::NextOp>())
    op.replaceAllUsesWith(op.getPos());
  for (auto loop : all<mlir::scf::ForOp>())
    for (auto branch :
         llvm::make_early_inc_range(loop.getBody()->getOps<mlir::scf::IfOp>()))
      branch->moveBefore(loop.getBody()->getTerminator());
  EXPECT_EQ(outcome(), "frag.cp_async: fills slot 0 of ring 'k' that was read "
                       "since the last barrier");
}

TEST_F(Broken, SecondCopyIntoTheSameSlot) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  auto copy = all<frag::CpAsyncOp>()[0];
  mlir::OpBuilder builder(copy);
  builder.clone(*copy);
  EXPECT_EQ(outcome(), "frag.cp_async: fills slot 0 of ring 'q' while another "
                       "copy into it is in flight");
}

TEST_F(Broken, RingWithoutOffset) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  mlir::Builder builder(&fixture.context);
  all<frag::SmemOp>()[1].setOffsetAttr(builder.getI32IntegerAttr(-1));
  EXPECT_EQ(outcome(), "frag.smem: ring 'k' has no offset");
}

TEST_F(Broken, RingPastTheEnd) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  mlir::Builder builder(&fixture.context);
  fixture.frag->lookupSymbol<frag::KernelOp>("k").setSmemAttr(
      builder.getI32IntegerAttr(4096));
  EXPECT_EQ(outcome(), "frag.smem: ring 'k' ends at byte 8192 but the kernel "
                       "has 4096");
}

TEST_F(Broken, UnalignedRows) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  auto copy = all<frag::CpAsyncOp>()[0];
  mlir::Block &body = copy.getBody().front();
  auto yield = mlir::cast<frag::YieldOp>(body.getTerminator());
  mlir::OpBuilder builder(yield);
  mlir::Value one = mlir::arith::ConstantOp::create(
      builder, copy.getLoc(), builder.getI64IntegerAttr(1));
  mlir::Value offset = mlir::arith::AddIOp::create(builder, copy.getLoc(),
                                                   yield.getValues()[0], one);
  yield.getValuesMutable()[0].set(offset);
  EXPECT_NE(outcome().find("which is not a multiple of 16"), std::string::npos);
}

TEST_F(Broken, RowMaximumMissing) {
  ASSERT_TRUE(lowered) << fixture.diagnostics;
  // Every exponential overflows.
  for (auto op : all<frag::ReduceRowOp>())
    if (op.getScope() == frag::ReduceScope::Row) {
      mlir::OpBuilder builder(op);
      mlir::Value zero = mlir::arith::ConstantOp::create(
          builder, op.getLoc(), builder.getF32FloatAttr(-1000));
      op.replaceAllUsesWith(
          frag::SplatOp::create(builder, op.getLoc(), op.getType(), zero)
              .getResult());
      op.erase();
    }
  EXPECT_EQ(outcome(), "wrong values");
}

} // namespace
