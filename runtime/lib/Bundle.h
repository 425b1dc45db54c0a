//===- Bundle.h - a verified bundle -----------------------------*- C++ -*-===//
//
// The bytes of a .attn file and what they say, as plain structs that point
// into them.
//
// Invariant: a Bundle exists only if every check passed (BundleVerify.cpp), so
// the rest of the runtime reads it without checks of its own.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_LIB_BUNDLE_H
#define ATTNRT_LIB_BUNDLE_H

#include "Status.h"

#include "attn/Mask/ClosedForm.h"
#include "attn/Mask/HookProgram.h"

#include <memory>
#include <string>
#include <vector>

namespace attnrt {

inline uint32_t bytesOf(attnrt_element element) {
  return element == ATTNRT_F32 ? 4 : 2;
}

struct Specialisation {
  attnrt_specialisation_info info = {};
  std::vector<attnrt_code_info> codes;
  std::vector<attnrt_tensor_map_info> tensorMaps;
};

struct KernelEntry {
  attnrt_kernel_info info = {};
  std::vector<attnrt_param_info> params;
  std::vector<attnrt_table_info> tables;
  std::vector<attnrt_hook_info> hooks;
  std::vector<Specialisation> specialisations;
  attn::mask::HookProgram mask; ///< invalid if the kernel has no mask
  /// Of the mask, if the kernel computes its block borders from it.
  attn::mask::ClosedForm bounds;

  int32_t group() const { return info.heads / info.kv_heads; }
};

class Bundle {
public:
  ~Bundle();
  Bundle(const Bundle &) = delete;
  Bundle &operator=(const Bundle &) = delete;

  static attnrt_status openFile(const char *path,
                                std::shared_ptr<const Bundle> &result);
  static attnrt_status openMemory(const void *data, size_t size,
                                  std::shared_ptr<const Bundle> &result);

  const char *compiler = "";
  std::vector<KernelEntry> kernels;

private:
  Bundle() = default;
  attnrt_status verify(); ///< BundleVerify.cpp

  const uint8_t *bytes = nullptr;
  size_t size = 0;
  bool mapped = false;
};

} // namespace attnrt

struct attnrt_bundle {
  std::shared_ptr<const attnrt::Bundle> impl;
};

#endif // ATTNRT_LIB_BUNDLE_H
