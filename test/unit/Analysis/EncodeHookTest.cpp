//===- EncodeHookTest.cpp - exact programs and refusals -------------------===//

#include "HookFixture.h"

#include "attn/Analysis/EncodeHook.h"

using namespace attn;

namespace {

class EncodeHookTest : public attn::test::HookFixture {
protected:
  std::string program(llvm::StringRef text) {
    HookOp hook = parseHook(text);
    mask::HookProgram result;
    std::string error;
    if (!hook || !encodeHook(hook, result, error))
      return "error: " + error;
    return result.str(" | ");
  }
};

} // namespace

TEST_F(EncodeHookTest, CausalBytes) {
  HookOp hook = parseHook(R"(attn.variant @v {
    attn.hook mask(%b, %h, %q, %k) {
      %r = arith.cmpi sge, %q, %k : i32
      attn.yield %r : i1
    } })");
  std::vector<uint8_t> bytes;
  std::string error;
  ASSERT_TRUE(encodeHook(hook, bytes, error)) << error;
  ASSERT_EQ(bytes.size(), 12u + 4 * 4);
  const uint8_t code[] = {0x01, 3, 0, 0, 0x01, 4, 0, 0,
                          0x20, 5, 0, 0, 0xff, 0, 0, 0};
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin() + 12, bytes.end()),
            std::vector<uint8_t>(std::begin(code), std::end(code)));
  auto reported = encodeHook(hook);
  ASSERT_TRUE(succeeded(reported));
  EXPECT_EQ(*reported, bytes);
}

TEST_F(EncodeHookTest, ValueUsedTwiceGoesThroughALocal) {
  EXPECT_EQ(program(R"(attn.variant @v {
    %w = attn.param "window" : i32
    attn.hook mask(%b, %h, %q, %k) {
      %zero = arith.constant 0 : i32
      %d = arith.subi %q, %k : i32
      %lo = arith.cmpi sge, %d, %zero : i32
      %hi = arith.cmpi slt, %d, %w : i32
      %r = arith.andi %lo, %hi : i1
      attn.yield %r : i1
    } })"),
            "arg q | arg k | isub | set 0 | get 0 | imm 0 | icmp ge | get 0 | "
            "param 0 | icmp lt | and | end");
}

TEST_F(EncodeHookTest, TablesAndParamsByOrderOfDeclaration) {
  EXPECT_EQ(program(R"(attn.variant @v {
    %a = attn.param "a" : i32
    %t = attn.table "t" : !attn.table<i32, [free]>
    %cap = attn.param "cap" : f32
    %u = attn.table "u" : !attn.table<f32, [batch, head]>
    attn.hook sink(%b, %h) {
      %x = attn.read %u[%b, %h] : !attn.table<f32, [batch, head]>
      %y = arith.mulf %cap, %x : f32
      attn.yield %y : f32
    } })"),
            "param 1 | arg b | arg h | table 1 | fmul | end");
}

TEST_F(EncodeHookTest, VectorHookReadsElements) {
  EXPECT_EQ(
      program(R"(attn.variant @v {
    attn.hook key(%x: vector<64xf32>, %b, %h, %pos, %i) {
      %one = arith.constant 1 : i32
      %j = arith.xori %i, %one : i32
      %y = attn.element %x[%j] : vector<64xf32>
      %l = attn.length kv
      %d = arith.subi %l, %pos : i32
      %f = arith.sitofp %d : i32 to f32
      %r = arith.mulf %y, %f : f32
      attn.yield %r : f32
    } })"),
      "arg i | imm 1 | ixor | vec | arg kv_len | arg q | isub | i2f | fmul "
      "| end");
}

TEST_F(EncodeHookTest, FmaIsAProductAndASum) {
  EXPECT_EQ(program(R"(attn.variant @v {
    %m = attn.param "m" : f32
    attn.hook score(%s, %b, %h, %q, %k) {
      %f = arith.sitofp %k : i32 to f32
      %y = math.fma %m, %f, %s : f32
      attn.yield %y : f32
    } })"),
            "param 0 | arg k | i2f | arg s | set 0 | fmul | get 0 | fadd | end");
}

TEST_F(EncodeHookTest, ArgumentAloneIsAHook) {
  EXPECT_EQ(program(R"(attn.variant @v {
    attn.hook score(%s, %b, %h, %q, %k) { attn.yield %s : f32 } })"),
            "arg s | end");
}

TEST_F(EncodeHookTest, LongChainDoesNotRecurse) {
  std::string text = "attn.variant @v { attn.hook score(%s, %b, %h, %q, %k) {\n"
                     "%x0 = arith.addf %s, %s : f32\n";
  for (int i = 0; i != 20000; ++i)
    text += "%x" + std::to_string(i + 1) + " = arith.addf %x" +
            std::to_string(i) + ", %s : f32\n";
  text += "attn.yield %x20000 : f32 } }";
  HookOp hook = parseHook(text);
  mask::HookProgram result;
  std::string error;
  EXPECT_TRUE(encodeHook(hook, result, error)) << error;
  EXPECT_EQ(result.stackDepth(), 2u);
}

TEST_F(EncodeHookTest, RefusesByName) {
  auto inMask = [](std::string body) {
    return "attn.variant @v { attn.hook mask(%b, %h, %q, %k) {\n" + body +
           "\nattn.yield %r : i1 } }";
  };
  auto inScore = [](std::string body) {
    return "attn.variant @v { attn.hook score(%s, %b, %h, %q, %k) {\n" + body +
           "\nattn.yield %r : f32 } }";
  };
  EXPECT_EQ(program(inMask("%r = arith.cmpi ult, %q, %k : i32")),
            "error: 'arith.cmpi' with an unsigned predicate has no encoding; "
            "use slt, sle, sgt or sge");
  EXPECT_EQ(program(inMask("%x = arith.cmpi slt, %q, %k : i32\n"
                           "%r = arith.cmpi slt, %x, %x : i1")),
            "error: 'arith.cmpi' orders i1 values, which has no encoding");
  EXPECT_EQ(program(inMask("%x = arith.cmpi slt, %q, %k : i32\n"
                           "%r = arith.addi %x, %x : i1")),
            "error: 'arith.addi' on i1 has no encoding");
  EXPECT_EQ(program(inScore("%r = math.floor %s : f32")),
            "error: 'math.floor' has no encoding");
  EXPECT_EQ(program(inScore("%x = arith.divui %q, %k : i32\n"
                            "%r = arith.sitofp %x : i32 to f32")),
            "error: 'arith.divui' has no encoding");
  EXPECT_EQ(program(inScore("%r = arith.uitofp %q : i32 to f32")),
            "error: 'arith.uitofp' has no encoding");
  // The reporting form puts the same text on the hook.
  HookOp hook = parseHook(inScore("%r = math.erf %s : f32"));
  EXPECT_TRUE(failed(encodeHook(hook)));
  EXPECT_EQ(diagnostics, "'attn.hook' op 'math.erf' has no encoding\n");
}

TEST_F(EncodeHookTest, RefusesTooManyLocals) {
  // 300 values that are used twice need 300 locals; the format counts in a
  // byte.
  std::string text = "attn.variant @v { attn.hook score(%s, %b, %h, %q, %k) {\n"
                     "%x0 = arith.addf %s, %s : f32\n";
  for (int i = 0; i != 300; ++i)
    text += "%x" + std::to_string(i + 1) + " = arith.addf %x" +
            std::to_string(i) + ", %x" + std::to_string(i) + " : f32\n";
  text += "attn.yield %x300 : f32 } }";
  HookOp hook = parseHook(text);
  mask::HookProgram result;
  std::string error;
  EXPECT_FALSE(encodeHook(hook, result, error));
  EXPECT_NE(error.find("256"), std::string::npos) << error;
}
