//===- TestBundle.h - bundles written by the tests --------------*- C++ -*-===//
//
// Plain structs that mirror Bundle.fbs, right by default; a test changes one
// field and writes the bytes.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_TEST_TESTBUNDLE_H
#define ATTNRT_TEST_TESTBUNDLE_H

#include "attnrt/attnrt.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

struct TestParam {
  std::string name;
  int type = ATTN_I32;
  uint32_t defaultBits = 0;
  bool hasDefault = false;
  uint32_t offset = 200;
};

struct TestTable {
  std::string name;
  int element = ATTN_F32;
  std::vector<uint8_t> index = {ATTN_INDEX_HEAD};
  uint32_t offset = 208;
};

struct TestHook {
  int kind = ATTN_HOOK_MASK;
  std::vector<uint8_t> code;
};

struct TestCode {
  int kind = ATTNRT_CODE_SHARED_OBJECT;
  std::string arch = "x86-64";
  std::string data;
};

struct TestTensorMap {
  int tensor = ATTN_MAP_K;
  uint32_t offset = 256;
  std::vector<uint8_t> dims = {ATTN_MAP_DIM, ATTN_MAP_TOKEN, ATTN_MAP_HEAD,
                               ATTN_MAP_BATCH};
  std::vector<uint16_t> box = {8, 16, 1, 1};
  int element = ATTNRT_F32;
  uint16_t swizzle = 32, promotion = 128;
};

struct TestSpec {
  std::string target = "cpu";
  int element = ATTNRT_F32, output = ATTNRT_F32;
  int32_t tileQ = 8, tileK = 16, pack = 1;
  std::string entry = "tiny_attention", mergeEntry = "tiny_merge";
  std::vector<TestCode> code;
  uint32_t paramsBytes = 232;
  uint32_t threads = 0, sharedBytes = 0, mergeThreads = 0, mergeSharedBytes = 0;
  uint32_t scratchBytes = 64, mergeScratchBytes = 0;
  uint32_t strideMultiple = 1, baseAlign = 4;
  bool scalePositive = false;
  float costQ = 1, costKv = 1;
  std::vector<TestTensorMap> tensorMaps;
  bool dynamic = false, ctaAnItem = false;
};

struct TestKernel {
  std::string name = "tiny";
  int32_t heads = 4, kvHeads = 2, dim = 8, dimV = 8;
  int storage = ATTNRT_RAGGED, normaliser = ATTNRT_SOFTMAX, mapForm = 0;
  float defaultScale = 0.35355339f;
  std::vector<TestParam> params;
  std::vector<TestTable> tables;
  std::vector<TestHook> hooks;
  std::vector<TestSpec> specs;
};

struct TestBundle {
  std::vector<TestKernel> kernels;

  /// The kernel of TinyKernel.c: params bias and window, table temp.
  static TestBundle tiny();
  /// The same with PTX for sm_80 instead.
  static TestBundle gpu();
  /// The same for sm_90a, with tensor maps of q, k and v behind the parameters
  /// and items from the queue.
  static TestBundle tma();

  TestKernel &kernel() { return kernels[0]; }
  TestSpec &spec() { return kernels[0].specs[0]; }

  std::vector<uint8_t> write() const;
};

/// Puts the right length and hash into the header.
void sealBundle(std::vector<uint8_t> &bytes);

std::string readWholeFile(const char *path);
uint32_t bitsOf(float value);

/// Opens the bundle, the device and the kernel; closes them at the end.
struct Fixture {
  attnrt_bundle *bundle = nullptr;
  attnrt_device *device = nullptr;
  attnrt_kernel *kernel = nullptr;
  attnrt_plan *plan = nullptr;
  void *workspace = nullptr;
  size_t workspaceBytes = 0;

  Fixture() = default;
  Fixture(const Fixture &) = delete;
  ~Fixture() { close(); }

  attnrt_status open(const TestBundle &content, const char *deviceName = "cpu",
                     const attnrt_device_options *options = nullptr,
                     const attnrt_select *select = nullptr);
  /// Workspace and plan for these lengths.
  attnrt_status makePlan(const attnrt_plan_params &params,
                         void *stream = nullptr);
  void close();
};

/// The status, and the text of the failure.
#define EXPECT_FAILS(expression, expectedStatus, expectedText)                 \
  do {                                                                         \
    EXPECT_EQ(expression, expectedStatus) << attnrt_last_error();              \
    EXPECT_EQ(std::string(attnrt_last_error()), expectedText);                 \
  } while (false)
#define ASSERT_OK(expression)                                                  \
  ASSERT_EQ(expression, ATTNRT_OK) << attnrt_last_error()

#endif // ATTNRT_TEST_TESTBUNDLE_H
