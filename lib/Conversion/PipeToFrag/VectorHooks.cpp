//===- VectorHooks.cpp - hooks on whole rows ------------------------------===//
//
//   attn.rewrite_query %slot, %rows       (hook: x[i] c - x[i + d / 2] s)
//     -> frag.rewrite_rows %ring[%pos] from %first to %live at (%row, %col) {
//          %a = frag.element %col
//          %b = frag.element %col + d / 2 ...
//        }
//        barrier
//   attn.transform_rows output %tile      -> frag.rewrite_tile %tile
//
// Who meets behind rewritten rows: a CTA that is one role at its own barrier, once
// for a run of slots; a replica that has rewritten its rows of Q on its warpgroup's;
// all replicas, which share the rows of K and V, on one of their own.  wgmma reads
// by the other proxy, so in kernels with roles a fence stands in front.
//
// Invariant: rows past the item's or the request's end are not touched.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

static constexpr int32_t warpSize = 32;

HookOp KernelLowering::hookOf(HookKind kind) {
  VariantOp variant = kernel.getVariant();
  return variant ? variant.getHook(kind) : HookOp();
}

/// Head and position of row t of the request.
static std::pair<Value, Value> headAndPosition(Scalars &s, RowsInfo &rows,
                                               Value t) {
  Value head = rows.head;
  if (rows.pack > 1)
    head = s.add(s.mul(head, s.i32(rows.pack)), s.remU(t, rows.pack));
  return {head, s.add(s.divU(t, rows.pack), s.sub(rows.kvLen, rows.qLen))};
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::convert(RewriteQueryOp op) {
  RowsInfo rows = rowMaps[op.getRows()];
  Scalars s{b, op.getLoc()};
  Value begin = rows.first ? rows.first : s.i32(0);
  Value end = s.add(begin, s.i32(rows.rows));
  end = arith::MinSIOp::create(b, op.getLoc(), end, rows.nrows);
  auto place = [&](Scalars &s, Value row) -> Place {
    auto [head, position] = headAndPosition(s, rows, s.add(rows.row0, row));
    return {rows.request, head, position};
  };
  if (failed(rewriteRows(op, op.getSlot(), HookKind::Query, rows, begin, end,
                         place)))
    return failure();
  return meetBehindRewrite(op, op.getSlot(), role.voteBarrier, /*all=*/false);
}

LogicalResult KernelLowering::convert(RewriteKVOp op) {
  RowsInfo lengths;
  lengths.qLen = at(op.getQLen());
  lengths.kvLen = at(op.getKvLen());
  Value k0 = at(op.getK0()), request = at(op.getRequest()),
        head = at(op.getKvHead());
  Scalars s{b, op.getLoc()};
  auto tile =
      cast<TileType>(cast<pipe::SlotType>(op.getSlot().getType()).getPayload());
  int32_t replicas = launched.empty() ? 1 : role.replicas();
  int32_t share = int32_t(llvm::divideCeil(tile.getRows(), replicas));
  Value begin = replicas > 1 ? s.mul(role.rank, s.i32(share)) : s.i32(0);
  Value last = s.add(begin, s.i32(share));
  if (share * replicas > tile.getRows())
    last = arith::MinSIOp::create(b, op.getLoc(), last, s.i32(tile.getRows()));
  Value end =
      arith::MinSIOp::create(b, op.getLoc(), last, s.sub(at(op.getKv1()), k0));
  auto place = [&](Scalars &s, Value row) -> Place {
    return {request, head, s.add(k0, row)};
  };
  if (failed(rewriteRows(op, op.getSlot(), op.getKind(), lengths, begin, end,
                         place)))
    return failure();
  return meetBehindRewrite(
      op, op.getSlot(), replicas > 1 ? role.rewriteBarrier : role.voteBarrier,
      /*all=*/true);
}

LogicalResult
KernelLowering::rewriteRows(Operation *op, Value slot, HookKind kind,
                            RowsInfo &lengths, Value begin, Value end,
                            function_ref<Place(Scalars &, Value)> place) {
  HookOp hook = hookOf(kind);
  if (!hook)
    return op->emitOpError()
           << "kernel has no " << stringifyHookKind(kind) << " hook";
  auto tile = slots.find(slot);
  if (tile == slots.end() || !slot.getDefiningOp<pipe::WaitOp>())
    return op->emitOpError("slot does not come from pipe.wait");
  bool ok = true;
  int32_t dim =
      cast<TileType>(cast<pipe::SlotType>(slot.getType()).getPayload())
          .getCols();
  frag::RewriteRowsOp::create(
      b, op->getLoc(), tile->second.ring, tile->second.pos, begin, end,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        Scalars s{inner, loc};
        Place at = place(s, args[0]);
        Value out =
            inlineAt(hook, {Value(), at.request, at.head, at.position, args[1]},
                     lengths, s);
        ok = bool(out);
        Value zero = s.f32(0);
        // Columns that only the tile has stay 0.
        if (ok && isPadded(dim))
          out = s.select(s.cmp(arith::CmpIPredicate::slt, args[1], s.i32(dim)),
                         out, zero);
        frag::YieldOp::create(inner, loc, ok ? out : zero);
      });
  return success(ok);
}

/// `barrier`: the first one of those who meet, 0 if they have none yet.
LogicalResult KernelLowering::meetBehindRewrite(Operation *op, Value slot,
                                                int32_t &barrier, bool all) {
  Location loc = op->getLoc();
  if (launched.empty()) {
    // The last of a run of rewrites meets for all of them.
    if (!isa<RewriteQueryOp, RewriteKVOp>(op->getNextNode()))
      frag::CtaSyncOp::create(b, loc);
  } else {
    bool own = !all || role.replicas() == 1;
    if (barrier == 0 &&
        failed(nameBarriers(op, barrier, own ? role.replicas() : 1)))
      return failure();
    frag::FenceOp::create(b, loc, frag::FenceKind::ProxyAsyncShared);
    frag::BarrierSyncOp::create(b, loc, barrier, own ? role.rank : Value(),
                                role.warps * warpSize *
                                    (own ? 1 : role.replicas()));
  }
  auto wait = slot.getDefiningOp<pipe::WaitOp>();
  return takePayload(wait, slots.lookup(slot));
}

//===----------------------------------------------------------------------===//
// The output
//===----------------------------------------------------------------------===//

/// Rows through which the role's threads give each other the elements of a tile.
Value KernelLowering::rowScratch(frag::RegType tile) {
  if (!scratch) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prologueEnd);
    int32_t rows =
        frag::RewriteTileOp::rowsAtATime(tile) * role.warps * role.replicas();
    auto type = frag::RingType::getChecked(
        [&] { return kernel.emitError(); }, b.getContext(), rows,
        tile.getCols(), tile.getElement(),
        int32_t(layout::Swizzle::tightest(4 * unsigned(tile.getCols()))),
        /*slots=*/1);
    if (!type)
      return {};
    scratch = frag::SmemOp::create(b, kernel.getLoc(), type, "rows",
                                   /*offset=*/-1);
  }
  return scratch;
}

LogicalResult KernelLowering::convert(TransformRowsOp op) {
  if (op.getKind() != HookKind::Output)
    return op.emitOpError()
           << stringifyHookKind(op.getKind())
           << " of a tile outside of a slot is not built for level L3";
  HookOp hook = hookOf(HookKind::Output);
  if (!hook)
    return op.emitOpError() << "kernel has no output hook";
  RowsInfo &rows = rowMaps[op.getRows()];
  FailureOr<Value> tile = joinTile(op.getTile(), op.getLoc());
  if (failed(tile))
    return failure();
  auto type = cast<frag::RegType>(tile->getType());
  // What an element reads of others goes through shared memory.
  Value through;
  Value own = hook.getBody().front().getArguments().back();
  for (ElementOp read : hook.getBody().front().getOps<ElementOp>())
    if (read.getIndex() != own && !through && !(through = rowScratch(type)))
      return failure();
  bool ok = true;
  auto made = frag::RewriteTileOp::create(
      b, op.getLoc(), *tile, through,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        Scalars s{inner, loc};
        Value t = s.add(rows.row0, rows.inTile(s, args[0]));
        auto [head, position] = headAndPosition(s, rows, t);
        Value out = inlineAt(
            hook, {Value(), rows.request, head, position, args[1]}, rows, s);
        ok = bool(out);
        frag::YieldOp::create(inner, loc, ok ? out : s.f32(0));
      });
  mapping.map(op.getResult(), made.getResult());
  return success(ok);
}
