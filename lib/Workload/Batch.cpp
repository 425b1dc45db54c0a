//===- Batch.cpp - lengths from text --------------------------------------===//

#include "attn/Workload/Workload.h"

#include <climits>
#include <cstdlib>

using namespace attn::workload;

/// `5,1,4096x8` to numbers.
static bool parseLengths(const std::string &text, std::vector<int32_t> &out,
                         std::string &error) {
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find(',', at);
    std::string field =
        text.substr(at, end == std::string::npos ? end : end - at);
    char *rest = nullptr;
    long length = std::strtol(field.c_str(), &rest, 10);
    long repeat = 1;
    bool digits = rest != field.c_str();
    if (digits && *rest == 'x') {
      const char *count = rest + 1;
      repeat = std::strtol(count, &rest, 10);
      digits = rest != count;
    }
    if (!digits || *rest || length < 0 || length > INT_MAX || repeat < 1 ||
        repeat > 65536) {
      error = "length \"" + field +
              "\" is not a number from 0 to 2147483647 "
              "(or length x repeat, repeat from 1 to 65536)";
      return false;
    }
    out.insert(out.end(), size_t(repeat), int32_t(length));
    if (end == std::string::npos)
      break;
    at = end + 1;
  }
  return true;
}

bool attn::workload::parseBatch(const std::string &text, Batch &batch,
                                std::string &error) {
  size_t semicolon = text.find(';');
  if (text.compare(0, 2, "q=") != 0 || semicolon == std::string::npos ||
      text.compare(semicolon + 1, 3, "kv=") != 0) {
    error = "batch \"" + text + "\" is not of the form q=5,1;kv=7,300";
    return false;
  }
  batch = {};
  if (!parseLengths(text.substr(2, semicolon - 2), batch.qLens, error) ||
      !parseLengths(text.substr(semicolon + 4), batch.kvLens, error))
    return false;
  if (batch.qLens.size() != batch.kvLens.size()) {
    error = "batch has " + std::to_string(batch.qLens.size()) +
            " q lengths but " + std::to_string(batch.kvLens.size()) +
            " kv lengths";
    return false;
  }
  return true;
}
