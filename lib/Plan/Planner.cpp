//===- Planner.cpp - from request lengths to work lists -------------------===//
//
// Checks the buffers; Builder.h does the work.
//
//===----------------------------------------------------------------------===//
#include "Builder.h"

namespace attn::plan {

bool build(const Problem &problem, const Options &options, void *plan,
           uint64_t planBytes, void *scratch, uint64_t scratchBytes,
           Summary &summary, Error &error) {
  summary = {};
  Counts counts;
  if (!count(problem, options, counts, error))
    return false;
  if (planBytes < counts.capacity.planBytes)
    return fail(error, "plan needs %lu bytes but the buffer has %lu",
                counts.capacity.planBytes, planBytes);
  if (scratchBytes < counts.capacity.scratchBytes)
    return fail(error, "planning needs %lu bytes but the scratch has %lu",
                counts.capacity.scratchBytes, scratchBytes);
  Builder builder(problem, options, counts, static_cast<char *>(plan),
                  static_cast<char *>(scratch), summary, error);
  return builder.run();
}

} // namespace attn::plan
