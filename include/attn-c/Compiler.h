/*===- Compiler.h - the compiler as a C library -----------------------------===
 *
 *   attnc_result *result;
 *   attnc_options options = {.targets = "cpu,sm_90a"};
 *   if (attnc_compile(text, strlen(text), "kernel.mlir", &options, &result) == 0)
 *     use(attnc_result_data(result), attnc_result_size(result));
 *   else
 *     fputs(attnc_result_messages(result), stderr);
 *   attnc_result_free(result);
 *
 * libattnc.so holds the whole compiler and exports these functions alone.  Calls
 * from different threads are independent.  The bytes are a bundle: write them to a
 * file, or give them to attnrt_bundle_open_memory.
 *===----------------------------------------------------------------------===*/
#ifndef ATTN_C_COMPILER_H
#define ATTN_C_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTNC_API __attribute__((visibility("default")))

/* Null or empty fields mean the default. */
typedef struct attnc_options {
  const char *targets;   /* "cpu,sm_80"; required                             */
  const char *schedule;  /* field=value,... overrides                         */
  const char *cpu_types; /* "f32,f16,bf16": types of cpu code besides the
                            declared one; default "f32"                       */
  const char *ptxas;     /* path of the assembler; default: searched          */
  const char *cache;     /* folder of compiled bundles; default: no cache     */
  int32_t no_cubin;      /* PTX only                                          */
} attnc_options;

typedef struct attnc_result attnc_result;

/* Compiles every kernel of the text for every target.  0: the result has a bundle;
 * 1: it has none.  In both cases it has the messages and must be freed.  `name`
 * stands for the text in messages. */
ATTNC_API int attnc_compile(const char *text, size_t bytes, const char *name,
                            const attnc_options *options,
                            attnc_result **result);

/* Valid until the result is freed; null and 0 without a bundle. */
ATTNC_API const void *attnc_result_data(const attnc_result *result);
ATTNC_API size_t attnc_result_size(const attnc_result *result);
/* Errors, warnings and remarks, one a line: "name:line:column: error: text". */
ATTNC_API const char *attnc_result_messages(const attnc_result *result);
ATTNC_API void attnc_result_free(attnc_result *result);

ATTNC_API const char *attnc_version(void);
/* ATTN_ABI_VERSION of the bundles. */
ATTNC_API uint32_t attnc_abi_version(void);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_C_COMPILER_H */
