//===- SlotsTest.cpp - broken schedules are reported by name --------------===//
//
// Each test changes one op of a correct L2 kernel and expects the simulator and
// the schedule verifier to say what is wrong.
//
//===----------------------------------------------------------------------===//

#include "KernelText.h"

#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;

namespace {

class SlotsTest : public ::testing::Test, public SimFixture {
protected:
  void SetUp() override {
    shape.hooks = R"(
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    })";
    module = parse(kernelText(shape));
    ASSERT_TRUE(module) << diagnostics;
    ASSERT_TRUE(toPipe(*module)) << diagnostics;
    ASSERT_EQ(simulate(), "");
    kernel = module->lookupSymbol<KernelOp>("k");
  }

  /// Error of a run; "" if it agrees with the oracle.
  std::string simulate() {
    std::string error;
    oracle::Comparison c = run(*module, shape, {{40, 3}, {40, 20}}, error);
    return !error.empty() ? error : c.message;
  }
  /// Errors of pipe-verify-schedule.
  std::string verify() {
    diagnostics.clear();
    bool ok = verifySchedule(*module);
    EXPECT_EQ(ok, diagnostics.empty());
    return diagnostics;
  }

  static llvm::StringRef channelName(mlir::Value channel) {
    return channel.getDefiningOp<pipe::ChannelOp>().getName();
  }
  /// The n-th op of a kind that stands on a channel, in the kernel's order.
  template <class OpT> OpT find(llvm::StringRef channel, int n = 0) {
    OpT found;
    kernel.walk([&](OpT op) {
      mlir::Value value = op->getOperand(0);
      if (auto acquire = value.getDefiningOp<pipe::AcquireOp>())
        value = acquire.getChannel();
      else if (auto wait = value.getDefiningOp<pipe::WaitOp>())
        value = wait.getChannel();
      if (channelName(value) == channel && n-- == 0)
        found = op;
    });
    EXPECT_TRUE(found);
    return found;
  }

  KernelShape shape;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelOp kernel;
};

TEST_F(SlotsTest, MissingRelease) {
  find<pipe::ReleaseOp>("k")->erase();
  EXPECT_EQ(simulate(), "pipe.acquire: slot 0 of channel 'k' is held by a "
                        "consumer but must be free");
  EXPECT_EQ(verify(), "slot is never released\n");
}

TEST_F(SlotsTest, MissingReleaseOfTheQuery) {
  find<pipe::ReleaseOp>("q")->erase();
  EXPECT_EQ(simulate(), "pipe.acquire: slot 0 of channel 'q' is held by a "
                        "consumer but must be free");
}

TEST_F(SlotsTest, DoubleCommit) {
  auto commit = find<pipe::CommitOp>("v");
  mlir::OpBuilder b(commit->getBlock(), ++commit->getIterator());
  b.clone(*commit);
  EXPECT_EQ(simulate(), "pipe.commit: slot 0 of channel 'v' is full but must "
                        "be held by its producer");
  EXPECT_EQ(verify(), "slot is committed twice\n");
}

TEST_F(SlotsTest, DoubleRelease) {
  auto release = find<pipe::ReleaseOp>("k");
  mlir::OpBuilder b(release->getBlock(), ++release->getIterator());
  b.clone(*release);
  EXPECT_EQ(simulate(), "pipe.release: slot 0 of channel 'k' is free but must "
                        "be held by a consumer");
  EXPECT_EQ(verify(), "slot is released twice\n");
}

TEST_F(SlotsTest, ReadAfterRelease) {
  auto release = find<pipe::ReleaseOp>("v");
  release->moveAfter(release.getSlot().getDefiningOp());
  EXPECT_EQ(simulate(),
            "attn.pv: reads slot 0 of channel 'v' after its release");
  EXPECT_EQ(verify(), "slot is used after it was released\n");
}

TEST_F(SlotsTest, QueryReleasedBeforeTheLastLoop) {
  auto release = find<pipe::ReleaseOp>("q");
  mlir::Operation *loop = release->getPrevNode();
  ASSERT_TRUE(mlir::isa<mlir::scf::ForOp>(loop));
  release->moveBefore(loop);
  EXPECT_EQ(simulate(),
            "attn.qk: reads slot 0 of channel 'q' after its release");
}

TEST_F(SlotsTest, MissingCommit) {
  find<pipe::CommitOp>("k")->erase();
  EXPECT_EQ(simulate(), "pipe.wait: slot 0 of channel 'k' is held by its "
                        "producer but must be full");
  EXPECT_EQ(verify(), "slot is never committed\n");
}

TEST_F(SlotsTest, CommitWithoutCopy) {
  auto issue =
      find<pipe::CommitOp>("k").getFutures()[0].getDefiningOp<pipe::IssueOp>();
  issue.getBody().front().front().erase();
  EXPECT_EQ(simulate(), "pipe.commit: slot 0 of channel 'k' was not written");
}

// The copies of the next visit are started even if there is none.
TEST_F(SlotsTest, TooManyCopies) {
  mlir::scf::IfOp ahead;
  kernel.walk([&](mlir::scf::IfOp op) {
    if (!op.getThenRegion().getOps<pipe::AcquireOp>().empty() &&
        mlir::isa<mlir::scf::ForOp>(op->getParentOp()))
      ahead = op;
  });
  ASSERT_TRUE(ahead);
  mlir::OpBuilder b(ahead);
  ahead.getConditionMutable().assign(
      mlir::arith::ConstantIntOp::create(b, ahead.getLoc(), 1, 1));
  // In front of the first key there is nothing to read.
  EXPECT_EQ(simulate(), "attn.copy_kv: first key is -8 but must be at least 0");
  EXPECT_NE(verify().find("of channel 'k' is held by a consumer but must be "
                          "free (loops of"),
            std::string::npos)
      << verify();
}

// A last visit that starts no copy for the one behind it.
TEST_F(SlotsTest, MissingCopies) {
  mlir::scf::IfOp ahead;
  kernel.walk([&](mlir::scf::IfOp op) {
    if (mlir::isa<mlir::scf::ForOp>(op->getParentOp()))
      ahead = op;
  });
  ASSERT_TRUE(ahead);
  ahead->erase();
  EXPECT_EQ(simulate(),
            "pipe.wait: slot 1 of channel 'k' is free but must be full");
  EXPECT_NE(verify().find("of channel 'k' is free but must be full (loops of"),
            std::string::npos)
      << verify();
}

TEST_F(SlotsTest, OneMoreCopyAnItem) {
  // One more copy at the end of each item.
  auto acquire = find<pipe::AcquireOp>("k");
  auto commit = find<pipe::CommitOp>("k");
  mlir::IRMapping map;
  mlir::OpBuilder b(acquire->getBlock()->getTerminator());
  for (mlir::Operation *op = acquire; op; op = op->getNextNode()) {
    b.clone(*op, map);
    if (op == commit.getOperation())
      break;
  }
  EXPECT_EQ(simulate(), "pipe.acquire: slot 1 of channel 'k' is held by a "
                        "consumer but must be free");
  EXPECT_NE(verify().find("of channel 'k'"), std::string::npos) << verify();
}

TEST_F(SlotsTest, UnknownOpIsNamed) {
  context.allowUnregisteredDialects();
  mlir::OpBuilder b(&kernel.getBody().front().front());
  b.create(mlir::OperationState(b.getUnknownLoc(), "other.op"));
  EXPECT_EQ(simulate(), "other.op: cannot be interpreted");
}

TEST_F(SlotsTest, DynamicOrder) {
  kernel.walk(
      [](pipe::NextWorkOp op) { op.setOrder(pipe::WorkOrder::Dynamic); });
  EXPECT_EQ(simulate(), "");
}

} // namespace
