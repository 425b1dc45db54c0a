//===- HookProgram.h - decoded hooks: check, build, print -------*- C++ -*-===//
//
// The postfix form of include/attn/ABI/HookExpr.h as an object.  Bytes become a
// HookProgram only through decode(), which executes the program once on types:
// stack depth, operand types, indices and locals are then known to be right,
// and the evaluators need no checks of their own.
//
//   Assembler a(ATTN_HOOK_MASK);
//   a.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
//   a.finish(bytes, error);                       // encoder
//   HookProgram::decode(bytes.data(), bytes.size(), {}, program, error);
//   program.str(" | ")  ->  "arg q | arg k | icmp ge | end"
//
// Invariant: a HookProgram that is valid() leaves exactly one value of the
// kind's result type and never reads outside its stack, locals, pool or the
// declared parameters and tables.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_MASK_HOOKPROGRAM_H
#define ATTN_MASK_HOOKPROGRAM_H

#include "attn/ABI/HookExpr.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attn::mask {

/// Deepest stack a program may use; the evaluators keep it in a fixed array.
constexpr unsigned maxStackDepth = 128;

/// A declared table: element type and number of dimensions (1..3).
struct TableDecl {
  attn_scalar element = ATTN_I32;
  unsigned rank = 1;
};

/// What a program may name: the kernel's parameters and tables, in order of
/// declaration.
struct Signature {
  std::vector<attn_scalar> params;
  std::vector<TableDecl> tables;
};

/// The contents of a table on the host.  Row-major, dimension 0 outermost;
/// unused extents are 1.  i1 elements take one byte, nonzero is true.
struct TableData {
  const void *data = nullptr; // null: no host copy
  attn_scalar element = ATTN_I32;
  unsigned rank = 1;
  uint32_t extent[ATTN_TABLE_MAX_RANK] = {1, 1, 1};
};

/// Runtime parameters (32-bit patterns of the declared type) and tables.
struct Bindings {
  const uint32_t *params = nullptr;
  size_t numParams = 0;
  const TableData *tables = nullptr;
  size_t numTables = 0;
};

attn_scalar resultTypeOf(attn_hook_kind kind); // i1 for masks, else f32
bool isVectorHook(attn_hook_kind kind);
const char *nameOf(attn_hook_kind kind); // "score", "mask", ...
const char *nameOf(attn_scalar type);    // "i32", "f32", "i1"

class HookProgram {
public:
  HookProgram() = default;

  /// Decodes and checks any bytes.  On failure `out` is left invalid and
  /// `error` says what is wrong, with the numbers.
  static bool decode(const void *bytes, size_t size, const Signature &signature,
                     HookProgram &out, std::string &error);

  bool valid() const { return !instructions.empty(); }
  attn_hook_kind kind() const { return hookKind; }
  unsigned numLocals() const { return locals; }
  unsigned stackDepth() const { return depth; }
  const std::vector<attn_hook_instr> &code() const { return instructions; }
  const std::vector<uint32_t> &pool() const { return words; }
  const Signature &signature() const { return decls; }

  bool usesArg(attn_hook_arg arg) const { return (argsUsed >> arg) & 1; }
  bool usesTables() const;

  /// True if the bindings hold every parameter and table that is declared, with
  /// the declared element types and ranks.
  bool checkBindings(const Bindings &bindings, std::string &error) const;

  /// The bytes; decode(encode()) is the identity.
  std::vector<uint8_t> encode() const;

  /// Text of the program, one instruction after another.
  std::string str(const char *separator = "\n") const;

private:
  attn_hook_kind hookKind = ATTN_HOOK_SCORE;
  uint8_t locals = 0;
  unsigned depth = 0;
  uint32_t argsUsed = 0;
  std::vector<attn_hook_instr> instructions;
  std::vector<uint32_t> words;
  Signature decls;
};

/// Writes programs.  Types are not checked here: decode() does, on the bytes.
class Assembler {
public:
  explicit Assembler(attn_hook_kind kind) : kind(kind) {}

  Assembler &arg(attn_hook_arg a) { return emit(ATTN_OP_ARG, a); }
  Assembler &param(unsigned index) { return emit(ATTN_OP_PARAM, index); }
  Assembler &table(unsigned index) { return emit(ATTN_OP_TABLE, index); }
  /// IMM where 16 bits are enough, else a pool word.
  Assembler &i32(int32_t value);
  Assembler &f32(float value);
  Assembler &i1(bool value);
  /// Pops into a new local and returns its number.
  unsigned set();
  Assembler &get(unsigned local) { return emit(ATTN_OP_GET, local); }
  Assembler &icmp(attn_hook_predicate p) { return emit(ATTN_OP_ICMP, p); }
  Assembler &fcmp(attn_hook_predicate p) { return emit(ATTN_OP_FCMP, p); }
  /// Any operation without index.
  Assembler &op(attn_hook_op o) { return emit(o, 0); }

  /// Adds END and writes the bytes.  False if a count does not fit its field.
  bool finish(std::vector<uint8_t> &out, std::string &error);

private:
  Assembler &emit(unsigned op, unsigned index, int imm = 0);
  Assembler &poolWord(uint32_t bits, attn_scalar type);

  attn_hook_kind kind;
  unsigned locals = 0;
  std::vector<uint32_t> words;
  std::vector<attn_hook_instr> instructions;
  std::string failure;
};

} // namespace attn::mask

#endif // ATTN_MASK_HOOKPROGRAM_H
