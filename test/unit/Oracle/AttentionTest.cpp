//===- AttentionTest.cpp - the oracle against hand-computed values --------===//
#include "OracleFixture.h"

using namespace attn;
using namespace attn::oracle;

TEST(Oracle, ThreeKeys) {
  Fixture f = byScores({1, 3, 2}, {10, 20, 30});
  f.run();
  EXPECT_NEAR(f.o(0), 21.547, 5e-4);
  EXPECT_NEAR(f.result.lse[0], 3.4076, 5e-5);
  EXPECT_EQ(f.result.maxScore[0], 3.0);
  EXPECT_NEAR(f.result.rmsV, std::sqrt(1400.0 / 3), 1e-12);
}

// The same keys in two blocks, merged.
static void expectMerged(Fixture first, Fixture second) {
  first.run();
  second.run();
  double o = first.o(0), lse = first.result.lse[0];
  double o2 = second.o(0);
  merge(&o, lse, &o2, second.result.lse[0], 1);
  EXPECT_NEAR(o, 21.547, 5e-4);
  EXPECT_NEAR(lse, 3.4076, 5e-5);
}

TEST(Oracle, TwoBlocks) {
  expectMerged(byScores({1, 3}, {10, 20}), byScores({2}, {30}));
  expectMerged(byScores({1, 2}, {10, 30}), byScores({3}, {20}));
}

TEST(Oracle, Weights) {
  Fixture f({{1, 3}}, 1, 1, 1, 3);
  f.setQ(0, 0, 1);
  const double scores[] = {2, 1, 4};
  for (int i = 0; i < 3; ++i) {
    f.setK(i, 0, scores[i]);
    f.setV(i, i, 1);
  }
  f.run();
  EXPECT_NEAR(f.o(0, 0), 0.1142, 5e-5);
  EXPECT_NEAR(f.o(0, 1), 0.0420, 5e-5);
  EXPECT_NEAR(f.o(0, 2), 0.8438, 5e-5);
}

TEST(Oracle, ScaleIsAnArgument) {
  Fixture f = byScores({2, 6, 4}, {10, 20, 30});
  f.problem.scale = 0.5f;
  f.run();
  EXPECT_NEAR(f.o(0), 21.547, 5e-4);
  EXPECT_EQ(f.result.maxScore[0], 3.0);
}

// A sink of logit 3 beside scores 1, 3, 2: e + e^3 + e^2 + e^3 in the sum.
TEST(Oracle, SinkLogitCountsOnce) {
  Fixture f = byScores({1, 3, 2}, {10, 20, 30});
  mask::Assembler a(ATTN_HOOK_SINK);
  a.f32(3);
  f.hook(a);
  f.run();
  double e = 2.718281828459045, sum = e + 2 * e * e * e + e * e;
  EXPECT_NEAR(f.o(0), (10 * e + 20 * e * e * e + 30 * e * e) / sum, 1e-6);
  EXPECT_NEAR(f.result.lse[0], std::log(sum), 1e-12);

  // The same by a merge of the parts that exclude it.
  Fixture plain = byScores({1, 3, 2}, {10, 20, 30});
  plain.run();
  double o = plain.o(0), lse = plain.result.lse[0];
  mergeSink(&o, lse, 3, 1);
  EXPECT_NEAR(o, f.o(0), 1e-12);
  EXPECT_NEAR(lse, f.result.lse[0], 1e-12);
  mergeSink(&o, lse, -inf, 1);
  EXPECT_NEAR(o, f.o(0), 1e-12);
}

TEST(Oracle, SinkOfAnEmptyRow) {
  Fixture f({{2, 0}}, 1, 1, 4, 4);
  mask::Assembler a(ATTN_HOOK_SINK);
  a.f32(1.5f);
  f.hook(a);
  f.run();
  EXPECT_EQ(f.o(0), 0.0);
  EXPECT_EQ(f.result.lse[0], 1.5);
  EXPECT_TRUE(f.result.empty[0]);
  double o = 0, lse = -inf;
  mergeSink(&o, lse, 1.5, 1);
  EXPECT_EQ(o, 0.0);
  EXPECT_EQ(lse, 1.5);
}

// Sigmoid attention: weights 1 / (1 + exp(-s)), no normalisation.
TEST(Oracle, NormaliserNone) {
  Fixture f = byScores({0, 1}, {10, 20});
  f.problem.softmax = false;
  mask::Assembler a(ATTN_HOOK_SCORE);
  a.f32(1).f32(1).arg(ATTN_ARG_S).op(ATTN_OP_FNEG).op(ATTN_OP_EXP);
  a.op(ATTN_OP_FADD).op(ATTN_OP_FDIV);
  f.hook(a);
  f.run();
  EXPECT_NEAR(f.o(0), 10 * 0.5 + 20 * 0.7310585786, 1e-8);
  EXPECT_TRUE(f.result.lse.empty());
  // A masked weight is 0.
  mask::Assembler m(ATTN_HOOK_MASK);
  m.arg(ATTN_ARG_K).i32(0).icmp(ATTN_CMP_GT);
  f.hook(m);
  f.run();
  EXPECT_NEAR(f.o(0), 20 * 0.7310585786, 1e-8);
}

// The vectors that query, key and value hooks make have their tensor's type; what an
// output hook makes has not.
TEST(Oracle, VectorHooksRound) {
  for (Element element : {Element::F32, Element::BF16}) {
    Fixture f({{1, 1}}, 1, 1, 1, 1, element);
    for (attn_hook_kind kind : {ATTN_HOOK_VALUE, ATTN_HOOK_OUTPUT}) {
      mask::Assembler a(kind);
      a.arg(ATTN_ARG_I).op(ATTN_OP_VEC).f32(1.001f).op(ATTN_OP_FMUL);
      f.hook(a);
    }
    f.setV(0, 0, 1);
    f.run();
    double v = element == Element::F32 ? 1.001f : 1;
    EXPECT_NEAR(f.o(0), v * 1.001f, 1e-12);
    EXPECT_EQ(f.result.scoreRounding, 0);
    mask::Assembler q(ATTN_HOOK_QUERY);
    q.arg(ATTN_ARG_I).op(ATTN_OP_VEC);
    f.hook(q);
    f.run();
    EXPECT_EQ(f.result.scoreRounding, element == Element::F32 ? 0 : 0x1p-9);
  }
}

// Rotating pairs by position: the score depends on the distance alone.
TEST(Oracle, VectorHooksRotate) {
  Fixture f({{1, 4}}, 1, 1, 2, 4);
  for (attn_hook_kind kind : {ATTN_HOOK_QUERY, ATTN_HOOK_KEY}) {
    mask::Assembler a(kind);
    // x0 cos - x1 sin for i = 0, x1 cos + x0 sin for i = 1.
    a.arg(ATTN_ARG_Q).op(ATTN_OP_I2F).f32(0.5f).op(ATTN_OP_FMUL);
    unsigned angle = a.set();
    a.arg(ATTN_ARG_I).op(ATTN_OP_VEC).get(angle).op(ATTN_OP_COS);
    a.op(ATTN_OP_FMUL);
    a.arg(ATTN_ARG_I).i32(1).op(ATTN_OP_IXOR).op(ATTN_OP_VEC);
    a.get(angle).op(ATTN_OP_SIN).op(ATTN_OP_FMUL);
    unsigned other = a.set();
    a.arg(ATTN_ARG_I).i32(0).icmp(ATTN_CMP_EQ);
    a.get(other).op(ATTN_OP_FNEG).get(other).op(ATTN_OP_SELECT);
    a.op(ATTN_OP_FADD);
    f.hook(a);
  }
  f.setQ(0, 0, 1);
  for (int j = 0; j < 4; ++j) {
    f.setK(j, 0, 1);
    f.setV(j, j, 1);
  }
  f.run(); // q position 3
  double sum = 0;
  for (int j = 0; j < 4; ++j)
    sum += std::exp(std::cos(0.5 * (3 - j)));
  for (int j = 0; j < 4; ++j)
    EXPECT_NEAR(f.o(0, j), std::exp(std::cos(0.5 * (3 - j))) / sum, 1e-9);
}

TEST(Oracle, ValueAndOutputHooks) {
  Fixture f({{2, 2}}, 2, 1, 1, 2);
  for (int j = 0; j < 2; ++j)
    for (int c = 0; c < 2; ++c)
      f.setV(j, c, 10 * j + c + 1);
  mask::Assembler value(ATTN_HOOK_VALUE); // x[i] + pos
  value.arg(ATTN_ARG_I).op(ATTN_OP_VEC);
  value.arg(ATTN_ARG_Q).op(ATTN_OP_I2F).op(ATTN_OP_FADD);
  f.hook(value);
  mask::Assembler output(ATTN_HOOK_OUTPUT); // the other element, plus h + q
  output.i32(1).arg(ATTN_ARG_I).op(ATTN_OP_ISUB).op(ATTN_OP_VEC);
  output.arg(ATTN_ARG_H).arg(ATTN_ARG_Q).op(ATTN_OP_IADD).op(ATTN_OP_I2F);
  output.op(ATTN_OP_FADD);
  f.hook(output);
  f.causal();
  f.run();
  // Row 0 sees value (1, 2); row 1 the mean of (1, 2) and (12, 13).
  EXPECT_NEAR(f.o(0, 0), 2, 1e-12); // row 0, head 0
  EXPECT_NEAR(f.o(0, 1), 1, 1e-12);
  EXPECT_NEAR(f.o(1, 0), 3, 1e-12); // row 0, head 1
  EXPECT_NEAR(f.o(2, 0), 7.5 + 1, 1e-12);
  EXPECT_NEAR(f.o(3, 1), 6.5 + 2, 1e-12);
}

namespace {

/// A second writing of section 3, plain loops in long double: causal window
/// with ALiBi.
void naive(const Fixture &f, int32_t window, const float *slopes,
           std::vector<double> &o, std::vector<double> &lse) {
  const Problem &p = f.problem;
  for (const attn_request_record &r : p.requests)
    for (int32_t i = 0; i < r.q_len; ++i)
      for (int32_t h = 0; h < p.heads; ++h) {
        int32_t kvh = h / (p.heads / p.kvHeads), pos = i + r.kv_len - r.q_len;
        std::vector<long double> s;
        for (int32_t j = 0; j < r.kv_len; ++j) {
          long double dot = 0;
          for (int32_t c = 0; c < p.dim; ++c)
            dot +=
                (long double)loadElement(
                    p.element, p.q,
                    ((int64_t(r.q_begin) + i) * p.heads + h) * p.dim + c) *
                loadElement(
                    p.element, p.k,
                    ((int64_t(r.kv_begin) + j) * p.kvHeads + kvh) * p.dim + c);
          bool visible = j <= pos && pos - j < window;
          s.push_back(visible ? p.scale * dot + slopes[h] * (j - pos)
                              : (long double)-inf);
        }
        long double m = -inf, l = 0;
        for (long double x : s)
          m = std::max(m, x);
        std::vector<long double> acc(size_t(p.dimV), 0);
        for (int32_t j = 0; j < r.kv_len && m > -inf; ++j) {
          long double w = std::exp(s[size_t(j)] - m);
          l += w;
          for (int32_t c = 0; c < p.dimV; ++c)
            acc[size_t(c)] +=
                w *
                loadElement(
                    p.element, p.v,
                    ((int64_t(r.kv_begin) + j) * p.kvHeads + kvh) * p.dimV + c);
        }
        for (long double x : acc)
          o.push_back(l > 0 ? double(x / l) : 0);
        lse.push_back(l > 0 ? double(m + std::log(l)) : -inf);
      }
}

} // namespace

TEST(Oracle, AgainstPlainLoops) {
  const float slopes[6] = {0.5f, 0.25f, 0.125f, 1, 2, 0};
  mask::TableData table;
  table.data = slopes;
  table.element = ATTN_F32;
  table.extent[0] = 6;
  uint32_t window = 9;
  mask::Signature signature;
  signature.params = {ATTN_I32};
  signature.tables = {{ATTN_F32, 1}};
  for (Element e : {Element::F32, Element::F16, Element::BF16}) {
    Fixture f({{5, 30}, {17, 17}, {9, 4}, {0, 3}, {3, 0}}, 6, 2, 11, 5, e);
    f.fill(1);
    f.problem.scale = 0.3f;
    f.problem.bindings = {&window, 1, &table, 1};
    mask::Assembler score(ATTN_HOOK_SCORE);
    score.arg(ATTN_ARG_S).arg(ATTN_ARG_H).table(0);
    score.arg(ATTN_ARG_K).arg(ATTN_ARG_Q).op(ATTN_OP_ISUB).op(ATTN_OP_I2F);
    score.op(ATTN_OP_FMUL).op(ATTN_OP_FADD);
    f.hook(score, signature);
    mask::Assembler m(ATTN_HOOK_MASK);
    m.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB);
    unsigned d = m.set();
    m.get(d).i32(0).icmp(ATTN_CMP_GE).get(d).param(0).icmp(ATTN_CMP_LT);
    m.op(ATTN_OP_AND);
    f.hook(m, signature);
    f.run();
    std::vector<double> o, lse;
    naive(f, 9, slopes, o, lse);
    ASSERT_EQ(o.size(), f.result.o.size());
    for (size_t i = 0; i < o.size(); ++i)
      ASSERT_NEAR(o[i], f.result.o[i], 1e-12) << i;
    for (size_t i = 0; i < lse.size(); ++i) {
      if (std::isinf(lse[i]))
        ASSERT_EQ(lse[i], f.result.lse[i]);
      else
        ASSERT_NEAR(lse[i], f.result.lse[i], 1e-11);
    }

    // Threads and samples change nothing, to the bit.
    Reference first = f.result;
    f.run(5);
    EXPECT_EQ(first.o, f.result.o);
    EXPECT_EQ(first.lse, f.result.lse);
    f.run(64);
    EXPECT_EQ(first.o, f.result.o);
    std::vector<RowId> sample = sampleRows(f.problem, 4, 99);
    Reference part;
    std::string error;
    ASSERT_TRUE(attention(f.problem, sample, part, error, 2)) << error;
    for (size_t i = 0; i < sample.size(); ++i) {
      size_t at = 0;
      while (first.rows[at].request != sample[i].request ||
             first.rows[at].row != sample[i].row ||
             first.rows[at].head != sample[i].head)
        ++at;
      EXPECT_EQ(part.lse[i], first.lse[at]);
    }
  }
}

// Dense storage with a batch stride and padding between heads.
TEST(Oracle, StridesAreHonoured) {
  Fixture packed({{3, 4}, {3, 4}}, 2, 2, 4, 4);
  packed.fill(5);
  packed.run();
  Fixture padded({{3, 4}, {3, 4}}, 2, 2, 4, 4);
  auto spread = [](std::vector<uint8_t> &from, attn_strides &s,
                   int32_t tokens) {
    attn_strides wide = {1000, 50, 7};
    std::vector<uint8_t> to(2000 * 4, 0xff); // NaN between the elements
    for (int r = 0; r < 2; ++r)
      for (int t = 0; t < tokens; ++t)
        for (int h = 0; h < 2; ++h)
          for (int c = 0; c < 4; ++c)
            storeElement(
                Element::F32, to.data(),
                r * wide.batch + t * wide.token + h * wide.head + c,
                loadElement(Element::F32, from.data(),
                            (r * tokens + t) * s.token + h * s.head + c));
    from = to;
    s = wide;
  };
  padded.fill(5);
  spread(padded.q, padded.problem.qStrides, 3);
  spread(padded.k, padded.problem.kStrides, 4);
  spread(padded.v, padded.problem.vStrides, 4);
  padded.problem.q = padded.q.data();
  padded.problem.k = padded.k.data();
  padded.problem.v = padded.v.data();
  for (attn_request_record &r : padded.problem.requests)
    r.q_begin = r.kv_begin = 0;
  padded.run();
  EXPECT_EQ(packed.result.o, padded.result.o);
  EXPECT_EQ(packed.result.lse, padded.result.lse);
}

TEST(Oracle, SampledRows) {
  Fixture f({{100, 10}, {3, 5}, {0, 5}}, 2, 1, 1, 1);
  std::vector<RowId> rows = sampleRows(f.problem, 10, 42);
  EXPECT_EQ(rows.size(), size_t(10 * 2 + 3 * 2));
  EXPECT_EQ(rows[0].row, 0);
  EXPECT_EQ(rows[9].row, 99);
  for (size_t i = 1; i < 10; ++i)
    EXPECT_LT(rows[i - 1].row, rows[i].row);
  EXPECT_EQ(allRows(f.problem).size(), size_t(206));
}

TEST(Oracle, Errors) {
  std::string error;
  Reference out;
  auto expectError = [&](const Fixture &f, const char *text) {
    EXPECT_FALSE(attention(f.problem, {}, out, error));
    EXPECT_EQ(error, text);
  };
  Fixture heads({{1, 1}}, 3, 2, 1, 1);
  expectError(heads, "3 heads do not divide into 2 kv heads");
  Fixture dims({{1, 1}}, 1, 1, 1, 1);
  dims.problem.dimV = 0;
  expectError(dims, "head dimensions are 1 and 0 but must be at least 1");
  Fixture lengths({{1, 1}}, 1, 1, 1, 1);
  lengths.problem.requests[0].kv_len = -1;
  expectError(lengths, "request 0 has q_len 1 and kv_len -1 but both must be "
                       "at least 0");
  Fixture none({{1, 1}}, 1, 1, 1, 1);
  mask::Assembler sink(ATTN_HOOK_SINK);
  sink.f32(0);
  none.hook(sink);
  none.problem.softmax = false;
  expectError(none, "normaliser none has no sink logit");
  Fixture kinds({{1, 1}}, 1, 1, 1, 1);
  kinds.causal();
  kinds.problem.score = kinds.problem.mask;
  expectError(kinds, "the score hook is not a valid program of that kind");
  Fixture unbound({{1, 1}}, 1, 1, 1, 1);
  mask::Signature signature;
  signature.params = {ATTN_F32};
  mask::Assembler score(ATTN_HOOK_SCORE);
  score.param(0);
  unbound.hook(score, signature);
  expectError(unbound, "hook declares 1 parameters but 0 are bound");
  Fixture rows({{1, 1}}, 1, 1, 1, 1);
  EXPECT_FALSE(attention(rows.problem, {{0, 1, 0}}, out, error));
  EXPECT_EQ(error, "row 1 of head 0 in request 0 does not exist");
  EXPECT_FALSE(attention(rows.problem, {{1, 0, 0}}, out, error));
  EXPECT_EQ(error, "row 0 of head 0 in request 1 does not exist");
}
