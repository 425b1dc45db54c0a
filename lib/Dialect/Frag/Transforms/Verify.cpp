//===- Verify.cpp - level verifier of L3 ----------------------------------===//
//
// Follows the text of a kernel with the state of each ring's copies:
//
//   started -> committed -> waited for -> (barrier) visible
//
//   frag.cp_async_wait pending 0
//   %q = frag.ldmatrix %ring[%p]      <- error: a wait covers only the copies
//   of
//                                        the executing thread, a barrier is
//                                        missing
//
// It is an abstract run: both arms of an if are joined, a loop's body is run
// until its entry state stands.  A ring with several slots may be read while
// another of its slots is being filled, so that "still in flight" is an error
// for rings of one slot alone; the L3 interpreter sees the rest, with values.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Frag/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

namespace attn::frag {
#define GEN_PASS_DEF_FRAGVERIFY
#include "attn/Dialect/Frag/FragPasses.h.inc"
} // namespace attn::frag

using namespace mlir;
using namespace attn::frag;

namespace {

using Rings = llvm::SmallSet<Operation *, 4>;

struct State {
  Rings started;             ///< since the last commit
  SmallVector<Rings> groups; ///< committed, oldest first
  Rings waited;              ///< landed for the own thread, no barrier yet

  bool operator==(const State &o) const {
    return started == o.started && groups == o.groups && waited == o.waited;
  }
  void join(const State &o) {
    started.insert(o.started.begin(), o.started.end());
    waited.insert(o.waited.begin(), o.waited.end());
    // The youngest groups are counted by waits: align at the young end.
    if (groups.size() < o.groups.size())
      groups.insert(groups.begin(), o.groups.size() - groups.size(), Rings());
    unsigned shift = groups.size() - o.groups.size();
    for (unsigned i = 0; i < o.groups.size(); ++i)
      groups[shift + i].insert(o.groups[i].begin(), o.groups[i].end());
  }
};

class Checker {
public:
  LogicalResult run(KernelOp kernel) {
    if (failed(checkOps(kernel)) || failed(checkRings(kernel)))
      return failure();
    State state;
    if (failed(runBlock(kernel.getBody().front(), state)))
      return failure();
    if (!state.started.empty())
      return kernel.emitOpError()
             << "ends with copies of ring '" << name(*state.started.begin())
             << "' that are not committed";
    return success();
  }

private:
  static StringRef name(Operation *ring) {
    return cast<SmemOp>(ring).getName();
  }

  LogicalResult checkOps(KernelOp kernel) {
    WalkResult result = kernel.walk([&](Operation *op) {
      if (isa_and_nonnull<FragDialect, scf::SCFDialect, arith::ArithDialect,
                          math::MathDialect>(op->getDialect()))
        return WalkResult::advance();
      op->emitOpError() << "is not an operation of level L3";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult checkRings(KernelOp kernel) {
    SmallVector<SmemOp> rings;
    kernel.walk([&](SmemOp op) { rings.push_back(op); });
    for (SmemOp op : rings) {
      int64_t begin = int32_t(op.getOffset());
      if (begin < 0)
        return op.emitOpError()
               << "ring '" << op.getName() << "' has no offset";
      int64_t align = swizzleOf(op.getRing().getType()).alignment();
      if (begin % align)
        return op.emitOpError()
               << "ring '" << op.getName() << "' lies at " << begin
               << " which is not a multiple of " << align;
      int64_t end = begin + op.getRing().getType().getBytes();
      if (end > int32_t(kernel.getSmem()))
        return op.emitOpError()
               << "ring '" << op.getName() << "' ends at byte " << end
               << " but the kernel has " << int32_t(kernel.getSmem());
      for (SmemOp other : rings) {
        int64_t b = int32_t(other.getOffset());
        if (other != op && begin <= b && b < end)
          return other.emitOpError() << "ring '" << other.getName() << "' at "
                                     << b << " overlaps ring '" << op.getName()
                                     << "' at " << begin << " to " << end;
      }
    }
    return success();
  }

  LogicalResult read(Operation *op, Value ring, State &state) {
    Operation *smem = ring.getDefiningOp<SmemOp>();
    if (!smem)
      return op->emitOpError() << "ring does not come from frag.smem";
    if (state.waited.contains(smem))
      return op->emitOpError() << "reads ring '" << name(smem)
                               << "' between the wait for its copies and a "
                                  "CTA barrier";
    if (cast<RingType>(ring.getType()).getSlots() > 1)
      return success();
    bool inFlight = state.started.contains(smem);
    for (Rings &group : state.groups)
      inFlight |= group.contains(smem);
    if (inFlight)
      return op->emitOpError() << "reads ring '" << name(smem)
                               << "' while a copy into its only slot is in "
                                  "flight";
    return success();
  }

  LogicalResult runOp(Operation *op, State &state) {
    if (auto copy = dyn_cast<CpAsyncOp>(op)) {
      Operation *smem = copy.getRing().getDefiningOp<SmemOp>();
      if (!smem)
        return op->emitOpError() << "ring does not come from frag.smem";
      state.started.insert(smem);
      return success();
    }
    if (isa<CpAsyncCommitOp>(op)) {
      state.groups.push_back(state.started);
      state.started.clear();
      return success();
    }
    if (auto wait = dyn_cast<CpAsyncWaitOp>(op)) {
      int32_t pending = int32_t(wait.getPending());
      if (pending < 0)
        return op->emitOpError()
               << "waits until at most " << pending << " groups are in flight";
      while (state.groups.size() > size_t(pending)) {
        state.waited.insert(state.groups.front().begin(),
                            state.groups.front().end());
        state.groups.erase(state.groups.begin());
      }
      return success();
    }
    if (isa<CtaSyncOp, AnyOp>(op)) {
      state.waited.clear();
      return success();
    }
    if (auto mma = dyn_cast<MmaOp>(op))
      return read(op, mma.getRing(), state);
    if (auto load = dyn_cast<LdmatrixOp>(op))
      return read(op, load.getRing(), state);
    if (auto ifOp = dyn_cast<scf::IfOp>(op)) {
      State other = state;
      if (failed(runBlock(ifOp.getThenRegion().front(), state)))
        return failure();
      if (!ifOp.getElseRegion().empty() &&
          failed(runBlock(ifOp.getElseRegion().front(), other)))
        return failure();
      state.join(other);
      return success();
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return runLoop({&loop.getRegion().front()}, state);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return runLoop({&loop.getBefore().front(), &loop.getAfter().front()},
                     state);
    if (op->getNumRegions() && !isa<MapOp>(op))
      return op->emitOpError() << "is not an operation of level L3";
    return success();
  }

  /// The first block always runs up to its end before the loop is left, so the
  /// exit state is joined after it.
  LogicalResult runLoop(ArrayRef<Block *> blocks, State &state) {
    State entry = state;
    for (unsigned turn = 0;; ++turn) {
      State exit = entry;
      if (blocks.size() == 2 && failed(runBlock(*blocks[0], exit)))
        return failure();
      State back = exit;
      if (failed(runBlock(*blocks.back(), back)))
        return failure();
      State joined = entry;
      joined.join(back);
      if (joined == entry) {
        state = exit;
        return success();
      }
      if (turn == 8)
        return blocks[0]->getParentOp()->emitOpError()
               << "has more copies in flight on every turn: "
               << back.groups.size() << " groups after " << turn + 1
               << " turns";
      entry = joined;
    }
  }

  LogicalResult runBlock(Block &block, State &state) {
    for (Operation &op : block)
      if (failed(runOp(&op, state)))
        return failure();
    return success();
  }
};

struct Verify : public attn::frag::impl::FragVerifyBase<Verify> {
  void runOnOperation() override {
    if (failed(Checker().run(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
