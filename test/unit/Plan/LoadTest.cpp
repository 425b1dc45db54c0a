//===- LoadTest.cpp - items over workers ----------------------------------===//

#include "attn/Plan/Load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace attn::plan;

namespace {

TEST(Load, WorkedExample) {
  std::vector<Turn> turns = replay({5, 4, 3, 2}, 2);
  ASSERT_EQ(turns.size(), 4u);
  const int32_t workers[] = {0, 1, 1, 0};
  const double begins[] = {0, 0, 4, 5};
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(turns[i].worker, workers[i]) << "item " << i;
    EXPECT_EQ(turns[i].begin, begins[i]) << "item " << i;
  }
}

TEST(Load, InTurn) {
  std::vector<Turn> turns = replay({5, 4, 3, 2, 1}, 2, /*inTurn=*/true);
  ASSERT_EQ(turns.size(), 5u);
  const double begins[] = {0, 0, 5, 4, 8};
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(turns[i].worker, int32_t(i % 2)) << "item " << i;
    EXPECT_EQ(turns[i].begin, begins[i]) << "item " << i;
  }
}

TEST(Load, NoItems) { EXPECT_TRUE(replay({}, 3).empty()); }

// Turns of a worker follow each other without gap, items begin in order, and no
// worker ends more than one item after another (the bound of list scheduling).
TEST(Load, RandomPlans) {
  std::mt19937 random(7);
  for (unsigned round = 0; round < 200; ++round) {
    int32_t workers = 1 + random() % 9;
    std::vector<double> costs(random() % 60);
    for (double &cost : costs)
      cost = random() % 20;
    std::vector<Turn> turns = replay(costs, workers);
    ASSERT_EQ(turns.size(), costs.size());
    std::vector<double> ends(workers, 0.0);
    double last = 0, longest = 0;
    for (unsigned i = 0; i < costs.size(); ++i) {
      ASSERT_GE(turns[i].worker, 0);
      ASSERT_LT(turns[i].worker, workers);
      EXPECT_EQ(turns[i].begin, ends[turns[i].worker]);
      EXPECT_GE(turns[i].begin, last);
      last = turns[i].begin;
      ends[turns[i].worker] += costs[i];
      longest = std::max(longest, costs[i]);
    }
    auto [least, most] = std::minmax_element(ends.begin(), ends.end());
    EXPECT_LE(*most - *least, longest);
  }
}

} // namespace
