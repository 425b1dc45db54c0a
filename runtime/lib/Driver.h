//===- Driver.h - the CUDA driver, found at run time ------------*- C++ -*-===//
//
// Our own declarations of the driver's types and numbers: no toolkit headers
// are needed to build and no driver to start.
//
//   std::shared_ptr<Driver> driver;
//   ATTNRT_TRY(Driver::open(nullptr, driver));   // libcuda.so.1
//   ATTNRT_CU(driver, cuInit, 0);                // status with name and text
//
// Invariant: every entry of an open Driver is resolved, but for those that the
// table marks as younger than the interface.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_LIB_DRIVER_H
#define ATTNRT_LIB_DRIVER_H

#include "DriverTypes.h"
#include "Status.h"

#include <memory>

namespace attnrt::cuda {

class Driver {
public:
  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  /// ATTNRT_NO_DRIVER, naming the library and the reason, if there is none.
  static attnrt_status open(const char *path, std::shared_ptr<Driver> &driver);

  /// "cuInit failed: CUDA_ERROR_NO_DEVICE (100), no CUDA-capable device ...".
  attnrt_status report(const char *call, CUresult code) const;

#define ATTN_DRIVER_FN(name, arguments) CUresult(*name) arguments = nullptr;
#include "DriverTable.def"
#undef ATTN_DRIVER_FN

private:
  Driver() = default;
  void *library = nullptr;
};

} // namespace attnrt::cuda

/// Calls an entry; returns from the caller if it fails.
#define ATTNRT_CU(driver, name, ...)                                           \
  do {                                                                         \
    ::attnrt::cuda::CUresult cuCode_ = (driver)->name(__VA_ARGS__);            \
    if (cuCode_ != ::attnrt::cuda::kSuccess)                                   \
      return (driver)->report(#name, cuCode_);                                 \
  } while (false)

#endif // ATTNRT_LIB_DRIVER_H
