//===- Eval.cpp - scalar evaluation of hooks ------------------------------===//
//
// A stack machine without tags: decode() has fixed the type of every value, so
// a slot holds an integer (i1: 0 or 1) or a float, never both.
//
//   get 0 | imm 0 | icmp ge   with local 0 = 7:  [7] -> [7, 0] -> [1]
//
// Invariant: integer arithmetic is done on unsigned or 64-bit values, so no
// input is undefined behaviour.
//
//===----------------------------------------------------------------------===//
#include "attn/Mask/Eval.h"

#include "TableRead.h"

#include <cassert>
#include <cmath>
#include <cstring>

using namespace attn::mask;

int32_t attn::mask::evalIntOp(attn_hook_op op, int32_t a, int32_t b) {
  uint32_t ua = uint32_t(a), ub = uint32_t(b);
  int64_t wide = a;
  switch (op) {
  case ATTN_OP_IADD:
    return int32_t(ua + ub);
  case ATTN_OP_ISUB:
    return int32_t(ua - ub);
  case ATTN_OP_IMUL:
    return int32_t(ua * ub);
  case ATTN_OP_IFLOORDIV: {
    if (b == 0)
      return 0;
    int64_t quotient = wide / b; // 64 bits: INT_MIN / -1 wraps afterwards
    if (wide % b != 0 && (a < 0) != (b < 0))
      --quotient;
    return int32_t(uint32_t(uint64_t(quotient)));
  }
  case ATTN_OP_IMOD: {
    if (b == 0)
      return 0;
    int64_t rest = wide % b;
    if (rest != 0 && (rest < 0) != (b < 0))
      rest += b;
    return int32_t(rest);
  }
  case ATTN_OP_IMIN:
    return a < b ? a : b;
  case ATTN_OP_IMAX:
    return a > b ? a : b;
  case ATTN_OP_IAND:
    return int32_t(ua & ub);
  case ATTN_OP_IOR:
    return int32_t(ua | ub);
  case ATTN_OP_IXOR:
    return int32_t(ua ^ ub);
  case ATTN_OP_ISHL:
    return int32_t(ua << (ub & 31));
  case ATTN_OP_ISHR:
    return int32_t(wide >> (ub & 31));
  default:
    assert(false && "not an integer operation");
    return 0;
  }
}

bool attn::mask::evalIntCmp(attn_hook_predicate p, int64_t a, int64_t b) {
  switch (p) {
  case ATTN_CMP_EQ:
    return a == b;
  case ATTN_CMP_NE:
    return a != b;
  case ATTN_CMP_LT:
    return a < b;
  case ATTN_CMP_LE:
    return a <= b;
  case ATTN_CMP_GT:
    return a > b;
  case ATTN_CMP_GE:
    return a >= b;
  }
  return false;
}

namespace {

template <class Float> struct Value {
  int32_t i;
  Float f;
};

template <class Float> bool compareFloats(unsigned p, Float a, Float b) {
  switch (p) {
  case ATTN_CMP_EQ:
    return a == b;
  case ATTN_CMP_NE:
    return !(a == b); // unordered or not equal
  case ATTN_CMP_LT:
    return a < b;
  case ATTN_CMP_LE:
    return a <= b;
  case ATTN_CMP_GT:
    return a > b;
  default:
    return a >= b;
  }
}

template <class Float> int32_t toInt(Float f) {
  if (std::isnan(f))
    return 0;
  if (f >= Float(2147483648.0))
    return INT32_MAX;
  if (f <= Float(-2147483648.0))
    return INT32_MIN;
  return int32_t(f);
}

template <class Float> Value<Float> fromWord(uint32_t bits, attn_scalar type) {
  Value<Float> v{};
  if (type == ATTN_F32) {
    float f;
    std::memcpy(&f, &bits, sizeof(f));
    v.f = f;
  } else {
    v.i = type == ATTN_I1 ? bits != 0 : int32_t(bits);
  }
  return v;
}

template <class Float> int32_t intArg(unsigned index, const Env<Float> &env) {
  switch (index) {
  case ATTN_ARG_B:
    return env.b;
  case ATTN_ARG_H:
    return env.h;
  case ATTN_ARG_Q:
    return env.q;
  case ATTN_ARG_K:
    return env.k;
  case ATTN_ARG_Q_LEN:
    return env.qLen;
  case ATTN_ARG_KV_LEN:
    return env.kvLen;
  default:
    return env.i;
  }
}

template <class Float> Float unary(unsigned op, Float a) {
  switch (op) {
  case ATTN_OP_FNEG:
    return -a;
  case ATTN_OP_FABS:
    return std::fabs(a);
  case ATTN_OP_EXP2:
    return std::exp2(a);
  case ATTN_OP_LOG2:
    return std::log2(a);
  case ATTN_OP_TANH:
    return std::tanh(a);
  case ATTN_OP_SQRT:
    return std::sqrt(a);
  case ATTN_OP_EXP:
    return std::exp(a);
  case ATTN_OP_LOG:
    return std::log(a);
  case ATTN_OP_SIN:
    return std::sin(a);
  default:
    return std::cos(a);
  }
}

template <class Float> Float binary(unsigned op, Float a, Float b) {
  switch (op) {
  case ATTN_OP_FADD:
    return a + b;
  case ATTN_OP_FSUB:
    return a - b;
  case ATTN_OP_FMUL:
    return a * b;
  case ATTN_OP_FDIV:
    return a / b;
  case ATTN_OP_FMIN:
    return std::fmin(a, b);
  default:
    return std::fmax(a, b);
  }
}

template <class Float>
Value<Float> run(const HookProgram &program, const Env<Float> &env) {
  using V = Value<Float>;
  // Not initialised: every slot is written before it is read.
  V stack[maxStackDepth];
  V locals[256];
  V *top = stack; // one past the top
  const Signature &decls = program.signature();
  for (const attn_hook_instr &in : program.code()) {
    switch (in.op) {
    case ATTN_OP_ARG:
      if (in.index == ATTN_ARG_S)
        *top++ = {0, env.s};
      else
        *top++ = {intArg(in.index, env), 0};
      break;
    case ATTN_OP_PARAM: {
      uint32_t word =
          in.index < env.bindings.numParams ? env.bindings.params[in.index] : 0;
      *top++ = fromWord<Float>(word, decls.params[in.index]);
      break;
    }
    case ATTN_OP_IMM:
      *top++ = {in.imm, 0};
      break;
    case ATTN_OP_POOL:
      *top++ = fromWord<Float>(program.pool()[in.index], attn_scalar(in.imm));
      break;
    case ATTN_OP_TABLE: {
      const TableDecl &decl = decls.tables[in.index];
      top -= decl.rank;
      uint32_t word = 0;
      if (in.index < env.bindings.numTables) {
        int32_t index[ATTN_TABLE_MAX_RANK];
        for (unsigned d = 0; d < decl.rank; ++d)
          index[d] = top[d].i;
        word = readTable(env.bindings.tables[in.index], decl, index);
      }
      *top++ = fromWord<Float>(word, decl.element);
      break;
    }
    case ATTN_OP_SET:
      locals[in.index] = *--top;
      break;
    case ATTN_OP_GET:
      *top++ = locals[in.index];
      break;
    case ATTN_OP_ICMP:
      --top;
      top[-1].i =
          evalIntCmp(attn_hook_predicate(in.index), top[-1].i, top[0].i);
      break;
    case ATTN_OP_FCMP:
      --top;
      top[-1].i = compareFloats(in.index, top[-1].f, top[0].f);
      break;
    case ATTN_OP_AND:
      --top;
      top[-1].i &= top[0].i;
      break;
    case ATTN_OP_OR:
      --top;
      top[-1].i |= top[0].i;
      break;
    case ATTN_OP_XOR:
      --top;
      top[-1].i ^= top[0].i;
      break;
    case ATTN_OP_NOT:
      top[-1].i ^= 1;
      break;
    case ATTN_OP_SELECT:
      top -= 2;
      top[-1] = top[-1].i ? top[0] : top[1];
      break;
    case ATTN_OP_I2F:
      top[-1].f = Float(top[-1].i);
      break;
    case ATTN_OP_F2I:
      top[-1].i = toInt(top[-1].f);
      break;
    case ATTN_OP_B2I: // an i1 is held as 0 or 1
      break;
    case ATTN_OP_VEC: {
      int64_t at = top[-1].i;
      at = at >= env.xSize ? env.xSize - 1 : at;
      top[-1].f = env.xSize > 0 ? env.x[at < 0 ? 0 : at] : Float(0);
      break;
    }
    case ATTN_OP_FADD:
    case ATTN_OP_FSUB:
    case ATTN_OP_FMUL:
    case ATTN_OP_FDIV:
    case ATTN_OP_FMIN:
    case ATTN_OP_FMAX:
      --top;
      top[-1].f = binary(in.op, top[-1].f, top[0].f);
      break;
    case ATTN_OP_END:
      return top[-1];
    default:
      if (in.op >= ATTN_OP_IADD && in.op <= ATTN_OP_ISHR) {
        --top;
        top[-1].i = evalIntOp(attn_hook_op(in.op), top[-1].i, top[0].i);
      } else {
        top[-1].f = unary(in.op, top[-1].f);
      }
      break;
    }
  }
  return V{}; // an invalid program has no code
}

} // namespace

template <class Float>
bool attn::mask::evalMask(const HookProgram &program, const Env<Float> &env) {
  return program.kind() == ATTN_HOOK_MASK && run(program, env).i != 0;
}

template <class Float>
Float attn::mask::evalFloat(const HookProgram &program, const Env<Float> &env) {
  return program.kind() == ATTN_HOOK_MASK ? Float(0) : run(program, env).f;
}

template bool attn::mask::evalMask(const HookProgram &, const Env<double> &);
template bool attn::mask::evalMask(const HookProgram &, const Env<float> &);
template double attn::mask::evalFloat(const HookProgram &, const Env<double> &);
template float attn::mask::evalFloat(const HookProgram &, const Env<float> &);
