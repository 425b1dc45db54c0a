//===- EncodeHook.h - hook region to postfix program ------------*- C++ -*-===//
//
// The one encoding of hooks (attn/ABI/HookExpr.h) that the bundle holds and
// that the interval analysis, the oracle and the planner evaluate:
//
//   %d = arith.subi %q, %k        arg q | arg k | sub | set 0 |
//   ... two uses of %d       ->   get 0 | imm 0 | icmp ge | get 0 | ...
//
// Invariant: the program gives the value that the compiled hook gives, for
// every argument.  What cannot be said in it is refused by name.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_ANALYSIS_ENCODEHOOK_H
#define ATTN_ANALYSIS_ENCODEHOOK_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Mask/HookProgram.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// Types of the variant's parameters and tables, in order of declaration.
mask::Signature signatureOf(VariantOp variant);

/// Bytes and checked program of a hook.  False with `error` set if an operation
/// has no encoding or a field of the format is too small.
bool encodeHook(HookOp hook, std::vector<uint8_t> &bytes, std::string &error);
bool encodeHook(HookOp hook, mask::HookProgram &program, std::string &error);

/// The same; reports the error at the hook.
mlir::FailureOr<std::vector<uint8_t>> encodeHook(HookOp hook);

} // namespace attn

#endif // ATTN_ANALYSIS_ENCODEHOOK_H
