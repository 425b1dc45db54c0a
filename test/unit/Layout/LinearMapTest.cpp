//===- LinearMapTest.cpp --------------------------------------------------===//

#include "attn/Layout/LinearMap.h"

#include <gtest/gtest.h>

#include <random>

using namespace attn::layout;

TEST(LinearMap, ApplyIsXorOfBasis) {
  auto map = LinearMap::make({1, 8, 2}, 4);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->apply(0), 0u);
  EXPECT_EQ(map->apply(0b101), 3u);
  EXPECT_EQ(map->apply(0b111), 11u);
  // Bits above inBits are ignored.
  EXPECT_EQ(map->apply(0b1101), 3u);
}

TEST(LinearMap, RefusesBasisThatDoesNotFit) {
  EXPECT_FALSE(LinearMap::make({1, 16}, 4));
  EXPECT_TRUE(LinearMap::make({1, 15}, 4));
  EXPECT_FALSE(LinearMap::make(std::vector<uint32_t>(33, 0), 4));
  EXPECT_FALSE(LinearMap::make({1}, 33));
}

TEST(LinearMap, SingularMapHasNoInverse) {
  auto singular = LinearMap::make({1, 2, 3}, 3);
  EXPECT_EQ(singular->rank(), 2u);
  EXPECT_FALSE(singular->isBijective());
  EXPECT_FALSE(singular->inverse());
  auto wide = LinearMap::make({1, 2}, 3);
  EXPECT_EQ(wide->rank(), 2u);
  EXPECT_FALSE(wide->isBijective());
  EXPECT_FALSE(wide->inverse());
}

TEST(LinearMap, ThenChecksBitCounts) {
  EXPECT_FALSE(LinearMap::identity(3).then(LinearMap::identity(4)));
  auto inner = LinearMap::make({4, 1}, 3),
       outer = LinearMap::make({1, 3, 2}, 2);
  auto both = inner->then(*outer);
  ASSERT_TRUE(both);
  for (uint32_t x = 0; x < 4; ++x)
    EXPECT_EQ(both->apply(x), outer->apply(inner->apply(x)));
}

TEST(LinearMap, RandomInverses) {
  std::mt19937 rng(7);
  unsigned bijections = 0;
  for (unsigned trial = 0; trial < 500; ++trial) {
    unsigned n = 1 + rng() % 8;
    std::vector<uint32_t> basis;
    for (unsigned i = 0; i < n; ++i)
      basis.push_back(rng() % (1u << n));
    LinearMap map = *LinearMap::make(basis, n);
    // Brute force decides.
    std::vector<bool> hit(1u << n);
    for (uint32_t x = 0; x < hit.size(); ++x)
      hit[map.apply(x)] = true;
    bool bijective = true;
    for (bool h : hit)
      bijective = bijective && h;
    ASSERT_EQ(map.isBijective(), bijective);
    auto inverse = map.inverse();
    ASSERT_EQ(inverse.has_value(), bijective);
    if (!bijective)
      continue;
    ++bijections;
    EXPECT_EQ(*map.then(*inverse), LinearMap::identity(n));
    EXPECT_EQ(*inverse->then(map), LinearMap::identity(n));
  }
  EXPECT_GT(bijections, 50u);
}
