//===- DescribeLaunch.cpp - what a bundle says of a launch ----------------===//
//
// From the kernels of a specialisation at the fragment level:
//
//   frag.kernel @prefill threads 384 smem 196952 params 640
//     %t = frag.tmap "k" at 384 dims ["dim", "token", ...]  -> a tensor map
//     frag.next_work ...                                    -> dynamic
//
// Invariant: attention and merge are launched with one parameter struct, so both
// kernels declare the same size.
//
//===----------------------------------------------------------------------===//

#include "attn/ABI/KernelParams.h"
#include "attn/Compiler/Compiler.h"
#include "attn/Dialect/Frag/IR/Frag.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace attn;

static emit::TensorMap describe(frag::TmapOp op, emit::Element element) {
  frag::TmapType type = op.getTmap().getType();
  emit::TensorMap map;
  map.tensor = llvm::StringSwitch<uint8_t>(op.getName())
                   .Case("q", ATTN_MAP_Q)
                   .Case("k", ATTN_MAP_K)
                   .Case("v", ATTN_MAP_V);
  map.offset = uint32_t(op.getOffset());
  for (Attribute dim : op.getDims())
    map.dims.push_back(
        llvm::StringSwitch<uint8_t>(cast<StringAttr>(dim).getValue())
            .Case("dim", ATTN_MAP_DIM)
            .Case("group", ATTN_MAP_GROUP)
            .Case("token", ATTN_MAP_TOKEN)
            .Case("head", ATTN_MAP_HEAD)
            .Case("batch", ATTN_MAP_BATCH));
  for (int64_t extent : type.getBox())
    map.box.push_back(uint16_t(extent));
  map.element = element;
  map.swizzle = uint16_t(type.getSwizzle());
  map.promotion = uint16_t(op.getPromotion());
  return map;
}

void attn::describeLaunch(ModuleOp module, emit::Specialisation &s) {
  for (frag::KernelOp kernel : module.getOps<frag::KernelOp>()) {
    uint32_t params = uint32_t(kernel.getParamsBytes());
    if (kernel.getSymName() == s.mergeEntry) {
      s.mergeThreads = uint32_t(kernel.getThreads());
      s.mergeSharedBytes = uint32_t(kernel.getSmem());
    } else {
      s.threads = uint32_t(kernel.getThreads());
      s.sharedBytes = uint32_t(kernel.getSmem());
      s.paramsBytes = params;
    }
    kernel.walk([&](Operation *op) {
      if (auto tmap = dyn_cast<frag::TmapOp>(op))
        s.tensorMaps.push_back(describe(tmap, s.element));
      s.dynamic |= isa<frag::NextWorkOp>(op);
    });
  }
  // Two ops at one offset name one map.
  llvm::sort(s.tensorMaps,
             [](const auto &a, const auto &b) { return a.offset < b.offset; });
  s.tensorMaps.erase(llvm::unique(s.tensorMaps,
                                  [](const auto &a, const auto &b) {
                                    return a.offset == b.offset;
                                  }),
                     s.tensorMaps.end());
  for (frag::KernelOp kernel : module.getOps<frag::KernelOp>())
    assert(uint32_t(kernel.getParamsBytes()) == s.paramsBytes &&
           "kernel and merge kernel are launched with one parameter struct");
}
