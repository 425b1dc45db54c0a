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
// Of kernels with roles it checks what needs no run: storage, initialisation,
// places of tensor maps, the bytes that a barrier expects, CTA barriers in roles, and that every
// product under way is waited for in its block by a count that covers it.
// Phases, arrivals and races are the simulator's.
//
//===----------------------------------------------------------------------===//

#include "attn/ABI/KernelParams.h"
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
    if (failed(checkOps(kernel)) || failed(checkStorage(kernel)) ||
        failed(checkInit(kernel)) || failed(checkTmaps(kernel)) ||
        failed(checkAsync(kernel)))
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

  /// A piece of shared memory that the kernel names.
  struct Piece {
    Operation *op;
    StringRef kind, name;
    int64_t begin, bytes, align;
    bool overlay = false;

    bool mayOverlap(const Piece &other) const {
      return kind == "ring" && other.kind == "ring" && overlay != other.overlay;
    }
  };

  static SmallVector<Piece> piecesOf(KernelOp kernel) {
    SmallVector<Piece> pieces;
    kernel.walk([&](Operation *op) {
      if (auto x = dyn_cast<SmemOp>(op)) {
        RingType type = x.getRing().getType();
        pieces.push_back({op, "ring", x.getName(), int32_t(x.getOffset()),
                          type.getBytes(), swizzleOf(type).alignment(),
                          x.getOverlay()});
      } else if (auto x = dyn_cast<WordsOp>(op)) {
        pieces.push_back({op, "words", x.getName(), int32_t(x.getOffset()),
                          x.getWords().getType().getBytes(), 4});
      } else if (auto x = dyn_cast<BarsOp>(op)) {
        pieces.push_back({op, "barriers", x.getName(), int32_t(x.getOffset()),
                          x.getBars().getType().getBytes(), 8});
      }
    });
    return pieces;
  }

  LogicalResult checkStorage(KernelOp kernel) {
    SmallVector<Piece> pieces = piecesOf(kernel);
    for (const Piece &piece : pieces) {
      auto error = [&]() {
        return piece.op->emitOpError() << piece.kind << " '" << piece.name;
      };
      if (piece.begin < 0)
        return error() << (piece.kind == "ring" ? "' has" : "' have")
                       << " no offset";
      if (piece.begin % piece.align)
        return error() << (piece.kind == "ring" ? "' lies" : "' lie") << " at "
                       << piece.begin << " which is not a multiple of "
                       << piece.align;
      int64_t end = piece.begin + piece.bytes;
      if (end > int32_t(kernel.getSmem()))
        return error() << (piece.kind == "ring" ? "' ends" : "' end")
                       << " at byte " << end << " but the kernel has "
                       << int32_t(kernel.getSmem());
      for (const Piece &other : pieces)
        if (other.op != piece.op && piece.begin <= other.begin &&
            other.begin < end && !piece.mayOverlap(other))
          return other.op->emitOpError()
                 << other.kind << " '" << other.name << "' at " << other.begin
                 << (other.kind == "ring" ? " overlaps " : " overlap ")
                 << piece.kind << " '" << piece.name << "' at " << piece.begin
                 << " to " << end;
    }
    return success();
  }

  /// Barriers start once, before the roles part; words may.
  LogicalResult checkInit(KernelOp kernel) {
    for (const Piece &piece : piecesOf(kernel)) {
      if (piece.kind == "ring")
        continue;
      InitOp init;
      for (Operation *user : piece.op->getResult(0).getUsers()) {
        auto found = dyn_cast<InitOp>(user);
        if (!found)
          continue;
        if (init)
          return found.emitOpError() << piece.kind << " '" << piece.name
                                     << "' are initialised twice";
        init = found;
      }
      if (!init && piece.kind == "words")
        continue;
      if (!init)
        return piece.op->emitOpError()
               << piece.kind << " '" << piece.name << "' are not initialised";
      if (init->getParentOp() != kernel)
        return init.emitOpError() << "must be in the body of the kernel";
      for (Operation *user : piece.op->getResult(0).getUsers()) {
        Operation *here = kernel.getBody().front().findAncestorOpInBlock(*user);
        if (here && here->isBeforeInBlock(init))
          return user->emitOpError()
                 << "uses " << piece.kind << " '" << piece.name
                 << "' before they are initialised";
      }
    }
    return success();
  }

  /// Tensor maps lie behind all other parameters' bytes and apart from each
  /// other.
  LogicalResult checkTmaps(KernelOp kernel) {
    SmallVector<std::pair<std::string, std::pair<int32_t, int32_t>>> taken = {
        {"the fixed parameters", {0, int32_t(ATTN_PARAMS_FIXED_BYTES)}}};
    kernel.walk([&](ParamOp param) {
      Type type = param.getResult().getType();
      int32_t bytes = isa<PtrType>(type) ? 8 : int32_t(bytesOf(type));
      int32_t begin = int32_t(param.getOffset());
      taken.push_back({("parameter '" + param.getName() + "'").str(),
                       {begin, begin + bytes}});
    });
    WalkResult result = kernel.walk([&](TmapOp map) -> WalkResult {
      int32_t begin = int32_t(map.getOffset()), end = begin + TmapOp::bytes;
      for (auto &[name, range] : taken)
        if (begin < range.second && range.first < end)
          return map.emitOpError()
                 << "'" << map.getName() << "' at byte " << begin
                 << " overlaps " << name << " at " << range.first;
      taken.push_back(
          {("tensor map '" + map.getName() + "'").str(), {begin, end}});
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// The bytes of an expectation are those of the copies beside it.  Each CTA in
  /// the mask of a copy starts one too, for its own part.
  LogicalResult checkExpect(MbarExpectOp expect) {
    int64_t bytes = 0;
    for (auto copy : expect->getBlock()->getOps<TmaLoadOp>())
      if (copy.getBars() == expect.getBars() &&
          copy.getBarPos() == expect.getPos())
        bytes +=
            copy.getBytes() * llvm::popcount(copy.getMulticast().value_or(1));
    if (bytes != int32_t(expect.getBytes()))
      return expect.emitOpError()
             << "expects " << int32_t(expect.getBytes())
             << " bytes but the copies beside it bring " << bytes;
    return success();
  }

  /// A product is waited for in its block, by a count that covers it.
  LogicalResult checkProduct(WgmmaOp product) {
    Value inflight = product.getResult();
    auto wait = inflight.hasOneUse()
                    ? dyn_cast<WgmmaWaitOp>(*inflight.user_begin())
                    : WgmmaWaitOp();
    if (!wait || wait->getBlock() != product->getBlock())
      return product.emitOpError()
             << "must be waited for once, in its own block";
    int32_t younger = 0;
    for (Operation *op = product->getNextNode(); op != wait;
         op = op->getNextNode())
      younger += isa<WgmmaOp>(op);
    if (int32_t(wait.getPending()) > younger)
      return wait.emitOpError() << "leaves " << int32_t(wait.getPending())
                                << " products under way but only " << younger
                                << " are younger than the one it waits for";
    // Another user would read the registers that the product writes.
    if (product.getAcc() && !product.getAcc().hasOneUse())
      return product.emitOpError() << "acc is used elsewhere too";
    return success();
  }

  LogicalResult checkAsync(KernelOp kernel) {
    WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
      if (auto expect = dyn_cast<MbarExpectOp>(op))
        return WalkResult(checkExpect(expect));
      if (auto product = dyn_cast<WgmmaOp>(op))
        return WalkResult(checkProduct(product));
      auto any = dyn_cast<AnyOp>(op);
      if ((isa<CtaSyncOp>(op) || (any && any.getScope() == VoteScope::Cta)) &&
          op->getParentOfType<RoleDispatchOp>())
        return WalkResult(op->emitOpError()
                          << "holds a CTA barrier and must not be in a role");
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
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
    auto any = dyn_cast<AnyOp>(op);
    if (isa<CtaSyncOp, InitOp>(op) ||
        (any && any.getScope() == VoteScope::Cta)) {
      state.waited.clear();
      return success();
    }
    if (auto mma = dyn_cast<MmaOp>(op)) {
      if (mma.getAPos() && failed(read(op, mma.getA(), state)))
        return failure();
      return read(op, mma.getRing(), state);
    }
    if (auto load = dyn_cast<LdmatrixOp>(op))
      return read(op, load.getRing(), state);
    if (auto rewrite = dyn_cast<RewriteRowsOp>(op))
      return read(op, rewrite.getRing(), state);
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
    if (auto elect = dyn_cast<ElectOp>(op))
      return runBlock(elect.getBody().front(), state);
    if (auto dispatch = dyn_cast<RoleDispatchOp>(op)) {
      // Roles run beside each other and nothing comes behind them.
      for (Region &region : dispatch.getBodies()) {
        State own = state;
        if (failed(runBlock(region.front(), own)))
          return failure();
        if (!own.started.empty())
          return op->emitOpError()
                 << "role "
                 << dispatch.getRole(region.getRegionNumber()).getName()
                 << " ends with copies of ring '" << name(*own.started.begin())
                 << "' that are not committed";
      }
      return success();
    }
    if (op->getNumRegions() && !isa<MapOp, RewriteTileOp>(op))
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
