//===- ClosedFormTest.cpp - masks that are bounds on k --------------------===//
#include "MaskPrograms.h"

#include "attn/Mask/ClosedForm.h"

using namespace attn::mask;

namespace {

Signature oneParam() {
  Signature s;
  s.params.push_back(ATTN_I32);
  return s;
}

/// Bounds and program agree at every point of a small request.
void expectSame(const HookProgram &mask, const ClosedForm &form,
                const std::vector<uint32_t> &params, int32_t qLen,
                int32_t kvLen) {
  ASSERT_TRUE(fitsI32(form, params.data(), qLen, kvLen));
  Env<double> env;
  env.qLen = qLen;
  env.kvLen = kvLen;
  env.bindings.params = params.data();
  env.bindings.numParams = params.size();
  for (env.q = kvLen - qLen; env.q < kvLen; ++env.q)
    for (env.k = 0; env.k < kvLen; ++env.k) {
      bool all = true;
      for (const Bound &b : form.bounds) {
        int64_t v = evaluate(b, env.q, params.data(), qLen, kvLen);
        all &= b.isUpper ? env.k <= v : env.k >= v;
      }
      ASSERT_EQ(all, evalMask(mask, env)) << env.q << " " << env.k;
    }
}

bool refused(Assembler &a, const Signature &s = {}) {
  ClosedForm form;
  bool ok = closedForm(decoded(a, s), form);
  EXPECT_TRUE(ok || (form.bounds.empty() && form.sums.empty()));
  return !ok;
}

} // namespace

TEST(ClosedForm, Causal) {
  ClosedForm form;
  HookProgram mask = causal();
  ASSERT_TRUE(closedForm(mask, form));
  ASSERT_EQ(form.bounds.size(), 1u);
  EXPECT_TRUE(form.bounds[0].isUpper);
  EXPECT_EQ(form.bounds[0].qCoeff, 1);
  EXPECT_EQ(form.bounds[0].constant, 0);
  EXPECT_TRUE(form.bounds[0].params.empty());
  expectSame(mask, form, {}, 20, 30);
  expectSame(mask, form, {}, 30, 20);
}

TEST(ClosedForm, WindowIsTwoBounds) {
  ClosedForm form;
  HookProgram mask = window(8);
  ASSERT_TRUE(closedForm(mask, form));
  ASSERT_EQ(form.bounds.size(), 2u);
  EXPECT_TRUE(form.bounds[0].isUpper);
  EXPECT_FALSE(form.bounds[1].isUpper);
  EXPECT_EQ(form.bounds[1].qCoeff, 1);
  EXPECT_EQ(form.bounds[1].constant, -7);
  expectSame(mask, form, {}, 20, 30);
}

TEST(ClosedForm, Offset) {
  ClosedForm form;
  HookProgram mask = causalOffset(-3);
  ASSERT_TRUE(closedForm(mask, form));
  ASSERT_EQ(form.bounds.size(), 1u);
  EXPECT_EQ(form.bounds[0].constant, -3);
  expectSame(mask, form, {}, 20, 30);
}

TEST(ClosedForm, WindowByParameter) {
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB);
  unsigned d = a.set();
  a.get(d).i32(0).icmp(ATTN_CMP_GE).get(d).param(0).icmp(ATTN_CMP_LT);
  a.op(ATTN_OP_AND);
  HookProgram mask = decoded(a, oneParam());
  ClosedForm form;
  ASSERT_TRUE(closedForm(mask, form));
  ASSERT_EQ(form.bounds.size(), 2u);
  ASSERT_EQ(form.bounds[1].params.size(), 1u);
  EXPECT_EQ(form.bounds[1].params[0].index, 0u);
  EXPECT_EQ(form.bounds[1].params[0].coeff, -1);
  EXPECT_EQ(form.bounds[1].constant, 1);
  expectSame(mask, form, {5}, 20, 30);
  expectSame(mask, form, {0}, 20, 30); // an empty window
}

// Top-left causal: k <= q - (kv_len - q_len).
TEST(ClosedForm, TopLeft) {
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_KV_LEN).op(ATTN_OP_ISUB);
  a.arg(ATTN_ARG_Q_LEN).op(ATTN_OP_IADD).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
  HookProgram mask = decoded(a);
  ClosedForm form;
  ASSERT_TRUE(closedForm(mask, form));
  ASSERT_EQ(form.bounds.size(), 1u);
  EXPECT_EQ(form.bounds[0].qLenCoeff, 1);
  EXPECT_EQ(form.bounds[0].kvLenCoeff, -1);
  expectSame(mask, form, {}, 20, 30);
}

TEST(ClosedForm, StrictNegatedAndEqual) {
  Assembler strict(ATTN_HOOK_MASK);
  strict.arg(ATTN_ARG_K).arg(ATTN_ARG_Q).icmp(ATTN_CMP_LT);
  Assembler negated(ATTN_HOOK_MASK);
  negated.arg(ATTN_ARG_K).arg(ATTN_ARG_Q).icmp(ATTN_CMP_GE).op(ATTN_OP_NOT);
  Assembler flipped(ATTN_HOOK_MASK);
  flipped.arg(ATTN_ARG_K).arg(ATTN_ARG_Q).icmp(ATTN_CMP_GE);
  flipped.i1(true).op(ATTN_OP_XOR);
  for (Assembler *a : {&strict, &negated, &flipped}) {
    HookProgram mask = decoded(*a);
    ClosedForm form;
    ASSERT_TRUE(closedForm(mask, form));
    ASSERT_EQ(form.bounds.size(), 1u);
    EXPECT_EQ(form.bounds[0].constant, -1);
    expectSame(mask, form, {}, 20, 30);
  }
  Assembler equal(ATTN_HOOK_MASK);
  equal.arg(ATTN_ARG_K).arg(ATTN_ARG_Q).icmp(ATTN_CMP_EQ);
  HookProgram mask = decoded(equal);
  ClosedForm form;
  ASSERT_TRUE(closedForm(mask, form));
  EXPECT_EQ(form.bounds.size(), 2u);
  expectSame(mask, form, {}, 20, 30);
}

TEST(ClosedForm, ConstantsAndScaling) {
  // (q + q - (k << 1)) - (q - k) >= 2 * 3 - 10  ->  k <= q + 4
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_Q).op(ATTN_OP_IADD);
  a.arg(ATTN_ARG_K).i32(1).op(ATTN_OP_ISHL).op(ATTN_OP_ISUB);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB).op(ATTN_OP_ISUB);
  a.i32(2).i32(3).op(ATTN_OP_IMUL).i32(10).op(ATTN_OP_ISUB);
  a.icmp(ATTN_CMP_GE);
  HookProgram mask = decoded(a);
  ClosedForm form;
  ASSERT_TRUE(closedForm(mask, form));
  ASSERT_EQ(form.bounds.size(), 1u);
  EXPECT_EQ(form.bounds[0].constant, 4);
  expectSame(mask, form, {}, 20, 30);
}

TEST(ClosedForm, ConstantTrueIsEmpty) {
  ClosedForm form;
  Assembler literal(ATTN_HOOK_MASK);
  literal.i1(true);
  ASSERT_TRUE(closedForm(decoded(literal), form));
  EXPECT_TRUE(form.bounds.empty());

  Assembler folded(ATTN_HOOK_MASK);
  folded.i32(1).i32(2).icmp(ATTN_CMP_NE);
  ASSERT_TRUE(closedForm(decoded(folded), form));
  EXPECT_TRUE(form.bounds.empty());
}

// "a and b" spelled select(a, b, false), "a or true" as select(a, true, b).
TEST(ClosedForm, SelectAsAnd) {
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
  a.arg(ATTN_ARG_K).i32(4).icmp(ATTN_CMP_GE);
  a.i1(false).op(ATTN_OP_SELECT);
  HookProgram mask = decoded(a);
  ClosedForm form;
  ASSERT_TRUE(closedForm(mask, form));
  EXPECT_EQ(form.bounds.size(), 2u);
  expectSame(mask, form, {}, 20, 30);
}

TEST(ClosedForm, Refusals) {
  ClosedForm form;
  EXPECT_FALSE(closedForm(windowSink(64, 4), form)); // a disjunction
  EXPECT_FALSE(closedForm(chunked(64), form));       // division
  EXPECT_FALSE(closedForm(documents(), form));       // a table
  EXPECT_FALSE(closedForm(HookProgram(), form));

  Assembler never(ATTN_HOOK_MASK);
  never.i1(false);
  EXPECT_TRUE(refused(never));
  Assembler ne(ATTN_HOOK_MASK);
  ne.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).icmp(ATTN_CMP_NE);
  EXPECT_TRUE(refused(ne));
  Assembler decreasing(ATTN_HOOK_MASK); // k <= -q
  decreasing.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_IADD);
  decreasing.i32(100).icmp(ATTN_CMP_LE);
  EXPECT_TRUE(refused(decreasing));
  Assembler twice(ATTN_HOOK_MASK); // 2k <= q
  twice.arg(ATTN_ARG_K).i32(2).op(ATTN_OP_IMUL);
  twice.arg(ATTN_ARG_Q).icmp(ATTN_CMP_LE);
  EXPECT_TRUE(refused(twice));
  Assembler steep(ATTN_HOOK_MASK); // k <= 2q
  steep.arg(ATTN_ARG_K).arg(ATTN_ARG_Q).i32(2).op(ATTN_OP_IMUL);
  steep.icmp(ATTN_CMP_LE);
  EXPECT_TRUE(refused(steep));
  Assembler rowOnly(ATTN_HOOK_MASK); // no k at all
  rowOnly.arg(ATTN_ARG_Q).i32(5).icmp(ATTN_CMP_GE);
  EXPECT_TRUE(refused(rowOnly));
  Assembler heads(ATTN_HOOK_MASK);
  heads.arg(ATTN_ARG_K).arg(ATTN_ARG_H).icmp(ATTN_CMP_GE);
  EXPECT_TRUE(refused(heads));
  Assembler product(ATTN_HOOK_MASK);
  product.param(0).param(0).op(ATTN_OP_IMUL).arg(ATTN_ARG_K);
  product.icmp(ATTN_CMP_GE);
  EXPECT_TRUE(refused(product, oneParam()));
  Assembler notBoth(ATTN_HOOK_MASK);
  pushWindow(notBoth, 4);
  notBoth.op(ATTN_OP_NOT);
  EXPECT_TRUE(refused(notBoth));
  Assembler huge(ATTN_HOOK_MASK);
  huge.arg(ATTN_ARG_Q).i32(INT32_MAX).op(ATTN_OP_IMUL).i32(INT32_MAX);
  huge.op(ATTN_OP_IMUL).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
  EXPECT_TRUE(refused(huge));
  Assembler score(ATTN_HOOK_SCORE);
  score.arg(ATTN_ARG_S);
  EXPECT_TRUE(refused(score));
}

// q + window wraps for a window near 2^31: the bounds do not hold then.
TEST(ClosedForm, WrapIsReported) {
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).param(0).op(ATTN_OP_IADD);
  a.arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
  HookProgram mask = decoded(a, oneParam());
  ClosedForm form;
  ASSERT_TRUE(closedForm(mask, form));
  uint32_t fine = 1000, large = INT32_MAX;
  EXPECT_TRUE(fitsI32(form, &fine, 20, 30));
  EXPECT_FALSE(fitsI32(form, &large, 20, 30));
}

// Positions and their distances stay in i32; what a parameter is added to may not.
TEST(ClosedForm, AlwaysFits) {
  auto always = [](Assembler &a, Signature signature = {}) {
    HookProgram mask = decoded(a, signature);
    ClosedForm form;
    EXPECT_TRUE(closedForm(mask, form));
    // What always fits does so at the largest lengths.
    uint32_t param = INT32_MAX;
    bool result = alwaysFitsI32(form);
    for (auto [q, kv] :
         {std::pair(INT32_MAX, 1), {1, INT32_MAX}, {INT32_MAX, INT32_MAX}})
      EXPECT_TRUE(!result || fitsI32(form, &param, q, kv));
    return result;
  };
  Assembler causal(ATTN_HOOK_MASK);
  causal.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
  EXPECT_TRUE(always(causal));
  Assembler window(ATTN_HOOK_MASK);
  window.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB).param(0);
  window.icmp(ATTN_CMP_LT);
  EXPECT_TRUE(always(window, oneParam()));
  Assembler sum(ATTN_HOOK_MASK);
  sum.arg(ATTN_ARG_K).param(0).op(ATTN_OP_IADD).arg(ATTN_ARG_Q);
  sum.icmp(ATTN_CMP_GE);
  EXPECT_FALSE(always(sum, oneParam()));
  Assembler next(ATTN_HOOK_MASK);
  next.arg(ATTN_ARG_K).i32(1).op(ATTN_OP_IADD).arg(ATTN_ARG_Q);
  next.icmp(ATTN_CMP_GE);
  EXPECT_FALSE(always(next));
}
