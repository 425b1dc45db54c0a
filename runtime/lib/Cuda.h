//===- Cuda.h - the CUDA device, inside -------------------------*- C++ -*-===//
//
// Shared by CudaDevice.cpp (memory, streams, events) and CudaLoad.cpp (code and
// launches).
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_LIB_CUDA_H
#define ATTNRT_LIB_CUDA_H

#include "Device.h"
#include "Driver.h"

namespace attnrt::cuda {

class CudaDevice final : public Device {
public:
  ~CudaDevice() override;
  attnrt_status open(int ordinal, const attnrt_device_options &options);

  attnrt_status alloc(size_t bytes, void *&pointer) override;
  attnrt_status release(void *pointer) override;
  attnrt_status copy(void *to, const void *from, size_t bytes,
                     attnrt_copy_kind kind, void *stream) override;
  attnrt_status set(void *pointer, uint8_t value, size_t bytes,
                    void *stream) override;
  attnrt_status createStream(void *&stream) override;
  attnrt_status destroyStream(void *stream) override;
  attnrt_status synchronize(void *stream) override;
  attnrt_status createEvent(std::unique_ptr<Event> &event) override;
  attnrt_status createStaging(std::unique_ptr<Staging> &staging) override;
  bool admits(const Specialisation &specialisation, int &rank,
              std::string &reason) const override;
  attnrt_status load(const Specialisation &specialisation,
                     std::unique_ptr<Executable> &executable) override;

  std::shared_ptr<CudaDevice> self() {
    return std::static_pointer_cast<CudaDevice>(shared_from_this());
  }

  std::shared_ptr<Driver> driver;
  CUdevice device = 0;
  CUcontext context = nullptr;
  int major = 0, minor = 0;

private:
  /// The code to load: a cubin for exactly this device, else PTX.
  const attnrt_code_info *bestCode(const Specialisation &specialisation) const;
};

/// Makes the device's context current for a scope.  Only check() reports that it
/// could not: a destructor that goes on without must not replace the text of the
/// failure that led to it.
class Current {
public:
  explicit Current(CudaDevice &device)
      : driver(*device.driver), code(driver.cuCtxPushCurrent(device.context)) {}
  ~Current() {
    CUcontext popped = nullptr;
    if (code == kSuccess)
      driver.cuCtxPopCurrent(&popped);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

  attnrt_status check() const {
    return code == kSuccess ? ATTNRT_OK
                            : driver.report("cuCtxPushCurrent", code);
  }

private:
  Driver &driver;
  CUresult code;
};

inline CUdeviceptr addressOf(const void *pointer) {
  return CUdeviceptr(reinterpret_cast<uintptr_t>(pointer));
}

} // namespace attnrt::cuda

#endif // ATTNRT_LIB_CUDA_H
