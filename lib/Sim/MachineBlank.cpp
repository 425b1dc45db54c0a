//===- MachineBlank.cpp - ops of a run without values ---------------------===//
//
// Where control flow depends on words and positions alone, a run for its order
// or its time needs no elements: tiles are blank, copies move nothing, votes say
// what the options say.
//
//   %p = frag.map (%s = %S) ...       %p is blank
//   frag.tma_load ...                 its bytes land on the barrier, none in the
//                                     slot
//
// Invariant: barriers, counts of bytes, groups and registers are as in a run
// with values; races are not looked for.
//
//===----------------------------------------------------------------------===//

#include "MachineHopper.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

static LogicalResult loadTile(frag::TmaLoadOp op, Warp &warp) {
  Machine &machine = warp.machine;
  auto bars = warp.interp->get(op.getBars()).share<BarsObject>();
  int32_t slot = bars->slotOf(warp.interp->getInt(op.getBarPos()));
  int64_t bytes = op.getBytes();
  machine.fibers.addAction(
      [op, bars, slot, bytes, phase = bars->bars[slot * bars->lanes].phase] {
        (void)landBytes(op, *bars, slot, phase, bytes, Order());
      });
  machine.onCopy(warp, op, machine.fibers.lastAction(), bytes);
  return machine.yield();
}

LogicalResult attn::sim::runBlankOp(Operation *op, Warp &warp, bool &known) {
  Interp &interp = *warp.interp;
  static const auto blank = std::make_shared<Object>();
  if (auto load = dyn_cast<frag::TmaLoadOp>(op))
    return loadTile(load, warp);
  if (auto product = dyn_cast<frag::WgmmaOp>(op)) {
    auto inflight = std::make_shared<InFlight>();
    inflight->group = ++warp.issued;
    interp.set(product.getResult(),
               Datum(std::shared_ptr<Object>(std::move(inflight))));
    return warp.machine.yield();
  }
  if (isa<frag::MapOp, frag::SplatOp, frag::KeepColumnsOp, frag::ReduceRowOp,
          frag::ReduceQuadOp, frag::PackOp, frag::QuadTransposeOp, frag::LoadOp,
          frag::LoadVecOp, frag::LdmatrixOp, frag::MmaOp, frag::WgmmaWaitOp,
          frag::RewriteTileOp, frag::LdTileOp>(op)) {
    for (mlir::Value result : op->getResults())
      interp.set(result, Datum(blank));
    return success();
  }
  if (isa<frag::StoreOp, frag::StoreVecOp, frag::ZeroRowsOp, frag::CpAsyncOp,
          frag::RewriteRowsOp, frag::StTileOp>(op))
    return success();
  known = false;
  return success();
}
