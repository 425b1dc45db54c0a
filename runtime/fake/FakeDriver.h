/*===- FakeDriver.h - control of the fake driver --------------------*- C -*-===
 *
 * Tests load the fake by dlopen, pass its path as the driver of a device, and
 * control it through these functions.  All state is global to the library.
 *===----------------------------------------------------------------------===*/
#ifndef ATTNRT_FAKE_FAKEDRIVER_H
#define ATTNRT_FAKE_FAKEDRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attn_fake_launch {
  const char *entry;
  uint32_t grid, threads, shared_bytes;
  const void *params;
  void *stream;
} attn_fake_launch;

/* One call of cuTensorMapEncodeTiled; entries beyond the rank are 0. */
typedef struct attn_fake_tensor_map {
  int type;
  uint32_t rank;
  const void *base;
  uint64_t extents[5];
  uint64_t strides[5]; /* of the dimensions from 1 on */
  uint32_t box[5], element_strides[5];
  int interleave, swizzle, promotion, fill;
} attn_fake_tensor_map;

/* Called inside cuLaunchKernel; device pointers are host pointers. */
typedef void (*attn_fake_kernel)(const attn_fake_launch *launch, void *user);

/* Forgets the log, counters, faults, options and the kernel. */
void attn_fake_reset(void);
/* The n-th call (from 1) of `name` returns `code`. */
void attn_fake_fail(const char *name, unsigned n, int code);
/* The n-th call (from 1, counted from now) of whatever entry returns `code`; if
 * `sticky`, all later ones do too, as after a fault on the device.  The calls
 * that name errors neither count nor fail.  n = 0: none fails. */
void attn_fake_fail_nth(unsigned n, int code, int sticky);
/* The entry that the n-th call was; "" as long as there were fewer. */
const char *attn_fake_failed(void);
/* cuGetProcAddress does not know `name`; null: knows all. */
void attn_fake_hide(const char *name);
/* Numbers of the pretended device; the default is 1 device, 9.0, 132 SMs. */
void attn_fake_device(int count, int major, int minor, int sms);
/* The arguments that 128 bytes of a launch's parameters were encoded from; null
 * if they are no tensor map. */
const attn_fake_tensor_map *attn_fake_find_tensor_map(const void *bytes);
/* CTAs an SM holds. */
void attn_fake_occupancy(int ctas);
void attn_fake_set_kernel(attn_fake_kernel kernel, void *user);
/* Calls of `name` so far, failed ones included. */
unsigned attn_fake_calls(const char *name);
/* One call a line, in order. */
const char *attn_fake_log(void);
/* Objects that were made and not yet released, of all kinds together. */
int attn_fake_live(void);
/* Contexts that are pushed. */
int attn_fake_context_depth(void);

#ifdef __cplusplus
}
#endif

#endif /* ATTNRT_FAKE_FAKEDRIVER_H */
