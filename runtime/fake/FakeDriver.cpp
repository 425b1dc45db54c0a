//===- FakeDriver.cpp - a CUDA driver without a device --------------------===//
//
// Exports cuGetProcAddress and answers every entry of DriverTable.def with host
// memory.  Each call is logged and may be told to fail.  A release that is told
// to fail still releases: so do the driver's, which report earlier errors.
//
// Invariant: attn_fake_live() is 0 exactly if the caller released everything.
//
//===----------------------------------------------------------------------===//
#include "FakeDriver.h"

#include "DriverTypes.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

using namespace attnrt::cuda;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr CUresult kInvalidValue = 1;
constexpr CUresult kNotFound = 500;

struct Fault {
  unsigned n;
  int code;
};

struct State {
  std::mutex mutex;
  std::string log;
  std::map<std::string, unsigned> calls;
  std::map<std::string, Fault> faults;
  /// The fault by number alone: calls left until it, 0: none is set.
  unsigned untilFault = 0;
  int faultCode = kSuccess;
  bool sticky = false;
  std::string failed; ///< not empty: the fault has struck
  std::string hidden;
  int devices = 1, major = 9, minor = 0, sms = 132, occupancy = 2;
  attn_fake_kernel kernel = nullptr;
  void *user = nullptr;
  std::set<void *> live;
  std::vector<CUcontext> contexts;
  std::vector<CUcontext> retained;
  std::vector<attn_fake_tensor_map> tensorMaps;
  int clock = 0;
};

State &state() {
  static State *s = new State; // outlives every caller
  return *s;
}

/// An object of any kind is a heap block that begins with its name.
struct Object {
  char name[64];
  int time;
};

template <class Handle> CUresult make(Handle *out, const char *name) {
  auto *object = static_cast<Object *>(calloc(1, sizeof(Object)));
  snprintf(object->name, sizeof(object->name), "%s", name);
  state().live.insert(object);
  *out = reinterpret_cast<Handle>(object);
  return kSuccess;
}

CUresult drop(void *object) {
  if (!state().live.erase(object))
    return kInvalidValue;
  free(object);
  return kSuccess;
}

/// Logs a call; a nonzero result is the fault to return.
CUresult enter(const char *name) {
  State &s = state();
  unsigned n = ++s.calls[name];
  auto fault = s.faults.find(name);
  CUresult code = fault != s.faults.end() && fault->second.n == n
                      ? fault->second.code
                      : kSuccess;
  if (strncmp(name, "cuGetError", 10) != 0) {
    if (s.sticky && !s.failed.empty())
      code = s.faultCode;
    if (s.untilFault && --s.untilFault == 0) {
      s.failed = name;
      code = s.faultCode;
    }
  }
  s.log += name;
  if (code != kSuccess)
    s.log += " -> " + std::to_string(code);
  s.log += '\n';
  return code;
}

#define ENTER(name)                                                            \
  std::lock_guard<std::mutex> lock(state().mutex);                             \
  if (CUresult code = enter(name))                                             \
  return code

/// For releases: the fault is returned after the work is done.
#define RELEASE(name, work)                                                    \
  std::lock_guard<std::mutex> lock(state().mutex);                             \
  CUresult fault = enter(name);                                                \
  CUresult done = (work);                                                      \
  return fault ? fault : done

CUresult fake_cuGetErrorName(CUresult code, const char **name) {
  ENTER("cuGetErrorName");
  switch (code) {
  case kErrorOutOfMemory:
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    break;
  case 100:
    *name = "CUDA_ERROR_NO_DEVICE";
    break;
  case 201:
    *name = "CUDA_ERROR_INVALID_CONTEXT";
    break;
  case 218:
    *name = "CUDA_ERROR_INVALID_PTX";
    break;
  case 719:
    *name = "CUDA_ERROR_LAUNCH_FAILED";
    break;
  default:
    *name = "CUDA_ERROR_FAKE";
    break;
  }
  return kSuccess;
}
CUresult fake_cuGetErrorString(CUresult, const char **text) {
  ENTER("cuGetErrorString");
  *text = "a fault of the fake driver";
  return kSuccess;
}
CUresult fake_cuInit(unsigned) {
  ENTER("cuInit");
  return kSuccess;
}
CUresult fake_cuDriverGetVersion(int *version) {
  ENTER("cuDriverGetVersion");
  *version = 12000;
  return kSuccess;
}
CUresult fake_cuDeviceGetCount(int *count) {
  ENTER("cuDeviceGetCount");
  *count = state().devices;
  return kSuccess;
}
CUresult fake_cuDeviceGet(CUdevice *device, int ordinal) {
  ENTER("cuDeviceGet");
  *device = ordinal;
  return kSuccess;
}
CUresult fake_cuDeviceGetName(char *name, int size, CUdevice) {
  ENTER("cuDeviceGetName");
  snprintf(name, size_t(size), "fake device");
  return kSuccess;
}
CUresult fake_cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  ENTER("cuDeviceGetAttribute");
  State &s = state();
  switch (attribute) {
  case kAttrClockRate:
    *value = 1000000;
    return kSuccess;
  case kAttrMultiprocessorCount:
    *value = s.sms;
    return kSuccess;
  case kAttrL2CacheSize:
    *value = 50 << 20;
    return kSuccess;
  case kAttrComputeCapabilityMajor:
    *value = s.major;
    return kSuccess;
  case kAttrComputeCapabilityMinor:
    *value = s.minor;
    return kSuccess;
  case kAttrMaxSharedMemoryPerBlockOptin:
    *value = 232448;
    return kSuccess;
  default:
    return kInvalidValue;
  }
}
CUresult fake_cuDeviceTotalMem(size_t *bytes, CUdevice) {
  ENTER("cuDeviceTotalMem");
  *bytes = size_t(1) << 34;
  return kSuccess;
}
CUresult fake_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  ENTER("cuDevicePrimaryCtxRetain");
  // One object a retain, so that a missing release is seen.
  make(context, "context");
  state().retained.push_back(*context);
  return kSuccess;
}
CUresult fake_cuDevicePrimaryCtxRelease(CUdevice) {
  auto release = [] {
    std::vector<CUcontext> &retained = state().retained;
    if (retained.empty())
      return kInvalidValue;
    CUcontext context = retained.back();
    retained.pop_back();
    return drop(context);
  };
  RELEASE("cuDevicePrimaryCtxRelease", release());
}
CUresult fake_cuCtxPushCurrent(CUcontext context) {
  ENTER("cuCtxPushCurrent");
  state().contexts.push_back(context);
  return kSuccess;
}
CUresult fake_cuCtxPopCurrent(CUcontext *context) {
  auto pop = [&]() -> CUresult {
    if (state().contexts.empty())
      return kInvalidValue;
    *context = state().contexts.back();
    state().contexts.pop_back();
    return kSuccess;
  };
  RELEASE("cuCtxPopCurrent", pop());
}
CUresult fake_cuModuleLoadDataEx(CUmodule *module, const void *image,
                                 unsigned count, int *options, void **values) {
  std::lock_guard<std::mutex> lock(state().mutex);
  CUresult code = enter("cuModuleLoadDataEx");
  // PTX that says so is refused with a log, like a syntax error.
  if (!code && strncmp(static_cast<const char *>(image), "bad", 3) == 0)
    code = 218;
  if (code) {
    size_t size = 0;
    char *log = nullptr;
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == kJitErrorLogBuffer)
        log = static_cast<char *>(values[i]);
      if (options[i] == kJitErrorLogBufferSizeBytes)
        size = size_t(values[i]);
    }
    if (log)
      snprintf(log, size, "ptxas fatal: line 1 is bad");
    return code;
  }
  return make(module, "module");
}
CUresult fake_cuModuleUnload(CUmodule module) {
  RELEASE("cuModuleUnload", drop(module));
}
/// Functions live as long as the library, like a module's functions live as
/// long as it: there is no call that releases one.
CUresult fake_cuModuleGetFunction(CUfunction *function, CUmodule,
                                  const char *name) {
  ENTER("cuModuleGetFunction");
  static std::set<std::string> names;
  if (strcmp(name, "missing") == 0)
    return kNotFound;
  const std::string &kept = *names.insert(name).first;
  *function = reinterpret_cast<CUfunction>(const_cast<char *>(kept.c_str()));
  return kSuccess;
}
CUresult fake_cuFuncSetAttribute(CUfunction, int, int) {
  ENTER("cuFuncSetAttribute");
  return kSuccess;
}
CUresult fake_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ctas, CUfunction,
                                                          int, size_t) {
  ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *ctas = state().occupancy;
  return kSuccess;
}
CUresult fake_cuMemAlloc(CUdeviceptr *pointer, size_t bytes) {
  ENTER("cuMemAlloc");
  void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!memory)
    return kErrorOutOfMemory;
  state().live.insert(memory);
  *pointer = reinterpret_cast<uintptr_t>(memory);
  return kSuccess;
}
CUresult fake_cuMemFree(CUdeviceptr pointer) {
  RELEASE("cuMemFree", drop(reinterpret_cast<void *>(uintptr_t(pointer))));
}
CUresult fake_cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc");
  *pointer = malloc(bytes);
  state().live.insert(*pointer);
  return kSuccess;
}
CUresult fake_cuMemFreeHost(void *pointer) {
  RELEASE("cuMemFreeHost", drop(pointer));
}
CUresult fake_cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                                CUstream) {
  ENTER("cuMemcpyHtoDAsync");
  memcpy(reinterpret_cast<void *>(uintptr_t(to)), from, bytes);
  return kSuccess;
}
CUresult fake_cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                                CUstream) {
  ENTER("cuMemcpyDtoHAsync");
  memcpy(to, reinterpret_cast<void *>(uintptr_t(from)), bytes);
  return kSuccess;
}
CUresult fake_cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                CUstream) {
  ENTER("cuMemcpyDtoDAsync");
  memcpy(reinterpret_cast<void *>(uintptr_t(to)),
         reinterpret_cast<void *>(uintptr_t(from)), bytes);
  return kSuccess;
}
CUresult fake_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                              CUstream) {
  ENTER("cuMemsetD8Async");
  memset(reinterpret_cast<void *>(uintptr_t(to)), value, bytes);
  return kSuccess;
}
CUresult fake_cuStreamCreate(CUstream *stream, unsigned) {
  ENTER("cuStreamCreate");
  return make(stream, "stream");
}
CUresult fake_cuStreamDestroy(CUstream stream) {
  RELEASE("cuStreamDestroy", drop(stream));
}
CUresult fake_cuStreamSynchronize(CUstream) {
  ENTER("cuStreamSynchronize");
  return kSuccess;
}
CUresult fake_cuEventCreate(CUevent *event, unsigned) {
  ENTER("cuEventCreate");
  return make(event, "event");
}
CUresult fake_cuEventDestroy(CUevent event) {
  RELEASE("cuEventDestroy", drop(event));
}
CUresult fake_cuEventRecord(CUevent event, CUstream) {
  ENTER("cuEventRecord");
  reinterpret_cast<Object *>(event)->time = ++state().clock;
  return kSuccess;
}
CUresult fake_cuEventSynchronize(CUevent) {
  ENTER("cuEventSynchronize");
  return kSuccess;
}
CUresult fake_cuEventElapsedTime(float *ms, CUevent begin, CUevent end) {
  ENTER("cuEventElapsedTime");
  *ms = float(reinterpret_cast<Object *>(end)->time -
              reinterpret_cast<Object *>(begin)->time);
  return kSuccess;
}
CUresult fake_cuLaunchKernel(CUfunction function, unsigned gridX, unsigned,
                             unsigned, unsigned blockX, unsigned, unsigned,
                             unsigned shared, CUstream stream, void **params,
                             void **extra) {
  attn_fake_launch launch = {};
  attn_fake_kernel kernel;
  void *user;
  {
    ENTER("cuLaunchKernel");
    launch.entry = reinterpret_cast<const char *>(function);
    launch.grid = gridX;
    launch.threads = blockX;
    launch.shared_bytes = shared;
    launch.stream = stream;
    // A buffer would not be aligned as a struct with tensor maps has to be.
    if (!params || extra)
      return kInvalidValue;
    launch.params = params[0];
    kernel = state().kernel;
    user = state().user;
  }
  if (kernel)
    kernel(&launch, user);
  return kSuccess;
}

/// The 128 bytes are a mark and the index of the call.  The real driver refuses
/// the same arguments, without a word why.
constexpr char kMapMark[8] = {'F', 'A', 'K', 'E', 'T', 'M', 'A', 'P'};

CUresult fake_cuTensorMapEncodeTiled(void *bytes, int type, unsigned rank,
                                     void *base, const uint64_t *extents,
                                     const uint64_t *strides,
                                     const uint32_t *box,
                                     const uint32_t *elementStrides,
                                     int interleave, int swizzle, int promotion,
                                     int fill) {
  ENTER("cuTensorMapEncodeTiled");
  if (uintptr_t(bytes) % 64 || uintptr_t(base) % 16 || !base || rank < 1 ||
      rank > 5)
    return kInvalidValue;
  attn_fake_tensor_map map = {};
  map.type = type;
  map.rank = rank;
  map.base = base;
  map.interleave = interleave;
  map.swizzle = swizzle;
  map.promotion = promotion;
  map.fill = fill;
  for (unsigned i = 0; i < rank; ++i) {
    map.extents[i] = extents[i];
    map.strides[i] = i ? strides[i - 1] : 0;
    map.box[i] = box[i];
    map.element_strides[i] = elementStrides[i];
    if (extents[i] < 1 || extents[i] > uint64_t(1) << 32 || box[i] < 1 ||
        box[i] > 256 || map.strides[i] % 16 ||
        map.strides[i] >= uint64_t(1) << 40 || elementStrides[i] < 1 ||
        elementStrides[i] > 8)
      return kInvalidValue;
  }
  uint32_t row = box[0] * (type == kMapFloat32 ? 4 : 2);
  if (row % 16 || (swizzle && row > 16u << swizzle))
    return kInvalidValue;
  uint64_t index = state().tensorMaps.size();
  state().tensorMaps.push_back(map);
  memset(bytes, 0, 128);
  memcpy(bytes, kMapMark, sizeof(kMapMark));
  memcpy(static_cast<char *>(bytes) + 8, &index, sizeof(index));
  return kSuccess;
}

} // namespace

EXPORT CUresult cuGetProcAddress(const char *name, void **address, int version,
                                 uint64_t) {
  *address = nullptr;
  if (state().hidden == name)
    return kNotFound;
#define ATTN_DRIVER_FN_SINCE(entry, since, arguments)                          \
  if (strcmp(name, #entry) == 0 && version < since)                            \
    return kNotFound;
#define ATTN_DRIVER_FN(entry, arguments)
#include "DriverTable.def"
#undef ATTN_DRIVER_FN
#define ATTN_DRIVER_FN(entry, arguments)                                       \
  if (strcmp(name, #entry) == 0) {                                             \
    CUresult(*function) arguments = &fake_##entry;                             \
    *address = reinterpret_cast<void *>(function);                             \
    return kSuccess;                                                           \
  }
#include "DriverTable.def"
#undef ATTN_DRIVER_FN
  return kNotFound;
}

EXPORT void attn_fake_reset(void) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.log.clear();
  s.calls.clear();
  s.faults.clear();
  s.hidden.clear();
  s.devices = 1;
  s.major = 9;
  s.minor = 0;
  s.sms = 132;
  s.occupancy = 2;
  s.kernel = nullptr;
  s.user = nullptr;
  s.tensorMaps.clear();
  s.untilFault = 0;
  s.sticky = false;
  s.failed.clear();
}
EXPORT void attn_fake_fail(const char *name, unsigned n, int code) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().faults[name] = {n, code};
}
EXPORT void attn_fake_fail_nth(unsigned n, int code, int sticky) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.untilFault = n;
  s.faultCode = code;
  s.sticky = sticky != 0;
  s.failed.clear();
}
EXPORT const char *attn_fake_failed(void) { return state().failed.c_str(); }
EXPORT void attn_fake_hide(const char *name) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().hidden = name ? name : "";
}
EXPORT void attn_fake_device(int count, int major, int minor, int sms) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.devices = count;
  s.major = major;
  s.minor = minor;
  s.sms = sms;
}
EXPORT const attn_fake_tensor_map *
attn_fake_find_tensor_map(const void *bytes) {
  std::lock_guard<std::mutex> lock(state().mutex);
  uint64_t index = 0;
  memcpy(&index, static_cast<const char *>(bytes) + 8, sizeof(index));
  bool marked = memcmp(bytes, kMapMark, sizeof(kMapMark)) == 0;
  return marked && index < state().tensorMaps.size()
             ? &state().tensorMaps[index]
             : nullptr;
}
EXPORT void attn_fake_occupancy(int ctas) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().occupancy = ctas;
}
EXPORT void attn_fake_set_kernel(attn_fake_kernel kernel, void *user) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.kernel = kernel;
  s.user = user;
}
EXPORT unsigned attn_fake_calls(const char *name) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto it = s.calls.find(name);
  return it == s.calls.end() ? 0 : it->second;
}
EXPORT const char *attn_fake_log(void) { return state().log.c_str(); }
EXPORT int attn_fake_live(void) {
  std::lock_guard<std::mutex> lock(state().mutex);
  return int(state().live.size());
}
EXPORT int attn_fake_context_depth(void) {
  std::lock_guard<std::mutex> lock(state().mutex);
  return int(state().contexts.size());
}
