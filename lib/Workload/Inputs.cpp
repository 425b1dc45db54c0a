//===- Inputs.cpp - inputs that are hard on a softmax loop ----------------===//
//
// Column 0 of Q and K carries what a kind adds to the scores; the other columns
// stay random:
//
//   rising    q[0] = 16, k_j[0] = height(j) / (16 scale)  ->  s += height(j)
//
// Invariant: reference and kernel read the same rounded elements, and heights are
// such that f32 arithmetic keeps to the one tolerance rule.
//
//===----------------------------------------------------------------------===//

#include "attn/Workload/Inputs.h"

#include "attn/Workload/Workload.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::workload;

static constexpr float risingHeight = 300, peakHeight = 1500, hugeFactor = 1000;
/// f32 keeps 24 bits of a score: at 300 its exponential is wrong by 2e-5, more than the
/// limit of f32 results.
static constexpr float risingHeightF32 = 50;
/// Of column 0 of Q.
static constexpr float queryStep = 16;
/// A lowest score: its product with log2 e, and the distance of two, are finite.
static constexpr float floorScore = -1e38f;

const std::vector<std::string> &attn::workload::inputKindNames() {
  static const std::vector<std::string> names = {
      "random",  "rising",  "late-peak", "huge-row",
      "nan-row", "nan-key", "floor"};
  return names;
}

std::optional<InputKind>
attn::workload::parseInputKind(const std::string &text) {
  const std::vector<std::string> &names = inputKindNames();
  auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end())
    return std::nullopt;
  return InputKind(found - names.begin());
}

template <class Fn>
void Workload::eachRow(const Tensor &tensor, bool query, int32_t heads,
                       const Fn &fn) {
  for (size_t r = 0; r < requests.size(); ++r) {
    const attn_request_record &record = requests[r];
    int64_t begin = query ? record.q_begin : record.kv_begin;
    int32_t length = query ? record.q_len : record.kv_len;
    for (int32_t i = 0; i < length; ++i)
      for (int32_t h = 0; h < heads; ++h)
        fn(int32_t(r), i, length,
           int64_t(r) * tensor.strides.batch +
               (begin + i) * tensor.strides.token + h * tensor.strides.head);
  }
}

void Workload::setColumn(
    Tensor &tensor, bool query,
    const std::function<float(int32_t, int32_t, int32_t)> &value) {
  eachRow(tensor, query, query ? kernel.heads : kernel.kvHeads,
          [&](int32_t r, int32_t i, int32_t length, int64_t at) {
            oracle::storeElement(options.element, tensor.buffer.data(), at,
                                 value(r, i, length));
          });
}

void Workload::scaleMiddle(Tensor &tensor, bool query, float factor) {
  eachRow(tensor, query, query ? kernel.heads : kernel.kvHeads,
          [&](int32_t, int32_t i, int32_t length, int64_t at) {
            for (int32_t c = 0; c < kernel.dim && i == length / 2; ++c) {
              float x = oracle::loadElement(options.element,
                                            tensor.buffer.data(), at + c);
              oracle::storeElement(options.element, tensor.buffer.data(),
                                   at + c, x * factor);
            }
          });
}

void Workload::shapeInputs() {
  using Lengths = std::function<float(int32_t, int32_t, int32_t)>;
  float height =
      options.element == Element::F32 ? risingHeightF32 : risingHeight;
  float perScore = scale == 0 ? 1 : 1 / (queryStep * scale);
  auto column = [&](float queries, const Lengths &keys) {
    setColumn(q, true, [=](int32_t, int32_t, int32_t) { return queries; });
    setColumn(k, false, keys);
  };
  switch (options.inputs) {
  case InputKind::Random:
    return;
  case InputKind::Rising:
    return column(queryStep, [=](int32_t, int32_t j, int32_t length) {
      float way = length > 1 ? float(j) / float(length - 1) : 0;
      return (1 - 2 * way) * height * perScore;
    });
  case InputKind::LatePeak:
    return column(queryStep, [=](int32_t, int32_t j, int32_t) {
      return j == 0 ? peakHeight * perScore : 0;
    });
  case InputKind::HugeRow:
    return scaleMiddle(q, true, hugeFactor);
  case InputKind::NanRow:
    return scaleMiddle(q, true, std::numeric_limits<float>::quiet_NaN());
  case InputKind::NanKey:
    return scaleMiddle(k, false, std::numeric_limits<float>::quiet_NaN());
  case InputKind::Floor: {
    // The product itself must be finite, and so must its factors.
    float largest = options.element == Element::F16 ? 6e4f : 1e19f;
    float score = std::max(floorScore, -largest * largest);
    if (std::fabs(scale) > 1)
      score /= std::fabs(scale);
    float each = std::sqrt(-score);
    float sign = scale < 0 ? 1.0f : -1.0f;
    return column(each, [=](int32_t r, int32_t j, int32_t length) {
      return r % 2 || j >= length / 2 ? sign * each : 0;
    });
  }
  }
}
