//===- TimingState.h - clocks of warps and units ----------------*- C++ -*-===//
//
// Private to the timed machine (include/attn/Sim/Timing.h).
//
//   before(op)  the op's instructions are issued: the warp's clock goes on, and
//               it stands where the others may overtake it in between
//   the op      has its effect, at the time of its last instruction
//   after(op)   results get the time at which they are there; who was blocked
//               goes on at the time of what woke it
//
// Invariant: whatever a warp takes from others (a scheduler, a unit, an arrival)
// it takes when no other warp or copy has an earlier time.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_SIM_TIMINGSTATE_H
#define ATTN_LIB_SIM_TIMINGSTATE_H

#include "MachineState.h"

#include "attn/Sim/Timing.h"

namespace attn::sim {

//===----------------------------------------------------------------------===//
// What an op costs
//===----------------------------------------------------------------------===//

enum class Unit { None, Fma, Alu, Mufu, Convert, Mma, Shared };
constexpr unsigned numUnits = 7;

/// One instruction of a warp.
struct Instr {
  Unit unit = Unit::None;
  double taken = 0; ///< clocks of the unit
  double latency = 0;
};

/// An op as instructions: `head` once, each of `steps` once an element, in groups
/// of elements, then `tail` once.  Elements that `moved` names take `movedSteps`.  A step waits for the step before it of its
/// element; an element for the same share of the tile operands; a tail
/// instruction for the one `width` before it.
struct Stream {
  std::vector<Instr> head, steps, tail;
  std::vector<Instr> movedSteps;
  std::vector<bool> moved; ///< empty: none
  unsigned elements = 0, width = 1;
  /// From the last step to the tail: chains inside the stream.
  double drain = 0;
};

class CostModel {
public:
  explicit CostModel(const SmTiming &sm) : sm(sm) {}
  /// Decoded once an op.
  const Stream &of(mlir::Operation *op);

  Instr fma() const { return {Unit::Fma, sm.fma, sm.fmaLatency}; }
  Instr alu() const { return {Unit::Alu, sm.alu, sm.aluLatency}; }
  Instr mufu() const { return {Unit::Mufu, sm.mufu, sm.mufuLatency}; }
  Instr convert() const {
    return {Unit::Convert, sm.convert, sm.convertLatency};
  }
  Instr shuffle() const { return {Unit::Shared, 1, sm.shuffleLatency}; }
  /// Shared or global memory, by `bytes` of all lanes together.
  Instr memory(double bytes, double latency) const {
    return {Unit::Shared, std::max(1.0, bytes / sm.sharedBytes), latency};
  }
  /// On the uniform data path or as part of an address.
  Instr plain() const { return {Unit::None, 0, sm.aluLatency}; }

  const SmTiming &sm;

private:
  Stream decode(mlir::Operation *op);
  void decodeMap(frag::MapOp map, Stream &out);
  void decodeRow(mlir::Block &body, Stream &out) const;
  void scalar(mlir::Operation *op, std::vector<Instr> &out,
              llvm::function_ref<bool(mlir::Value)> uniform) const;

  std::map<mlir::Operation *, Stream> known; ///< entries stay where they are
};

//===----------------------------------------------------------------------===//
// Clocks
//===----------------------------------------------------------------------===//

struct WarpClock {
  double now = 0;
  double issued = 0; ///< clocks in which it issued
  double nextMufu = 0;
  bool active = false; ///< runs its role's code
  llvm::StringMap<double> stalls;
  Stamp result;                 ///< of the op that runs
  int64_t lastSpan = -1;        ///< may still grow
  std::vector<double> products; ///< when product i is there
  double copies = 0;            ///< when the open group has landed
  std::vector<double> groups;   ///< the committed ones
  /// By loop with products: the last yield, and how many of this run of it.
  struct Lap {
    double last = 0;
    uint64_t count = 0;
  };
  llvm::DenseMap<mlir::Operation *, Lap> laps;
};

struct SmClock {
  struct Quadrant {
    double dispatch = 0, tensor = 0; ///< free from then on
    double unit[numUnits] = {};
    std::deque<double> steps; ///< ends of the youngest steps of products
    uint32_t owner = ~0u;     ///< warp that issued the last one
  };
  int64_t tensorSpan = -1, mufuSpan = -1;
  std::vector<Quadrant> quadrants;
  double shared = 0, copies = 0;
  // Totals.
  double issued = 0, tensorBusy = 0, copyBusy = 0, flops = 0;
  double busy[numUnits] = {};
};

class Timing : public Scheduler, public Watcher {
public:
  Timing(const TimingOptions &options, frag::KernelOp kernel,
         TimingReport &out);

  /// Before and after the fibers of the machine run.
  void start(Machine &m);
  void finish();

  size_t pick(llvm::ArrayRef<Choice> ready) override;
  mlir::LogicalResult before(mlir::Operation *op, Interp &interp) override;
  mlir::LogicalResult after(mlir::Operation *op, Interp &interp) override;

  /// A TMA copy of `bytes` that the running warp starts now is action `number`.
  void startCopy(uint64_t number, int64_t bytes, llvm::StringRef what);

private:
  WarpClock &clock(const Warp &warp) { return clocks[warp.actor]; }
  SmClock &sm(const Warp &warp) {
    return sms[unsigned(warp.cta.index) % sms.size()];
  }
  Warp &running();

  void stall(Warp &warp, double until, llvm::StringRef cause);
  mlir::LogicalResult issue(Warp &warp, const Instr &instr, double ready,
                            double *at = nullptr);
  mlir::LogicalResult issueAll(Warp &warp, llvm::ArrayRef<Instr> instrs,
                               double &ready, unsigned width);
  mlir::LogicalResult runStream(Warp &warp, mlir::Operation *op);
  mlir::LogicalResult enterTensor(Warp &warp, double &at);
  mlir::LogicalResult startProduct(Warp &warp, frag::WgmmaOp op);
  mlir::LogicalResult waitProduct(Warp &warp, frag::WgmmaWaitOp op);
  mlir::LogicalResult runMma(Warp &warp, frag::MmaOp op);
  mlir::LogicalResult startCopies(Warp &warp, frag::CpAsyncOp op);
  mlir::LogicalResult runScf(Warp &warp, mlir::Operation *op, Interp &interp);
  void wake(Warp &warp, llvm::StringRef cause, double latency);
  void lap(Warp &warp, mlir::Operation *loop);
  void addSpan(int64_t &last, const Warp &warp, const llvm::Twine &track,
               llvm::StringRef name, double begin, double end, double gap);
  void warpSpan(Warp &warp, llvm::StringRef name, double begin);
  void placeWaits(frag::KernelOp kernel);

  TimingOptions options;
  CostModel costs;
  TimingReport &out;
  Machine *machine = nullptr;
  double global = 0; ///< time of what ran last
  std::vector<WarpClock> clocks;
  std::vector<SmClock> sms;
  llvm::DenseMap<uint64_t, double> due; ///< when an action happens
  /// Waits that ptxas moves up: behind the key, in place of where they stand.
  llvm::DenseMap<mlir::Operation *, frag::WgmmaWaitOp> moved;
  llvm::DenseSet<mlir::Operation *> movedWaits;
  struct Laps {
    uint64_t count = 0;
    double cycles = 0;
  };
  llvm::MapVector<mlir::Operation *, Laps> laps;
  std::vector<TimingSpan> spans;
};

} // namespace attn::sim

#endif // ATTN_LIB_SIM_TIMINGSTATE_H
