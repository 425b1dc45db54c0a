//===- MergeRows.cpp - merge records in turns of few rows -----------------===//
//
// A merge holds two tiles in registers, the sum so far and the next partial.
// No product asks for many rows at once, so it takes as many as are cheap:
//
//   %rows = attn.row_map ... rows %nrows : !attn.rows<128>
//   load, merge, store tile<128x128xf32>
//   ->
//   scf.for %turn = 0 to ceil(%nrows / 32) {
//     %some = attn.slice_rows %rows[%turn] of 4
//     load, merge, store tile<32x128xf32>
//   }
//
// Rows behind the last live one cost nothing.
//
// Invariant: a tile takes few registers of a thread, whatever tile_q and the head
// dim are: `tileRegisters`, or what four rows a warp take.
//
//===----------------------------------------------------------------------===//

#include "MergeRows.h"

#include "RowParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Two tiles, their rows and addresses in so many registers that three CTAs fit
/// into a multiprocessor and hide each other's latency.
static constexpr int32_t maxWarps = 8;
static constexpr int32_t tileRegisters = 16;
static constexpr int32_t threadRegisters = 80;
/// What a warp holds at least, so that its accesses are wide.
static constexpr int32_t warpRows = 4;

/// How a record's rows are taken.
struct MergeShape {
  int32_t warps; ///< a power of two that divides the rows
  int32_t turn;  ///< rows; likewise
};

static MergeShape shapeOf(TileType tile) {
  int32_t power = tile.getRows() & -tile.getRows();
  int32_t warps = std::clamp(power / warpRows, 1, maxWarps);
  uint32_t fit = 32 * warps * tileRegisters / tile.getCols();
  fit = std::max<uint32_t>(fit, warps * warpRows);
  return {warps, std::min<int32_t>(llvm::bit_floor(fit), power)};
}

FailureOr<pipe::RoleAttr> attn::takeRowsInTurns(ForMergeOp merge) {
  Block *record = &merge.getBody().front();
  SmallVector<RowMapOp> maps(record->getOps<RowMapOp>());
  SmallVector<LoadPartialOp> partials(record->getOps<LoadPartialOp>());
  if (maps.size() != 1 || partials.empty())
    return merge.emitError()
           << "pipe-assign-roles needs 1 row map and a partial in a merge but "
              "finds "
           << maps.size() << " and " << partials.size();
  RowMapOp rows = maps[0];
  TileType tile = partials[0].getO().getType();
  MergeShape shape = shapeOf(tile);
  MLIRContext *context = merge.getContext();
  auto role =
      pipe::RoleAttr::get(context, StringAttr::get(context, "all"), shape.warps,
                          /*replicas=*/1, threadRegisters);
  RowParts share{tile.getRows(), tile.getRows() / shape.turn};
  if (share.parts == 1)
    return role;

  OpBuilder b(rows->getNextNode());
  Location loc = rows.getLoc();
  auto constant = [&](int32_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  Value zero = constant(0), one = constant(1), size = constant(shape.turn);
  Value up =
      arith::AddIOp::create(b, loc, rows.getNrows(), constant(shape.turn - 1));
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
  return role;
}
