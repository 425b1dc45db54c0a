//===- Frag.h - the frag dialect: fragments and instructions ----*- C++ -*-===//
//
// Level L3.  Which thread holds what, which instruction, which barrier.
//
//   %S = frag.mma "mma.m16n8k16" nk %qa, %kr[%p] : ... -> !frag.reg<128x64xf32,
//   ...>
//
// Invariant: a type's layout is always legal (`layoutOf` cannot fail on a
// verified type); every scalar outside the region of a map or a copy is the
// same in all threads that run the code: the CTA, or one replica of a role; but for
// a vote of a warp and the rank of a group of warps.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_DIALECT_FRAG_IR_FRAG_H
#define ATTN_DIALECT_FRAG_IR_FRAG_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "attn/Layout/Layout.h"
#include "attn/Layout/Ldmatrix.h"
#include "attn/Layout/Swizzle.h"

#include "attn/Dialect/Frag/FragDialect.h.inc"
#include "attn/Dialect/Frag/FragEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Frag/FragAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "attn/Dialect/Frag/FragTypes.h.inc"
#define GET_OP_CLASSES
#include "attn/Dialect/Frag/FragOps.h.inc"

namespace attn::frag {

/// The synchronous MMA of this level, as schedules name it.
constexpr llvm::StringLiteral mmaM16N8K16 = "mma.m16n8k16";

/// Columns of the asynchronous MMA `wgmma.m64n<N>k16` that an atom names, or 0.
int32_t wgmmaColumns(llvm::StringRef atom);

/// Registers that a thread has at launch when `threads` share the register file.
int32_t launchRegisters(int32_t threads);

/// Who holds what of a tile.
layout::Layout layoutOf(RegType type);
/// Who holds which rows of a vector: a layout of one atom's columns, of which
/// only the row queries mean something.
layout::Layout layoutOf(VecType type);
/// Addresses inside one slot of a ring, or inside a view that starts at a slot's
/// row: the swizzle of a view's rows is that of its ring.
layout::Swizzle swizzleOf(RingType type);
/// Operand B of an MMA as it is read from `rows` rows of a ring: `nk` or `kn`.
layout::Ldmatrix operandBOf(RingType ring, BOrder order, unsigned rows,
                            unsigned warps);
/// Operand A of an MMA as it is read from a ring.
layout::Ldmatrix operandAOf(RegType type);

/// Bytes of a scalar in memory; an i1 takes one.
unsigned bytesOf(mlir::Type scalar);

} // namespace attn::frag

#endif // ATTN_DIALECT_FRAG_IR_FRAG_H
