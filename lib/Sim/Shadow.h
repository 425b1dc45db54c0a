//===- Shadow.h - who wrote and who read a place of memory ------*- C++ -*-===//
//
// Private to the machine of L3.  An actor is a warp, the lanes of a warp other
// than lane 0, the cp.async groups of a warp, its tensor core, or a TMA copy;
// each counts its own steps.  An access is (actor, step).
//
//   warp 4 reads slot 0     -> readers {(4, 9)}
//   warp 0 may write it iff its clock has seen step 9 of actor 4
//
// The async proxy (TMA, operands of wgmma) sees a write of the generic proxy only
// behind a proxy fence, so that an order is two clocks: what was seen, and what
// part of it a fence has made visible to the async proxy.
//
// Invariant: an access that is not ordered with an earlier conflicting one is
// reported, whichever of the two the schedule ran first.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_SIM_SHADOW_H
#define ATTN_LIB_SIM_SHADOW_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace attn::sim {

class VectorClock {
public:
  uint32_t operator[](uint32_t actor) const {
    return actor < steps.size() ? steps[actor] : 0;
  }
  void set(uint32_t actor, uint32_t step) {
    if (actor >= steps.size())
      steps.resize(actor + 1);
    steps[actor] = step;
  }
  /// All that `o` has seen.
  bool covers(const VectorClock &o) const {
    for (size_t i = 0; i < o.steps.size(); ++i)
      if (o.steps[i] > (*this)[uint32_t(i)])
        return false;
    return true;
  }
  void join(const VectorClock &o) {
    if (steps.size() < o.steps.size())
      steps.resize(o.steps.size());
    for (size_t i = 0; i < o.steps.size(); ++i)
      steps[i] = std::max(steps[i], o.steps[i]);
  }

private:
  std::vector<uint32_t> steps;
};

/// What happened before.
struct Order {
  VectorClock seen;
  VectorClock async; ///< the part that is visible to the async proxy

  void join(const Order &o) {
    seen.join(o.seen);
    async.join(o.async);
  }
  bool covers(uint32_t actor, uint32_t step) const {
    return seen[actor] >= step;
  }
};

struct Access {
  uint32_t actor = 0, step = 0;
  mlir::Operation *op = nullptr;
  bool async = false; ///< by the async proxy
};

struct Conflict {
  enum Kind {
    Unwritten,  ///< read of a place that was never written
    ReadWrite,  ///< read not ordered behind the write `other`
    WriteRead,  ///< write not ordered behind the read `other`
    WriteWrite, ///< write not ordered behind the write `other`
    Fence,      ///< ordered, but no proxy fence lies between
  };
  Kind kind;
  Access other;
  size_t at = 0; ///< byte
};

/// Shared memory of one CTA.  Granules of 16 bytes, of 4 where words lie.
class Shadow {
public:
  explicit Shadow(size_t bytes);
  /// Words lie in [begin, end): single ones are written by different warps.
  void makeFine(size_t begin, size_t end);

  std::optional<Conflict> read(size_t begin, size_t bytes, const Access &by,
                               const Order &order);
  /// `same`: the bytes do not change, so that the same store by several warps
  /// is no race.
  std::optional<Conflict> write(size_t begin, size_t bytes, const Access &by,
                                const Order &order, bool same = false);

private:
  struct Granule {
    llvm::SmallVector<Access, 1> writers;
    llvm::SmallVector<Access, 8> readers;
  };
  static bool checkWriter(const Access &writer, const Access &by,
                          const Order &order, Conflict::Kind &kind);
  /// First byte of the granule that holds `at`, and its size.
  size_t stepFrom(size_t at) const { return fine[at / 16] ? 4 : 16; }
  Granule &at(size_t byte) { return granules[index[byte / 4]]; }

  std::vector<bool> fine;      ///< by 16 bytes
  std::vector<uint32_t> index; ///< by 4 bytes
  std::vector<Granule> granules;
};

/// One value of a memory whose cells are independent (global memory).
struct Cell {
  Access writer;
  llvm::SmallVector<Access, 2> readers;
};

} // namespace attn::sim

#endif // ATTN_LIB_SIM_SHADOW_H
