//===- Turns.h - workers that take every W-th item --------------*- C++ -*-===//
//
// In a static order item i is worker i % W's, whatever the loads are: W items are a
// round, and each worker has one of it.  Where a round has items of several costs,
// every second such round is listed shortest first, so that who had a long item
// before has a short one now:
//
//   7 items, 3 workers              worker 0   worker 1   worker 2
//     5 5 4 | 3 3 3 | 2   becomes      4          5          5
//                                      3          3          3
//                                      2
//
// What the first such round leaves uneven lies behind: the last round, which seldom
// is whole and stays longest first, begins with the workers that have least.
//
// The last round can be cut (LastWave.h says why).  Its pieces are listed so that
// the k-th is worker k % W's: one for each worker, then the second ones.  So those
// with two must be the first workers, which take the end of a tile and the begin of
// the next; the others take the middles:
//
//   2 tiles of 9 blocks, 5 workers     worker 0   0: 7..8 | 1: 0..1
//                                      workers 1, 2   0: 0..3, 0: 4..6 ...
//
// Invariant: give and mirror agree on which rounds are turned round.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_PLAN_TURNS_H
#define ATTN_LIB_PLAN_TURNS_H

#include "LastWave.h"

#include <algorithm>

namespace attn::plan {

/// A place in the list of items.
class Rounds {
public:
  explicit Rounds(int32_t workers) : workers(workers) {}

  /// The next items, of one cost: calls whole(n) for n rounds of them alone, and
  /// part(begin, end) for the workers that have one more in a round of several costs.
  template <class Whole, class Part>
  void pass(int64_t items, Whole whole, Part part) {
    while (items > 0) {
      if (at == 0) {
        if (items >= workers)
          whole(items / workers);
        items %= workers;
        if (items == 0)
          return;
        turned = !turned;
      }
      auto n = int32_t(std::min<int64_t>(items, workers - at));
      int32_t begin = at;
      items -= n;
      at = (at + n) % workers;
      if (turned)
        part(workers - begin - n, workers - begin);
      else
        part(begin, begin + n);
    }
  }
  /// Whether the last part ended a round that is listed from its end.
  bool endsTurned() const { return turned && at == 0; }

private:
  int32_t workers;
  int32_t at = 0;
  bool turned = false;
};

/// The last round, whole or not.
inline int32_t lastRound(int64_t items, int32_t workers) {
  return items > 0 ? int32_t((items - 1) % workers) + 1 : 0;
}

/// What each worker has had so far.
class Turns {
public:
  /// `memory` has room for a load a worker.
  Turns(double *memory, int32_t workers)
      : loads(memory), workers(workers), rounds(workers) {
    std::fill(loads, loads + workers, 0.0);
  }

  /// The next items, of one cost.  `steps` counts down.
  void give(double cost, int64_t items, int32_t &steps);

  /// Everybody's load in `memory`, the whole rounds with it.
  double *settle();

private:
  double *loads;
  double all = 0; ///< what every worker has beside
  int32_t workers;
  Rounds rounds;
};

/// Cuts `tiles`, no more than workers, of which worker w has loads[w] before; at most
/// count + workers pieces, each tile's in order.  Returns how many.
int32_t pourRound(const double *loads, int32_t workers, const WaveTile *tiles,
                  int32_t count, const WaveLimits &limits, WavePiece *pieces);

} // namespace attn::plan

#endif // ATTN_LIB_PLAN_TURNS_H
