//===- TensorMap.h - what stands for a tensor map in a simulated launch --*- C++ -*-===//
//
// The runtime puts 128 opaque bytes of the driver into the parameter struct; a
// simulated launch puts this in their place.  Strides and extents follow the
// recipe of `frag.tmap`.
//
//   fillTensorMaps(kernel, params, {{"q", qTokens, heads, 1}, ...})
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_TENSORMAP_H
#define ATTN_SIM_TENSORMAP_H

#include "mlir/IR/Operation.h"
#include "mlir/Support/LogicalResult.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>

namespace attn::sim {

/// Innermost dimension first.
struct SimTensorMap {
  uint64_t base;
  uint32_t rank;
  uint32_t extent[5];
  int64_t stride[5]; ///< in elements
};
static_assert(sizeof(SimTensorMap) <= 128, "takes the place of a tensor map");

/// Extents of a tensor that the parameter struct does not hold.
struct TensorExtent {
  std::string name; ///< "q", "k" or "v"
  uint32_t tokens = 0, heads = 0, batch = 1, cols = 0;
};

/// Writes the map of each `frag.tmap` of the kernel into `params`, from the bases
/// and strides that are there.  False with a message.
bool fillTensorMaps(mlir::Operation *kernel, llvm::MutableArrayRef<char> params,
                    llvm::ArrayRef<TensorExtent> tensors, std::string &error);

} // namespace attn::sim

#endif // ATTN_SIM_TENSORMAP_H
