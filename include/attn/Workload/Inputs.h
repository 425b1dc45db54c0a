//===- Inputs.h - what the random tensors look like -------------*- C++ -*-===//
//
// Random inputs never make a softmax loop work hard: the first block's maximum is
// near the row's.  These kinds do what data may do and a normal distribution does
// not.  The skeleton meets keys from the last to the first (kv_order = descending),
// so "late" is towards key 0.
//
//   random     normal, mean 0, deviation 1
//   rising     scores rise by 600 (f32: 100) from the last key to the first
//   late-peak  key 0 lies 1500 above the rest
//   huge-row   one query row a request times 1000
//   nan-row    NaN in one query row a request: its result alone is NaN
//   nan-key    NaN in one key a request: NaN in the rows that see it
//   floor      keys near the lowest finite score: the later half of every even
//              request's, all of an odd one's (whose rows, split, say whether parts
//              weigh what they sum up: the log of a sum is lost beside such a score)
//
// Scores are those of the products times the scale, before score hooks.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_WORKLOAD_INPUTS_H
#define ATTN_WORKLOAD_INPUTS_H

#include <optional>
#include <string>
#include <vector>

namespace attn::workload {

enum class InputKind {
  Random,
  Rising,
  LatePeak,
  HugeRow,
  NanRow,
  NanKey,
  Floor
};

/// `late-peak` to LatePeak; nothing for another text.
std::optional<InputKind> parseInputKind(const std::string &text);

/// All names, in the order of the kinds.
const std::vector<std::string> &inputKindNames();

} // namespace attn::workload

#endif // ATTN_WORKLOAD_INPUTS_H
