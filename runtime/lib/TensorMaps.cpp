//===- TensorMaps.cpp - tensor maps of a launch ---------------------------===//
//
// Everything that the driver would refuse is either a rule of the bundle
// (BundleVerify.cpp), of every call (Run.cpp: bases and strides are multiples of
// 16 bytes), or checked here with the tensor's name.
//
//===----------------------------------------------------------------------===//
#include "TensorMaps.h"

#include <algorithm>
#include <cstring>

namespace attnrt::cuda {

static const char *const tensorNames[] = {"q", "k", "v"};
static const char *const dimNames[] = {"dim", "group", "token", "head",
                                       "batch"};

/// The largest stride that a tensor map holds, and one that it holds for sure.
constexpr uint64_t kMaxStride = (uint64_t(1) << 40) - 16;
constexpr uint64_t kAnyStride = 16;

static int typeOf(attnrt_element element) {
  switch (element) {
  case ATTNRT_F32:
    return kMapFloat32;
  case ATTNRT_F16:
    return kMapFloat16;
  case ATTNRT_BF16:
    break;
  }
  return kMapBfloat16;
}

static int swizzleOf(uint32_t bytes) {
  return bytes == 128  ? kMapSwizzle128
         : bytes == 64 ? kMapSwizzle64
         : bytes == 32 ? kMapSwizzle32
                       : kMapSwizzleNone;
}

static int promotionOf(uint32_t bytes) {
  return bytes == 256   ? kMapPromotion256
         : bytes == 128 ? kMapPromotion128
         : bytes == 64  ? kMapPromotion64
                        : kMapPromotionNone;
}

TensorMaps::TensorMaps(const std::vector<attnrt_tensor_map_info> &recipes,
                       int32_t pack)
    : maps(recipes.size()), pack(pack) {
  for (size_t i = 0; i < maps.size(); ++i)
    maps[i].recipe = recipes[i];
}

attnrt_status TensorMaps::shapeOf(const attnrt_tensor_map_info &recipe,
                                  const TensorView &tensor,
                                  Shape &shape) const {
  const attn_map_dim *end = recipe.dims + recipe.rank;
  bool grouped = std::find(recipe.dims, end, ATTN_MAP_GROUP) != end;
  int64_t group = grouped ? pack : 1;
  shape.base = const_cast<void *>(tensor.data);
  for (uint32_t i = 0; i < recipe.rank; ++i) {
    int64_t extent = 1, stride = 1;
    switch (recipe.dims[i]) {
    case ATTN_MAP_DIM:
      extent = tensor.columns;
      break;
    case ATTN_MAP_GROUP:
      extent = group;
      stride = tensor.strides.head;
      break;
    case ATTN_MAP_TOKEN:
      extent = tensor.tokens;
      stride = tensor.strides.token;
      break;
    case ATTN_MAP_HEAD:
      extent = tensor.heads / group;
      stride = group * tensor.strides.head;
      break;
    case ATTN_MAP_BATCH:
      extent = tensor.batch;
      stride = tensor.strides.batch;
      break;
    }
    // Extents are positive 32-bit counts: tokens, heads and requests all are.
    shape.extents[i] = uint64_t(extent);
    // Only multiplied by 0, so what the caller left there does not matter.
    if (extent == 1) {
      shape.strides[i] = kAnyStride;
      continue;
    }
    shape.strides[i] = uint64_t(stride) * bytesOf(recipe.element);
    if (shape.strides[i] > kMaxStride)
      return fail(ATTNRT_LIMIT,
                  "%s %s stride is %lu bytes but a tensor map holds %lu",
                  tensorNames[recipe.tensor], dimNames[recipe.dims[i]],
                  shape.strides[i], kMaxStride);
  }
  return ATTNRT_OK;
}

attnrt_status TensorMaps::encode(const Driver &driver, Map &map) {
  static constexpr uint32_t dense[ATTN_MAP_MAX_RANK] = {1, 1, 1, 1, 1};
  const attnrt_tensor_map_info &r = map.recipe;
  CUresult code = driver.cuTensorMapEncodeTiled(
      map.bytes, typeOf(r.element), r.rank, map.shape.base, map.shape.extents,
      map.shape.strides + 1, r.box, dense, kMapInterleaveNone,
      swizzleOf(r.swizzle), promotionOf(r.promotion), kMapFillZero);
  if (code == kSuccess)
    return ATTNRT_OK;
  driver.report("cuTensorMapEncodeTiled", code);
  return fail(ATTNRT_DRIVER_ERROR, "cannot encode the tensor map of %s: %s",
              tensorNames[r.tensor], attnrt_last_error());
}

attnrt_status TensorMaps::fill(const Driver &driver,
                               const TensorView (&tensors)[ATTN_MAP_TENSORS],
                               char *params) {
  std::lock_guard<std::mutex> lock(mutex);
  for (Map &map : maps) {
    const TensorView &tensor = tensors[map.recipe.tensor];
    if (tensor.tokens == 0)
      continue; // no item reads it, and it may have no memory
    Shape shape;
    ATTNRT_TRY(shapeOf(map.recipe, tensor, shape));
    if (!map.encoded || memcmp(&shape, &map.shape, sizeof(shape)) != 0) {
      map.shape = shape;
      map.encoded = false;
      ATTNRT_TRY(encode(driver, map));
      map.encoded = true;
    }
    memcpy(params + map.recipe.offset, map.bytes, sizeof(map.bytes));
  }
  return ATTNRT_OK;
}

} // namespace attnrt::cuda
