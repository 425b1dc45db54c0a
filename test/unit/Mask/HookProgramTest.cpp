//===- HookProgramTest.cpp - encoding, checking, printing -----------------===//
#include "MaskPrograms.h"

#include <random>

using namespace attn::mask;

namespace {

std::string hex(const std::vector<uint8_t> &bytes, size_t from = 12) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = from; i < bytes.size(); ++i) {
    if (i > from && (i - from) % 4 == 0)
      text += ' ';
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

std::vector<uint8_t> bytesOf(Assembler &a) {
  std::vector<uint8_t> bytes;
  std::string error;
  EXPECT_TRUE(a.finish(bytes, error)) << error;
  return bytes;
}

/// The message of a program that must not decode.
std::string errorOf(const std::vector<uint8_t> &bytes,
                    const Signature &signature = {}) {
  HookProgram program;
  std::string error;
  EXPECT_FALSE(HookProgram::decode(bytes.data(), bytes.size(), signature,
                                   program, error));
  EXPECT_FALSE(program.valid());
  return error;
}

std::string errorOf(Assembler &a, const Signature &signature = {}) {
  return errorOf(bytesOf(a), signature);
}

/// A mask of raw instructions.
std::vector<uint8_t> raw(std::initializer_list<attn_hook_instr> code,
                         unsigned locals = 0,
                         std::initializer_list<uint32_t> pool = {},
                         attn_hook_kind kind = ATTN_HOOK_MASK) {
  std::vector<uint8_t> b = {'A', 'H', 'X',           '1',
                            1,   0,   uint8_t(kind), uint8_t(locals)};
  auto half = [&b](unsigned v) {
    b.push_back(uint8_t(v));
    b.push_back(uint8_t(v >> 8));
  };
  half(unsigned(code.size()));
  half(unsigned(pool.size()));
  for (uint32_t w : pool) {
    half(w & 0xffff);
    half(w >> 16);
  }
  for (attn_hook_instr in : code) {
    b.push_back(in.op);
    b.push_back(in.index);
    half(uint16_t(in.imm));
  }
  return b;
}

const attn_hook_instr q{ATTN_OP_ARG, ATTN_ARG_Q, 0};
const attn_hook_instr k{ATTN_OP_ARG, ATTN_ARG_K, 0};
const attn_hook_instr ge{ATTN_OP_ICMP, ATTN_CMP_GE, 0};
const attn_hook_instr fin{ATTN_OP_END, 0, 0};

Signature twoAndTwo() {
  Signature s;
  s.params = {ATTN_F32, ATTN_I32};
  s.tables = {{ATTN_F32, 1}, {ATTN_F32, 1}};
  return s;
}

} // namespace

// The encodings of the worked example, byte by byte.
TEST(HookProgram, GoldenEncodings) {
  Assembler causalMask(ATTN_HOOK_MASK);
  causalMask.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
  std::vector<uint8_t> bytes = bytesOf(causalMask);
  EXPECT_EQ(hex(bytes, 0), "41485831 01000100 04000000 "
                           "01030000 01040000 20050000 ff000000");

  Assembler score(ATTN_HOOK_SCORE);
  score.param(0).arg(ATTN_ARG_S).arg(ATTN_ARG_H).table(0).op(ATTN_OP_FMUL);
  score.param(0).op(ATTN_OP_FDIV).op(ATTN_OP_TANH).op(ATTN_OP_FMUL);
  EXPECT_EQ(hex(bytesOf(score)),
            "02000000 01000000 01020000 05000000 42000000 02000000 43000000 "
            "4a000000 42000000 ff000000");

  Assembler mask(ATTN_HOOK_MASK);
  mask.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB);
  unsigned d = mask.set();
  mask.get(d).i32(0).icmp(ATTN_CMP_GE);
  mask.get(d).param(1).icmp(ATTN_CMP_LT).op(ATTN_OP_AND);
  EXPECT_EQ(hex(bytesOf(mask)),
            "01030000 01040000 11000000 06000000 07000000 03000000 20050000 "
            "07000000 02010000 20020000 30000000 ff000000");

  Assembler sink(ATTN_HOOK_SINK);
  sink.arg(ATTN_ARG_H).table(1);
  EXPECT_EQ(hex(bytesOf(sink)), "01020000 05010000 ff000000");
}

TEST(HookProgram, RoundTripAndText) {
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB);
  unsigned d = a.set();
  a.get(d).i32(-5).icmp(ATTN_CMP_GE).get(d).i32(100000).icmp(ATTN_CMP_LT);
  a.op(ATTN_OP_AND).i1(true).op(ATTN_OP_AND);
  a.param(0).f32(0.5f).fcmp(ATTN_CMP_NE).op(ATTN_OP_AND);
  std::vector<uint8_t> bytes = bytesOf(a);
  HookProgram program;
  std::string error;
  ASSERT_TRUE(HookProgram::decode(bytes.data(), bytes.size(), twoAndTwo(),
                                  program, error))
      << error;
  EXPECT_EQ(program.encode(), bytes);
  EXPECT_EQ(program.str(" | "),
            "arg q | arg k | isub | set 0 | get 0 | imm -5 | icmp ge | get 0 "
            "| imm 100000 | icmp lt | and | imm true | and | param 0 | imm "
            "f32 0.5 | fcmp ne | and | end");
  EXPECT_EQ(program.kind(), ATTN_HOOK_MASK);
  EXPECT_EQ(program.numLocals(), 1u);
  EXPECT_EQ(program.stackDepth(), 3u);
  EXPECT_TRUE(program.usesArg(ATTN_ARG_Q));
  EXPECT_FALSE(program.usesArg(ATTN_ARG_H));
  EXPECT_FALSE(program.usesTables());
  EXPECT_TRUE(documents().usesTables());
}

TEST(HookProgram, PoolWordsAreShared) {
  Assembler a(ATTN_HOOK_MASK);
  a.i32(100000).i32(100000).icmp(ATTN_CMP_EQ);
  HookProgram program = decoded(a);
  EXPECT_EQ(program.pool().size(), 1u);
}

TEST(HookProgram, ContainerErrors) {
  std::vector<uint8_t> good = raw({q, k, ge, fin});
  HookProgram program;
  std::string error;
  EXPECT_TRUE(
      HookProgram::decode(good.data(), good.size(), {}, program, error));

  EXPECT_EQ(errorOf({1, 2, 3}), "hook has 3 bytes but its header needs 12");
  std::vector<uint8_t> bad = good;
  bad[0] = 'B';
  EXPECT_EQ(errorOf(bad), "hook does not begin with AHX1");
  bad = good;
  bad[4] = 9;
  EXPECT_EQ(errorOf(bad), "hook has version 9 but this reader knows 1");
  bad = good;
  bad[6] = 7;
  EXPECT_EQ(errorOf(bad), "hook kind 7 is not one of 7");
  bad = good;
  bad.push_back(0);
  EXPECT_EQ(errorOf(bad), "hook has 29 bytes but its header says 28");
  Signature signature;
  signature.tables.push_back({ATTN_I32, 4});
  EXPECT_EQ(errorOf(good, signature),
            "table 0 has rank 4 but 1 to 3 are possible");
}

TEST(HookProgram, CodeErrors) {
  EXPECT_EQ(errorOf(raw({{0x99, 0, 0}, fin})),
            "instruction 0 (0x99): unknown operation");
  EXPECT_EQ(errorOf(raw({q, k, {ATTN_OP_IADD, 2, 0}, fin})),
            "instruction 2 (iadd): has operand 2 but takes none");
  EXPECT_EQ(errorOf(raw({{ATTN_OP_ARG, ATTN_ARG_Q, 3}, fin})),
            "instruction 0 (arg): has immediate 3 but takes none");
  EXPECT_EQ(errorOf(raw({q, k, ge, fin, fin})),
            "instruction 3 (end): is not the last of 5 instructions");
  EXPECT_EQ(errorOf(raw({q, k, ge})), "last of 3 instructions is not an end");
  EXPECT_EQ(errorOf(raw({})), "last of 0 instructions is not an end");
  EXPECT_EQ(errorOf(raw({q, q, k, ge, fin})),
            "instruction 4 (end): stack has 2 values but must have 1");
  EXPECT_EQ(errorOf(raw({q, fin})),
            "instruction 1 (end): operand is i32 but must be i1");
  EXPECT_EQ(errorOf(raw({q, ge, fin})),
            "instruction 1 (icmp): needs 2 operands but the stack has 1");
  EXPECT_EQ(errorOf(raw({q, k, {ATTN_OP_FADD, 0, 0}, fin})),
            "instruction 2 (fadd): operand is i32 but must be f32");
  EXPECT_EQ(errorOf(raw({q, k, {ATTN_OP_ICMP, 6, 0}, fin})),
            "instruction 2 (icmp): predicate 6 is not one of 6");
  EXPECT_EQ(errorOf(raw({{ATTN_OP_ARG, 8, 0}, fin})),
            "instruction 0 (arg): argument 8 is used but 8 exist");
  EXPECT_EQ(errorOf(raw({{ATTN_OP_ARG, ATTN_ARG_S, 0}, fin})),
            "instruction 0 (arg): a mask hook has no argument s");
  EXPECT_EQ(errorOf(raw({{ATTN_OP_PARAM, 2, 0}, fin}), twoAndTwo()),
            "instruction 0 (param): parameter 2 is used but 2 exist");
  EXPECT_EQ(errorOf(raw({q, {ATTN_OP_TABLE, 3, 0}, fin}), twoAndTwo()),
            "instruction 1 (table): table 3 is used but 2 exist");
  EXPECT_EQ(errorOf(raw({{ATTN_OP_TABLE, 1, 0}, fin}), twoAndTwo()),
            "instruction 0 (table): needs 1 operands but the stack has 0");
  EXPECT_EQ(errorOf(raw({{ATTN_OP_POOL, 1, 0}, fin}, 0, {5})),
            "instruction 0 (pool): pool word 1 is used but 1 exist");
  EXPECT_EQ(errorOf(raw({{ATTN_OP_POOL, 0, 3}, fin}, 0, {5})),
            "instruction 0 (pool): type 3 is not one of 3");
  EXPECT_EQ(errorOf(raw({{ATTN_OP_POOL, 0, ATTN_I1}, fin}, 0, {5})),
            "instruction 0 (pool): pool word 0 is 5 but an i1 is 0 or 1");
  EXPECT_EQ(errorOf(raw({q, {ATTN_OP_VEC, 0, 0}, fin})),
            "instruction 1 (vec): a mask hook has no vector");
  EXPECT_EQ(errorOf(raw({{ATTN_OP_GET, 0, 0}, fin}, 1)),
            "instruction 0 (get): local 0 is read before it is written");
  EXPECT_EQ(errorOf(raw({q, {ATTN_OP_SET, 1, 0}, fin}, 1)),
            "instruction 1 (set): local 1 is used but 1 exist");
  EXPECT_EQ(
      errorOf(raw({q, {ATTN_OP_SET, 0, 0}, k, {ATTN_OP_SET, 0, 0}, fin}, 1)),
      "instruction 3 (set): local 0 is written twice");
  EXPECT_EQ(errorOf(raw({{ATTN_OP_POOL, 0, ATTN_I1},
                         q,
                         {ATTN_OP_POOL, 0, ATTN_F32},
                         {ATTN_OP_SELECT, 0, 0},
                         fin},
                        0, {1})),
            "instruction 3 (select): values are i32 and f32");

  Assembler deep(ATTN_HOOK_MASK);
  for (int i = 0; i < 200; ++i)
    deep.arg(ATTN_ARG_Q);
  EXPECT_EQ(errorOf(deep),
            "instruction 128 (arg): stack is deeper than 128 values");
}

TEST(HookProgram, ArgumentsByKind) {
  for (int kind = 0; kind < ATTN_HOOK_KINDS; ++kind)
    for (int arg = 0; arg < ATTN_ARGS; ++arg) {
      attn_hook_kind hk = attn_hook_kind(kind);
      Assembler a(hk);
      a.arg(attn_hook_arg(arg));
      if (arg != ATTN_ARG_S)
        a.op(ATTN_OP_I2F);
      if (hk == ATTN_HOOK_MASK)
        a.f32(0).fcmp(ATTN_CMP_GE);
      std::vector<uint8_t> bytes = bytesOf(a);
      HookProgram program;
      std::string error;
      bool pairs = hk == ATTN_HOOK_SCORE || hk == ATTN_HOOK_MASK;
      bool want = arg == ATTN_ARG_S   ? hk == ATTN_HOOK_SCORE
                  : arg == ATTN_ARG_K ? pairs
                  : arg == ATTN_ARG_Q ? hk != ATTN_HOOK_SINK
                  : arg == ATTN_ARG_I ? isVectorHook(hk)
                                      : true;
      EXPECT_EQ(
          HookProgram::decode(bytes.data(), bytes.size(), {}, program, error),
          want)
          << nameOf(hk) << " " << arg << " " << error;
    }
}

TEST(HookProgram, AssemblerLimits) {
  std::vector<uint8_t> bytes;
  std::string error;
  Assembler locals(ATTN_HOOK_MASK);
  for (int i = 0; i < 256; ++i)
    locals.i32(0).set();
  EXPECT_FALSE(locals.finish(bytes, error));
  EXPECT_EQ(error, "hook needs 256 locals but 255 are possible");

  Assembler pool(ATTN_HOOK_MASK);
  for (int i = 0; i < 257; ++i)
    pool.i32(100000 + i);
  EXPECT_FALSE(pool.finish(bytes, error));
  EXPECT_EQ(error, "hook needs operand 256 of pool but 255 is the highest");

  Assembler large(ATTN_HOOK_MASK);
  for (int i = 0; i < 65535; ++i)
    large.i32(0);
  EXPECT_FALSE(large.finish(bytes, error));
  EXPECT_EQ(error, "hook has 65536 instructions but 65535 are possible");
}

TEST(HookProgram, Bindings) {
  Signature signature;
  signature.params = {ATTN_I32};
  signature.tables = {{ATTN_I32, 2}};
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_B).arg(ATTN_ARG_K).table(0).param(0).icmp(ATTN_CMP_LT);
  HookProgram program = decoded(a, signature);
  std::string error;
  Bindings none;
  EXPECT_FALSE(program.checkBindings(none, error));
  EXPECT_EQ(error, "hook declares 1 parameters but 0 are bound");
  uint32_t param = 1;
  Bindings some;
  some.params = &param;
  some.numParams = 1;
  EXPECT_FALSE(program.checkBindings(some, error));
  EXPECT_EQ(error, "hook declares 1 tables but 0 are bound");
  TableData data;
  data.element = ATTN_F32;
  some.tables = &data;
  some.numTables = 1;
  EXPECT_FALSE(program.checkBindings(some, error));
  EXPECT_EQ(error, "table 0 is declared i32 but bound as f32");
  data.element = ATTN_I32;
  EXPECT_FALSE(program.checkBindings(some, error));
  EXPECT_EQ(error, "table 0 is declared with rank 2 but bound with 1");
  data.rank = 2;
  EXPECT_TRUE(program.checkBindings(some, error));
}

namespace {

/// Whatever decodes must evaluate without fault.
void runIfValid(const std::vector<uint8_t> &bytes, const Signature &signature,
                int &valid) {
  HookProgram program;
  std::string error;
  if (!HookProgram::decode(bytes.data(), bytes.size(), signature, program,
                           error)) {
    ASSERT_FALSE(error.empty());
    return;
  }
  ++valid;
  ASSERT_EQ(program.encode(), bytes);
  ASSERT_FALSE(program.str().empty());
  float entries[4] = {1, 2, 3, 4};
  TableData tables[2];
  for (TableData &t : tables) {
    t.data = entries;
    t.element = ATTN_F32;
    t.extent[0] = 4;
  }
  uint32_t params[2] = {0x3f800000, 7};
  Env<double> env;
  env.bindings = {params, 2, tables, 2};
  env.q = 1000;
  env.k = -5;
  env.s = 1;
  evalMask(program, env);
  evalFloat(program, env);
}

} // namespace

TEST(HookProgram, HostileBytes) {
  std::mt19937 random(1);
  int valid = 0;
  for (int n = 0; n < 10000; ++n) {
    std::vector<uint8_t> bytes(random() % 80);
    for (uint8_t &b : bytes)
      b = uint8_t(random());
    // Half of them get past the header, so that the code is reached.
    if (n % 2 && bytes.size() >= 16) {
      size_t words = (bytes.size() - 12) / 4;
      bytes.resize(12 + 4 * words);
      size_t pool = random() % (words + 1);
      const uint8_t header[] = {'A',
                                'H',
                                'X',
                                '1',
                                1,
                                0,
                                uint8_t(random() % 7),
                                uint8_t(random() % 4),
                                uint8_t(words - pool),
                                0,
                                uint8_t(pool),
                                0};
      std::copy(header, header + 12, bytes.begin());
    }
    runIfValid(bytes, twoAndTwo(), valid);
  }
}

TEST(HookProgram, BitFlips) {
  Assembler score(ATTN_HOOK_SCORE);
  score.param(0).arg(ATTN_ARG_S).arg(ATTN_ARG_H).table(0).op(ATTN_OP_FMUL);
  unsigned x = score.set();
  score.get(x).param(0).op(ATTN_OP_FDIV).op(ATTN_OP_TANH).op(ATTN_OP_FMUL);
  score.f32(1.5f).op(ATTN_OP_FADD).get(x).op(ATTN_OP_FMAX);
  const std::vector<uint8_t> good = bytesOf(score);
  int valid = 0, flips = 0;
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit, ++flips) {
      std::vector<uint8_t> bytes = good;
      bytes[i] ^= uint8_t(1 << bit);
      runIfValid(bytes, twoAndTwo(), valid);
    }
  EXPECT_GT(valid, 0); // fadd to fsub and the like
  EXPECT_LT(valid, flips / 2);
  for (size_t n = 0; n < good.size(); ++n)
    runIfValid({good.begin(), good.begin() + long(n)}, twoAndTwo(), flips);
}
