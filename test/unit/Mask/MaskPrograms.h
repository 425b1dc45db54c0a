//===- MaskPrograms.h - masks used by several tests -------------*- C++ -*-===//
//
// Each mask is an encoded program beside an independent C++ predicate, so that
// a test compares two spellings of one rule.
//
//   window: q - k >= 0 and q - k < W        (W tokens, the token included)
//
// Invariant: every program here decodes with the given signature.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_MASKPROGRAMS_H
#define ATTN_TEST_MASKPROGRAMS_H

#include "attn/Mask/Eval.h"
#include "attn/Mask/HookProgram.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace attn::mask {

inline HookProgram decoded(Assembler &a, const Signature &signature = {}) {
  std::vector<uint8_t> bytes;
  std::string error;
  HookProgram program;
  EXPECT_TRUE(a.finish(bytes, error)) << error;
  EXPECT_TRUE(HookProgram::decode(bytes.data(), bytes.size(), signature,
                                  program, error))
      << error;
  return program;
}

/// q - k in a local, 0 <= it.
inline Assembler &pushCausal(Assembler &a) {
  return a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
}

inline HookProgram causal() {
  Assembler a(ATTN_HOOK_MASK);
  pushCausal(a);
  return decoded(a);
}

inline HookProgram causalOffset(int32_t offset) {
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).i32(offset).op(ATTN_OP_IADD);
  a.arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
  return decoded(a);
}

inline void pushWindow(Assembler &a, int32_t width) {
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB);
  unsigned d = a.set();
  a.get(d).i32(0).icmp(ATTN_CMP_GE);
  a.get(d).i32(width).icmp(ATTN_CMP_LT);
  a.op(ATTN_OP_AND);
}

inline HookProgram window(int32_t width) {
  Assembler a(ATTN_HOOK_MASK);
  pushWindow(a, width);
  return decoded(a);
}

inline HookProgram windowSink(int32_t width, int32_t sinks) {
  Assembler a(ATTN_HOOK_MASK);
  pushWindow(a, width);
  a.arg(ATTN_ARG_K).i32(sinks).icmp(ATTN_CMP_LT);
  pushCausal(a);
  a.op(ATTN_OP_AND).op(ATTN_OP_OR);
  return decoded(a);
}

inline HookProgram prefix(int32_t length) {
  Assembler a(ATTN_HOOK_MASK);
  pushCausal(a);
  a.arg(ATTN_ARG_K).i32(length).icmp(ATTN_CMP_LT);
  a.op(ATTN_OP_OR);
  return decoded(a);
}

inline HookProgram chunked(int32_t chunk) {
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).i32(chunk).op(ATTN_OP_IFLOORDIV);
  a.arg(ATTN_ARG_K).i32(chunk).op(ATTN_OP_IFLOORDIV);
  a.icmp(ATTN_CMP_EQ);
  pushCausal(a);
  a.op(ATTN_OP_AND);
  return decoded(a);
}

/// doc[q] == doc[k] and causal.
inline HookProgram documents() {
  Signature signature;
  signature.tables.push_back({ATTN_I32, 1});
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).table(0).arg(ATTN_ARG_K).table(0).icmp(ATTN_CMP_EQ);
  pushCausal(a);
  a.op(ATTN_OP_AND);
  return decoded(a, signature);
}

/// |q / w - k / w| <= r and |q mod w - k mod w| <= r.
inline HookProgram neighbourhood(int32_t w, int32_t r) {
  Assembler a(ATTN_HOOK_MASK);
  for (attn_hook_op op : {ATTN_OP_IFLOORDIV, ATTN_OP_IMOD}) {
    a.arg(ATTN_ARG_Q).i32(w).op(op).arg(ATTN_ARG_K).i32(w).op(op);
    a.op(ATTN_OP_ISUB);
    unsigned d = a.set();
    a.get(d).i32(r).icmp(ATTN_CMP_LE);
    a.get(d).i32(-r).icmp(ATTN_CMP_GE);
    a.op(ATTN_OP_AND);
  }
  a.op(ATTN_OP_AND);
  return decoded(a);
}

/// Window of which every `step`-th key counts.
inline HookProgram dilated(int32_t width, int32_t step) {
  Assembler a(ATTN_HOOK_MASK);
  pushWindow(a, width);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB);
  a.i32(step).op(ATTN_OP_IMOD).i32(0).icmp(ATTN_CMP_EQ);
  a.op(ATTN_OP_AND);
  return decoded(a);
}

inline TableData table(const std::vector<int32_t> &values) {
  TableData t;
  t.data = values.data();
  t.element = ATTN_I32;
  t.rank = 1;
  t.extent[0] = uint32_t(values.size());
  return t;
}

/// Ascending document numbers with borders at uneven places.
inline std::vector<int32_t> documentTable(int32_t n) {
  std::vector<int32_t> doc;
  for (int32_t i = 0; i < n; ++i)
    doc.push_back(i < 100 ? 0 : i < 128 ? 1 : i < 515 ? 2 : i < 768 ? 3 : 4);
  return doc;
}

} // namespace attn::mask

#endif // ATTN_TEST_MASKPROGRAMS_H
