//===- ElementTest.cpp - f16 and bf16 conversions -------------------------===//
#include "attn/Oracle/Element.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace attn::oracle;

TEST(Element, Bf16) {
  EXPECT_EQ(floatToBf16(1.0f), 0x3f80);
  EXPECT_EQ(floatToBf16(-2.0f), 0xc000);
  EXPECT_EQ(floatToBf16(1.00390625f), 0x3f80); // a tie, down to even
  EXPECT_EQ(floatToBf16(1.01171875f), 0x3f82); // a tie, up to even
  EXPECT_EQ(floatToBf16(1.00390637f), 0x3f81);
  EXPECT_EQ(floatToBf16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(floatToBf16(std::numeric_limits<float>::max()), 0x7f80);
  // A NaN whose high bits are those of infinity stays a NaN.
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(bitsToFloat(0x7f800001)))));
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float f = bf16ToFloat(uint16_t(bits));
    if (std::isnan(f))
      EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(f))));
    else
      ASSERT_EQ(floatToBf16(f), bits);
  }
}

TEST(Element, F16) {
  EXPECT_EQ(floatToF16(1.0f), 0x3c00);
  EXPECT_EQ(floatToF16(-2.0f), 0xc000);
  EXPECT_EQ(floatToF16(65504.0f), 0x7bff);
  EXPECT_EQ(floatToF16(65519.0f), 0x7bff);
  EXPECT_EQ(floatToF16(65520.0f), 0x7c00); // a tie, to infinity
  EXPECT_EQ(floatToF16(1e10f), 0x7c00);
  EXPECT_EQ(floatToF16(0x1p-24f), 0x0001);
  EXPECT_EQ(floatToF16(0x1p-25f), 0x0000);   // a tie, to even
  EXPECT_EQ(floatToF16(0x1.8p-24f), 0x0002); // a tie, to even
  EXPECT_EQ(floatToF16(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(floatToF16(0x1.ffep-15f), 0x0400); // carries into a normal number
  EXPECT_EQ(floatToF16(-0.0f), 0x8000);
  EXPECT_EQ(floatToF16(1.00048828125f), 0x3c00); // a tie, to even
  EXPECT_EQ(f16ToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(f16ToFloat(0x3555), 0.333251953125f);
  EXPECT_TRUE(std::isinf(f16ToFloat(0x7c00)));
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float f = f16ToFloat(uint16_t(bits));
    if (std::isnan(f))
      EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(f))));
    else
      ASSERT_EQ(floatToF16(f), bits);
  }
}

// The result is one of the two neighbours and the nearer one.
TEST(Element, RoundsToNearest) {
  std::mt19937 random(3);
  for (int n = 0; n < 100000; ++n) {
    float f = bitsToFloat((random() & 0x07ffffffu) | 0x34000000u);
    for (Element e : {Element::F16, Element::BF16}) {
      double r = roundTo(e, f);
      if (std::isinf(r))
        continue;
      uint16_t bits = e == Element::F16 ? floatToF16(f) : floatToBf16(f);
      for (int step : {-1, 1}) {
        uint16_t other = uint16_t(bits + step);
        double x = e == Element::F16 ? f16ToFloat(other) : bf16ToFloat(other);
        ASSERT_LE(std::fabs(r - f), std::fabs(x - f));
      }
    }
  }
}

TEST(Element, Memory) {
  uint8_t bytes[16] = {};
  for (Element e : {Element::F32, Element::F16, Element::BF16}) {
    storeElement(e, bytes, 1, 1.5f);
    EXPECT_EQ(loadElement(e, bytes, 1), 1.5f);
    EXPECT_EQ(loadElement(e, bytes, 0), 0.0f);
    EXPECT_EQ(elementBytes(e), e == Element::F32 ? 4u : 2u);
  }
  EXPECT_EQ(roundTo(Element::F32, 1.1f), 1.1f);
  EXPECT_STREQ(nameOf(Element::F32), "f32");
  EXPECT_STREQ(nameOf(Element::F16), "f16");
  EXPECT_STREQ(nameOf(Element::BF16), "bf16");
}
