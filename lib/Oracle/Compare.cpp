//===- Compare.cpp - the one tolerance rule -------------------------------===//
//
// Errors are measured as norms: one bad element in a row moves the row's norm,
// one bad row moves the tensor's.
//
//   ref row [3, 4], out row [3, 4.005]: row error 0.005 / 5 = 1e-3
//
// Invariant: a comparison that is not a number fails, since every test is
// written as "not (error <= limit)".
//
//===----------------------------------------------------------------------===//
#include "attn/Oracle/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace attn::oracle;

static double toleranceOf(Element e) {
  return e == Element::F32 ? 1e-5 : e == Element::F16 ? 6e-4 : 4e-3;
}

double attn::oracle::toleranceOf(Element input, Element output) {
  return std::max(::toleranceOf(input), ::toleranceOf(output));
}

/// Distance of 0 and the least positive number.
static double leastStep(Element e) {
  return e == Element::F32 ? 0x1p-149 : e == Element::F16 ? 0x1p-24 : 0x1p-133;
}

static std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", v);
  return text;
}

static std::string place(const Reference &ref, int64_t row) {
  const RowId &id = ref.rows[size_t(row)];
  return "request " + std::to_string(id.request) + " row " +
         std::to_string(id.row) + " head " + std::to_string(id.head);
}

/// True if `a` is worse than `b`; NaN is the worst.
static bool worse(double a, double b) {
  return !std::isnan(b) && (std::isnan(a) || a > b);
}

Comparison attn::oracle::compare(const Reference &ref, const float *o,
                                 const float *lse, double tolerance,
                                 Element output) {
  double free = leastStep(output) / 2;
  Comparison result;
  result.tensorLimit = tolerance;
  result.rowLimit = 5 * tolerance;
  auto fail = [&result](const std::string &what) {
    result.ok = false;
    result.message += (result.message.empty() ? "" : "; ") + what;
  };

  size_t dim = size_t(ref.dimV);
  double errorSquares = 0, refSquares = 0;
  double lseRatio = -1;
  int64_t firstWrongEmpty = -1, wrongNanRows = 0, firstWrongNan = -1;
  for (size_t r = 0; r < ref.rows.size(); ++r) {
    const double *want = ref.o.data() + r * dim;
    const float *have = o + r * dim;
    bool hasLse = lse && !ref.lse.empty();

    bool finite = true, nan = true, haveNan = true;
    double rowError = 0, rowRef = 0;
    bool zero = true;
    for (size_t c = 0; c < dim; ++c) {
      finite &= std::isfinite(want[c]);
      nan &= std::isnan(want[c]);
      haveNan &= std::isnan(have[c]);
      // NaN first: it stays.
      double d = std::max(std::fabs(double(have[c]) - want[c]) - free, 0.0);
      rowError += d * d;
      rowRef += want[c] * want[c];
      zero &= have[c] == 0.0f;
    }
    if (hasLse)
      finite &= !std::isnan(ref.lse[r]) &&
                ref.lse[r] != std::numeric_limits<double>::infinity();
    if (nan) {
      ++result.nanRows;
      if (hasLse && std::isnan(ref.lse[r]))
        haveNan &= std::isnan(lse[r]);
      if (!haveNan && wrongNanRows++ == 0)
        firstWrongNan = int64_t(r);
      continue;
    }
    if (!finite) {
      ++result.skippedRows;
      continue;
    }

    bool lseEmpty = hasLse && std::isinf(ref.lse[r]);
    bool wrongEmpty = ref.empty[r] && !zero;
    if (lseEmpty)
      wrongEmpty |= lse[r] != -std::numeric_limits<float>::infinity();
    if (wrongEmpty) {
      ++result.wrongEmptyRows;
      if (firstWrongEmpty < 0)
        firstWrongEmpty = int64_t(r);
    }

    errorSquares += rowError;
    refSquares += rowRef;
    if (!ref.empty[r]) {
      double error = std::sqrt(rowError);
      double base = std::max(std::sqrt(rowRef), 1e-3 * ref.rmsV);
      // 0 / 0 is agreement, x / 0 is not.
      error = error == 0 ? 0 : error / base;
      if (result.worstRow < 0 || worse(error, result.rowError)) {
        result.rowError = error;
        result.worstRow = int64_t(r);
      }
    }
    if (hasLse && !lseEmpty) {
      double error = std::fabs(double(lse[r]) - ref.lse[r]);
      double limit = 1e-5 + 2e-6 * ref.maxScore[r] +
                     ref.scoreRounding * (1 + ref.maxScore[r]);
      double ratio = error / limit;
      if (result.worstLseRow < 0 || worse(ratio, lseRatio)) {
        lseRatio = ratio;
        result.lseError = error;
        result.lseLimit = limit;
        result.worstLseRow = int64_t(r);
      }
    }
  }

  double error = std::sqrt(errorSquares);
  result.tensorError = error == 0 ? 0 : error / std::sqrt(refSquares);
  if (!(result.tensorError <= result.tensorLimit))
    fail("tensor error is " + number(result.tensorError) +
         " but the limit is " + number(result.tensorLimit));
  if (!(result.rowError <= result.rowLimit))
    fail("row error is " + number(result.rowError) + " but the limit is " +
         number(result.rowLimit) + " (" + place(ref, result.worstRow) + ")");
  if (!(result.lseError <= result.lseLimit))
    fail("lse error is " + number(result.lseError) + " but the limit is " +
         number(result.lseLimit) + " (" + place(ref, result.worstLseRow) + ")");
  if (result.wrongEmptyRows)
    fail(std::to_string(result.wrongEmptyRows) +
         " empty rows are not exact, first " + place(ref, firstWrongEmpty));
  if (wrongNanRows)
    fail(std::to_string(wrongNanRows) +
         " rows that see NaN are not NaN, first " + place(ref, firstWrongNan));
  return result;
}
