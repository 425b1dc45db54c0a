//===- Pipe.h - the pipe dialect: roles joined by channels ------*- C++ -*-===//
//
// Level L2.  Who does it, when, with which buffers in flight.
//
//   %k = pipe.channel "k" from "all" to ["all"]
//          : !pipe.channel<!attn.tile<64x128xbf16>, depth = 2>
//
// Invariant: nothing here names attention; payloads are any type.  The state
// machine of a slot is in dialects/Pipe/README.md.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_DIALECT_PIPE_IR_PIPE_H
#define ATTN_DIALECT_PIPE_IR_PIPE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "attn/Dialect/Pipe/PipeDialect.h.inc"
#include "attn/Dialect/Pipe/PipeEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Pipe/PipeAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "attn/Dialect/Pipe/PipeTypes.h.inc"
#define GET_OP_CLASSES
#include "attn/Dialect/Pipe/PipeOps.h.inc"

#endif // ATTN_DIALECT_PIPE_IR_PIPE_H
