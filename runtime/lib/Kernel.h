//===- Kernel.h - a loaded kernel and values by name ------------*- C++ -*-===//
//
// A kernel is one specialisation on one device.  Parameters and tables are
// passed by name and bound here to the kernel's declarations, for planning and
// for running alike.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_LIB_KERNEL_H
#define ATTNRT_LIB_KERNEL_H

#include "Device.h"

namespace attnrt {

class Kernel {
public:
  static attnrt_status load(std::shared_ptr<Device> device,
                            std::shared_ptr<const Bundle> bundle,
                            uint32_t index, const attnrt_select &select,
                            std::shared_ptr<Kernel> &kernel);

  const KernelEntry &entry() const { return bundle->kernels[index]; }
  const Specialisation &specialisation() const {
    return entry().specialisations[chosen];
  }
  const char *name() const { return entry().info.name; }

  std::shared_ptr<Device> device;
  std::shared_ptr<const Bundle> bundle;
  uint32_t index = 0;
  uint32_t chosen = 0;
  std::unique_ptr<Executable> executable;
};

/// Parameters and tables in order of declaration.  Vectors keep their capacity
/// from call to call.
struct Bound {
  std::vector<uint32_t> words;  ///< of each parameter: passed or default
  std::vector<uint8_t> hasWord; ///< 0: neither passed nor a default
  std::vector<const attnrt_table *> tables; ///< null: not passed
};

/// Refuses unknown names, wrong types and names that occur twice.
attnrt_status bind(const KernelEntry &entry, const attnrt_param *params,
                   uint32_t paramCount, const attnrt_table *tables,
                   uint32_t tableCount, Bound &bound);

} // namespace attnrt

struct attnrt_kernel {
  std::shared_ptr<attnrt::Kernel> impl;
};

#endif // ATTNRT_LIB_KERNEL_H
