//===- Status.h - how the runtime reports failures --------------*- C++ -*-===//
//
// A failing function sets the text of its thread and returns the status:
//
//   return fail(ATTNRT_TOO_SMALL, "plan needs %zu bytes", n);
//
// Callers pass a failure on with ATTNRT_TRY.  No exception crosses, or exists
// inside, the runtime.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_LIB_STATUS_H
#define ATTNRT_LIB_STATUS_H

#include "attnrt/attnrt.h"

namespace attnrt {

/// Sets attnrt_last_error() and returns `status`.
[[gnu::format(printf, 2, 3)]] attnrt_status fail(attnrt_status status,
                                                 const char *format, ...);

} // namespace attnrt

#define ATTNRT_TRY(expression)                                                 \
  do {                                                                         \
    attnrt_status tryStatus_ = (expression);                                   \
    if (tryStatus_ != ATTNRT_OK)                                               \
      return tryStatus_;                                                       \
  } while (false)

#endif // ATTNRT_LIB_STATUS_H
