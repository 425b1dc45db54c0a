//===- TensorMapTest.cpp - tensor maps that a launch is given -------------===//
//
// The fake driver keeps the arguments of every encoding, so each recipe is
// compared argument by argument.
//
//===----------------------------------------------------------------------===//
#include "DriverTypes.h"
#include "FakeCuda.h"

namespace {

using List = std::vector<uint64_t>;

/// What a map was encoded from, in the order of the driver's arguments.
struct Encoding {
  const void *base;
  List extents, strides, box;
  bool operator==(const Encoding &o) const {
    return base == o.base && extents == o.extents && strides == o.strides &&
           box == o.box;
  }
};

void PrintTo(const Encoding &e, std::ostream *os) {
  *os << e.base << " extents " << ::testing::PrintToString(e.extents)
      << " strides " << ::testing::PrintToString(e.strides) << " box "
      << ::testing::PrintToString(e.box);
}

struct TensorMap : Cuda {
  HostKernel host;
  attnrt_device_options options = onFake();
  Fixture f;

  void SetUp() override {
    Cuda::SetUp();
    fake().setKernel(&HostKernel::call, &host);
  }
  void TearDown() override {
    f.close();
    Cuda::TearDown();
  }

  /// Launches compute nothing and leave their parameters in the host's list.
  void keepParams() {
    fake().setKernel(
        [](const attn_fake_launch *launch, void *user) {
          auto *bytes = static_cast<const char *>(launch->params);
          static_cast<HostKernel *>(user)->params.emplace_back(
              bytes, bytes + HostKernel::paramsBytes);
        },
        &host);
  }

  void run(TinyProblem &problem) {
    ASSERT_OK(f.makePlan(problem.planParams()));
    ASSERT_OK(attnrt_run(f.kernel, f.plan, &problem.args, nullptr));
  }

  /// Of tensor map `index` in the parameters of the last launch.
  const attn_fake_tensor_map *map(int index) const {
    const std::vector<char> &params = host.params.back();
    return fake().findTensorMap(params.data() + 256 + 128 * index);
  }

  Encoding encoding(int index) const {
    const attn_fake_tensor_map *m = map(index);
    if (!m)
      return {};
    return {m->base,
            {m->extents, m->extents + m->rank},
            {m->strides + 1, m->strides + m->rank},
            {m->box, m->box + m->rank}};
  }
};

} // namespace

TEST_F(TensorMap, Ragged) {
  TinyProblem problem({5, 1, 3}, {7, 300, 0});
  ASSERT_OK(f.open(TestBundle::tma(), "cuda", &options));
  run(problem);
  problem.check(); // the maps overwrite no parameter
  ASSERT_EQ(host.params.back().size(), 640u);
  // f32, 8 columns, 4 heads of q and 2 of k and v.  There is no batch: its
  // stride is any that the driver takes.
  EXPECT_EQ(
      encoding(0),
      (Encoding{problem.q.data(), {8, 9, 4, 1}, {128, 32, 16}, {8, 16, 1, 1}}));
  EXPECT_EQ(
      encoding(1),
      (Encoding{
          problem.k.data(), {8, 307, 2, 1}, {64, 32, 16}, {8, 16, 1, 1}}));
  EXPECT_EQ(
      encoding(2),
      (Encoding{
          problem.v.data(), {8, 307, 2, 1}, {64, 32, 16}, {8, 16, 1, 1}}));
  const attn_fake_tensor_map &m = *map(1);
  EXPECT_EQ(m.type, attnrt::cuda::kMapFloat32);
  for (uint32_t i = 0; i < m.rank; ++i)
    EXPECT_EQ(m.element_strides[i], 1u);
  EXPECT_EQ(m.interleave, attnrt::cuda::kMapInterleaveNone);
  EXPECT_EQ(m.swizzle, attnrt::cuda::kMapSwizzle32);
  EXPECT_EQ(m.promotion, attnrt::cuda::kMapPromotion128);
  EXPECT_EQ(m.fill, attnrt::cuda::kMapFillZero);
}

TEST_F(TensorMap, DenseReachesToTheLongestRequest) {
  TestBundle bundle = TestBundle::tma();
  bundle.kernel().storage = ATTNRT_DENSE;
  TinyProblem problem({5, 1, 3}, {7, 300, 11}, /*denseStorage=*/true);
  ASSERT_OK(f.open(bundle, "cuda", &options));
  run(problem);
  problem.check();
  EXPECT_EQ(
      encoding(0),
      (Encoding{
          problem.q.data(), {8, 5, 4, 3}, {128, 32, 5 * 128}, {8, 16, 1, 1}}));
  EXPECT_EQ(encoding(1), (Encoding{problem.k.data(),
                                   {8, 300, 2, 3},
                                   {64, 32, 300 * 64},
                                   {8, 16, 1, 1}}));
}

TEST_F(TensorMap, GroupsOfHeads) {
  TestBundle bundle = TestBundle::tma();
  bundle.spec().pack = 2;
  bundle.spec().tensorMaps[0].dims = {ATTN_MAP_DIM, ATTN_MAP_GROUP,
                                      ATTN_MAP_TOKEN, ATTN_MAP_HEAD,
                                      ATTN_MAP_BATCH};
  bundle.spec().tensorMaps[0].box = {8, 2, 4, 1, 1};
  keepParams();
  TinyProblem problem({5, 1}, {7, 30});
  ASSERT_OK(f.open(bundle, "cuda", &options));
  run(problem);
  EXPECT_EQ(encoding(0), (Encoding{problem.q.data(),
                                   {8, 2, 6, 2, 1},
                                   {32, 128, 64, 16},
                                   {8, 2, 4, 1, 1}}));
  // The head of a map without the group is a head.
  EXPECT_EQ(encoding(1).extents, (List{8, 37, 2, 1}));
}

TEST_F(TensorMap, EveryFormatAndAnyOrderOfDimensions) {
  struct {
    int element;
    uint16_t columns, swizzle, promotion;
    int type, swizzleCode, promotionCode;
  } const cases[] = {
      {ATTNRT_F32, 8, 0, 0, attnrt::cuda::kMapFloat32,
       attnrt::cuda::kMapSwizzleNone, attnrt::cuda::kMapPromotionNone},
      {ATTNRT_F16, 32, 64, 64, attnrt::cuda::kMapFloat16,
       attnrt::cuda::kMapSwizzle64, attnrt::cuda::kMapPromotion64},
      {ATTNRT_BF16, 64, 128, 256, attnrt::cuda::kMapBfloat16,
       attnrt::cuda::kMapSwizzle128, attnrt::cuda::kMapPromotion256}};
  for (const auto &c : cases) {
    TestBundle bundle = TestBundle::tma();
    bundle.spec().element = c.element;
    bundle.spec().strideMultiple = 8;
    bundle.kernel().dim = 256;
    TestTensorMap only;
    only.tensor = ATTN_MAP_K;
    only.element = c.element;
    only.dims = {ATTN_MAP_DIM, ATTN_MAP_HEAD, ATTN_MAP_TOKEN};
    only.box = {c.columns, 1, 64};
    only.swizzle = c.swizzle;
    only.promotion = c.promotion;
    bundle.spec().tensorMaps = {only};
    keepParams();
    f.close();
    ASSERT_OK(f.open(bundle, "cuda", &options));
    TinyProblem problem({3}, {9});
    for (attnrt_tensor *t : {&problem.args.q, &problem.args.k, &problem.args.v})
      t->elements = 0; // the tensors are not read
    problem.args.k.strides = {0, 1024, 256};
    run(problem);
    uint64_t bytes = c.element == ATTNRT_F32 ? 4 : 2;
    EXPECT_EQ(encoding(0), (Encoding{problem.k.data(),
                                     {256, 2, 9},
                                     {256 * bytes, 1024 * bytes},
                                     {c.columns, 1, 64}}));
    EXPECT_EQ(map(0)->type, c.type);
    EXPECT_EQ(map(0)->swizzle, c.swizzleCode);
    EXPECT_EQ(map(0)->promotion, c.promotionCode);
  }
}

// A padded head dim: three boxes of 32 columns, and the tensor ends in the last,
// so that the device fills the rest with zeros.
TEST_F(TensorMap, BoxesReachPastTheHeadDim) {
  TestBundle bundle = TestBundle::tma();
  bundle.spec().element = ATTNRT_BF16;
  bundle.spec().strideMultiple = 8;
  bundle.kernel().dim = 72;
  TestTensorMap only;
  only.tensor = ATTN_MAP_K;
  only.element = ATTNRT_BF16;
  only.dims = {ATTN_MAP_DIM, ATTN_MAP_TOKEN, ATTN_MAP_HEAD, ATTN_MAP_BATCH};
  only.box = {32, 64, 1, 1};
  only.swizzle = 64;
  bundle.spec().tensorMaps = {only};
  keepParams();
  ASSERT_OK(f.open(bundle, "cuda", &options));
  TinyProblem problem({3}, {9});
  for (attnrt_tensor *t : {&problem.args.q, &problem.args.k, &problem.args.v})
    t->elements = 0; // the tensors are not read
  problem.args.k.strides = {0, 144, 72};
  run(problem);
  EXPECT_EQ(
      encoding(0),
      (Encoding{
          problem.k.data(), {72, 9, 2, 1}, {288, 144, 16}, {32, 64, 1, 1}}));
}

TEST_F(TensorMap, EncodedAgainOnlyForOtherTensors) {
  TinyProblem problem({5, 1}, {7, 30});
  ASSERT_OK(f.open(TestBundle::tma(), "cuda", &options));
  auto encodings = [&] {
    unsigned before = fake().calls("cuTensorMapEncodeTiled");
    run(problem);
    problem.check();
    return fake().calls("cuTensorMapEncodeTiled") - before;
  };
  EXPECT_EQ(encodings(), 3u);
  EXPECT_EQ(encodings(), 0u);
  EXPECT_EQ(encoding(1).base, problem.k.data()); // kept, and put in again
  std::vector<float> moved = problem.k;
  problem.args.k.data = moved.data();
  EXPECT_EQ(encodings(), 1u);
  EXPECT_EQ(encoding(1).base, moved.data());
  problem.kvLens[1] = 29; // k and v end earlier
  problem.kvIndptr[2] = 36;
  EXPECT_EQ(encodings(), 2u);
  EXPECT_EQ(encoding(2).extents, (List{8, 36, 2, 1}));
  // A failed encoding is not kept.
  problem.args.k.data = problem.k.data();
  fake().fail("cuTensorMapEncodeTiled",
              fake().calls("cuTensorMapEncodeTiled") + 1, 1);
  EXPECT_FAILS(attnrt_run(f.kernel, f.plan, &problem.args, nullptr),
               ATTNRT_DRIVER_ERROR,
               "cannot encode the tensor map of k: cuTensorMapEncodeTiled "
               "failed: CUDA_ERROR_FAKE (1), a fault of the fake driver");
  EXPECT_EQ(encodings(), 1u);
}

TEST_F(TensorMap, NoKeysNoMap) {
  TinyProblem problem({5}, {0});
  problem.args.k = problem.args.v = {};
  ASSERT_OK(f.open(TestBundle::tma(), "cuda", &options));
  run(problem);
  problem.check();
  EXPECT_NE(map(0), nullptr);
  const std::vector<char> &params = host.params.back();
  for (size_t i = 256 + 128; i < params.size(); ++i)
    ASSERT_EQ(params[i], 0) << "byte " << i;
}

TEST_F(TensorMap, RefusesWhatCannotBeEncoded) {
  TinyProblem problem({2, 2}, {7, 30});
  ASSERT_OK(f.open(TestBundle::tma(), "cuda", &options));
  ASSERT_OK(f.makePlan(problem.planParams()));
  attnrt_args good = problem.args;
  auto fails = [&](attnrt_status status, const char *text) {
    EXPECT_FAILS(attnrt_run(f.kernel, f.plan, &problem.args, nullptr), status,
                 text);
    problem.args = good;
  };
  problem.args.k.data = static_cast<char *>(problem.args.k.data) + 8;
  fails(ATTNRT_INVALID_ARGUMENT, "k begins 8 bytes past a multiple of 16");
  problem.args.v.strides.token += 2;
  fails(ATTNRT_INVALID_ARGUMENT,
        "v token stride is 18 but the kernel needs a multiple of 4");
  problem.args.k.elements = 0;
  problem.args.k.strides.head = int64_t(1) << 38;
  fails(ATTNRT_LIMIT,
        "k head stride is 1099511627776 bytes but a tensor map holds "
        "1099511627760");
  EXPECT_EQ(fake().calls("cuLaunchKernel"), 0u);
}

TEST_F(TensorMap, AnOlderDriverTakesOtherCode) {
  fake().hide("cuTensorMapEncodeTiled");
  TestBundle bundle = TestBundle::tma();
  EXPECT_FAILS(f.open(bundle, "cuda", &options), ATTNRT_NOT_ADMISSIBLE,
               "none of the 1 specialisations of kernel 'tiny' is admissible "
               "on fake device (sm_90); #0 needs cuTensorMapEncodeTiled of "
               "driver version 12000, which version 12000 lacks");
  f.close();
  bundle.kernel().specs.push_back(TestBundle::gpu().spec());
  ASSERT_OK(f.open(bundle, "cuda", &options));
  EXPECT_STREQ(attnrt_kernel_code(f.kernel), "sm_80 ptx");
  f.close();
  fake().hide(nullptr);
  ASSERT_OK(f.open(bundle, "cuda", &options));
  EXPECT_STREQ(attnrt_kernel_code(f.kernel), "sm_90a ptx");
}

TEST_F(TensorMap, QueueIsEmptyAtLaunchAndTheGridIsResident) {
  static attn_plan_header seen;
  fake().device(1, 9, 0, 3);
  fake().setKernel(
      [](const attn_fake_launch *launch, void *user) {
        attn_kernel_params fixed;
        memcpy(&fixed, launch->params, sizeof(fixed));
        memcpy(&seen, reinterpret_cast<const void *>(uintptr_t(fixed.plan)),
               sizeof(seen));
        static_cast<HostKernel *>(user)->launches.push_back(*launch);
      },
      &host);
  TinyProblem problem({100}, {100});
  ASSERT_OK(f.open(TestBundle::tma(), "cuda", &options));
  memset(&seen, 0xff, sizeof(seen));
  run(problem);
  ASSERT_EQ(host.launches.size(), 1u);
  EXPECT_EQ(host.launches[0].grid, 6u); // of 52 items: 3 SMs, 2 CTAs each
  EXPECT_EQ(seen.items, 52u);
  EXPECT_EQ(seen.queue_next, 0u);
  EXPECT_EQ(seen.queue_done, 0u);
}

TEST_F(TensorMap, QueuedWorkIsPlannedInSectionsOfTheDevicesL2) {
  // 64 bytes a key and KV head: 256 MB for L2's 50 MiB, and 2 KV heads.
  TinyProblem problem({1, 1}, {1, 1});
  int32_t q[] = {8192, 8192}, kv[] = {1 << 20, 1 << 20};
  attnrt_plan_params params = problem.planParams();
  params.q_indptr = params.kv_indptr = nullptr;
  params.q_lens = q;
  params.kv_lens = kv;
  params.no_narrowing = 1;
  params.max_splits = 1; // not the last wave either
  for (bool dynamic : {false, true}) {
    TestBundle bundle = TestBundle::tma();
    bundle.spec().dynamic = dynamic;
    f.close();
    ASSERT_OK(f.open(bundle, "cuda", &options));
    ASSERT_OK(f.makePlan(params));
    attnrt_plan_info info;
    ASSERT_OK(attnrt_plan_query(f.plan, &info));
    auto *items = reinterpret_cast<const attn_work_item *>(
        reinterpret_cast<const char *>(info.header) +
        info.header->items_offset);
    ASSERT_EQ(info.items, 4u * 2048);
    int changes = 0; // between heads of one KV head and of the other
    for (uint32_t i = 1; i < info.items; ++i)
      changes += items[i].head / 2 != items[i - 1].head / 2;
    // A request's heads and then the other's, or head by head for both.
    EXPECT_EQ(changes, dynamic ? 3 : 1);
  }
}
