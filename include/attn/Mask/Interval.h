//===- Interval.h - three-valued analysis of masks --------------*- C++ -*-===//
//
// Evaluates a mask on a whole rectangle at once.  An integer is a linear form
// in the arguments plus an interval, so that q - k stays exact; a boolean is
// false, true or unknown; floats are unknown.
//
//   q in [1024, 1055], k in [512, 639], q - k in [385, 543]
//   q >= k          -> true        (every pair is visible: full)
//   q - k < 1024    -> true
//
// Invariant (soundness): if the answer is true or false, the mask has that
// value at every point of the rectangle, i32 wrap-around included.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_MASK_INTERVAL_H
#define ATTN_MASK_INTERVAL_H

#include "attn/Mask/HookProgram.h"

namespace attn::mask {

enum class Tri : uint8_t { False, True, Unknown };

/// A rectangle of (q, k); all bounds are inclusive.  b and h are points or
/// ranges, the lengths are those of the one request.
struct Rect {
  int32_t b0 = 0, b1 = 0;
  int32_t h0 = 0, h1 = 0;
  int32_t q0 = 0, q1 = 0;
  int32_t k0 = 0, k1 = 0;
  int32_t qLen = 0, kvLen = 0;

  bool empty() const { return b0 > b1 || h0 > h1 || q0 > q1 || k0 > k1; }
};

/// A table read whose index box holds more entries than this is not examined.
constexpr int64_t maxTableEntries = 4096;

/// `mask` must be a valid program of kind mask and `rect` not empty.  Tables
/// without host data are unknown.
Tri evaluate(const HookProgram &mask, const Rect &rect,
             const Bindings &bindings);

} // namespace attn::mask

#endif // ATTN_MASK_INTERVAL_H
