//===- Rewrite.cpp - copies of an L0 module with other types --------------===//
//
// A tensor type names element type and heads, so a twin of a kernel is the same
// text with other types: no op depends on them.
//
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Compiler.h"
#include "attn/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace attn;

static OwningOpRef<ModuleOp>
rewritten(ModuleOp source,
          llvm::function_ref<attn::TensorType(attn::TensorType)> change) {
  OwningOpRef<ModuleOp> copy = source.clone();
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](attn::TensorType t) -> std::optional<Type> { return change(t); });
  replacer.recursivelyReplaceElementsIn(*copy, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return copy;
}

OwningOpRef<ModuleOp> attn::withElementType(ModuleOp source, Type type) {
  return rewritten(source, [&](attn::TensorType t) {
    if (t.getRole() == TensorRole::Lse)
      return t;
    return attn::TensorType::get(t.getContext(), t.getRole(), type,
                                 t.getHeads(), t.getDim(), t.getStorage());
  });
}

OwningOpRef<ModuleOp> attn::withFewerHeads(ModuleOp source, int32_t kvHeads) {
  // The group is a property of the kernel; all kernels of a module are changed
  // by their own.
  OwningOpRef<ModuleOp> copy = source.clone();
  copy->walk([&](KernelOp kernel) {
    BlockArgument key = kernel.getTensor(TensorRole::Key);
    if (!key)
      return;
    int32_t have = cast<attn::TensorType>(key.getType()).getHeads();
    int32_t keep = std::min(have, kvHeads), group = kernel.getGroup();
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](attn::TensorType t) -> std::optional<Type> {
      bool isKv =
          t.getRole() == TensorRole::Key || t.getRole() == TensorRole::Value;
      return attn::TensorType::get(t.getContext(), t.getRole(), t.getElement(),
                                   isKv ? keep : keep * group, t.getDim(),
                                   t.getStorage());
    });
    replacer.recursivelyReplaceElementsIn(kernel, true, false, true);
  });
  return copy;
}
