//===- RowParts.cpp - a share of the rows of an item ----------------------===//
//
// See RowParts.h.
//
//===----------------------------------------------------------------------===//

#include "RowParts.h"

#include "attn/Dialect/Pipe/IR/Pipe.h"

using namespace mlir;
using namespace attn;

Type RowParts::of(Type type) const {
  if (auto tile = dyn_cast<TileType>(type); tile && tile.getRows() == rows)
    return TileType::get(type.getContext(), rows / parts, tile.getCols(),
                         tile.getElement());
  if (auto vec = dyn_cast<RowVecType>(type); vec && vec.getRows() == rows)
    return RowVecType::get(type.getContext(), rows / parts, vec.getElement());
  return type;
}

void RowParts::retype(Operation *top) const {
  top->walk([&](Operation *op) {
    if (isa<pipe::WaitOp, pipe::AcquireOp>(op))
      return;
    for (Value result : op->getResults())
      result.setType(of(result.getType()));
    for (Region &region : op->getRegions())
      for (BlockArgument arg : region.getArguments())
        arg.setType(of(arg.getType()));
  });
}

SliceRowsOp RowParts::slice(OpBuilder &b, Location loc, RowMapOp map,
                            Value rank) const {
  Type type = RowsType::get(b.getContext(), rows / parts);
  return SliceRowsOp::create(b, loc, type, map, rank, parts);
}
