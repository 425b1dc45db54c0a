//===- Batch.cpp - lengths from text --------------------------------------===//

#include "attn/Workload/Workload.h"

#include <climits>
#include <cstdlib>

using namespace attn::workload;

static constexpr long most = 65536; ///< lengths of one field

/// A number at `at`, which then is behind it.
static bool parseNumber(const char *&at, long &value) {
  char *rest = nullptr;
  value = std::strtol(at, &rest, 10);
  bool digits = rest != at;
  at = rest;
  return digits;
}

/// `5`, `4096x8`, `0..600` or `0..600:7`.
static bool parseField(const char *at, std::vector<int32_t> &out) {
  long first = 0, last = 0, repeat = 1, step = 1;
  if (!parseNumber(at, first))
    return false;
  last = first;
  if (*at == 'x') {
    if (!parseNumber(++at, repeat))
      return false;
  } else if (at[0] == '.' && at[1] == '.') {
    if (!parseNumber(at += 2, last) || (*at == ':' && !parseNumber(++at, step)))
      return false;
  }
  if (*at || first < 0 || last < first || last > INT_MAX || repeat < 1 ||
      repeat > most || step < 1 || (last - first) / step >= most)
    return false;
  for (long length = first; length <= last; length += step)
    out.insert(out.end(), size_t(repeat), int32_t(length));
  return true;
}

/// `5,1,4096x8,0..600` to numbers.
static bool parseLengths(const std::string &text, std::vector<int32_t> &out,
                         std::string &error) {
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find(',', at);
    std::string field =
        text.substr(at, end == std::string::npos ? end : end - at);
    if (!parseField(field.c_str(), out)) {
      error =
          "length \"" + field +
          "\" is not a number from 0 to 2147483647 "
          "(or length x repeat, or first..last:step, at most 65536 of them)";
      return false;
    }
    if (end == std::string::npos)
      break;
    at = end + 1;
  }
  return true;
}

std::pair<int32_t, int32_t> attn::workload::Batch::largest() const {
  std::pair<int32_t, int32_t> result{0, 0};
  for (size_t i = 0; i < qLens.size(); ++i)
    if (int64_t(qLens[i]) * kvLens[i] > int64_t(result.first) * result.second)
      result = {qLens[i], kvLens[i]};
  return result;
}

bool attn::workload::parseBatch(const std::string &text, Batch &batch,
                                std::string &error) {
  size_t semicolon = text.find(';');
  bool alike = semicolon == std::string::npos;
  if (text.compare(0, 2, "q=") != 0 ||
      (!alike && text.compare(semicolon + 1, 3, "kv=") != 0)) {
    error = "batch \"" + text + "\" is not of the form q=5,1;kv=7,300";
    return false;
  }
  batch = {};
  if (alike) {
    bool good = parseLengths(text.substr(2), batch.qLens, error);
    batch.kvLens = batch.qLens;
    return good;
  }
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
