//===- Status.cpp - how the runtime reports failures ----------------------===//
//
// The text lives in a fixed buffer of each thread, so that reporting a failure
// cannot fail: no allocation.  Long texts (a JIT log) are cut.
//
//===----------------------------------------------------------------------===//
#include "Status.h"

#include "attn/ABI/Version.h"

#include <cstdarg>
#include <cstdio>

namespace attnrt {

static thread_local char lastError[4096];

attnrt_status fail(attnrt_status status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  // Arguments may point into the old text.
  char text[sizeof(lastError)];
  vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  __builtin_memcpy(lastError, text, sizeof(text));
  return status;
}

} // namespace attnrt

extern "C" {

const char *attnrt_last_error(void) { return attnrt::lastError; }

uint32_t attnrt_abi_version(void) { return ATTN_ABI_VERSION; }

const char *attnrt_status_name(attnrt_status status) {
  switch (status) {
  case ATTNRT_OK:
    return "ok";
  case ATTNRT_INVALID_ARGUMENT:
    return "invalid argument";
  case ATTNRT_IO_ERROR:
    return "io error";
  case ATTNRT_BAD_BUNDLE:
    return "bad bundle";
  case ATTNRT_NOT_FOUND:
    return "not found";
  case ATTNRT_NOT_ADMISSIBLE:
    return "not admissible";
  case ATTNRT_TOO_SMALL:
    return "too small";
  case ATTNRT_OUT_OF_MEMORY:
    return "out of memory";
  case ATTNRT_NO_DRIVER:
    return "no driver";
  case ATTNRT_DRIVER_ERROR:
    return "driver error";
  case ATTNRT_LOAD_ERROR:
    return "load error";
  case ATTNRT_LIMIT:
    return "limit";
  }
  return "unknown status";
}

} // extern "C"
