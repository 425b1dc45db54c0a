//===- Disassembler.cpp - text of hooks -----------------------------------===//
//
// One line an instruction; constants are printed as values, so the pool does
// not show.
//
//   arg q | arg k | isub | set 0 | get 0 | imm 0 | icmp ge | end
//
// Invariant: every operation that decodes has a spelling.
//
//===----------------------------------------------------------------------===//
#include "OpInfo.h"

#include "attn/Mask/HookProgram.h"

#include <cstdio>
#include <cstring>

using namespace attn::mask;

static const OpInfo table[] = {
    {ATTN_OP_ARG, "arg", IndexUse::Number, false, 0, ATTN_I32, ATTN_I32},
    {ATTN_OP_PARAM, "param", IndexUse::Number, false, 0, ATTN_I32, ATTN_I32},
    {ATTN_OP_IMM, "imm", IndexUse::None, true, 0, ATTN_I32, ATTN_I32},
    {ATTN_OP_POOL, "pool", IndexUse::Number, true, 0, ATTN_I32, ATTN_I32},
    {ATTN_OP_TABLE, "table", IndexUse::Number, false, 0, ATTN_I32, ATTN_I32},
    {ATTN_OP_SET, "set", IndexUse::Number, false, 0, ATTN_I32, ATTN_I32},
    {ATTN_OP_GET, "get", IndexUse::Number, false, 0, ATTN_I32, ATTN_I32},
    {ATTN_OP_IADD, "iadd", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_ISUB, "isub", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_IMUL, "imul", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_IFLOORDIV, "ifloordiv", IndexUse::None, false, 2, ATTN_I32,
     ATTN_I32},
    {ATTN_OP_IMOD, "imod", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_IMIN, "imin", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_IMAX, "imax", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_IAND, "iand", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_IOR, "ior", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_IXOR, "ixor", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_ISHL, "ishl", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_ISHR, "ishr", IndexUse::None, false, 2, ATTN_I32, ATTN_I32},
    {ATTN_OP_ICMP, "icmp", IndexUse::Predicate, false, 2, ATTN_I32, ATTN_I1},
    {ATTN_OP_FCMP, "fcmp", IndexUse::Predicate, false, 2, ATTN_F32, ATTN_I1},
    {ATTN_OP_AND, "and", IndexUse::None, false, 2, ATTN_I1, ATTN_I1},
    {ATTN_OP_OR, "or", IndexUse::None, false, 2, ATTN_I1, ATTN_I1},
    {ATTN_OP_XOR, "xor", IndexUse::None, false, 2, ATTN_I1, ATTN_I1},
    {ATTN_OP_NOT, "not", IndexUse::None, false, 1, ATTN_I1, ATTN_I1},
    {ATTN_OP_SELECT, "select", IndexUse::None, false, 0, ATTN_I32, ATTN_I32},
    {ATTN_OP_FADD, "fadd", IndexUse::None, false, 2, ATTN_F32, ATTN_F32},
    {ATTN_OP_FSUB, "fsub", IndexUse::None, false, 2, ATTN_F32, ATTN_F32},
    {ATTN_OP_FMUL, "fmul", IndexUse::None, false, 2, ATTN_F32, ATTN_F32},
    {ATTN_OP_FDIV, "fdiv", IndexUse::None, false, 2, ATTN_F32, ATTN_F32},
    {ATTN_OP_FNEG, "fneg", IndexUse::None, false, 1, ATTN_F32, ATTN_F32},
    {ATTN_OP_FABS, "fabs", IndexUse::None, false, 1, ATTN_F32, ATTN_F32},
    {ATTN_OP_FMIN, "fmin", IndexUse::None, false, 2, ATTN_F32, ATTN_F32},
    {ATTN_OP_FMAX, "fmax", IndexUse::None, false, 2, ATTN_F32, ATTN_F32},
    {ATTN_OP_EXP2, "exp2", IndexUse::None, false, 1, ATTN_F32, ATTN_F32},
    {ATTN_OP_LOG2, "log2", IndexUse::None, false, 1, ATTN_F32, ATTN_F32},
    {ATTN_OP_TANH, "tanh", IndexUse::None, false, 1, ATTN_F32, ATTN_F32},
    {ATTN_OP_SQRT, "sqrt", IndexUse::None, false, 1, ATTN_F32, ATTN_F32},
    {ATTN_OP_EXP, "exp", IndexUse::None, false, 1, ATTN_F32, ATTN_F32},
    {ATTN_OP_LOG, "log", IndexUse::None, false, 1, ATTN_F32, ATTN_F32},
    {ATTN_OP_SIN, "sin", IndexUse::None, false, 1, ATTN_F32, ATTN_F32},
    {ATTN_OP_COS, "cos", IndexUse::None, false, 1, ATTN_F32, ATTN_F32},
    {ATTN_OP_I2F, "i2f", IndexUse::None, false, 1, ATTN_I32, ATTN_F32},
    {ATTN_OP_F2I, "f2i", IndexUse::None, false, 1, ATTN_F32, ATTN_I32},
    {ATTN_OP_B2I, "b2i", IndexUse::None, false, 1, ATTN_I1, ATTN_I32},
    {ATTN_OP_VEC, "vec", IndexUse::None, false, 0, ATTN_I32, ATTN_F32},
    {ATTN_OP_END, "end", IndexUse::None, false, 0, ATTN_I32, ATTN_I32},
};

const OpInfo *attn::mask::opInfo(uint8_t op) {
  for (const OpInfo &info : table)
    if (info.op == op)
      return &info;
  return nullptr;
}

std::string attn::mask::spelling(uint8_t op) {
  if (const OpInfo *info = opInfo(op))
    return info->name;
  char text[8];
  std::snprintf(text, sizeof(text), "0x%02x", op);
  return text;
}

const char *attn::mask::argName(unsigned arg) {
  static const char *const names[ATTN_ARGS] = {"s", "b",     "h",      "q",
                                               "k", "q_len", "kv_len", "i"};
  return arg < ATTN_ARGS ? names[arg] : "?";
}

const char *attn::mask::predicateName(unsigned predicate) {
  static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  return predicate <= ATTN_CMP_GE ? names[predicate] : "?";
}

const char *attn::mask::nameOf(attn_hook_kind kind) {
  static const char *const names[ATTN_HOOK_KINDS] = {
      "score", "mask", "sink", "query", "key", "value", "output"};
  return unsigned(kind) < ATTN_HOOK_KINDS ? names[kind] : "?";
}

const char *attn::mask::nameOf(attn_scalar type) {
  switch (type) {
  case ATTN_I32:
    return "i32";
  case ATTN_F32:
    return "f32";
  case ATTN_I1:
    return "i1";
  }
  return "?";
}

static std::string constantText(uint32_t bits, int type) {
  if (type == ATTN_I32)
    return std::to_string(int32_t(bits));
  if (type == ATTN_I1)
    return bits ? "true" : "false";
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", double(value));
  return std::string("f32 ") + text;
}

std::string HookProgram::str(const char *separator) const {
  std::string text;
  for (const attn_hook_instr &in : instructions) {
    if (!text.empty())
      text += separator;
    const OpInfo &info = *opInfo(in.op);
    text += in.op == ATTN_OP_POOL ? "imm" : info.name;
    if (in.op == ATTN_OP_ARG)
      text += std::string(" ") + argName(in.index);
    else if (in.op == ATTN_OP_POOL)
      text += " " + constantText(words[in.index], in.imm);
    else if (in.op == ATTN_OP_IMM)
      text += " " + std::to_string(in.imm);
    else if (info.index == IndexUse::Predicate)
      text += std::string(" ") + predicateName(in.index);
    else if (info.index == IndexUse::Number)
      text += " " + std::to_string(in.index);
  }
  return text;
}
