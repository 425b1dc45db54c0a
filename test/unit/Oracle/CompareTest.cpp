//===- CompareTest.cpp - the tolerance rule -------------------------------===//
#include "OracleFixture.h"

#include "attn/Oracle/Compare.h"

using namespace attn::oracle;

namespace {

struct Result {
  std::vector<float> o, lse;

  explicit Result(const Reference &ref)
      : o(ref.o.begin(), ref.o.end()), lse(ref.lse.begin(), ref.lse.end()) {}
};

/// 6 rows of 2 heads; the first two see nothing.
Fixture problem() {
  Fixture f({{3, 2}}, 2, 1, 4, 4);
  f.fill(1);
  f.causal();
  f.run();
  return f;
}

constexpr double tolerance = 1e-5;

} // namespace

TEST(Compare, Agreement) {
  Fixture f = problem();
  Result r(f.result);
  Comparison c = compare(f.result, r.o.data(), r.lse.data(), tolerance);
  EXPECT_TRUE(c.ok) << c.message;
  EXPECT_TRUE(c.message.empty());
  EXPECT_LT(c.tensorError, 1e-6);
  EXPECT_EQ(c.tensorLimit, 1e-5);
  EXPECT_EQ(c.rowLimit, 5e-5);
  EXPECT_EQ(c.skippedRows, 0);
  EXPECT_TRUE(compare(f.result, r.o.data(), nullptr, tolerance).ok);
}

TEST(Compare, Tolerances) {
  EXPECT_EQ(toleranceOf(Element::F32, Element::F32), 1e-5);
  EXPECT_EQ(toleranceOf(Element::F16, Element::F16), 6e-4);
  EXPECT_EQ(toleranceOf(Element::BF16, Element::F32), 4e-3);
  EXPECT_EQ(toleranceOf(Element::F16, Element::BF16), 4e-3);
}

TEST(Compare, TensorError) {
  Fixture f = problem();
  Result r(f.result);
  for (float &x : r.o)
    x *= 1.00002f;
  Comparison c = compare(f.result, r.o.data(), r.lse.data(), tolerance);
  EXPECT_FALSE(c.ok);
  EXPECT_NEAR(c.tensorError, 2e-5, 1e-6);
  EXPECT_EQ(c.message, "tensor error is 2e-05 but the limit is 1e-05");
}

// One small row among large ones: the tensor's norm does not show it.
TEST(Compare, RowError) {
  Fixture f = problem();
  Result r(f.result);
  for (size_t i = 8; i < 12; ++i) // row 1, head 0
    f.result.o[i] *= 1e-2, r.o[i] *= 1.0101e-2f;
  Comparison c = compare(f.result, r.o.data(), r.lse.data(), 1e-3);
  EXPECT_FALSE(c.ok);
  EXPECT_LE(c.tensorError, c.tensorLimit);
  EXPECT_NEAR(c.rowError, 1.01e-2, 1e-4);
  EXPECT_EQ(c.worstRow, 2);
  EXPECT_EQ(c.message, "row error is 0.0101 but the limit is 0.005 (request 0 "
                       "row 1 head 0)");
}

TEST(Compare, LseError) {
  Fixture f = problem();
  Result r(f.result);
  r.lse[3] += 1e-3f;
  Comparison c = compare(f.result, r.o.data(), r.lse.data(), tolerance);
  EXPECT_FALSE(c.ok);
  EXPECT_EQ(c.worstLseRow, 3);
  EXPECT_NEAR(c.lseError, 1e-3, 1e-6);
  EXPECT_EQ(c.lseLimit, 1e-5 + 2e-6 * f.result.maxScore[3]);
  EXPECT_NE(c.message.find("lse error is 0.001 but the limit is"),
            std::string::npos);
  EXPECT_NE(c.message.find("row 1 head 1"), std::string::npos);
  // Elements that a hook makes and that are rounded: a step more or less.
  f.result.scoreRounding = 0x1p-9;
  c = compare(f.result, r.o.data(), r.lse.data(), tolerance);
  EXPECT_TRUE(c.ok);
  r.lse[3] += 0x1p-8f * float(1 + f.result.maxScore[3]);
  EXPECT_FALSE(compare(f.result, r.o.data(), r.lse.data(), tolerance).ok);
}

TEST(Compare, EmptyRowsAreExact) {
  Fixture f = problem();
  Result r(f.result);
  r.o[1] = 1e-30f;
  Comparison c = compare(f.result, r.o.data(), r.lse.data(), tolerance);
  EXPECT_FALSE(c.ok);
  EXPECT_EQ(c.wrongEmptyRows, 1);
  EXPECT_EQ(c.message,
            "1 empty rows are not exact, first request 0 row 0 head 0");
  Result s(f.result);
  s.lse[1] = -1e30f;
  c = compare(f.result, s.o.data(), s.lse.data(), tolerance);
  EXPECT_FALSE(c.ok);
  EXPECT_EQ(c.wrongEmptyRows, 1);
}

TEST(Compare, NanNeverAgrees) {
  Fixture f = problem();
  for (size_t i : {0, 9, 23}) {
    Result r(f.result);
    r.o[i] = float(quietNan);
    EXPECT_FALSE(compare(f.result, r.o.data(), r.lse.data(), tolerance).ok);
    r.o[i] = float(inf);
    EXPECT_FALSE(compare(f.result, r.o.data(), r.lse.data(), tolerance).ok);
  }
  for (size_t i : {0, 2, 5}) {
    Result r(f.result);
    r.lse[i] = float(quietNan);
    EXPECT_FALSE(compare(f.result, r.o.data(), r.lse.data(), tolerance).ok);
    r.lse[i] = float(inf);
    EXPECT_FALSE(compare(f.result, r.o.data(), r.lse.data(), tolerance).ok);
  }
  // A visible row reported as empty.
  Result r(f.result);
  r.lse[4] = float(-inf);
  EXPECT_FALSE(compare(f.result, r.o.data(), r.lse.data(), tolerance).ok);
}

TEST(Compare, RowsWithoutFiniteReferenceAreCounted) {
  Fixture f = problem();
  f.setV(1, 0, quietNan);
  f.run();
  Result r(f.result);
  for (size_t i = 16; i < 24; ++i) // the rows that see key 1
    r.o[i] = 123;
  Comparison c = compare(f.result, r.o.data(), r.lse.data(), tolerance);
  EXPECT_TRUE(c.ok) << c.message;
  EXPECT_EQ(c.skippedRows, 2);
}

TEST(Compare, RowsOfNanMustBeNan) {
  Fixture f = problem();
  for (int i = 0; i < 4; ++i)
    f.setQ(2, i, quietNan);
  f.run();
  Result r(f.result);
  Comparison c = compare(f.result, r.o.data(), r.lse.data(), tolerance);
  EXPECT_TRUE(c.ok) << c.message;
  EXPECT_EQ(c.nanRows, 1); // of one head
  EXPECT_EQ(c.skippedRows, 0);
  // One element or the LSE that is a number.
  Result element(r), lse(r);
  for (size_t i = 0; i < 6; ++i)
    if (std::isnan(r.o[i * 4])) {
      element.o[i * 4 + 1] = 1;
      lse.lse[i] = 1;
    }
  for (const Result *bad : {&element, &lse}) {
    c = compare(f.result, bad->o.data(), bad->lse.data(), tolerance);
    EXPECT_FALSE(c.ok);
    EXPECT_EQ(
        c.message.find("1 rows that see NaN are not NaN, first request 0"), 0u)
        << c.message;
  }
}

// Weights of 1e-9: f16 holds 0 only, or one step; f32 holds them.
TEST(Compare, BelowTheLeastStepOfTheType) {
  Fixture f = problem();
  Result r(f.result);
  for (double &x : f.result.o)
    x *= 1e-9;
  std::fill(r.o.begin(), r.o.end(), 0.0f);
  double loose = 6e-4;
  auto agrees = [&](Element output) {
    return compare(f.result, r.o.data(), r.lse.data(), loose, output).ok;
  };
  EXPECT_TRUE(agrees(Element::F16));
  EXPECT_FALSE(agrees(Element::BF16));
  EXPECT_FALSE(agrees(Element::F32));
  r.o[9] = 0x1p-24f; // a step too many
  EXPECT_FALSE(agrees(Element::F16));
  r.o[9] = float(quietNan);
  EXPECT_FALSE(agrees(Element::F16));
}

TEST(Compare, NothingToCompare) {
  Reference ref;
  ref.dimV = 4;
  EXPECT_TRUE(compare(ref, nullptr, nullptr, tolerance).ok);
}
