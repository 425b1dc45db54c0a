//===- Roles.cpp - roles and elected lanes to branches --------------------===//
//
//   frag.role_dispatch [load, compute] {...}, (%rank) {...}
//     -> warp = shfl.idx(tid / 32, lane 0)
//        if warp < 4 { setmaxnreg; if warp % 4 < active { load } }
//        else        { setmaxnreg; compute, rank = (warp - 4) / 4 }
//
// One shuffled number decides, so that ptxas sees that the warps of a role stay
// together; it gives each side of the branch its own register allocation.
//
// Runs on what the patterns have left: everything inside is machine code.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

/// Ops of a region's block in front of `at`; the terminator goes away.
static void inlineBefore(IRRewriter &rewriter, Region &region, Operation *at,
                         ValueRange args = {}) {
  Block &block = region.front();
  rewriter.eraseOp(block.getTerminator());
  rewriter.inlineBlockBefore(&block, at, args);
}

/// What only the elected thread does has a predicate already, the rest does no
/// harm to others.
static void lowerElect(ElectOp op) {
  IRRewriter rewriter(op->getContext());
  inlineBefore(rewriter, op.getBody(), op);
  rewriter.eraseOp(op);
}

namespace {

class DispatchLowering {
public:
  explicit DispatchLowering(RoleDispatchOp op)
      : op(op), rewriter(op->getContext()) {
    rewriter.setInsertionPoint(op);
  }

  LogicalResult run() {
    unsigned threads = executingThreads(op), covered = 0;
    for (unsigned i = 0; i < op.getBodies().size(); ++i) {
      RoleAttr role = op.getRole(i);
      if (!llvm::isPowerOf2_32(role.getWarps()) ||
          role.getFirstWarp() % role.getWarps())
        return op.emitOpError()
               << "role " << role.getName() << " has " << role.getWarps()
               << " warps from " << role.getFirstWarp()
               << " on but threads are numbered by bits: a power of two of "
                  "warps, from a multiple of it on";
      covered += role.getWarps() * role.getReplicas();
    }
    Emitter e(rewriter, op.getLoc());
    warp = e.ofFirstLane(e.shr(e.threadId(), llvm::Log2_32(layout::warpSize)));
    bool all = covered * layout::warpSize == threads;
    for (unsigned i = 0; i < op.getBodies().size(); ++i) {
      bool rest = all && i + 1 == op.getBodies().size();
      emitRole(op.getRole(i), op.getBodies()[i], rest);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Leaves the builder where the warps of other roles are.  `rest`: there are
  /// none.
  void emitRole(RoleAttr role, Region &region, bool rest) {
    Emitter e(rewriter, op.getLoc());
    Value number = e.add(warp, -int64_t(role.getFirstWarp()));
    if (rest) {
      emitBody(role, region, number);
      return;
    }
    Value inside = arith::CmpIOp::create(
        rewriter, op.getLoc(), arith::CmpIPredicate::ult, number,
        e.i32(role.getWarps() * role.getReplicas()));
    auto branch = scf::IfOp::create(rewriter, op.getLoc(), inside,
                                    /*withElseRegion=*/true);
    rewriter.setInsertionPoint(branch.thenBlock()->getTerminator());
    emitBody(role, region, number);
    rewriter.setInsertionPoint(branch.elseBlock()->getTerminator());
  }

  /// `number`: the warp's among those of the role.
  void emitBody(RoleAttr role, Region &region, Value number) {
    Emitter e(rewriter, op.getLoc());
    SmallVector<Value> rank;
    if (role.getReplicas() > 1)
      rank.push_back(e.shr(number, llvm::Log2_32(role.getWarps())));
    // All warps give their registers back or take more, the idle ones too.
    if (auto registers =
            dyn_cast<NVVM::SetMaxRegisterOp>(region.front().front()))
      rewriter.moveOpBefore(registers, rewriter.getInsertionBlock(),
                            rewriter.getInsertionPoint());
    Operation *at = &*rewriter.getInsertionPoint();
    if (role.getActive() < role.getWarps()) {
      Value active = arith::CmpIOp::create(
          rewriter, op.getLoc(), arith::CmpIPredicate::ult,
          e.bitAnd(number, role.getWarps() - 1), e.i32(role.getActive()));
      auto branch = scf::IfOp::create(rewriter, op.getLoc(), active,
                                      /*withElseRegion=*/false);
      at = branch.thenBlock()->getTerminator();
    }
    inlineBefore(rewriter, region, at, rank);
  }

  RoleDispatchOp op;
  IRRewriter rewriter;
  Value warp; ///< of the CTA
};

} // namespace

LogicalResult frag::rolesToBranches(LLVM::LLVMFuncOp func) {
  SmallVector<ElectOp> elects;
  SmallVector<RoleDispatchOp> dispatches;
  func.walk([&](ElectOp op) { elects.push_back(op); });
  func.walk([&](RoleDispatchOp op) { dispatches.push_back(op); });
  for (ElectOp op : elects)
    lowerElect(op);
  for (RoleDispatchOp op : dispatches)
    if (failed(DispatchLowering(op).run()))
      return failure();
  return success();
}
