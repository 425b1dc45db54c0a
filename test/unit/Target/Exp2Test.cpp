//===- Exp2Test.cpp -------------------------------------------------------===//

#include "attn/Target/Exp2.h"

#include <gtest/gtest.h>

#include <limits>

using namespace attn;

static float ofBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// Every 509th float of both signs; the step is prime, so that all low bits occur.
TEST(Exp2, RelativeError) {
  const double smallest = std::ldexp(1.0, -126);
  double worst = 0;
  for (uint64_t bits = 0; bits < 0xff800000; bits += 509) {
    float x = ofBits(uint32_t(bits));
    if (std::isnan(x))
      continue;
    float got = exp2fma::evaluate(x);
    if (x >= 128) {
      ASSERT_EQ(got, std::numeric_limits<float>::infinity()) << x;
    } else if (x <= -127) {
      ASSERT_EQ(got, 0.0f) << x;
      ASSERT_FALSE(std::signbit(got)) << x;
    } else if (x < -126) {
      ASSERT_TRUE(got >= 0 && got <= smallest) << x;
    } else {
      double wanted = std::exp2(double(x));
      worst = std::max(worst, std::fabs(got - wanted) / wanted);
    }
  }
  EXPECT_LT(worst, 3.2e-6);
  EXPECT_GT(worst, 2e-6); // the constants are what the comment says
}

TEST(Exp2, Corners) {
  float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exp2fma::evaluate(inf), inf);
  EXPECT_EQ(exp2fma::evaluate(-inf), 0.0f);
  EXPECT_EQ(exp2fma::evaluate(std::nanf("")), inf);
  for (int n = -126; n < 128; ++n)
    EXPECT_EQ(exp2fma::evaluate(float(n)), std::ldexp(1.0f, n)) << n;
  EXPECT_EQ(exp2fma::evaluate(-0.0f), 1.0f);
}

/// A share is as many of 16 columns, and no two neighbours below a half.
TEST(Exp2, ShareIsSpread) {
  for (unsigned share = 0; share <= 16; ++share) {
    unsigned count = 0;
    for (unsigned column = 0; column < 16; ++column) {
      count += exp2fma::isOnFma(column, share);
      EXPECT_EQ(exp2fma::isOnFma(column, share),
                exp2fma::isOnFma(column + 32, share));
      if (share && share <= 8) {
        EXPECT_FALSE(exp2fma::isOnFma(column, share) &&
                     exp2fma::isOnFma(column + 1, share));
      }
    }
    EXPECT_EQ(count, share);
  }
}
