//===- TensorMap.cpp - what stands for a tensor map in a simulated launch -===//

#include "attn/Sim/TensorMap.h"

#include "attn/ABI/KernelParams.h"
#include "attn/Dialect/Frag/IR/Frag.h"

#include <cstring>

using namespace mlir;
using namespace attn;
using namespace attn::sim;

bool attn::sim::fillTensorMaps(Operation *kernel, MutableArrayRef<char> params,
                               ArrayRef<TensorExtent> tensors,
                               std::string &error) {
  attn_kernel_params fixed{};
  if (params.size() < sizeof(fixed)) {
    error = "parameters have " + std::to_string(params.size()) +
            " bytes but need " + std::to_string(sizeof(fixed));
    return false;
  }
  std::memcpy(&fixed, params.data(), sizeof(fixed));
  WalkResult walked = kernel->walk([&](frag::TmapOp op) {
    const TensorExtent *tensor = nullptr;
    for (const TensorExtent &t : tensors)
      if (op.getName() == t.name)
        tensor = &t;
    size_t offset = uint32_t(op.getOffset());
    if (!tensor || offset + sizeof(SimTensorMap) > params.size()) {
      error = !tensor
                  ? "launch has no tensor '" + op.getName().str() + "'"
                  : "tensor map '" + op.getName().str() + "' ends at byte " +
                        std::to_string(offset + sizeof(SimTensorMap)) +
                        " but the parameters have " +
                        std::to_string(params.size());
      return WalkResult::interrupt();
    }
    bool isQ = op.getName() == "q", isK = op.getName() == "k";
    attn_strides strides = isQ   ? fixed.q_strides
                           : isK ? fixed.k_strides
                                 : fixed.v_strides;
    uint32_t pack = std::max<int32_t>(1, op.getPack());
    frag::TmapType type = op.getTmap().getType();
    SimTensorMap map{};
    map.base = isQ ? fixed.q : isK ? fixed.k : fixed.v;
    map.rank = uint32_t(type.getBox().size());
    for (uint32_t i = 0; i < map.rank && i < 5; ++i) {
      switch (op.getDim(i)) {
      case frag::TmapDim::Dim:
        map.extent[i] = tensor->cols;
        map.stride[i] = 1;
        break;
      case frag::TmapDim::Group:
        map.extent[i] = pack;
        map.stride[i] = strides.head;
        break;
      case frag::TmapDim::Token:
        map.extent[i] = tensor->tokens;
        map.stride[i] = strides.token;
        break;
      case frag::TmapDim::Head:
        map.extent[i] = tensor->heads / pack;
        map.stride[i] = int64_t(pack) * strides.head;
        break;
      case frag::TmapDim::Batch:
        map.extent[i] = tensor->batch;
        map.stride[i] = strides.batch;
        break;
      }
    }
    std::memcpy(params.data() + offset, &map, sizeof(map));
    return WalkResult::advance();
  });
  return !walked.wasInterrupted();
}
