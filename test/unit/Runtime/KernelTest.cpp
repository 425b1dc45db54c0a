//===- KernelTest.cpp - choosing and loading a specialisation -------------===//
#include "CpuLevels.h"
#include "TestBundle.h"

#include <algorithm>
#include <csignal>
#include <sys/resource.h>

static attnrt_select anyElement() {
  attnrt_select select = {};
  select.element = select.output = ATTNRT_ANY_ELEMENT;
  return select;
}

static uint32_t chosen(const Fixture &f) {
  uint32_t kernel = 99, specialisation = 99;
  EXPECT_EQ(attnrt_kernel_chosen(f.kernel, &kernel, &specialisation),
            ATTNRT_OK);
  EXPECT_EQ(kernel, 0u);
  return specialisation;
}

TEST(Kernel, NoneAdmissibleSaysWhy) {
  TestBundle bundle = TestBundle::tiny();
  TestSpec spec = bundle.spec();
  spec.strideMultiple = 8;
  spec.baseAlign = 16;
  bundle.kernel().specs = {spec, TestBundle::gpu().spec()};
  attnrt_select select = anyElement();
  select.stride_multiple = 4;
  {
    Fixture f;
    EXPECT_EQ(f.open(bundle, "cpu", nullptr, &select), ATTNRT_NOT_ADMISSIBLE);
    attnrt_device_info info;
    ASSERT_OK(attnrt_device_query(f.device, &info));
    // The query does not touch the text.
    EXPECT_EQ(std::string(attnrt_last_error()),
              "none of the 2 specialisations of kernel 'tiny' is admissible on "
              "cpu (" +
                  std::string(info.arch) +
                  "); #0 needs strides that are multiples of 8 but they are "
                  "multiples of 4; #1 target is sm_80");
  }
  auto reason = [&](const attnrt_select &s) {
    Fixture f;
    EXPECT_EQ(f.open(bundle, "cpu", nullptr, &s), ATTNRT_NOT_ADMISSIBLE);
    std::string text = attnrt_last_error();
    size_t from = text.find("; #0 "), to = text.find("; #1 ");
    return text.substr(from + 5, to - from - 5);
  };
  select = anyElement();
  select.base_align = 8;
  EXPECT_EQ(reason(select),
            "needs pointers aligned to 16 bytes but they are aligned to 8");
  select = anyElement();
  select.element = ATTNRT_BF16;
  EXPECT_EQ(reason(select), "element type is f32");
  select = anyElement();
  select.output = ATTNRT_F16;
  EXPECT_EQ(reason(select), "output type is f32");
  select = anyElement();
  select.target = "sm_80";
  EXPECT_EQ(reason(select), "target is cpu");
  bundle.spec().scalePositive = true;
  select = anyElement();
  select.scale_not_positive = 1;
  EXPECT_EQ(reason(select), "needs a scale above 0");
  bundle.spec().code[0].arch = "riscv";
  select = anyElement();
  EXPECT_EQ(reason(select).find("no code for "), 0u);
}

TEST(Kernel, RequirementsThatAreMetAdmit) {
  TestBundle bundle = TestBundle::tiny();
  bundle.spec().strideMultiple = 8;
  bundle.spec().baseAlign = 16;
  attnrt_select select = anyElement();
  select.stride_multiple = 64;
  select.base_align = 32;
  select.element = ATTNRT_F32;
  Fixture f;
  ASSERT_OK(f.open(bundle, "cpu", nullptr, &select));
}

TEST(Kernel, CheapestIsChosen) {
  TestBundle bundle = TestBundle::tiny();
  TestSpec big = bundle.spec(), small = bundle.spec();
  // Small tiles: each key is cheap, but there are more tiles.
  big.tileQ = 64;
  big.costKv = 2;
  small.tileQ = 8;
  small.costKv = 1;
  bundle.kernel().specs = {big, small};
  attnrt_select select = anyElement();
  select.q_len = 4096;
  select.kv_len = 4096;
  {
    Fixture f;
    ASSERT_OK(f.open(bundle, "cpu", nullptr, &select));
    EXPECT_EQ(chosen(f), 0u);
  }
  select.q_len = 1;
  {
    Fixture f;
    ASSERT_OK(f.open(bundle, "cpu", nullptr, &select));
    EXPECT_EQ(chosen(f), 1u);
  }
  select.specialisation = 1;
  {
    Fixture f;
    ASSERT_OK(f.open(bundle, "cpu", nullptr, &select));
    EXPECT_EQ(chosen(f), 0u);
  }
  select.specialisation = 3;
  Fixture f;
  EXPECT_FAILS(f.open(bundle, "cpu", nullptr, &select), ATTNRT_INVALID_ARGUMENT,
               "specialisation 2 was asked for but kernel 'tiny' has 2");
  select = anyElement();
  select.element = 7;
  Fixture g;
  EXPECT_FAILS(g.open(bundle, "cpu", nullptr, &select), ATTNRT_INVALID_ARGUMENT,
               "element types are 7 and -1 but the last is 2");
}

TEST(Kernel, BestCpuLevelIsChosen) {
  TestBundle bundle = TestBundle::tiny();
  TestCode code = bundle.spec().code[0];
  bundle.spec().code.clear();
  for (const char *arch : {"x86-64-v4", "x86-64", "x86-64-v3", "x86-64-v2"}) {
    code.arch = arch;
    bundle.spec().code.push_back(code);
  }
  int machine = attnrt::highestCpuLevel();
  ASSERT_GE(machine, 1);
  for (int level = 1; level <= 4; ++level) {
    attnrt_device_options options = {};
    options.max_arch = attnrt::cpuLevelName(level);
    Fixture f;
    ASSERT_OK(f.open(bundle, "cpu", &options));
    EXPECT_EQ(std::string(attnrt_kernel_code(f.kernel)),
              std::string(attnrt::cpuLevelName(std::min(level, machine))) +
                  " shared object");
  }
  attnrt_device_options options = {};
  options.max_arch = "x86-64-v9";
  Fixture f;
  EXPECT_FAILS(f.open(bundle, "cpu", &options), ATTNRT_INVALID_ARGUMENT,
               "unknown cpu level 'x86-64-v9' (known: x86-64, x86-64-v2, "
               "x86-64-v3, x86-64-v4)");
}

TEST(Kernel, BrokenCode) {
  TestBundle bundle = TestBundle::tiny();
  bundle.spec().entry = "nothing_here";
  Fixture f;
  EXPECT_FAILS(f.open(bundle), ATTNRT_LOAD_ERROR,
               "code has no entry 'nothing_here'");
  bundle = TestBundle::tiny();
  bundle.spec().mergeEntry = "no_merge";
  Fixture g;
  EXPECT_FAILS(g.open(bundle), ATTNRT_LOAD_ERROR,
               "code has no entry 'no_merge'");
  bundle = TestBundle::tiny();
  bundle.spec().code[0].data = "this is not an object";
  Fixture h;
  EXPECT_EQ(h.open(bundle), ATTNRT_LOAD_ERROR);
  std::string text = attnrt_last_error();
  EXPECT_EQ(text.find("cannot load the code for x86-64: "), 0u) << text;
}

/// Lowers a limit of the process for a scope.
struct Limited {
  int which;
  rlimit old = {};
  Limited(int which, rlim_t value) : which(which) {
    getrlimit(__rlimit_resource_t(which), &old);
    rlimit low = {value, old.rlim_max};
    setrlimit(__rlimit_resource_t(which), &low);
  }
  ~Limited() { setrlimit(__rlimit_resource_t(which), &old); }
};

TEST(Kernel, NoRoomForCode) {
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  attnrt_kernel *kernel = nullptr;
  {
    Limited files(RLIMIT_NOFILE, 0);
    EXPECT_EQ(attnrt_kernel_load(f.device, f.bundle, "tiny", nullptr, &kernel),
              ATTNRT_LOAD_ERROR);
  }
  EXPECT_STREQ(attnrt_last_error(),
               "cannot create an anonymous file: Too many open files");
  auto *handler = signal(SIGXFSZ, SIG_IGN);
  {
    Limited size(RLIMIT_FSIZE, 0);
    EXPECT_EQ(attnrt_kernel_load(f.device, f.bundle, "tiny", nullptr, &kernel),
              ATTNRT_LOAD_ERROR);
  }
  signal(SIGXFSZ, handler);
  std::string text = attnrt_last_error();
  EXPECT_EQ(text.find("cannot write "), 0u) << text;
  EXPECT_NE(text.find(" bytes of code: File too large"), std::string::npos)
      << text;
}

TEST(Kernel, NullArguments) {
  attnrt_kernel *kernel = nullptr;
  EXPECT_FAILS(attnrt_kernel_load(nullptr, nullptr, "k", nullptr, &kernel),
               ATTNRT_INVALID_ARGUMENT, "device or result pointer is null");
  EXPECT_FAILS(attnrt_kernel_chosen(nullptr, nullptr, nullptr),
               ATTNRT_INVALID_ARGUMENT, "kernel or result pointer is null");
  EXPECT_STREQ(attnrt_kernel_code(nullptr), "");
}

TEST(Kernel, ObjectsMayBeClosedInAnyOrder) {
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  attnrt_bundle_close(f.bundle);
  attnrt_device_close(f.device);
  attnrt_kernel_unload(f.kernel);
  f.bundle = nullptr;
  f.device = nullptr;
  f.kernel = nullptr;
  attnrt_plan_params params = {};
  size_t bytes = 0;
  EXPECT_EQ(attnrt_plan_workspace(f.plan, &params, &bytes), ATTNRT_OK);
  EXPECT_EQ(bytes, 256u);
}
