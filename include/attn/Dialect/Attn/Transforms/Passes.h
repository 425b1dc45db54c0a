//===- Passes.h - passes of levels L0 and L1 --------------------*- C++ -*-===//
//
// Declarations and registration of dialects/Attn/AttnPasses.td.  Each pass is
// created by createAttn<Name>() or registered by its flag, e.g.
// --attn-peel-classes.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_H
#define ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace attn {
#define GEN_PASS_DECL
#include "attn/Dialect/Attn/AttnPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_H
