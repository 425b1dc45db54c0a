//===- MaskVisibility.h - a mask hook as the planner sees it ----*- C++ -*-===//
//
// Answers the planner's question by interval analysis: which keys may a tile
// see, and how many does it visit.
//
//   MaskVisibility mask(program, bindings, tileK);
//   problem.visibility = &mask.visibility();
//
// Invariant: a key that is visible to a row of the tile is inside the hull.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_PLAN_MASKVISIBILITY_H
#define ATTN_PLAN_MASKVISIBILITY_H

#include "attn/Mask/BlockMap.h"
#include "attn/Plan/Planner.h"

#include <vector>

namespace attn::plan {

class MaskVisibility {
public:
  /// `program` must outlive this object, as must what `bindings` points to.
  MaskVisibility(const mask::HookProgram &program,
                 const mask::Bindings &bindings, int32_t tileK);
  MaskVisibility(const MaskVisibility &) = delete;
  MaskVisibility &operator=(const MaskVisibility &) = delete;

  const Visibility &visibility() const { return questions; }

  /// Classes of the blocks of keys [begin, end), counted from `begin`; valid
  /// until the next question.
  const std::vector<mask::BlockRange> &blocks(const TileRows &rows,
                                              int32_t begin, int32_t end);

private:
  static int64_t look(void *context, const TileRows &rows, Hull &hull);

  const mask::HookProgram &program;
  mask::Bindings bindings;
  int32_t tileK;
  std::vector<mask::BlockRange> ranges; ///< reused between questions
  Visibility questions;
};

} // namespace attn::plan

#endif // ATTN_PLAN_MASKVISIBILITY_H
