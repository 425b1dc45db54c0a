//===- Passes.h - passes of level L3 ----------------------------*- C++ -*-===//
//
//   attn-opt --frag-join-maps --frag-fold-affine --frag-allocate-smem --frag-verify
//
// Invariant: this library names no dialect but frag and upstream ones.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_DIALECT_FRAG_TRANSFORMS_PASSES_H
#define ATTN_DIALECT_FRAG_TRANSFORMS_PASSES_H

#include "attn/Dialect/Frag/IR/Frag.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"

namespace attn::frag {

#define GEN_PASS_DECL
#include "attn/Dialect/Frag/FragPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "attn/Dialect/Frag/FragPasses.h.inc"

} // namespace attn::frag

#endif // ATTN_DIALECT_FRAG_TRANSFORMS_PASSES_H
