//===- FakeCuda.h - the fake driver in tests --------------------*- C++ -*-===//
//
// The driver's control functions, a fixture that ends with nothing left behind,
// and a kernel that runs on the host.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_TEST_FAKECUDA_H
#define ATTNRT_TEST_FAKECUDA_H

#include "FakeDriver.h"
#include "TinyProblem.h"

#include <cstring>
#include <dlfcn.h>

/// The fake's control functions; the library stays loaded for the process.
struct Fake {
  decltype(&attn_fake_reset) reset;
  decltype(&attn_fake_fail) fail;
  decltype(&attn_fake_fail_nth) failNth;
  decltype(&attn_fake_failed) failed;
  decltype(&attn_fake_hide) hide;
  decltype(&attn_fake_device) device;
  decltype(&attn_fake_occupancy) occupancy;
  decltype(&attn_fake_set_kernel) setKernel;
  decltype(&attn_fake_calls) calls;
  decltype(&attn_fake_log) log;
  decltype(&attn_fake_live) live;
  decltype(&attn_fake_context_depth) contextDepth;
  decltype(&attn_fake_find_tensor_map) findTensorMap;

  Fake() {
    void *library = dlopen(ATTN_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    auto find = [&](auto &function, const char *name) {
      void *address = dlsym(library, name);
      EXPECT_NE(address, nullptr) << name;
      memcpy(&function, &address, sizeof(address));
    };
    find(reset, "attn_fake_reset");
    find(fail, "attn_fake_fail");
    find(failNth, "attn_fake_fail_nth");
    find(failed, "attn_fake_failed");
    find(hide, "attn_fake_hide");
    find(device, "attn_fake_device");
    find(occupancy, "attn_fake_occupancy");
    find(setKernel, "attn_fake_set_kernel");
    find(calls, "attn_fake_calls");
    find(log, "attn_fake_log");
    find(live, "attn_fake_live");
    find(contextDepth, "attn_fake_context_depth");
    find(findTensorMap, "attn_fake_find_tensor_map");
  }
};

inline Fake &fake() {
  static Fake f;
  return f;
}

inline const char *const allEntries[] = {
#define ATTN_DRIVER_FN(name, arguments) #name,
#include "DriverTable.def"
#undef ATTN_DRIVER_FN
};

inline attnrt_device_options onFake() {
  attnrt_device_options options = {};
  options.driver = ATTN_FAKE_DRIVER;
  return options;
}

struct Cuda : ::testing::Test {
  void SetUp() override { fake().reset(); }
  void TearDown() override {
    fake().reset();
    EXPECT_EQ(fake().live(), 0);
    EXPECT_EQ(fake().contextDepth(), 0);
  }
};

/// Runs the tiny kernel for a launch: "device" memory is host memory.
struct HostKernel {
  /// Of the parameter struct that `params` keeps: as many as any test's has.
  static constexpr size_t paramsBytes = 640;
  void *library = dlopen(ATTN_TINY_KERNEL, RTLD_NOW | RTLD_LOCAL);
  std::vector<attn_fake_launch> launches;
  std::vector<std::vector<char>> params;

  ~HostKernel() { dlclose(library); }

  static void call(const attn_fake_launch *launch, void *user) {
    auto &self = *static_cast<HostKernel *>(user);
    self.launches.push_back(*launch);
    auto *bytes = static_cast<const char *>(launch->params);
    self.params.emplace_back(bytes, bytes + paramsBytes);
    attn_kernel_params fixed;
    memcpy(&fixed, launch->params, sizeof(fixed));
    auto *plan = reinterpret_cast<const char *>(uintptr_t(fixed.plan));
    auto *header = reinterpret_cast<const attn_plan_header *>(plan);
    bool merge = strstr(launch->entry, "merge") != nullptr;
    uint32_t offset = merge ? header->merges_offset : header->items_offset;
    uint32_t count = merge ? header->merges : header->items;
    auto entry = reinterpret_cast<void (*)(const void *, const void *, void *)>(
        dlsym(self.library, launch->entry));
    alignas(64) char scratch[64];
    // A CTA takes items grid apart.
    for (uint32_t cta = 0; cta < launch->grid; ++cta)
      for (uint32_t i = cta; i < count; i += launch->grid)
        entry(plan + offset + i * 32, launch->params, scratch);
  }
};

#endif // ATTNRT_TEST_FAKECUDA_H
