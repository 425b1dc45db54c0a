//===- CudaDevice.cpp - a CUDA GPU as a device ----------------------------===//
//
// The primary context, so that memory and streams are shared with whatever
// else the process runs.  Each call makes it current and puts back what was
// current before.
//
// Invariant: whatever a failing call had made is released.
//
//===----------------------------------------------------------------------===//
#include "Cuda.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace attnrt::cuda {

CudaDevice::~CudaDevice() {
  if (context)
    driver->cuDevicePrimaryCtxRelease(device);
}

attnrt_status CudaDevice::open(int ordinal,
                               const attnrt_device_options &options) {
  ATTNRT_TRY(Driver::open(options.driver, driver));
  CUresult code = driver->cuInit(0);
  if (code != kSuccess) {
    driver->report("cuInit", code);
    return fail(ATTNRT_NO_DRIVER, "the CUDA driver does not start: %s",
                attnrt_last_error());
  }
  int count = 0;
  ATTNRT_CU(driver, cuDeviceGetCount, &count);
  if (ordinal >= count)
    return fail(ATTNRT_NOT_FOUND,
                "device cuda:%d does not exist, the driver has %d", ordinal,
                count);
  ATTNRT_CU(driver, cuDeviceGet, &device, ordinal);
  ATTNRT_CU(driver, cuDeviceGetName, info.name, int(sizeof(info.name)), device);
  ATTNRT_CU(driver, cuDriverGetVersion, &info.driver_version);
  auto attribute = [&](int which, int &value) -> attnrt_status {
    ATTNRT_CU(driver, cuDeviceGetAttribute, &value, which, device);
    return ATTNRT_OK;
  };
  int l2 = 0, shared = 0;
  ATTNRT_TRY(attribute(kAttrComputeCapabilityMajor, major));
  ATTNRT_TRY(attribute(kAttrComputeCapabilityMinor, minor));
  ATTNRT_TRY(attribute(kAttrMultiprocessorCount, info.processors));
  ATTNRT_TRY(attribute(kAttrClockRate, info.clock_khz));
  ATTNRT_TRY(attribute(kAttrL2CacheSize, l2));
  ATTNRT_TRY(attribute(kAttrMaxSharedMemoryPerBlockOptin, shared));
  size_t memory = 0;
  ATTNRT_CU(driver, cuDeviceTotalMem, &memory, device);
  snprintf(info.arch, sizeof(info.arch), "sm_%d%d", major, minor);
  info.is_cuda = 1;
  info.l2_bytes = uint64_t(l2);
  info.shared_bytes = uint32_t(shared);
  info.memory_bytes = memory;
  CUcontext retained = nullptr;
  ATTNRT_CU(driver, cuDevicePrimaryCtxRetain, &retained, device);
  context = retained;
  return ATTNRT_OK;
}

attnrt_status CudaDevice::alloc(size_t bytes, void *&pointer) {
  Current current(*this);
  ATTNRT_TRY(current.check());
  CUdeviceptr address = 0;
  ATTNRT_CU(driver, cuMemAlloc, &address, bytes);
  pointer = reinterpret_cast<void *>(uintptr_t(address));
  return ATTNRT_OK;
}

attnrt_status CudaDevice::release(void *pointer) {
  Current current(*this);
  ATTNRT_TRY(current.check());
  ATTNRT_CU(driver, cuMemFree, addressOf(pointer));
  return ATTNRT_OK;
}

attnrt_status CudaDevice::copy(void *to, const void *from, size_t bytes,
                               attnrt_copy_kind kind, void *stream) {
  Current current(*this);
  ATTNRT_TRY(current.check());
  auto s = static_cast<CUstream>(stream);
  switch (kind) {
  case ATTNRT_HOST_TO_DEVICE:
    ATTNRT_CU(driver, cuMemcpyHtoDAsync, addressOf(to), from, bytes, s);
    break;
  case ATTNRT_DEVICE_TO_HOST:
    ATTNRT_CU(driver, cuMemcpyDtoHAsync, to, addressOf(from), bytes, s);
    break;
  case ATTNRT_DEVICE_TO_DEVICE:
    ATTNRT_CU(driver, cuMemcpyDtoDAsync, addressOf(to), addressOf(from), bytes,
              s);
    return ATTNRT_OK;
  }
  // The host side is free to use on return.
  ATTNRT_CU(driver, cuStreamSynchronize, s);
  return ATTNRT_OK;
}

attnrt_status CudaDevice::set(void *pointer, uint8_t value, size_t bytes,
                              void *stream) {
  Current current(*this);
  ATTNRT_TRY(current.check());
  ATTNRT_CU(driver, cuMemsetD8Async, addressOf(pointer), value, bytes,
            static_cast<CUstream>(stream));
  return ATTNRT_OK;
}

attnrt_status CudaDevice::createStream(void *&stream) {
  Current current(*this);
  ATTNRT_TRY(current.check());
  CUstream created = nullptr;
  ATTNRT_CU(driver, cuStreamCreate, &created, kStreamNonBlocking);
  stream = created;
  return ATTNRT_OK;
}

attnrt_status CudaDevice::destroyStream(void *stream) {
  Current current(*this);
  ATTNRT_TRY(current.check());
  ATTNRT_CU(driver, cuStreamDestroy, static_cast<CUstream>(stream));
  return ATTNRT_OK;
}

attnrt_status CudaDevice::synchronize(void *stream) {
  Current current(*this);
  ATTNRT_TRY(current.check());
  ATTNRT_CU(driver, cuStreamSynchronize, static_cast<CUstream>(stream));
  return ATTNRT_OK;
}

namespace {

class CudaEvent final : public Event {
public:
  CudaEvent(std::shared_ptr<CudaDevice> owner, CUevent event)
      : Event(owner), owner(*owner), event(event) {}
  ~CudaEvent() override {
    Current current(owner);
    owner.driver->cuEventDestroy(event);
  }
  attnrt_status record(void *stream) override {
    Current current(owner);
    ATTNRT_TRY(current.check());
    ATTNRT_CU(owner.driver, cuEventRecord, event,
              static_cast<CUstream>(stream));
    return ATTNRT_OK;
  }
  attnrt_status elapsed(Event &end, float &milliseconds) override {
    Current current(owner);
    ATTNRT_TRY(current.check());
    CUevent last = static_cast<CudaEvent &>(end).event;
    ATTNRT_CU(owner.driver, cuEventSynchronize, last);
    ATTNRT_CU(owner.driver, cuEventElapsedTime, &milliseconds, event, last);
    return ATTNRT_OK;
  }

private:
  CudaDevice &owner;
  CUevent event;
};

/// Two pinned buffers in turn: while one is still being read by an upload, the
/// next plan is built in the other.
class PinnedStaging final : public Staging {
public:
  explicit PinnedStaging(std::shared_ptr<CudaDevice> device)
      : device(std::move(device)) {}
  ~PinnedStaging() override {
    Current current(*device);
    for (Half &half : halves) {
      // An upload that is still running reads the memory.
      if (half.inFlight)
        device->driver->cuEventSynchronize(half.done);
      if (half.done)
        device->driver->cuEventDestroy(half.done);
      if (half.memory)
        device->driver->cuMemFreeHost(half.memory);
    }
  }

  attnrt_status next(size_t bytes, void *&memory) override {
    Current current(*device);
    ATTNRT_TRY(current.check());
    const Driver *driver = device->driver.get();
    Half &half = halves[turn ^ 1];
    if (half.inFlight) {
      ATTNRT_CU(driver, cuEventSynchronize, half.done);
      half.inFlight = false;
    }
    if (!half.done)
      ATTNRT_CU(driver, cuEventCreate, &half.done, kEventDisableTiming);
    if (half.capacity < bytes) {
      void *old = half.memory;
      half.memory = nullptr;
      half.capacity = 0;
      if (old)
        ATTNRT_CU(driver, cuMemFreeHost, old);
      ATTNRT_CU(driver, cuMemHostAlloc, &half.memory, bytes, 0u);
      half.capacity = bytes;
    }
    memory = half.memory;
    turn ^= 1;
    return ATTNRT_OK;
  }

  attnrt_status upload(void *to, size_t bytes, void *stream) override {
    Current current(*device);
    ATTNRT_TRY(current.check());
    const Driver *driver = device->driver.get();
    Half &half = halves[turn];
    auto s = static_cast<CUstream>(stream);
    ATTNRT_CU(driver, cuMemcpyHtoDAsync, addressOf(to), half.memory, bytes, s);
    CUresult code = driver->cuEventRecord(half.done, s);
    if (code != kSuccess) {
      // Without the event nothing would say when the memory is free again.
      driver->cuStreamSynchronize(s);
      return driver->report("cuEventRecord", code);
    }
    half.inFlight = true;
    return ATTNRT_OK;
  }

private:
  struct Half {
    void *memory = nullptr;
    size_t capacity = 0;
    CUevent done = nullptr;
    bool inFlight = false;
  };
  std::shared_ptr<CudaDevice> device;
  Half halves[2];
  int turn = 0;
};

} // namespace

attnrt_status CudaDevice::createEvent(std::unique_ptr<Event> &event) {
  Current current(*this);
  ATTNRT_TRY(current.check());
  CUevent created = nullptr;
  ATTNRT_CU(driver, cuEventCreate, &created, 0u);
  event.reset(new CudaEvent(self(), created));
  return ATTNRT_OK;
}

attnrt_status CudaDevice::createStaging(std::unique_ptr<Staging> &staging) {
  staging.reset(new PinnedStaging(self()));
  return ATTNRT_OK;
}

} // namespace attnrt::cuda

attnrt_status attnrt::openCudaDevice(int ordinal,
                                     const attnrt_device_options &options,
                                     std::shared_ptr<attnrt::Device> &device) {
  auto result = std::make_shared<cuda::CudaDevice>();
  ATTNRT_TRY(result->open(ordinal, options));
  device = std::move(result);
  return ATTNRT_OK;
}
