//===- Interval.cpp - three-valued analysis of masks ----------------------===//
//
// An abstract integer is  sum of coeff * argument + r  with r in [lo, hi], over
// the arguments b, h, q, k; the lengths and parameters are constants.
//
//   q - k       ->  q - k + [0, 0]
//   x mod 64    ->  x - 64 * n where x / 64 is n throughout, else [0, 63]
//   doc[b, q]   ->  [min, max] of the entries that can be read
//
// The value meant is the mathematical one, so a difference in a comparison may
// be taken without wrap-around; an operation whose result might leave i32 gives
// "any i32" instead.
//
// Invariant: every abstract integer's range lies in i32, its coefficients are
// at most 2^27 and its interval bounds at most 2^60 in magnitude, so sums of
// two of them are computed in 64 bits.
//
//===----------------------------------------------------------------------===//
#include "attn/Mask/Interval.h"

#include "TableRead.h"

#include "attn/Mask/Eval.h"

#include <algorithm>
#include <cassert>

using namespace attn::mask;

namespace {

constexpr unsigned numVars = 4; // b, h, q, k
constexpr int64_t coeffLimit = int64_t(1) << 27;
constexpr int64_t boundLimit = int64_t(1) << 60;

struct Range {
  int64_t lo, hi;
  bool point() const { return lo == hi; }
};

struct Int {
  int64_t coeff[numVars];
  int64_t lo, hi;
};

/// A value; which member counts is known from the program.
struct Value {
  Int n;
  Tri t;
};

Int interval(int64_t lo, int64_t hi) { return {{0, 0, 0, 0}, lo, hi}; }
Int any() { return interval(INT32_MIN, INT32_MAX); }

bool sameCoeffs(const Int &a, const Int &b) {
  return std::equal(a.coeff, a.coeff + numVars, b.coeff);
}

int64_t floorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

bool inI32(Range r) { return r.lo >= INT32_MIN && r.hi <= INT32_MAX; }

Tri triOf(bool b) { return b ? Tri::True : Tri::False; }
Tri notOf(Tri t) {
  return t == Tri::Unknown ? t : t == Tri::True ? Tri::False : Tri::True;
}
Tri andOf(Tri a, Tri b) {
  if (a == Tri::False || b == Tri::False)
    return Tri::False;
  return a == Tri::True && b == Tri::True ? Tri::True : Tri::Unknown;
}
Tri orOf(Tri a, Tri b) { return notOf(andOf(notOf(a), notOf(b))); }
Tri xorOf(Tri a, Tri b) {
  if (a == Tri::Unknown || b == Tri::Unknown)
    return Tri::Unknown;
  return triOf(a != b);
}

/// One evaluation of a program over a rectangle.
class Evaluator {
public:
  Evaluator(const HookProgram &program, const Rect &rect,
            const Bindings &bindings)
      : program(program), rect(rect), bindings(bindings),
        vars{{rect.b0, rect.b1},
             {rect.h0, rect.h1},
             {rect.q0, rect.q1},
             {rect.k0, rect.k1}} {}

  Tri run();

private:
  /// Range of all values that `a` can take; sums of two Ints are allowed.
  Range rangeOf(const Int &a) const {
    Range r{a.lo, a.hi};
    for (unsigned v = 0; v < numVars; ++v) {
      int64_t x = a.coeff[v] * vars[v].lo, y = a.coeff[v] * vars[v].hi;
      r.lo += std::min(x, y);
      r.hi += std::max(x, y);
    }
    return r;
  }
  /// Restores the invariant.
  Int normal(const Int &a) const;
  Int concrete(const Int &a) const {
    Range r = rangeOf(a);
    return interval(r.lo, r.hi);
  }
  Int sum(const Int &a, const Int &b, int64_t sign) const;
  Int scaled(const Int &a, int64_t factor) const;
  Int product(const Int &a, const Int &b) const;
  Int divBy(const Int &a, int64_t m) const;
  Int modBy(const Int &a, int64_t m) const;
  Int quotient(const Int &a, const Int &b) const;
  Int remainder(const Int &a, const Int &b) const;
  Int smallest(const Int &a, const Int &b, bool max) const;
  Int bits(attn_hook_op op, const Int &a, const Int &b) const;
  Int shift(attn_hook_op op, const Int &a, const Int &b) const;
  Int unionOf(const Int &a, const Int &b) const;
  Int binary(attn_hook_op op, const Int &a, const Int &b) const;
  Tri compare(unsigned predicate, const Int &a, const Int &b) const;
  Value readTable(unsigned number, const Value *index) const;
  Value argument(unsigned index) const;
  static Value word(uint32_t bits);

  const HookProgram &program;
  const Rect &rect;
  const Bindings &bindings;
  Range vars[numVars];
};

} // namespace

Int Evaluator::normal(const Int &a) const {
  Range r = rangeOf(a);
  if (!inI32(r))
    return any();
  bool large = a.lo < -boundLimit || a.hi > boundLimit;
  for (int64_t c : a.coeff)
    large |= c < -coeffLimit || c > coeffLimit;
  return large ? interval(r.lo, r.hi) : a;
}

Int Evaluator::sum(const Int &a, const Int &b, int64_t sign) const {
  Int s;
  for (unsigned v = 0; v < numVars; ++v)
    s.coeff[v] = a.coeff[v] + sign * b.coeff[v];
  s.lo = a.lo + (sign > 0 ? b.lo : -b.hi);
  s.hi = a.hi + (sign > 0 ? b.hi : -b.lo);
  return normal(s);
}

/// a * factor where the product of the ranges is known to lie in i32.
Int Evaluator::scaled(const Int &a, int64_t factor) const {
  Int s;
  bool overflow = false;
  for (unsigned v = 0; v < numVars; ++v) {
    overflow |= __builtin_mul_overflow(a.coeff[v], factor, &s.coeff[v]);
    overflow |= s.coeff[v] < -coeffLimit || s.coeff[v] > coeffLimit;
  }
  overflow |= __builtin_mul_overflow(factor < 0 ? a.hi : a.lo, factor, &s.lo);
  overflow |= __builtin_mul_overflow(factor < 0 ? a.lo : a.hi, factor, &s.hi);
  overflow |= s.lo < -boundLimit || s.hi > boundLimit;
  if (!overflow)
    return s;
  Range r = rangeOf(a);
  int64_t x = r.lo * factor, y = r.hi * factor;
  return interval(std::min(x, y), std::max(x, y));
}

Int Evaluator::product(const Int &a, const Int &b) const {
  Range x = rangeOf(a), y = rangeOf(b);
  int64_t corners[] = {x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi};
  Range r{*std::min_element(corners, corners + 4),
          *std::max_element(corners, corners + 4)};
  // The same linear form twice is a square.
  if (sameCoeffs(a, b) && a.lo == a.hi && b.lo == b.hi && a.lo == b.lo)
    r = {x.lo > 0   ? x.lo * x.lo
         : x.hi < 0 ? x.hi * x.hi
                    : 0,
         std::max(x.lo * x.lo, x.hi * x.hi)};
  if (!inI32(r))
    return any();
  if (y.point())
    return scaled(a, y.lo);
  if (x.point())
    return scaled(b, x.lo);
  return interval(r.lo, r.hi);
}

/// floor(a / m); m has no part in the i32 rule and may be 2^31.
Int Evaluator::divBy(const Int &a, int64_t m) const {
  Range r = rangeOf(a);
  int64_t x = floorDiv(r.lo, m), y = floorDiv(r.hi, m);
  if (m < 0)
    std::swap(x, y);
  // floor((m * L + r) / m) is L + floor(r / m): the linear part survives.
  bool linear = x != y;
  for (int64_t c : a.coeff)
    linear &= c % m == 0;
  if (!linear)
    return normal(interval(x, y));
  Int q;
  for (unsigned v = 0; v < numVars; ++v)
    q.coeff[v] = a.coeff[v] / m;
  q.lo = floorDiv(m < 0 ? a.hi : a.lo, m);
  q.hi = floorDiv(m < 0 ? a.lo : a.hi, m);
  return normal(q);
}

Int Evaluator::modBy(const Int &a, int64_t m) const {
  Range r = rangeOf(a);
  int64_t n = floorDiv(r.lo, m);
  if (n == floorDiv(r.hi, m)) {
    Int rest = a;
    rest.lo -= m * n;
    rest.hi -= m * n;
    return normal(rest);
  }
  bool multiple = true;
  for (int64_t c : a.coeff)
    multiple &= c % m == 0;
  if (multiple && floorDiv(a.lo, m) == floorDiv(a.hi, m)) {
    n = floorDiv(a.lo, m);
    return interval(a.lo - m * n, a.hi - m * n);
  }
  if (m < 0)
    return interval(m + 1, 0);
  return interval(0, r.lo >= 0 ? std::min(m - 1, r.hi) : m - 1);
}

Int Evaluator::quotient(const Int &a, const Int &b) const {
  Range x = rangeOf(a), y = rangeOf(b);
  if (y.point())
    return y.lo == 0 ? interval(0, 0) : divBy(a, y.lo);
  // Divisors of one sign: x / y is monotone in each operand, so the extremes
  // are at the corners.  A zero divisor gives 0.
  Range r{INT64_MAX, INT64_MIN};
  auto add = [&r](int64_t value) {
    r.lo = std::min(r.lo, value);
    r.hi = std::max(r.hi, value);
  };
  auto addDivisors = [&](int64_t lo, int64_t hi) {
    if (lo > hi)
      return;
    for (int64_t d : {lo, hi}) {
      add(floorDiv(x.lo, d));
      add(floorDiv(x.hi, d));
    }
  };
  addDivisors(y.lo, std::min<int64_t>(y.hi, -1));
  addDivisors(std::max<int64_t>(y.lo, 1), y.hi);
  if (y.lo <= 0 && y.hi >= 0)
    add(0);
  return normal(interval(r.lo, r.hi));
}

Int Evaluator::remainder(const Int &a, const Int &b) const {
  Range y = rangeOf(b);
  if (y.point())
    return y.lo == 0 ? interval(0, 0) : modBy(a, y.lo);
  return interval(std::min<int64_t>(y.lo + 1, 0),
                  std::max<int64_t>(y.hi - 1, 0));
}

Int Evaluator::smallest(const Int &a, const Int &b, bool max) const {
  Int d;
  for (unsigned v = 0; v < numVars; ++v)
    d.coeff[v] = a.coeff[v] - b.coeff[v];
  d.lo = a.lo - b.hi;
  d.hi = a.hi - b.lo;
  Range diff = rangeOf(d);
  if (diff.hi <= 0)
    return max ? b : a;
  if (diff.lo >= 0)
    return max ? a : b;
  Range x = rangeOf(a), y = rangeOf(b);
  return max ? interval(std::max(x.lo, y.lo), std::max(x.hi, y.hi))
             : interval(std::min(x.lo, y.lo), std::min(x.hi, y.hi));
}

Int Evaluator::bits(attn_hook_op op, const Int &a, const Int &b) const {
  Range x = rangeOf(a), y = rangeOf(b);
  if (x.point() && y.point()) {
    int32_t value = evalIntOp(op, int32_t(x.lo), int32_t(y.lo));
    return interval(value, value);
  }
  if (op == ATTN_OP_IAND) {
    for (int side = 0; side < 2; ++side) {
      const Int &other = side ? b : a;
      Range m = side ? x : y;
      if (!m.point())
        continue;
      if (m.lo >= 0 && (m.lo & (m.lo + 1)) == 0) // 2^n - 1: modulo 2^n
        return modBy(other, m.lo + 1);
      if (m.lo < 0 && (-m.lo & (-m.lo - 1)) == 0) // -2^n: rounds down
        return product(divBy(other, -m.lo), interval(-m.lo, -m.lo));
    }
    if (x.lo >= 0 && y.lo >= 0)
      return interval(0, std::min(x.hi, y.hi));
    if (x.lo >= 0)
      return interval(0, x.hi);
    if (y.lo >= 0)
      return interval(0, y.hi);
    return any();
  }
  if (x.lo < 0 || y.lo < 0)
    return any();
  int64_t ones = 1;
  while (ones <= std::max(x.hi, y.hi))
    ones *= 2;
  return interval(op == ATTN_OP_IOR ? std::max(x.lo, y.lo) : 0, ones - 1);
}

Int Evaluator::shift(attn_hook_op op, const Int &a, const Int &b) const {
  Range x = rangeOf(a), count = rangeOf(b);
  if (count.point()) {
    int64_t factor = int64_t(1) << (count.lo & 31);
    if (op == ATTN_OP_ISHR)
      return divBy(a, factor);
    int64_t lo = x.lo * factor, hi = x.hi * factor;
    return inI32({lo, hi}) ? scaled(a, factor) : any();
  }
  if (op == ATTN_OP_ISHR)
    return interval(std::min<int64_t>(x.lo, 0), std::max<int64_t>(x.hi, 0));
  return any();
}

Int Evaluator::unionOf(const Int &a, const Int &b) const {
  if (sameCoeffs(a, b)) {
    Int u = a;
    u.lo = std::min(a.lo, b.lo);
    u.hi = std::max(a.hi, b.hi);
    return u;
  }
  Range x = rangeOf(a), y = rangeOf(b);
  return interval(std::min(x.lo, y.lo), std::max(x.hi, y.hi));
}

Int Evaluator::binary(attn_hook_op op, const Int &a, const Int &b) const {
  switch (op) {
  case ATTN_OP_IADD:
    return sum(a, b, 1);
  case ATTN_OP_ISUB:
    return sum(a, b, -1);
  case ATTN_OP_IMUL:
    return product(a, b);
  case ATTN_OP_IFLOORDIV:
    return quotient(a, b);
  case ATTN_OP_IMOD:
    return remainder(a, b);
  case ATTN_OP_IMIN:
    return smallest(a, b, /*max=*/false);
  case ATTN_OP_IMAX:
    return smallest(a, b, /*max=*/true);
  case ATTN_OP_ISHL:
  case ATTN_OP_ISHR:
    return shift(op, a, b);
  default:
    return bits(op, a, b);
  }
}

Tri Evaluator::compare(unsigned predicate, const Int &a, const Int &b) const {
  Int d;
  for (unsigned v = 0; v < numVars; ++v)
    d.coeff[v] = a.coeff[v] - b.coeff[v];
  d.lo = a.lo - b.hi;
  d.hi = a.hi - b.lo;
  Range r = rangeOf(d);
  switch (predicate) {
  case ATTN_CMP_EQ:
  case ATTN_CMP_NE: {
    Tri equal = r.lo > 0 || r.hi < 0     ? Tri::False
                : r.lo == 0 && r.hi == 0 ? Tri::True
                                         : Tri::Unknown;
    return predicate == ATTN_CMP_EQ ? equal : notOf(equal);
  }
  case ATTN_CMP_LT:
  case ATTN_CMP_GE: {
    Tri less = r.hi < 0 ? Tri::True : r.lo >= 0 ? Tri::False : Tri::Unknown;
    return predicate == ATTN_CMP_LT ? less : notOf(less);
  }
  default: {
    Tri greater = r.lo > 0 ? Tri::True : r.hi <= 0 ? Tri::False : Tri::Unknown;
    return predicate == ATTN_CMP_GT ? greater : notOf(greater);
  }
  }
}

Value Evaluator::word(uint32_t bits) {
  int64_t n = int32_t(bits);
  return {interval(n, n), triOf(bits != 0)};
}

Value Evaluator::argument(unsigned index) const {
  int64_t fixed;
  unsigned var;
  switch (index) {
  case ATTN_ARG_Q_LEN:
    fixed = rect.qLen;
    return {interval(fixed, fixed), Tri::Unknown};
  case ATTN_ARG_KV_LEN:
    fixed = rect.kvLen;
    return {interval(fixed, fixed), Tri::Unknown};
  case ATTN_ARG_B:
    var = 0;
    break;
  case ATTN_ARG_H:
    var = 1;
    break;
  case ATTN_ARG_Q:
    var = 2;
    break;
  default:
    assert(index == ATTN_ARG_K && "not an argument of a mask");
    var = 3;
    break;
  }
  Int a = interval(0, 0);
  a.coeff[var] = 1;
  return {a, Tri::Unknown};
}

Value Evaluator::readTable(unsigned number, const Value *index) const {
  const TableDecl &decl = program.signature().tables[number];
  Value unknown{any(), Tri::Unknown};
  if (number >= bindings.numTables || !bindings.tables[number].data ||
      decl.element == ATTN_F32)
    return unknown;
  const TableData &table = bindings.tables[number];

  // Dimensions beyond the rank have one entry.
  int64_t lo[3] = {0, 0, 0}, hi[3] = {0, 0, 0}, extent[3] = {1, 1, 1};
  int64_t entries = 1;
  for (unsigned d = 0; d < decl.rank; ++d) {
    if (table.extent[d] == 0)
      return word(0);
    Range r = rangeOf(index[d].n);
    extent[d] = table.extent[d];
    lo[d] = clampIndex(r.lo, table.extent[d]);
    hi[d] = clampIndex(r.hi, table.extent[d]);
    if (hi[d] - lo[d] >= maxTableEntries)
      return unknown;
    entries *= hi[d] - lo[d] + 1;
  }
  if (entries > maxTableEntries)
    return unknown;

  Range r{INT32_MAX, INT32_MIN};
  for (int64_t i = lo[0]; i <= hi[0]; ++i)
    for (int64_t j = lo[1]; j <= hi[1]; ++j) {
      int64_t row = (i * extent[1] + j) * extent[2];
      for (int64_t k = lo[2]; k <= hi[2]; ++k) {
        int64_t value = int32_t(readWord(table.data, decl.element, row + k));
        r.lo = std::min(r.lo, value);
        r.hi = std::max(r.hi, value);
      }
    }
  return {interval(r.lo, r.hi), r.point() ? triOf(r.lo != 0) : Tri::Unknown};
}

Tri Evaluator::run() {
  Value stack[maxStackDepth];
  Value locals[256];
  Value *top = stack;
  for (const attn_hook_instr &in : program.code()) {
    switch (in.op) {
    case ATTN_OP_ARG:
      *top++ = argument(in.index);
      break;
    case ATTN_OP_PARAM:
      *top++ = in.index < bindings.numParams ? word(bindings.params[in.index])
                                             : Value{any(), Tri::Unknown};
      break;
    case ATTN_OP_IMM:
      *top++ = word(uint32_t(int32_t(in.imm)));
      break;
    case ATTN_OP_POOL:
      *top++ = word(program.pool()[in.index]);
      break;
    case ATTN_OP_TABLE: {
      unsigned rank = program.signature().tables[in.index].rank;
      top -= rank;
      *top = readTable(in.index, top);
      ++top;
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
      top[-1].t = compare(in.index, top[-1].n, top[0].n);
      break;
    case ATTN_OP_FCMP:
      --top;
      top[-1].t = Tri::Unknown;
      break;
    case ATTN_OP_AND:
      --top;
      top[-1].t = andOf(top[-1].t, top[0].t);
      break;
    case ATTN_OP_OR:
      --top;
      top[-1].t = orOf(top[-1].t, top[0].t);
      break;
    case ATTN_OP_XOR:
      --top;
      top[-1].t = xorOf(top[-1].t, top[0].t);
      break;
    case ATTN_OP_NOT:
      top[-1].t = notOf(top[-1].t);
      break;
    case ATTN_OP_SELECT: {
      top -= 2;
      Tri condition = top[-1].t;
      if (condition == Tri::True)
        top[-1] = top[0];
      else if (condition == Tri::False)
        top[-1] = top[1];
      else
        top[-1] = {unionOf(top[0].n, top[1].n),
                   top[0].t == top[1].t ? top[0].t : Tri::Unknown};
      break;
    }
    case ATTN_OP_B2I: {
      Tri t = top[-1].t;
      top[-1].n = interval(t == Tri::True, t != Tri::False);
      break;
    }
    case ATTN_OP_F2I:
      top[-1].n = any();
      break;
    case ATTN_OP_FADD:
    case ATTN_OP_FSUB:
    case ATTN_OP_FMUL:
    case ATTN_OP_FDIV:
    case ATTN_OP_FMIN:
    case ATTN_OP_FMAX:
      --top;
      break;
    case ATTN_OP_END:
      return top[-1].t;
    default:
      if (in.op >= ATTN_OP_IADD && in.op <= ATTN_OP_ISHR) {
        --top;
        top[-1].n = binary(attn_hook_op(in.op), top[-1].n, top[0].n);
      }
      break; // one float in, one float out
    }
  }
  return Tri::Unknown;
}

Tri attn::mask::evaluate(const HookProgram &mask, const Rect &rect,
                         const Bindings &bindings) {
  assert(mask.valid() && mask.kind() == ATTN_HOOK_MASK && "not a mask");
  assert(!rect.empty() && "nothing to evaluate");
  return Evaluator(mask, rect, bindings).run();
}
