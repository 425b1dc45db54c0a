//===- Bundle.h - write a bundle --------------------------------*- C++ -*-===//
//
// Plain data that mirrors include/attn/ABI/Bundle.fbs, and the writer: header
// with length and hash, then the FlatBuffer.  The reader is in runtime/.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_EMIT_BUNDLE_H
#define ATTN_EMIT_BUNDLE_H

#include "attn/ABI/HookExpr.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn::emit {

struct Param {
  std::string name;
  attn_scalar type = ATTN_I32;
  bool hasDefault = false;
  uint32_t defaultBits = 0, sampleLo = 0, sampleHi = 0;
  uint32_t offset = 0;
};

struct Table {
  std::string name;
  attn_scalar element = ATTN_I32;
  std::vector<uint8_t> index; ///< attn_index_space, outermost first
  uint32_t sampleLo = 0, sampleHi = 0;
  bool sorted = false;
  uint32_t offset = 0;
};

struct Hook {
  uint8_t kind = 0;
  std::vector<uint8_t> code;
};

enum class CodeKind : uint8_t { SharedObject = 0, PTX = 1, Cubin = 2 };
enum class Element : uint8_t { F32 = 0, F16 = 1, BF16 = 2 };

struct Code {
  CodeKind kind = CodeKind::SharedObject;
  std::string arch;
  std::vector<char> data;
};

struct TensorMap {
  uint8_t tensor = 0; ///< attn_map_tensor
  uint32_t offset = 0;
  std::vector<uint8_t> dims; ///< attn_map_dim, innermost first
  std::vector<uint16_t> box;
  Element element = Element::BF16;
  uint16_t swizzle = 0, promotion = 0;
};

struct Specialisation {
  std::string target;
  Element element = Element::F32, output = Element::F32;
  int32_t tileQ = 0, tileK = 0, pack = 1;
  std::string entry, mergeEntry;
  std::vector<Code> code;
  uint32_t paramsBytes = 0;
  uint32_t threads = 0, sharedBytes = 0, mergeThreads = 0, mergeSharedBytes = 0;
  uint32_t registers = 0;
  uint32_t scratchBytes = 0, mergeScratchBytes = 0;
  uint32_t strideMultiple = 1, baseAlign = 1;
  bool scalePositive = false;
  float costQ = 1, costKv = 1;
  std::string schedule;
  std::vector<TensorMap> tensorMaps;
  bool dynamic = false;   ///< items from the plan's queue
  bool ctaAnItem = false; ///< the launch has a CTA for each item
};

struct Kernel {
  std::string name;
  int32_t heads = 0, kvHeads = 0, dim = 0, dimV = 0;
  bool ragged = true;
  bool softmax = true;
  float defaultScale = 1;
  std::vector<Param> params;
  std::vector<Table> tables;
  std::vector<Hook> hooks;
  uint8_t mapForm = 0; ///< MapForm of Bundle.fbs
  std::string blockMap;
  std::vector<Specialisation> specialisations;
  std::string sourceHash;
};

struct Bundle {
  std::string compiler;
  std::vector<Kernel> kernels;
};

/// The bytes of the bundle file.
std::vector<char> serialise(const Bundle &bundle);

/// Whether these are the bytes of a whole bundle file of this version: length
/// and hash fit.
bool isIntact(llvm::ArrayRef<char> file);

/// Writes bytes beside `path` and renames, so that a reader sees the old file
/// or the whole new one.
llvm::Error writeFileAtomically(llvm::StringRef path,
                                llvm::ArrayRef<char> bytes);

} // namespace attn::emit

#endif // ATTN_EMIT_BUNDLE_H
