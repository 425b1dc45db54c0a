//===- Stores.cpp - results and split partials in global memory -----------===//
//
//   attn.store %o lse %l, %rows   -> %off, %live = map at (%row) {64-bit
//   offsets}
//                                    frag.store (pack %o), %base, %off, %live
//   with epilogue = quad_transpose     (quad_transpose (pack %o)), ...
//                                    scf.if lse != 0 { frag.store_vec %l }
//
// Tiles may have columns that memory has not: stores leave them out.
//
// Row r of the tile is token (row0 + r) / pack of head * pack + (row0 + r) mod
// pack.  Offsets are worked out where they are used: they would hold two 64-bit
// registers a row over the whole loop otherwise.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

/// Of the offsets of rows and of which are live, for whole tiles.
std::array<Type, 2> KernelLowering::offsetTypes(const RowsInfo &rows) {
  auto type = [&](Type element) -> Type {
    return vecType(rows.rows, element, /*partial=*/false, Holding::Joined);
  };
  return {type(b.getI64Type()), type(b.getI1Type())};
}

std::pair<Value, Value>
KernelLowering::rowOffsets(RowsInfo &rows, StringRef tensor, Location loc) {
  Value batch = stride(tensor, "batch"), token = stride(tensor, "token"),
        head = stride(tensor, "head");
  Scalars outer{b, loc};
  // Numbers of requests, tokens and heads are not negative: without a sign to
  // extend a product of 64 bits is two instructions instead of five.
  Value firstHead = outer.mul(rows.head, outer.i32(rows.pack));
  Value origin = outer.add(outer.mul(outer.extU(rows.request), batch),
                           outer.mul(outer.extU(firstHead), head));
  // A warp that multiplies in its registers would hold the rows' numbers, which
  // masks read too, from before the loops over key blocks.
  Value row0 = rows.row0;
  if (role.unit == Unit::Mma)
    row0 = frag::OpaqueOp::create(b, loc, row0.getType(), row0);
  auto results =
      maps(offsetTypes(rows), {}, loc,
           [&](Scalars &s, ValueRange args, auto &yield) {
             Value row = rows.inTile(s, args.back());
             Value t = s.add(row0, row);
             Value number = s.add(rows.qBegin, s.divU(t, rows.pack));
             Value offset = s.add(origin, s.mul(s.extU(number), token));
             if (rows.pack > 1)
               offset =
                   s.add(offset, s.mul(s.extU(s.remU(t, rows.pack)), head));
             yield.push_back(offset);
             yield.push_back(s.cmp(arith::CmpIPredicate::slt, row, rows.nrows));
           });
  return {results[0], results[1]};
}

std::pair<Value, Value> KernelLowering::slotOffsets(RowsInfo &rows, Value slot,
                                                    int32_t width,
                                                    Location loc) {
  Scalars outer{b, loc};
  Value first = outer.mul(outer.extU(slot), outer.i64(rows.tileRows));
  auto results =
      maps(offsetTypes(rows), {}, loc,
           [&](Scalars &s, ValueRange args, auto &yield) {
             Value row = rows.inTile(s, args.back());
             yield.push_back(s.mul(s.add(first, s.extU(row)), s.i64(width)));
             yield.push_back(s.cmp(arith::CmpIPredicate::slt, row, rows.nrows));
           });
  return {results[0], results[1]};
}

LogicalResult KernelLowering::convert(StoreOp op) {
  Location loc = op.getLoc();
  RowsInfo &rows = rowMaps[op.getRows()];
  FailureOr<Value> whole = joinTile(op.getTile(), loc);
  if (failed(whole))
    return failure();
  Value tile = *whole;
  auto type = cast<frag::RegType>(tile.getType());
  Type element = op.getOutput().getType().getElement();
  if (element != type.getElement()) {
    tile = frag::PackOp::create(
        b, loc,
        regType(type.getRows(), type.getCols(), element, Holding::Joined),
        tile);
    // Eight neighbouring columns a lane: fewer and wider stores.
    if (kernel.getSchedule()->getEpilogue() == "quad_transpose" &&
        layoutName(Holding::Joined) != "row_c") {
      Type moved =
          regType(type.getRows(), type.getCols(), element, Holding::Transposed);
      if (!moved)
        return failure();
      tile = frag::QuadTransposeOp::create(b, loc, moved, tile);
    }
  }
  auto [offsets, live] = rowOffsets(rows, "o", loc);
  Value base = param("o", frag::PtrType::get(b.getContext(), element));
  frag::StoreOp::create(
      b, loc, tile, base, offsets, live,
      memoryCols(op.getOutput().getType().getDim(),
                 cast<frag::RegType>(tile.getType()).getCols()));
  if (!op.getRowLse())
    return success();
  Value lse = complete(op.getRowLse(), loc);
  Value lseBase =
      param("lse", frag::PtrType::get(b.getContext(), b.getF32Type()));
  Value address = param("lse", b.getI64Type());
  // Strides are declared outside the branch: the prologue dominates it.
  Scalars s{b, loc};
  Value wanted = s.cmp(arith::CmpIPredicate::ne, address, s.i64(0));
  auto ifOp = scf::IfOp::create(b, loc, wanted, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&ifOp.getThenRegion().front());
  auto [lseOffsets, lseLive] = rowOffsets(rows, "lse", loc);
  frag::StoreVecOp::create(b, loc, lse, lseBase, lseOffsets, lseLive);
  return success();
}

/// Offsets of m and of l of a slot's rows: [slot][2][rows of the tile].
std::array<Value, 2> KernelLowering::partialOffsets(RowsInfo &rows, Value slot,
                                                    Location loc) {
  Scalars outer{b, loc};
  Value first = outer.mul(outer.ext(slot), outer.i64(2 * rows.tileRows));
  Type type = offsetTypes(rows)[0];
  auto results = maps(
      {type, type}, {}, loc, [&](Scalars &s, ValueRange args, auto &yield) {
        Value row = s.add(first, s.extU(rows.inTile(s, args.back())));
        yield.push_back(row);
        yield.push_back(s.add(row, s.i64(rows.tileRows)));
      });
  return {results[0], results[1]};
}

LogicalResult KernelLowering::convert(StorePartialOp op) {
  Location loc = op.getLoc();
  RowsInfo &rows = rowMaps[op.getRows()];
  Value slot = at(op.getSlot());
  Type ptr = frag::PtrType::get(b.getContext(), b.getF32Type());
  auto parts = op.getParts();
  bool softmax = parts.size() == 3;
  FailureOr<State> whole = joinGroups(parts[0], softmax ? parts[1] : Value(),
                                      softmax ? parts[2] : Value(),
                                      softmax ? at(op.getC()) : Value(), loc);
  if (failed(whole))
    return failure();
  // Partials have the columns of the output, whoever wrote them.
  int32_t cols = cast<TileType>(parts[0].getType()).getCols();
  Value tile = softmax ? zeroEmptyRows(whole->o, whole->l, loc) : whole->o;
  auto [offsets, live] = slotOffsets(rows, slot, cols, loc);
  frag::StoreOp::create(
      b, loc, tile, param("partial_o", ptr), offsets, live,
      memoryCols(cols, cast<frag::RegType>(tile.getType()).getCols()));
  if (!softmax)
    return success();
  auto [mOffsets, lOffsets] = partialOffsets(rows, slot, loc);
  Value base = param("partial_rows", ptr);
  frag::StoreVecOp::create(b, loc, whole->m, base, mOffsets, live);
  frag::StoreVecOp::create(b, loc, whole->l, base, lOffsets, live);
  return success();
}

LogicalResult KernelLowering::convert(LoadPartialOp op) {
  Location loc = op.getLoc();
  RowsInfo &rows = rowMaps[op.getRows()];
  Value slot = at(op.getSlot());
  Type ptr = frag::PtrType::get(b.getContext(), b.getF32Type());
  Type type = convertType(op.getO());
  if (!type)
    return failure();
  int32_t cols = op.getO().getType().getCols();
  auto [offsets, live] = slotOffsets(rows, slot, cols, loc);
  mapping.map(op.getO(),
              frag::LoadOp::create(
                  b, loc, type, param("partial_o", ptr), offsets, live,
                  memoryCols(cols, cast<frag::RegType>(type).getCols())));
  if (!op.getM())
    return success();
  Type vec = vecType(rows.rows, b.getF32Type());
  auto [mOffsets, lOffsets] = partialOffsets(rows, slot, loc);
  Value base = param("partial_rows", ptr);
  Value m = frag::LoadVecOp::create(b, loc, vec, base, mOffsets, live);
  // Dead rows are read as 0.
  mapping.map(op.getL(),
              frag::LoadVecOp::create(b, loc, vec, base, lOffsets, live));
  mapping.map(
      op.getM(),
      map(vec, {m, live}, loc, [](Scalars &s, ValueRange x, auto &yield) {
        yield.push_back(s.select(x[1], x[0], s.negInf()));
      }));
  return success();
}
