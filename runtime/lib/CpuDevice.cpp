//===- CpuDevice.cpp - the processor as a device --------------------------===//
//
// Code is a shared object out of the bundle, put into an anonymous file and
// loaded from there.  Items are taken in plan order by an atomic counter, one
// loop a worker thread: longest first, as on the GPU.  Merges follow once all
// items are done.
//
// Invariant: which thread takes an item does not change what it writes.
//
//===----------------------------------------------------------------------===//
#include "CpuLevels.h"
#include "Device.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace attnrt {
namespace {

using Entry = void (*)(const void *record, const void *params, void *scratch);

class CpuDevice;

class CpuExecutable final : public Executable {
public:
  CpuExecutable(std::shared_ptr<CpuDevice> device, void *library)
      : device(std::move(device)), library(library) {}
  ~CpuExecutable() override {
    for (void *buffer : buffers)
      free(buffer);
    dlclose(library);
  }

  int32_t workers() const override;
  attnrt_status launch(const Launch &launch) override;
  attnrt_status resolve(const attnrt_specialisation_info &info);

private:
  /// Runs `entry` on `count` records, `stride` bytes apart.
  attnrt_status runAll(Entry entry, const char *records, size_t stride,
                       uint32_t count, const void *params);
  attnrt_status takeBuffers(uint32_t count, std::vector<void *> &taken);

  std::shared_ptr<CpuDevice> device;
  void *library;
  Entry attention = nullptr;
  Entry merge = nullptr;
  size_t scratchBytes = 64;
  std::mutex mutex;            ///< guards buffers
  std::vector<void *> buffers; ///< scratch, not in use
};

class HeapStaging final : public Staging {
public:
  ~HeapStaging() override { free(memory); }
  attnrt_status next(size_t bytes, void *&result) override {
    if (bytes > capacity) {
      free(memory);
      capacity = 0;
      memory = nullptr;
      if (posix_memalign(&memory, 64, bytes) != 0) {
        memory = nullptr;
        return fail(ATTNRT_OUT_OF_MEMORY, "no memory for a plan of %zu bytes",
                    bytes);
      }
      capacity = bytes;
    }
    result = memory;
    return ATTNRT_OK;
  }
  attnrt_status upload(void *to, size_t bytes, void *) override {
    memcpy(to, memory, bytes);
    return ATTNRT_OK;
  }

private:
  void *memory = nullptr;
  size_t capacity = 0;
};

class CpuEvent final : public Event {
public:
  using Event::Event;
  attnrt_status record(void *) override {
    time = std::chrono::steady_clock::now();
    return ATTNRT_OK;
  }
  attnrt_status elapsed(Event &end, float &milliseconds) override {
    std::chrono::duration<float, std::milli> d =
        static_cast<CpuEvent &>(end).time - time;
    milliseconds = d.count();
    return ATTNRT_OK;
  }

private:
  std::chrono::steady_clock::time_point time;
};

class CpuDevice final : public Device {
public:
  /// More threads than processors would not run anyway, and the library warns.
  CpuDevice(int threads, int level)
      : level(level),
        arena(std::min(threads, tbb::this_task_arena::max_concurrency())) {
    snprintf(info.name, sizeof(info.name), "cpu");
    snprintf(info.arch, sizeof(info.arch), "%s", cpuLevelName(level));
    info.processors = threads;
  }

  attnrt_status alloc(size_t bytes, void *&pointer) override {
    // No object is larger than PTRDIFF_MAX; some allocators stop on a request.
    if (bytes > size_t(PTRDIFF_MAX) ||
        posix_memalign(&pointer, 256, bytes) != 0) {
      pointer = nullptr;
      return fail(ATTNRT_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
    }
    return ATTNRT_OK;
  }
  attnrt_status release(void *pointer) override {
    free(pointer);
    return ATTNRT_OK;
  }
  attnrt_status copy(void *to, const void *from, size_t bytes, attnrt_copy_kind,
                     void *) override {
    memmove(to, from, bytes);
    return ATTNRT_OK;
  }
  attnrt_status set(void *pointer, uint8_t value, size_t bytes,
                    void *) override {
    memset(pointer, value, bytes);
    return ATTNRT_OK;
  }
  attnrt_status createStream(void *&) override { return ATTNRT_OK; }
  attnrt_status destroyStream(void *) override { return ATTNRT_OK; }
  attnrt_status synchronize(void *) override { return ATTNRT_OK; }
  attnrt_status createEvent(std::unique_ptr<Event> &event) override {
    event.reset(new CpuEvent(shared_from_this()));
    return ATTNRT_OK;
  }
  attnrt_status createStaging(std::unique_ptr<Staging> &staging) override {
    staging.reset(new HeapStaging);
    return ATTNRT_OK;
  }

  bool admits(const Specialisation &specialisation, int &rank,
              std::string &reason) const override {
    if (strcmp(specialisation.info.target, "cpu") != 0) {
      reason = std::string("target is ") + specialisation.info.target;
      return false;
    }
    const attnrt_code_info *code = bestCode(specialisation);
    if (!code) {
      reason = std::string("no code for ") + info.arch + ", the first is for " +
               specialisation.codes[0].arch;
      return false;
    }
    rank = cpuLevelOf(code->arch);
    return true;
  }

  attnrt_status load(const Specialisation &specialisation,
                     std::unique_ptr<Executable> &executable) override;

  const attnrt_code_info *bestCode(const Specialisation &s) const {
    const attnrt_code_info *best = nullptr;
    int bestLevel = 0;
    for (const attnrt_code_info &code : s.codes) {
      int codeLevel = cpuLevelOf(code.arch);
      if (codeLevel > bestLevel && codeLevel <= level) {
        best = &code;
        bestLevel = codeLevel;
      }
    }
    return best;
  }

  int level;
  tbb::task_arena arena;
};

attnrt_status openLibrary(const attnrt_code_info &code, void *&library) {
  int fd = memfd_create("attn", MFD_CLOEXEC);
  if (fd < 0)
    return fail(ATTNRT_LOAD_ERROR, "cannot create an anonymous file: %s",
                strerror(errno));
  const char *at = static_cast<const char *>(code.data);
  size_t left = code.size;
  while (left > 0) {
    ssize_t n = write(fd, at, left);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      int error = errno;
      close(fd);
      return fail(ATTNRT_LOAD_ERROR, "cannot write %zu bytes of code: %s",
                  code.size, strerror(error));
    }
    at += n;
    left -= size_t(n);
  }
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  attnrt_status status = ATTNRT_OK;
  if (!library)
    status = fail(ATTNRT_LOAD_ERROR, "cannot load the code for %s: %s",
                  code.arch, dlerror());
  close(fd);
  return status;
}

attnrt_status CpuDevice::load(const Specialisation &specialisation,
                              std::unique_ptr<Executable> &executable) {
  const attnrt_code_info *code = bestCode(specialisation);
  void *library = nullptr;
  ATTNRT_TRY(openLibrary(*code, library));
  auto result = std::make_unique<CpuExecutable>(
      std::static_pointer_cast<CpuDevice>(shared_from_this()), library);
  ATTNRT_TRY(result->resolve(specialisation.info));
  result->code = std::string(code->arch) + " shared object";
  executable = std::move(result);
  return ATTNRT_OK;
}

attnrt_status CpuExecutable::resolve(const attnrt_specialisation_info &info) {
  for (auto [name, entry] :
       {std::pair<const char *, Entry *>{info.entry, &attention},
        {info.merge_entry, &merge}}) {
    *entry = reinterpret_cast<Entry>(dlsym(library, name));
    if (!*entry)
      return fail(ATTNRT_LOAD_ERROR, "code has no entry '%s'", name);
  }
  // aligned_alloc wants a multiple of the alignment; no scratch still gives the
  // entry a pointer that is not null.
  size_t bytes = std::max(info.scratch_bytes, info.merge_scratch_bytes);
  scratchBytes = std::max<size_t>(64, (bytes + 63) / 64 * 64);
  return ATTNRT_OK;
}

int32_t CpuExecutable::workers() const { return device->info.processors; }

attnrt_status CpuExecutable::takeBuffers(uint32_t count,
                                         std::vector<void *> &taken) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    while (taken.size() < count && !buffers.empty()) {
      taken.push_back(buffers.back());
      buffers.pop_back();
    }
  }
  while (taken.size() < count) {
    void *buffer = aligned_alloc(64, scratchBytes);
    if (!buffer)
      return fail(ATTNRT_OUT_OF_MEMORY,
                  "no memory for %u scratch buffers of %zu bytes", count,
                  scratchBytes);
    taken.push_back(buffer);
  }
  return ATTNRT_OK;
}

attnrt_status CpuExecutable::runAll(Entry entry, const char *records,
                                    size_t stride, uint32_t count,
                                    const void *params) {
  if (count == 0)
    return ATTNRT_OK;
  uint32_t threads = std::min(count, uint32_t(workers()));
  std::vector<void *> scratch;
  attnrt_status status = takeBuffers(threads, scratch);
  if (status == ATTNRT_OK) {
    std::atomic<uint32_t> next{0};
    auto loop = [&](uint32_t thread) {
      for (uint32_t i;
           (i = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        entry(records + i * stride, params, scratch[thread]);
    };
    if (threads == 1)
      loop(0);
    else
      device->arena.execute([&] {
        tbb::parallel_for(uint32_t(0), threads, loop,
                          tbb::simple_partitioner());
      });
  }
  std::lock_guard<std::mutex> lock(mutex);
  buffers.insert(buffers.end(), scratch.begin(), scratch.end());
  return status;
}

attnrt_status CpuExecutable::launch(const Launch &launch) {
  attn_kernel_params fixed;
  memcpy(&fixed, launch.params, sizeof(fixed));
  const char *plan = reinterpret_cast<const char *>(uintptr_t(fixed.plan));
  attn_plan_header header;
  memcpy(&header, plan, sizeof(header));
  ATTNRT_TRY(runAll(attention, plan + header.items_offset,
                    sizeof(attn_work_item), launch.items, launch.params));
  return runAll(merge, plan + header.merges_offset, sizeof(attn_merge_item),
                launch.merges, launch.params);
}

} // namespace

attnrt_status openCpuDevice(const attnrt_device_options &options,
                            std::shared_ptr<Device> &device) {
  int threads = options.threads;
  if (threads < 0 || threads > 4096)
    return fail(ATTNRT_INVALID_ARGUMENT,
                "threads is %d but must lie in [0, %d]", threads, 4096);
  if (threads == 0)
    threads = std::max(1, int(std::thread::hardware_concurrency()));
  int level = highestCpuLevel();
  if (options.max_arch) {
    int highest = cpuLevelOf(options.max_arch);
    if (highest == 0)
      return fail(ATTNRT_INVALID_ARGUMENT,
                  "unknown cpu level '%s' (known: x86-64, x86-64-v2, "
                  "x86-64-v3, x86-64-v4)",
                  options.max_arch);
    level = std::min(level, highest);
  }
  device = std::make_shared<CpuDevice>(threads, level);
  return ATTNRT_OK;
}

} // namespace attnrt
