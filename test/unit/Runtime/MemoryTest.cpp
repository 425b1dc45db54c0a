//===- MemoryTest.cpp - running out of memory -----------------------------===//
//
// Under a limit of the address space every large request fails with its size,
// and nothing is left half made.  Sanitizers stop on such requests themselves.
//
//===----------------------------------------------------------------------===//
#include "TinyProblem.h"

#include <cstdio>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define ATTN_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTN_UNDER_ASAN 1
#endif
#endif

#ifndef ATTN_UNDER_ASAN

namespace {

/// Address space: what is in use now and 64 MiB more.
struct Scarce {
  rlimit old = {};
  Scarce() {
    getrlimit(RLIMIT_AS, &old);
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    EXPECT_EQ(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    rlimit low = {rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE)) + (64u << 20),
                  old.rlim_max};
    setrlimit(RLIMIT_AS, &low);
  }
  ~Scarce() { setrlimit(RLIMIT_AS, &old); }
};

constexpr size_t gigabyte = size_t(1) << 30;

} // namespace

TEST(Memory, Bundles) {
  Scarce scarce;
  attnrt_bundle *bundle = nullptr;
  char byte = 0; // refused before it is read
  EXPECT_FAILS(attnrt_bundle_open_memory(&byte, gigabyte, &bundle),
               ATTNRT_OUT_OF_MEMORY,
               "no memory for a bundle of 1073741824 bytes");
  std::string path = ::testing::TempDir() + "attnrt-sparse-" +
                     std::to_string(getpid()) + ".attn";
  int fd = open(path.c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, off_t(gigabyte)), 0);
  close(fd);
  EXPECT_FAILS(attnrt_bundle_open(path.c_str(), &bundle), ATTNRT_IO_ERROR,
               "cannot map '" + path + "': Cannot allocate memory");
  remove(path.c_str());
}

TEST(Memory, Scratch) {
  TestBundle content = TestBundle::tiny();
  content.spec().scratchBytes = 1u << 30;
  TinyProblem problem({1}, {10});
  Fixture f;
  attnrt_device_options options = {};
  options.threads = 1;
  ASSERT_OK(f.open(content, "cpu", &options));
  ASSERT_OK(f.makePlan(problem.planParams()));
  Scarce scarce;
  EXPECT_FAILS(attnrt_run(f.kernel, f.plan, &problem.args, nullptr),
               ATTNRT_OUT_OF_MEMORY,
               "no memory for 1 scratch buffers of 1073741824 bytes");
}

TEST(Memory, Plans) {
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  int32_t q = 1 << 25, kv = 1;
  attnrt_plan_params params = {};
  params.batch = 1;
  params.q_lens = &q;
  params.kv_lens = &kv;
  alignas(256) static char workspace[256]; // never reached
  Scarce scarce;
  EXPECT_EQ(attnrt_plan_build(f.plan, &params, workspace, SIZE_MAX, nullptr),
            ATTNRT_OUT_OF_MEMORY);
  std::string text = attnrt_last_error();
  EXPECT_EQ(text.find("no memory for "), 0u) << text;
  EXPECT_NE(text.find(" bytes of planning scratch"), std::string::npos) << text;
}

TEST(Memory, Staging) {
  // Scratch is for one head, the plan for all.
  TestBundle content = TestBundle::tiny();
  content.kernel().heads = content.kernel().kvHeads = 65536;
  Fixture f;
  ASSERT_OK(f.open(content));
  int32_t q = 800, kv = 1;
  attnrt_plan_params params = {};
  params.batch = 1;
  params.q_lens = &q;
  params.kv_lens = &kv;
  alignas(256) static char workspace[256];
  Scarce scarce;
  // 64 + 100 tiles * 65536 heads * 32 + 16.
  EXPECT_FAILS(attnrt_plan_build(f.plan, &params, workspace, SIZE_MAX, nullptr),
               ATTNRT_OUT_OF_MEMORY, "no memory for a plan of 209715280 bytes");
}

#endif // ATTN_UNDER_ASAN
