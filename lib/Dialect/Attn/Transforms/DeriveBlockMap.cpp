//===- DeriveBlockMap.cpp - attn-derive-block-map -------------------------===//
//
// From the mask hook, by the encoding that the planner reads as well:
//
//   no mask                      closed [full, partial], no bounds
//   q >= k                       closed [full, partial], k <= q
//   q >= k and q - k < window    closed [partial, full, partial],
//                                k <= q, k >= q - window + 1
//   doc[q] == doc[k]             opaque, and a remark that says why
//
// Keys past the slice count as masked, so the last class is partial in all.
//
// Invariant: a closed map is exact where no sum of the mask leaves i32, see
// attn/Mask/ClosedForm.h.
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/EncodeHook.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Mask/ClosedForm.h"

namespace attn {
#define GEN_PASS_DEF_ATTNDERIVEBLOCKMAP
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Positions up to this must not make a mask's sums wrap.
static constexpr int32_t longestUseful = 1 << 24;

namespace {

/// Larger numbers are not analysed: attn-expand-segments sums in 64 bits and
/// this leaves room for 2^15 terms.
constexpr int64_t maxCoefficient = int64_t(1) << 16;
constexpr int64_t maxConstant = (int64_t(1) << 31) - 1;

bool small(int64_t v, int64_t limit) { return v >= -limit && v <= limit; }

/// Null with a reason if a number is out of range.
BoundAttr toAttr(MLIRContext *context, const attn::mask::Bound &bound,
                 ArrayRef<StringAttr> params, std::string &reason) {
  bool fits = small(bound.constant, maxConstant) &&
              small(bound.qLenCoeff, maxCoefficient) &&
              small(bound.kvLenCoeff, maxCoefficient);
  SmallVector<NamedAttribute> terms;
  Type i32 = IntegerType::get(context, 32);
  for (const attn::mask::ParamTerm &term : bound.params) {
    fits &= small(term.coeff, maxCoefficient);
    terms.emplace_back(params[term.index], IntegerAttr::get(i32, term.coeff));
  }
  if (!fits) {
    reason = "a coefficient is above " + std::to_string(maxCoefficient);
    return {};
  }
  return BoundAttr::get(context,
                        bound.isUpper ? BoundKind::Upper : BoundKind::Lower,
                        bound.qCoeff, bound.constant, bound.qLenCoeff,
                        bound.kvLenCoeff, DictionaryAttr::get(context, terms));
}

std::string whyNotClosed(HookOp mask) {
  std::string reason = "not a conjunction of bounds on k";
  mask.walk([&](ReadOp read) {
    if (auto table = read.getTable().getDefiningOp<TableOp>())
      reason = ("reads table \"" + table.getName() + "\"").str();
  });
  return reason;
}

class Deriver {
public:
  Deriver(KernelOp kernel, VariantOp variant)
      : kernel(kernel), variant(variant), context(kernel.getContext()) {}

  /// Null after an error.
  BlockMapAttr run();

private:
  BlockMapAttr closed(ArrayRef<BoundAttr> bounds) {
    SmallVector<BlockClass> classes{BlockClass::Full, BlockClass::Partial};
    for (BoundAttr bound : bounds)
      if (bound.getKind() == BoundKind::Lower && classes.size() == 2)
        classes.insert(classes.begin(), BlockClass::Partial);
    return BlockMapAttr::get(context, MapForm::Closed, classes, bounds);
  }
  BlockMapAttr opaque(Location loc, const Twine &reason) {
    emitRemark(loc) << "mask has no closed form: " << reason
                    << "; its blocks are known when a batch is planned";
    return BlockMapAttr::get(
        context, MapForm::Opaque,
        {BlockClass::Partial, BlockClass::Full, BlockClass::Partial}, {});
  }

  KernelOp kernel;
  VariantOp variant;
  MLIRContext *context;
};

} // namespace

BlockMapAttr Deriver::run() {
  HookOp mask = variant.getHook(HookKind::Mask);
  if (!mask)
    return closed({});
  std::string error;
  attn::mask::HookProgram program;
  if (!encodeHook(mask, program, error)) {
    mask.emitOpError() << error;
    return {};
  }
  attn::mask::ClosedForm form;
  if (!attn::mask::closedForm(program, form))
    return opaque(mask.getLoc(), whyNotClosed(mask));
  // Sums without parameters are known: where they wrap at any useful length the
  // bounds would not be the mask.  Those with parameters are checked at launch.
  if (program.signature().params.empty() &&
      !attn::mask::fitsI32(form, nullptr, longestUseful, longestUseful))
    return opaque(mask.getLoc(), "its sums leave 32-bit integers");
  SmallVector<StringAttr> params;
  for (ParamOp param : variant.getBody().getOps<ParamOp>())
    params.push_back(param.getNameAttr());
  SmallVector<BoundAttr> bounds;
  for (const attn::mask::Bound &bound : form.bounds) {
    BoundAttr attr = toAttr(context, bound, params, error);
    if (!attr)
      return opaque(mask.getLoc(), error);
    if (!llvm::is_contained(bounds, attr))
      bounds.push_back(attr);
  }
  return closed(bounds);
}

namespace {

struct DeriveBlockMap
    : public attn::impl::AttnDeriveBlockMapBase<DeriveBlockMap> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getMergeOfAttr())
      return; // takes the map of the kernel whose partials it merges
    VariantOp variant = kernel.getVariant();
    if (!variant) {
      kernel.emitOpError()
          << "has no variant of its own; run attn-resolve-variant first";
      return signalPassFailure();
    }
    BlockMapAttr map = Deriver(kernel, variant).run();
    if (!map)
      return signalPassFailure();
    kernel.setBlockMapAttr(map);
  }
};

} // namespace
