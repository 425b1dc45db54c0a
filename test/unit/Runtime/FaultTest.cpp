//===- FaultTest.cpp - every driver call may fail -------------------------===//
//
// A session does everything that the API can do on a device, step by step.  It
// is repeated with the first driver call failing, then the second, and so on
// until one passes without having met its fault; once with only that call
// failing, once with all that follow, as after a fault on the device.
//
// Invariants: the step that met the fault says so, by the call's name, the
// driver's name of the error and its number; the same step done again on the same
// objects works and the results are right; nothing is left behind.
//
//===----------------------------------------------------------------------===//
#include "DriverTypes.h"
#include "FakeCuda.h"

#include <functional>

namespace {

struct Error {
  int code;
  const char *name;
  attnrt_status status;
};

constexpr Error errors[] = {
    {2, "CUDA_ERROR_OUT_OF_MEMORY", ATTNRT_OUT_OF_MEMORY},
    {201, "CUDA_ERROR_INVALID_CONTEXT", ATTNRT_DRIVER_ERROR},
    {719, "CUDA_ERROR_LAUNCH_FAILED", ATTNRT_DRIVER_ERROR}};

/// Faults of these calls are reported as what they mean to the caller.
attnrt_status statusOf(const Error &error, const std::string &call) {
  if (call == "cuInit")
    return ATTNRT_NO_DRIVER;
  if (call == "cuModuleLoadDataEx" || call == "cuModuleGetFunction")
    return ATTNRT_LOAD_ERROR;
  if (call == "cuTensorMapEncodeTiled")
    return ATTNRT_DRIVER_ERROR;
  return error.status;
}

class Session {
public:
  Session(const TestBundle &content, const Error &error, unsigned n,
          bool sticky)
      : error(error), n(n), sticky(sticky) {
    std::vector<uint8_t> bytes = content.write();
    EXPECT_EQ(attnrt_bundle_open_memory(bytes.data(), bytes.size(), &f.bundle),
              ATTNRT_OK)
        << attnrt_last_error();
    fake().setKernel(&HostKernel::call, &host);
  }

  /// False: there were fewer than n calls.
  bool run() {
    fake().failNth(n, error.code, sticky);
    if (body()) {
      problem.check();
      EXPECT_STREQ(text, "to the device and back");
    }
    tearDown();
    EXPECT_EQ(fake().live(), 0) << where();
    EXPECT_EQ(fake().contextDepth(), 0) << where();
    return struck() || !kept.empty();
  }

private:
  using Step = std::function<attnrt_status()>;

  bool struck() const { return fake().failed()[0] != 0; }

  std::string where() const {
    return std::string(fake().failed()) + ", call " + std::to_string(n) +
           (sticky ? " and later" : "") + ", code " +
           std::to_string(error.code);
  }

  /// A fault in this step has to be reported; then the step is done again.
  /// False: the session cannot go on.
  bool attempt(const Step &step) {
    bool before = struck();
    attnrt_status status = step();
    bool met = struck() && !before;
    if (status == ATTNRT_OK) {
      // Nothing depends on the context that was current before.
      EXPECT_TRUE(!met || std::string(fake().failed()) == "cuCtxPopCurrent")
          << where() << " was ignored";
      return true;
    }
    std::string call = fake().failed(), said = attnrt_last_error();
    if (sticky && call == "cuCtxPopCurrent")
      call = "cuCtxPushCurrent"; // the next one
    else
      EXPECT_TRUE(met) << where() << ": a later step fails: " << said;
    EXPECT_EQ(status, statusOf(error, call)) << where() << ": " << said;
    std::string expected = call + " failed: " + error.name + " (" +
                           std::to_string(error.code) + ")";
    EXPECT_NE(said.find(expected), std::string::npos)
        << where() << ": " << said;
    if (sticky)
      return false;
    status = step();
    EXPECT_EQ(status, ATTNRT_OK)
        << where() << ", again: " << attnrt_last_error();
    return status == ATTNRT_OK;
  }

  bool build(int32_t split) {
    attnrt_plan_params params = problem.planParams();
    params.split_keys = split;
    size_t bytes = 0;
    void *memory = nullptr;
    bool ok =
        attempt(
            [&] { return attnrt_plan_workspace(f.plan, &params, &bytes); }) &&
        attempt([&] { return attnrt_mem_alloc(f.device, bytes, &memory); });
    if (!ok)
      return false;
    workspaces.push_back(memory);
    return attempt([&] {
      return attnrt_plan_build(f.plan, &params, memory, bytes, stream);
    });
  }

  bool body() {
    attnrt_device_options options = onFake();
    char host[32] = "to the device and back";
    float ms = 0;
    auto copy = [&](void *to, const void *from, attnrt_copy_kind kind) {
      return attempt([&, to, from, kind] {
        return attnrt_mem_copy(f.device, to, from, sizeof(text), kind, stream);
      });
    };
    return attempt([&] {
             return attnrt_device_open("cuda", &options, &f.device);
           }) &&
           attempt([&] {
             return attnrt_kernel_load(f.device, f.bundle, "tiny", nullptr,
                                       &f.kernel);
           }) &&
           attempt([&] { return attnrt_plan_create(f.kernel, &f.plan); }) &&
           attempt([&] { return attnrt_stream_create(f.device, &stream); }) &&
           attempt([&] { return attnrt_mem_alloc(f.device, 64, &memory); }) &&
           attempt([&] {
             return attnrt_mem_set(f.device, memory, 1, 64, stream);
           }) &&
           copy(memory, host, ATTNRT_HOST_TO_DEVICE) &&
           copy(static_cast<char *>(memory) + 32, memory,
                ATTNRT_DEVICE_TO_DEVICE) &&
           copy(text, static_cast<char *>(memory) + 32,
                ATTNRT_DEVICE_TO_HOST) &&
           attempt([&] { return attnrt_event_create(f.device, &begin); }) &&
           attempt([&] { return attnrt_event_create(f.device, &end); }) &&
           attempt([&] { return attnrt_event_record(begin, stream); }) &&
           // Growing plans: the staging memory grows too.
           build(300) && build(64) && build(16) && attempt([&] {
             return attnrt_run(f.kernel, f.plan, &problem.args, stream);
           }) &&
           attempt([&] { return attnrt_event_record(end, stream); }) &&
           attempt([&] { return attnrt_event_elapsed(begin, end, &ms); }) &&
           attempt([&] { return attnrt_stream_synchronize(f.device, stream); });
  }

  /// Functions without a result keep the text of the failure before them.
  void destroy(const std::function<void()> &what) {
    std::string before = attnrt_last_error();
    what();
    EXPECT_EQ(before, attnrt_last_error()) << where();
  }

  /// What could not even be tried (no context) is tried again; at the latest
  /// when the device works again.
  void release(const Step &step) {
    bool before = struck();
    if (step() == ATTNRT_OK)
      return;
    EXPECT_TRUE(sticky || !before) << where();
    std::string said = attnrt_last_error();
    EXPECT_NE(said.find(error.name), std::string::npos) << said;
    bool tried = said.find("cuCtxPush") == std::string::npos;
    if (!tried && step() != ATTNRT_OK)
      kept.push_back(step);
  }

  void tearDown() {
    destroy([&] { attnrt_event_destroy(begin); });
    destroy([&] { attnrt_event_destroy(end); });
    if (f.device) {
      release([&] { return attnrt_mem_free(f.device, memory); });
      for (void *workspace : workspaces)
        release(
            [&, workspace] { return attnrt_mem_free(f.device, workspace); });
      release([&] { return attnrt_stream_destroy(f.device, stream); });
    }
    destroy([&] { attnrt_plan_destroy(f.plan); });
    f.plan = nullptr;
    destroy([&] { attnrt_kernel_unload(f.kernel); });
    f.kernel = nullptr;
    EXPECT_TRUE(sticky || kept.empty()) << where();
    if (!kept.empty()) {
      std::string met = where();
      fake().failNth(0, 0, 0);
      for (const Step &step : kept)
        EXPECT_EQ(step(), ATTNRT_OK) << met << ": " << attnrt_last_error();
    }
    destroy([&] { attnrt_device_close(f.device); });
    f.device = nullptr;
  }

  Error error;
  unsigned n;
  bool sticky;
  HostKernel host;
  TinyProblem problem{{5, 1}, {7, 300}};
  Fixture f;
  void *stream = nullptr, *memory = nullptr;
  std::vector<void *> workspaces;
  attnrt_event *begin = nullptr, *end = nullptr;
  char text[32] = "";
  std::vector<Step> kept; ///< releases that still have to be done
};

/// Sessions until one does not meet its fault; the number of those that did.
unsigned sessions(const TestBundle &bundle, const Error &error, bool sticky) {
  unsigned n = 1;
  for (;; ++n) {
    fake().reset();
    if (!Session(bundle, error, n, sticky).run() ||
        ::testing::Test::HasFailure())
      return n - 1;
  }
}

} // namespace

TEST_F(Cuda, EveryEntryIsCalledByASession) {
  // Otherwise the tests below would not show what happens when it fails.
  ASSERT_FALSE(Session(TestBundle::tma(), errors[0], 0, false).run());
  for (const char *name : allEntries)
    if (strncmp(name, "cuGetError", 10) != 0) {
      EXPECT_GT(fake().calls(name), 0u) << name;
    }
}

TEST_F(Cuda, EveryCallMayFail) {
  for (const TestBundle &bundle : {TestBundle::gpu(), TestBundle::tma()})
    for (const Error &error : errors)
      EXPECT_GT(sessions(bundle, error, false), 100u);
}

TEST_F(Cuda, AllCallsMayFailFromOneOn) {
  for (const TestBundle &bundle : {TestBundle::gpu(), TestBundle::tma()})
    for (const Error &error : errors)
      EXPECT_GT(sessions(bundle, error, true), 100u);
  // The process goes on: new objects work.
  fake().reset();
  ASSERT_FALSE(Session(TestBundle::tma(), errors[0], 0, false).run());
}
