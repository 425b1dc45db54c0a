//===- RandomTest.cpp - soundness on random masks -------------------------===//
//
// Random expressions over random rectangles, small enough for brute force: an
// answer of true or false must hold at every point, and a part of a rectangle
// must not be known less well than the whole.
//
//===----------------------------------------------------------------------===//
#include "MaskPrograms.h"

#include "attn/Mask/BlockMap.h"
#include "attn/Mask/ClosedForm.h"

#include <random>

using namespace attn::mask;

namespace {

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  int32_t number(int32_t lo, int32_t hi) {
    return int32_t(lo + int64_t(random() % uint64_t(int64_t(hi) - lo + 1)));
  }

  int32_t constant() {
    static const int32_t special[] = {0,  1,   -1,        2,         64,
                                      63, -64, INT32_MAX, INT32_MIN, 1 << 30};
    return number(0, 3) ? number(-20, 40) : special[number(0, 9)];
  }

  void integer(Assembler &a, int depth) {
    if (depth == 0 || number(0, 5) == 0) {
      leaf(a);
      return;
    }
    static const attn_hook_op ops[] = {
        ATTN_OP_IADD,      ATTN_OP_ISUB, ATTN_OP_ISUB, ATTN_OP_IMUL,
        ATTN_OP_IFLOORDIV, ATTN_OP_IMOD, ATTN_OP_IMIN, ATTN_OP_IMAX,
        ATTN_OP_IAND,      ATTN_OP_IOR,  ATTN_OP_IXOR, ATTN_OP_ISHL,
        ATTN_OP_ISHR};
    int kind = number(0, 19);
    if (kind < 15) {
      integer(a, depth - 1);
      if (number(0, 2))
        a.i32(constant());
      else
        integer(a, depth - 1);
      a.op(ops[number(0, 12)]);
    } else if (kind < 16) {
      boolean(a, depth - 1);
      integer(a, depth - 1);
      integer(a, depth - 1);
      a.op(ATTN_OP_SELECT);
    } else if (kind < 17) {
      boolean(a, depth - 1);
      a.op(ATTN_OP_B2I);
    } else if (kind < 18) {
      integer(a, depth - 1); // a square
      unsigned x = a.set();
      a.get(x).get(x).op(ATTN_OP_IMUL);
    } else if (kind < 19) {
      integer(a, depth - 1);
      a.table(0);
    } else {
      integer(a, depth - 1);
      a.op(ATTN_OP_I2F).op(ATTN_OP_FNEG).f32(2).op(ATTN_OP_FMUL);
      a.op(ATTN_OP_F2I);
    }
  }

  void boolean(Assembler &a, int depth) {
    int kind = depth ? number(0, 9) : 9;
    if (kind < 3) {
      static const attn_hook_op ops[] = {ATTN_OP_AND, ATTN_OP_OR, ATTN_OP_XOR};
      boolean(a, depth - 1);
      boolean(a, depth - 1);
      a.op(ops[kind]);
    } else if (kind == 3) {
      boolean(a, depth - 1);
      a.op(ATTN_OP_NOT);
    } else if (kind == 4) {
      integer(a, depth - 1);
      a.table(1);
    } else if (kind == 5) {
      boolean(a, depth - 1);
      boolean(a, depth - 1);
      boolean(a, depth - 1);
      a.op(ATTN_OP_SELECT);
    } else {
      integer(a, depth);
      integer(a, depth);
      a.icmp(attn_hook_predicate(number(0, 5)));
    }
  }

private:
  void leaf(Assembler &a) {
    static const attn_hook_arg args[] = {
        ATTN_ARG_Q, ATTN_ARG_K, ATTN_ARG_Q,     ATTN_ARG_K,
        ATTN_ARG_B, ATTN_ARG_H, ATTN_ARG_Q_LEN, ATTN_ARG_KV_LEN};
    int kind = number(0, 9);
    if (kind < 8)
      a.arg(args[kind]);
    else if (kind == 8)
      a.param(0);
    else
      a.i32(constant());
  }

  std::mt19937_64 random;
};

/// Parameter, an i32 and an i1 table with borders near the tested positions.
struct Data {
  uint32_t param;
  int32_t numbers[24];
  uint8_t flags[24];
  TableData tables[2];
  Bindings bindings;
  Signature signature;

  explicit Data(Generator &g) {
    param = uint32_t(g.constant());
    int32_t value = 0;
    for (int i = 0; i < 24; ++i) {
      value += g.number(0, 5) == 0;
      numbers[i] = value;
      flags[i] = uint8_t(i / 6 % 2);
    }
    tables[0].data = numbers;
    tables[0].extent[0] = 24;
    tables[1].data = flags;
    tables[1].element = ATTN_I1;
    tables[1].extent[0] = 24;
    bindings = {&param, 1, tables, 2};
    signature.params = {ATTN_I32};
    signature.tables = {{ATTN_I32, 1}, {ATTN_I1, 1}};
  }
};

Rect randomRect(Generator &g) {
  Rect r;
  int32_t base = g.number(0, 9) ? 0 : INT32_MAX - 100;
  auto range = [&](int32_t lo, int32_t span, int32_t &from, int32_t &to) {
    from = g.number(lo, lo + 40);
    to = from + g.number(0, span);
  };
  range(base - (base ? 0 : 10), 10, r.q0, r.q1);
  range(base, 10, r.k0, r.k1);
  range(0, 1, r.b0, r.b1);
  range(0, 2, r.h0, r.h1);
  r.qLen = g.number(1, 60);
  r.kvLen = g.number(1, 60);
  return r;
}

/// Whether the mask is somewhere false and somewhere true.
void bruteForce(const HookProgram &mask, const Rect &r,
                const Bindings &bindings, bool &someFalse, bool &someTrue) {
  Env<double> env;
  env.bindings = bindings;
  env.qLen = r.qLen;
  env.kvLen = r.kvLen;
  someFalse = someTrue = false;
  for (env.b = r.b0; env.b <= r.b1; ++env.b)
    for (env.h = r.h0; env.h <= r.h1; ++env.h)
      for (env.q = r.q0; env.q <= r.q1; ++env.q)
        for (env.k = r.k0; env.k <= r.k1; ++env.k)
          (evalMask(mask, env) ? someTrue : someFalse) = true;
}

} // namespace

TEST(Random, IntervalsAreSound) {
  Generator g(7);
  int known = 0, mixed = 0;
  for (int n = 0; n < 6000; ++n) {
    Data data(g);
    Assembler a(ATTN_HOOK_MASK);
    g.boolean(a, g.number(1, 4));
    HookProgram mask = decoded(a, data.signature);
    ASSERT_TRUE(mask.valid());
    for (int i = 0; i < 3; ++i) {
      Rect rect = randomRect(g);
      Tri t = evaluate(mask, rect, data.bindings);
      bool someFalse, someTrue;
      bruteForce(mask, rect, data.bindings, someFalse, someTrue);
      mixed += someFalse && someTrue;
      if (t == Tri::True)
        ASSERT_FALSE(someFalse) << mask.str(" | ");
      if (t == Tri::False)
        ASSERT_FALSE(someTrue) << mask.str(" | ");
      known += t != Tri::Unknown;
    }
  }
  // The cases are not all of one sort.
  EXPECT_GT(known, 5000);
  EXPECT_GT(mixed, 1000);
}

TEST(Random, SplittingOnlyRefines) {
  Generator g(8);
  int decided = 0;
  for (int n = 0; n < 12000; ++n) {
    Data data(g);
    Assembler a(ATTN_HOOK_MASK);
    g.boolean(a, g.number(1, 4));
    HookProgram mask = decoded(a, data.signature);
    Rect rect = randomRect(g);
    Tri whole = evaluate(mask, rect, data.bindings);
    if (whole == Tri::Unknown)
      continue;
    ++decided;
    for (int part = 0; part < 4; ++part) {
      Rect r = rect;
      int32_t &lo = part < 2 ? r.q0 : r.k0, &hi = part < 2 ? r.q1 : r.k1;
      int32_t middle = lo + (hi - lo) / 2;
      if (part % 2)
        lo = std::min(middle + 1, hi);
      else
        hi = middle;
      ASSERT_EQ(evaluate(mask, r, data.bindings), whole) << mask.str(" | ");
    }
  }
  EXPECT_GT(decided, 2000);
}

TEST(Random, RangesAgreeWithBlocks) {
  Generator g(9);
  std::vector<BlockRange> ranges;
  for (int n = 0; n < 2000; ++n) {
    Data data(g);
    Assembler a(ATTN_HOOK_MASK);
    g.boolean(a, g.number(1, 3));
    HookProgram mask = decoded(a, data.signature);
    Rect rows = randomRect(g);
    int32_t begin = g.number(0, 10), end = begin + g.number(1, 120);
    int32_t tile = g.number(1, 9);
    unsigned used =
        rangesOfRow(&mask, rows, data.bindings, begin, end, tile, ranges, 400);
    ASSERT_LE(used, 400u);
    int32_t next = 0;
    for (const BlockRange &range : ranges) {
      ASSERT_EQ(range.first, next);
      next = range.end;
      for (int32_t j = range.first; j < range.end; ++j) {
        Rect r = rows;
        r.k0 = begin + j * tile;
        r.k1 = std::min(end, r.k0 + tile) - 1;
        BlockClass want = classify(&mask, r, data.bindings);
        if (r.k1 - r.k0 + 1 < tile && want == BlockClass::Full)
          want = BlockClass::Partial;
        ASSERT_EQ(range.kind, want) << mask.str(" | ");
      }
    }
    ASSERT_EQ(next, (end - begin + tile - 1) / tile);

    KeyRange hull = visibleHull(&mask, rows, data.bindings, begin, end);
    Rect r = rows;
    bool someFalse, someTrue;
    for (r.k0 = begin; r.k0 < end; ++r.k0) {
      r.k1 = r.k0;
      if (r.k0 >= hull.begin && r.k0 < hull.end)
        continue;
      bruteForce(mask, r, data.bindings, someFalse, someTrue);
      ASSERT_FALSE(someTrue) << mask.str(" | ");
    }
  }
}

// Two reads of one table at different positions are independent.
TEST(Random, TableReadsDoNotCancel) {
  Signature signature;
  signature.tables = {{ATTN_I32, 1}};
  Assembler a(ATTN_HOOK_MASK);
  a.arg(ATTN_ARG_Q).table(0).arg(ATTN_ARG_K).table(0);
  a.op(ATTN_OP_ISUB).i32(0).icmp(ATTN_CMP_EQ);
  HookProgram mask = decoded(a, signature);
  std::vector<int32_t> doc = {0, 0, 0, 1, 1, 1};
  TableData data = table(doc);
  Bindings bindings;
  bindings.tables = &data;
  bindings.numTables = 1;
  Rect r;
  r.q0 = r.k0 = 0;
  r.q1 = r.k1 = 5;
  EXPECT_EQ(evaluate(mask, r, bindings), Tri::Unknown);
  r.q1 = r.k1 = 2;
  EXPECT_EQ(evaluate(mask, r, bindings), Tri::True);
  r.q0 = 3;
  r.q1 = 5;
  EXPECT_EQ(evaluate(mask, r, bindings), Tri::False);
}

// Without host data, or with too large an index box, nothing is known.
TEST(Random, TablesOutOfSight) {
  HookProgram mask = documents();
  Rect r;
  r.q1 = 5;
  r.k1 = 0;
  TableData data;
  data.extent[0] = 100;
  Bindings bindings;
  bindings.tables = &data;
  bindings.numTables = 1;
  EXPECT_EQ(evaluate(mask, r, bindings), Tri::Unknown);
  EXPECT_EQ(evaluate(mask, r, {}), Tri::Unknown);
  std::vector<int32_t> zeros(5000, 0);
  data = table(zeros);
  r.q0 = 4095;
  r.q1 = 4999;
  r.k1 = 4094;
  EXPECT_EQ(evaluate(mask, r, bindings), Tri::True);
  r.k1 = 4096; // 4097 entries
  r.q0 = 4097;
  EXPECT_EQ(evaluate(mask, r, bindings), Tri::Unknown);
}

// Where a closed form exists and nothing wraps, it is the mask.
TEST(Random, ClosedFormsHold) {
  Generator g(10);
  int found = 0;
  for (int n = 0; n < 200000 && found < 400; ++n) {
    Data data(g);
    Assembler a(ATTN_HOOK_MASK);
    g.boolean(a, g.number(0, 2));
    HookProgram mask = decoded(a, data.signature);
    ClosedForm form;
    if (!closedForm(mask, form) || form.bounds.empty())
      continue;
    Env<double> env;
    env.bindings = data.bindings;
    env.qLen = g.number(1, 15);
    env.kvLen = g.number(1, 15);
    if (!fitsI32(form, &data.param, env.qLen, env.kvLen))
      continue;
    ++found;
    for (env.q = env.kvLen - env.qLen; env.q < env.kvLen; ++env.q)
      for (env.k = 0; env.k < env.kvLen; ++env.k) {
        bool all = true;
        for (const Bound &b : form.bounds) {
          int64_t v = evaluate(b, env.q, &data.param, env.qLen, env.kvLen);
          all &= b.isUpper ? env.k <= v : env.k >= v;
        }
        ASSERT_EQ(all, evalMask(mask, env)) << mask.str(" | ");
      }
  }
  EXPECT_EQ(found, 400);
}
