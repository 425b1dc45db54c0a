//===- MachineState.h - CTAs, warps and barriers of the machine -*- C++ -*-===//
//
// Private to the machine of L3 (include/attn/Sim/Machine.h).
//
//   Machine           all CTAs, the fibers, the report
//     Cluster         CTAs that reach each other (MachineCluster.cpp)
//       Cta           shared memory and its shadow, barriers, register file
//         Warp        one fiber: an interpreter over 32 threads, its clock
//
// Rules of order, in terms of the clocks of Shadow.h:
//
//   barrier        every warp that leaves has seen what all had seen on arrival
//   mbarrier       a wait has seen what the arrivals and the landed bytes of its
//                  phase had seen
//   cp.async wait  the own groups that it covers
//   wgmma wait     the own products that it covers
//   proxy fence    all that was seen becomes visible to the async proxy
//
// Rules of phases, which make the order the same in every schedule:
//
//   an arrival, copy or warp that counts for phase n of an mbarrier, or for the
//   n-th use of a named barrier, is ordered behind the end of the one before
//   the end of phase n + 1 is ordered behind every wait for phase n
//   the end of a CTA is ordered behind every copy into it, and behind the arrivals
//   of other CTAs at its mbarriers
//
// Invariant: between two points where a fiber may stop a warp is atomic.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_SIM_MACHINESTATE_H
#define ATTN_LIB_SIM_MACHINESTATE_H

#include "FragState.h"
#include "Shadow.h"

#include "attn/Sim/Fiber.h"
#include "attn/Sim/Machine.h"

#include <deque>
#include <map>

namespace attn::sim {

struct Cta;
struct Cluster;
struct Warp;
class Machine;

/// One use of a named barrier.
struct Turn {
  mlir::Operation *op = nullptr; ///< of the first warp that came
  unsigned warps = 0;            ///< that must come
  llvm::SmallVector<Warp *> came;
  Order order;
  bool flag = false; ///< reduction of `any`
  bool done = false;
};

/// A named piece of shared memory.
struct Storage {
  enum Kind { Tiles, Words, Bars } kind;
  std::string name;
  size_t begin = 0, slotBytes = 0;
  int32_t slots = 1;
  bool overlay = false; ///< may lie over those that are none
};

/// One mbarrier.
struct MBar {
  bool ready = false; ///< initialised
  uint32_t count = 0; ///< arrivals a phase
  uint32_t pending = 0;
  int64_t bytes = 0;                  ///< expected and not landed
  int32_t phase = 0;                  ///< number of phases completed
  Order arriving;                     ///< of the phase that runs
  Order completed;                    ///< of the phase before
  llvm::SmallVector<Access, 8> waits; ///< for the phase before, one a warp
  struct Arrival {
    uint32_t warp;
    mlir::Operation *op;
    int32_t phase;
  };
  std::deque<Arrival> last; ///< the youngest few
};

struct BarsObject : Object {
  std::string name;
  mlir::Operation *op = nullptr;
  Cta *cta = nullptr;
  int32_t slots = 1, lanes = 1;
  size_t base = 0;
  std::vector<MBar> bars; ///< [slot][lane]
  /// A position goes round what is there, even if it has more slots.
  int32_t slotOf(int64_t pos) const { return sim::slotOf(pos) % slots; }
  /// By op: phase of an arrival minus its position's lap, fixed at the first.
  std::map<mlir::Operation *, int32_t> lag;
};

struct WordsObject : Object {
  std::string name;
  size_t base = 0;
  int32_t words = 1, slots = 1, lanes = 1;
  size_t at(int64_t pos, int32_t lane, int32_t word = 0) const {
    int32_t slot = slotOf(pos) % slots;
    return base + 4 * (size_t(slot * lanes + lane) * words + word);
  }
};

/// Sixteen bytes on their way.
struct Chunk {
  const char *source; ///< null: zeros
  size_t target;
};

/// A product that the tensor core has not given back yet.
struct InFlight : Object {
  uint32_t group = 0;
  std::shared_ptr<FragTile> result;
  mlir::Operation *op = nullptr;
  std::function<void()> compute; ///< null: done
};

struct Warp {
  Warp(Machine &machine, Cta &cta, unsigned index);

  Machine &machine;
  Cta &cta;
  unsigned index;     ///< in the CTA
  uint32_t actor = 0; ///< in the machine; the agents' numbers follow from it
  uint32_t fiber = 0;
  std::unique_ptr<Interp> interp;
  bool ended = false;

  /// The role, after role_dispatch.
  std::string role;
  int32_t rank = -1;
  unsigned groupFirst = 0, groupWarps = 0;
  mlir::Operation *dispatch = nullptr;
  unsigned registers = 0; ///< of a thread

  Order order;
  uint32_t lanesSynced = 0; ///< step of the other lanes that lane 0 has seen

  // cp.async: chunks by group, oldest first; those of closed groups in front.
  std::vector<Chunk> started;
  std::deque<std::vector<Chunk>> groups;
  uint32_t closed = 0; ///< groups committed

  // Tensor core.
  uint32_t issued = 0, retired = 0;
  std::deque<std::shared_ptr<InFlight>> products;
  /// Registers that a product still reads: held, and the group.
  std::vector<std::pair<std::shared_ptr<Object>, uint32_t>> operands;

  unsigned inGroup() const { return index - groupFirst; }
  std::string name() const;
  FragState &state() { return interp->state<FragState>(); }

  uint32_t step() const { return order.seen[actor]; }
  Access access(mlir::Operation *op) const {
    return {actor, step(), op, false};
  }
  /// By all lanes, one after another.
  Access lanesAccess(mlir::Operation *op);
  /// All lanes have met.
  void syncLanes();
  /// What others may know; later accesses are not part of it.
  Order publish();
};

struct Cta {
  Cta(Machine &machine, Cluster &cluster, int32_t index, size_t smemBytes);

  Machine &machine;
  Cluster &cluster;
  int32_t index;
  std::vector<uint8_t> smem;
  Shadow shadow;
  std::vector<Storage> regions;
  llvm::DenseMap<mlir::Operation *, std::shared_ptr<Object>> objects;
  std::vector<std::unique_ptr<Warp>> warps;
  std::map<int32_t, std::shared_ptr<Turn>> turns; ///< by barrier id
  std::map<int32_t, std::shared_ptr<Turn>>
      before; ///< the turn before, likewise
  std::vector<std::shared_ptr<BarsObject>> bars;
  int64_t freeRegisters = 0;
  unsigned live = 0;
  /// The n-th product of a warpgroup, by its first warp.
  std::map<unsigned, std::vector<mlir::Operation *>> products;
  /// What its end must lie behind, the youngest of each actor: copies into it,
  /// and what other CTAs did to it.
  struct Visit {
    Access by;
    bool foreign;
  };
  std::map<uint32_t, Visit> visits;

  /// "slot 1 of ring 'k'"
  std::string place(size_t byte) const;
  /// " of cta 1" where several could be meant.
  std::string which() const;
  /// Number in its cluster.
  int32_t rank() const;
};

/// CTAs that are neighbours in the launch.
struct Cluster {
  llvm::SmallVector<Cta *> ctas;
  unsigned live = 0;          ///< warps that have not ended
  std::shared_ptr<Turn> turn; ///< of its barrier
  /// Goes on if all live warps have come.
  void settle();
};

class Machine {
public:
  Machine(frag::KernelOp kernel, llvm::ArrayRef<char> params,
          const MachineOptions &options, FragCache &cache);
  Report run();

  //===--- verdicts -------------------------------------------------------===//
  mlir::LogicalResult violate(Verdict verdict, mlir::Operation *op,
                              const llvm::Twine &message,
                              const Access *other = nullptr);
  mlir::LogicalResult report(const Warp &warp, const Cta &where,
                             mlir::Operation *op, const Conflict &conflict);
  std::string actorName(uint32_t actor) const;

  //===--- memory ---------------------------------------------------------===//
  mlir::LogicalResult read(Warp &warp, mlir::Operation *op, size_t begin,
                           size_t bytes, const Access &by);
  mlir::LogicalResult write(Warp &warp, mlir::Operation *op, size_t begin,
                            size_t bytes, const Access &by, bool same = false);
  /// Likewise, into the shared memory of any CTA.
  mlir::LogicalResult writeTo(Warp &warp, Cta &where, mlir::Operation *op,
                              size_t begin, size_t bytes, const Access &by,
                              bool same = false);
  mlir::LogicalResult onGlobal(Warp &warp, mlir::Operation *op,
                               const char *address, unsigned bytes, bool write);

  //===--- points where a warp may stop -----------------------------------===//
  mlir::LogicalResult yield();
  mlir::LogicalResult block(mlir::Operation *op, std::function<bool()> until,
                            std::function<std::string()> why);
  /// Arrives at a named barrier and, unless `only`, waits.
  mlir::LogicalResult meet(Warp &warp, mlir::Operation *op, int32_t id,
                           unsigned warps, bool &flag, bool arriveOnly = false);

  //===--- actors ---------------------------------------------------------===//
  uint32_t lanesOf(const Warp &warp) const { return warps + warp.actor; }
  uint32_t copiesOf(const Warp &warp) const { return 2 * warps + warp.actor; }
  uint32_t tensorOf(const Warp &warp) const { return 3 * warps + warp.actor; }
  /// An actor whose earlier accesses `order` has seen, one step on.
  Access newAgent(const Order &order, mlir::Operation *op);

  /// Decided by the seed.
  bool coin() {
    return (coins = coins * 6364136223846793005ull + 1442695040888963407ull) >>
           63;
  }

  mlir::LogicalResult runOp(mlir::Operation *op, Warp &warp);
  /// A TMA copy of `bytes` has been started as action `number`.
  void onCopy(Warp &warp, frag::TmaLoadOp op, uint64_t number, int64_t bytes);

  frag::KernelOp kernel;
  llvm::ArrayRef<char> params;
  MachineOptions options;
  FragCache &cache;
  std::unique_ptr<Scheduler> owned;
  Scheduler &scheduler;
  Fibers fibers;
  Report result;
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<Warp *> byActor;
  uint32_t warps = 0;
  std::vector<Access> agents;            ///< the youngest copy of each
  llvm::DenseMap<uint64_t, Cell> global; ///< by address / 2
  int32_t nextItem = 0;                  ///< the dynamic work queue
  /// 16-byte granules of operand A that a warp reads: by op and warp.
  std::map<std::pair<mlir::Operation *, unsigned>, std::vector<uint32_t>>
      granules;

private:
  void runWarp(Warp &warp);
  void judge(Fibers::End end);
  void judgeEnd();
  void judgeVisits(const Cta &cta);
  std::string otherSide(const Waiter &waiter);
  uint64_t coins;
};

/// Writes row r of A to line number[r] of `out`, if that is not negative.
using FillA =
    llvm::function_ref<void(llvm::ArrayRef<int32_t> number, float *out)>;

/// Operand B of a product in shared memory.
struct OperandB {
  frag::RingType ring;
  frag::BOrder order;
  unsigned rows = 0;  ///< from `base` on
  size_t base = 0;    ///< of a slot, or of a part of it
  unsigned warps = 0; ///< that read it alike
};

/// Rows of a product that a warp holds: C = acc + A B.
std::shared_ptr<FragTile> multiply(Warp &warp, mlir::Type element, unsigned k,
                                   FillA fillA, frag::RegType cType,
                                   const FragTile *acc, const OperandB &b);

/// Offset of a slot, likewise.
inline size_t slotBase(const FragRing &ring, int32_t slot) {
  frag::RingType type = ring.type;
  return ring.base + size_t(slot % type.getSlots()) * type.getSlotBytes();
}

/// A product reads all columns of its rows; of a last panel that is not full no
/// more, since a copy need not have written there.
mlir::LogicalResult readOperandB(Warp &warp, mlir::Operation *op,
                                 const OperandB &b, const Access &by);

/// Any op, in a run without values.  Sets `known` to false for one that has none.
mlir::LogicalResult runBlankOp(mlir::Operation *op, Warp &warp, bool &known);
/// Ops that SM80 has too: copies, barriers, ldmatrix, mma, any.
mlir::LogicalResult runMachineOp(mlir::Operation *op, Warp &warp);
/// Ops of groups of warps.  Sets `known` to false for any other.
mlir::LogicalResult runGroupOp(mlir::Operation *op, Warp &warp, bool &known);
/// Ops of Hopper: roles, mbarriers, TMA, wgmma, words.  Sets `known` to false
/// for any other.
mlir::LogicalResult runHopperOp(mlir::Operation *op, Warp &warp, bool &known);

} // namespace attn::sim

#endif // ATTN_LIB_SIM_MACHINESTATE_H
