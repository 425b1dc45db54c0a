//===- PipeMutantsTest.cpp - edits that the simulator must catch at L2 ----===//
//
// Every edit of the list at every place of a kernel: each is caught, or every
// interleaving of its runs is right.
//
//===----------------------------------------------------------------------===//

#include "KernelText.h"

#include "attn/Sim/PipeMutate.h"

#include "gtest/gtest.h"

#include <iostream>
#include <map>

using namespace attn;
using namespace attn::test;
using sim::ScheduleKind;
using sim::Verdict;

namespace {

class PipeMutantsTest : public ::testing::Test, public SimFixture {
protected:
  /// Judges all mutants; at most `equivalents` may be right.
  void judge(mlir::ModuleOp module, const KernelShape &shape,
             const Batch &batch, size_t atLeast, size_t equivalents) {
    std::vector<sim::LaunchOptions> launches;
    auto add = [&](ScheduleKind kind, uint64_t seed, bool redo) {
      sim::LaunchOptions options;
      options.schedule = kind;
      options.seed = seed;
      options.failCheck = redo;
      options.ctas = 2;
      options.maxSteps = 100000; // some go round for ever
      for (int32_t item = 0; item < 64; ++item)
        options.takers.push_back(item % 2);
      launches.push_back(options);
    };
    add(ScheduleKind::RoundRobin, 0, false);
    add(ScheduleKind::RoundRobin, 0, true);
    for (uint64_t seed = 0; seed < 3; ++seed) {
      add(ScheduleKind::Adversarial, seed, seed % 2);
      add(ScheduleKind::Random, seed, seed % 2);
    }
    auto runOne = [&](mlir::ModuleOp mutated,
                      const sim::LaunchOptions &options) {
      std::string error;
      run(mutated, shape, batch, error, 0, options);
      if (report.ok() && !error.empty())
        report.give(Verdict::NotRun, error);
      return report;
    };
    std::map<std::string, int> counts;
    size_t same = 0;
    auto verdicts = sim::judgePipeMutants(module, shape.name, launches, runOne);
    EXPECT_GE(verdicts.size(), atLeast);
    for (const sim::MutantVerdict &v : verdicts) {
      EXPECT_FALSE(v.open) << v.mutant.name;
      EXPECT_NE(v.report.verdict, Verdict::NotRun)
          << v.mutant.name << ": " << v.report.str();
      ++counts[v.equivalent ? "equivalent" : nameOf(v.report.verdict).str()];
      if (!v.equivalent)
        continue;
      ++same;
      std::cout << "equivalent: " << v.mutant.name << ", " << v.states
                << " states\n";
    }
    for (auto &[name, count] : counts)
      std::cout << count << " " << name << "\n";
    EXPECT_LE(same, equivalents);
  }
};

TEST_F(PipeMutantsTest, WorkedPrefill) {
  KernelShape shape;
  auto module = parseWorked("prefill-sm90.pipe.mlir", shape);
  ASSERT_TRUE(module) << diagnostics;
  // Visits of ragged and of full blocks, each of the three loops taken.
  judge(*module, shape, {{4, 2, 1, 4, 4}, {18, 9, 5, 80, 48}}, 110, 6);
}

// One role on both sides of its channels: cp.async, one visit ahead.
class OneRoleMutants : public PipeMutantsTest {
protected:
  void judgeOneRole(KernelShape shape, const Batch &batch) {
    if (shape.hooks.empty())
      shape.hooks = R"(
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    })";
    auto module = parse(kernelText(shape));
    ASSERT_TRUE(module) << diagnostics;
    ASSERT_TRUE(toPipe(*module)) << diagnostics;
    judge(*module, shape, batch, 30, 1);
  }
  const Batch batch = {{12, 3}, {40, 20}};
};

TEST_F(OneRoleMutants, Causal) { judgeOneRole({}, batch); }

TEST_F(OneRoleMutants, Opaque) {
  KernelShape shape;
  shape.closed = false;
  judgeOneRole(shape, batch);
}

TEST_F(OneRoleMutants, Ascending) {
  KernelShape shape;
  shape.ascending = true;
  judgeOneRole(shape, batch);
}

TEST_F(OneRoleMutants, HalfPrecision) {
  KernelShape shape;
  shape.element = "f16";
  shape.tileK = 16;
  judgeOneRole(shape, {{12, 3}, {70, 20}});
}

TEST_F(OneRoleMutants, WithoutSoftmax) {
  KernelShape shape;
  shape.softmax = false;
  shape.score = true;
  shape.hooks = R"(
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %one = arith.constant 1.0 : f32
      %n = arith.negf %s : f32
      %e = math.exp %n : f32
      %d = arith.addf %one, %e : f32
      %w = arith.divf %one, %d : f32
      attn.yield %w : f32
    }
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    })";
  judgeOneRole(shape, batch);
}

TEST_F(OneRoleMutants, Frozen) {
  KernelShape shape;
  shape.frozen = true;
  shape.tileK = 16;
  judgeOneRole(shape, {{12, 3}, {70, 20}});
}

} // namespace
