//===- OpInfo.h - facts about the operations of hooks -----------*- C++ -*-===//
//
// One table of spelling, operand and result types, used by the checker and the
// disassembler.
//
//   ATTN_OP_ICMP -> "icmp", 2 operands of i32, result i1, predicate in index
//
// Invariant: an operation that is not in the table does not decode.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_MASK_OPINFO_H
#define ATTN_LIB_MASK_OPINFO_H

#include "attn/ABI/HookExpr.h"

#include <string>

namespace attn::mask {

enum class IndexUse : uint8_t { None, Number, Predicate };

struct OpInfo {
  uint8_t op;
  const char *name;
  IndexUse index;
  bool hasImm;
  /// 0: the checker has a case of its own.
  uint8_t operands;
  attn_scalar operandType;
  attn_scalar resultType;
};

/// Null for an unknown operation.
const OpInfo *opInfo(uint8_t op);

/// Name of an operation, or its number in hexadecimal.
std::string spelling(uint8_t op);

const char *argName(unsigned arg);
const char *predicateName(unsigned predicate);

} // namespace attn::mask

#endif // ATTN_LIB_MASK_OPINFO_H
