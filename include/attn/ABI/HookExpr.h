/*===- HookExpr.h - postfix encoding of hooks -------------------------------===
 *
 * A hook is written into the bundle as a small postfix program so that the
 * planner, the interval analysis and the oracle evaluate the very expression
 * that the compiler compiled.  One stack of typed values (i32, f32, i1), no
 * jumps, no side effects.
 *
 *   header (12 bytes)  magic "AHX1", version, kind, locals, instructions, pool
 *   pool               `pool` little-endian 32-bit words
 *   code               `instructions` records of 4 bytes {op, index, imm}
 *
 * causal mask: ARG q | ARG k | ICMP ge | END
 *              01030000 01040000 20050000 ff000000
 *
 * Operands are pushed in the order of the IR; nothing is reassociated.  A value
 * used twice goes through SET (pop into a local) and GET, so that a linear form
 * such as q - k stays one value.
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_ABI_HOOKEXPR_H
#define ATTN_ABI_HOOKEXPR_H

#include <stdint.h>

#define ATTN_HOOK_MAGIC "AHX1"

enum attn_hook_kind {
  ATTN_HOOK_SCORE = 0,  /* (s, b, h, q, k) -> f32                             */
  ATTN_HOOK_MASK = 1,   /* (b, h, q, k) -> i1                                 */
  ATTN_HOOK_SINK = 2,   /* (b, h) -> f32                                      */
  ATTN_HOOK_QUERY = 3,  /* (x, b, h, pos, i) -> f32, element i of the vector  */
  ATTN_HOOK_KEY = 4,    /* h is the KV head                                   */
  ATTN_HOOK_VALUE = 5,  /* h is the KV head                                   */
  ATTN_HOOK_OUTPUT = 6, /* pos is q                                           */
  ATTN_HOOK_KINDS = 7
};

/* Index of ARG. */
enum attn_hook_arg {
  ATTN_ARG_S = 0, /* f32 */
  ATTN_ARG_B = 1, /* i32 from here on */
  ATTN_ARG_H = 2,
  ATTN_ARG_Q = 3, /* position of the query; of the row for vector hooks */
  ATTN_ARG_K = 4, /* position of the key */
  ATTN_ARG_Q_LEN = 5,
  ATTN_ARG_KV_LEN = 6,
  ATTN_ARG_I = 7, /* element index, vector hooks only */
  ATTN_ARGS = 8
};

/* Index of ICMP and FCMP.  Integer comparisons are signed, float ones ordered
 * (NE: unordered or not equal). */
enum attn_hook_predicate {
  ATTN_CMP_EQ = 0,
  ATTN_CMP_NE = 1,
  ATTN_CMP_LT = 2,
  ATTN_CMP_LE = 3,
  ATTN_CMP_GT = 4,
  ATTN_CMP_GE = 5
};

/* i32 arithmetic wraps.  IFLOORDIV and IMOD round towards minus infinity;
 * a zero divisor gives 0 for both.  Shift counts are taken modulo 32, SHR is
 * arithmetic.  FMIN and FMAX return the other operand for a NaN. */
enum attn_hook_op {
  ATTN_OP_ARG = 0x01,   /* push argument [index]                              */
  ATTN_OP_PARAM = 0x02, /* push runtime parameter [index]                     */
  ATTN_OP_IMM = 0x03,   /* push i32 imm                                       */
  ATTN_OP_POOL = 0x04,  /* push pool word [index]; imm 0 i32, 1 f32, 2 i1     */
  ATTN_OP_TABLE = 0x05, /* pop as many i32 as table [index] has dimensions,
                           clamp each, push the element                       */
  ATTN_OP_SET = 0x06,   /* pop into local [index], written once               */
  ATTN_OP_GET = 0x07,   /* push local [index]                                 */
  ATTN_OP_IADD = 0x10,
  ATTN_OP_ISUB = 0x11,
  ATTN_OP_IMUL = 0x12,
  ATTN_OP_IFLOORDIV = 0x13,
  ATTN_OP_IMOD = 0x14,
  ATTN_OP_IMIN = 0x15,
  ATTN_OP_IMAX = 0x16,
  ATTN_OP_IAND = 0x17,
  ATTN_OP_IOR = 0x18,
  ATTN_OP_IXOR = 0x19,
  ATTN_OP_ISHL = 0x1a,
  ATTN_OP_ISHR = 0x1b,
  ATTN_OP_ICMP = 0x20,
  ATTN_OP_FCMP = 0x21,
  ATTN_OP_AND = 0x30, /* i1 */
  ATTN_OP_OR = 0x31,
  ATTN_OP_XOR = 0x32,
  ATTN_OP_NOT = 0x33,
  ATTN_OP_SELECT = 0x38, /* pop false value, true value, condition: pushed
                            in the order condition, true value, false value  */
  ATTN_OP_FADD = 0x40,
  ATTN_OP_FSUB = 0x41,
  ATTN_OP_FMUL = 0x42,
  ATTN_OP_FDIV = 0x43,
  ATTN_OP_FNEG = 0x44,
  ATTN_OP_FABS = 0x45,
  ATTN_OP_FMIN = 0x46,
  ATTN_OP_FMAX = 0x47,
  ATTN_OP_EXP2 = 0x48,
  ATTN_OP_LOG2 = 0x49,
  ATTN_OP_TANH = 0x4a,
  ATTN_OP_SQRT = 0x4b,
  ATTN_OP_EXP = 0x4c,
  ATTN_OP_LOG = 0x4d,
  ATTN_OP_SIN = 0x4e,
  ATTN_OP_COS = 0x4f,
  ATTN_OP_I2F = 0x50,
  ATTN_OP_F2I = 0x51, /* towards zero, saturating, NaN gives 0 */
  ATTN_OP_B2I = 0x52, /* i1 -> i32 0 or 1 */
  ATTN_OP_VEC =
      0x58, /* pop i32, clamp, push that element of x (vector hooks) */
  ATTN_OP_END = 0xff
};

typedef struct attn_hook_header {
  char magic[4];
  uint16_t version;
  uint8_t kind;   /* enum attn_hook_kind */
  uint8_t locals; /* number of SET/GET slots */
  uint16_t instructions;
  uint16_t pool; /* number of 32-bit words */
} attn_hook_header;

typedef struct attn_hook_instr {
  uint8_t op;    /* enum attn_hook_op */
  uint8_t index; /* operand, see the op */
  int16_t imm;
} attn_hook_instr;

/* Scalar types of parameters, table elements and hook values. */
enum attn_scalar { ATTN_I32 = 0, ATTN_F32 = 1, ATTN_I1 = 2 };

/* Index spaces of a table dimension: the valid index is [0, extent). */
enum attn_index_space {
  ATTN_INDEX_HEAD = 0,     /* query head                                      */
  ATTN_INDEX_BATCH = 1,    /* request                                         */
  ATTN_INDEX_POSITION = 2, /* logical position in a request                   */
  ATTN_INDEX_FREE = 3      /* any                                             */
};
#define ATTN_TABLE_MAX_RANK 3

#endif /* ATTN_ABI_HOOKEXPR_H */
