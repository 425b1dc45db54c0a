//===- TensorMaps.h - tensor maps of a launch -------------------*- C++ -*-===//
//
// A kernel that copies by TMA reads 128 opaque bytes a tensor from its
// parameter struct.  The bundle has the recipe of each (attn_map_dim in
// KernelParams.h), a call has the tensor, the driver encodes.
//
//   k, bf16, 8 heads of 128 columns, 1000 ragged tokens, strides 1024 and 128
//     recipe   dims dim, token, head, batch; box 64, 128, 1, 1
//     extents  128, 1000, 8, 1
//     strides  2048, 256, 16 bytes: that of an extent of 1 is never used
//
// What was encoded last is kept, so that a launch with the same tensors costs a
// comparison.
//
// Invariant: an element within the extents is one that the launch may read
// (Run.cpp checked the tensors for the same tokens, heads and batch).
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_LIB_TENSORMAPS_H
#define ATTNRT_LIB_TENSORMAPS_H

#include "Device.h"
#include "Driver.h"

#include <mutex>

namespace attnrt::cuda {

class TensorMaps {
public:
  TensorMaps(const std::vector<attnrt_tensor_map_info> &recipes, int32_t pack);

  /// Writes the maps into the parameter struct.  May be called from several
  /// threads.
  attnrt_status fill(const Driver &driver,
                     const TensorView (&tensors)[ATTN_MAP_TENSORS],
                     char *params);

private:
  /// The arguments of cuTensorMapEncodeTiled that depend on the call.
  struct Shape {
    void *base = nullptr;
    uint64_t extents[ATTN_MAP_MAX_RANK] = {};
    uint64_t strides[ATTN_MAP_MAX_RANK] = {}; ///< bytes; [0] is not passed
  };
  struct Map {
    attnrt_tensor_map_info recipe;
    bool encoded = false;
    Shape shape;
    alignas(ATTN_TENSOR_MAP_ALIGN) char bytes[ATTN_TENSOR_MAP_BYTES] = {};
  };

  attnrt_status shapeOf(const attnrt_tensor_map_info &recipe,
                        const TensorView &tensor, Shape &shape) const;
  static attnrt_status encode(const Driver &driver, Map &map);

  std::mutex mutex;
  std::vector<Map> maps;
  int32_t pack;
};

} // namespace attnrt::cuda

#endif // ATTNRT_LIB_TENSORMAPS_H
