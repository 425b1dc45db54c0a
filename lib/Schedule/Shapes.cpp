//===- Shapes.cpp - tile shapes worth compiling ---------------------------===//
//
// A warpgroup owns 64 rows; with the registers of S, P and O it holds n keys at
// head dim d.  2 warpgroups take 128 keys up to d = 128, 64 or 80 at 256; at
// d = 64 a third one or a fourth one fits, which hides the softmax of the
// others.  At 128 turns make 1 to 5 percent, and without a mask all items cost the
// same, so that a fixed order of them makes 2 percent more (d = 64: less).
// There a hook with one MUFU instruction keeps the MUFU as busy as the tensor units; three
// warpgroups with 80 keys hide one behind the other better than two with 128 (soft cap,
// 16k tokens: +6 percent), and have no registers for exponentials on the FMA pipe.
// Masked blocks want short tiles, and so do short sequences: 256 rows
// divide a power of two where 192 do not.  A second buffer of Q, where there is
// room, hides the start of an item.
//
// Without warpgroup products a warp owns 16 or 32 rows.  Fragments of K and V come
// from shared memory for each warp: 16 rows keep its 128 bytes a clock as busy as
// the tensor units are, 32 rows half as much, and two CTAs of 4 warps then share a
// multiprocessor and hide each other's softmax.  O of 32 rows leaves no registers
// for Q, which is read again in each block.  From 192 columns of O on it is 16 rows;
// one slot of K and V each, loaded when their block begins, leaves room for two CTAs
// on an H200, of which one multiplies while the other waits.  A device with 164 KB a
// multiprocessor has one of them, and there two slots may be better: the tune set has
// both.  At 128 columns 32 keys leave room for a second CTA on such devices too.
//
// Few rows a request: 16 rows and 4 warps, a quarter of the keys each, which wait for
// K and V only.  By the simulator's clocks two such CTAs take the keys at the rate of the
// second-level cache, 4 to 6 times as fast as tiles of 128 rows, which are padding then,
// and twice as fast as four CTAs of one warp; an H200 decodes at 4.2 TB/s.  128 keys at head dim 64,
// where 64 are little work between two barriers, and 64 above, for a second CTA.
//
// Rungs below the first are for hooks that hold many values (HookRegisters.cpp).
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"

#include <algorithm>

using namespace attn;

namespace {

// {warpgroups, keys, slots of Q, slots of K and V, ring, static order, exp2 on FMA}
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
constexpr RoleShape mufu128[] = {{3, 80, 1, 2, true, false, false},
                                 {2, 128, 2, 2, true},
                                 {2, 96, 2, 2, true},
                                 {2, 64, 2, 4, true}};
// Two slots of Q would not fit.
constexpr RoleShape upTo192[] = {{2, 128, 1, 2}, {2, 96, 1, 2}, {2, 64, 1, 2}};
constexpr RoleShape dense256[] = {
    {2, 64, 1, 2, false, true}, {2, 48, 1, 2}, {2, 32, 1, 2}};
constexpr RoleShape wide256[] = {{2, 80, 1, 2, false, true}};
constexpr RoleShape masked256[] = {{2, 64, 1, 2}, {2, 48, 1, 2}, {2, 32, 1, 2}};

// {warps, rows, keys, Q in shared memory, slots of K and V}.  What is measured faster than the first
// rung and spills a few words stands in the tune set.
constexpr WarpShape mma64[] = {{4, 128, 64, true},
                               {4, 128, 48, true},
                               {4, 128, 32, true},
                               {8, 128, 64},
                               {8, 128, 32}};
constexpr WarpShape few64[] = {{4, 16, 128}};
constexpr WarpShape more64[] = {
    {4, 128, 96, true}, {4, 128, 64, true}, {1, 16, 32}};
constexpr WarpShape mma128[] = {{4, 128, 32, true},
                                {8, 128, 64, true},
                                {8, 128, 32, true},
                                {8, 128, 16, true}};
constexpr WarpShape few128[] = {{4, 16, 64}};
constexpr WarpShape more128[] = {
    {4, 128, 48, true}, {4, 128, 64, true}, {1, 16, 32}};
constexpr WarpShape mma256[] = {{4, 64, 64, true, 1},
                                {4, 64, 48, true, 1},
                                {8, 128, 48, true},
                                {8, 128, 32, true},
                                {8, 128, 16, true}};
constexpr WarpShape few256[] = {{4, 16, 64, true}};
constexpr WarpShape more256[] = {{4, 64, 48, true}, {1, 16, 32, true}};

} // namespace

WarpShapes attn::warpShapesOf(int32_t dim, int32_t valueDim, bool masked) {
  llvm::ArrayRef<WarpShape> narrow = mma64;
  if (std::max(dim, valueDim) <= 64)
    return {masked ? narrow.drop_front() : narrow, few64, more64};
  if (valueDim <= 128)
    return {mma128, few128, more128};
  return {mma256, few256, more256};
}

RoleShapes attn::roleShapesOf(int32_t dim, int32_t valueDim, bool masked,
                              bool oneMufu) {
  int32_t widest = std::max(dim, valueDim);
  if (widest <= 64)
    return masked ? RoleShapes{masked64, {}, fewer64}
                  : RoleShapes{dense64, short64, wide64};
  if (widest <= 128 && oneMufu)
    return {mufu128, {}, {}};
  if (widest <= 128)
    return masked ? RoleShapes{masked128, {}, {}}
                  : RoleShapes{dense128, {}, {}};
  if (widest <= 192 && valueDim <= 128)
    return {upTo192, {}, {}};
  if (masked)
    return {masked256, {}, {}};
  return {dense256, {}, wide256};
}
