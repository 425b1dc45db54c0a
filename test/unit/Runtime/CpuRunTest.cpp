//===- CpuRunTest.cpp - plan and run on the processor ---------------------===//
#include "TinyProblem.h"

#include <cstring>

namespace {

TestBundle packed(bool pack, bool dense) {
  TestBundle bundle = TestBundle::tiny();
  if (dense)
    bundle.kernel().storage = ATTNRT_DENSE;
  if (pack) {
    bundle.spec().pack = 2;
    bundle.spec().entry = "tiny_attention_packed";
    bundle.spec().mergeEntry = "tiny_merge_packed";
  }
  return bundle;
}

attnrt_plan_info runOnce(Fixture &f, TinyProblem &problem,
                         const attnrt_plan_params &params) {
  attnrt_plan_info info = {};
  EXPECT_EQ(f.makePlan(params), ATTNRT_OK) << attnrt_last_error();
  // Partials of an earlier plan or of nobody must not be seen.
  EXPECT_EQ(attnrt_plan_query(f.plan, &info), ATTNRT_OK);
  size_t used = info.header->bytes;
  memset(static_cast<char *>(f.workspace) + used, 0xff,
         f.workspaceBytes - used);
  EXPECT_EQ(attnrt_run(f.kernel, f.plan, &problem.args, nullptr), ATTNRT_OK)
      << attnrt_last_error();
  return info;
}

} // namespace

TEST(CpuRun, MatchesTheDefinition) {
  for (bool dense : {false, true})
    for (bool pack : {false, true})
      for (int32_t split : {0, 1, 16, 37, 1000})
        for (int32_t window : {1 << 30, 1, 20}) {
          SCOPED_TRACE("dense " + std::to_string(dense) + " pack " +
                       std::to_string(pack) + " split " +
                       std::to_string(split) + " window " +
                       std::to_string(window));
          TinyProblem problem({5, 1, 0, 20, 3}, {7, 300, 9, 6, 0}, dense);
          problem.window = window;
          problem.bind();
          Fixture f;
          ASSERT_OK(f.open(packed(pack, dense)));
          attnrt_plan_params params = problem.planParams();
          params.split_keys = split;
          attnrt_plan_info info = runOnce(f, problem, params);
          if (split == 1 && window > 1)
            EXPECT_GT(info.merges, 0u);
          if (split == 1000)
            EXPECT_EQ(info.merges, 0u);
          problem.check();
          if (::testing::Test::HasFatalFailure())
            return;
        }
}

TEST(CpuRun, EmptyBatchesT07) {
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  for (std::vector<int32_t> qs :
       {std::vector<int32_t>{}, std::vector<int32_t>{0, 0}}) {
    std::vector<int32_t> kvs(qs.size(), 10);
    TinyProblem problem(qs, kvs);
    attnrt_plan_info info = runOnce(f, problem, problem.planParams());
    EXPECT_EQ(info.items, 0u);
    problem.check();
  }
}

TEST(CpuRun, NothingToReadNeedsNoTensorT10) {
  // Rows but no keys at all: k and v may be null, O = 0 and LSE = -inf.
  TinyProblem problem({3, 2}, {0, 0});
  problem.args.k.data = problem.args.v.data = nullptr;
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  runOnce(f, problem, problem.planParams());
  problem.check();
}

TEST(CpuRun, SameBitsOnAnyNumberOfThreads) {
  std::vector<float> o, lse;
  for (int threads : {1, 2, 7}) {
    TinyProblem problem({9, 1, 30}, {50, 400, 30});
    attnrt_device_options options = {};
    options.threads = threads;
    Fixture f;
    ASSERT_OK(f.open(TestBundle::tiny(), "cpu", &options));
    attnrt_plan_params params = problem.planParams();
    params.split_keys = 64;
    attnrt_plan_info info = runOnce(f, problem, params);
    EXPECT_EQ(info.workers, uint32_t(threads));
    if (o.empty()) {
      o = problem.o;
      lse = problem.lse;
      problem.check();
    }
    EXPECT_EQ(memcmp(o.data(), problem.o.data(), o.size() * 4), 0);
    EXPECT_EQ(memcmp(lse.data(), problem.lse.data(), lse.size() * 4), 0);
  }
}

TEST(CpuRun, SplitsMergeToTheUnsplitResult) {
  TinyProblem whole({4}, {200}), split({4}, {200});
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  attnrt_plan_params params = whole.planParams();
  params.max_splits = 1;
  attnrt_plan_info info = runOnce(f, whole, params);
  EXPECT_EQ(info.slots, 0u);
  EXPECT_EQ(info.split_keys, 0u);
  params.max_splits = 0;
  params.split_keys = 32;
  info = runOnce(f, split, params);
  EXPECT_EQ(info.merges, 4u); // one a head
  EXPECT_EQ(info.split_keys, 32u);
  for (size_t i = 0; i < whole.o.size(); ++i)
    EXPECT_NEAR(whole.o[i], split.o[i], 1e-5);
}

TEST(CpuRun, DefaultsOfParamsAndScale) {
  TinyProblem problem({4}, {20});
  problem.bias = 0; // the declared default
  problem.window = 1 << 30;
  problem.args.params = nullptr;
  problem.args.param_count = 0;
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  attnrt_plan_params params = problem.planParams();
  params.params = nullptr;
  params.param_count = 0;
  runOnce(f, problem, params);
  problem.check();
  float scale = -0.7f;
  problem.args.scale = &scale;
  ASSERT_OK(attnrt_run(f.kernel, f.plan, &problem.args, nullptr));
  problem.check(scale);
}

TEST(CpuRun, LseIsOptional) {
  TinyProblem problem({4}, {20});
  problem.args.lse = {};
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  attnrt_plan_params params = problem.planParams();
  params.split_keys = 8;
  runOnce(f, problem, params);
  for (float x : problem.lse)
    EXPECT_EQ(x, TinyProblem::poison);
}

TEST(CpuRun, StridesAreHonoured) {
  // Heads outermost: [head][token][dim].
  TinyProblem problem({6}, {40});
  auto turn = [](std::vector<float> &data, int heads, int tokens) {
    std::vector<float> result(data.size());
    for (int h = 0; h < heads; ++h)
      for (int t = 0; t < tokens; ++t)
        for (int c = 0; c < 8; ++c)
          result[(size_t(h) * tokens + t) * 8 + c] =
              data[(size_t(t) * heads + h) * 8 + c];
    return result;
  };
  std::vector<float> k = turn(problem.k, 2, 40);
  problem.args.k.data = k.data();
  problem.args.k.strides = {0, 8, 40 * 8};
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  runOnce(f, problem, problem.planParams());
  problem.check();
}

TEST(CpuRun, MaskNarrowsThePlan) {
  TinyProblem problem({1}, {300});
  problem.window = 20;
  problem.bind();
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  attnrt_plan_params params = problem.planParams();
  params.max_splits = 1;
  auto slice = [](const attnrt_plan_info &info) {
    auto *items = reinterpret_cast<const attn_work_item *>(
        reinterpret_cast<const char *>(info.header) +
        info.header->items_offset);
    return std::make_pair(items[0].kv_begin, items[0].kv_end);
  };
  // Keys 280 .. 299; tiles of 16.
  EXPECT_EQ(slice(runOnce(f, problem, params)), std::make_pair(272, 300));
  problem.check();
  params.no_narrowing = 1;
  EXPECT_EQ(slice(runOnce(f, problem, params)), std::make_pair(0, 300));
  problem.check();
}
