//===- Bundle.cpp - opening a bundle and looking into it ------------------===//
//
// Files are mapped, memory is copied to 64-byte alignment; both end in the one
// verification.  The rest of the file is the introspection half of the C API.
//
//===----------------------------------------------------------------------===//
#include "Bundle.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attnrt {

Bundle::~Bundle() {
  if (!bytes)
    return;
  if (mapped)
    munmap(const_cast<uint8_t *>(bytes), size);
  else
    free(const_cast<uint8_t *>(bytes));
}

attnrt_status Bundle::openFile(const char *path,
                               std::shared_ptr<const Bundle> &result) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail(ATTNRT_IO_ERROR, "cannot open '%s': %s", path, strerror(errno));
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return fail(ATTNRT_IO_ERROR, "'%s' is not a regular file", path);
  }
  std::shared_ptr<Bundle> bundle(new Bundle);
  // An empty file cannot be mapped; verification refuses it by its size.
  if (info.st_size > 0) {
    void *map =
        mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
      int code = errno;
      close(fd);
      return fail(ATTNRT_IO_ERROR, "cannot map '%s': %s", path, strerror(code));
    }
    bundle->bytes = static_cast<const uint8_t *>(map);
    bundle->size = size_t(info.st_size);
    bundle->mapped = true;
  }
  close(fd);
  ATTNRT_TRY(bundle->verify());
  result = std::move(bundle);
  return ATTNRT_OK;
}

attnrt_status Bundle::openMemory(const void *data, size_t size,
                                 std::shared_ptr<const Bundle> &result) {
  std::shared_ptr<Bundle> bundle(new Bundle);
  if (size > 0) {
    void *copy = nullptr;
    if (posix_memalign(&copy, 64, size) != 0)
      return fail(ATTNRT_OUT_OF_MEMORY, "no memory for a bundle of %zu bytes",
                  size);
    memcpy(copy, data, size);
    bundle->bytes = static_cast<const uint8_t *>(copy);
    bundle->size = size;
  }
  ATTNRT_TRY(bundle->verify());
  result = std::move(bundle);
  return ATTNRT_OK;
}

static attnrt_status deliver(std::shared_ptr<const Bundle> impl,
                             attnrt_bundle **bundle) {
  *bundle = new attnrt_bundle{std::move(impl)};
  return ATTNRT_OK;
}

/// Null with an error if the index is not one of the kernels.
static const KernelEntry *kernelAt(const attnrt_bundle *bundle,
                                   uint32_t kernel) {
  if (!bundle) {
    fail(ATTNRT_INVALID_ARGUMENT, "bundle is null");
    return nullptr;
  }
  if (kernel >= bundle->impl->kernels.size()) {
    fail(ATTNRT_INVALID_ARGUMENT, "kernel index is %u but the bundle has %zu",
         kernel, bundle->impl->kernels.size());
    return nullptr;
  }
  return &bundle->impl->kernels[kernel];
}

template <class T>
static attnrt_status copyAt(const char *what, const std::vector<T> &list,
                            uint32_t index, T *out) {
  if (!out)
    return fail(ATTNRT_INVALID_ARGUMENT, "result pointer is null");
  if (index >= list.size())
    return fail(ATTNRT_INVALID_ARGUMENT,
                "%s index is %u but the kernel has %zu", what, index,
                list.size());
  *out = list[index];
  return ATTNRT_OK;
}

} // namespace attnrt

using namespace attnrt;

extern "C" {

attnrt_status attnrt_bundle_open(const char *path, attnrt_bundle **bundle) {
  if (!path || !bundle)
    return fail(ATTNRT_INVALID_ARGUMENT, "path or result pointer is null");
  std::shared_ptr<const Bundle> impl;
  ATTNRT_TRY(Bundle::openFile(path, impl));
  return deliver(std::move(impl), bundle);
}

attnrt_status attnrt_bundle_open_memory(const void *data, size_t size,
                                        attnrt_bundle **bundle) {
  if ((!data && size) || !bundle)
    return fail(ATTNRT_INVALID_ARGUMENT, "data or result pointer is null");
  std::shared_ptr<const Bundle> impl;
  ATTNRT_TRY(Bundle::openMemory(data, size, impl));
  return deliver(std::move(impl), bundle);
}

void attnrt_bundle_close(attnrt_bundle *bundle) { delete bundle; }

const char *attnrt_bundle_compiler(const attnrt_bundle *bundle) {
  return bundle ? bundle->impl->compiler : "";
}

uint32_t attnrt_bundle_kernels(const attnrt_bundle *bundle) {
  return bundle ? uint32_t(bundle->impl->kernels.size()) : 0;
}

attnrt_status attnrt_bundle_find(const attnrt_bundle *bundle, const char *name,
                                 uint32_t *index) {
  if (!bundle || !name || !index)
    return fail(ATTNRT_INVALID_ARGUMENT,
                "bundle, name or result pointer is null");
  const std::vector<KernelEntry> &kernels = bundle->impl->kernels;
  for (size_t i = 0; i < kernels.size(); ++i)
    if (strcmp(kernels[i].info.name, name) == 0) {
      *index = uint32_t(i);
      return ATTNRT_OK;
    }
  return fail(ATTNRT_NOT_FOUND,
              "bundle has no kernel '%s' (%zu kernels, the first is '%s')",
              name, kernels.size(), kernels[0].info.name);
}

attnrt_status attnrt_bundle_kernel(const attnrt_bundle *bundle, uint32_t kernel,
                                   attnrt_kernel_info *info) {
  const KernelEntry *entry = kernelAt(bundle, kernel);
  if (!entry)
    return ATTNRT_INVALID_ARGUMENT;
  if (!info)
    return fail(ATTNRT_INVALID_ARGUMENT, "result pointer is null");
  *info = entry->info;
  return ATTNRT_OK;
}

attnrt_status attnrt_bundle_param(const attnrt_bundle *bundle, uint32_t kernel,
                                  uint32_t index, attnrt_param_info *info) {
  const KernelEntry *entry = kernelAt(bundle, kernel);
  return entry ? copyAt("param", entry->params, index, info)
               : ATTNRT_INVALID_ARGUMENT;
}

attnrt_status attnrt_bundle_table(const attnrt_bundle *bundle, uint32_t kernel,
                                  uint32_t index, attnrt_table_info *info) {
  const KernelEntry *entry = kernelAt(bundle, kernel);
  return entry ? copyAt("table", entry->tables, index, info)
               : ATTNRT_INVALID_ARGUMENT;
}

attnrt_status attnrt_bundle_hook(const attnrt_bundle *bundle, uint32_t kernel,
                                 uint32_t index, attnrt_hook_info *info) {
  const KernelEntry *entry = kernelAt(bundle, kernel);
  return entry ? copyAt("hook", entry->hooks, index, info)
               : ATTNRT_INVALID_ARGUMENT;
}

attnrt_status attnrt_bundle_specialisation(const attnrt_bundle *bundle,
                                           uint32_t kernel, uint32_t index,
                                           attnrt_specialisation_info *info) {
  const KernelEntry *entry = kernelAt(bundle, kernel);
  if (!entry)
    return ATTNRT_INVALID_ARGUMENT;
  if (!info)
    return fail(ATTNRT_INVALID_ARGUMENT, "result pointer is null");
  if (index >= entry->specialisations.size())
    return fail(ATTNRT_INVALID_ARGUMENT,
                "specialisation index is %u but the kernel has %zu", index,
                entry->specialisations.size());
  *info = entry->specialisations[index].info;
  return ATTNRT_OK;
}

attnrt_status attnrt_bundle_code(const attnrt_bundle *bundle, uint32_t kernel,
                                 uint32_t specialisation, uint32_t index,
                                 attnrt_code_info *info) {
  attnrt_specialisation_info unused;
  ATTNRT_TRY(
      attnrt_bundle_specialisation(bundle, kernel, specialisation, &unused));
  const KernelEntry &entry = bundle->impl->kernels[kernel];
  return copyAt("code", entry.specialisations[specialisation].codes, index,
                info);
}

attnrt_status attnrt_bundle_tensor_map(const attnrt_bundle *bundle,
                                       uint32_t kernel, uint32_t specialisation,
                                       uint32_t index,
                                       attnrt_tensor_map_info *info) {
  attnrt_specialisation_info unused;
  ATTNRT_TRY(
      attnrt_bundle_specialisation(bundle, kernel, specialisation, &unused));
  const KernelEntry &entry = bundle->impl->kernels[kernel];
  return copyAt("tensor map", entry.specialisations[specialisation].tensorMaps,
                index, info);
}

} // extern "C"
