//===- Launch.h - plan and parameter struct of a workload -------*- C++ -*-===//
//
// What the runtime does before a launch, for levels that run inside the
// compiler: a plan from the shared planner and the parameter struct with host
// pointers.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_VERIFY_LAUNCH_H
#define ATTN_LIB_VERIFY_LAUNCH_H

#include "attn/Emit/Bundle.h"
#include "attn/Verify/VerifyLevels.h"
#include "attn/Workload/Workload.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace attn {

/// A description as the workload library wants it.
workload::KernelDesc workloadDescOf(const emit::Kernel &kernel);

class Launch {
public:
  /// Plans the workload; false with a message.
  bool make(workload::Workload &w, const emit::Kernel &kernel,
            const emit::Specialisation &s, const VerifyOptions &options,
            std::string &error);

  llvm::ArrayRef<char> params() const { return paramBytes; }
  /// Fields behind the struct of KernelParams.h, of kernels at L3 that have them:
  /// room up to `bytes`.
  llvm::MutableArrayRef<char> extend(size_t bytes) {
    if (paramBytes.size() < bytes)
      paramBytes.resize(bytes);
    return paramBytes;
  }
  /// As before the first run: partial results are NaN, the plan (whose header
  /// holds the work queue) is what the planner wrote.
  void reset();
  const attn_plan_header &header() const {
    return *reinterpret_cast<const attn_plan_header *>(plan.data());
  }
  llvm::ArrayRef<attn_work_item> items() const {
    return {reinterpret_cast<const attn_work_item *>(plan.data() +
                                                     header().items_offset),
            header().items};
  }
  llvm::ArrayRef<attn_merge_item> merges() const {
    return {reinterpret_cast<const attn_merge_item *>(plan.data() +
                                                      header().merges_offset),
            header().merges};
  }

private:
  std::vector<char> plan, paramBytes;
  std::vector<char> planned; ///< the plan, untouched
  std::vector<float> partialO, partialRows;
};

/// Runs both entries of a linked object over all records, on this thread.
/// False with a message.
bool runObject(llvm::ArrayRef<char> object, const emit::Specialisation &s,
               const Launch &launch, std::string &error);

} // namespace attn

#endif // ATTN_LIB_VERIFY_LAUNCH_H
