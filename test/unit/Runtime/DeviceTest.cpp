//===- DeviceTest.cpp - the cpu device's memory and events ----------------===//
#include "TestBundle.h"

#include "attn/ABI/Version.h"

#include <cstring>
#include <thread>

TEST(Device, Names) {
  attnrt_device *device = nullptr;
  for (const char *name :
       {"tpu", "cuda:", "cuda:x", "cuda:1x", "cudax", "CPU", "cuda:99999999"})
    EXPECT_FAILS(attnrt_device_open(name, nullptr, &device), ATTNRT_NOT_FOUND,
                 std::string("unknown device '") + name +
                     "' (known: cpu, cuda, cuda:N)");
  EXPECT_FAILS(attnrt_device_open(nullptr, nullptr, &device),
               ATTNRT_INVALID_ARGUMENT, "name or result pointer is null");
  attnrt_device_options options = {};
  options.threads = -2;
  EXPECT_FAILS(attnrt_device_open("cpu", &options, &device),
               ATTNRT_INVALID_ARGUMENT,
               "threads is -2 but must lie in [0, 4096]");
}

TEST(Device, CpuInfo) {
  attnrt_device *device = nullptr;
  attnrt_device_options options = {};
  options.threads = 3;
  ASSERT_OK(attnrt_device_open("cpu", &options, &device));
  attnrt_device_info info;
  ASSERT_OK(attnrt_device_query(device, &info));
  EXPECT_STREQ(info.name, "cpu");
  EXPECT_EQ(info.processors, 3);
  EXPECT_FALSE(info.is_cuda);
  EXPECT_EQ(strncmp(info.arch, "x86-64", 6), 0);
  attnrt_device_close(device);
}

TEST(Device, CpuMemoryStreamsEvents) {
  attnrt_device *device = nullptr;
  ASSERT_OK(attnrt_device_open("cpu", nullptr, &device));
  void *a = nullptr, *b = nullptr, *none = &a;
  ASSERT_OK(attnrt_mem_alloc(device, 100, &a));
  ASSERT_OK(attnrt_mem_alloc(device, 100, &b));
  ASSERT_OK(attnrt_mem_alloc(device, 0, &none));
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(uintptr_t(a) % 256, 0u);
  ASSERT_OK(attnrt_mem_set(device, a, 0xab, 100, nullptr));
  ASSERT_OK(
      attnrt_mem_copy(device, b, a, 100, ATTNRT_DEVICE_TO_DEVICE, nullptr));
  uint8_t host[100] = {};
  ASSERT_OK(
      attnrt_mem_copy(device, host, b, 100, ATTNRT_DEVICE_TO_HOST, nullptr));
  EXPECT_EQ(host[0], 0xab);
  EXPECT_EQ(host[99], 0xab);
  EXPECT_FAILS(
      attnrt_mem_copy(device, nullptr, a, 7, ATTNRT_HOST_TO_DEVICE, nullptr),
      ATTNRT_INVALID_ARGUMENT, "a pointer of a copy of 7 bytes is null");
  EXPECT_FAILS(attnrt_mem_copy(device, b, a, 7, attnrt_copy_kind(3), nullptr),
               ATTNRT_INVALID_ARGUMENT, "copy kind is 3 but the last is 2");
  EXPECT_FAILS(attnrt_mem_set(device, nullptr, 0, 7, nullptr),
               ATTNRT_INVALID_ARGUMENT, "pointer to set 7 bytes is null");
  EXPECT_FAILS(attnrt_mem_alloc(device, 7, nullptr), ATTNRT_INVALID_ARGUMENT,
               "result pointer is null");
  EXPECT_FAILS(attnrt_mem_alloc(nullptr, 7, &none), ATTNRT_INVALID_ARGUMENT,
               "device is null");
  EXPECT_EQ(attnrt_mem_alloc(device, SIZE_MAX, &none), ATTNRT_OUT_OF_MEMORY);
  EXPECT_EQ(std::string(attnrt_last_error()),
            "no memory for " + std::to_string(SIZE_MAX) + " bytes");
  EXPECT_EQ(none, nullptr);
  ASSERT_OK(attnrt_mem_free(device, a));
  ASSERT_OK(attnrt_mem_free(device, b));
  ASSERT_OK(attnrt_mem_free(device, nullptr));

  void *stream = &a;
  ASSERT_OK(attnrt_stream_create(device, &stream));
  EXPECT_EQ(stream, nullptr);
  attnrt_event *begin = nullptr, *end = nullptr;
  ASSERT_OK(attnrt_event_create(device, &begin));
  ASSERT_OK(attnrt_event_create(device, &end));
  ASSERT_OK(attnrt_event_record(begin, stream));
  ASSERT_OK(attnrt_event_record(end, stream));
  ASSERT_OK(attnrt_stream_synchronize(device, stream));
  float ms = -1;
  ASSERT_OK(attnrt_event_elapsed(begin, end, &ms));
  EXPECT_GE(ms, 0.0f);
  EXPECT_FAILS(attnrt_event_elapsed(begin, nullptr, &ms),
               ATTNRT_INVALID_ARGUMENT, "event or result pointer is null");
  EXPECT_FAILS(attnrt_event_record(nullptr, nullptr), ATTNRT_INVALID_ARGUMENT,
               "event is null");
  attnrt_device *other = nullptr;
  ASSERT_OK(attnrt_device_open("cpu", nullptr, &other));
  attnrt_event *foreign = nullptr;
  ASSERT_OK(attnrt_event_create(other, &foreign));
  EXPECT_FAILS(attnrt_event_elapsed(begin, foreign, &ms),
               ATTNRT_INVALID_ARGUMENT,
               "events belong to the devices 'cpu' and 'cpu'");
  attnrt_event_destroy(foreign);
  attnrt_device_close(other);
  ASSERT_OK(attnrt_stream_destroy(device, stream));
  attnrt_device_close(device);
  // Events keep the device alive.
  attnrt_event_destroy(begin);
  attnrt_event_destroy(end);
}

TEST(Device, ErrorsBelongToTheThread) {
  attnrt_device *device = nullptr;
  EXPECT_NE(attnrt_device_open("first", nullptr, &device), ATTNRT_OK);
  std::string other;
  std::thread([&] {
    other = attnrt_last_error();
    attnrt_device_open("second", nullptr, &device);
  }).join();
  EXPECT_EQ(other, "");
  EXPECT_NE(std::string(attnrt_last_error()).find("'first'"),
            std::string::npos);
}

TEST(Device, StatusNames) {
  EXPECT_STREQ(attnrt_status_name(ATTNRT_OK), "ok");
  EXPECT_STREQ(attnrt_status_name(ATTNRT_NO_DRIVER), "no driver");
  EXPECT_STREQ(attnrt_status_name(attnrt_status(15)), "unknown status");
  for (int i = 0; i <= ATTNRT_LIMIT; ++i)
    EXPECT_STRNE(attnrt_status_name(attnrt_status(i)), "unknown status");
  EXPECT_EQ(attnrt_abi_version(), uint32_t(ATTN_ABI_VERSION));
}
