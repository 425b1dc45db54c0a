/*===- WorkItem.h - the records of a plan -----------------------------------===
 *
 * The planner writes them, kernels read them.  A plan is one buffer:
 *
 *   attn_plan_header | items | merges | requests
 *
 * Offsets in the header are bytes from the buffer's begin, multiples of 16.
 * Counts live here and not in the kernel's parameter struct: whatever changes
 * between two replays of a CUDA graph is behind one pointer.
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_ABI_WORKITEM_H
#define ATTN_ABI_WORKITEM_H

#include <stdint.h>

/* One tile of rows times one slice of keys; 32 bytes. */
typedef struct attn_work_item {
  int32_t request;
  int32_t head;     /* KV head if the specialisation packs, else query head */
  int32_t row0;     /* first packed row: token * pack + head in the group   */
  int32_t rows;     /* live packed rows, 1 .. tile_q; 0: inert              */
  int32_t kv_begin; /* slice of keys, in tokens                             */
  int32_t kv_end;
  int32_t slot;   /* -1: write O and LSE; else partial slot               */
  uint32_t flags; /* ATTN_ITEM_* fields                                   */
} attn_work_item;

/* What the plan knows of the slice's blocks of tile_k keys: all but the first FIRST
 * and the last LAST are visible to every live row.  Body 0: nothing is known. */
#define ATTN_ITEM_BODY(flags) ((flags) & 0xffu)
#define ATTN_ITEM_EDGE 15u /* FIRST and LAST are less */
#define ATTN_ITEM_WHOLE(first, last)                                           \
  (1u + (uint32_t)(first) * ATTN_ITEM_EDGE + (uint32_t)(last))
#define ATTN_ITEM_FIRST(body) (((body) - 1u) / ATTN_ITEM_EDGE)
#define ATTN_ITEM_LAST(body) (((body) - 1u) % ATTN_ITEM_EDGE)
#define ATTN_ITEM_SPLIT(flags) (((flags) >> 8) & 0xfffu)
#define ATTN_ITEM_SPLITS(flags) (((flags) >> 20) & 0xfffu)
#define ATTN_ITEM_FLAGS(body, split, splits)                                   \
  ((uint32_t)(body) | ((uint32_t)(split) << 8) | ((uint32_t)(splits) << 20))
#define ATTN_MAX_SPLITS 4095

/* Merge slots first_slot .. first_slot + count - 1, in that order, into the
 * output rows of the tile; 32 bytes (two spare words keep it a power of two).
 */
typedef struct attn_merge_item {
  int32_t request;
  int32_t head;
  int32_t row0;
  int32_t rows; /* 0: inert */
  int32_t first_slot;
  int32_t count;
  int32_t reserved[2];
} attn_merge_item;

/* Where a request's rows lie; 16 bytes.  The element offset of token i, head h
 * of request r is r * batch_stride + (begin + i) * token_stride + h *
 * head_stride.  Ragged storage: begin = indptr[r], batch_stride = 0.  Dense
 * storage: begin = 0. */
typedef struct attn_request_record {
  int32_t q_begin;
  int32_t q_len;
  int32_t kv_begin;
  int32_t kv_len;
} attn_request_record;

/* 64 bytes. */
typedef struct attn_plan_header {
  uint32_t abi; /* ATTN_ABI_VERSION */
  uint32_t items;
  uint32_t merges;
  uint32_t requests;
  uint32_t item_capacity;
  uint32_t merge_capacity;
  uint32_t request_capacity;
  uint32_t slots; /* partial slots in use */
  uint32_t items_offset;
  uint32_t merges_offset;
  uint32_t requests_offset;
  uint32_t bytes; /* of the plan buffer in use */
  /* The queue of a dynamic order: kernels count in it.  0 between launches:
   * build() writes 0 and the last CTA of a launch does so again. */
  uint32_t queue_next; /* next item that no CTA has taken */
  uint32_t queue_done; /* CTAs that take no more */
  uint32_t reserved[2];
} attn_plan_header;

/* A partial slot is a state: float O[tile_q][dv], a sum of values by their weights,
 * in the partial-O buffer; float m[tile_q], the reference of the weights in the units
 * of the kernel's scores, and float l[tile_q], their sum, in the partial-rows buffer.
 * Row r of the tile is at index r.  A row that sees no key of the slice: 0, -inf, 0.
 * Without normaliser there is O alone. */

#endif /* ATTN_ABI_WORKITEM_H */
