//===- FibersTest.cpp - schedulers, fibers, reports -----------------------===//

#include "attn/Sim/Fiber.h"
#include "attn/Sim/Verdict.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <set>

using namespace attn::sim;

namespace {

/// Two fibers of `turns` turns each; the order in which they went.
std::string twoFibers(Scheduler &scheduler, int turns) {
  std::string order;
  Fibers fibers(scheduler);
  for (char name : {'a', 'b'})
    fibers.add(std::string(1, name), [&, name] {
      for (int i = 0; i < turns; ++i) {
        order += name;
        if (!fibers.yield())
          return;
      }
    });
  EXPECT_EQ(fibers.run(), Fibers::End::Done);
  return order;
}

TEST(Fibers, RoundRobinTakesTurns) {
  auto scheduler = makeScheduler(ScheduleKind::RoundRobin, 0);
  EXPECT_EQ(twoFibers(*scheduler, 3), "ababab");
}

TEST(Fibers, ASeedReplays) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto once = makeScheduler(ScheduleKind::Random, seed);
    auto again = makeScheduler(ScheduleKind::Random, seed);
    std::string order = twoFibers(*once, 6);
    EXPECT_EQ(order, twoFibers(*again, 6));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 10u);
}

TEST(Fibers, TheAdversaryStarvesOne) {
  EXPECT_EQ(twoFibers(*makeScheduler(ScheduleKind::Adversarial, 1), 3),
            "aaabbb");
}

TEST(Fibers, ExplorerSeesEveryOrder) {
  // Each fiber stops 3 times and then ends: 4 steps each, C(8, 4) orders of
  // them, C(6, 3) of the letters.
  Explorer explorer(100, 1000);
  std::set<std::string> orders;
  do {
    orders.insert(twoFibers(explorer, 3));
  } while (explorer.next());
  EXPECT_TRUE(explorer.complete());
  EXPECT_EQ(explorer.runs(), 70u);
  EXPECT_EQ(orders.size(), 20u);
}

TEST(Fibers, ExplorerBoundsPreemptions) {
  Explorer explorer(0, 1000);
  std::set<std::string> orders;
  do {
    orders.insert(twoFibers(explorer, 3));
  } while (explorer.next());
  EXPECT_TRUE(explorer.complete());
  EXPECT_EQ(orders, (std::set<std::string>{"aaabbb", "bbbaaa"}));
  Explorer few(100, 5);
  do {
    twoFibers(few, 3);
  } while (few.next());
  EXPECT_FALSE(few.complete());
  EXPECT_EQ(few.runs(), 5u);
}

TEST(Fibers, ActionsAreDoneAtAnyTimeInTheOrderOfTheirQueue) {
  std::set<std::string> orders;
  Explorer explorer(100, 10000);
  do {
    std::string order;
    Fibers fibers(explorer);
    fibers.add("a", [&] {
      fibers.addAction([&] { order += '1'; }, nullptr, /*queue=*/0);
      uint64_t second =
          fibers.addAction([&] { order += '2'; }, nullptr, /*queue=*/0);
      fibers.addAction([&] { order += 't'; });
      order += 'a';
      fibers.block([&, second] { return fibers.isDone(second); }, nullptr,
                   [] { return std::string(); });
      order += 'b';
    });
    EXPECT_EQ(fibers.run(), Fibers::End::Done);
    orders.insert(order);
  } while (explorer.next());
  EXPECT_EQ(orders,
            (std::set<std::string>{"a12bt", "a12tb", "a1t2b", "at12b"}));
}

TEST(Fibers, AgentsOfTheAdversaryComeLast) {
  auto scheduler = makeScheduler(ScheduleKind::Adversarial, 0);
  std::string order;
  Fibers fibers(*scheduler);
  for (char name : {'a', 'b'})
    fibers.add(std::string(1, name), [&, name] {
      fibers.addAction([&] { order += '!'; });
      fibers.yield();
      order += name;
    });
  EXPECT_EQ(fibers.run(), Fibers::End::Done);
  EXPECT_EQ(order, "ba!!");
}

TEST(Fibers, DeadlockNamesTheWaiters) {
  auto scheduler = makeScheduler(ScheduleKind::RoundRobin, 0);
  Fibers fibers(*scheduler);
  bool unwound = false;
  fibers.add("a", [&] {
    EXPECT_FALSE(fibers.block([] { return false; }, nullptr,
                              [] { return std::string("the sun"); }));
    unwound = true;
  });
  fibers.add("b", [] {});
  EXPECT_EQ(fibers.run(), Fibers::End::Stuck);
  ASSERT_EQ(fibers.waiters().size(), 1u);
  EXPECT_EQ(fibers.waiters()[0].name, "a");
  EXPECT_EQ(fibers.waiters()[0].what, "the sun");
  EXPECT_TRUE(unwound);
}

TEST(Fibers, StepsAreBounded) {
  auto scheduler = makeScheduler(ScheduleKind::RoundRobin, 0);
  Fibers fibers(*scheduler, 10);
  fibers.add("a", [&] {
    while (fibers.yield())
      ;
  });
  EXPECT_EQ(fibers.run(), Fibers::End::Limit);
}

TEST(Fibers, StopUnwinds) {
  auto scheduler = makeScheduler(ScheduleKind::RoundRobin, 0);
  Fibers fibers(*scheduler);
  bool never = false;
  fibers.add("a", [&] { fibers.stop(); });
  fibers.add("b", [&] { never = true; });
  EXPECT_EQ(fibers.run(), Fibers::End::Stopped);
  EXPECT_FALSE(never);
}

TEST(Verdict, TheFirstOneStays) {
  Report report;
  EXPECT_TRUE(report.ok());
  report.give(Verdict::Race, "first");
  report.give(Verdict::Deadlock, "second");
  EXPECT_EQ(report.str(), "race: first");
}

TEST(Verdict, PlacesArePrinted) {
  mlir::MLIRContext context;
  mlir::Location loc = mlir::FileLineColLoc::get(&context, "x.mlir", 3, 4);
  Report report;
  report.schedule = "random";
  report.seed = 7;
  report.give(Verdict::Deadlock, "no role can go on",
              mlir::NameLoc::get(mlir::StringAttr::get(&context, "n"), loc));
  report.note("role 'load' waits", loc);
  report.note("role 'compute' has ended");
  std::string text;
  llvm::raw_string_ostream os(text);
  report.print(os);
  EXPECT_EQ(text, "deadlock (random schedule, seed 7): no role can go on "
                  "(x.mlir:3:4)\n"
                  "  role 'load' waits (x.mlir:3:4)\n"
                  "  role 'compute' has ended\n");
}

TEST(Verdict, Names) {
  std::set<std::string> names;
  for (Verdict v : {Verdict::Correct, Verdict::WrongValues, Verdict::Race,
                    Verdict::Deadlock, Verdict::NoEnd, Verdict::ResourceError,
                    Verdict::NotRun})
    names.insert(nameOf(v).str());
  EXPECT_EQ(names.size(), 7u);
  for (ScheduleKind kind : {ScheduleKind::RoundRobin, ScheduleKind::Random,
                            ScheduleKind::Adversarial})
    EXPECT_EQ(parseScheduleKind(nameOf(kind)), kind);
  EXPECT_FALSE(parseScheduleKind("fair"));
}

} // namespace
