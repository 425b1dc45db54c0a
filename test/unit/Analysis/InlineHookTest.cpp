//===- InlineHookTest.cpp - shape of inlined code and refusals ------------===//

#include "HookFixture.h"

#include "attn/Analysis/InlineHook.h"

using namespace attn;
using namespace mlir;

namespace {

class InlineHookTest : public attn::test::HookFixture {
protected:
  /// Inlines the hook with q and k of the given types, all else i32; returns
  /// the operations in front of the yield.
  std::string inlined(HookOp hook, const HookReads &reads, Type kType) {
    OpBuilder b(&context);
    Location loc = b.getUnknownLoc();
    auto func = func::FuncOp::create(
        loc, "f", b.getFunctionType({b.getI32Type(), kType}, {}));
    Block *block = func.addEntryBlock();
    b.setInsertionPointToStart(block);
    Value i = block->getArgument(0), k = block->getArgument(1);
    SmallVector<Value> args{i, i, i, k};
    args.resize(hook.getBody().getNumArguments(), i);
    FailureOr<Value> result = inlineHook(b, hook, args, reads);
    std::string text;
    if (succeeded(result)) {
      for (Operation &op : *block) {
        EXPECT_TRUE(succeeded(verify(&op))) << diagnostics;
        text += op.getName().getStringRef().str() + " ";
      }
      llvm::raw_string_ostream(text) << ": " << result->getType();
    }
    func.erase();
    return text;
  }
};

constexpr const char *causal = R"(attn.variant @v {
  attn.hook mask(%b, %h, %q, %k) {
    %r = arith.cmpi sge, %q, %k : i32
    attn.yield %r : i1
  } })";

constexpr const char *reading = R"(attn.variant @v {
  %w = attn.param "w" : i32
  %t = attn.table "t" : !attn.table<i32, [position]>
  attn.hook mask(%b, %h, %q, %k) {
    %x = attn.read %t[%k] : !attn.table<i32, [position]>
    %l = attn.length kv
    %y = arith.addi %x, %l : i32
    %r = arith.cmpi sge, %y, %w : i32
    attn.yield %r : i1
  } })";

} // namespace

TEST_F(InlineHookTest, ScalarsAndVectors) {
  HookOp hook = parseHook(causal);
  Type i32 = IntegerType::get(&context, 32);
  EXPECT_EQ(inlined(hook, {}, i32), "arith.cmpi : i1");
  EXPECT_EQ(inlined(hook, {}, VectorType::get({8}, i32)),
            "vector.broadcast arith.cmpi : vector<8xi1>");
}

TEST_F(InlineHookTest, UniformResultStaysScalar) {
  HookOp hook = parseHook(R"(attn.variant @v {
    attn.hook mask(%b, %h, %q, %k) {
      %r = arith.cmpi sge, %q, %b : i32
      attn.yield %r : i1
    } })");
  EXPECT_EQ(
      inlined(hook, {}, VectorType::get({8}, IntegerType::get(&context, 32))),
      "arith.cmpi : i1");
}

TEST_F(InlineHookTest, FloorDivisionByPowerOfTwoIsAShift) {
  HookOp hook = parseHook(R"(attn.variant @v {
    attn.hook mask(%b, %h, %q, %k) {
      %c = arith.constant 16 : i32
      %x = arith.floordivsi %q, %c : i32
      %y = arith.floordivsi %k, %c : i32
      %r = arith.cmpi eq, %x, %y : i32
      attn.yield %r : i1
    } })");
  EXPECT_EQ(inlined(hook, {}, IntegerType::get(&context, 32)),
            "arith.constant arith.constant arith.shrsi arith.constant "
            "arith.shrsi arith.cmpi : i1");
}

TEST_F(InlineHookTest, RefusesWhatThePlaceCannotRead) {
  HookOp hook = parseHook(reading);
  Type i32 = IntegerType::get(&context, 32);
  auto any = [&](auto...) -> FailureOr<Value> {
    return Value(hook.getBody().getArgument(0));
  };
  HookReads reads;
  EXPECT_EQ(inlined(hook, reads, i32), "");
  EXPECT_EQ(diagnostics, "'attn.read' op tables cannot be read here\n");
  diagnostics.clear();
  reads.read = any;
  EXPECT_EQ(inlined(hook, reads, i32), "");
  EXPECT_EQ(diagnostics, "'attn.length' op lengths cannot be read here\n");
  diagnostics.clear();
  reads.length = any;
  EXPECT_EQ(inlined(hook, reads, i32), "");
  EXPECT_EQ(diagnostics, "'attn.param' op parameters cannot be read here\n");
}

TEST_F(InlineHookTest, RefusesElementsAndWrongArguments) {
  HookOp hook = parseHook(R"(attn.variant @v {
    attn.hook query(%x: vector<8xf32>, %b, %h, %pos, %i) {
      %y = attn.element %x[%i] : vector<8xf32>
      attn.yield %y : f32
    } })");
  EXPECT_EQ(inlined(hook, {}, IntegerType::get(&context, 32)), "");
  EXPECT_EQ(diagnostics, "'attn.element' op vectors cannot be read here\n");
  diagnostics.clear();
  OpBuilder b(&context);
  EXPECT_TRUE(failed(inlineHook(b, hook, {}, {})));
  EXPECT_EQ(diagnostics, "'attn.hook' op has 5 arguments, got 0\n");
}

TEST_F(InlineHookTest, RefusesOperationsWithTwoResults) {
  HookOp hook = parseHook(R"(attn.variant @v {
    attn.hook mask(%b, %h, %q, %k) {
      %lo, %hi = arith.mulsi_extended %q, %k : i32
      %r = arith.cmpi eq, %hi, %lo : i32
      attn.yield %r : i1
    } })");
  EXPECT_EQ(inlined(hook, {}, IntegerType::get(&context, 32)), "");
  EXPECT_EQ(diagnostics, "'arith.mulsi_extended' op cannot be inlined\n");
}

TEST_F(InlineHookTest, RefusesTwoShapesAndMissingValues) {
  HookOp hook = parseHook(causal);
  OpBuilder b(&context);
  Block block;
  b.setInsertionPointToStart(&block);
  Type i32 = b.getI32Type();
  Location loc = b.getUnknownLoc();
  Value scalar = block.addArgument(i32, loc);
  Value four = block.addArgument(VectorType::get({4}, i32), loc);
  Value eight = block.addArgument(VectorType::get({8}, i32), loc);
  EXPECT_TRUE(failed(inlineHook(b, hook, {scalar, scalar, four, eight}, {})));
  EXPECT_EQ(diagnostics, "'arith.cmpi' op mixes vectors 'vector<4xi32>' and "
                         "'vector<8xi32>'\n");
  diagnostics.clear();
  EXPECT_TRUE(
      failed(inlineHook(b, hook, {scalar, scalar, scalar, Value()}, {})));
  EXPECT_EQ(diagnostics,
            "'arith.cmpi' op uses a value that has no meaning here\n");
}
