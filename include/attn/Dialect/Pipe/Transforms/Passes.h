//===- Passes.h - passes of level L2 that do not see attention --*- C++ -*-===//
//
//   attn-opt --pipe-verify-schedule
//
// Invariant: this library names no dialect but pipe and upstream ones.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_DIALECT_PIPE_TRANSFORMS_PASSES_H
#define ATTN_DIALECT_PIPE_TRANSFORMS_PASSES_H

#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "mlir/Pass/Pass.h"

namespace attn::pipe {

#define GEN_PASS_DECL
#include "attn/Dialect/Pipe/PipePasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "attn/Dialect/Pipe/PipePasses.h.inc"

} // namespace attn::pipe

#endif // ATTN_DIALECT_PIPE_TRANSFORMS_PASSES_H
