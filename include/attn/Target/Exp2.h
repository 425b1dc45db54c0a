//===- Exp2.h - exp2 without the special function unit ----------*- C++ -*-===//
//
// exp2 of an f32 by seven additions and multiplications and three integer ops.
// The compiler emits these steps, the simulator runs them:
//
//   z = max(min(x, 128), -127)
//   t = z + 1.5 * 2^23             n = round(z) stands in the low bits of t
//   f = z - (t - 1.5 * 2^23)       -1/2 <= f <= 1/2
//   p = 1 + c1 f + .. + c4 f^4     2^f
//   bits(p) + (bits(t) << 23)      n is added to the exponent
//
// Relative error below 3.2e-6 for -126 <= x <= 128; infinity from 128 on; below
// -126 a value between 0 and 2^-126, and 0 from -127 on.  NaN gives infinity:
// the sum of a row then fails the check of a frozen reference, and its tile is
// computed again by the other road, which keeps a NaN.
//
// c0 is 1 without rounding: at x = -127 the exponent's bits cancel to 0.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TARGET_EXP2_H
#define ATTN_TARGET_EXP2_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace attn::exp2fma {

constexpr float lowest = -127, highest = 128;
constexpr float rounder = 12582912; // 1.5 * 2^23
/// c1 to c4: minimax of the relative error.
constexpr float terms[] = {0.6931241929f, 0.24024098608f, 0.05590642898f,
                           0.00958285476f};
constexpr int degree = 4;
/// Instructions: additions and multiplications, integer and compare.
constexpr unsigned fmaOps = 3 + degree, aluOps = 3;

/// Columns come in groups of this many.
constexpr unsigned period = 16;

/// True for `share` of every 16 columns of a thread, evenly spread.
constexpr bool isOnFma(unsigned column, unsigned share) {
  return column % period * share % period < share;
}

inline float evaluate(float x) {
  float z = std::fmax(std::fmin(x, highest), lowest);
  float t = z + rounder;
  float f = z - (t - rounder);
  float p = terms[degree - 1];
  for (int i = degree - 2; i >= 0; --i)
    p = std::fma(p, f, terms[i]);
  p = std::fma(p, f, 1.0f);
  uint32_t n, bits;
  std::memcpy(&n, &t, 4);
  std::memcpy(&bits, &p, 4);
  bits += n << 23;
  std::memcpy(&p, &bits, 4);
  return p;
}

} // namespace attn::exp2fma

#endif // ATTN_TARGET_EXP2_H
