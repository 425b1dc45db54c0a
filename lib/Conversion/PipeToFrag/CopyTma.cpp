//===- CopyTma.cpp - copies through tensor maps ---------------------------===//
//
//   attn.copy_kv %s, %k ...  -> frag.elect {
//                                 frag.mbar_expect %full[%pos] bytes 32768
//                                 frag.tma_load %map(row, head, batch) into
//                                   %ring[%pos] on %full[%pos] }
//
// A map's dimensions are those of the tensor behind the columns: the tokens of
// all requests of a ragged batch in one row of rows, else a row of them for each
// request.  A tile of packed heads is a box of its own: g heads of each token.
//
// Whole boxes come: rows past the request hold what lies there.  A mask or
// zero_rows makes them harmless.  Columns past the head dim are outside of the
// tensor and become 0; they count as bytes that came.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

/// Sectors that a miss brings into L2.
static constexpr int32_t promotion = 128;

FailureOr<Value> KernelLowering::tmap(attn::TensorType tensor,
                                      frag::RingType ring, int32_t pack,
                                      Operation *op) {
  bool query = tensor.getRole() == TensorRole::Query;
  StringRef name = query                                 ? "q"
                   : tensor.getRole() == TensorRole::Key ? "k"
                                                         : "v";
  Value &map = tmaps[name];
  if (map)
    return map;
  // A box is whole tokens, and the copy must write the whole slot.
  if (ring.getRows() % pack != 0)
    return op->emitOpError() << "copies " << ring.getRows()
                             << " rows, which pack " << pack
                             << " must divide";
  // Behind the columns: what a step of each coordinate means.
  SmallVector<StringRef> dims = {"dim", "token", "head", "batch"};
  SmallVector<int64_t> box = {frag::swizzleOf(ring).panelCols(),
                              ring.getRows() / pack, 1, 1};
  if (pack > 1) {
    dims.insert(dims.begin() + 1, "group");
    box.insert(box.begin() + 1, pack);
  }
  auto type = frag::TmapType::getChecked([&] { return op->emitOpError(); },
                                         b.getContext(), ArrayRef<int64_t>(box),
                                         ring.getElement(), ring.getSwizzle());
  if (!type)
    return failure();
  unsigned index = query ? 0 : name == "k" ? 1 : 2;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  map = frag::TmapOp::create(b, kernel.getLoc(), type, name,
                             int32_t(params.tensorMapOffset(index)),
                             b.getStrArrayAttr(dims), pack, promotion);
  return map;
}

void KernelLowering::loadBoxes(Value tmap, ValueRange coordinates,
                               const SlotTile &slot, const Landing &landing,
                               frag::CacheHint hint, Location loc) {
  auto ring = cast<frag::RingType>(slot.ring.getType());
  auto elect = frag::ElectOp::create(b, loc);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&elect.getBody());
  frag::MbarExpectOp::create(b, loc, landing.bars, landing.pos,
                             int32_t(ring.getSlotBytes()));
  frag::TmaLoadOp::create(b, loc, tmap, coordinates, slot.ring, slot.pos,
                          landing.bars, landing.pos,
                          frag::CacheHintAttr::get(b.getContext(), hint));
  frag::YieldOp::create(b, loc, ValueRange());
}

LogicalResult KernelLowering::copyTma(CopyQueryOp op, const SlotTile &slot,
                                      const Landing &landing) {
  RowsInfo &rows = rowMaps[op.getRows()];
  auto tensor = op.getTensor().getType();
  FailureOr<Value> map =
      tmap(tensor, cast<frag::RingType>(slot.ring.getType()), rows.pack, op);
  if (failed(map))
    return failure();
  Scalars s{b, op.getLoc()};
  Value zero = s.i32(0);
  bool ragged = tensor.getStorage() == Storage::Ragged;
  SmallVector<Value> coordinates;
  if (rows.pack > 1)
    coordinates.push_back(zero); // a tile begins with the first head of a group
  coordinates.push_back(s.add(rows.qBegin, s.divU(rows.row0, rows.pack)));
  coordinates.push_back(rows.head);
  coordinates.push_back(ragged ? zero : rows.request);
  // Read once: it should not push keys out of the cache.
  loadBoxes(*map, coordinates, slot, landing, frag::CacheHint::EvictFirst,
            op.getLoc());
  return success();
}

LogicalResult KernelLowering::copyTma(CopyKVOp op, const SlotTile &slot,
                                      const Landing &landing) {
  auto tensor = op.getTensor().getType();
  FailureOr<Value> map =
      tmap(tensor, cast<frag::RingType>(slot.ring.getType()), /*pack=*/1, op);
  if (failed(map))
    return failure();
  Scalars s{b, op.getLoc()};
  bool ragged = tensor.getStorage() == Storage::Ragged;
  Value coordinates[] = {s.add(at(op.getKvBegin()), at(op.getK0())),
                         at(op.getKvHead()),
                         ragged ? s.i32(0) : at(op.getRequest())};
  // Other tiles read the same keys.
  loadBoxes(*map, coordinates, slot, landing, frag::CacheHint::EvictLast,
            op.getLoc());
  return success();
}
