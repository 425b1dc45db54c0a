//===- Exp2Share.cpp - exponentials that leave the MUFU -------------------===//
//
// A quadrant of an SM starts a MUFU instruction every 8 clocks and any other
// every clock.  An element of a block takes
//
//   tensor   2 (d + dv) flops                      d 128: 16, d 64: 8
//   mufu     8 (those of the score hook + 1)       plain: 8, tanh: 16
//   issue    hook + scale, fma, exp2, add, half a pack, share of the loop
//
// and the longest of the three decides, the next one in part.  exp2 on the FMA
// pipe moves 8 clocks of MUFU to 10 instructions (include/attn/Target/Exp2.h), so
// that it pays where a hook asks for much MUFU and little else.
//
// Two numbers are fitted to an H200: instructions take (1 + tensor / 32) of their
// clocks beside products, which read registers too, and a quarter of the second
// unit's time is not hidden.  With one more MUFU instruction and two others in
// the hook 2 of 16 columns were best at d 128 (+3 percent; 4: +1) and 4 at d 64
// (+3; 7: 0); plain softmax at d 64 lost 6 percent with 2.
//
// Invariant: 0 unless the estimate is better by a hundredth.
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/ScalarWork.h"
#include "attn/Schedule/Schedule.h"
#include "attn/Target/Exp2.h"
#include "attn/Target/SmTiming.h"

#include <algorithm>

using namespace mlir;
using namespace attn;

/// Instructions of a block's loop beside its elements, an element: products,
/// barriers, addresses.  Tiles of small head dims are small.
static double loopWork(int32_t dim) { return 0.7 + 96.0 / dim; }

ElementWork attn::elementWorkOf(HookOp hook) {
  // What depends on the score, or on row and column, is there once an element.
  enum : unsigned { Row = 1, Column = 2, Score = 4 };
  llvm::DenseMap<Value, unsigned> reads;
  Block &body = hook.getBody().front();
  unsigned first = hook.getKind() == HookKind::Score ? 1 : 0;
  if (first)
    reads[body.getArgument(0)] = Score;
  reads[body.getArgument(first + 2)] = Row;
  reads[body.getArgument(first + 3)] = Column;
  ElementWork work;
  for (Operation &op : body.without_terminator()) {
    unsigned all = 0;
    for (Value operand : op.getOperands())
      all |= reads.lookup(operand);
    for (Value result : op.getResults())
      reads[result] = all;
    if (!(all & Score) && all != (Row | Column))
      continue;
    ScalarWork own =
        scalarWorkOf(&op, [&](Value value) { return !reads.lookup(value); });
    work.mufu += own.mufu;
    work.other += own.total() - own.mufu;
  }
  return work;
}

int32_t attn::chooseExp2Share(const ProblemFacts &facts,
                              const TargetSpec &target) {
  const SmTiming *sm = findTiming(target.name);
  if (!sm || facts.normaliser != Normaliser::Softmax)
    return 0;
  double flops =
      2.0 * 32 * (facts.columns() + facts.valueColumns()); // of a warp
  double tensor = target.has(Feature::Wgmma)
                      ? flops / (sm->tensorFlops / sm->quadrants)
                      : flops / 4096 * sm->mma;
  double scale = facts.hasScoreHook;
  auto clocks = [&](int32_t share) {
    double moved = double(share) / exp2fma::period;
    double mufu = facts.scoreWork.mufu + 1 - moved;
    double others =
        facts.scoreWork.other + scale + 2.5 + loopWork(facts.columns());
    double issue = mufu + others + moved * (exp2fma::fmaOps + exp2fma::aluOps);
    // Most of it is FMA, which takes two clocks on some targets.
    double units[] = {tensor, mufu * sm->mufu,
                      issue * sm->fma * (1 + tensor / 32)};
    std::sort(std::begin(units), std::end(units));
    return units[2] + units[1] / 4;
  };
  int32_t best = 0;
  for (int32_t share = 1; share <= int32_t(exp2fma::period); ++share)
    if (clocks(share) < clocks(best))
      best = share;
  return clocks(best) < 0.99 * clocks(0) ? best : 0;
}
