//===- attn-run.cpp - run a bundle's kernels on random input --------------===//
//
//   attn-run llama3.attn --device=cpu --batch='q=5,1;kv=7,300' --check --json
//   attn-run llama3.attn --device=cuda --all-specialisations --bench --csv
//   attn-run llama3.attn --device=cuda --batch=q=0..600 --check --check-rows=0
//       every length from 0 to 600 in one launch
//   attn-run llama3.attn --device=cuda --inputs=rising --repeat=20
//
// Prints one line a kernel (or specialisation) and a last line {"ok": ...}, their
// conjunction; with --csv a head line in place of the last.  The exit status is
// 0 iff all is well.
//
//===----------------------------------------------------------------------===//

#include "Ranges.h"
#include "Runner.h"

#include <CLI/CLI.hpp>

#include <cstdio>

using namespace attnrun;
using nlohmann::ordered_json;

/// The human form of a result line.
static void print(const ordered_json &line) {
  std::printf("%s:", line.value("kernel", std::string("-")).c_str());
  for (const auto &[key, value] : line.items())
    if (key != "kernel") {
      std::string text =
          value.is_string() ? value.get<std::string>() : value.dump();
      std::printf(" %s=%s", key.c_str(), text.c_str());
    }
  std::printf("\n");
}

/// Columns of --csv; a result without one leaves it empty.
static const char *const columns[] = {
    "kernel", "specialisation", "target",    "element",
    "ok",     "tensor_error",   "row_error", "ms",
    "tflops", "schedule",       "skipped",   "error"};

static void printCsvHead() {
  const char *separator = "";
  for (const char *column : columns) {
    std::printf("%s%s", separator, column);
    separator = ",";
  }
  std::printf("\n");
}

static void printCsv(const ordered_json &line) {
  const char *separator = "";
  for (const char *column : columns) {
    std::printf("%s", separator);
    separator = ",";
    // What was skipped is neither right nor wrong.
    bool unknown = line.contains("skipped") && column == std::string("ok");
    if (!line.contains(column) || unknown)
      continue;
    if (!line[column].is_string()) {
      std::printf("%s", line[column].dump().c_str());
      continue;
    }
    std::string quoted = "\"";
    for (char c : line[column].get<std::string>())
      quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    std::printf("%s\"", quoted.c_str());
  }
  std::printf("\n");
}

static int fail(const std::string &message, bool json) {
  std::fprintf(stderr, "attn-run: error: %s\n", message.c_str());
  if (json)
    std::printf("%s\n",
                ordered_json{{"ok", false}, {"error", message}}.dump().c_str());
  return 1;
}

int main(int argc, char **argv) {
  Settings s;
  std::string bundlePath, kernelName;
  std::vector<std::string> params;
  bool json = false, csv = false;

  CLI::App app{"Run the kernels of a bundle on random input"};
  app.add_option("bundle", bundlePath, "bundle file (.attn)")->required();
  app.add_option("--kernel", kernelName, "run this kernel only");
  app.add_option("--device", s.device, "cpu, cuda, cuda:N or oracle");
  app.add_option("--batch", s.batch,
                 "lengths, q=5,1;kv=7,300 (q=5,1 alone: as many keys); 4096x8 "
                 "repeats, 0..600 and 0..600:7 are ranges");
  app.add_option("--dtype", s.dtype, "element type of q, k, v")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--target", s.target,
                 "take specialisations of this target only");
  app.add_option("--split", s.split, "keys of a split (0: for balance)")
      ->check(atLeast(0));
  app.add_option("--max-splits", s.maxSplits,
                 "splits of a tile at most (0: many, 1: none)")
      ->check(atLeast(0));
  app.add_option("--seed", s.seed, "seed of the random inputs");
  app.add_option("--inputs", s.inputs, "what q, k and v look like")
      ->check(CLI::IsMember(attn::workload::inputKindNames()));
  app.add_option("--param", params, "name=value, any number of times");
  app.add_flag("--defaults", s.defaults,
               "parameters by their default, not at random");
  app.add_option("--token-pad", s.tokenPad,
                 "elements added to the token strides of q, k, v")
      ->check(atLeast(0));
  app.add_option("--poison-unseen", s.unseenMargin,
                 "keys more than so many tokens from all that a row sees are "
                 "NaN (-1: none)");
  app.add_option("--workspace", s.workspace,
                 "bytes of workspace offered to the plan");
  app.add_option("--workers", s.workers,
                 "CTAs or threads that take items (0: all of the device, "
                 "which are the most; on the cpu its --threads)")
      ->check(atLeast(0));
  app.add_option("--threads", s.threads, "worker threads of the cpu device")
      ->check(atLeast(0));
  app.add_option("--driver", s.driver,
                 "driver library in place of libcuda.so.1");
  CLI::Option *check = app.add_flag(
      "--check", s.check, "compare with the f64 oracle, launch twice");
  app.add_option("--check-rows", s.checkRows,
                 "rows a request and head that --check compares (0: all; "
                 "default: all of a small batch, else 256)")
      ->check(atLeast(0))
      ->needs(check);
  app.add_option("--repeat", s.repeat,
                 "launches, whose outputs must be the same bit for bit")
      ->check(atLeast(1));
  app.add_flag("--bench", s.bench, "time the launch");
  app.add_option("--iterations", s.iterations, "timed launches")
      ->check(atLeast(1));
  app.add_option("--bench-rounds", s.rounds,
                 "times that --bench is repeated; the median of their medians")
      ->check(atLeast(1));
  CLI::Option *one = app.add_option("--specialisation", s.specialisation,
                                    "index of the specialisation to run")
                         ->check(atLeast(0));
  app.add_flag("--all-specialisations", s.allSpecialisations,
               "run each in turn; those that the device does not run are "
               "listed as skipped")
      ->excludes(one);
  CLI::Option *asJson = app.add_flag("--json", json, "one JSON object a line");
  app.add_flag("--csv", csv, "a line of comma-separated values a result")
      ->excludes(asJson);
  CLI11_PARSE(app, argc, argv);

  for (const std::string &p : params) {
    size_t eq = p.find('=');
    if (eq == std::string::npos)
      return fail("parameter \"" + p + "\" is not of the form name=value",
                  json);
    s.params[p.substr(0, eq)] = p.substr(eq + 1);
  }
  attnrt_bundle *bundle = nullptr;
  if (attnrt_bundle_open(bundlePath.c_str(), &bundle) != ATTNRT_OK)
    return fail(attnrt_last_error(), json);
  uint32_t only = UINT32_MAX;
  if (!kernelName.empty() &&
      attnrt_bundle_find(bundle, kernelName.c_str(), &only) != ATTNRT_OK)
    return fail(attnrt_last_error(), json);
  attnrt_device *device = nullptr;
  if (s.device != "oracle") {
    attnrt_device_options options{};
    options.driver = s.driver.empty() ? nullptr : s.driver.c_str();
    options.threads = s.threads;
    if (attnrt_device_open(s.device.c_str(), &options, &device) != ATTNRT_OK)
      return fail(attnrt_last_error(), json);
  }

  bool ok = true;
  if (csv)
    printCsvHead();
  for (uint32_t i = 0; i < attnrt_bundle_kernels(bundle); ++i) {
    if (only != UINT32_MAX && i != only)
      continue;
    for (const ordered_json &line : runKernel(bundle, device, i, s)) {
      ok &= line["ok"].get<bool>();
      if (csv)
        printCsv(line);
      else if (json)
        std::printf("%s\n", line.dump().c_str());
      else
        print(line);
      if (line.contains("error"))
        std::fprintf(stderr, "attn-run: error: %s\n",
                     line["error"].get<std::string>().c_str());
    }
  }
  if (!csv)
    std::printf("{\"ok\": %s}\n", ok ? "true" : "false");
  std::string error;
  if (!flushOutput(error)) {
    std::fprintf(stderr, "attn-run: error: %s\n", error.c_str());
    ok = false;
  }
  attnrt_device_close(device);
  attnrt_bundle_close(bundle);
  return ok ? 0 : 1;
}
