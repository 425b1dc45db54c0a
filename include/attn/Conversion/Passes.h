//===- Passes.h - passes that cross dialects --------------------*- C++ -*-===//
//
// Declarations and registration of dialects/Conversion/ConversionPasses.td.
// One registration function a pass (registerPipeSkew() and so on), so that a
// tool registers only what it links.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_CONVERSION_PASSES_H
#define ATTN_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace attn {
#define GEN_PASS_DECL
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

#endif // ATTN_CONVERSION_PASSES_H
