//===- ResolveVariant.cpp - attn-resolve-variant --------------------------===//
//
// Clones the variant into each kernel that names it:
//
//   attn.variant @causal {..}                attn.kernel @prefill(..) {
//   attn.kernel @prefill(..) {         ->      attn.variant @causal {..}
//     attn.attention .. variant(@causal)       attn.attention ..
//     variant(@causal)
//
// Invariant afterwards: no variant outside a kernel; the passes below look at
// one kernel only, so they may run on all of them at once.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"

namespace attn {
#define GEN_PASS_DEF_ATTNRESOLVEVARIANT
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct ResolveVariant
    : public attn::impl::AttnResolveVariantBase<ResolveVariant> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    bool failed = false;
    for (KernelOp kernel : module.getOps<KernelOp>())
      kernel.walk([&](AttentionOp attention) {
        failed |= mlir::failed(resolve(kernel, attention, symbols));
      });
    if (failed)
      return signalPassFailure();
    for (VariantOp variant :
         llvm::make_early_inc_range(module.getOps<VariantOp>()))
      variant.erase();
  }

  /// Clones once a kernel; a second attention of the same variant shares it.
  LogicalResult resolve(KernelOp kernel, AttentionOp attention,
                        SymbolTable &symbols) {
    StringRef name = attention.getVariant();
    for (VariantOp own : kernel.getBody().getOps<VariantOp>())
      if (own.getSymName() == name)
        return success();
    auto variant = symbols.lookup<VariantOp>(name);
    if (!variant)
      return attention.emitOpError()
             << "names variant @" << name << ", which is not in the module";
    OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    builder.clone(*variant);
    return success();
  }
};

} // namespace
