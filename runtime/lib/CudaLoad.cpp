//===- CudaLoad.cpp - loading and launching GPU code ----------------------===//
//
// A specialisation becomes one module with two entries.  A launch is
//
//   attention   grid = items                            a CTA for each item
//               grid = min(items, SMs * CTAs an SM holds)         otherwise
//   merge       the second, only if the plan has merges
//
// with the whole parameter struct by value as the only argument.  A kernel with a
// work queue relies on a grid that has no more CTAs than run at once.
//
//===----------------------------------------------------------------------===//
#include "Cuda.h"
#include "TensorMaps.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace attnrt::cuda {
namespace {

struct Arch {
  int number = 0;      ///< 90 for sm_90 and sm_90a
  bool exact = false;  ///< sm_90a: that architecture only
  bool family = false; ///< sm_100f: the same major architecture
};

/// number 0 if the text is not sm_N, sm_Na or sm_Nf.
Arch parseArch(const char *text) {
  Arch arch;
  if (strncmp(text, "sm_", 3) != 0 || text[3] < '1' || text[3] > '9')
    return arch;
  char *end = nullptr;
  long number = strtol(text + 3, &end, 10);
  if (number < 10 || number > 9999 || (*end && end[1]))
    return arch;
  if (*end && *end != 'a' && *end != 'f')
    return arch;
  arch.number = int(number);
  arch.exact = *end == 'a';
  arch.family = *end == 'f';
  return arch;
}

class CudaExecutable final : public Executable {
public:
  CudaExecutable(std::shared_ptr<CudaDevice> device, CUmodule module,
                 const Specialisation &specialisation)
      : device(std::move(device)), module(module), info(specialisation.info),
        maps(specialisation.tensorMaps, info.pack) {}
  ~CudaExecutable() override {
    Current current(*device);
    device->driver->cuModuleUnload(module);
  }

  /// The context is current.
  attnrt_status resolve() {
    ATTNRT_TRY(prepare(info.entry, info.threads, info.shared_bytes, attention));
    if (info.cta_an_item)
      attention.mostCtas = INT_MAX; // of any grid
    return prepare(info.merge_entry, info.merge_threads,
                   info.merge_shared_bytes, merge);
  }

  int32_t workers() const override { return attention.residentCtas; }

  attnrt_status launch(const Launch &launch) override {
    Current current(*device);
    ATTNRT_TRY(current.check());
    ATTNRT_TRY(maps.fill(*device->driver, launch.tensors, launch.params));
    ATTNRT_TRY(start(attention, launch.items, launch));
    return start(merge, launch.merges, launch);
  }

private:
  struct Function {
    CUfunction handle = nullptr;
    uint32_t threads = 0;
    uint32_t sharedBytes = 0;
    int32_t residentCtas = 0; ///< on the whole device
    uint32_t mostCtas = 0;    ///< of a launch
  };

  attnrt_status prepare(const char *name, uint32_t threads,
                        uint32_t sharedBytes, Function &function) {
    const Driver *driver = device->driver.get();
    CUresult code = driver->cuModuleGetFunction(&function.handle, module, name);
    if (code != kSuccess) {
      driver->report("cuModuleGetFunction", code);
      return fail(ATTNRT_LOAD_ERROR, "code has no entry '%s': %s", name,
                  attnrt_last_error());
    }
    if (sharedBytes > 0)
      ATTNRT_CU(driver, cuFuncSetAttribute, function.handle,
                kFuncAttrMaxDynamicSharedSizeBytes, int(sharedBytes));
    int ctas = 0;
    ATTNRT_CU(driver, cuOccupancyMaxActiveBlocksPerMultiprocessor, &ctas,
              function.handle, int(threads), size_t(sharedBytes));
    if (ctas < 1)
      return fail(ATTNRT_LOAD_ERROR,
                  "entry '%s' with %u threads and %u bytes of shared memory "
                  "does not fit on an SM of '%s'",
                  name, threads, sharedBytes, device->info.name);
    function.threads = threads;
    function.sharedBytes = sharedBytes;
    function.residentCtas = ctas * device->info.processors;
    function.mostCtas = uint32_t(function.residentCtas);
    return ATTNRT_OK;
  }

  attnrt_status start(const Function &function, uint32_t records,
                      const Launch &launch) {
    if (records == 0)
      return ATTNRT_OK;
    uint32_t grid = std::min(records, function.mostCtas);
    // Not as a buffer (`extra`): the driver would copy that to the begin of the
    // parameter bank, but a struct that holds tensor maps is aligned within it.
    void *params[] = {launch.params};
    ATTNRT_CU(device->driver, cuLaunchKernel, function.handle, grid, 1u, 1u,
              function.threads, 1u, 1u, function.sharedBytes,
              static_cast<CUstream>(launch.stream), params, nullptr);
    return ATTNRT_OK;
  }

  std::shared_ptr<CudaDevice> device;
  CUmodule module;
  /// Its strings belong to the bundle; used while resolving only.
  attnrt_specialisation_info info;
  TensorMaps maps;
  Function attention, merge;
};

} // namespace

const attnrt_code_info *
CudaDevice::bestCode(const Specialisation &specialisation) const {
  const attnrt_code_info *ptx = nullptr;
  for (const attnrt_code_info &code : specialisation.codes) {
    Arch arch = parseArch(code.arch);
    if (code.kind == ATTNRT_CODE_CUBIN && arch.number == major * 10 + minor)
      return &code;
    if (code.kind == ATTNRT_CODE_PTX)
      ptx = &code;
  }
  return ptx;
}

bool CudaDevice::admits(const Specialisation &specialisation, int &rank,
                        std::string &reason) const {
  const attnrt_specialisation_info &s = specialisation.info;
  Arch arch = parseArch(s.target);
  int here = major * 10 + minor;
  bool fits = arch.number != 0 && arch.number <= here;
  if (arch.exact)
    fits = arch.number == here;
  else if (arch.family)
    fits = fits && arch.number / 10 == major;
  if (!fits) {
    reason = std::string("target is ") + s.target;
    return false;
  }
  uint32_t shared = std::max(s.shared_bytes, s.merge_shared_bytes);
  if (shared > info.shared_bytes) {
    reason = "needs " + std::to_string(shared) +
             " bytes of shared memory but the device has " +
             std::to_string(info.shared_bytes);
    return false;
  }
  if (s.tensor_maps && !driver->cuTensorMapEncodeTiled) {
    reason = "needs cuTensorMapEncodeTiled of driver version 12000, which "
             "version " +
             std::to_string(info.driver_version) + " lacks";
    return false;
  }
  if (!bestCode(specialisation)) {
    reason = std::string("no PTX and no cubin for ") + info.arch;
    return false;
  }
  rank = arch.number * 2 + (arch.exact || arch.family);
  return true;
}

attnrt_status CudaDevice::load(const Specialisation &specialisation,
                               std::unique_ptr<Executable> &executable) {
  const attnrt_code_info &code = *bestCode(specialisation);
  Current current(*this);
  ATTNRT_TRY(current.check());
  // The driver reads PTX up to a zero byte, which the bundle does not hold.
  std::string text;
  const void *image = code.data;
  if (code.kind == ATTNRT_CODE_PTX) {
    text.assign(static_cast<const char *>(code.data), code.size);
    image = text.c_str();
  }
  char log[2048] = "";
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  CUmodule module = nullptr;
  CUresult result =
      driver->cuModuleLoadDataEx(&module, image, 2, options, values);
  const char *kind = code.kind == ATTNRT_CODE_PTX ? "ptx" : "cubin";
  if (result != kSuccess) {
    driver->report("cuModuleLoadDataEx", result);
    return fail(ATTNRT_LOAD_ERROR, "cannot load the %s for %s: %s%s%s", kind,
                code.arch, attnrt_last_error(), log[0] ? "; log: " : "", log);
  }
  auto loaded =
      std::make_unique<CudaExecutable>(self(), module, specialisation);
  ATTNRT_TRY(loaded->resolve());
  loaded->code = std::string(code.arch) + " " + kind;
  executable = std::move(loaded);
  return ATTNRT_OK;
}

} // namespace attnrt::cuda
