//===- RolePassesTest.cpp - kernels that the passes cut into roles --------===//
//
// L1 text with small tiles and a schedule of two roles, through all passes of
// attn-to-pipe, under every scheduler against the oracle.
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

struct Roles {
  int32_t replicas = 2, q = 2, k = 2, v = 2, verdict = 3, work = 2, pv = 1;
  bool ring = false, dynamic = true;

  std::string text() const {
    auto n = [](int32_t value) { return std::to_string(value); };
    return "#pipe.schedule<roles = [#pipe.role<\"load\", warps = 1, replicas = "
           "1, regs = 24>, #pipe.role<\"compute\", warps = 4, replicas = " +
           n(replicas) +
           ", regs = 240>], place = {default = \"compute\", load_kv = "
           "\"load\", load_query = \"load\"}, agents = {load_kv = \"tma\", "
           "load_query = \"tma\", pv = \"mma\", qk = \"mma\"}, atoms = {}, "
           "channels = {k = " +
           n(k) + " : i32, q = " + n(q) + " : i32, v = " + n(v) +
           " : i32, verdict = " + n(verdict) + " : i32, work = " + n(work) +
           " : i32}, skew = {pv = " + n(pv) + " : i32}, handover = \"" +
           (ring ? "ring" : "none") + "\", persist = \"" +
           (dynamic ? "dynamic" : "static") + "\", unroll = 1>";
  }
};

const char *const causal = R"(
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    })";
const char *const sigmoid = R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %one = arith.constant 1.0 : f32
      %n = arith.negf %s : f32
      %e = math.exp %n : f32
      %d = arith.addf %one, %e : f32
      %w = arith.divf %one, %d : f32
      attn.yield %w : f32
    })";
const char *const sink = R"(
    attn.hook sink(%b, %h) {
      %z = arith.constant 0.5 : f32
      attn.yield %z : f32
    })";

// Visits of 8 keys: 0, 1, 2 and many; ragged tails; rows that see nothing.
const Batch ragged = {{1, 0, 4, 5, 9}, {7, 12, 0, 18, 60}};

class RolePasses : public ::testing::Test, public SimFixture {
protected:
  /// The kernel of a shape, cut into roles.
  void lower(KernelShape shape, const Roles &roles) {
    shape.pipe = roles.text();
    shape.tileQ = 8 * roles.replicas;
    if (shape.hooks.empty())
      shape.hooks = causal;
    this->shape = shape;
    module = parse(kernelText(shape));
    ASSERT_TRUE(module) << diagnostics;
    ASSERT_TRUE(toPipe(*module)) << diagnostics;
  }
  std::string simulate(const Batch &batch, sim::LaunchOptions options = {},
                       int32_t split = 0) {
    std::string error;
    oracle::Comparison c = run(*module, shape, batch, error, split, options);
    return !error.empty() ? error : c.message;
  }
  /// 20 seeds of each scheduler, five with each number of replicas.
  void everySchedule(const KernelShape &shape) {
    for (int32_t replicas = 1; replicas <= 4; ++replicas) {
      Roles roles;
      roles.replicas = replicas;
      roles.ring = replicas != 2;
      roles.dynamic = replicas != 3;
      lower(shape, roles);
      if (HasFatalFailure())
        return;
      for (ScheduleKind kind : {ScheduleKind::RoundRobin, ScheduleKind::Random,
                                ScheduleKind::Adversarial})
        for (uint64_t seed = 0; seed < 5; ++seed) {
          sim::LaunchOptions options;
          options.schedule = kind;
          options.seed = seed * 4 + uint64_t(replicas);
          options.ctas = 1 + int32_t(seed % 3);
          options.failCheck = seed % 4 == 1;
          options.forceExact = seed % 4 == 2;
          EXPECT_EQ(simulate(ragged, options, seed % 2 ? 16 : 0), "")
              << replicas << " replicas, " << nameOf(kind).str() << " " << seed;
        }
    }
  }

  KernelShape shape;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(RolePasses, Exact) { everySchedule({}); }

TEST_F(RolePasses, Frozen) {
  KernelShape shape;
  shape.frozen = true;
  everySchedule(shape);
}

TEST_F(RolePasses, Opaque) {
  KernelShape shape;
  shape.closed = false;
  everySchedule(shape);
}

TEST_F(RolePasses, Ascending) {
  KernelShape shape;
  shape.ascending = true;
  everySchedule(shape);
}

TEST_F(RolePasses, Unpacked) {
  KernelShape shape;
  shape.pack = 1;
  shape.dimV = 32;
  shape.frozen = true;
  everySchedule(shape);
}

TEST_F(RolePasses, HalfPrecision) {
  KernelShape shape;
  shape.element = "f16";
  shape.frozen = true;
  everySchedule(shape);
}

TEST_F(RolePasses, Sink) {
  KernelShape shape;
  shape.sink = true;
  shape.hooks = std::string(causal) + sink;
  everySchedule(shape);
}

TEST_F(RolePasses, WithoutSoftmax) {
  KernelShape shape;
  shape.softmax = false;
  shape.score = true;
  shape.hooks = std::string(sigmoid) + causal;
  everySchedule(shape);
}

TEST_F(RolePasses, EveryDepth) {
  KernelShape shape;
  shape.frozen = true;
  for (int32_t k = 1; k <= 4; ++k)
    for (int32_t v = 1; v <= 4; ++v) {
      Roles roles;
      roles.k = k;
      roles.v = v;
      roles.q = 1 + (k + v) % 2;
      roles.verdict = 1 + (k + 2 * v) % 5;
      roles.work = 1 + k % 3;
      roles.ring = v % 2;
      roles.pv = k < 4 || v < 4;
      lower(shape, roles);
      for (uint64_t seed = 0; seed < 3; ++seed) {
        sim::LaunchOptions options;
        options.schedule = ScheduleKind::Random;
        options.seed = seed;
        options.ctas = 2;
        options.failCheck = seed == 1;
        EXPECT_EQ(simulate(ragged, options), "") << k << " " << v;
      }
    }
}

TEST_F(RolePasses, EveryStreamOfTheQueue) {
  KernelShape shape;
  shape.frozen = true;
  lower(shape, {});
  for (int32_t way = 0; way < 64; ++way) {
    sim::LaunchOptions options;
    options.ctas = 2;
    options.failCheck = way % 2;
    for (int32_t item = 0; item < 6; ++item)
      options.takers.push_back(way >> item & 1);
    ASSERT_EQ(simulate({{4, 3, 1}, {20, 30, 5}}, options), "") << way;
  }
}

TEST_F(RolePasses, EveryInterleavingOfTheTraces) {
  KernelShape shape;
  shape.frozen = true;
  for (bool ring : {false, true})
    for (bool redo : {false, true}) {
      Roles roles;
      roles.ring = ring;
      lower(shape, roles);
      std::vector<sim::PipeTrace> traces;
      sim::LaunchOptions options;
      options.traces = &traces;
      options.failCheck = redo;
      ASSERT_EQ(simulate({{4, 0, 3}, {20, 5, 30}}, options), "");
      ASSERT_EQ(traces.size(), 1u);
      sim::Exploration all = sim::explorePipe(traces.front(), 2000000);
      EXPECT_EQ(all.report.str(), "correct");
      EXPECT_TRUE(all.complete);
      EXPECT_GT(all.states, 1000u);
    }
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

class Turns : public RolePasses {
protected:
  void SetUp() override {
    Roles roles;
    roles.ring = true;
    lower({}, roles);
    module->walk([&](pipe::TakeTurnOp op) { takes.push_back(op); });
    module->walk([&](pipe::PassTurnOp op) { passes.push_back(op); });
    // Passed blocks, first visit, masked loop, full loop.
    ASSERT_EQ(takes.size(), 4u);
    ASSERT_EQ(passes.size(), 4u);
    ofPassed = {takes[0], passes[0]};
    takes.erase(takes.begin());
    passes.erase(passes.begin());
  }
  /// The turn of the blocks that a replica does not see.
  std::vector<mlir::Operation *> ofPassed;
  std::vector<pipe::TakeTurnOp> takes;
  std::vector<pipe::PassTurnOp> passes;
  const Batch batch = {{4}, {20}};
};

TEST_F(Turns, NotPassed) {
  passes[0].erase();
  EXPECT_NE(simulate(batch).find("takes turn 1 while it has turn 0"),
            std::string::npos);
  EXPECT_EQ(report.verdict, Verdict::ResourceError);
}

TEST_F(Turns, NotTaken) {
  takes[0].erase();
  EXPECT_NE(simulate(batch).find("passes turn 0 but has taken 0"),
            std::string::npos);
  EXPECT_EQ(report.verdict, Verdict::ResourceError);
}

TEST_F(Turns, OneReplicaTakesNone) {
  // In blocks that replica 1 passes: only replica 0 turns to them.
  for (mlir::Operation *op : ofPassed) {
    mlir::OpBuilder b(op);
    mlir::Value rank = op->getParentRegion()
                           ->getParentOp()
                           ->getParentOfType<pipe::RolesOp>()
                           .getBodies()[1]
                           .getArgument(0);
    auto zero = mlir::arith::ConstantIntOp::create(b, op->getLoc(), 0, 32);
    auto first = mlir::arith::CmpIOp::create(
        b, op->getLoc(), mlir::arith::CmpIPredicate::eq, rank, zero);
    auto branch = mlir::scf::IfOp::create(b, op->getLoc(), first, false);
    op->moveBefore(branch.thenBlock()->getTerminator());
  }
  std::string error = simulate(batch);
  EXPECT_EQ(report.verdict, Verdict::Deadlock) << error;
  EXPECT_NE(error.find("pipe.take_turn: role 'compute'[1] has passed "),
            std::string::npos)
      << error;
  diagnostics.clear();
  EXPECT_FALSE(verifySchedule(*module));
}

} // namespace
