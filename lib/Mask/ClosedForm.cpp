//===- ClosedForm.cpp - masks that are bounds on k ------------------------===//
//
// Runs the program on symbolic linear sums and on conjunctions of "sum >= 0",
// then solves each for k.
//
//   (q - k < window)  ->  window - 1 - q + k >= 0  ->  k >= q - window + 1
//
// Invariant: anything that is not exactly representable becomes Other, and a
// mask that is Other has no closed form.
//
//===----------------------------------------------------------------------===//
#include "attn/Mask/ClosedForm.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

using namespace attn::mask;

namespace {

/// Coefficients beyond this are refused; products of two fit 64 bits.
constexpr int64_t limit = int64_t(1) << 31;

bool small(int64_t v) { return v >= -limit && v <= limit; }

bool small(const LinearSum &s) {
  for (const ParamTerm &t : s.params)
    if (!small(t.coeff))
      return false;
  return small(s.q) && small(s.k) && small(s.qLen) && small(s.kvLen) &&
         small(s.constant);
}

bool isConstant(const LinearSum &s) {
  return !s.q && !s.k && !s.qLen && !s.kvLen && s.params.empty();
}

/// a * x + b * y; the caller checks the size.
LinearSum combine(int64_t a, const LinearSum &x, int64_t b,
                  const LinearSum &y) {
  LinearSum s;
  s.q = a * x.q + b * y.q;
  s.k = a * x.k + b * y.k;
  s.qLen = a * x.qLen + b * y.qLen;
  s.kvLen = a * x.kvLen + b * y.kvLen;
  s.constant = a * x.constant + b * y.constant;
  size_t i = 0, j = 0;
  auto add = [&s](unsigned index, int64_t coeff) {
    if (coeff)
      s.params.push_back({index, coeff});
  };
  while (i < x.params.size() || j < y.params.size()) {
    unsigned xi = i < x.params.size() ? x.params[i].index : ~0u;
    unsigned yj = j < y.params.size() ? y.params[j].index : ~0u;
    if (xi < yj) {
      add(xi, a * x.params[i++].coeff);
    } else if (yj < xi) {
      add(yj, b * y.params[j++].coeff);
    } else {
      add(xi, a * x.params[i++].coeff + b * y.params[j++].coeff);
    }
  }
  return s;
}

struct Value {
  enum Kind { Other, Sum, Conjunction, False } kind = Other;
  LinearSum sum;
  std::vector<LinearSum> terms; // each >= 0; none: true
};

Value constantBool(bool value) {
  Value v;
  v.kind = value ? Value::Conjunction : Value::False;
  return v;
}

Value sumValue(LinearSum s) {
  Value v;
  if (small(s)) {
    v.kind = Value::Sum;
    v.sum = std::move(s);
  }
  return v;
}

bool isTrue(const Value &v) {
  return v.kind == Value::Conjunction && v.terms.empty();
}

Value notOf(const Value &v) {
  if (v.kind == Value::False)
    return constantBool(true);
  if (isTrue(v))
    return constantBool(false);
  Value r;
  if (v.kind != Value::Conjunction || v.terms.size() != 1)
    return r;
  LinearSum negated = combine(-1, v.terms[0], 0, {}); // x >= 0 fails:
  negated.constant -= 1;                              // -x - 1 >= 0
  r.kind = Value::Conjunction;
  r.terms.push_back(std::move(negated));
  return r;
}

Value andOf(Value a, const Value &b) {
  if (a.kind == Value::False || b.kind == Value::False)
    return constantBool(false);
  if (a.kind != Value::Conjunction || b.kind != Value::Conjunction)
    return {};
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  return a;
}

Value orOf(const Value &a, const Value &b) {
  if (isTrue(a) || isTrue(b))
    return constantBool(true);
  if (a.kind == Value::False)
    return b;
  if (b.kind == Value::False)
    return a;
  return {};
}

Value compare(unsigned predicate, const Value &a, const Value &b) {
  if (a.kind != Value::Sum || b.kind != Value::Sum)
    return {};
  LinearSum diff = combine(1, a.sum, -1, b.sum);
  LinearSum opposite = combine(-1, diff, 0, {});
  Value v;
  v.kind = Value::Conjunction;
  switch (predicate) {
  case ATTN_CMP_EQ:
    v.terms = {diff, opposite};
    break;
  case ATTN_CMP_LT:
    opposite.constant -= 1;
    v.terms = {opposite};
    break;
  case ATTN_CMP_LE:
    v.terms = {opposite};
    break;
  case ATTN_CMP_GT:
    diff.constant -= 1;
    v.terms = {diff};
    break;
  case ATTN_CMP_GE:
    v.terms = {diff};
    break;
  default:
    if (isConstant(diff))
      return constantBool(diff.constant != 0);
    return {};
  }
  if (!isConstant(diff))
    return v;
  for (const LinearSum &t : v.terms)
    if (t.constant < 0)
      return constantBool(false);
  return constantBool(true);
}

class Solver {
public:
  Solver(const HookProgram &program, ClosedForm &out)
      : program(program), out(out), locals(program.numLocals()) {}
  bool run();

private:
  Value pop() {
    Value v = std::move(stack.back());
    stack.pop_back();
    return v;
  }
  void push(Value v) { stack.push_back(std::move(v)); }
  Value leaf(const attn_hook_instr &in) const;
  Value arithmetic(unsigned op, const Value &a, const Value &b);
  bool solve(const Value &mask);

  const HookProgram &program;
  ClosedForm &out;
  std::vector<Value> stack;
  std::vector<Value> locals;
};

} // namespace

Value Solver::leaf(const attn_hook_instr &in) const {
  LinearSum s;
  switch (in.op) {
  case ATTN_OP_ARG:
    if (in.index == ATTN_ARG_Q)
      s.q = 1;
    else if (in.index == ATTN_ARG_K)
      s.k = 1;
    else if (in.index == ATTN_ARG_Q_LEN)
      s.qLen = 1;
    else if (in.index == ATTN_ARG_KV_LEN)
      s.kvLen = 1;
    else
      return {};
    return sumValue(s);
  case ATTN_OP_PARAM:
    if (program.signature().params[in.index] != ATTN_I32)
      return {};
    s.params.push_back({in.index, 1});
    return sumValue(s);
  case ATTN_OP_IMM:
    s.constant = in.imm;
    return sumValue(s);
  default: { // POOL
    uint32_t bits = program.pool()[in.index];
    if (in.imm == ATTN_I1)
      return constantBool(bits != 0);
    if (in.imm != ATTN_I32)
      return {};
    s.constant = int32_t(bits);
    return sumValue(s);
  }
  }
}

Value Solver::arithmetic(unsigned op, const Value &a, const Value &b) {
  if (a.kind != Value::Sum || b.kind != Value::Sum)
    return {};
  Value v;
  switch (op) {
  case ATTN_OP_IADD:
    v = sumValue(combine(1, a.sum, 1, b.sum));
    break;
  case ATTN_OP_ISUB:
    v = sumValue(combine(1, a.sum, -1, b.sum));
    break;
  case ATTN_OP_IMUL:
    if (isConstant(b.sum))
      v = sumValue(combine(b.sum.constant, a.sum, 0, {}));
    else if (isConstant(a.sum))
      v = sumValue(combine(a.sum.constant, b.sum, 0, {}));
    break;
  case ATTN_OP_ISHL:
    if (isConstant(b.sum))
      v = sumValue(combine(int64_t(1) << (b.sum.constant & 31), a.sum, 0, {}));
    break;
  }
  if (v.kind == Value::Sum)
    out.sums.push_back(v.sum);
  return v;
}

bool Solver::run() {
  for (const attn_hook_instr &in : program.code()) {
    switch (in.op) {
    case ATTN_OP_ARG:
    case ATTN_OP_PARAM:
    case ATTN_OP_IMM:
    case ATTN_OP_POOL:
      push(leaf(in));
      break;
    case ATTN_OP_TABLE:
      stack.resize(stack.size() - program.signature().tables[in.index].rank);
      push({});
      break;
    case ATTN_OP_SET:
      locals[in.index] = pop();
      break;
    case ATTN_OP_GET:
      push(locals[in.index]);
      break;
    case ATTN_OP_ICMP: {
      Value b = pop(), a = pop();
      push(compare(in.index, a, b));
      break;
    }
    case ATTN_OP_AND: {
      Value b = pop(), a = pop();
      push(andOf(std::move(a), b));
      break;
    }
    case ATTN_OP_OR: {
      Value b = pop(), a = pop();
      push(orOf(a, b));
      break;
    }
    case ATTN_OP_XOR: {
      Value b = pop(), a = pop();
      push(isTrue(b)                ? notOf(a)
           : isTrue(a)              ? notOf(b)
           : b.kind == Value::False ? a
           : a.kind == Value::False ? b
                                    : Value());
      break;
    }
    case ATTN_OP_NOT:
      push(notOf(pop()));
      break;
    case ATTN_OP_SELECT: {
      // The short-circuit spellings of "and" and "or".
      Value no = pop(), yes = pop(), condition = pop();
      if (isTrue(condition))
        push(std::move(yes));
      else if (condition.kind == Value::False)
        push(std::move(no));
      else if (no.kind == Value::False)
        push(andOf(std::move(condition), yes));
      else if (isTrue(yes))
        push(orOf(condition, no));
      else
        push({});
      break;
    }
    case ATTN_OP_FCMP:
    case ATTN_OP_FADD:
    case ATTN_OP_FSUB:
    case ATTN_OP_FMUL:
    case ATTN_OP_FDIV:
    case ATTN_OP_FMIN:
    case ATTN_OP_FMAX:
      stack.resize(stack.size() - 2);
      push({});
      break;
    case ATTN_OP_END:
      return solve(stack.back());
    default:
      if (in.op >= ATTN_OP_IADD && in.op <= ATTN_OP_ISHR) {
        Value b = pop(), a = pop();
        push(arithmetic(in.op, a, b));
      } else {
        stack.back() = {}; // one value in, one out
      }
      break;
    }
  }
  return false;
}

bool Solver::solve(const Value &mask) {
  if (mask.kind != Value::Conjunction)
    return false;
  for (const LinearSum &t : mask.terms) {
    if (t.k != 1 && t.k != -1)
      return false;
    // k + rest >= 0: k >= -rest;  -k + rest >= 0: k <= rest.
    Bound bound;
    bound.isUpper = t.k == -1;
    int64_t sign = bound.isUpper ? 1 : -1;
    LinearSum rest = combine(sign, t, 0, {});
    if (rest.q != 0 && rest.q != 1)
      return false;
    bound.qCoeff = int(rest.q);
    bound.constant = rest.constant;
    bound.params = rest.params;
    bound.qLenCoeff = rest.qLen;
    bound.kvLenCoeff = rest.kvLen;
    out.bounds.push_back(std::move(bound));
  }
  return true;
}

bool attn::mask::closedForm(const HookProgram &mask, ClosedForm &out) {
  out = ClosedForm();
  if (mask.valid() && mask.kind() == ATTN_HOOK_MASK && Solver(mask, out).run())
    return true;
  out = ClosedForm();
  return false;
}

int64_t attn::mask::evaluate(const Bound &bound, int32_t q,
                             const uint32_t *params, int32_t qLen,
                             int32_t kvLen) {
  // At most 2^32 * 2^31 a term and few terms in any sensible mask; 128 bits
  // make the sum safe for all, and the result is saturated.
  __int128 value = __int128(bound.qCoeff) * q + bound.constant;
  for (const ParamTerm &t : bound.params)
    value += __int128(t.coeff) * int32_t(params[t.index]);
  value += __int128(bound.qLenCoeff) * qLen;
  value += __int128(bound.kvLenCoeff) * kvLen;
  if (value > INT64_MAX)
    return INT64_MAX;
  return value < INT64_MIN ? INT64_MIN : int64_t(value);
}

bool attn::mask::fitsI32(const ClosedForm &form, const uint32_t *params,
                         int32_t qLen, int32_t kvLen) {
  int64_t lowQ = std::min<int64_t>(0, int64_t(kvLen) - qLen);
  int64_t highQ = std::max<int64_t>(lowQ, int64_t(kvLen) - 1);
  int64_t highK = std::max<int64_t>(0, int64_t(kvLen) - 1);
  for (const LinearSum &s : form.sums) {
    __int128 fixed = s.constant;
    for (const ParamTerm &t : s.params)
      fixed += __int128(t.coeff) * int32_t(params[t.index]);
    fixed += __int128(s.qLen) * qLen + __int128(s.kvLen) * kvLen;
    __int128 q0 = __int128(s.q) * lowQ, q1 = __int128(s.q) * highQ;
    __int128 k1 = __int128(s.k) * highK;
    __int128 lo = fixed + std::min(q0, q1) + std::min<__int128>(0, k1);
    __int128 hi = fixed + std::max(q0, q1) + std::max<__int128>(0, k1);
    if (lo < INT32_MIN || hi > INT32_MAX)
      return false;
  }
  return true;
}

bool attn::mask::alwaysFitsI32(const ClosedForm &form) {
  for (const LinearSum &s : form.sums) {
    bool isPosition = std::abs(s.q) + std::abs(s.k) <= 1;
    // q >= kvLen - qLen and k < kvLen, so k - q < qLen; and q - k < kvLen.
    bool isDistance = std::abs(s.q) == 1 && s.k == -s.q;
    if (s.constant || s.qLen || s.kvLen || !s.params.empty() ||
        !(isPosition || isDistance))
      return false;
  }
  return true;
}
