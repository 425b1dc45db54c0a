//===- HookProgram.cpp - decoding, checking and building hooks ------------===//
//
// decode() reads the container first (sizes must add up exactly), then runs
// the code once on a stack of types.  A program has no jumps, so one pass in
// order is a complete check.
//
//   01030000 01040000 20050000 ff000000
//   i32      i32 i32  i1       result i1: a mask
//
// Invariant: nothing is stored in `out` before every check has passed.
//
//===----------------------------------------------------------------------===//
#include "attn/Mask/HookProgram.h"

#include "OpInfo.h"

#include "attn/ABI/Version.h"

#include <cassert>
#include <cstring>

using namespace attn::mask;

static_assert(sizeof(attn_hook_header) == 12 && sizeof(attn_hook_instr) == 4,
              "the encoding is packed");

attn_scalar attn::mask::resultTypeOf(attn_hook_kind kind) {
  return kind == ATTN_HOOK_MASK ? ATTN_I1 : ATTN_F32;
}

bool attn::mask::isVectorHook(attn_hook_kind kind) {
  return kind == ATTN_HOOK_QUERY || kind == ATTN_HOOK_KEY ||
         kind == ATTN_HOOK_VALUE || kind == ATTN_HOOK_OUTPUT;
}

/// Arguments that a kind of hook has.  The lengths are readable everywhere.
static bool hasArg(attn_hook_kind kind, unsigned arg) {
  switch (arg) {
  case ATTN_ARG_B:
  case ATTN_ARG_H:
  case ATTN_ARG_Q_LEN:
  case ATTN_ARG_KV_LEN:
    return true;
  case ATTN_ARG_S:
    return kind == ATTN_HOOK_SCORE;
  case ATTN_ARG_Q:
    return kind != ATTN_HOOK_SINK;
  case ATTN_ARG_K:
    return kind == ATTN_HOOK_SCORE || kind == ATTN_HOOK_MASK;
  case ATTN_ARG_I:
    return isVectorHook(kind);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Abstract execution
//===----------------------------------------------------------------------===//

namespace {

/// Runs the code on types.
class Checker {
public:
  Checker(attn_hook_kind kind, unsigned locals, const uint32_t *pool,
          unsigned poolSize, const Signature &decls, std::string &error)
      : kind(kind), locals(locals), pool(pool), poolSize(poolSize),
        decls(decls), error(error), localTypes(locals, Unset) {}

  bool run(const std::vector<attn_hook_instr> &code);

  unsigned maxDepth = 0;
  uint32_t argsUsed = 0;

private:
  static constexpr uint8_t Unset = 0xff;

  /// Prefixes the message with the place.
  bool fail(const std::string &what) {
    error = "instruction " + std::to_string(at) + " (" + spelling(in.op) +
            "): " + what;
    return false;
  }
  bool push(unsigned type) {
    if (depth == maxStackDepth)
      return fail("stack is deeper than " + std::to_string(maxStackDepth) +
                  " values");
    stack[depth++] = uint8_t(type);
    maxDepth = std::max(maxDepth, depth);
    return true;
  }
  bool need(unsigned count) {
    return depth >= count ||
           fail("needs " + std::to_string(count) +
                " operands but the stack has " + std::to_string(depth));
  }
  bool pop(unsigned type) {
    if (!need(1))
      return false;
    unsigned have = stack[--depth];
    return have == type ||
           fail(std::string("operand is ") + nameOf(attn_scalar(have)) +
                " but must be " + nameOf(attn_scalar(type)));
  }
  /// An operand number must be below its count.
  bool inRange(const char *what, unsigned count) {
    return in.index < count ||
           fail(std::string(what) + " " + std::to_string(in.index) +
                " is used but " + std::to_string(count) + " exist");
  }
  bool step();
  bool stepOperation();

  attn_hook_kind kind;
  unsigned locals;
  const uint32_t *pool;
  unsigned poolSize;
  const Signature &decls;
  std::string &error;
  std::vector<uint8_t> localTypes;
  uint8_t stack[maxStackDepth];
  unsigned depth = 0;
  unsigned at = 0;
  attn_hook_instr in{};
};

} // namespace

bool Checker::run(const std::vector<attn_hook_instr> &code) {
  for (at = 0; at < code.size(); ++at) {
    in = code[at];
    const OpInfo *info = opInfo(in.op);
    if (!info)
      return fail("unknown operation");
    if (info->index == IndexUse::None && in.index != 0)
      return fail("has operand " + std::to_string(in.index) +
                  " but takes none");
    if (!info->hasImm && in.imm != 0)
      return fail("has immediate " + std::to_string(in.imm) +
                  " but takes none");
    if (in.op == ATTN_OP_END) {
      if (at + 1 != code.size())
        return fail("is not the last of " + std::to_string(code.size()) +
                    " instructions");
      if (depth != 1)
        return fail("stack has " + std::to_string(depth) +
                    " values but must have 1");
      return pop(resultTypeOf(kind));
    }
    if (!step())
      return false;
  }
  error =
      "last of " + std::to_string(code.size()) + " instructions is not an end";
  return false;
}

/// Operations that read something other than the stack.
bool Checker::step() {
  switch (in.op) {
  case ATTN_OP_ARG:
    if (!inRange("argument", ATTN_ARGS))
      return false;
    if (!hasArg(kind, in.index))
      return fail(std::string("a ") + nameOf(kind) + " hook has no argument " +
                  argName(in.index));
    argsUsed |= 1u << in.index;
    return push(in.index == ATTN_ARG_S ? ATTN_F32 : ATTN_I32);
  case ATTN_OP_PARAM:
    return inRange("parameter", unsigned(decls.params.size())) &&
           push(decls.params[in.index]);
  case ATTN_OP_IMM:
    return push(ATTN_I32);
  case ATTN_OP_POOL:
    if (!inRange("pool word", poolSize))
      return false;
    if (in.imm < ATTN_I32 || in.imm > ATTN_I1)
      return fail("type " + std::to_string(in.imm) + " is not one of 3");
    if (in.imm == ATTN_I1 && pool[in.index] > 1)
      return fail("pool word " + std::to_string(in.index) + " is " +
                  std::to_string(pool[in.index]) + " but an i1 is 0 or 1");
    return push(unsigned(in.imm));
  case ATTN_OP_TABLE: {
    if (!inRange("table", unsigned(decls.tables.size())))
      return false;
    const TableDecl &table = decls.tables[in.index];
    if (!need(table.rank))
      return false;
    for (unsigned d = 0; d < table.rank; ++d)
      if (!pop(ATTN_I32))
        return false;
    return push(table.element);
  }
  case ATTN_OP_SET:
    if (!inRange("local", locals) || !need(1))
      return false;
    if (localTypes[in.index] != Unset)
      return fail("local " + std::to_string(in.index) + " is written twice");
    localTypes[in.index] = stack[--depth];
    return true;
  case ATTN_OP_GET:
    if (!inRange("local", locals))
      return false;
    if (localTypes[in.index] == Unset)
      return fail("local " + std::to_string(in.index) +
                  " is read before it is written");
    return push(localTypes[in.index]);
  case ATTN_OP_VEC:
    if (!isVectorHook(kind))
      return fail(std::string("a ") + nameOf(kind) + " hook has no vector");
    return pop(ATTN_I32) && push(ATTN_F32);
  case ATTN_OP_SELECT: {
    if (!need(3))
      return false;
    unsigned no = stack[depth - 1], yes = stack[depth - 2];
    if (no != yes)
      return fail(std::string("values are ") + nameOf(attn_scalar(yes)) +
                  " and " + nameOf(attn_scalar(no)));
    depth -= 2;
    return pop(ATTN_I1) && push(yes);
  }
  case ATTN_OP_ICMP:
  case ATTN_OP_FCMP:
    if (in.index > ATTN_CMP_GE)
      return fail("predicate " + std::to_string(in.index) + " is not one of 6");
    return stepOperation();
  default:
    return stepOperation();
  }
}

/// Operations with a fixed type of operands and result.
bool Checker::stepOperation() {
  const OpInfo &info = *opInfo(in.op);
  assert(info.operands && "operation without a case of its own");
  if (!need(info.operands))
    return false;
  for (unsigned i = 0; i < info.operands; ++i)
    if (!pop(info.operandType))
      return false;
  return push(info.resultType);
}

//===----------------------------------------------------------------------===//
// HookProgram
//===----------------------------------------------------------------------===//

static uint16_t load16(const uint8_t *p) {
  return uint16_t(p[0] | (unsigned(p[1]) << 8));
}
static uint32_t load32(const uint8_t *p) {
  return uint32_t(load16(p)) | (uint32_t(load16(p + 2)) << 16);
}

bool HookProgram::decode(const void *bytes, size_t size,
                         const Signature &signature, HookProgram &out,
                         std::string &error) {
  out = HookProgram();
  const uint8_t *p = static_cast<const uint8_t *>(bytes);
  if (size < sizeof(attn_hook_header)) {
    error =
        "hook has " + std::to_string(size) + " bytes but its header needs 12";
    return false;
  }
  if (std::memcmp(p, ATTN_HOOK_MAGIC, 4) != 0) {
    error = "hook does not begin with " ATTN_HOOK_MAGIC;
    return false;
  }
  unsigned version = load16(p + 4), kind = p[6], locals = p[7];
  unsigned count = load16(p + 8), poolSize = load16(p + 10);
  if (version != ATTN_HOOK_EXPR_VERSION) {
    error = "hook has version " + std::to_string(version) +
            " but this reader knows " + std::to_string(ATTN_HOOK_EXPR_VERSION);
    return false;
  }
  if (kind >= ATTN_HOOK_KINDS) {
    error = "hook kind " + std::to_string(kind) + " is not one of " +
            std::to_string(ATTN_HOOK_KINDS);
    return false;
  }
  size_t expected = 12 + size_t(4) * poolSize + size_t(4) * count;
  if (size != expected) {
    error = "hook has " + std::to_string(size) + " bytes but its header says " +
            std::to_string(expected);
    return false;
  }
  for (size_t i = 0; i < signature.tables.size(); ++i) {
    unsigned rank = signature.tables[i].rank;
    if (rank < 1 || rank > ATTN_TABLE_MAX_RANK) {
      error = "table " + std::to_string(i) + " has rank " +
              std::to_string(rank) + " but 1 to " +
              std::to_string(ATTN_TABLE_MAX_RANK) + " are possible";
      return false;
    }
  }

  HookProgram program;
  program.hookKind = attn_hook_kind(kind);
  program.locals = uint8_t(locals);
  p += 12;
  for (unsigned i = 0; i < poolSize; ++i, p += 4)
    program.words.push_back(load32(p));
  for (unsigned i = 0; i < count; ++i, p += 4)
    program.instructions.push_back({p[0], p[1], int16_t(load16(p + 2))});

  Checker checker(program.hookKind, locals, program.words.data(), poolSize,
                  signature, error);
  if (!checker.run(program.instructions))
    return false;
  program.depth = checker.maxDepth;
  program.argsUsed = checker.argsUsed;
  program.decls = signature;
  out = std::move(program);
  return true;
}

bool HookProgram::usesTables() const {
  for (const attn_hook_instr &in : instructions)
    if (in.op == ATTN_OP_TABLE)
      return true;
  return false;
}

bool HookProgram::checkBindings(const Bindings &bindings,
                                std::string &error) const {
  if (bindings.numParams < decls.params.size()) {
    error = "hook declares " + std::to_string(decls.params.size()) +
            " parameters but " + std::to_string(bindings.numParams) +
            " are bound";
    return false;
  }
  if (bindings.numTables < decls.tables.size()) {
    error = "hook declares " + std::to_string(decls.tables.size()) +
            " tables but " + std::to_string(bindings.numTables) + " are bound";
    return false;
  }
  for (size_t i = 0; i < decls.tables.size(); ++i) {
    const TableDecl &decl = decls.tables[i];
    const TableData &data = bindings.tables[i];
    if (data.element != decl.element) {
      error = "table " + std::to_string(i) + " is declared " +
              nameOf(decl.element) + " but bound as " + nameOf(data.element);
      return false;
    }
    if (data.rank != decl.rank) {
      error = "table " + std::to_string(i) + " is declared with rank " +
              std::to_string(decl.rank) + " but bound with " +
              std::to_string(data.rank);
      return false;
    }
  }
  return true;
}

static void append16(std::vector<uint8_t> &out, unsigned v) {
  out.push_back(uint8_t(v));
  out.push_back(uint8_t(v >> 8));
}

static std::vector<uint8_t>
encodeProgram(attn_hook_kind kind, unsigned locals,
              const std::vector<uint32_t> &words,
              const std::vector<attn_hook_instr> &code) {
  std::vector<uint8_t> out;
  out.reserve(12 + 4 * words.size() + 4 * code.size());
  for (const char *m = ATTN_HOOK_MAGIC; *m; ++m)
    out.push_back(uint8_t(*m));
  append16(out, ATTN_HOOK_EXPR_VERSION);
  out.push_back(uint8_t(kind));
  out.push_back(uint8_t(locals));
  append16(out, unsigned(code.size()));
  append16(out, unsigned(words.size()));
  for (uint32_t w : words) {
    append16(out, w & 0xffffu);
    append16(out, w >> 16);
  }
  for (const attn_hook_instr &in : code) {
    out.push_back(in.op);
    out.push_back(in.index);
    append16(out, uint16_t(in.imm));
  }
  return out;
}

std::vector<uint8_t> HookProgram::encode() const {
  return encodeProgram(hookKind, locals, words, instructions);
}

//===----------------------------------------------------------------------===//
// Assembler
//===----------------------------------------------------------------------===//

Assembler &Assembler::emit(unsigned op, unsigned index, int imm) {
  if (index > 0xff && failure.empty())
    failure = std::string("hook needs operand ") + std::to_string(index) +
              " of " + spelling(uint8_t(op)) + " but 255 is the highest";
  instructions.push_back({uint8_t(op), uint8_t(index), int16_t(imm)});
  return *this;
}

Assembler &Assembler::poolWord(uint32_t bits, attn_scalar type) {
  unsigned index = 0;
  while (index < words.size() && words[index] != bits)
    ++index;
  if (index == words.size())
    words.push_back(bits);
  return emit(ATTN_OP_POOL, index, type);
}

Assembler &Assembler::i32(int32_t value) {
  if (value >= INT16_MIN && value <= INT16_MAX)
    return emit(ATTN_OP_IMM, 0, value);
  return poolWord(uint32_t(value), ATTN_I32);
}

Assembler &Assembler::f32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return poolWord(bits, ATTN_F32);
}

Assembler &Assembler::i1(bool value) {
  return poolWord(value ? 1 : 0, ATTN_I1);
}

unsigned Assembler::set() {
  unsigned local = locals++;
  emit(ATTN_OP_SET, local);
  return local;
}

bool Assembler::finish(std::vector<uint8_t> &out, std::string &error) {
  emit(ATTN_OP_END, 0);
  // 255 and not 256 locals: the header's count is one byte.
  if (failure.empty() && locals > 0xff)
    failure =
        "hook needs " + std::to_string(locals) + " locals but 255 are possible";
  if (failure.empty() && instructions.size() > 0xffff)
    failure = "hook has " + std::to_string(instructions.size()) +
              " instructions but 65535 are possible";
  if (!failure.empty()) {
    error = failure;
    return false;
  }
  out = encodeProgram(kind, locals, words, instructions);
  return true;
}
