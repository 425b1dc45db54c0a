//===- CudaTest.cpp - the cuda device on the fake driver ------------------===//
#include "DriverTypes.h"
#include "FakeCuda.h"

#include <cstring>

TEST_F(Cuda, MissingDriver) {
  attnrt_device_options options = {};
  options.driver = "/nonexistent/libcuda.so.1";
  attnrt_device *device = nullptr;
  EXPECT_EQ(attnrt_device_open("cuda:0", &options, &device), ATTNRT_NO_DRIVER);
  EXPECT_EQ(device, nullptr);
  std::string text = attnrt_last_error();
  EXPECT_EQ(text.find("the CUDA driver libcuda.so.1 cannot be loaded: "), 0u)
      << text;
  EXPECT_NE(text.find("No such file"), std::string::npos) << text;
  // A library that is no driver.
  options.driver = ATTN_TINY_KERNEL;
  EXPECT_FAILS(attnrt_device_open("cuda", &options, &device), ATTNRT_NO_DRIVER,
               "the CUDA driver '" ATTN_TINY_KERNEL
               "' has no cuGetProcAddress: it is older than 11.3");
  // A driver that lacks an entry.
  options = onFake();
  for (const char *name : allEntries) {
    fake().hide(name);
    if (strcmp(name, "cuTensorMapEncodeTiled") == 0) {
      ASSERT_OK(attnrt_device_open("cuda", &options, &device)); // see TensorMap
      attnrt_device_close(device);
      continue;
    }
    EXPECT_FAILS(attnrt_device_open("cuda", &options, &device),
                 ATTNRT_NO_DRIVER,
                 std::string("the CUDA driver '" ATTN_FAKE_DRIVER "' has no ") +
                     name + ": error 500 at interface version 11030");
  }
}

TEST_F(Cuda, NoDevice) {
  attnrt_device_options options = onFake();
  attnrt_device *device = nullptr;
  fake().fail("cuInit", 1, 100);
  EXPECT_FAILS(attnrt_device_open("cuda", &options, &device), ATTNRT_NO_DRIVER,
               "the CUDA driver does not start: cuInit failed: "
               "CUDA_ERROR_NO_DEVICE (100), a fault of the fake driver");
  EXPECT_FAILS(attnrt_device_open("cuda:3", &options, &device),
               ATTNRT_NOT_FOUND,
               "device cuda:3 does not exist, the driver has 1");
}

TEST_F(Cuda, Info) {
  attnrt_device_options options = onFake();
  attnrt_device *device = nullptr;
  fake().device(2, 10, 3, 148);
  ASSERT_OK(attnrt_device_open("cuda:1", &options, &device));
  attnrt_device_info info;
  ASSERT_OK(attnrt_device_query(device, &info));
  EXPECT_STREQ(info.name, "fake device");
  EXPECT_STREQ(info.arch, "sm_103");
  EXPECT_TRUE(info.is_cuda);
  EXPECT_EQ(info.processors, 148);
  EXPECT_EQ(info.shared_bytes, 232448u);
  EXPECT_EQ(info.memory_bytes, uint64_t(1) << 34);
  EXPECT_EQ(info.l2_bytes, 50u << 20);
  EXPECT_EQ(info.clock_khz, 1000000);
  EXPECT_EQ(info.driver_version, 12000);
  attnrt_device_close(device);
}

TEST_F(Cuda, MemoryStreamsEvents) {
  attnrt_device_options options = onFake();
  attnrt_device *device = nullptr;
  ASSERT_OK(attnrt_device_open("cuda", &options, &device));
  void *a = nullptr, *b = nullptr, *stream = nullptr;
  ASSERT_OK(attnrt_mem_alloc(device, 100, &a));
  ASSERT_OK(attnrt_mem_alloc(device, 100, &b));
  ASSERT_OK(attnrt_stream_create(device, &stream));
  ASSERT_NE(stream, nullptr);
  char text[100] = "over and back", back[100] = "";
  ASSERT_OK(
      attnrt_mem_copy(device, a, text, 100, ATTNRT_HOST_TO_DEVICE, stream));
  ASSERT_OK(
      attnrt_mem_copy(device, b, a, 100, ATTNRT_DEVICE_TO_DEVICE, stream));
  ASSERT_OK(attnrt_mem_set(device, b, 'O', 1, stream));
  ASSERT_OK(
      attnrt_mem_copy(device, back, b, 100, ATTNRT_DEVICE_TO_HOST, stream));
  EXPECT_STREQ(back, "Over and back");
  EXPECT_EQ(fake().calls("cuStreamSynchronize"), 2u);
  attnrt_event *begin = nullptr, *end = nullptr;
  ASSERT_OK(attnrt_event_create(device, &begin));
  ASSERT_OK(attnrt_event_create(device, &end));
  ASSERT_OK(attnrt_event_record(begin, stream));
  ASSERT_OK(attnrt_event_record(end, stream));
  float ms = 0;
  ASSERT_OK(attnrt_event_elapsed(begin, end, &ms));
  EXPECT_EQ(ms, 1.0f);
  attnrt_event_destroy(begin);
  attnrt_event_destroy(end);
  ASSERT_OK(attnrt_stream_synchronize(device, stream));
  ASSERT_OK(attnrt_stream_destroy(device, stream));
  ASSERT_OK(attnrt_mem_free(device, a));
  ASSERT_OK(attnrt_mem_free(device, b));
  fake().fail("cuMemAlloc", 3, 2);
  EXPECT_FAILS(attnrt_mem_alloc(device, 100, &a), ATTNRT_OUT_OF_MEMORY,
               "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (2), a fault of "
               "the fake driver");
  fake().fail("cuMemsetD8Async", 2, 700);
  EXPECT_FAILS(attnrt_mem_set(device, text, 0, 1, nullptr), ATTNRT_DRIVER_ERROR,
               "cuMemsetD8Async failed: CUDA_ERROR_FAKE (700), a fault of the "
               "fake driver");
  // The names themselves may fail.
  fake().fail("cuMemsetD8Async", 3, 700);
  fake().fail("cuGetErrorName", fake().calls("cuGetErrorName") + 1, 1);
  fake().fail("cuGetErrorString", fake().calls("cuGetErrorString") + 1, 1);
  EXPECT_FAILS(attnrt_mem_set(device, text, 0, 1, nullptr), ATTNRT_DRIVER_ERROR,
               "cuMemsetD8Async failed: unknown error (700), no description");
  attnrt_device_close(device);
}

TEST_F(Cuda, RunsThePlanAndFillsTheParams) {
  HostKernel host;
  fake().setKernel(&HostKernel::call, &host);
  attnrt_device_options options = onFake();
  TinyProblem problem({5, 1, 3}, {7, 300, 0});
  problem.window = 250;
  problem.bind();
  Fixture f;
  ASSERT_OK(f.open(TestBundle::gpu(), "cuda", &options));
  EXPECT_STREQ(attnrt_kernel_code(f.kernel), "sm_80 ptx");
  attnrt_plan_params params = problem.planParams();
  params.split_keys = 64;
  void *stream = nullptr;
  ASSERT_OK(attnrt_stream_create(f.device, &stream));
  ASSERT_OK(f.makePlan(params, stream));
  ASSERT_OK(attnrt_run(f.kernel, f.plan, &problem.args, stream));
  problem.check();

  attnrt_plan_info info;
  ASSERT_OK(attnrt_plan_query(f.plan, &info));
  EXPECT_EQ(info.workers, 264u); // 132 SMs, 2 CTAs each
  ASSERT_EQ(host.launches.size(), 2u);
  EXPECT_STREQ(host.launches[0].entry, "tiny_attention");
  EXPECT_EQ(host.launches[0].grid, info.items);
  EXPECT_EQ(host.launches[0].threads, 128u);
  EXPECT_EQ(host.launches[0].shared_bytes, 100000u);
  EXPECT_EQ(host.launches[0].stream, stream);
  EXPECT_STREQ(host.launches[1].entry, "tiny_merge");
  EXPECT_EQ(host.launches[1].grid, info.merges);
  EXPECT_EQ(host.launches[1].threads, 64u);
  EXPECT_EQ(host.launches[1].shared_bytes, 0u);
  // The attribute is set for the entry that has dynamic shared memory.
  EXPECT_EQ(fake().calls("cuFuncSetAttribute"), 1u);

  // Every field at its offset.
  for (const std::vector<char> &bytes : host.params) {
    auto word64 = [&](size_t at) {
      uint64_t value;
      memcpy(&value, bytes.data() + at, 8);
      return value;
    };
    auto word32 = [&](size_t at) {
      uint32_t value;
      memcpy(&value, bytes.data() + at, 4);
      return value;
    };
    auto address = [](const void *p) { return uint64_t(uintptr_t(p)); };
    EXPECT_EQ(word64(0), address(problem.q.data()));
    EXPECT_EQ(word64(8), address(problem.k.data()));
    EXPECT_EQ(word64(16), address(problem.v.data()));
    EXPECT_EQ(word64(24), address(problem.o.data()));
    EXPECT_EQ(word64(32), address(problem.lse.data()));
    EXPECT_EQ(word64(40), address(f.workspace));
    uint64_t partialO =
        address(f.workspace) + (info.header->bytes + 255) / 256 * 256;
    EXPECT_EQ(word64(48), partialO);
    // Room for the 5 splits of 300 keys, 4 heads, tiles of 8 rows; the mask
    // leaves 4 of them.
    EXPECT_EQ(info.slots, 16u);
    EXPECT_EQ(word64(56), partialO + 5 * 4 * 8 * 8 * 4);
    const uint64_t strides[] = {0, 32, 8,  0, 16, 8, 0, 16,
                                8, 0,  32, 8, 0,  4, 1};
    for (size_t i = 0; i < 15; ++i)
      EXPECT_EQ(word64(64 + 8 * i), strides[i]) << "stride word " << i;
    EXPECT_EQ(word32(184), 4u);
    EXPECT_EQ(word32(188), 2u);
    EXPECT_EQ(word32(192), bitsOf(0.35355339f));
    EXPECT_EQ(word32(196), 0u);
    EXPECT_EQ(word32(200), bitsOf(0.25f));
    EXPECT_EQ(word32(204), 250u);
    EXPECT_EQ(word64(208), address(problem.temp.data()));
    EXPECT_EQ(word32(216), 4u);
    EXPECT_EQ(word32(220), 1u);
    EXPECT_EQ(word32(224), 1u);
    EXPECT_EQ(word32(228), 0u);
  }
  ASSERT_OK(attnrt_stream_destroy(f.device, stream));
}

TEST_F(Cuda, TheLastWaveIsSplitAndMerged) {
  // A tile of each of 4 heads: 3 CTAs in turn take two waves, the second of which
  // is cut.
  HostKernel host;
  fake().setKernel(&HostKernel::call, &host);
  attnrt_device_options options = onFake();
  TinyProblem problem({8}, {300});
  problem.bind();
  Fixture f;
  TestBundle bundle = TestBundle::gpu();
  bundle.spec().costKv = 1000; // cycles; a launch is worth 7 keys
  ASSERT_OK(f.open(bundle, "cuda", &options));
  attnrt_plan_params params = problem.planParams();
  params.max_workers = 3;
  attnrt_plan_info info;
  size_t bytes = 0;
  for (bool allowed : {true, false}) {
    params.max_splits = allowed ? 0 : 1;
    host.launches.clear();
    ASSERT_OK(f.makePlan(params, nullptr));
    ASSERT_OK(attnrt_plan_query(f.plan, &info));
    EXPECT_EQ(info.merges, allowed ? 1u : 0u);
    EXPECT_EQ(info.slots, allowed ? 3u : 0u);
    EXPECT_EQ(info.items, 3 + (allowed ? 3u : 1u));
    if (allowed)
      bytes = info.workspace_bytes;
    ASSERT_OK(attnrt_run(f.kernel, f.plan, &problem.args, nullptr));
    problem.check();
    // The merge kernel runs only if there is something to merge.
    ASSERT_EQ(host.launches.size(), allowed ? 2u : 1u);
    EXPECT_EQ(host.launches[0].grid, info.items);
    if (allowed)
      EXPECT_EQ(host.launches[1].grid, 1u);
  }
  // What the workspace call promises holds for both.
  params.max_splits = 0;
  size_t promised = 0;
  ASSERT_OK(attnrt_plan_workspace(f.plan, &params, &promised));
  EXPECT_EQ(promised, bytes);
  EXPECT_LE(info.workspace_bytes, bytes);
}

TEST_F(Cuda, OutputIsStoredIn16Bytes) {
  HostKernel host;
  fake().setKernel(&HostKernel::call, &host);
  attnrt_device_options options = onFake();
  TinyProblem problem({5}, {7});
  problem.bind();
  Fixture f;
  ASSERT_OK(f.open(TestBundle::gpu(), "cuda", &options));
  attnrt_plan_params params = problem.planParams();
  ASSERT_OK(f.makePlan(params, nullptr));
  attnrt_tensor o = problem.args.o;
  problem.args.o.strides.token = 34;
  problem.args.o.elements = 0;
  EXPECT_FAILS(attnrt_run(f.kernel, f.plan, &problem.args, nullptr),
               ATTNRT_INVALID_ARGUMENT,
               "o token stride is 34 but the kernel needs a multiple of 4");
  problem.args.o = o;
  problem.args.o.data = static_cast<float *>(o.data) + 1;
  EXPECT_FAILS(attnrt_run(f.kernel, f.plan, &problem.args, nullptr),
               ATTNRT_INVALID_ARGUMENT,
               "o begins 4 bytes past a multiple of 16");
}

TEST_F(Cuda, GridIsBoundedByResidentCtas) {
  HostKernel host;
  fake().setKernel(&HostKernel::call, &host);
  fake().device(1, 9, 0, 3);
  attnrt_device_options options = onFake();
  TinyProblem problem({100}, {100});
  Fixture f;
  ASSERT_OK(f.open(TestBundle::gpu(), "cuda", &options));
  ASSERT_OK(f.makePlan(problem.planParams()));
  ASSERT_OK(attnrt_run(f.kernel, f.plan, &problem.args, nullptr));
  ASSERT_EQ(host.launches.size(), 1u); // nothing was split: no merge launch
  EXPECT_EQ(host.launches[0].grid, 6u);
  problem.check();
}

TEST_F(Cuda, NothingToDoLaunchesNothing) {
  attnrt_device_options options = onFake();
  TinyProblem problem({0}, {10});
  Fixture f;
  ASSERT_OK(f.open(TestBundle::gpu(), "cuda", &options));
  ASSERT_OK(f.makePlan(problem.planParams()));
  ASSERT_OK(attnrt_run(f.kernel, f.plan, &problem.args, nullptr));
  EXPECT_EQ(fake().calls("cuLaunchKernel"), 0u);
}

TEST_F(Cuda, PlansAlternateBetweenTwoPinnedBuffers) {
  attnrt_device_options options = onFake();
  TinyProblem problem({1}, {10});
  Fixture f;
  ASSERT_OK(f.open(TestBundle::gpu(), "cuda", &options));
  for (int i = 0; i < 5; ++i)
    ASSERT_OK(f.makePlan(problem.planParams()));
  EXPECT_EQ(fake().calls("cuMemHostAlloc"), 2u);
  EXPECT_EQ(fake().calls("cuMemcpyHtoDAsync"), 5u);
  // From the third plan on the buffer's last upload is waited for.
  EXPECT_EQ(fake().calls("cuEventSynchronize"), 3u);
}

TEST_F(Cuda, CodeForTheDevice) {
  attnrt_device_options options = onFake();
  TestBundle bundle = TestBundle::gpu();
  auto loaded = [&](const TestBundle &b) -> std::string {
    Fixture f;
    if (f.open(b, "cuda", &options) != ATTNRT_OK)
      return std::string("error: ") + attnrt_last_error();
    return attnrt_kernel_code(f.kernel);
  };
  TestCode cubin = {ATTNRT_CODE_CUBIN, "sm_90", "cubin"};
  bundle.spec().code.push_back(cubin);
  EXPECT_EQ(loaded(bundle), "sm_90 cubin");
  bundle.spec().code[1].arch = "sm_80"; // not exactly this device
  EXPECT_EQ(loaded(bundle), "sm_80 ptx");
  bundle.spec().code.erase(bundle.spec().code.begin());
  EXPECT_EQ(loaded(bundle),
            "error: none of the 1 specialisations of kernel 'tiny' is "
            "admissible on fake device (sm_90); #0 no PTX and no cubin for "
            "sm_90");
  bundle = TestBundle::gpu();
  bundle.spec().sharedBytes = 245760;
  EXPECT_EQ(loaded(bundle),
            "error: none of the 1 specialisations of kernel 'tiny' is "
            "admissible on fake device (sm_90); #0 needs 245760 bytes of "
            "shared memory but the device has 232448");
  // The newest target that runs here; sm_100a and sm_80a do not.
  bundle = TestBundle::gpu();
  for (const char *target :
       {"sm_90a", "sm_100a", "sm_80a", "sm_89", "sm_bad", "sm_90af"}) {
    TestSpec spec = bundle.spec();
    spec.target = target;
    spec.code[0].arch = target;
    bundle.kernel().specs.push_back(spec);
  }
  EXPECT_EQ(loaded(bundle), "sm_90a ptx");
  bundle.kernel().specs[1].code.push_back(
      {ATTNRT_CODE_CUBIN, "sm_90a", "cubin"});
  EXPECT_EQ(loaded(bundle), "sm_90a cubin");
  fake().device(1, 8, 9, 10);
  EXPECT_EQ(loaded(bundle), "sm_89 ptx");
  fake().device(1, 8, 0, 10);
  EXPECT_EQ(loaded(bundle), "sm_80a ptx");
  fake().device(1, 12, 0, 10);
  EXPECT_EQ(loaded(bundle), "sm_89 ptx");
  bundle.kernel().specs[2].target = "sm_100f";
  fake().device(1, 10, 3, 10);
  EXPECT_EQ(loaded(bundle), "sm_100a ptx");
  fake().device(1, 7, 5, 10);
  EXPECT_EQ(loaded(bundle).find("error: none of the 7"), 0u);
}

TEST_F(Cuda, CodeThatDoesNotLoad) {
  attnrt_device_options options = onFake();
  TestBundle bundle = TestBundle::gpu();
  bundle.spec().code[0].data = "bad ptx";
  {
    Fixture f;
    EXPECT_FAILS(f.open(bundle, "cuda", &options), ATTNRT_LOAD_ERROR,
                 "cannot load the ptx for sm_80: cuModuleLoadDataEx failed: "
                 "CUDA_ERROR_INVALID_PTX (218), a fault of the fake driver; "
                 "log: ptxas fatal: line 1 is bad");
  }
  bundle = TestBundle::gpu();
  bundle.spec().entry = "missing";
  {
    Fixture f;
    EXPECT_FAILS(f.open(bundle, "cuda", &options), ATTNRT_LOAD_ERROR,
                 "code has no entry 'missing': cuModuleGetFunction failed: "
                 "CUDA_ERROR_FAKE (500), a fault of the fake driver");
  }
  fake().occupancy(0);
  Fixture f;
  EXPECT_FAILS(f.open(TestBundle::gpu(), "cuda", &options), ATTNRT_LOAD_ERROR,
               "entry 'tiny_attention' with 128 threads and 100000 bytes of "
               "shared memory does not fit on an SM of 'fake device'");
}
