//===- Attn.h - the attn dialect --------------------------------*- C++ -*-===//
//
// Everything of the dialect in one header: enumerations, attributes, types and
// ops of levels L0 (problem) and L1 (tiles).  Definitions are generated from
// dialects/Attn/*.td; the contracts are in dialects/Attn/README.md.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_DIALECT_ATTN_IR_ATTN_H
#define ATTN_DIALECT_ATTN_IR_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "attn/Dialect/Attn/AttnDialect.h.inc"
#include "attn/Dialect/Attn/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Attn/AttnAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "attn/Dialect/Attn/AttnTypes.h.inc"

namespace attn {
class HookOp;
class VariantOp;

/// True for the kinds whose first argument is a vector.
inline bool isVectorHook(HookKind kind) {
  return kind >= HookKind::Query && kind <= HookKind::Output;
}
} // namespace attn

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/AttnOps.h.inc"

#endif // ATTN_DIALECT_ATTN_IR_ATTN_H
