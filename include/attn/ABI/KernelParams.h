/*===- KernelParams.h - the parameter struct of every kernel ----------------===
 *
 * CPU and GPU entries take one struct: on the GPU by value (grid constant), on
 * the CPU by pointer.  The fixed part below is the same for every kernel; the
 * kernel's runtime parameters (4 bytes each, in order of declaration) and its
 * tables (attn_table_param, 8-byte aligned, in order of declaration) follow
 * directly behind it.  The bundle lists (name, offset) of both, so the runtime
 * fills by that list.  Fields that a specialisation does not use are zero.
 *
 * A specialisation that copies by TMA has its tensor maps behind all that,
 * ATTN_TENSOR_MAP_BYTES each, aligned to ATTN_TENSOR_MAP_ALIGN; the bundle lists
 * the recipe of each and the runtime encodes them at launch.  The map of a tensor
 * that holds no token is zero: no work item needs it.
 *
 * CPU entry:   void entry(const void *record, const void *params, void
 * *scratch) record = attn_work_item (attention) or attn_merge_item (merge),
 *              scratch = 64-byte aligned, scratch_bytes of the specialisation.
 * GPU entry:   .entry name(.param .align A .b8 params[N]), 1-d grid of any
 *              size, A = 16, or ATTN_TENSOR_MAP_ALIGN with tensor maps.
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_ABI_KERNELPARAMS_H
#define ATTN_ABI_KERNELPARAMS_H

#include <stdint.h>

/* Element strides; the innermost (dim) stride is 1.  See attn_request_record.
 */
typedef struct attn_strides {
  int64_t batch;
  int64_t token;
  int64_t head;
} attn_strides;

typedef struct attn_kernel_params {
  uint64_t q;             /*   0 */
  uint64_t k;             /*   8 */
  uint64_t v;             /*  16 */
  uint64_t o;             /*  24 */
  uint64_t lse;           /*  32: f32, or 0 if not wanted or normaliser none */
  uint64_t plan;          /*  40: attn_plan_header */
  uint64_t partial_o;     /*  48: float [slots][tile_q][dv] */
  uint64_t partial_rows;  /*  56: float [slots][2][tile_q] */
  attn_strides q_strides; /*  64 */
  attn_strides k_strides; /*  88 */
  attn_strides v_strides; /* 112 */
  attn_strides o_strides; /* 136 */
  attn_strides lse_strides; /* 160 */
  int32_t heads;            /* 184 */
  int32_t kv_heads;         /* 188 */
  float scale;              /* 192 */
  int32_t reserved;         /* 196 */
} attn_kernel_params;       /* 200 bytes */

#define ATTN_PARAMS_FIXED_BYTES 200
#define ATTN_TENSOR_MAP_BYTES 128
#define ATTN_TENSOR_MAP_ALIGN 64

/* A tensor map is made of a tensor and a list of dimensions, innermost first.
 * Elements outside the extents read as 0.  `pack` is the specialisation's where
 * the list has ATTN_MAP_GROUP, else 1.
 *
 *   dimension   extent                          stride in elements
 *   DIM         columns of a row                1
 *   GROUP       pack                            head stride
 *   TOKEN       tokens                          token stride
 *   HEAD        heads / pack                    pack * head stride
 *   BATCH       requests; 1 if ragged           batch stride
 *
 * Tokens reach to the end of the plan's last request (ragged storage) or of its
 * longest (dense): memory that the launch is allowed to read.  Q packs query
 * heads; K and V have KV heads. */
enum attn_map_tensor { ATTN_MAP_Q = 0, ATTN_MAP_K = 1, ATTN_MAP_V = 2 };
#define ATTN_MAP_TENSORS 3
enum attn_map_dim {
  ATTN_MAP_DIM = 0,
  ATTN_MAP_GROUP = 1,
  ATTN_MAP_TOKEN = 2,
  ATTN_MAP_HEAD = 3,
  ATTN_MAP_BATCH = 4
};
#define ATTN_MAP_MAX_RANK 5

/* Row-major, dimension 0 outermost.  Unused extents are 1. */
typedef struct attn_table_param {
  uint64_t data;
  uint32_t extent[3]; /* ATTN_TABLE_MAX_RANK */
  uint32_t version;
} attn_table_param; /* 24 bytes */

#endif /* ATTN_ABI_KERNELPARAMS_H */
