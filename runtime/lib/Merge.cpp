//===- Merge.cpp - merging attention states on the host -------------------===//
//
// lse = log sum exp(lse_i), o = sum exp(lse_i - lse) o_i.  An empty part
// (-inf) has weight 0 and its o is not read, so merge(empty, empty) = empty.
//
//===----------------------------------------------------------------------===//
#include "Status.h"

#include <algorithm>
#include <cmath>
#include <limits>

using attnrt::fail;

extern "C" attnrt_status attnrt_merge_states(uint32_t parts,
                                             const float *const *o,
                                             const float *const *lse,
                                             uint64_t rows, uint32_t dim,
                                             float *outO, float *outLse) {
  if (rows == 0)
    return ATTNRT_OK;
  if (!outO || !outLse || (parts && (!o || !lse)))
    return fail(ATTNRT_INVALID_ARGUMENT,
                "a list or a result of %u parts is null", parts);
  for (uint32_t p = 0; p < parts; ++p)
    if (!o[p] || !lse[p])
      return fail(ATTNRT_INVALID_ARGUMENT, "part %u of %u is null", p, parts);
  constexpr float empty = -std::numeric_limits<float>::infinity();
  for (uint64_t r = 0; r < rows; ++r) {
    // The maximum passes over a NaN; the sum does not, and only a sum of 0 says that
    // every part is empty.
    float top = empty;
    for (uint32_t p = 0; p < parts; ++p)
      top = std::max(top, lse[p][r]);
    double sum = 0;
    for (uint32_t p = 0; p < parts; ++p)
      if (lse[p][r] != empty)
        sum += std::exp(double(lse[p][r]) - top);
    // All parts of an element are read before it is written: an output may be
    // an input.  The LSE of the row is written last for the same reason.
    for (uint32_t c = 0; c < dim; ++c) {
      double value = 0;
      for (uint32_t p = 0; p < parts; ++p)
        if (lse[p][r] != empty)
          value += std::exp(double(lse[p][r]) - top) / sum * o[p][r * dim + c];
      outO[r * dim + c] = float(value);
    }
    outLse[r] = sum == 0 ? empty : float(top + std::log(sum));
  }
  return ATTNRT_OK;
}
