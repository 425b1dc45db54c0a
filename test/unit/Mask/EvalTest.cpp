//===- EvalTest.cpp - scalar evaluation of hooks --------------------------===//
#include "MaskPrograms.h"

#include <cmath>
#include <limits>

using namespace attn::mask;

namespace {

/// Value of "a op b" through a program.
int32_t runInt(attn_hook_op op, int32_t a, int32_t b) {
  Assembler as(ATTN_HOOK_SCORE);
  // Through halves of 16 bits, so that i2f loses nothing.
  as.i32(a).i32(b).op(op);
  unsigned v = as.set();
  as.get(v)
      .i32(16)
      .op(ATTN_OP_ISHR)
      .op(ATTN_OP_I2F)
      .f32(65536)
      .op(ATTN_OP_FMUL);
  as.get(v).i32(65535).op(ATTN_OP_IAND).op(ATTN_OP_I2F).op(ATTN_OP_FADD);
  double value = evalFloat(decoded(as), Env<double>());
  return int32_t(value);
}

double runFloat(std::initializer_list<float> operands, attn_hook_op op) {
  Assembler as(ATTN_HOOK_SCORE);
  for (float f : operands)
    as.f32(f);
  as.op(op);
  return evalFloat(decoded(as), Env<double>());
}

} // namespace

TEST(Eval, IntegerOperations) {
  EXPECT_EQ(runInt(ATTN_OP_IADD, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(runInt(ATTN_OP_ISUB, INT32_MIN, 1), INT32_MAX);
  EXPECT_EQ(runInt(ATTN_OP_IMUL, 65536, 65537), 65536);
  EXPECT_EQ(runInt(ATTN_OP_IFLOORDIV, 7, 2), 3);
  EXPECT_EQ(runInt(ATTN_OP_IFLOORDIV, -7, 2), -4);
  EXPECT_EQ(runInt(ATTN_OP_IFLOORDIV, 7, -2), -4);
  EXPECT_EQ(runInt(ATTN_OP_IFLOORDIV, -7, -2), 3);
  EXPECT_EQ(runInt(ATTN_OP_IFLOORDIV, 7, 0), 0);
  EXPECT_EQ(runInt(ATTN_OP_IFLOORDIV, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(runInt(ATTN_OP_IMOD, 7, 3), 1);
  EXPECT_EQ(runInt(ATTN_OP_IMOD, -7, 3), 2);
  EXPECT_EQ(runInt(ATTN_OP_IMOD, 7, -3), -2);
  EXPECT_EQ(runInt(ATTN_OP_IMOD, -7, -3), -1);
  EXPECT_EQ(runInt(ATTN_OP_IMOD, 7, 0), 0);
  EXPECT_EQ(runInt(ATTN_OP_IMOD, INT32_MIN, -1), 0);
  EXPECT_EQ(runInt(ATTN_OP_IMIN, -3, 5), -3);
  EXPECT_EQ(runInt(ATTN_OP_IMAX, -3, 5), 5);
  EXPECT_EQ(runInt(ATTN_OP_IAND, 12, 10), 8);
  EXPECT_EQ(runInt(ATTN_OP_IOR, 12, 10), 14);
  EXPECT_EQ(runInt(ATTN_OP_IXOR, 12, 10), 6);
  EXPECT_EQ(runInt(ATTN_OP_ISHL, 3, 33), 6);
  EXPECT_EQ(runInt(ATTN_OP_ISHL, 1, 31), INT32_MIN);
  EXPECT_EQ(runInt(ATTN_OP_ISHR, -8, 1), -4);
  EXPECT_EQ(runInt(ATTN_OP_ISHR, -8, 34), -2);
}

TEST(Eval, FloatOperations) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(runFloat({3, 4}, ATTN_OP_FADD), 7);
  EXPECT_EQ(runFloat({3, 4}, ATTN_OP_FSUB), -1);
  EXPECT_EQ(runFloat({3, 4}, ATTN_OP_FMUL), 12);
  EXPECT_EQ(runFloat({3, 4}, ATTN_OP_FDIV), 0.75);
  EXPECT_EQ(runFloat({3}, ATTN_OP_FNEG), -3);
  EXPECT_EQ(runFloat({-3}, ATTN_OP_FABS), 3);
  EXPECT_EQ(runFloat({nan, 4}, ATTN_OP_FMIN), 4);
  EXPECT_EQ(runFloat({4, nan}, ATTN_OP_FMAX), 4);
  EXPECT_EQ(runFloat({3, 4}, ATTN_OP_FMIN), 3);
  EXPECT_EQ(runFloat({3, 4}, ATTN_OP_FMAX), 4);
  EXPECT_NEAR(runFloat({3}, ATTN_OP_EXP2), 8, 1e-12);
  EXPECT_NEAR(runFloat({8}, ATTN_OP_LOG2), 3, 1e-12);
  EXPECT_NEAR(runFloat({0.5f}, ATTN_OP_TANH), 0.46211715726, 1e-9);
  EXPECT_NEAR(runFloat({2}, ATTN_OP_SQRT), 1.41421356237, 1e-9);
  EXPECT_NEAR(runFloat({1}, ATTN_OP_EXP), 2.71828182846, 1e-9);
  EXPECT_NEAR(runFloat({2}, ATTN_OP_LOG), 0.69314718056, 1e-9);
  EXPECT_NEAR(runFloat({1}, ATTN_OP_SIN), 0.84147098481, 1e-9);
  EXPECT_NEAR(runFloat({1}, ATTN_OP_COS), 0.54030230587, 1e-9);
}

TEST(Eval, Conversions) {
  auto toInt = [](float f) {
    Assembler a(ATTN_HOOK_SCORE);
    a.f32(f).op(ATTN_OP_F2I).op(ATTN_OP_I2F);
    return evalFloat(decoded(a), Env<double>());
  };
  EXPECT_EQ(toInt(2.9f), 2);
  EXPECT_EQ(toInt(-2.9f), -2);
  EXPECT_EQ(toInt(1e20f), 2147483647.0);
  EXPECT_EQ(toInt(-1e20f), -2147483648.0);
  EXPECT_EQ(toInt(std::numeric_limits<float>::quiet_NaN()), 0);
  Assembler b(ATTN_HOOK_SCORE);
  b.i1(true).op(ATTN_OP_B2I).op(ATTN_OP_I2F);
  EXPECT_EQ(evalFloat(decoded(b), Env<float>()), 1.0f);
}

TEST(Eval, Comparisons) {
  auto compare = [](bool isFloat, float a, float b, attn_hook_predicate p) {
    Assembler as(ATTN_HOOK_MASK);
    if (isFloat)
      as.f32(a).f32(b).fcmp(p);
    else
      as.i32(int32_t(a)).i32(int32_t(b)).icmp(p);
    return evalMask(decoded(as), Env<double>());
  };
  // less, equal, greater for each predicate
  const bool want[6][3] = {{false, true, false}, {true, false, true},
                           {true, false, false}, {true, true, false},
                           {false, false, true}, {false, true, true}};
  for (int p = 0; p < 6; ++p)
    for (int c = 0; c < 3; ++c)
      for (bool isFloat : {false, true})
        EXPECT_EQ(compare(isFloat, float(c), 1.0f, attn_hook_predicate(p)),
                  want[p][c]);
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (int p = 0; p < 6; ++p)
    EXPECT_EQ(compare(true, nan, 1.0f, attn_hook_predicate(p)),
              p == ATTN_CMP_NE);
}

TEST(Eval, SelectAndLogic) {
  for (int bits = 0; bits < 8; ++bits) {
    bool x = bits & 1, y = bits & 2, z = bits & 4;
    Assembler a(ATTN_HOOK_MASK);
    a.i1(x).i1(y).op(ATTN_OP_AND).i1(z).op(ATTN_OP_OR).i1(x).op(ATTN_OP_XOR);
    a.op(ATTN_OP_NOT);
    EXPECT_EQ(evalMask(decoded(a), Env<double>()), !(((x && y) || z) != x));
    Assembler s(ATTN_HOOK_MASK);
    s.i1(x).i1(y).i1(z).op(ATTN_OP_SELECT);
    EXPECT_EQ(evalMask(decoded(s), Env<double>()), x ? y : z);
  }
}

TEST(Eval, TableIndicesAreClamped) {
  Signature signature;
  signature.tables = {{ATTN_F32, 2}};
  Assembler a(ATTN_HOOK_SCORE);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).table(0);
  HookProgram program = decoded(a, signature);
  const float entries[6] = {0, 1, 2, 10, 11, 12};
  TableData data;
  data.data = entries;
  data.element = ATTN_F32;
  data.rank = 2;
  data.extent[0] = 2;
  data.extent[1] = 3;
  Env<float> env;
  env.bindings.tables = &data;
  env.bindings.numTables = 1;
  auto at = [&](int32_t row, int32_t column) {
    env.q = row;
    env.k = column;
    return evalFloat(program, env);
  };
  EXPECT_EQ(at(1, 1), 11.0f);
  EXPECT_EQ(at(-5, 2), 2.0f);
  EXPECT_EQ(at(INT32_MAX, INT32_MIN), 10.0f);
  EXPECT_EQ(at(INT32_MIN, INT32_MAX), 2.0f);
  data.extent[1] = 0;
  EXPECT_EQ(at(0, 0), 0.0f);
  data.data = nullptr;
  EXPECT_EQ(at(0, 0), 0.0f);
  env.bindings.numTables = 0;
  EXPECT_EQ(at(0, 0), 0.0f);
}

TEST(Eval, BooleanTable) {
  Signature signature;
  signature.tables = {{ATTN_I1, 1}};
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_K).table(0);
  HookProgram program = decoded(a, signature);
  const uint8_t entries[3] = {1, 0, 1};
  TableData data;
  data.data = entries;
  data.element = ATTN_I1;
  data.extent[0] = 3;
  Env<double> env;
  env.bindings.tables = &data;
  env.bindings.numTables = 1;
  for (env.k = 0; env.k < 3; ++env.k)
    EXPECT_EQ(evalMask(program, env), entries[env.k] != 0);
}

TEST(Eval, ArgumentsAndVector) {
  Assembler a(ATTN_HOOK_QUERY);
  a.arg(ATTN_ARG_I).i32(1).op(ATTN_OP_IXOR).op(ATTN_OP_VEC);
  a.arg(ATTN_ARG_B).arg(ATTN_ARG_H).op(ATTN_OP_IADD);
  a.arg(ATTN_ARG_Q).op(ATTN_OP_IADD).arg(ATTN_ARG_Q_LEN).op(ATTN_OP_IADD);
  a.arg(ATTN_ARG_KV_LEN).op(ATTN_OP_IADD).op(ATTN_OP_I2F).op(ATTN_OP_FADD);
  HookProgram program = decoded(a);
  const double x[3] = {0.5, 0.25, 0.125};
  Env<double> env;
  env.x = x;
  env.xSize = 3;
  env.b = 1;
  env.h = 10;
  env.q = 100;
  env.qLen = 1000;
  env.kvLen = 10000;
  env.i = 0;
  EXPECT_EQ(evalFloat(program, env), 11111.25);
  env.i = 1;
  EXPECT_EQ(evalFloat(program, env), 11111.5);
  env.i = 2; // element 3 does not exist: the last one
  EXPECT_EQ(evalFloat(program, env), 11111.125);
  env.i = -9;
  EXPECT_EQ(evalFloat(program, env), 11111.5);
  env.xSize = 0;
  EXPECT_EQ(evalFloat(program, env), 11111.0);
}

TEST(Eval, ParametersByType) {
  Signature signature;
  signature.params = {ATTN_I32, ATTN_F32, ATTN_I1};
  Assembler a(ATTN_HOOK_SCORE);
  a.param(2).param(0).op(ATTN_OP_I2F).param(1).op(ATTN_OP_SELECT);
  HookProgram program = decoded(a, signature);
  uint32_t params[3] = {uint32_t(-4), 0x3f000000, 1};
  Env<double> env;
  env.bindings.params = params;
  env.bindings.numParams = 3;
  EXPECT_EQ(evalFloat(program, env), -4.0);
  params[2] = 0;
  EXPECT_EQ(evalFloat(program, env), 0.5);
}

// The result of a mask is no float and the other way round.
TEST(Eval, KindOfResult) {
  EXPECT_EQ(evalFloat(causal(), Env<double>()), 0.0);
  Assembler a(ATTN_HOOK_SCORE);
  a.f32(1);
  EXPECT_FALSE(evalMask(decoded(a), Env<double>()));
  EXPECT_FALSE(evalMask(HookProgram(), Env<double>()));
}
