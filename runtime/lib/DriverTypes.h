//===- DriverTypes.h - types and numbers of the CUDA driver -----*- C++ -*-===//
//
// Only what DriverTable.def uses.  Shared with the fake driver.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_LIB_DRIVERTYPES_H
#define ATTNRT_LIB_DRIVERTYPES_H

#include <cstddef>
#include <cstdint>

namespace attnrt::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;

constexpr CUresult kSuccess = 0;
constexpr CUresult kErrorOutOfMemory = 2;

/// The interface version that entries are resolved at: CUDA 11.3, the first
/// that has cuGetProcAddress.
constexpr int kInterfaceVersion = 11030;

enum DeviceAttribute {
  kAttrClockRate = 13,
  kAttrMultiprocessorCount = 16,
  kAttrL2CacheSize = 38,
  kAttrComputeCapabilityMajor = 75,
  kAttrComputeCapabilityMinor = 76,
  kAttrMaxSharedMemoryPerBlockOptin = 97
};

enum JitOption { kJitErrorLogBuffer = 5, kJitErrorLogBufferSizeBytes = 6 };

constexpr int kFuncAttrMaxDynamicSharedSizeBytes = 8;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;

/// cuTensorMapEncodeTiled: element types, swizzles and promotions.
enum TensorMapType { kMapFloat16 = 6, kMapFloat32 = 7, kMapBfloat16 = 9 };
enum TensorMapSwizzle {
  kMapSwizzleNone = 0,
  kMapSwizzle32 = 1,
  kMapSwizzle64 = 2,
  kMapSwizzle128 = 3
};
enum TensorMapPromotion {
  kMapPromotionNone = 0,
  kMapPromotion64 = 1,
  kMapPromotion128 = 2,
  kMapPromotion256 = 3
};
constexpr int kMapInterleaveNone = 0;
constexpr int kMapFillZero = 0;

} // namespace attnrt::cuda

#endif // ATTNRT_LIB_DRIVERTYPES_H
