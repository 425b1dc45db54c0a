//===- PlanApiTest.cpp - attnrt_plan_* ------------------------------------===//
#include "TinyProblem.h"

#include <climits>
#include <cstring>

TEST(PlanApi, WorkspaceIsReturnedFirstAndEnforced) {
  TinyProblem problem({1, 4}, {300, 10});
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  attnrt_plan_params params = problem.planParams();
  params.split_keys = 100;
  size_t bytes = 0;
  ASSERT_OK(attnrt_plan_workspace(f.plan, &params, &bytes));
  // 4 heads: 8 tiles, 8 items more, 4 merges, 12 slots of 8 rows, each of O, m, l.
  size_t plan = 64 + 16 * 32 + 4 * 32 + 2 * 16;
  size_t expected = (plan + 255) / 256 * 256 + 12 * 8 * 8 * 4 + 768;
  EXPECT_EQ(bytes, expected);
  void *memory = nullptr;
  ASSERT_OK(attnrt_mem_alloc(f.device, bytes, &memory));
  EXPECT_FAILS(attnrt_plan_build(f.plan, &params, memory, bytes - 1, nullptr),
               ATTNRT_TOO_SMALL,
               "plan needs " + std::to_string(bytes) +
                   " bytes but the workspace has " + std::to_string(bytes - 1));
  EXPECT_FAILS(attnrt_plan_build(f.plan, &params,
                                 static_cast<char *>(memory) + 16, bytes,
                                 nullptr),
               ATTNRT_INVALID_ARGUMENT,
               "workspace begins 16 bytes past a multiple of 256 or is null");
  EXPECT_FAILS(attnrt_plan_build(f.plan, &params, nullptr, bytes, nullptr),
               ATTNRT_INVALID_ARGUMENT,
               "workspace begins 0 bytes past a multiple of 256 or is null");
  ASSERT_OK(attnrt_plan_build(f.plan, &params, memory, bytes, nullptr));
  attnrt_plan_info info;
  ASSERT_OK(attnrt_plan_query(f.plan, &info));
  EXPECT_EQ(info.items, 16u);
  EXPECT_EQ(info.merges, 4u);
  EXPECT_EQ(info.slots, 12u);
  EXPECT_EQ(info.requests, 2u);
  EXPECT_EQ(info.split_keys, 100u);
  EXPECT_EQ(info.workspace_bytes, bytes);
  EXPECT_EQ(memcmp(info.header, memory, info.header->bytes), 0);
  attnrt_mem_free(f.device, memory);
}

TEST(PlanApi, SameInputsSamePlan) {
  Fixture f, g;
  TinyProblem problem({40, 1, 3}, {100, 500, 0});
  attnrt_plan_info info[2];
  int i = 0;
  for (Fixture *fixture : {&f, &g}) {
    ASSERT_OK(fixture->open(TestBundle::tiny()));
    ASSERT_OK(fixture->makePlan(problem.planParams()));
    ASSERT_OK(attnrt_plan_query(fixture->plan, &info[i++]));
  }
  ASSERT_EQ(info[0].header->bytes, info[1].header->bytes);
  EXPECT_EQ(memcmp(info[0].header, info[1].header, info[0].header->bytes), 0);
}

TEST(PlanApi, WaysToSayTheLengths) {
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  const int32_t qs[] = {2, 0, 3}, kvs[] = {5, 7, 1};
  const int32_t qp[] = {0, 2, 2, 5}, kvp[] = {10, 15, 22, 23};
  auto records = [&](const attnrt_plan_params &params) {
    EXPECT_EQ(f.makePlan(params), ATTNRT_OK) << attnrt_last_error();
    attnrt_plan_info info;
    EXPECT_EQ(attnrt_plan_query(f.plan, &info), ATTNRT_OK);
    auto *r = reinterpret_cast<const attn_request_record *>(
        reinterpret_cast<const char *>(info.header) +
        info.header->requests_offset);
    std::vector<int32_t> list;
    for (uint32_t i = 0; i < info.requests; ++i)
      list.insert(list.end(),
                  {r[i].q_begin, r[i].q_len, r[i].kv_begin, r[i].kv_len});
    return list;
  };
  attnrt_plan_params p = {};
  p.batch = 3;
  p.q_lens = qs;
  p.kv_lens = kvs;
  EXPECT_EQ(records(p),
            (std::vector<int32_t>{0, 2, 0, 5, 2, 0, 5, 7, 2, 3, 12, 1}));
  p.q_lens = nullptr;
  p.kv_lens = nullptr;
  p.q_indptr = qp;
  p.kv_indptr = kvp;
  EXPECT_EQ(records(p),
            (std::vector<int32_t>{0, 2, 10, 5, 2, 0, 15, 7, 2, 3, 22, 1}));
  const int32_t shorter[] = {5, 3, 0};
  p.kv_lens = shorter;
  EXPECT_EQ(records(p),
            (std::vector<int32_t>{0, 2, 10, 5, 2, 0, 15, 3, 2, 3, 22, 0}));
}

TEST(PlanApi, RefusesBadLengths) {
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  size_t bytes = 0;
  auto fails = [&](const attnrt_plan_params &params, attnrt_status status,
                   const char *text) {
    EXPECT_FAILS(attnrt_plan_workspace(f.plan, &params, &bytes), status, text);
  };
  int32_t lens[] = {1, 2}, indptr[] = {0, 4, 3}, good[] = {0, 1, 2};
  attnrt_plan_params p = {};
  p.batch = -1;
  fails(p, ATTNRT_INVALID_ARGUMENT, "batch is -1 but the least is 0");
  p.batch = 2;
  fails(p, ATTNRT_INVALID_ARGUMENT,
        "batch is 2 but neither q lengths nor an indptr are given");
  p.q_lens = lens;
  fails(p, ATTNRT_INVALID_ARGUMENT,
        "batch is 2 but neither kv lengths nor an indptr are given");
  p.kv_indptr = indptr;
  fails(p, ATTNRT_INVALID_ARGUMENT, "kv indptr goes from 4 to 3 at request 1");
  p.kv_indptr = good;
  p.kv_lens = lens;
  fails(p, ATTNRT_INVALID_ARGUMENT,
        "kv length of request 1 is 2 but its indptr leaves 1");
  p.kv_indptr = nullptr;
  p.max_workers = -3;
  fails(p, ATTNRT_INVALID_ARGUMENT, "max_workers is -3 but the least is 0");
  p.max_workers = 0;
  int32_t negative[] = {1, -2};
  p.q_lens = negative;
  fails(p, ATTNRT_LIMIT,
        "request 1 has q_len -2 and kv_len 2 but the least is 0");
  int32_t huge[] = {INT_MAX - 100, INT_MAX - 100};
  p.q_lens = lens;
  p.kv_lens = huge;
  fails(p, ATTNRT_LIMIT,
        "request 1 ends at q 3 and kv 4294967094 but a record counts to "
        "2147483647");
  int32_t three[] = {INT_MAX - 100, INT_MAX - 100, 1};
  int32_t ones[] = {1, 1, 1};
  p.batch = 3;
  p.q_lens = ones;
  p.kv_lens = three;
  fails(p, ATTNRT_LIMIT,
        "request 2 begins at kv token 4294967094 but a record counts to "
        "2147483647");
  p.batch = 2;
  p.kv_lens = lens;
  p.split_keys = -1;
  fails(p, ATTNRT_LIMIT, "split length is -1 keys but the least is 0");
  EXPECT_FAILS(attnrt_plan_workspace(f.plan, nullptr, &bytes),
               ATTNRT_INVALID_ARGUMENT,
               "plan, params or result pointer is null");
  EXPECT_FAILS(attnrt_plan_build(f.plan, nullptr, nullptr, 0, nullptr),
               ATTNRT_INVALID_ARGUMENT, "plan or params is null");
  attnrt_plan *plan = nullptr;
  EXPECT_FAILS(attnrt_plan_create(nullptr, &plan), ATTNRT_INVALID_ARGUMENT,
               "kernel or result pointer is null");
}

TEST(PlanApi, RefusesTooManySplitsWhenBuilding) {
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  TinyProblem problem({1}, {5000});
  attnrt_plan_params params = problem.planParams();
  params.split_keys = 1;
  EXPECT_FAILS(f.makePlan(params), ATTNRT_LIMIT,
               "request 0 needs 5000 splits of 1 keys but a tile has at most "
               "4095");
}

TEST(PlanApi, DenseTakesNoIndptr) {
  TestBundle bundle = TestBundle::tiny();
  bundle.kernel().storage = ATTNRT_DENSE;
  Fixture f;
  ASSERT_OK(f.open(bundle));
  int32_t indptr[] = {0, 4};
  attnrt_plan_params p = {};
  p.batch = 1;
  p.q_indptr = p.kv_indptr = indptr;
  size_t bytes = 0;
  EXPECT_FAILS(attnrt_plan_workspace(f.plan, &p, &bytes),
               ATTNRT_INVALID_ARGUMENT,
               "kernel 'tiny' has dense storage: it takes q lengths, not an "
               "indptr");
}

TEST(PlanApi, MaskParamsMustBeKnown) {
  TestBundle bundle = TestBundle::tiny();
  bundle.kernel().params[1].hasDefault = false;
  Fixture f;
  ASSERT_OK(f.open(bundle));
  TinyProblem problem({1}, {10});
  attnrt_plan_params params = problem.planParams();
  params.param_count = 1; // bias only
  EXPECT_FAILS(f.makePlan(params), ATTNRT_INVALID_ARGUMENT,
               "the mask reads param 'window', which has no default and was "
               "not passed to the plan");
  attnrt_plan_info info;
  EXPECT_FAILS(attnrt_plan_query(f.plan, &info), ATTNRT_INVALID_ARGUMENT,
               "plan was not built");
  EXPECT_FAILS(attnrt_plan_query(f.plan, nullptr), ATTNRT_INVALID_ARGUMENT,
               "plan or result pointer is null");
  params.no_narrowing = 1;
  ASSERT_OK(f.makePlan(params));
}

TEST(PlanApi, FailedBuildLeavesNoPlan) {
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  TinyProblem problem({1}, {10});
  ASSERT_OK(f.makePlan(problem.planParams()));
  attnrt_plan_params wrong = problem.planParams();
  wrong.batch = -1;
  EXPECT_NE(
      attnrt_plan_build(f.plan, &wrong, f.workspace, f.workspaceBytes, nullptr),
      ATTNRT_OK);
  EXPECT_FAILS(attnrt_run(f.kernel, f.plan, &problem.args, nullptr),
               ATTNRT_INVALID_ARGUMENT, "plan was not built");
}
