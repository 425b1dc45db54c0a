/*===- attnrt.h - load, plan and run compiled attention kernels ---*- C99 -*-===
 *
 * The whole public interface of the runtime.  Four opaque objects:
 *
 *   bundle  a verified .attn file             attnrt_bundle_open
 *   device  "cpu" or "cuda:N"                 attnrt_device_open
 *   kernel  one specialisation, loaded        attnrt_kernel_load
 *   plan    work lists for one batch shape    attnrt_plan_create / _build
 *
 * A call in full:
 *
 *   attnrt_plan_workspace(plan, &shape, &bytes);
 *   attnrt_mem_alloc(device, bytes, &workspace);
 *   attnrt_plan_build(plan, &shape, workspace, bytes, stream);
 *   attnrt_run(kernel, plan, &args, stream);
 *
 * Rules.  Every function returns a status; attnrt_last_error() holds the text
 * for the calling thread until its next failing call.  Objects keep what they
 * were made from alive, so they may be closed in any order.  Different objects
 * may be used from different threads; one plan from one thread at a time.  One
 * workspace belongs to one launch in flight.  Strides count elements.  Structs
 * are to be zeroed first: zero is the default of every optional field.
 *===----------------------------------------------------------------------===*/
#ifndef ATTNRT_ATTNRT_H
#define ATTNRT_ATTNRT_H

#include "attn/ABI/HookExpr.h"
#include "attn/ABI/KernelParams.h"
#include "attn/ABI/WorkItem.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ATTNRT_API __attribute__((visibility("default")))
#else
#define ATTNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*--- status -----------------------------------------------------------------*/

typedef enum attnrt_status {
  ATTNRT_OK = 0,
  ATTNRT_INVALID_ARGUMENT = 1, /* the caller's values                        */
  ATTNRT_IO_ERROR = 2,         /* a file cannot be read                      */
  ATTNRT_BAD_BUNDLE = 3,       /* a bundle fails verification                */
  ATTNRT_NOT_FOUND = 4,        /* no kernel, device or entry of that name    */
  ATTNRT_NOT_ADMISSIBLE = 5,   /* no specialisation meets the requirements   */
  ATTNRT_TOO_SMALL = 6,        /* workspace                                  */
  ATTNRT_OUT_OF_MEMORY = 7,
  ATTNRT_NO_DRIVER = 8,    /* libcuda.so.1 is missing or unusable        */
  ATTNRT_DRIVER_ERROR = 9, /* a driver call failed                       */
  ATTNRT_LOAD_ERROR = 10,  /* code of a specialisation does not load     */
  ATTNRT_LIMIT = 11        /* a number does not fit its field            */
} attnrt_status;

ATTNRT_API const char *attnrt_status_name(attnrt_status status);
/* Text of this thread's last failure; "" if none.  Never null. */
ATTNRT_API const char *attnrt_last_error(void);
ATTNRT_API uint32_t attnrt_abi_version(void);

/*--- enumerations, numbered as in Bundle.fbs --------------------------------*/

typedef enum attnrt_element {
  ATTNRT_F32 = 0,
  ATTNRT_F16 = 1,
  ATTNRT_BF16 = 2
} attnrt_element;
#define ATTNRT_ANY_ELEMENT (-1)

typedef enum attnrt_storage {
  ATTNRT_DENSE = 0, /* [batch][token][head][dim], begins are 0                */
  ATTNRT_RAGGED = 1 /* [total tokens][head][dim], begins from an indptr       */
} attnrt_storage;

typedef enum attnrt_normaliser {
  ATTNRT_SOFTMAX = 0,
  ATTNRT_NO_NORMALISER = 1
} attnrt_normaliser;

typedef enum attnrt_code_kind {
  ATTNRT_CODE_SHARED_OBJECT = 0,
  ATTNRT_CODE_PTX = 1,
  ATTNRT_CODE_CUBIN = 2
} attnrt_code_kind;

/*--- bundle -----------------------------------------------------------------*/

typedef struct attnrt_bundle attnrt_bundle;

/* Maps the file and verifies all of it. */
ATTNRT_API attnrt_status attnrt_bundle_open(const char *path,
                                            attnrt_bundle **bundle);
/* Copies the bytes and verifies them. */
ATTNRT_API attnrt_status attnrt_bundle_open_memory(const void *data,
                                                   size_t size,
                                                   attnrt_bundle **bundle);
ATTNRT_API void attnrt_bundle_close(attnrt_bundle *bundle);

/* Strings and bytes below belong to the bundle. */
typedef struct attnrt_kernel_info {
  const char *name;
  int32_t heads, kv_heads, dim, dim_v;
  attnrt_storage storage;
  attnrt_normaliser normaliser;
  float default_scale;
  uint32_t params, tables, hooks, specialisations; /* counts */
  const char *map_form;    /* "closed", "list" or "opaque" */
  const char *block_map;   /* "" if absent */
  const char *source_hash; /* "" if absent */
} attnrt_kernel_info;

typedef struct attnrt_param_info {
  const char *name;
  enum attn_scalar type;
  int32_t has_default;
  uint32_t default_bits, sample_lo, sample_hi; /* bit patterns of the type */
  uint32_t offset;
} attnrt_param_info;

typedef struct attnrt_table_info {
  const char *name;
  enum attn_scalar element;
  uint32_t rank;
  enum attn_index_space index[ATTN_TABLE_MAX_RANK]; /* outermost first */
  uint32_t sample_lo, sample_hi;
  int32_t sorted; /* nonzero: contents ascend along the innermost index, as document
                   * numbers do.  For who makes inputs: neither the planner nor a
                   * kernel relies on it, so nothing checks it. */
  uint32_t offset;
} attnrt_table_info;

typedef struct attnrt_hook_info {
  enum attn_hook_kind kind;
  const void *code; /* HookExpr.h */
  size_t size;
} attnrt_hook_info;

typedef struct attnrt_specialisation_info {
  const char *target;
  attnrt_element element, output;
  int32_t tile_q, tile_k, pack;
  const char *entry, *merge_entry;
  uint32_t codes, tensor_maps; /* counts */
  uint32_t params_bytes;
  uint32_t threads, shared_bytes, merge_threads, merge_shared_bytes, registers;
  uint32_t scratch_bytes, merge_scratch_bytes;
  uint32_t stride_multiple, base_align;
  int32_t scale_positive;
  float cost_q, cost_kv;
  const char *schedule; /* "" if absent */
  int32_t dynamic;      /* CTAs take items from the plan's queue */
  int32_t cta_an_item;  /* the launch has a CTA for each item */
} attnrt_specialisation_info;

/* The recipe of a tensor map in the parameter struct, see KernelParams.h. */
typedef struct attnrt_tensor_map_info {
  enum attn_map_tensor tensor;
  uint32_t offset;
  uint32_t rank;
  enum attn_map_dim dims[ATTN_MAP_MAX_RANK]; /* innermost first */
  uint32_t box[ATTN_MAP_MAX_RANK];           /* elements of one copy */
  attnrt_element element;
  uint32_t swizzle, promotion; /* bytes, 0: none */
} attnrt_tensor_map_info;

typedef struct attnrt_code_info {
  attnrt_code_kind kind;
  const char *arch;
  const void *data;
  size_t size;
} attnrt_code_info;

ATTNRT_API const char *attnrt_bundle_compiler(const attnrt_bundle *bundle);
ATTNRT_API uint32_t attnrt_bundle_kernels(const attnrt_bundle *bundle);
/* Index of the kernel of that name. */
ATTNRT_API attnrt_status attnrt_bundle_find(const attnrt_bundle *bundle,
                                            const char *name, uint32_t *index);
ATTNRT_API attnrt_status attnrt_bundle_kernel(const attnrt_bundle *bundle,
                                              uint32_t kernel,
                                              attnrt_kernel_info *info);
ATTNRT_API attnrt_status attnrt_bundle_param(const attnrt_bundle *bundle,
                                             uint32_t kernel, uint32_t index,
                                             attnrt_param_info *info);
ATTNRT_API attnrt_status attnrt_bundle_table(const attnrt_bundle *bundle,
                                             uint32_t kernel, uint32_t index,
                                             attnrt_table_info *info);
ATTNRT_API attnrt_status attnrt_bundle_hook(const attnrt_bundle *bundle,
                                            uint32_t kernel, uint32_t index,
                                            attnrt_hook_info *info);
ATTNRT_API attnrt_status
attnrt_bundle_specialisation(const attnrt_bundle *bundle, uint32_t kernel,
                             uint32_t index, attnrt_specialisation_info *info);
ATTNRT_API attnrt_status attnrt_bundle_code(const attnrt_bundle *bundle,
                                            uint32_t kernel,
                                            uint32_t specialisation,
                                            uint32_t index,
                                            attnrt_code_info *info);
ATTNRT_API attnrt_status attnrt_bundle_tensor_map(const attnrt_bundle *bundle,
                                                  uint32_t kernel,
                                                  uint32_t specialisation,
                                                  uint32_t index,
                                                  attnrt_tensor_map_info *info);

/*--- device -----------------------------------------------------------------*/

typedef struct attnrt_device attnrt_device;

typedef struct attnrt_device_options {
  const char *driver;   /* path of the driver library; null: libcuda.so.1     */
  int32_t threads;      /* cpu: worker threads; 0: all processors             */
  const char *max_arch; /* cpu: highest level to use, e.g. "x86-64-v3"; null:
                           what the processor has                            */
} attnrt_device_options;

typedef struct attnrt_device_info {
  char name[128];
  char arch[32]; /* "sm_90", "x86-64-v4" */
  int32_t is_cuda;
  int32_t processors;    /* SMs, or worker threads                            */
  uint64_t memory_bytes; /* 0 on cpu */
  uint64_t l2_bytes;     /* 0 on cpu */
  uint32_t shared_bytes; /* largest dynamic shared memory of a CTA; 0 on cpu */
  int32_t clock_khz;     /* 0 on cpu */
  int32_t driver_version; /* 0 on cpu */
} attnrt_device_info;

/* name: "cpu", "cuda" (= "cuda:0") or "cuda:N".  options may be null. */
ATTNRT_API attnrt_status
attnrt_device_open(const char *name, const attnrt_device_options *options,
                   attnrt_device **device);
ATTNRT_API void attnrt_device_close(attnrt_device *device);
ATTNRT_API attnrt_status attnrt_device_query(const attnrt_device *device,
                                             attnrt_device_info *info);

/* Memory, streams and events, the same on both devices.  On cpu "device
 * memory" is host memory, every call is synchronous and streams are null.
 * Memory is 256-byte aligned.  Zero bytes give a null pointer. */
typedef enum attnrt_copy_kind {
  ATTNRT_HOST_TO_DEVICE = 0,
  ATTNRT_DEVICE_TO_HOST = 1,
  ATTNRT_DEVICE_TO_DEVICE = 2
} attnrt_copy_kind;

ATTNRT_API attnrt_status attnrt_mem_alloc(attnrt_device *device, size_t bytes,
                                          void **pointer);
ATTNRT_API attnrt_status attnrt_mem_free(attnrt_device *device, void *pointer);
/* Ordered on the stream; host memory may be reused on return. */
ATTNRT_API attnrt_status attnrt_mem_copy(attnrt_device *device, void *to,
                                         const void *from, size_t bytes,
                                         attnrt_copy_kind kind, void *stream);
/* Every byte becomes `value`. */
ATTNRT_API attnrt_status attnrt_mem_set(attnrt_device *device, void *pointer,
                                        uint8_t value, size_t bytes,
                                        void *stream);
/* stream: a CUstream; null is the default stream. */
ATTNRT_API attnrt_status attnrt_stream_create(attnrt_device *device,
                                              void **stream);
ATTNRT_API attnrt_status attnrt_stream_destroy(attnrt_device *device,
                                               void *stream);
ATTNRT_API attnrt_status attnrt_stream_synchronize(attnrt_device *device,
                                                   void *stream);

typedef struct attnrt_event attnrt_event;
ATTNRT_API attnrt_status attnrt_event_create(attnrt_device *device,
                                             attnrt_event **event);
ATTNRT_API void attnrt_event_destroy(attnrt_event *event);
ATTNRT_API attnrt_status attnrt_event_record(attnrt_event *event, void *stream);
/* Waits for `end`. */
ATTNRT_API attnrt_status attnrt_event_elapsed(attnrt_event *begin,
                                              attnrt_event *end,
                                              float *milliseconds);

/*--- kernel -----------------------------------------------------------------*/

typedef struct attnrt_kernel attnrt_kernel;

/* What the caller knows about the calls to come.  A specialisation is
 * admissible when the device runs its target, the element types match and
 * these facts meet its requirements; the cheapest admissible one by its cost
 * coefficients for q_len and kv_len is taken (a newer target first).  The choice
 * is made once, for all plans of the kernel: give the lengths of the request
 * that takes most of the time.  A kernel for short and one for long batches are
 * two loads of the same name. */
typedef struct attnrt_select {
  int32_t element; /* attnrt_element of q, k, v, or ATTNRT_ANY_ELEMENT       */
  int32_t output;  /* attnrt_element of o, or ATTNRT_ANY_ELEMENT             */
  const char *target;     /* null: any that the device runs                   */
  int32_t specialisation; /* index + 1 to force one; 0: choose                */
  uint32_t stride_multiple; /* the strides are multiples of this; 0: of all   */
  uint32_t base_align;      /* the pointers are multiples of this; 0: of all  */
  int32_t scale_not_positive; /* nonzero: scale may be <= 0                   */
  int32_t q_len, kv_len; /* typical request, for the cost; 0: 4096            */
} attnrt_select;

/* select may be null: all zero, any element type. */
ATTNRT_API attnrt_status attnrt_kernel_load(attnrt_device *device,
                                            const attnrt_bundle *bundle,
                                            const char *name,
                                            const attnrt_select *select,
                                            attnrt_kernel **kernel);
ATTNRT_API void attnrt_kernel_unload(attnrt_kernel *kernel);
/* Indices for attnrt_bundle_*, of the kernel and of the chosen specialisation.
 */
ATTNRT_API attnrt_status attnrt_kernel_chosen(const attnrt_kernel *kernel,
                                              uint32_t *kernel_index,
                                              uint32_t *specialisation);
/* The code that was loaded, e.g. "x86-64-v4 shared object", "sm_80 ptx". */
ATTNRT_API const char *attnrt_kernel_code(const attnrt_kernel *kernel);

/*--- runtime parameters and tables, by name ---------------------------------*/

typedef struct attnrt_param {
  const char *name;
  enum attn_scalar type; /* must be the declared one */
  uint32_t bits;
} attnrt_param;

typedef struct attnrt_table {
  const char *name;
  void *data;       /* device memory */
  const void *host; /* the same contents on the host, or null: without them the
                       planner does not narrow by a mask that reads the table
                       and knows no whole blocks.  Read by attnrt_plan_build
                       alone; `data` must hold the same until the plan's last
                       run */
  uint32_t extent[ATTN_TABLE_MAX_RANK]; /* row-major, outermost first */
  uint32_t version; /* changes with the contents: a run with another version
                       than the plan's is refused */
} attnrt_table;

/*--- plan -------------------------------------------------------------------*/

typedef struct attnrt_plan attnrt_plan;

/* Lengths of a batch.  Dense kernels: q_lens and kv_lens.  Ragged kernels:
 * indptrs (batch + 1 entries); a length array besides shortens requests; a
 * length array alone means that requests follow each other without gaps.
 *
 * By default a tile is split where it is longer than a worker's share of the
 * batch, or one of the last, which few workers would end with.  Its rows are
 * rounded otherwise than those of a whole tile, so that what a request's rows
 * are to the bit depends on the batch and on the number of workers.  They do
 * not with max_splits = 1, nor with a length of splits: split_keys > 0. */
typedef struct attnrt_plan_params {
  int32_t batch;
  const int32_t *q_lens;
  const int32_t *kv_lens;
  const int32_t *q_indptr;
  const int32_t *kv_indptr;
  int32_t split_keys; /* keys of a split; 0: chosen for balance               */
  int32_t max_splits; /* of a tile; 0: ATTN_MAX_SPLITS; 1: never split        */
  int32_t max_workers; /* 0: all of the device, which are the most: what it runs
                        * at once of the kernel, on the CPU its threads */
  int32_t no_narrowing; /* nonzero: slices are not narrowed by the mask */
  /* Needed to narrow by a mask that reads them; must agree with attnrt_run.
   * A parameter that is not named has its default. */
  const attnrt_param *params;
  uint32_t param_count;
  const attnrt_table *tables;
  uint32_t table_count;
} attnrt_plan_params;

typedef struct attnrt_plan_info {
  uint32_t items, merges, slots, requests;
  uint32_t
      split_keys;   /* keys of a split that were used; 0: nothing was split */
  uint32_t workers; /* CTAs, or threads */
  uint64_t workspace_bytes;        /* in use */
  double total_cost, longest_cost; /* in the specialisation's unit */
  const attn_plan_header *header;  /* host copy of the plan buffer, owned by
                                      the plan until its next build */
} attnrt_plan_info;

ATTNRT_API attnrt_status attnrt_plan_create(attnrt_kernel *kernel,
                                            attnrt_plan **plan);
ATTNRT_API void attnrt_plan_destroy(attnrt_plan *plan);
/* Bytes of workspace (device memory, 256-byte aligned) that any plan for these
 * lengths and options needs. */
ATTNRT_API attnrt_status attnrt_plan_workspace(attnrt_plan *plan,
                                               const attnrt_plan_params *params,
                                               size_t *bytes);
/* Builds the plan, and on cuda uploads it in stream order. */
ATTNRT_API attnrt_status attnrt_plan_build(attnrt_plan *plan,
                                           const attnrt_plan_params *params,
                                           void *workspace,
                                           size_t workspace_bytes,
                                           void *stream);
ATTNRT_API attnrt_status attnrt_plan_query(const attnrt_plan *plan,
                                           attnrt_plan_info *info);

/*--- run --------------------------------------------------------------------*/

typedef struct attnrt_tensor {
  void *data;           /* device memory */
  attn_strides strides; /* elements; the innermost stride is 1; batch is
                           ignored for ragged storage                         */
  uint64_t elements;    /* readable from data on; 0: not checked              */
} attnrt_tensor;

typedef struct attnrt_args {
  attnrt_tensor q, k, v, o;
  attnrt_tensor lse; /* f32; data null: not wanted                            */
  const float *scale; /* null: the kernel's default */
  const attnrt_param *params;
  uint32_t param_count;
  const attnrt_table *tables;
  uint32_t table_count;
} attnrt_args;

ATTNRT_API attnrt_status attnrt_run(attnrt_kernel *kernel, attnrt_plan *plan,
                                    const attnrt_args *args, void *stream);

/*--- merging states ---------------------------------------------------------*/

/* out = merge of `parts` states in that order, on the host: o is
 * [rows][dim] f32 (normalised), lse is [rows] f32 (natural log, -inf = empty).
 * An output may be the same memory as an input. */
ATTNRT_API attnrt_status attnrt_merge_states(uint32_t parts,
                                             const float *const *o,
                                             const float *const *lse,
                                             uint64_t rows, uint32_t dim,
                                             float *out_o, float *out_lse);

#ifdef __cplusplus
}
#endif

#endif /* ATTNRT_ATTNRT_H */
