//===- MergeTest.cpp - attnrt_merge_states --------------------------------===//
#include "TestBundle.h"

#include <cmath>

TEST(Merge, TwoParts) {
  // Scores 1, 3 | 2 with values 10, 20 | 30.
  float o1 = float((10 * std::exp(1) + 20 * std::exp(3)) /
                   (std::exp(1) + std::exp(3)));
  float lse1 = float(std::log(std::exp(1) + std::exp(3)));
  float o2 = 30, lse2 = 2;
  const float *o[] = {&o1, &o2}, *lse[] = {&lse1, &lse2};
  float outO = 0, outLse = 0;
  ASSERT_OK(attnrt_merge_states(2, o, lse, 1, 1, &outO, &outLse));
  EXPECT_NEAR(outO, 21.547, 1e-3);
  EXPECT_NEAR(outLse, 3.4076, 1e-4);
}

TEST(Merge, EmptyIsTheUnitT04) {
  const float inf = INFINITY;
  float empty[2] = {NAN, 5}, full[2] = {1, 2}, lseEmpty = -inf, lseFull = 3;
  float outO[2] = {9, 9}, outLse = 9;
  const float *one[] = {empty, full}, *oneLse[] = {&lseEmpty, &lseFull};
  ASSERT_OK(attnrt_merge_states(2, one, oneLse, 1, 2, outO, &outLse));
  EXPECT_EQ(outO[0], 1);
  EXPECT_EQ(outO[1], 2);
  EXPECT_EQ(outLse, 3);
  const float *both[] = {empty, empty}, *bothLse[] = {&lseEmpty, &lseEmpty};
  ASSERT_OK(attnrt_merge_states(2, both, bothLse, 1, 2, outO, &outLse));
  EXPECT_EQ(outO[0], 0);
  EXPECT_EQ(outO[1], 0);
  EXPECT_EQ(outLse, -inf);
  ASSERT_OK(attnrt_merge_states(0, nullptr, nullptr, 1, 2, outO, &outLse));
  EXPECT_EQ(outLse, -inf);
}

TEST(Merge, NaNStaysBesideNothing) {
  const float inf = INFINITY;
  for (float full : {-inf, 3.0f}) {
    float o1 = NAN, o2 = 1, lse1 = NAN;
    const float *o[] = {&o1, &o2}, *lse[] = {&lse1, &full};
    float outO = 9, outLse = 9;
    ASSERT_OK(attnrt_merge_states(2, o, lse, 1, 1, &outO, &outLse));
    EXPECT_TRUE(std::isnan(outO));
    EXPECT_TRUE(std::isnan(outLse));
  }
}

TEST(Merge, InPlaceAndHugeScores) {
  float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  float lseA[2] = {1e6f, -1e6f}, lseB[2] = {1e6f, -1e6f};
  const float *o[] = {a, b}, *lse[] = {lseA, lseB};
  ASSERT_OK(attnrt_merge_states(2, o, lse, 2, 2, a, lseA));
  EXPECT_EQ(a[0], 3);
  EXPECT_EQ(a[1], 4);
  EXPECT_EQ(a[2], 5);
  EXPECT_EQ(a[3], 6);
  EXPECT_FLOAT_EQ(lseA[0], 1e6f + 0.6931472f);
}

TEST(Merge, RefusesNull) {
  float x = 0;
  const float *o[] = {&x, nullptr}, *lse[] = {&x, &x};
  EXPECT_FAILS(attnrt_merge_states(2, o, lse, 1, 1, &x, &x),
               ATTNRT_INVALID_ARGUMENT, "part 1 of 2 is null");
  EXPECT_FAILS(attnrt_merge_states(2, o, lse, 1, 1, nullptr, &x),
               ATTNRT_INVALID_ARGUMENT,
               "a list or a result of 2 parts is null");
  EXPECT_EQ(attnrt_merge_states(2, o, lse, 0, 1, nullptr, nullptr), ATTNRT_OK);
}
