//===- Element.cpp - f16 conversions --------------------------------------===//
//
// f16 has 5 exponent and 10 fraction bits; below 2^-14 it is subnormal with
// steps of 2^-24.
//
//   65519 -> 65504, 65520 -> inf, 2^-25 -> 0 (a tie, to even)
//
// Invariant: round to nearest, ties to even, by integer arithmetic alone, so
// no rounding mode of the host matters.
//
//===----------------------------------------------------------------------===//
#include "attn/Oracle/Element.h"

using namespace attn::oracle;

float attn::oracle::f16ToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
  if (exponent == 0x1f)
    return bitsToFloat(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0)
    return bitsToFloat(sign | ((exponent + 112) << 23) | (fraction << 13));
  float magnitude = float(fraction) * 0x1p-24f; // exact
  return bitsToFloat(sign | floatToBits(magnitude));
}

uint16_t attn::oracle::floatToF16(float f) {
  uint32_t bits = floatToBits(f);
  uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return uint16_t(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) // 65520 and more
    return uint16_t(sign | 0x7c00u);
  uint32_t exponent = magnitude >> 23;
  if (exponent >= 113) { // normal: at least 2^-14
    uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return uint16_t(sign | ((rounded >> 13) - (112u << 10)));
  }
  if (exponent < 102) // below 2^-25
    return uint16_t(sign);
  // Subnormal: the fraction with its hidden bit, shifted to steps of 2^-24.
  uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
  uint32_t shift = 126 - exponent; // 14 .. 24
  uint32_t value = fraction >> shift, half = uint32_t(1) << (shift - 1);
  uint32_t rest = fraction & ((uint32_t(1) << shift) - 1);
  if (rest > half || (rest == half && (value & 1)))
    ++value; // may carry into the smallest normal number
  return uint16_t(sign | value);
}
