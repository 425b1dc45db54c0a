//===- Element.h - f32, f16, bf16 elements in memory ------------*- C++ -*-===//
//
// Conversions between float and the 16-bit formats, round to nearest even, and
// element access by a run-time type.
//
//   floatToBf16(1.00390625f) = 0x3f80   (a tie, to even)
//
// Invariant: xToFloat is exact and floatToX(xToFloat(bits)) == bits for every
// pattern that is not a NaN; a NaN stays a NaN.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_ORACLE_ELEMENT_H
#define ATTN_ORACLE_ELEMENT_H

#include <cstdint>
#include <cstring>

namespace attn::oracle {

/// Values of Element in Bundle.fbs.
enum class Element : uint8_t { F32 = 0, F16 = 1, BF16 = 2 };

inline unsigned elementBytes(Element e) { return e == Element::F32 ? 4 : 2; }
inline const char *nameOf(Element e) {
  return e == Element::F32 ? "f32" : e == Element::F16 ? "f16" : "bf16";
}

inline float bitsToFloat(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, sizeof(f));
  return f;
}

inline uint32_t floatToBits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof(bits));
  return bits;
}

inline float bf16ToFloat(uint16_t bits) {
  return bitsToFloat(uint32_t(bits) << 16);
}

inline uint16_t floatToBf16(float f) {
  uint32_t bits = floatToBits(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) // NaN: keep it one
    return uint16_t((bits >> 16) | 0x40u);
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float f16ToFloat(uint16_t bits);
uint16_t floatToF16(float f);

/// Element `index` of an array; elements are at their natural alignment or not.
inline float loadElement(Element e, const void *base, int64_t index) {
  const char *p = static_cast<const char *>(base) + index * elementBytes(e);
  if (e == Element::F32) {
    float f;
    std::memcpy(&f, p, sizeof(f));
    return f;
  }
  uint16_t bits;
  std::memcpy(&bits, p, sizeof(bits));
  return e == Element::F16 ? f16ToFloat(bits) : bf16ToFloat(bits);
}

inline void storeElement(Element e, void *base, int64_t index, float value) {
  char *p = static_cast<char *>(base) + index * elementBytes(e);
  if (e == Element::F32) {
    std::memcpy(p, &value, sizeof(value));
    return;
  }
  uint16_t bits = e == Element::F16 ? floatToF16(value) : floatToBf16(value);
  std::memcpy(p, &bits, sizeof(bits));
}

/// The value after rounding to the element type.
inline float roundTo(Element e, float value) {
  return e == Element::F32   ? value
         : e == Element::F16 ? f16ToFloat(floatToF16(value))
                             : bf16ToFloat(floatToBf16(value));
}

} // namespace attn::oracle

#endif // ATTN_ORACLE_ELEMENT_H
