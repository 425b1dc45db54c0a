//===- Masks.cpp - a mask is two limits a row, or its hook an element -----===//
//
//   attn.apply_mask neg_inf %s, %rows, %k0, %kv1        (hook: q >= k)
//     -> %hi = frag.map (%q = %positions) { clamp(min(kv1, q + 1) - k0) }
//        frag.keep_columns %S to %hi else -inf
//
// A mask with a closed form is bounds on k, so a row of a block keeps the columns
// between two limits: one comparison an element where the hook has many.  Limits
// are made in 64 bits, like the planner's bounds.  Others are inlined:
//
//     -> frag.map (%x = %S, %q = %positions) at (%row, %col) {
//          select (k0 + col < kv1 and hook(q, k0 + col)), x, -inf
//        }
//
// Invariant: both forms give the same tile.  Bounds are the mask only while its
// sums stay in 32 bits, so the first form is for masks of which that holds for
// all lengths and parameters; the hook wraps as it is written.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "attn/Analysis/EncodeHook.h"
#include "attn/Mask/ClosedForm.h"

using namespace mlir;
using namespace attn;

namespace {
/// A mask as bounds, and the names of the parameters in them.
struct Limits {
  mask::ClosedForm form;
  std::vector<std::string> params;
};
} // namespace

static std::optional<Limits> limitsOf(HookOp hook) {
  Limits limits;
  if (!hook)
    return limits;
  mask::HookProgram program;
  std::string error;
  if (!encodeHook(hook, program, error) ||
      !mask::closedForm(program, limits.form) ||
      !mask::alwaysFitsI32(limits.form))
    return std::nullopt;
  auto variant = hook->getParentOfType<VariantOp>();
  for (ParamOp param : variant.getBody().getOps<ParamOp>())
    limits.params.push_back(param.getName().str());
  return limits;
}

LogicalResult KernelLowering::maskElements(ApplyMaskOp op, HookOp hook) {
  RowsInfo &rows = rowMaps[op.getRows()];
  Value tile = at(op.getTile()), kv1 = at(op.getKv1());
  Value k0 = firstKey(at(op.getK0()), tile, op.getLoc());
  SmallVector<Value> inputs = {tile};
  // Arguments of the hook: b, h, q, k.
  bool needHead = readsArgument(hook, 1) && rows.pack > 1,
       needPos = readsArgument(hook, 2);
  if (needHead)
    inputs.push_back(rows.queryHeads);
  if (needPos)
    inputs.push_back(rows.positions);
  bool ok = true;
  Value result =
      map(tile.getType(), inputs, op.getLoc(),
          [&](Scalars &s, ValueRange x, auto &yield) {
            Value key = s.add(k0, x.back());
            Value visible = s.cmp(arith::CmpIPredicate::slt, key, kv1);
            Value zero = s.i32(0);
            Value head = needHead ? x[1] : rows.head;
            Value position = needPos ? x[1 + needHead] : zero;
            Value out =
                inlineAt(hook, {rows.request, head, position, key}, rows, s);
            ok &= bool(out);
            if (out)
              visible = arith::AndIOp::create(s.b, s.loc, visible, out);
            Value fill =
                op.getFill() == MaskFill::NegInf ? s.negInf() : s.f32(0);
            yield.push_back(s.select(visible, x[0], fill));
          });
  mapping.map(op.getResult(), result);
  return success(ok);
}

/// The least of the upper bounds and kv1, or the greatest of the lower bounds, as
/// a column of the block.
Value KernelLowering::columnLimit(ApplyMaskOp op, ArrayRef<mask::Bound> bounds,
                                  ArrayRef<std::string> params, bool upper) {
  RowsInfo &rows = rowMaps[op.getRows()];
  Location loc = op.getLoc();
  Value tile = at(op.getTile()), kv1 = at(op.getKv1());
  Value k0 = firstKey(at(op.getK0()), tile, loc);
  int32_t cols = cast<frag::RegType>(tile.getType()).getCols();
  bool needPos = llvm::any_of(bounds, [&](const mask::Bound &bound) {
    return bound.isUpper == upper && bound.qCoeff != 0;
  });
  Scalars outer{b, loc};
  // What does not depend on the row.
  Value first = outer.ext(k0);
  SmallVector<std::pair<Value, bool>> terms; // and whether q is added
  if (upper)
    terms.push_back({outer.sub(outer.ext(kv1), first), false});
  for (const mask::Bound &bound : bounds) {
    if (bound.isUpper != upper)
      continue;
    Value sum = outer.sub(outer.i64(bound.constant + upper), first);
    auto add = [&](int64_t coeff, Value x) {
      if (coeff)
        sum = outer.add(sum, outer.mul(outer.i64(coeff), outer.ext(x)));
    };
    for (const mask::ParamTerm &term : bound.params)
      add(term.coeff, param("param." + params[term.index], b.getI32Type()));
    add(bound.qLenCoeff, rows.qLen);
    add(bound.kvLenCoeff, rows.kvLen);
    terms.push_back({sum, bound.qCoeff != 0});
  }
  SmallVector<Value> inputs;
  if (needPos)
    inputs.push_back(rows.positions);
  return map(vecType(rows.rows, b.getI32Type()), inputs, loc,
             [&](Scalars &s, ValueRange x, auto &yield) {
               Value limit;
               for (auto [sum, withRow] : terms) {
                 Value term = withRow ? s.add(sum, s.ext(x[0])) : sum;
                 if (!limit)
                   limit = term;
                 else if (upper)
                   limit = arith::MinSIOp::create(s.b, s.loc, limit, term);
                 else
                   limit = arith::MaxSIOp::create(s.b, s.loc, limit, term);
               }
               limit = arith::MaxSIOp::create(s.b, s.loc, limit, s.i64(0));
               limit = arith::MinSIOp::create(s.b, s.loc, limit, s.i64(cols));
               yield.push_back(arith::TruncIOp::create(
                   s.b, s.loc, s.b.getI32Type(), limit));
             });
}

LogicalResult KernelLowering::convert(ApplyMaskOp op) {
  HookOp hook = kernel.getVariant()
                    ? kernel.getVariant().getHook(HookKind::Mask)
                    : HookOp();
  std::optional<Limits> limits = limitsOf(hook);
  if (!limits)
    return maskElements(op, hook);
  ArrayRef<mask::Bound> bounds = limits->form.bounds;
  bool hasLower = llvm::any_of(
      bounds, [](const mask::Bound &bound) { return !bound.isUpper; });
  Value lo, hi = columnLimit(op, bounds, limits->params, /*upper=*/true);
  if (hasLower)
    lo = columnLimit(op, bounds, limits->params, /*upper=*/false);
  Scalars s{b, op.getLoc()};
  Value fill = op.getFill() == MaskFill::NegInf ? s.negInf() : s.f32(0);
  mapping.map(op.getResult(),
              frag::KeepColumnsOp::create(b, op.getLoc(), at(op.getTile()), lo,
                                          hi, fill));
  return success();
}
