//===- Ranges.h - numbers on a command line ---------------------*- C++ -*-===//
//
//   app.add_option("--split", s.split)->check(atLeast(0));
//   --split: '-1' is not an integer from 0 to 2147483647
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTN_RUN_RANGES_H
#define ATTN_TOOLS_ATTN_RUN_RANGES_H

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <string>

namespace attnrun {

/// Of 32 bits.
inline CLI::Validator atLeast(int32_t least) {
  auto check = [least](std::string &text) -> std::string {
    int32_t value = 0;
    const char *end = text.data() + text.size();
    auto [stop, code] = std::from_chars(text.data(), end, value);
    if (code == std::errc() && stop == end && value >= least)
      return {};
    return "'" + text + "' is not an integer from " + std::to_string(least) +
           " to " + std::to_string(INT32_MAX);
  };
  return {check, ">= " + std::to_string(least)};
}

} // namespace attnrun

#endif // ATTN_TOOLS_ATTN_RUN_RANGES_H
