//===- Runner.h - one kernel of a bundle on one device ----------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTN_RUN_RUNNER_H
#define ATTN_TOOLS_ATTN_RUN_RUNNER_H

#include "attn/Workload/Workload.h"
#include "attnrt/attnrt.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace attnrun {

/// What the command line says.
struct Settings {
  std::string device = "cpu";
  std::string batch = "q=5,1;kv=7,300";
  std::string dtype; ///< empty: the type the kernel was written in
  std::string target;
  std::string driver;
  uint64_t seed = 1;
  int32_t split = 0, maxSplits = 0;
  int32_t workers = 0;
  int32_t threads = 0;
  int32_t tokenPad = 8;
  int32_t unseenMargin = -1; ///< see Workload.h
  int64_t workspace = -1;    ///< bytes offered; -1: what the plan needs
  int32_t iterations = 20;
  int32_t rounds = 1;
  /// Launches whose outputs must be the same bit for bit; 0: 2 with `check`, else 1.
  int32_t repeat = 0;
  std::string inputs = "random";
  int32_t checkRows = -1; ///< see workload::Options
  /// Index of the specialisation to run; -1: the cheapest admissible one.
  int32_t specialisation = -1;
  /// Run every one in turn; those that do not run here are no failure.
  bool allSpecialisations = false;
  bool check = false;
  bool bench = false;
  bool defaults = false; ///< parameters by default, not by sample
  std::map<std::string, std::string> params;
};

/// False with a message if standard output did not take everything.
inline bool flushOutput(std::string &error) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return true;
  error = std::string("cannot write to standard output: ") + strerror(errno);
  return false;
}

/// Fills a description from the bundle.
bool describe(const attnrt_bundle *bundle, uint32_t index,
              attn::workload::KernelDesc &desc, std::string &error);

/// Runs kernel `index`; the "ok" of each result, one a specialisation that was
/// asked for, says whether everything held.
std::vector<nlohmann::ordered_json> runKernel(attnrt_bundle *bundle,
                                              attnrt_device *device,
                                              uint32_t index,
                                              const Settings &settings);

} // namespace attnrun

#endif // ATTN_TOOLS_ATTN_RUN_RUNNER_H
