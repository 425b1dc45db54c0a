//===- MergeRows.cpp - merge records in turns of few rows -----------------===//
//
// A merge holds two tiles in registers, the sum so far and the next partial.
// No product asks for many rows at once, so it takes as many as are cheap:
//
//   %rows = attn.row_map ... rows %nrows : !attn.rows<128>
//   load, merge, store tile<128x128xf32>
//   ->
//   scf.for %turn = 0 to ceil(%nrows / 64) {
//     %some = attn.slice_rows %rows[%turn] of 2
//     load, merge, store tile<64x128xf32>
//   }
//
// Rows behind the last live one cost nothing.
//
// Invariant: a tile takes few registers of a thread, whatever tile_q and the head
// dim are: `tileRegisters`, or what a row a half-warp takes.
//
//===----------------------------------------------------------------------===//

#include "MergeRows.h"

#include "RowParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Two CTAs fit into a multiprocessor and hide each other's latency.
static constexpr int32_t mergeWarps = 8;
static constexpr int32_t tileRegisters = 16;

pipe::RoleAttr attn::mergeRole(MLIRContext *context) {
  return pipe::RoleAttr::get(context, StringAttr::get(context, "all"),
                             mergeWarps, /*replicas=*/1, /*regs=*/0);
}

/// The largest power of two that divides the rows and whose tile fits.
static int32_t rowsOfTurn(int32_t rows, int32_t cols) {
  int32_t fit = mergeWarps * 32 * tileRegisters / cols;
  return std::min<int32_t>(llvm::bit_floor<uint32_t>(fit), rows & -rows);
}

void attn::takeRowsInTurns(Block *record) {
  auto maps = record->getOps<RowMapOp>();
  auto partials = record->getOps<LoadPartialOp>();
  if (maps.empty() || partials.empty())
    return;
  RowMapOp rows = *maps.begin();
  TileType tile = (*partials.begin()).getTile().getType();
  int32_t turn = rowsOfTurn(tile.getRows(), tile.getCols());
  RowParts share{tile.getRows(), tile.getRows() / turn};
  if (share.parts == 1)
    return;

  OpBuilder b(rows->getNextNode());
  Location loc = rows.getLoc();
  auto constant = [&](int32_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  Value zero = constant(0), one = constant(1), size = constant(turn);
  Value up = arith::AddIOp::create(b, loc, rows.getNrows(), constant(turn - 1));
  Value turns = arith::DivUIOp::create(b, loc, up, size);
  auto loop = scf::ForOp::create(b, loc, zero, turns, one);
  Operation *yield = loop.getBody()->getTerminator();
  loop.getBody()->getOperations().splice(
      Block::iterator(yield), record->getOperations(),
      std::next(Block::iterator(loop)),
      Block::iterator(record->getTerminator()));
  for (Operation &op : *loop.getBody())
    share.retype(&op);
  b.setInsertionPointToStart(loop.getBody());
  auto slice = share.slice(b, loc, rows, loop.getInductionVar());
  rows.getResult().replaceAllUsesExcept(slice.getResult(), slice);
}
