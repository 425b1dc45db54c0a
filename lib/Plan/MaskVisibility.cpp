//===- MaskVisibility.cpp - a mask hook as the planner sees it ------------===//
//
// The tile's tokens become logical positions (bottom-right aligned); the rest
// is the block map of the Mask library.
//
//===----------------------------------------------------------------------===//
#include "attn/Plan/MaskVisibility.h"

#include <algorithm>

namespace attn::plan {

static mask::Rect rectOf(const TileRows &rows) {
  mask::Rect rect;
  rect.b0 = rect.b1 = rows.request;
  rect.h0 = rows.head0;
  rect.h1 = rows.head1;
  rect.q0 = rows.token0 + (rows.kvLen - rows.qLen);
  rect.q1 = rows.token1 + (rows.kvLen - rows.qLen);
  rect.qLen = rows.qLen;
  rect.kvLen = rows.kvLen;
  return rect;
}

MaskVisibility::MaskVisibility(const mask::HookProgram &program,
                               const mask::Bindings &bindings, int32_t tileK)
    : program(program), bindings(bindings), tileK(tileK) {
  questions.context = this;
  questions.look = &MaskVisibility::look;
  questions.readsHead = program.usesArg(ATTN_ARG_H);
}

const std::vector<mask::BlockRange> &
MaskVisibility::blocks(const TileRows &rows, int32_t begin, int32_t end) {
  mask::rangesOfRow(&program, rectOf(rows), bindings, begin, end, tileK,
                    ranges);
  return ranges;
}

int64_t MaskVisibility::look(void *context, const TileRows &rows, Hull &hull) {
  auto &self = *static_cast<MaskVisibility *>(context);
  int32_t begin = hull.begin, end = hull.end;
  self.blocks(rows, begin, end);
  int64_t visible = mask::countVisibleKeys(self.ranges, begin, end, self.tileK);
  // Blocks count from begin; the products stay below end + tileK.
  int32_t first = begin, last = begin;
  bool any = false;
  for (const mask::BlockRange &range : self.ranges) {
    if (range.kind == mask::BlockClass::Skip)
      continue;
    if (!any)
      first = begin + range.first * self.tileK;
    any = true;
    last = begin + range.end * self.tileK;
    // The longest run of whole blocks; what is behind the end is none.
    int32_t whole0 = begin + range.first * self.tileK;
    int32_t inside = (end - begin) / self.tileK;
    int32_t whole1 = begin + std::min(range.end, inside) * self.tileK;
    if (range.kind == mask::BlockClass::Full &&
        whole1 - whole0 > hull.whole1 - hull.whole0) {
      hull.whole0 = whole0;
      hull.whole1 = whole1;
    }
  }
  hull.end = std::min(last, end);
  hull.begin = first;
  return visible;
}

} // namespace attn::plan
