//===- Plan.h - the plan object of the runtime ------------------*- C++ -*-===//
//
// Workspace of a plan, all parts 256-byte aligned:
//
//   plan buffer (WorkItem.h) | partial O [slots][tile_q][dv]
//     | partial rows [slots][2][tile_q]: m, l
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_LIB_PLAN_H
#define ATTNRT_LIB_PLAN_H

#include "Kernel.h"

#include "attn/Plan/Planner.h"

namespace attnrt {

/// A value that a plan depends on because its slices were narrowed with it.
struct Dependence {
  uint32_t index; ///< of the parameter or table
  uint32_t value; ///< bits, or the table's version
};

/// Where the parts of a workspace lie.
struct WorkspaceLayout {
  uint64_t partialO, partialRows, bytes;
  WorkspaceLayout(const Kernel &kernel, uint64_t planBytes, uint64_t slots);
};

class Plan {
public:
  explicit Plan(std::shared_ptr<Kernel> kernel) : kernel(std::move(kernel)) {}
  ~Plan();
  Plan(const Plan &) = delete;
  Plan &operator=(const Plan &) = delete;

  attnrt_status workspace(const attnrt_plan_params &params, size_t &bytes);
  attnrt_status build(const attnrt_plan_params &params, void *memory,
                      size_t bytes, void *stream);

  std::shared_ptr<Kernel> kernel;
  std::unique_ptr<Staging> staging;

  // Of the last successful build.
  bool built = false;
  attnrt_plan_info info = {};
  char *workspaceBegin = nullptr;
  uint64_t partialO = 0, partialRows = 0; ///< offsets in the workspace
  int64_t qEnd = 0, kvEnd = 0;         ///< one past the last token of a request
  int32_t longestQ = 0, longestKv = 0; ///< of a request
  std::vector<Dependence> paramDependences, tableDependences;

private:
  attnrt_status describe(const attnrt_plan_params &params);
  attnrt_status lengths(const char *name, const attnrt_plan_params &params,
                        const int32_t *lens, const int32_t *indptr,
                        std::vector<int32_t> &begins,
                        std::vector<int32_t> &result);
  attnrt_status bindMask(const attnrt_plan_params &params, bool &narrow);
  attnrt_status reserveScratch(uint64_t bytes);

  attn::plan::Problem problem;
  attn::plan::Options options;
  std::vector<int32_t> qBegins, qLens, kvBegins, kvLens;
  Bound bound;
  std::vector<attn::mask::TableData> maskTables;
  void *scratch = nullptr;
  uint64_t scratchBytes = 0;
};

} // namespace attnrt

struct attnrt_plan {
  attnrt::Plan impl;
};

#endif // ATTNRT_LIB_PLAN_H
