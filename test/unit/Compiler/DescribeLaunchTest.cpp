//===- DescribeLaunchTest.cpp - from L3 through a bundle to the runtime ---===//
//
// The recipes of a kernel's tensor maps as the runtime reads them, and a bundle
// that the writer made and the verifier of the runtime accepts.
//
//===----------------------------------------------------------------------===//
#include "attn/Compiler/Compiler.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "attnrt/attnrt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace attn;

namespace {

/// Only what a launch needs; not a kernel that could run.  The order of the ops
/// is not that of the maps, and one is there twice.
const char *const kernels = R"(
frag.kernel @prefill threads 384 smem 196952 params 640 attributes {target = "sm_90a"} {
  %zero = arith.constant 0 : i32
  %queue = frag.param "plan" at 40 : !frag.ptr<i32>
  %v = frag.tmap "v" at 512 dims ["dim", "token", "head", "batch"] pack 1 promotion 0
    : !frag.tmap<32x128x1x1xbf16, swizzle = 64>
  %q = frag.tmap "q" at 256 dims ["dim", "group", "token", "head", "batch"] pack 4 promotion 256
    : !frag.tmap<64x4x32x1x1xbf16, swizzle = 128>
  %k = frag.tmap "k" at 384 dims ["dim", "token", "head", "batch"] pack 1 promotion 128
    : !frag.tmap<64x128x1x1xbf16, swizzle = 128>
  %again = frag.tmap "v" at 512 dims ["dim", "token", "head", "batch"] pack 1 promotion 0
    : !frag.tmap<32x128x1x1xbf16, swizzle = 64>
  %item = frag.next_work %queue below %zero : !frag.ptr<i32>
  frag.return
}
frag.kernel @prefill_merge threads 256 smem 0 params 640 attributes {target = "sm_90a"} {
  frag.return
}
)";

struct DescribeLaunch : ::testing::Test {
  MLIRContext context;
  emit::Specialisation s;

  void describe(llvm::StringRef text) {
    context.loadDialect<frag::FragDialect, arith::ArithDialect>();
    // The kernels hold no roles, so no verifier of a whole kernel is asked.
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
    ASSERT_TRUE(module);
    s.target = "sm_90a";
    s.element = s.output = emit::Element::BF16;
    s.entry = "prefill";
    s.mergeEntry = "prefill_merge";
    describeLaunch(*module, s);
  }
};

} // namespace

TEST_F(DescribeLaunch, ReadsWhatTheKernelsDeclare) {
  describe(kernels);
  EXPECT_EQ(s.threads, 384u);
  EXPECT_EQ(s.sharedBytes, 196952u);
  EXPECT_EQ(s.mergeThreads, 256u);
  EXPECT_EQ(s.mergeSharedBytes, 0u);
  EXPECT_EQ(s.paramsBytes, 640u);
  EXPECT_TRUE(s.dynamic);
  EXPECT_EQ(s.tensorMaps.size(), 3u);
}

TEST_F(DescribeLaunch, WithoutTensorMapsAndQueue) {
  describe(R"(
frag.kernel @prefill threads 128 smem 100 params 200 attributes {target = "sm_80"} {
  frag.return
}
frag.kernel @prefill_merge threads 256 smem 0 params 200 attributes {target = "sm_80"} {
  frag.return
})");
  EXPECT_EQ(s.paramsBytes, 200u);
  EXPECT_FALSE(s.dynamic);
  EXPECT_TRUE(s.tensorMaps.empty());
}

TEST_F(DescribeLaunch, TheRuntimeReadsWhatTheCompilerWrote) {
  describe(kernels);
  s.tileQ = s.tileK = 128;
  s.pack = 4;
  s.strideMultiple = 8;
  s.baseAlign = 16;
  s.code.push_back({emit::CodeKind::PTX, "sm_90a", {'.'}});
  emit::Bundle bundle;
  emit::Kernel kernel;
  kernel.name = "prefill";
  kernel.heads = 32;
  kernel.kvHeads = 8;
  kernel.dim = kernel.dimV = 128;
  kernel.specialisations.push_back(s);
  bundle.kernels.push_back(kernel);
  std::vector<char> bytes = emit::serialise(bundle);
  attnrt_bundle *opened = nullptr;
  ASSERT_EQ(attnrt_bundle_open_memory(bytes.data(), bytes.size(), &opened),
            ATTNRT_OK)
      << attnrt_last_error();

  attnrt_specialisation_info info;
  ASSERT_EQ(attnrt_bundle_specialisation(opened, 0, 0, &info), ATTNRT_OK);
  EXPECT_EQ(info.tensor_maps, 3u);
  EXPECT_TRUE(info.dynamic);
  EXPECT_EQ(info.params_bytes, 640u);
  using Dims = std::vector<attn_map_dim>;
  struct {
    attn_map_tensor tensor;
    Dims dims;
    std::vector<uint32_t> box;
    uint32_t swizzle, promotion;
  } const expected[] = {
      {ATTN_MAP_Q,
       {ATTN_MAP_DIM, ATTN_MAP_GROUP, ATTN_MAP_TOKEN, ATTN_MAP_HEAD,
        ATTN_MAP_BATCH},
       {64, 4, 32, 1, 1},
       128,
       256},
      {ATTN_MAP_K,
       {ATTN_MAP_DIM, ATTN_MAP_TOKEN, ATTN_MAP_HEAD, ATTN_MAP_BATCH},
       {64, 128, 1, 1},
       128,
       128},
      {ATTN_MAP_V,
       {ATTN_MAP_DIM, ATTN_MAP_TOKEN, ATTN_MAP_HEAD, ATTN_MAP_BATCH},
       {32, 128, 1, 1},
       64,
       0}};
  for (uint32_t i = 0; i < 3; ++i) {
    attnrt_tensor_map_info map;
    ASSERT_EQ(attnrt_bundle_tensor_map(opened, 0, 0, i, &map), ATTNRT_OK);
    EXPECT_EQ(map.tensor, expected[i].tensor);
    EXPECT_EQ(map.offset, 256 + 128 * i);
    EXPECT_EQ(Dims(map.dims, map.dims + map.rank), expected[i].dims);
    EXPECT_EQ(std::vector<uint32_t>(map.box, map.box + map.rank),
              expected[i].box);
    EXPECT_EQ(map.element, ATTNRT_BF16);
    EXPECT_EQ(map.swizzle, expected[i].swizzle);
    EXPECT_EQ(map.promotion, expected[i].promotion);
  }
  attnrt_bundle_close(opened);
}
