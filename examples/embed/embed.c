/*===- embed.c - a kernel inside an application ------------------*- C99 -*-===
 *
 *   embed BUNDLE [KERNEL] [DEVICE]         DEVICE: cpu, cuda:0
 *
 * Runs a ragged bf16 kernel on a batch of three requests as an inference engine
 * would: open once, plan once a step, launch once a layer.  Queries and keys are
 * arbitrary; the values of a request and head are all the same row, and a softmax
 * of equal rows is that row whatever the scores are, so every output is known.
 *===----------------------------------------------------------------------===*/
#include "attnrt/attnrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every call returns a status, and the text of the last failure says why. */
static void check(attnrt_status status, const char *what) {
  if (status == ATTNRT_OK)
    return;
  fprintf(stderr, "%s: %s: %s\n", what, attnrt_status_name(status),
          attnrt_last_error());
  exit(1);
}
#define CHECK(call) check(call, #call)

/* The upper half of an f32: enough for small whole numbers. */
static uint16_t bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (uint16_t)(bits >> 16);
}

enum { requests = 3, layers = 4 };
/* A prompt, a prompt behind a cached prefix, and one token of decoding. */
static const int32_t q_indptr[requests + 1] = {0, 70, 110, 111};
static const int32_t kv_indptr[requests + 1] = {0, 70, 410, 1310};

static float value_of(int request, int head, int column) {
  return (float)((request * 7 + head * 3 + column) % 32);
}

static void *upload(attnrt_device *device, const void *data, size_t bytes) {
  void *memory;
  CHECK(attnrt_mem_alloc(device, bytes, &memory));
  CHECK(attnrt_mem_copy(device, memory, data, bytes, ATTNRT_HOST_TO_DEVICE,
                        NULL));
  return memory;
}

/* [token][head][dim] without gaps. */
static attnrt_tensor tensor(void *data, int tokens, int heads, int dim) {
  attnrt_tensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.strides.token = (int64_t)heads * dim;
  t.strides.head = dim;
  t.elements = (uint64_t)tokens * (uint64_t)(heads * dim);
  return t;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: embed BUNDLE [KERNEL] [DEVICE]\n");
    return 2;
  }
  const char *name = argc > 2 ? argv[2] : "prefill";

  /* Once, when the engine starts. */
  attnrt_bundle *bundle;
  attnrt_device *device;
  attnrt_kernel *kernel;
  attnrt_plan *plan;
  attnrt_select select;
  memset(&select, 0, sizeof select);
  select.element = ATTNRT_BF16;
  select.output = ATTNRT_BF16;
  CHECK(attnrt_bundle_open(argv[1], &bundle));
  CHECK(attnrt_device_open(argc > 3 ? argv[3] : "cpu", NULL, &device));
  CHECK(attnrt_kernel_load(device, bundle, name, &select, &kernel));
  CHECK(attnrt_plan_create(kernel, &plan));
  uint32_t index, specialisation;
  attnrt_kernel_info info;
  CHECK(attnrt_kernel_chosen(kernel, &index, &specialisation));
  CHECK(attnrt_bundle_kernel(bundle, index, &info));
  if (info.storage != ATTNRT_RAGGED) {
    fprintf(stderr, "%s is not a ragged kernel\n", name);
    return 1;
  }

  /* The inputs. */
  int queries = q_indptr[requests], keys = kv_indptr[requests];
  size_t q_count = (size_t)queries * (size_t)(info.heads * info.dim);
  size_t k_count = (size_t)keys * (size_t)(info.kv_heads * info.dim);
  size_t v_count = (size_t)keys * (size_t)(info.kv_heads * info.dim_v);
  size_t o_count = (size_t)queries * (size_t)(info.heads * info.dim_v);
  uint16_t *q = malloc(2 * q_count), *k = malloc(2 * k_count),
           *v = malloc(2 * v_count), *o = malloc(2 * o_count);
  if (!q || !k || !v || !o)
    return 1;
  for (size_t i = 0; i < q_count; ++i)
    q[i] = bf16((float)(int)(i * 2654435761u >> 24 & 63) / 16 - 2);
  for (size_t i = 0; i < k_count; ++i)
    k[i] = bf16((float)(int)(i * 2246822519u >> 24 & 63) / 16 - 2);
  for (int r = 0; r < requests; ++r)
    for (int t = kv_indptr[r]; t < kv_indptr[r + 1]; ++t)
      for (int h = 0; h < info.kv_heads; ++h)
        for (int c = 0; c < info.dim_v; ++c)
          v[((size_t)t * (size_t)info.kv_heads + (size_t)h) *
                (size_t)info.dim_v +
            (size_t)c] = bf16(value_of(r, h, c));
  attnrt_args args;
  memset(&args, 0, sizeof args);
  args.q =
      tensor(upload(device, q, 2 * q_count), queries, info.heads, info.dim);
  args.k =
      tensor(upload(device, k, 2 * k_count), keys, info.kv_heads, info.dim);
  args.v =
      tensor(upload(device, v, 2 * v_count), keys, info.kv_heads, info.dim_v);
  args.o =
      tensor(upload(device, o, 2 * o_count), queries, info.heads, info.dim_v);

  /* Once a step: the lengths of the batch. */
  attnrt_plan_params lengths;
  memset(&lengths, 0, sizeof lengths);
  lengths.batch = requests;
  lengths.q_indptr = q_indptr;
  lengths.kv_indptr = kv_indptr;
  size_t bytes;
  void *workspace;
  CHECK(attnrt_plan_workspace(plan, &lengths, &bytes));
  CHECK(attnrt_mem_alloc(device, bytes, &workspace));
  CHECK(attnrt_plan_build(plan, &lengths, workspace, bytes, NULL));

  /* Once a layer: all layers of the step share the plan. */
  for (int layer = 0; layer < layers; ++layer)
    CHECK(attnrt_run(kernel, plan, &args, NULL));
  CHECK(attnrt_mem_copy(device, o, args.o.data, 2 * o_count,
                        ATTNRT_DEVICE_TO_HOST, NULL));
  CHECK(attnrt_stream_synchronize(device, NULL));

  long wrong = 0;
  int group = info.heads / info.kv_heads;
  for (int r = 0; r < requests; ++r)
    for (int t = q_indptr[r]; t < q_indptr[r + 1]; ++t)
      for (int h = 0; h < info.heads; ++h)
        for (int c = 0; c < info.dim_v; ++c)
          wrong += o[((size_t)t * (size_t)info.heads + (size_t)h) *
                         (size_t)info.dim_v +
                     (size_t)c] != bf16(value_of(r, h / group, c));
  attnrt_plan_info work;
  CHECK(attnrt_plan_query(plan, &work));
  printf(
      "%s by %s: %d requests, %u items, %u merges, %ld of %zu outputs wrong\n",
      name, attnrt_kernel_code(kernel), (int)requests, work.items, work.merges,
      wrong, o_count);

  void *memory[] = {args.q.data, args.k.data, args.v.data, args.o.data,
                    workspace};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i)
    CHECK(attnrt_mem_free(device, memory[i]));
  attnrt_plan_destroy(plan);
  attnrt_kernel_unload(kernel);
  attnrt_device_close(device);
  attnrt_bundle_close(bundle);
  free(q), free(k), free(v), free(o);
  return wrong != 0;
}
