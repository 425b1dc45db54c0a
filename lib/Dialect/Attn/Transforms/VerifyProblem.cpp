//===- VerifyProblem.cpp - attn-verify-problem ----------------------------===//
//
// Refuses what a target cannot do before any decision is taken, with the
// numbers:
//
//   head dim 96 is not built for sm_80 (built: 64, 128)
//   paged storage of the key is not built for sm_80
//
// Invariant afterwards: the kernel is one attention over its own arguments, and
// shapes, element types and storage are legal for the target.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Target/TargetSpec.h"

namespace attn {
#define GEN_PASS_DEF_ATTNVERIFYPROBLEM
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// The bundle reader takes no more.
constexpr int32_t maxHeads = 65536;
/// The CPU's vectors are 8 or 16 elements wide, and GPUs copy 8 elements of 16
/// bits at a time; what their products need more is padding.
constexpr int32_t dimGranule = 8;
/// A product of a warpgroup has no more columns.
constexpr int32_t gpuMaxDim = 256;
constexpr int32_t cpuMaxDim = 512;

class Verifier {
public:
  Verifier(KernelOp kernel, const TargetSpec &target)
      : kernel(kernel), target(target), name(target.name) {}
  LogicalResult run();

private:
  LogicalResult checkBody();
  LogicalResult checkName();
  LogicalResult checkTensor(attn::TensorType type);
  LogicalResult checkElement(attn::TensorType type);
  LogicalResult checkDim(StringRef what, int32_t dim);

  KernelOp kernel;
  const TargetSpec &target;
  StringRef name;
  AttentionOp attention;
};

} // namespace

LogicalResult Verifier::checkBody() {
  for (Operation &op : kernel.getBody().front()) {
    if (auto a = dyn_cast<AttentionOp>(op)) {
      attention = a; // the op's verifier allows one
    } else if (isa<MergeOp>(op)) {
      return op.emitOpError() << "is not built for " << name;
    } else if (!isa<VariantOp, ReturnOp>(op)) {
      return op.emitOpError() << "is not part of a problem: a kernel is one "
                                 "attn.attention over its arguments";
    }
  }
  if (!attention)
    return kernel.emitOpError() << "has no attention";
  auto ret = cast<ReturnOp>(kernel.getBody().front().getTerminator());
  if (ret.getValues() != attention->getResults())
    return ret.emitOpError() << "must return the results of the attention";
  if (!kernel.getVariant())
    return kernel.emitOpError()
           << "has no variant of its own; run attn-resolve-variant first";
  return success();
}

LogicalResult Verifier::checkElement(attn::TensorType type) {
  Type element = type.getElement();
  StringRef role = stringifyTensorRole(type.getRole());
  if (type.getRole() == TensorRole::Lse)
    return success();
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return kernel.emitOpError() << "element type " << element << " of the "
                                << role << " is not built for " << name;
  // Inputs feed the tensor cores as they are; outputs are converted.
  if (target.isGpu() && type.getRole() != TensorRole::Output && element.isF32())
    return kernel.emitOpError() << name << " takes f16 and bf16 inputs but the "
                                << role << " is f32";
  return success();
}

LogicalResult Verifier::checkTensor(attn::TensorType type) {
  if (type.getStorage() == Storage::Paged)
    return kernel.emitOpError()
           << "paged storage of the " << stringifyTensorRole(type.getRole())
           << " is not built for " << name;
  return checkElement(type);
}

LogicalResult Verifier::checkDim(StringRef what, int32_t dim) {
  int32_t most = target.isGpu() ? gpuMaxDim : cpuMaxDim;
  if (dim % dimGranule != 0 || dim > most)
    return kernel.emitOpError() << what << " " << dim << " is not built for "
                                << name << " (built: multiples of "
                                << dimGranule << " up to " << most << ")";
  return success();
}

/// The kernel's name is a symbol of the object and of PTX.
LogicalResult Verifier::checkName() {
  StringRef symbol = kernel.getSymName();
  auto legal = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (!symbol.empty() && !llvm::isDigit(symbol.front()) &&
      llvm::all_of(symbol, legal))
    return success();
  return kernel.emitOpError()
         << "name is not an identifier of letters, digits and underscores";
}

LogicalResult Verifier::run() {
  if (failed(checkName()))
    return failure();
  if (target.has(Feature::Tcgen05))
    return kernel.emitOpError()
           << "target " << name << " is not built (built: cpu, sm_80, sm_90a)";
  if (failed(checkBody()))
    return failure();
  int32_t heads = attention.getQuery().getType().getHeads();
  if (heads > maxHeads)
    return kernel.emitOpError()
           << "has " << heads << " query heads but at most " << maxHeads
           << " are built";
  for (Value value :
       llvm::concat<Value>(SmallVector<Value>(attention->getOperands()),
                           SmallVector<Value>(attention->getResults())))
    if (auto type = dyn_cast<attn::TensorType>(value.getType()))
      if (failed(checkTensor(type)))
        return failure();
  int32_t dim = attention.getQuery().getType().getDim();
  int32_t valueDim = attention.getValue().getType().getDim();
  return success(succeeded(checkDim("head dim", dim)) &&
                 succeeded(checkDim("value dim", valueDim)));
}

namespace {

struct VerifyProblem : public attn::impl::AttnVerifyProblemBase<VerifyProblem> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getTargetAttr()) {
      kernel.emitOpError() << "has no target";
      return signalPassFailure();
    }
    std::string error;
    const TargetSpec *target =
        findTarget(kernel.getTargetAttr().getValue().str(), error);
    if (!target) {
      kernel.emitOpError() << error;
      return signalPassFailure();
    }
    if (failed(Verifier(kernel, *target).run()))
      signalPassFailure();
    else
      markAllAnalysesPreserved();
  }
};

} // namespace
