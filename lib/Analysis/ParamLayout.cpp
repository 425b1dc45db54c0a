//===- ParamLayout.cpp - byte offsets of a kernel's parameters ------------===//

#include "attn/Analysis/ParamLayout.h"

#include "attn/ABI/HookExpr.h"
#include "attn/ABI/KernelParams.h"
#include "llvm/Support/MathExtras.h"

#include <cstddef>

using namespace attn;

static_assert(sizeof(attn_kernel_params) == ATTN_PARAMS_FIXED_BYTES,
              "the struct has no padding");

ParamLayout::ParamLayout(KernelOp kernel) {
  addFixed();
  if (VariantOp variant = kernel.getVariant())
    addVariant(variant);
}

ParamLayout::ParamLayout(VariantOp variant) {
  addFixed();
  addVariant(variant);
}

std::optional<uint32_t> ParamLayout::offsetOf(llvm::StringRef name) const {
  auto it = offsets.find(name);
  if (it == offsets.end())
    return std::nullopt;
  return it->second;
}

uint32_t ParamLayout::tensorMapOffset(unsigned index) const {
  return uint32_t(llvm::alignTo(total, ATTN_TENSOR_MAP_ALIGN)) +
         index * ATTN_TENSOR_MAP_BYTES;
}

uint32_t ParamLayout::bytesWithTensorMaps(unsigned count) const {
  return count ? tensorMapOffset(count) : total;
}

void ParamLayout::add(std::string name, uint32_t offset, uint32_t bytes) {
  offsets[name] = offset;
  list.push_back({std::move(name), offset, bytes});
}

void ParamLayout::addFixed() {
#define POINTER(field) add(#field, offsetof(attn_kernel_params, field), 8)
#define STRIDES(field)                                                         \
  for (auto [name, at] : {std::pair(".batch", offsetof(attn_strides, batch)),  \
                          std::pair(".token", offsetof(attn_strides, token)),  \
                          std::pair(".head", offsetof(attn_strides, head))})   \
  add(std::string(#field) + name,                                              \
      uint32_t(offsetof(attn_kernel_params, field) + at), 8)
#define WORD(field) add(#field, offsetof(attn_kernel_params, field), 4)
  POINTER(q);
  POINTER(k);
  POINTER(v);
  POINTER(o);
  POINTER(lse);
  POINTER(plan);
  POINTER(partial_o);
  POINTER(partial_rows);
  STRIDES(q_strides);
  STRIDES(k_strides);
  STRIDES(v_strides);
  STRIDES(o_strides);
  STRIDES(lse_strides);
  WORD(heads);
  WORD(kv_heads);
  WORD(scale);
#undef POINTER
#undef STRIDES
#undef WORD
  total = ATTN_PARAMS_FIXED_BYTES;
}

void ParamLayout::addVariant(VariantOp variant) {
  for (ParamOp param : variant.getBody().front().getOps<ParamOp>()) {
    add("param." + param.getName().str(), total, 4);
    total += 4;
  }
  total = llvm::alignTo(total, 8);
  for (TableOp table : variant.getBody().front().getOps<TableOp>()) {
    std::string name = "table." + table.getName().str();
    add(name + ".data", total + offsetof(attn_table_param, data), 8);
    for (unsigned i = 0; i != ATTN_TABLE_MAX_RANK; ++i)
      add(name + ".extent" + std::to_string(i),
          total + offsetof(attn_table_param, extent) + 4 * i, 4);
    add(name + ".version", total + offsetof(attn_table_param, version), 4);
    total += sizeof(attn_table_param);
  }
}
