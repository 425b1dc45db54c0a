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

/// Replaces the tensor types of one kernel.
static void rewrite(KernelOp kernel,
                    llvm::function_ref<attn::TensorType(attn::TensorType)> to) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](attn::TensorType t) -> std::optional<Type> { return to(t); });
  replacer.recursivelyReplaceElementsIn(kernel, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

OwningOpRef<ModuleOp> attn::withElementType(ModuleOp source, Type type) {
  OwningOpRef<ModuleOp> copy = source.clone();
  copy->walk([&](KernelOp kernel) {
    BlockArgument query = kernel.getTensor(TensorRole::Query);
    if (!query)
      return;
    // An output of another type was asked for by name.
    Type declared = cast<attn::TensorType>(query.getType()).getElement();
    rewrite(kernel, [&](attn::TensorType t) {
      if (t.getRole() == TensorRole::Lse || t.getElement() != declared)
        return t;
      return attn::TensorType::get(t.getContext(), t.getRole(), type,
                                   t.getHeads(), t.getDim(), t.getStorage());
    });
  });
  return copy;
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
    rewrite(kernel, [&](attn::TensorType t) {
      bool isKv =
          t.getRole() == TensorRole::Key || t.getRole() == TensorRole::Value;
      return attn::TensorType::get(t.getContext(), t.getRole(), t.getElement(),
                                   isKv ? keep : keep * group, t.getDim(),
                                   t.getStorage());
    });
  });
  return copy;
}
