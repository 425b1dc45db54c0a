//===- AttnOps.cpp - kernels, attention, merge ----------------------------===//
//
//   attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32)
//       attributes {target = "cpu"} { ... attn.return ... }
//
// Invariant: shapes of an attention fit each other, and a kernel has at most
// one tensor of each role, one plan and one scale.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

VariantOp KernelOp::getVariant() {
  auto variants = getBody().front().getOps<VariantOp>();
  return variants.empty() ? VariantOp() : *variants.begin();
}

BlockArgument KernelOp::getTensor(TensorRole role) {
  for (BlockArgument argument : getBody().getArguments())
    if (auto tensor = dyn_cast<attn::TensorType>(argument.getType()))
      if (tensor.getRole() == role)
        return argument;
  return {};
}

BlockArgument KernelOp::getPlan() {
  for (BlockArgument argument : getBody().getArguments())
    if (isa<PlanType>(argument.getType()))
      return argument;
  return {};
}

BlockArgument KernelOp::getScale() {
  for (BlockArgument argument : getBody().getArguments())
    if (argument.getType().isF32())
      return argument;
  return {};
}

int32_t KernelOp::getGroup() {
  BlockArgument query = getTensor(TensorRole::Query);
  BlockArgument key = getTensor(TensorRole::Key);
  if (!query || !key)
    return 1;
  return cast<attn::TensorType>(query.getType()).getHeads() /
         cast<attn::TensorType>(key.getType()).getHeads();
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn set) {
  static constexpr StringRef names[] = {"q", "k", "v", "o", "lse"};
  for (BlockArgument argument : region.getArguments()) {
    if (auto tensor = dyn_cast<attn::TensorType>(argument.getType()))
      set(argument, names[unsigned(tensor.getRole())]);
    else
      set(argument, isa<PlanType>(argument.getType()) ? "plan" : "scale");
  }
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(parser.parseSymbolName(name, getSymNameAttrName(result.name),
                                        result.attributes) ||
                 parser.parseArgumentList(arguments,
                                          AsmParser::Delimiter::Paren,
                                          /*allowType=*/true) ||
                 parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(
      getBody().getArguments(), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getSymNameAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult KernelOp::verify() {
  unsigned roles = 0, plans = 0, scales = 0;
  for (BlockArgument argument : getBody().getArguments()) {
    Type type = argument.getType();
    if (auto tensor = dyn_cast<attn::TensorType>(type)) {
      unsigned bit = 1u << unsigned(tensor.getRole());
      if (roles & bit)
        return emitOpError("has two tensors of role ")
               << stringifyTensorRole(tensor.getRole());
      roles |= bit;
    } else if (isa<PlanType>(type)) {
      ++plans;
    } else if (type.isF32()) {
      ++scales;
    } else {
      return emitOpError("argument ")
             << argument.getArgNumber()
             << " must be a tensor, the scale (f32) or the plan, got " << type;
    }
  }
  if (plans > 1 || scales > 1)
    return emitOpError("has at most one plan and one scale, got ")
           << plans << " and " << scales;
  if (!llvm::hasNItemsOrLess(getBody().front().getOps<VariantOp>(), 1))
    return emitOpError("has more than one variant");
  if (!llvm::hasNItemsOrLess(getBody().front().getOps<AttentionOp>(), 1))
    return emitOpError("has more than one attention");
  if (getBody().front().empty() || !isa<ReturnOp>(getBody().front().back()))
    return emitOpError("must end with attn.return");
  return success();
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

static LogicalResult verifyRole(Operation *op, StringRef what,
                                attn::TensorType type, TensorRole role) {
  if (type.getRole() == role)
    return success();
  return op->emitOpError() << what << " must have role "
                           << stringifyTensorRole(role) << ", got "
                           << stringifyTensorRole(type.getRole());
}

static LogicalResult verifySame(Operation *op, StringRef what, StringRef a,
                                int64_t na, StringRef b, int64_t nb) {
  if (na == nb)
    return success();
  return op->emitOpError() << a << " has " << what << ' ' << na << " but " << b
                           << " has " << nb;
}

static LogicalResult verifySameStorage(Operation *op, StringRef a,
                                       attn::TensorType ta, StringRef b,
                                       attn::TensorType tb) {
  if (ta.getStorage() == tb.getStorage())
    return success();
  return op->emitOpError() << a << " is " << stringifyStorage(ta.getStorage())
                           << " but " << b << " is "
                           << stringifyStorage(tb.getStorage());
}

LogicalResult AttentionOp::verify() {
  attn::TensorType q = getQuery().getType(), k = getKey().getType(),
                   v = getValue().getType(), o = getOutput().getType();
  if (failed(verifyRole(*this, "query", q, TensorRole::Query)) ||
      failed(verifyRole(*this, "key", k, TensorRole::Key)) ||
      failed(verifyRole(*this, "value", v, TensorRole::Value)) ||
      failed(verifyRole(*this, "output", o, TensorRole::Output)) ||
      failed(
          verifySame(*this, "dim", "query", q.getDim(), "key", k.getDim())) ||
      failed(verifySame(*this, "heads", "key", k.getHeads(), "value",
                        v.getHeads())) ||
      failed(verifySame(*this, "dim", "value", v.getDim(), "output",
                        o.getDim())) ||
      failed(verifySame(*this, "heads", "query", q.getHeads(), "output",
                        o.getHeads())) ||
      failed(verifySameStorage(*this, "key", k, "value", v)) ||
      failed(verifySameStorage(*this, "query", q, "output", o)))
    return failure();
  if (q.getHeads() % k.getHeads() != 0)
    return emitOpError("query heads must be a multiple of key heads, got ")
           << q.getHeads() << " and " << k.getHeads();
  for (auto [name, type] : {std::pair("key", k), std::pair("value", v)})
    if (type.getElement() != q.getElement())
      return emitOpError("query holds ") << q.getElement() << " but " << name
                                         << " holds " << type.getElement();
  if (q.getStorage() == Storage::Paged)
    return emitOpError("query must be dense or ragged, got paged");
  if (Value lse = getLse()) {
    auto type = cast<attn::TensorType>(lse.getType());
    if (failed(verifyRole(*this, "lse", type, TensorRole::Lse)) ||
        failed(verifySame(*this, "heads", "query", q.getHeads(), "lse",
                          type.getHeads())) ||
        failed(verifySameStorage(*this, "query", q, "lse", type)))
      return failure();
  }
  return success();
}

/// The variant is looked for in the kernel first, then in the module.
LogicalResult
AttentionOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  VariantOp variant;
  for (Operation *scope = (*this)->getParentOp(); scope && !variant;
       scope = scope->getParentOp())
    if (scope->hasTrait<OpTrait::SymbolTable>())
      variant = dyn_cast_or_null<VariantOp>(
          symbolTable.lookupSymbolIn(scope, getVariantAttr().getAttr()));
  if (!variant)
    return emitOpError("variant @") << getVariant() << " does not exist";
  bool softmax = variant.getNormaliser() == Normaliser::Softmax;
  if (softmax && !getLse())
    return emitOpError("normaliser softmax has an lse result, got none");
  if (!softmax && getLse())
    return emitOpError("normaliser none has no lse result, got one");
  for (HookOp hook : variant.getBody().front().getOps<HookOp>()) {
    if (!isVectorHook(hook.getKind()))
      continue;
    int64_t dim =
        cast<attn::TensorType>(hook.getKind() == HookKind::Value ||
                                       hook.getKind() == HookKind::Output
                                   ? getValue().getType()
                                   : getQuery().getType())
            .getDim();
    // The hook may not have been verified yet; its own verifier speaks then.
    auto vector =
        hook.getBody().getNumArguments() == 0
            ? VectorType()
            : dyn_cast<VectorType>(hook.getBody().getArgument(0).getType());
    if (vector && vector.getRank() == 1 && vector.getDimSize(0) != dim)
      return emitOpError() << stringifyHookKind(hook.getKind()) << " hook of @"
                           << getVariant() << " works on "
                           << vector.getDimSize(0)
                           << " elements but the tensor has dim " << dim;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// merge
//===----------------------------------------------------------------------===//

LogicalResult MergeOp::verify() {
  if (getOutputs().empty())
    return emitOpError("needs at least one pair");
  if (getOutputs().size() != getLses().size())
    return emitOpError("has ") << getOutputs().size() << " outputs but "
                               << getLses().size() << " lses";
  auto outputs = llvm::to_vector(getOutputs().getTypes());
  outputs.push_back(getOutput().getType());
  attn::TensorType first = cast<attn::TensorType>(outputs.front());
  for (Type type : outputs) {
    auto tensor = cast<attn::TensorType>(type);
    if (failed(verifyRole(*this, "output", tensor, TensorRole::Output)) ||
        failed(verifySame(*this, "heads", "output", first.getHeads(),
                          "another output", tensor.getHeads())) ||
        failed(verifySame(*this, "dim", "output", first.getDim(),
                          "another output", tensor.getDim())))
      return failure();
  }
  auto lses = llvm::to_vector(getLses().getTypes());
  lses.push_back(getLse().getType());
  for (Type type : lses) {
    auto tensor = cast<attn::TensorType>(type);
    if (failed(verifyRole(*this, "lse", tensor, TensorRole::Lse)) ||
        failed(verifySame(*this, "heads", "output", first.getHeads(), "lse",
                          tensor.getHeads())))
      return failure();
  }
  return success();
}
