//===- CopyAsync.cpp - copies by cp.async ---------------------------------===//
//
//   attn.copy_kv %s, %k ...  -> frag.cp_async %base into %ring[%pos] row (%r) {
//                                 origin + r * token stride, r < kv1 - k0 }
//
// Every thread of the role copies its chunks; a row that is not there becomes 0, and so
// do the columns that a slot has more than the tensor.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

/// The redo of a tile is a loop around the loops over key blocks.  Addresses of
/// its first copies do not change from turn to turn, and kept they would take
/// some forty registers that those loops need.
Value KernelLowering::inThisTurn(Operation *op, Value value) {
  auto loop = op->getParentOfType<LoopLikeOpInterface>();
  if (!isa_and_nonnull<scf::WhileOp>(loop) ||
      !loop->getParentOfType<scf::WhileOp>())
    return value;
  return frag::OpaqueOp::create(b, op->getLoc(), value.getType(), value);
}

LogicalResult KernelLowering::copyAsync(CopyQueryOp op, const SlotTile &slot) {
  RowsInfo &rows = rowMaps[op.getRows()];
  auto ring = cast<frag::RingType>(slot.ring.getType());
  Value base =
      param("q", frag::PtrType::get(b.getContext(), ring.getElement()));
  Value batch = stride("q", "batch"), token = stride("q", "token"),
        head = stride("q", "head");
  Value row0 = inThisTurn(op, rows.row0);
  Value nrows = inThisTurn(op, rows.nrows);
  Scalars outer{b, op.getLoc()};
  Value origin = outer.add(outer.mul(outer.ext(rows.request), batch),
                           outer.mul(outer.ext(rows.qBegin), token));
  frag::CpAsyncOp::create(
      b, op.getLoc(), base, slot.ring, slot.pos,
      memoryCols(op.getTensor().getType().getDim(), ring.getCols()),
      [&](OpBuilder &inner, Location loc, Value row) {
        Scalars s{inner, loc};
        Value t = s.add(row0, row);
        Value h =
            s.add(s.mul(rows.head, s.i32(rows.pack)), s.remU(t, rows.pack));
        Value offset =
            s.add(s.add(origin, s.mul(s.extU(s.divU(t, rows.pack)), token)),
                  s.mul(s.ext(h), head));
        Value live = s.cmp(arith::CmpIPredicate::slt, row, nrows);
        frag::YieldOp::create(inner, loc, ValueRange{offset, live});
      });
  return success();
}

LogicalResult KernelLowering::copyAsync(CopyKVOp op, const SlotTile &slot) {
  auto tensor = op.getTensor().getType();
  StringRef name = tensor.getRole() == TensorRole::Key ? "k" : "v";
  auto ring = cast<frag::RingType>(slot.ring.getType());
  Value base =
      param(name, frag::PtrType::get(b.getContext(), ring.getElement()));
  Value batch = stride(name, "batch"), token = stride(name, "token"),
        head = stride(name, "head");
  Value k0 = inThisTurn(op, at(op.getK0())), kv1 = at(op.getKv1());
  Scalars outer{b, op.getLoc()};
  Value first = outer.add(outer.ext(at(op.getKvBegin())), outer.ext(k0));
  Value origin =
      outer.add(outer.add(outer.mul(outer.ext(at(op.getRequest())), batch),
                          outer.mul(outer.ext(at(op.getKvHead())), head)),
                outer.mul(first, token));
  Value valid = outer.sub(kv1, k0);
  frag::CpAsyncOp::create(
      b, op.getLoc(), base, slot.ring, slot.pos,
      memoryCols(op.getTensor().getType().getDim(), ring.getCols()),
      [&](OpBuilder &inner, Location loc, Value row) {
        Scalars s{inner, loc};
        Value offset = s.add(origin, s.mul(s.extU(row), token));
        Value live = s.cmp(arith::CmpIPredicate::slt, row, valid);
        frag::YieldOp::create(inner, loc, ValueRange{offset, live});
      });
  return success();
}
