/*===- TinyKernel.c - the smallest kernel that obeys the ABI ---------------===
 *
 * f32, tiles of 8 packed rows, head dim 8.  Variant of the test bundle:
 *
 *   score  s * temp[h] + bias
 *   mask   q >= k and q - k < window
 *
 * Written for clarity; the tests compare it with a direct evaluation.
 *===----------------------------------------------------------------------===*/
#include "attn/ABI/KernelParams.h"
#include "attn/ABI/WorkItem.h"

#include <math.h>

enum { TileQ = 8, Dim = 8 };

/* What the bundle declares behind the fixed fields. */
typedef struct {
  attn_kernel_params fixed;
  float bias;            /* 200 */
  int32_t window;        /* 204 */
  attn_table_param temp; /* 208 */
} Params;

static const attn_request_record *request(const Params *p, int32_t index) {
  const char *plan = (const char *)(uintptr_t)p->fixed.plan;
  const attn_plan_header *header = (const attn_plan_header *)plan;
  return (const attn_request_record *)(plan + header->requests_offset) + index;
}

static float *at(uint64_t base, attn_strides s, int64_t batch, int64_t token,
                 int64_t head) {
  return (float *)(uintptr_t)base + batch * s.batch + token * s.token +
         head * s.head;
}

typedef struct {
  int32_t token, head;
} Row;

static Row rowOf(int32_t packed, int32_t itemHead, int32_t pack) {
  Row row = {packed / pack, itemHead * pack + packed % pack};
  return row;
}

static void store(const Params *p, int32_t batch, Row row, const float *o,
                  float lse) {
  const attn_request_record *r = request(p, batch);
  float *out = at(p->fixed.o, p->fixed.o_strides, batch, r->q_begin + row.token,
                  row.head);
  for (int c = 0; c < Dim; ++c)
    out[c] = o[c];
  if (p->fixed.lse)
    *at(p->fixed.lse, p->fixed.lse_strides, batch, r->q_begin + row.token,
        row.head) = lse;
}

static void finish(const Params *p, int32_t batch, Row row, float *o, float top,
                   float sum) {
  for (int c = 0; c < Dim; ++c)
    o[c] = sum > 0 ? o[c] / sum : 0;
  store(p, batch, row, o, sum > 0 ? top + logf(sum) : -INFINITY);
}

static void attention(const attn_work_item *item, const Params *p,
                      float *scores, int32_t pack) {
  const attn_request_record *r = request(p, item->request);
  int32_t group = p->fixed.heads / p->fixed.kv_heads;
  const float *temp = (const float *)(uintptr_t)p->temp.data;
  for (int32_t i = 0; i < item->rows; ++i) {
    Row row = rowOf(item->row0 + i, item->head, pack);
    int32_t position = row.token + r->kv_len - r->q_len;
    int32_t last = (int32_t)p->temp.extent[0] - 1;
    float factor = temp[row.head < last ? row.head : last];
    const float *q = at(p->fixed.q, p->fixed.q_strides, item->request,
                        r->q_begin + row.token, row.head);
    float top = -INFINITY, sum = 0, o[Dim] = {0};
    for (int32_t k = item->kv_begin; k < item->kv_end; ++k) {
      if (k > position || position - k >= p->window)
        continue;
      const float *key = at(p->fixed.k, p->fixed.k_strides, item->request,
                            r->kv_begin + k, row.head / group);
      const float *value = at(p->fixed.v, p->fixed.v_strides, item->request,
                              r->kv_begin + k, row.head / group);
      float s = 0;
      for (int c = 0; c < Dim; ++c)
        s += q[c] * key[c];
      s = s * p->fixed.scale * factor + p->bias;
      scores[0] = s; /* the scratch is there and is this thread's own */
      float next = s > top ? s : top;
      float keep = expf(top - next), weight = expf(scores[0] - next);
      sum = sum * keep + weight;
      for (int c = 0; c < Dim; ++c)
        o[c] = o[c] * keep + weight * value[c];
      top = next;
    }
    if (item->slot < 0) {
      finish(p, item->request, row, o, top, sum);
      continue;
    }
    float *partial = (float *)(uintptr_t)p->fixed.partial_o +
                     ((int64_t)item->slot * TileQ + i) * Dim;
    for (int c = 0; c < Dim; ++c)
      partial[c] = o[c];
    float *rows = (float *)(uintptr_t)p->fixed.partial_rows +
                  (int64_t)item->slot * 2 * TileQ;
    rows[i] = top;
    rows[TileQ + i] = sum;
  }
}

static void merge(const attn_merge_item *item, const Params *p, int32_t pack) {
  for (int32_t i = 0; i < item->rows; ++i) {
    float top = -INFINITY, sum = 0, o[Dim] = {0};
    for (int32_t s = 0; s < item->count; ++s) {
      int64_t slot = item->first_slot + s;
      const float *partial = (const float *)(uintptr_t)p->fixed.partial_o +
                             (slot * TileQ + i) * Dim;
      const float *rows =
          (const float *)(uintptr_t)p->fixed.partial_rows + slot * 2 * TileQ;
      if (rows[TileQ + i] == 0)
        continue;
      float next = rows[i] > top ? rows[i] : top;
      float keep = expf(top - next), weight = expf(rows[i] - next);
      sum = sum * keep + weight * rows[TileQ + i];
      for (int c = 0; c < Dim; ++c)
        o[c] = o[c] * keep + weight * partial[c];
      top = next;
    }
    finish(p, item->request, rowOf(item->row0 + i, item->head, pack), o, top,
           sum);
  }
}

void tiny_attention(const void *item, const void *params, void *scratch) {
  attention(item, params, scratch, 1);
}

void tiny_merge(const void *item, const void *params, void *scratch) {
  (void)scratch;
  merge(item, params, 1);
}

void tiny_attention_packed(const void *item, const void *params,
                           void *scratch) {
  const Params *p = params;
  attention(item, p, scratch, p->fixed.heads / p->fixed.kv_heads);
}

void tiny_merge_packed(const void *item, const void *params, void *scratch) {
  const Params *p = params;
  (void)scratch;
  merge(item, p, p->fixed.heads / p->fixed.kv_heads);
}
