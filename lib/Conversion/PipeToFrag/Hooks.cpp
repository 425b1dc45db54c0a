//===- Hooks.cpp - hooks end in maps --------------------------------------===//
//
//   attn.apply_score %s, %rows, %k0, %scale             (hook: s + (k - q))
//     -> frag.map (%x = %S, %q = %positions) at (%row, %col) {
//          x * scale + (k0 + col - q)                    {nsw}
//        }
//
// Masks are in Masks.cpp, hooks on whole rows in VectorHooks.cpp.
//
// An argument that the hook does not read is not passed.  Runtime parameters
// are fields of the parameter struct, read once at the begin of the kernel; a
// table read clamps its indices into the extents and loads one element.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "attn/Analysis/InlineHook.h"

using namespace mlir;
using namespace attn;

static std::string tableField(ReadOp read, const Twine &field) {
  auto table = read.getTable().getDefiningOp<TableOp>();
  return ("table." + table.getName() + "." + field).str();
}

/// The index into [0, last].
static Value clamped(Scalars &s, Value index, Value last) {
  Value low = arith::MinSIOp::create(s.b, s.loc, index, last);
  return arith::MaxSIOp::create(s.b, s.loc, low, s.i32(0));
}

Value KernelLowering::readTable(ReadOp read, ValueRange indices, Scalars &s) {
  auto type = cast<TableType>(read.getTable().getType());
  Value element;
  for (auto [i, index] : llvm::enumerate(indices)) {
    Value extent = param(tableField(read, "extent" + Twine(i)), b.getI32Type());
    Value last = s.sub(extent, s.i32(1));
    Value inside = s.extU(clamped(s, index, last));
    element = element ? s.add(s.mul(element, s.extU(extent)), inside) : inside;
  }
  Value base = param(tableField(read, "data"),
                     frag::PtrType::get(b.getContext(), type.getElement()));
  return frag::LoadScalarOp::create(s.b, s.loc, type.getElement(), base,
                                    element);
}

Value KernelLowering::inlineAt(HookOp hook, ValueRange args, RowsInfo &rows,
                               Scalars &s) {
  HookReads reads;
  reads.param = [&](ParamOp op) -> FailureOr<Value> {
    return param(("param." + op.getName()).str(), op.getResult().getType());
  };
  reads.read = [&](ReadOp op, ValueRange indices) -> FailureOr<Value> {
    return readTable(op, indices, s);
  };
  reads.element = [&](ElementOp op, Value index) -> FailureOr<Value> {
    // Rows end where the tensor does, not where a padded tile does.
    auto dim =
        int32_t(cast<VectorType>(op.getVector().getType()).getDimSize(0));
    if (isPadded(dim) && index != args.back())
      index = clamped(s, index, s.i32(dim - 1));
    return Value(frag::ElementOp::create(s.b, s.loc, index));
  };
  reads.length = [&](LengthOp op) -> FailureOr<Value> {
    return op.getIsKv() ? rows.kvLen : rows.qLen;
  };
  FailureOr<Value> result = inlineHook(s.b, hook, args, reads);
  return succeeded(result) ? *result : Value();
}

bool attn::readsArgument(HookOp hook, unsigned arg) {
  return hook && !hook.getBody().front().getArgument(arg).use_empty();
}

LogicalResult KernelLowering::convert(ApplyScoreOp op) {
  HookOp hook = hookOf(HookKind::Score);
  RowsInfo &rows = rowMaps[op.getRows()];
  Value tile = at(op.getTile()), scale = at(op.getScale());
  Value k0 = firstKey(at(op.getK0()), tile, op.getLoc());
  SmallVector<Value> inputs = {tile};
  // Arguments of the hook: s, b, h, q, k.
  bool needHead = readsArgument(hook, 2) && rows.pack > 1,
       needPos = readsArgument(hook, 3);
  if (needHead)
    inputs.push_back(rows.queryHeads);
  if (needPos)
    inputs.push_back(rows.positions);
  bool ok = true;
  Value result =
      map(tile.getType(), inputs, op.getLoc(),
          [&](Scalars &s, ValueRange x, auto &yield) {
            Value score = s.mulF(x[0], scale);
            if (hook) {
              Value zero = s.i32(0);
              Value head = needHead ? x[1] : rows.head;
              Value position = needPos ? x[1 + needHead] : zero;
              Value key = s.addPositions(k0, x.back());
              Value out = inlineAt(
                  hook, {score, rows.request, head, position, key}, rows, s);
              ok &= bool(out);
              if (out)
                score = out;
            }
            yield.push_back(score);
          });
  mapping.map(op.getResult(), result);
  return success(ok);
}

LogicalResult KernelLowering::convert(ApplySinkOp op) {
  HookOp hook = hookOf(HookKind::Sink);
  if (!hook)
    return op.emitOpError("kernel has no sink hook");
  RowsInfo &rows = rowMaps[op.getRows()];
  SmallVector<Value> inputs;
  bool needHead = readsArgument(hook, 1) && rows.pack > 1;
  // A sink is of whole rows, which other threads hold than scores.
  if (needHead)
    inputs.push_back(
        role.groups == 1
            ? rows.queryHeads
            : queryHeads(rows,
                         vecType(rows.rows, b.getI32Type(),
                                 /*partial=*/false, Holding::Joined),
                         op.getLoc()));
  bool ok = true;
  Type type = convertType(op.getResult());
  Value result = map(
      type, inputs, op.getLoc(), [&](Scalars &s, ValueRange x, auto &yield) {
        Value head = needHead ? x[0] : rows.head;
        Value out = inlineAt(hook, {rows.request, head}, rows, s);
        ok &= bool(out);
        yield.push_back(out ? out : s.f32(0));
      });
  mapping.map(op.getResult(), result);
  return success(ok);
}
