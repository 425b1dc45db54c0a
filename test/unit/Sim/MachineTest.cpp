//===- MachineTest.cpp - one run of the machine stands for all ------------===//
//
// Small kernels of two roles.  The rules of order must call broken what some
// interleaving makes go wrong, and nothing else:
//
//   rules on, one schedule       ->  verdict
//   rules off, every schedule    ->  the same verdict in one of them at least
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/Machine.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Sim/FragMutate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <iostream>

using namespace attn;
using sim::ScheduleKind;
using sim::Verdict;

namespace {

struct Shape {
  int slots = 2, readers = 1, items = 3;
};

class MachineTest : public ::testing::Test {
protected:
  MachineTest() {
    context.loadDialect<frag::FragDialect, mlir::arith::ArithDialect,
                        mlir::scf::SCFDialect>();
  }

  /// A kernel whose roles `write`, of one warp, and `read`, of `readers` times
  /// one warp, have the given bodies.
  mlir::OwningOpRef<mlir::ModuleOp>
  parse(const Shape &s, const std::string &write, const std::string &read) {
    std::string slots = std::to_string(s.slots);
    std::string readers = std::to_string(s.readers);
    std::string text =
        "!W = !frag.words<1, slots = " + slots +
        ">\n!B = !frag.bars<slots = " + slots +
        ">\n!P = !frag.pos<slots = " + slots + ">\n" +
        "frag.kernel @k threads " + std::to_string(32 * (1 + s.readers)) +
        R"( smem 128 params 8 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %n = arith.constant )" +
        std::to_string(s.items) + R"( : i32
  %w = frag.words "w" at 0 : !W
  %f = frag.bars "full" at 32 count 1 : !B
  %e = frag.bars "empty" at 64 count )" +
        readers + R"( : !B
  frag.init %f, %e : !B, !B
  frag.role_dispatch [
      #frag.role<"write", first_warp = 0, warps = 1, active = 1, replicas = 1>,
      #frag.role<"read", first_warp = 1, warps = 1, active = 1, replicas = )" +
        readers + ">] {\n" + write + "}, " + (s.readers > 1 ? "(%rank) " : "") +
        "{\n" + read + "}\n  frag.return\n}\n";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        text, mlir::ParserConfig(&context));
    EXPECT_TRUE(module) << text;
    return module;
  }
  static std::string loop(const std::string &phase, const std::string &body) {
    return "%p0 = frag.pos phase " + phase +
           " : !P\n%z = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> "
           "(!P) : i32 {\n" +
           body + "%p1 = frag.next %p : !P\nscf.yield %p1 : !P\n}\n";
  }
  /// Words through a ring.
  mlir::OwningOpRef<mlir::ModuleOp> ring(const Shape &s) {
    return parse(s, loop("1", R"(
      frag.mbar_wait %e[%p] : !B
      frag.elect {
        frag.st_words (%i) to %w[%p] : !W
        frag.mbar_arrive_one %f[%p] : !B
      })"),
                 loop("0", R"(
      frag.mbar_wait %f[%p] : !B
      %v = frag.ld_words 1 of %w[%p] : !W
      frag.mbar_arrive %e[%p] sync : !B
      )"));
  }

  static mlir::Operation *kernelOf(mlir::ModuleOp module) {
    return *module.getOps<frag::KernelOp>().begin();
  }
  sim::Report run(mlir::ModuleOp module, const sim::MachineOptions &options) {
    return sim::runMachine(kernelOf(module), params, options);
  }
  sim::Report run(mlir::ModuleOp module) {
    sim::MachineOptions options;
    options.maxSteps = 10000;
    return run(module, options);
  }
  /// Goes through the interleavings with the rules off up to the first that has
  /// a verdict: all of them with one slot and one reader.
  sim::Report search(mlir::ModuleOp module, const Shape &s) {
    bool all = s.slots == 1 && s.readers == 1;
    sim::Explorer explorer(1000, all ? 30000 : 3000);
    sim::MachineOptions options;
    options.scheduler = &explorer;
    options.maxSteps = 10000;
    options.foresee = false;
    sim::Report report;
    do {
      report = run(module, options);
    } while (report.ok() && explorer.next());
    EXPECT_TRUE(!report.ok() || explorer.complete() || !all);
    return report;
  }

  mlir::MLIRContext context;
  std::vector<char> params = std::vector<char>(8, 0);
};

TEST_F(MachineTest, OneRunStandsForAll) {
  unsigned caught = 0, equivalent = 0;
  for (Shape s : {Shape{1, 1, 3}, Shape{2, 1, 3}, Shape{1, 2, 2}}) {
    auto module = ring(s);
    ASSERT_TRUE(module);
    EXPECT_EQ(search(*module, s).str(), "correct");
    for (const sim::FragMutant &mutant :
         sim::listFragMutants(kernelOf(*module))) {
      mlir::OwningOpRef<mlir::ModuleOp> broken = module->clone();
      ASSERT_TRUE(sim::applyFragMutant(kernelOf(*broken), mutant));
      std::string name = mutant.name + ", " + std::to_string(s.slots) +
                         " slots, " + std::to_string(s.readers) + " readers";
      // The same whatever the schedule.
      sim::MachineOptions options;
      options.maxSteps = 10000;
      sim::Report own = run(*broken);
      for (uint64_t seed = 0; seed < 12; ++seed) {
        options.kind =
            seed % 2 ? ScheduleKind::Random : ScheduleKind::Adversarial;
        options.seed = seed;
        sim::Report other = run(*broken, options);
        EXPECT_EQ(own.ok(), other.ok()) << name << ": " << own.str() << "\n"
                                        << other.str();
      }
      sim::Report found = search(*broken, s);
      EXPECT_EQ(own.ok(), found.ok()) << name << ": " << own.str() << "\n"
                                      << found.str();
      (own.ok() ? equivalent : caught)++;
      if (own.ok())
        std::cout << "equivalent: " << name << "\n";
    }
  }
  std::cout << caught << " caught, " << equivalent << " equivalent\n";
  EXPECT_GT(caught, 70u);
}

// Nothing is read, so that only the phases are at stake.
TEST_F(MachineTest, ArrivalOfTwoPhases) {
  auto module = parse({1, 1, 2}, loop("1", R"(
      frag.elect {
        frag.mbar_arrive_one %f[%p] : !B
      })"),
                      loop("0", "frag.mbar_wait %f[%p] : !B\n"));
  // The second arrival comes behind the wait, or before it.
  unsigned races = 0, deadlocks = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    sim::MachineOptions options;
    options.kind = ScheduleKind::Random;
    options.seed = seed;
    sim::Report report = run(*module, options);
    EXPECT_FALSE(report.ok());
    deadlocks += report.verdict == Verdict::Deadlock;
    races += report.message.find(
                 "phase 1 of slot 0 of bars 'full' ends and nothing orders it "
                 "behind the wait for phase 0 by role 'read' warp 1") !=
             std::string::npos;
  }
  EXPECT_GT(races, 0u);
  EXPECT_EQ(races + deadlocks, 12u);
}

TEST_F(MachineTest, ArrivalBehindNoPhase) {
  auto module = parse({1, 2, 2}, loop("1", R"(
      frag.mbar_wait %e[%p] : !B
      )"),
                      loop("0", "frag.mbar_arrive %e[%p] sync : !B\n"));
  sim::Report report = run(*module);
  EXPECT_EQ(report.verdict, Verdict::Race);
  EXPECT_NE(report.message.find("counts for phase 1 of slot 0 of bars 'empty' "
                                "and nothing orders it behind the end of phase "
                                "0"),
            std::string::npos)
      << report.str();
}

TEST_F(MachineTest, NamedBarrierOfTwoGroups) {
  // Each pair of warps means its own turn.
  auto module = parse({1, 3, 1}, "frag.barrier_sync 1 threads 64\n",
                      "frag.barrier_sync 1 threads 64\n");
  sim::Report report = run(*module);
  EXPECT_EQ(report.verdict, Verdict::Race);
  EXPECT_NE(report.message.find("comes to barrier 1 and nothing orders it "
                                "behind the turn before, of role"),
            std::string::npos)
      << report.str();
}

// Three warps take turns: each waits at its own barrier, to which the one before
// it comes.  No mbarrier, and no false alarm.
TEST_F(MachineTest, HandoverRing) {
  auto module = parse({1, 3, 4}, "", R"(
      %p = frag.pos phase 0 : !P
      %c3 = arith.constant 3 : i32
      %up = arith.addi %rank, %c1 : i32
      %next = arith.remui %up, %c3 : i32
      %last = arith.cmpi eq, %next, %c0 : i32
      scf.if %last {
        frag.barrier_arrive 1 threads 64
      }
      scf.for %i = %c0 to %n step %c1 : i32 {
        frag.barrier_sync 1 + %rank threads 64
        frag.st_words (%i) to %w[%p] : !W
        frag.barrier_arrive 1 + %next threads 64
      })");
  ASSERT_TRUE(module);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    sim::MachineOptions options;
    options.kind = seed % 2 ? ScheduleKind::Random : ScheduleKind::Adversarial;
    options.seed = seed;
    EXPECT_EQ(run(*module, options).verdict, Verdict::Correct) << seed;
  }
  // Without the handover the stores race.
  kernelOf(*module)->walk([](frag::BarrierSyncOp op) { op.erase(); });
  EXPECT_EQ(run(*module).verdict, Verdict::Race);
}

TEST_F(MachineTest, StepsAreBounded) {
  auto module = ring({2, 1, 3});
  sim::MachineOptions options;
  options.maxSteps = 5;
  sim::Report report = run(*module, options);
  EXPECT_EQ(report.verdict, Verdict::NoEnd);
  EXPECT_NE(report.message.find("not done after 6 steps, the limit: "),
            std::string::npos)
      << report.str();
}

TEST_F(MachineTest, LoopThatNeverStops) {
  auto module = parse({1, 1, 1}, R"(
      %t = arith.constant true
      scf.while : () -> () {
        scf.condition(%t)
      } do {
        scf.yield
      })",
                      "");
  sim::Report report = run(*module);
  EXPECT_EQ(report.verdict, Verdict::NoEnd);
  EXPECT_NE(report.message.find("scf.while: goes on after 1048576 turns of "
                                "loops"),
            std::string::npos)
      << report.str();
}

} // namespace
