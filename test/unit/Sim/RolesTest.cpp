//===- RolesTest.cpp - two roles, replicas, channels between them ---------===//
//
// The worked prefill at level L2, with small tiles, under every scheduler, and
// what the simulator says of edits of it.
//
//===----------------------------------------------------------------------===//

#include "KernelText.h"

#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Sim/PipeTrace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;
using sim::ScheduleKind;
using sim::Verdict;

namespace {

// Visits of 16 keys: 0, 1, 2 and many; ragged tails; rows that see nothing.
const Batch ragged = {{1, 0, 4, 5, 9}, {7, 12, 0, 37, 96}};
const Batch one = {{4}, {20}};

class RolesTest : public ::testing::Test, public SimFixture {
protected:
  void SetUp() override {
    module = parseWorked("prefill-sm90.pipe.mlir", shape);
    ASSERT_TRUE(module) << diagnostics;
    kernel = module->lookupSymbol<KernelOp>("prefill");
  }
  std::string simulate(const Batch &batch, sim::LaunchOptions options = {},
                       int32_t split = 0) {
    std::string error;
    oracle::Comparison c = run(*module, shape, batch, error, split, options);
    return !error.empty() ? error : c.message;
  }
  /// The n-th op of a kind on a channel.
  template <class OpT> OpT find(llvm::StringRef channel, int n = 0) {
    OpT found;
    kernel.walk([&](OpT op) {
      mlir::Value value = op->getOperand(0);
      if (auto acquire = value.getDefiningOp<pipe::AcquireOp>())
        value = acquire.getChannel();
      else if (auto wait = value.getDefiningOp<pipe::WaitOp>())
        value = wait.getChannel();
      if (value.getDefiningOp<pipe::ChannelOp>().getName() == channel &&
          n-- == 0)
        found = op;
    });
    EXPECT_TRUE(found);
    return found;
  }

  KernelShape shape;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelOp kernel;
};

TEST_F(RolesTest, EverySchedulerAndSeed) {
  for (ScheduleKind kind : {ScheduleKind::RoundRobin, ScheduleKind::Random,
                            ScheduleKind::Adversarial})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      sim::LaunchOptions options;
      options.schedule = kind;
      options.seed = seed;
      options.ctas = 1 + int32_t(seed % 3);
      options.failCheck = seed % 4 == 1;
      options.forceExact = seed % 4 == 2;
      EXPECT_EQ(simulate(ragged, options, seed % 2 ? 32 : 0), "")
          << nameOf(kind).str() << " " << seed;
      EXPECT_GT(report.steps, 100u);
    }
}

TEST_F(RolesTest, ValuesDoNotDependOnTheSchedule) {
  std::vector<float> first;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    sim::LaunchOptions options;
    options.schedule = ScheduleKind::Random;
    options.seed = seed;
    ASSERT_EQ(simulate(ragged, options), "");
    if (seed == 0)
      first = lastO;
    EXPECT_EQ(first, lastO);
  }
}

TEST_F(RolesTest, EmptyBatch) { EXPECT_EQ(simulate({{}, {}}), ""); }

TEST_F(RolesTest, EveryInterleavingOfTheTraces) {
  for (bool redo : {false, true}) {
    std::vector<sim::PipeTrace> traces;
    sim::LaunchOptions options;
    options.traces = &traces;
    options.failCheck = redo;
    ASSERT_EQ(simulate({{4, 0, 3}, {20, 5, 50}}, options), "");
    ASSERT_EQ(traces.size(), 1u);
    const sim::PipeTrace &trace = traces.front();
    ASSERT_EQ(trace.replicas.size(), 3u);
    sim::Exploration all = sim::explorePipe(trace, 2000000);
    EXPECT_EQ(all.report.str(), "correct");
    EXPECT_TRUE(all.complete);
    EXPECT_GT(all.states, 1000u);
    EXPECT_FALSE(sim::explorePipe(trace, 100).complete);
  }
}

TEST_F(RolesTest, EveryStreamOfTheQueue) {
  // Six items, shared out over two CTAs in every way.
  for (int32_t way = 0; way < 64; ++way) {
    sim::LaunchOptions options;
    options.ctas = 2;
    options.failCheck = way % 2;
    for (int32_t item = 0; item < 6; ++item)
      options.takers.push_back(way >> item & 1);
    ASSERT_EQ(simulate({{4, 3, 1}, {20, 50, 5}}, options), "") << way;
  }
}

TEST_F(RolesTest, ExplorerFindsNothingWithFewPreemptions) {
  sim::Explorer explorer(1, 400);
  do {
    sim::LaunchOptions options;
    options.scheduler = &explorer;
    ASSERT_EQ(simulate(one, options), "");
  } while (explorer.next());
  EXPECT_GT(explorer.runs(), 100u);
}

TEST_F(RolesTest, DeadlockNamesBothSides) {
  // The replicas keep the last K.
  find<pipe::ReleaseOp>("k")->erase();
  std::string error = simulate(ragged);
  EXPECT_EQ(report.verdict, Verdict::Deadlock);
  ASSERT_EQ(report.notes.size(), 3u);
  for (const char *part :
       {"pipe.roles: no role can go on; ",
        "role 'load' waits in pipe.acquire: slot 0 of channel 'k' is held by a "
        "consumer but must be free (turn ",
        ", phase ",
        "; held by 'compute'[0], 'compute'[1]; last moved by role "
        "'compute'[1] in pipe.wait at ",
        "role 'compute'[0] waits in pipe.wait: slot 0 of channel 'k' is held "
        "by a consumer but must be full"})
    EXPECT_NE(error.find(part), std::string::npos) << part << "\n" << error;
  EXPECT_TRUE(report.notes[0].loc);
}

TEST_F(RolesTest, ARoleThatEndedIsNamed) {
  // No end word: compute waits for one.
  kernel.walk([&](pipe::SendOp op) {
    mlir::OpBuilder b(op);
    if (op.getChannel().getDefiningOp<pipe::ChannelOp>().getName() == "work") {
      auto none = mlir::arith::ConstantIntOp::create(b, op.getLoc(), -1, 32);
      op->setOperand(1, none);
    }
  });
  std::string error = simulate(one);
  EXPECT_EQ(report.verdict, Verdict::Deadlock) << error;
  EXPECT_NE(error.find("role 'load' has ended"), std::string::npos) << error;
  EXPECT_NE(error.find("role 'compute'[1] waits in pipe.recv: slot "),
            std::string::npos)
      << error;
}

TEST_F(RolesTest, ReleaseBeforeTheJoin) {
  auto release = find<pipe::ReleaseOp>("v", 2);
  auto join = release.getDone()[0].getDefiningOp<pipe::JoinOp>();
  ASSERT_TRUE(join);
  release.getDoneMutable().clear();
  release->moveBefore(join);
  std::string error = simulate(ragged);
  EXPECT_EQ(report.verdict, Verdict::Race);
  EXPECT_NE(error.find("while an operation that was not joined reads it; "
                       "issued by role 'compute'["),
            std::string::npos)
      << error;
}

TEST_F(RolesTest, CommitBeforeTheCopyLanded) {
  find<pipe::CommitOp>("q").getFuturesMutable().clear();
  EXPECT_NE(simulate(one).find("while a copy that was neither joined nor named "
                               "fills it"),
            std::string::npos);
  EXPECT_EQ(report.verdict, Verdict::Race);
}

TEST_F(RolesTest, ZeroRowsBeforeTheJoin) {
  ZeroRowsOp zero;
  kernel.walk([&](ZeroRowsOp op) { zero = op; });
  zero->moveBefore(zero->getPrevNode());
  EXPECT_NE(simulate(one).find("attn.zero_rows: writes slot 0 of channel 'v' "
                               "while a copy that was not joined fills it"),
            std::string::npos);
}

TEST_F(RolesTest, MissingZeroRows) {
  kernel.walk([](ZeroRowsOp op) { op->erase(); });
  EXPECT_NE(simulate(one), "");
  EXPECT_EQ(report.verdict, Verdict::WrongValues);
}

TEST_F(RolesTest, UnguardedAcquireIsARaceInSomeSchedule) {
  find<pipe::AcquireOp>("k", 2)->setAttr(
      "pipe.unguarded", mlir::UnitAttr::get(kernel.getContext()));
  Verdict found = Verdict::Correct;
  for (uint64_t seed = 0; seed < 20 && found == Verdict::Correct; ++seed) {
    sim::LaunchOptions options;
    options.schedule = ScheduleKind::Adversarial;
    options.seed = seed;
    simulate(ragged, options);
    found = report.verdict;
  }
  EXPECT_EQ(found, Verdict::Race) << report.str();
}

TEST_F(RolesTest, TokensOfTheFeedback) {
  auto channel = kernel.getBody().front().getOps<pipe::ChannelOp>();
  pipe::ChannelOp verdict;
  for (pipe::ChannelOp op : channel)
    if (op.getName() == "verdict")
      verdict = op;
  verdict.setInitial(2);
  EXPECT_EQ(simulate(one), "pipe.channel: has 2 initial tokens but depth 3");
  verdict.setInitial(3);
  auto send = find<pipe::SendOp>("verdict");
  mlir::OpBuilder b(send);
  b.clone(*send);
  EXPECT_NE(simulate(one).find("pipe.send: has no credit: slot "),
            std::string::npos)
      << report.str();
  EXPECT_EQ(report.verdict, Verdict::Race);
}

TEST_F(RolesTest, TooFewTokensAtTheEnd) {
  // The end word judged too.
  auto recv = find<pipe::RecvOp>("verdict");
  auto loop = recv->getParentOfType<mlir::scf::WhileOp>();
  mlir::OpBuilder b(loop->getContext());
  b.setInsertionPointAfter(loop);
  b.clone(*recv);
  EXPECT_EQ(simulate(one), "pipe.roles: ends with 1 tokens in channel "
                           "'verdict' but a feedback channel keeps 2");
}

TEST_F(RolesTest, OperationThatNobodyJoins) {
  pipe::JoinOp join =
      find<pipe::ReleaseOp>("v", 3).getDone()[0].getDefiningOp<pipe::JoinOp>();
  mlir::OpBuilder b(join);
  mlir::Operation *issue = join.getFuture().getDefiningOp();
  b.clone(*issue);
  EXPECT_NE(simulate(ragged).find("while an operation that was not joined"),
            std::string::npos)
      << report.str();
}

TEST_F(RolesTest, WrongRoleOnAChannel) {
  // Compute acquires from a channel that load fills.
  auto wait = find<pipe::WaitOp>("q");
  auto acquire = find<pipe::AcquireOp>("q");
  mlir::OpBuilder b(wait);
  b.clone(*acquire);
  EXPECT_NE(simulate(one).find("pipe.acquire: role 'compute'["),
            std::string::npos);
  EXPECT_NE(report.message.find("is not the producer of channel 'q'"),
            std::string::npos);
}

TEST_F(RolesTest, WrongReaderOfAChannel) {
  auto acquire = find<pipe::AcquireOp>("q");
  mlir::OpBuilder b(acquire);
  b.clone(*find<pipe::WaitOp>("q"));
  EXPECT_EQ(simulate(one), "pipe.wait: role 'load' is not a consumer of "
                           "channel 'q'");
}

TEST_F(RolesTest, PayloadOfTwoLanes) {
  auto channel =
      find<pipe::AcquireOp>("q").getChannel().getDefiningOp<pipe::ChannelOp>();
  pipe::ChannelType type = channel.getResult().getType();
  channel.getResult().setType(
      pipe::ChannelType::get(&context, type.getPayload(), type.getDepth(), 2));
  EXPECT_EQ(simulate(one), "pipe.wait: channel 'q' has 2 lanes but a payload "
                           "comes from 1");
}

TEST_F(RolesTest, LanesOfAnotherNumber) {
  auto channel = find<pipe::SendOp>("verdict")
                     .getChannel()
                     .getDefiningOp<pipe::ChannelOp>();
  channel.setInitial(0);
  auto recv = find<pipe::RecvOp>("verdict");
  mlir::OpBuilder b(recv);
  auto zero = mlir::arith::ConstantIntOp::create(b, recv.getLoc(), 0, 32);
  for (mlir::Value result : recv.getResults())
    result.replaceAllUsesWith(zero);
  recv->erase();
  pipe::ChannelType type = channel.getResult().getType();
  channel.getResult().setType(
      pipe::ChannelType::get(&context, type.getPayload(), type.getDepth(), 3));
  // Two of three lanes are written, and the slots stay full.
  EXPECT_NE(simulate(one).find("of channel 'verdict'"), std::string::npos)
      << report.str();
}

TEST_F(RolesTest, WordsThatWereNotSent) {
  auto send = find<pipe::SendOp>("work");
  send.getWordsMutable().erase(3);
  EXPECT_EQ(simulate(one), "pipe.recv: receives 14 words but 13 were sent");
}

TEST_F(RolesTest, GatherOfTooFew) {
  auto recv = find<pipe::RecvOp>("work");
  mlir::OpBuilder b(recv);
  mlir::Value rank =
      recv->getParentOfType<pipe::RolesOp>().getBodies()[1].getArgument(0);
  pipe::GatherOp::create(b, recv.getLoc(), 1, mlir::ValueRange{rank});
  EXPECT_EQ(simulate(one),
            "pipe.gather: gathers from 2 replicas but has 1 results");
}

TEST_F(RolesTest, JoinWithoutAValue) {
  auto join =
      find<pipe::ReleaseOp>("k", 0).getDone()[0].getDefiningOp<pipe::JoinOp>();
  auto issue = join.getFuture().getDefiningOp<pipe::IssueOp>();
  issue.getBody().front().getTerminator()->setOperands({});
  EXPECT_EQ(simulate(one), "pipe.join: joins an operation without a value");
}

} // namespace
