//===- RunArgsTest.cpp - what attnrt_run refuses --------------------------===//
#include "TinyProblem.h"

#include <climits>

namespace {

/// A specialisation that wants strides of 8 elements and 16-byte bases.
struct RunArgs : ::testing::Test {
  Fixture f;
  TinyProblem problem{{4, 2}, {20, 3}};

  void SetUp() override {
    TestBundle bundle = TestBundle::tiny();
    bundle.spec().strideMultiple = 8;
    bundle.spec().baseAlign = 16;
    prepare(bundle);
  }
  void prepare(const TestBundle &bundle) {
    f.close();
    ASSERT_OK(f.open(bundle));
    ASSERT_OK(f.makePlan(problem.planParams()));
  }
  attnrt_status run() {
    return attnrt_run(f.kernel, f.plan, &problem.args, nullptr);
  }
  void fails(attnrt_status status, const char *text) {
    EXPECT_FAILS(run(), status, text);
    problem.bind();
    problem.args.scale = nullptr;
  }
};

} // namespace

TEST_F(RunArgs, RightOnesRun) {
  ASSERT_OK(run());
  problem.check();
}

TEST_F(RunArgs, Strides) {
  problem.args.k.strides.token = 65;
  fails(ATTNRT_INVALID_ARGUMENT,
        "k token stride is 65 but the kernel needs a multiple of 8");
  problem.args.q.strides.head = 4;
  fails(ATTNRT_INVALID_ARGUMENT,
        "q head stride is 4 but the kernel needs a multiple of 8");
  problem.args.v.strides.token = -16;
  fails(ATTNRT_INVALID_ARGUMENT, "v token stride is -16 but the least is 0");
  problem.args.o.strides.token = INT64_MAX;
  fails(ATTNRT_LIMIT, "o spans more than 1152921504606846975 elements with "
                      "strides 128, 9223372036854775807, 8");
  // The output has no such requirement.
  std::vector<float> wide(6 * 40, 0.0f);
  problem.args.o.data = wide.data();
  problem.args.o.elements = wide.size();
  problem.args.o.strides = {0, 37, 9};
  EXPECT_EQ(run(), ATTNRT_OK) << attnrt_last_error();
}

TEST_F(RunArgs, DenseBatchStride) {
  TestBundle bundle = TestBundle::tiny();
  bundle.kernel().storage = ATTNRT_DENSE;
  bundle.spec().strideMultiple = 8;
  problem.~TinyProblem();
  new (&problem) TinyProblem({4, 2}, {20, 3}, true);
  prepare(bundle);
  problem.args.k.strides.batch = 20 * 16 + 4;
  fails(ATTNRT_INVALID_ARGUMENT,
        "k batch stride is 324 but the kernel needs a multiple of 8");
  EXPECT_EQ(run(), ATTNRT_OK) << attnrt_last_error();
  problem.check();
}

TEST_F(RunArgs, Bases) {
  // Buffers of the test are aligned to 16 by the allocator.
  problem.args.v.data = problem.v.data() + 1;
  fails(ATTNRT_INVALID_ARGUMENT, "v begins 4 bytes past a multiple of 16");
  problem.args.lse.data = reinterpret_cast<char *>(problem.lse.data()) + 2;
  fails(ATTNRT_INVALID_ARGUMENT, "lse begins 2 bytes past a multiple of 4");
  problem.args.q.data = nullptr;
  fails(ATTNRT_INVALID_ARGUMENT, "q has a null pointer");
  problem.args.o.data = nullptr;
  fails(ATTNRT_INVALID_ARGUMENT, "o has a null pointer");
}

TEST_F(RunArgs, Extents) {
  problem.args.k.elements -= 1;
  fails(ATTNRT_INVALID_ARGUMENT, "k needs 368 elements but the tensor has 367");
  problem.args.lse.elements = 23;
  fails(ATTNRT_INVALID_ARGUMENT, "lse needs 24 elements but the tensor has 23");
  problem.args.q.elements = 0; // unknown: not checked
  EXPECT_EQ(run(), ATTNRT_OK);
}

TEST_F(RunArgs, Scale) {
  float scale = INFINITY;
  problem.args.scale = &scale;
  fails(ATTNRT_INVALID_ARGUMENT, "scale inf is not finite");
  TestBundle bundle = TestBundle::tiny();
  bundle.spec().scalePositive = true;
  prepare(bundle);
  scale = -0.5f;
  problem.args.scale = &scale;
  fails(ATTNRT_INVALID_ARGUMENT,
        "scale is -0.5 but specialisation 0 needs one above 0");
}

TEST_F(RunArgs, Params) {
  problem.params[1].name = "widow";
  fails(ATTNRT_NOT_FOUND, "kernel 'tiny' has no param 'widow'");
  problem.params[0].type = ATTN_I32;
  fails(ATTNRT_INVALID_ARGUMENT, "param 'bias' is f32 but i32 was passed");
  problem.params[0].type = attn_scalar(3);
  fails(ATTNRT_INVALID_ARGUMENT,
        "param 'bias' is f32 but an unknown type was passed");
  problem.params[1] = problem.params[0];
  fails(ATTNRT_INVALID_ARGUMENT, "param 'bias' is passed twice");
  problem.params[1].name = nullptr;
  fails(ATTNRT_INVALID_ARGUMENT, "param 1 has no name");
  problem.args.params = nullptr;
  fails(ATTNRT_INVALID_ARGUMENT,
        "2 params and 1 tables are announced but a list is null");
  TestBundle bundle = TestBundle::tiny();
  bundle.kernel().params[0].hasDefault = false;
  prepare(bundle);
  problem.args.params = &problem.params[1];
  problem.args.param_count = 1;
  fails(ATTNRT_INVALID_ARGUMENT,
        "param 'bias' has no default and was not passed");
}

TEST_F(RunArgs, Tables) {
  problem.args.table_count = 0;
  fails(ATTNRT_INVALID_ARGUMENT, "table 'temp' was not passed");
  problem.args.table_count = 1;
  problem.table.name = "tempo";
  fails(ATTNRT_NOT_FOUND, "kernel 'tiny' has no table 'tempo'");
  problem.table.name = nullptr;
  fails(ATTNRT_INVALID_ARGUMENT, "table 0 has no name");
  problem.table.data = nullptr;
  fails(ATTNRT_INVALID_ARGUMENT, "table 'temp' has a null pointer");
  problem.table.extent[0] = 0;
  fails(ATTNRT_INVALID_ARGUMENT, "table 'temp' has extent 0 in dimension 0 but "
                                 "an extent lies in [1, 2147483647]");
  attnrt_table both[] = {problem.table, problem.table};
  problem.args.tables = both;
  problem.args.table_count = 2;
  fails(ATTNRT_INVALID_ARGUMENT, "table 'temp' is passed twice");
}

TEST_F(RunArgs, PlanAndRunAgree) {
  problem.params[1].bits = 3;
  fails(ATTNRT_INVALID_ARGUMENT, "plan was made with param 'window' = "
                                 "0x40000000 but 0x00000003 was passed");
  // A parameter that the mask does not read may change.
  problem.bias = 9;
  problem.bind();
  ASSERT_OK(run());
  problem.check();
  // So may any, if the plan was not narrowed.
  attnrt_plan_params params = problem.planParams();
  params.no_narrowing = 1;
  ASSERT_OK(f.makePlan(params));
  problem.window = 3;
  problem.bind();
  ASSERT_OK(run());
  problem.check();
}

TEST_F(RunArgs, PlanAndRunAgreeOnTables) {
  TestBundle bundle = TestBundle::tiny();
  // mask: table temp read as the bound would be f32; an i32 table instead.
  bundle.kernel().tables[0].element = ATTN_I32;
  bundle.kernel().hooks.erase(bundle.kernel().hooks.begin()); // score: f32
  std::vector<uint8_t> code = {'A',  'H', 'X', '1', 1, 0, ATTN_HOOK_MASK,
                               0,    5,   0,   0,   0, 1, 4,
                               0,    0,            // arg k
                               1,    2,   0,   0,  // arg h
                               5,    0,   0,   0,  // table 0
                               0x20, 2,   0,   0,  // lt
                               0xff, 0,   0,   0}; // end
  bundle.kernel().hooks[0].code = code;
  prepare(bundle);
  std::vector<int32_t> limits(4, 10);
  problem.table.data = limits.data();
  problem.table.host = limits.data();
  problem.table.version = 4;
  attnrt_plan_params params = problem.planParams();
  params.tables = &problem.table;
  params.table_count = 1;
  ASSERT_OK(f.makePlan(params));
  problem.table.version = 5;
  EXPECT_FAILS(run(), ATTNRT_INVALID_ARGUMENT,
               "plan was made with version 4 of table 'temp' but version 5 "
               "was passed");
  // Without a host copy nothing was narrowed by it, so nothing depends on it.
  problem.table.host = nullptr;
  params.tables = &problem.table;
  ASSERT_OK(f.makePlan(params));
  problem.table.version = 6;
  EXPECT_EQ(run(), ATTNRT_OK) << attnrt_last_error();
}

TEST_F(RunArgs, PlanOfAnotherKernel) {
  Fixture other;
  ASSERT_OK(other.open(TestBundle::tiny()));
  ASSERT_OK(other.makePlan(problem.planParams()));
  EXPECT_FAILS(attnrt_run(f.kernel, other.plan, &problem.args, nullptr),
               ATTNRT_INVALID_ARGUMENT,
               "plan was made for kernel 'tiny' (specialisation 0) but kernel "
               "'tiny' (specialisation 0) runs");
  EXPECT_FAILS(attnrt_run(f.kernel, nullptr, &problem.args, nullptr),
               ATTNRT_INVALID_ARGUMENT, "kernel, plan or args is null");
}

TEST_F(RunArgs, NoLseWithoutNormaliser) {
  TestBundle bundle = TestBundle::tiny();
  bundle.kernel().normaliser = ATTNRT_NO_NORMALISER;
  prepare(bundle);
  fails(ATTNRT_INVALID_ARGUMENT,
        "kernel 'tiny' has no LSE: its normaliser is none");
}
