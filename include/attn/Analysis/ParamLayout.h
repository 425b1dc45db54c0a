//===- ParamLayout.h - byte offsets of a kernel's parameters ----*- C++ -*-===//
//
// The fixed part is attn_kernel_params; behind it lie the variant's parameters
// (4 bytes each) and tables (attn_table_param, 8-byte aligned), both in order
// of declaration:
//
//   q 0, k 8, ..., scale 192, param.window 200, table.doc.data 208, ...
//
// Names: the fields of attn_kernel_params ("q_strides.token"), "param.<name>",
// "table.<name>.data", ".extent0" to ".extent2", ".version".
//
// Tensor maps, which belong to a specialisation, lie behind the whole struct.
//
// Invariant: offsets do not depend on the target or the schedule.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_ANALYSIS_PARAMLAYOUT_H
#define ATTN_ANALYSIS_PARAMLAYOUT_H

#include "attn/Dialect/Attn/IR/Attn.h"

#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn {

class ParamLayout {
public:
  struct Field {
    std::string name;
    uint32_t offset;
    uint32_t bytes;
  };

  /// Of the variant in the kernel; the fixed part alone if there is none.
  explicit ParamLayout(KernelOp kernel);
  explicit ParamLayout(VariantOp variant);

  std::optional<uint32_t> offsetOf(llvm::StringRef name) const;
  /// Size of the whole struct, a multiple of 8.
  uint32_t totalBytes() const { return total; }
  /// Of tensor map `index` behind the struct.
  uint32_t tensorMapOffset(unsigned index) const;
  /// Size of the struct with `count` tensor maps behind it.
  uint32_t bytesWithTensorMaps(unsigned count) const;
  /// In order of their offsets.
  const std::vector<Field> &fields() const { return list; }

private:
  void addFixed();
  void addVariant(VariantOp variant);
  void add(std::string name, uint32_t offset, uint32_t bytes);

  std::vector<Field> list;
  llvm::StringMap<uint32_t> offsets;
  uint32_t total = 0;
};

} // namespace attn

#endif // ATTN_ANALYSIS_PARAMLAYOUT_H
