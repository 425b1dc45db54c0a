//===- ParamLayoutTest.cpp ------------------------------------------------===//

#include "HookFixture.h"

#include "attn/ABI/HookExpr.h"
#include "attn/ABI/KernelParams.h"
#include "attn/Analysis/ParamLayout.h"

#include <cstddef>

using namespace attn;

namespace {
class ParamLayoutTest : public attn::test::HookFixture {};
} // namespace

TEST_F(ParamLayoutTest, FixedPartIsTheAbiStruct) {
  ParamLayout layout(parse("attn.variant @v { }"));
  EXPECT_EQ(layout.offsetOf("q"), offsetof(attn_kernel_params, q));
  EXPECT_EQ(layout.offsetOf("plan"), offsetof(attn_kernel_params, plan));
  EXPECT_EQ(layout.offsetOf("partial_rows"), 56u);
  EXPECT_EQ(layout.offsetOf("q_strides.batch"), 64u);
  EXPECT_EQ(layout.offsetOf("k_strides.token"), 96u);
  EXPECT_EQ(layout.offsetOf("lse_strides.head"), 176u);
  EXPECT_EQ(layout.offsetOf("heads"), 184u);
  EXPECT_EQ(layout.offsetOf("kv_heads"), 188u);
  EXPECT_EQ(layout.offsetOf("scale"), 192u);
  EXPECT_EQ(layout.offsetOf("param.nope"), std::nullopt);
  EXPECT_EQ(layout.totalBytes(), unsigned(ATTN_PARAMS_FIXED_BYTES));
}

TEST_F(ParamLayoutTest, ParamsThenAlignedTablesInOrder) {
  ParamLayout layout(parse(R"(
    attn.variant @v {
      %t = attn.table "temp" : !attn.table<f32, [head]>
      %c = attn.param "cap" : f32
      %d = attn.table "doc" : !attn.table<i32, [batch, position]>
      %w = attn.param "window" : i32
      %x = attn.param "x" : i32
    })"));
  EXPECT_EQ(layout.offsetOf("param.cap"), 200u);
  EXPECT_EQ(layout.offsetOf("param.window"), 204u);
  EXPECT_EQ(layout.offsetOf("param.x"), 208u);
  EXPECT_EQ(layout.offsetOf("table.temp.data"), 216u);
  EXPECT_EQ(layout.offsetOf("table.temp.extent0"), 224u);
  EXPECT_EQ(layout.offsetOf("table.temp.extent2"), 232u);
  EXPECT_EQ(layout.offsetOf("table.temp.version"), 236u);
  EXPECT_EQ(layout.offsetOf("table.doc.data"), 240u);
  EXPECT_EQ(layout.totalBytes(), 264u);
}

TEST_F(ParamLayoutTest, TensorMapsLieBehindTheStruct) {
  ParamLayout layout(parse(R"(
    attn.variant @v { %w = attn.param "w" : i32 {default = 1 : i32} })"));
  EXPECT_EQ(layout.bytesWithTensorMaps(0), layout.totalBytes());
  EXPECT_GE(layout.tensorMapOffset(0), layout.totalBytes());
  EXPECT_EQ(layout.tensorMapOffset(0) % ATTN_TENSOR_MAP_ALIGN, 0u);
  EXPECT_EQ(layout.tensorMapOffset(2),
            layout.tensorMapOffset(0) + 2 * ATTN_TENSOR_MAP_BYTES);
  EXPECT_EQ(layout.bytesWithTensorMaps(3), layout.tensorMapOffset(3));
}

TEST_F(ParamLayoutTest, FieldsAreDisjointAndAscending) {
  ParamLayout layout(parse(R"(
    attn.variant @v {
      %t = attn.table "temp" : !attn.table<f32, [head]>
      %c = attn.param "cap" : f32
    })"));
  uint32_t end = 0;
  for (const ParamLayout::Field &field : layout.fields()) {
    EXPECT_GE(field.offset, end) << field.name;
    EXPECT_EQ(field.offset % field.bytes, 0u) << field.name;
    end = field.offset + field.bytes;
  }
  EXPECT_LE(end, layout.totalBytes());
  EXPECT_EQ(layout.totalBytes() % 8, 0u);
}

TEST_F(ParamLayoutTest, KernelWithoutVariantHasTheFixedPart) {
  parse(R"(
    attn.variant @v { %c = attn.param "cap" : f32 }
    attn.kernel @outside(%p: !attn.plan) { attn.return }
    attn.kernel @inside(%p: !attn.plan) {
      attn.variant @v { %c = attn.param "cap" : f32 }
      attn.return
    })");
  auto kernels = llvm::to_vector(module->getOps<KernelOp>());
  EXPECT_EQ(ParamLayout(kernels[0]).totalBytes(), 200u);
  EXPECT_EQ(ParamLayout(kernels[1]).offsetOf("param.cap"), 200u);
  EXPECT_EQ(ParamLayout(kernels[1]).totalBytes(), 208u);
}
