//===- Driver.cpp - the CUDA driver, found at run time --------------------===//
//
// dlopen, then every entry of DriverTable.def through cuGetProcAddress at one
// interface version, so that one build runs on every driver from 11.3 on.  Only
// the entries that are younger may be missing.
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <cstring>
#include <dlfcn.h>

namespace attnrt::cuda {

Driver::~Driver() {
  if (library)
    dlclose(library);
}

attnrt_status Driver::open(const char *path, std::shared_ptr<Driver> &result) {
  const char *name = path ? path : "libcuda.so.1";
  std::shared_ptr<Driver> driver(new Driver);
  // Never unloaded: the driver has threads and exit handlers of its own.
  driver->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  // The name is stated even when the loader's text has it: libcuda.so.1 is
  // what to look for, whatever path was given.
  if (!driver->library)
    return fail(ATTNRT_NO_DRIVER,
                "the CUDA driver libcuda.so.1 cannot be loaded: %s", dlerror());
  using GetProcAddress = CUresult (*)(const char *, void **, int, uint64_t);
  auto getProcAddress = reinterpret_cast<GetProcAddress>(
      dlsym(driver->library, "cuGetProcAddress"));
  if (!getProcAddress)
    return fail(
        ATTNRT_NO_DRIVER,
        "the CUDA driver '%s' has no cuGetProcAddress: it is older than "
        "%d.%d",
        name, kInterfaceVersion / 1000, kInterfaceVersion % 1000 / 10);
#define ATTN_DRIVER_FN(entry, arguments)                                       \
  {                                                                            \
    void *address = nullptr;                                                   \
    CUresult code = getProcAddress(#entry, &address, kInterfaceVersion, 0);    \
    if (code != kSuccess || !address)                                          \
      return fail(ATTNRT_NO_DRIVER,                                            \
                  "the CUDA driver '%s' has no %s: error %d at interface "     \
                  "version %d",                                                \
                  name, #entry, code, kInterfaceVersion);                      \
    memcpy(&driver->entry, &address, sizeof(address));                         \
  }
#define ATTN_DRIVER_FN_SINCE(entry, version, arguments)                        \
  {                                                                            \
    void *address = nullptr;                                                   \
    if (getProcAddress(#entry, &address, version, 0) == kSuccess)              \
      memcpy(&driver->entry, &address, sizeof(address));                       \
  }
#include "DriverTable.def"
#undef ATTN_DRIVER_FN
  result = std::move(driver);
  return ATTNRT_OK;
}

attnrt_status Driver::report(const char *call, CUresult code) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(code, &name) != kSuccess || !name)
    name = "unknown error";
  if (cuGetErrorString(code, &text) != kSuccess || !text)
    text = "no description";
  return fail(code == kErrorOutOfMemory ? ATTNRT_OUT_OF_MEMORY
                                        : ATTNRT_DRIVER_ERROR,
              "%s failed: %s (%d), %s", call, name, code, text);
}

} // namespace attnrt::cuda
