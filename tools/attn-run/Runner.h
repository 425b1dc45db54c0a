//===- Runner.h - one kernel of a bundle on one device ----------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTN_RUN_RUNNER_H
#define ATTN_TOOLS_ATTN_RUN_RUNNER_H

#include "attn/Workload/Workload.h"
#include "attnrt/attnrt.h"

#include <nlohmann/json.hpp>

#include <string>

namespace attnrun {

/// What the command line says.
struct Settings {
  std::string device = "cpu";
  std::string batch = "q=5,1;kv=7,300";
  std::string dtype; ///< empty: the type the kernel was written in
  std::string target;
  std::string driver;
  uint64_t seed = 1;
  int32_t split = 0;
  int32_t workers = 0;
  int32_t threads = 0;
  int32_t tokenPad = 8;
  int64_t workspace = -1; ///< bytes offered; -1: what the plan needs
  int32_t iterations = 20;
  bool check = false;
  bool bench = false;
  bool defaults = false; ///< parameters by default, not by sample
  std::map<std::string, std::string> params;
};

/// Fills a description from the bundle.
bool describe(const attnrt_bundle *bundle, uint32_t index,
              attn::workload::KernelDesc &desc, std::string &error);

/// Runs kernel `index`; the result's "ok" says whether everything held.
nlohmann::ordered_json runKernel(attnrt_bundle *bundle, attnrt_device *device,
                                 uint32_t index, const Settings &settings);

} // namespace attnrun

#endif // ATTN_TOOLS_ATTN_RUN_RUNNER_H
