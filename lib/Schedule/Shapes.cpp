//===- Shapes.cpp - tile shapes worth compiling ---------------------------===//
//
// A warpgroup owns 64 rows; with the registers of S, P and O it holds n keys at
// head dim d.  2 warpgroups take 128 keys up to d = 128, 64 or 80 at 256; at
// d = 64 a third one or a fourth one fits, which hides the softmax of the
// others.  At 128 turns make 1 to 5 percent, and without a mask all items cost the
// same, so that a fixed order of them makes 2 percent more (d = 64: less).
// Masked blocks want short tiles, and so do short sequences: 256 rows
// divide a power of two where 192 do not.  A second buffer of Q, where there is
// room, hides the start of an item.
//
// Rungs below the first are for hooks that hold many values (HookRegisters.cpp).
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"

#include <algorithm>

using namespace attn;

namespace {

// {warpgroups, keys, slots of Q, slots of K and V, ring, static order}
constexpr RoleShape dense64[] = {{3, 128, 2, 2, true},
                                 {3, 96, 2, 2, true},
                                 {3, 64, 2, 4, true},
                                 {2, 64, 2, 4}};
constexpr RoleShape short64[] = {{4, 64, 2, 4, true, true}};
constexpr RoleShape wide64[] = {{2, 128, 2, 2}};
constexpr RoleShape masked64[] = {
    {4, 64, 2, 4, true}, {3, 64, 2, 4, true}, {2, 64, 2, 4}};
constexpr RoleShape fewer64[] = {{3, 128, 2, 2, true}, {2, 128, 2, 2}};
// The last rung also measures: masked, 1k and 2k tokens, it was 1 and 3 percent
// ahead of the first, within the spread of the runs.
constexpr RoleShape dense128[] = {
    {2, 128, 2, 2, true, true}, {2, 96, 2, 2, true}, {2, 64, 2, 4, true}};
constexpr RoleShape masked128[] = {
    {2, 128, 2, 2, true}, {2, 96, 2, 2, true}, {2, 64, 2, 4, true}};
// Two slots of Q would not fit.
constexpr RoleShape upTo192[] = {{2, 128, 1, 2}, {2, 96, 1, 2}, {2, 64, 1, 2}};
constexpr RoleShape dense256[] = {
    {2, 64, 1, 2, false, true}, {2, 48, 1, 2}, {2, 32, 1, 2}};
constexpr RoleShape wide256[] = {{2, 80, 1, 2, false, true}};
constexpr RoleShape masked256[] = {{2, 64, 1, 2}, {2, 48, 1, 2}, {2, 32, 1, 2}};

} // namespace

RoleShapes attn::roleShapesOf(int32_t dim, int32_t valueDim, bool masked) {
  int32_t widest = std::max(dim, valueDim);
  if (widest <= 64)
    return masked ? RoleShapes{masked64, {}, fewer64}
                  : RoleShapes{dense64, short64, wide64};
  if (widest <= 128)
    return masked ? RoleShapes{masked128, {}, {}}
                  : RoleShapes{dense128, {}, {}};
  if (widest <= 192 && valueDim <= 128)
    return {upTo192, {}, {}};
  if (masked)
    return {masked256, {}, {}};
  return {dense256, {}, wide256};
}
