//===- AttnHooks.cpp - variants, hooks, parameters, tables ----------------===//
//
// A hook's argument types follow from its kind, so they are not written:
//
//   attn.hook mask(%b, %h, %q, %k) { ... }
//   attn.hook query(%x: vector<64xf32>, %b, %h, %pos, %i) { ... }
//
// Invariant: a verified hook is one block of pure arith, math and attn reads on
// i1, i32 and f32 that yields one value of the kind's type.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// variant
//===----------------------------------------------------------------------===//

HookOp VariantOp::getHook(HookKind kind) {
  for (HookOp hook : getBody().front().getOps<HookOp>())
    if (hook.getKind() == kind)
      return hook;
  return {};
}

LogicalResult VariantOp::verify() {
  for (Operation &op : getBody().front())
    if (!isa<ParamOp, TableOp, HookOp>(op))
      return op.emitOpError("is not allowed in a variant, which holds params, "
                            "tables and hooks");
  return success();
}

LogicalResult VariantOp::verifyRegions() {
  llvm::StringSet<> names;
  for (Operation &op : getBody().front()) {
    StringRef name;
    if (auto param = dyn_cast<ParamOp>(op))
      name = param.getName();
    else if (auto table = dyn_cast<TableOp>(op))
      name = table.getName();
    else
      continue;
    if (!names.insert(name).second)
      return op.emitOpError("is the second declaration of ") << name;
  }
  unsigned seen = 0;
  for (HookOp hook : getBody().front().getOps<HookOp>()) {
    unsigned bit = 1u << unsigned(hook.getKind());
    if (seen & bit)
      return hook.emitOpError("second ")
             << stringifyHookKind(hook.getKind())
             << " hook; a variant has at most one of each kind";
    seen |= bit;
    if (hook.getKind() == HookKind::Sink && getNormaliser() == Normaliser::None)
      return hook.emitOpError(
          "a sink logit needs normaliser softmax, the variant has none");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// param, table, read, length
//===----------------------------------------------------------------------===//

/// Names are bound on command lines and in the bundle: [A-Za-z_][A-Za-z0-9_]*.
static LogicalResult verifyName(Operation *op, StringRef name) {
  bool good =
      !name.empty() && !llvm::isDigit(name[0]) &&
      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (good)
    return success();
  return op->emitOpError("name \"")
         << name << "\" must consist of letters, digits and _";
}

/// `sample = [lo, hi]` of the element's type.
static LogicalResult verifySample(Operation *op, Type type) {
  Attribute attr = op->getAttr("sample");
  if (!attr)
    return success();
  auto range = dyn_cast<ArrayAttr>(attr);
  if (!range || range.size() != 2)
    return op->emitOpError("sample must be [lo, hi]");
  for (Attribute end : range) {
    auto typed = dyn_cast<TypedAttr>(end);
    if (!typed || typed.getType() != type)
      return op->emitOpError("sample must hold values of type ")
             << type << ", got " << end;
  }
  if (type.isInteger(32)) {
    int64_t lo = cast<IntegerAttr>(range[0]).getInt();
    int64_t hi = cast<IntegerAttr>(range[1]).getInt();
    if (lo > hi)
      return op->emitOpError("sample needs lo <= hi, got ")
             << lo << " and " << hi;
    return success();
  }
  APFloat lo = cast<FloatAttr>(range[0]).getValue();
  APFloat hi = cast<FloatAttr>(range[1]).getValue();
  if (!lo.isFinite() || !hi.isFinite() || lo > hi)
    return op->emitOpError("sample needs finite lo <= hi, got ")
           << range[0] << " and " << range[1];
  return success();
}

static LogicalResult verifyAttrNames(Operation *op, ArrayRef<StringRef> known) {
  for (NamedAttribute attr : op->getDiscardableAttrs()) {
    StringRef name = attr.getName().getValue();
    if (!name.contains('.') && !llvm::is_contained(known, name))
      return op->emitOpError("has no attribute ")
             << name << "; known are " << llvm::join(known, ", ");
  }
  return success();
}

LogicalResult ParamOp::verify() {
  if (!isa<VariantOp>((*this)->getParentOp()) &&
      !(*this)->getParentOfType<KernelOp>())
    return emitOpError("must be in a variant or in a kernel");
  if (failed(verifyName(*this, getName())) ||
      failed(verifyAttrNames(*this, {"default", "sample"})))
    return failure();
  if (Attribute value = (*this)->getAttr("default")) {
    auto typed = dyn_cast<TypedAttr>(value);
    if (!typed || typed.getType() != getType())
      return emitOpError("default must be of type ")
             << getType() << ", got " << value;
  }
  return verifySample(*this, getType());
}

LogicalResult TableOp::verify() {
  Type element = getType().getElement();
  if (failed(verifyName(*this, getName())) ||
      failed(verifyAttrNames(*this, {"sample", "sorted"})))
    return failure();
  if (Attribute sorted = (*this)->getAttr("sorted"))
    if (!isa<UnitAttr>(sorted))
      return emitOpError("sorted takes no value");
  return verifySample(*this, element);
}

LogicalResult ReadOp::verify() {
  size_t rank = getTable().getType().getIndex().size();
  if (getIndices().size() != rank)
    return emitOpError("table has ") << rank << " dimensions but got "
                                     << getIndices().size() << " indices";
  return success();
}

ParseResult LengthOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef which;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&which))
    return failure();
  if (which != "q" && which != "kv")
    return parser.emitError(loc, "expected q or kv");
  Builder &builder = parser.getBuilder();
  result.addAttribute(getIsKvAttrName(result.name),
                      builder.getBoolAttr(which == "kv"));
  result.addTypes(builder.getI32Type());
  return parser.parseOptionalAttrDict(result.attributes);
}

void LengthOp::print(OpAsmPrinter &printer) {
  printer << (getIsKv() ? " kv" : " q");
  printer.printOptionalAttrDict((*this)->getAttrs(), {getIsKvAttrName()});
}

//===----------------------------------------------------------------------===//
// hook
//===----------------------------------------------------------------------===//

/// Types of a hook's arguments; the vector of a vector hook stays null.
static SmallVector<Type> argumentTypes(HookKind kind, MLIRContext *context) {
  Type i32 = IntegerType::get(context, 32);
  switch (kind) {
  case HookKind::Score:
    return {Float32Type::get(context), i32, i32, i32, i32};
  case HookKind::Mask:
    return {i32, i32, i32, i32};
  case HookKind::Sink:
    return {i32, i32};
  case HookKind::Query:
  case HookKind::Key:
  case HookKind::Value:
  case HookKind::Output:
    return {Type(), i32, i32, i32, i32};
  }
  llvm_unreachable("all kinds are covered");
}

static StringRef argumentList(HookKind kind) {
  switch (kind) {
  case HookKind::Score:
    return "s, b, h, q, k";
  case HookKind::Mask:
    return "b, h, q, k";
  case HookKind::Sink:
    return "b, h";
  default:
    return "x, b, h, pos, i";
  }
}

void HookOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn set) {
  SmallVector<StringRef> names;
  argumentList(getKind()).split(names, ", ");
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    set(argument, name);
}

ParseResult HookOp::parse(OpAsmParser &parser, OperationState &result) {
  auto kind = FieldParser<HookKind>::parse(parser);
  if (failed(kind))
    return failure();
  MLIRContext *context = parser.getContext();
  result.addAttribute(getKindAttrName(result.name),
                      HookKindAttr::get(context, *kind));
  SmallVector<OpAsmParser::Argument> arguments;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Paren, [&]() -> ParseResult {
            OpAsmParser::Argument &argument = arguments.emplace_back();
            if (parser.parseArgument(argument))
              return failure();
            if (succeeded(parser.parseOptionalColon()))
              return parser.parseType(argument.type);
            return success();
          }))
    return failure();
  SmallVector<Type> types = argumentTypes(*kind, context);
  if (arguments.size() != types.size())
    return parser.emitError(loc)
           << "a " << stringifyHookKind(*kind) << " hook has " << types.size()
           << " arguments (" << argumentList(*kind) << "), got "
           << arguments.size();
  for (auto [argument, type] : llvm::zip(arguments, types)) {
    if (argument.type)
      continue;
    if (!type)
      return parser.emitError(loc)
             << "the vector of a " << stringifyHookKind(*kind)
             << " hook needs a type, e.g. %x: "
                "vector<64xf32>";
    argument.type = type;
  }
  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

void HookOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getKind() << '(';
  bool vector = isVectorHook(getKind());
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) {
                          printer << argument;
                          if (vector && argument.getArgNumber() == 0)
                            printer << ": " << argument.getType();
                        });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getKindAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult HookOp::verify() {
  SmallVector<Type> types = argumentTypes(getKind(), getContext());
  StringRef kind = stringifyHookKind(getKind());
  if (getBody().getNumArguments() != types.size())
    return emitOpError("of kind ") << kind << " has " << types.size()
                                   << " arguments (" << argumentList(getKind())
                                   << "), got " << getBody().getNumArguments();
  for (auto [argument, type] : llvm::zip(getBody().getArguments(), types)) {
    if (type && argument.getType() != type)
      return emitOpError("argument ") << argument.getArgNumber() << " must be "
                                      << type << ", got " << argument.getType();
    if (type)
      continue;
    auto vector = dyn_cast<VectorType>(argument.getType());
    if (!vector || vector.getRank() != 1 || vector.isScalable() ||
        !vector.getElementType().isF32())
      return emitOpError("argument 0 must be a vector of f32, got ")
             << argument.getType();
  }
  return success();
}

static bool isHookType(Type type) {
  return type.isInteger(1) || type.isInteger(32) || type.isF32();
}

LogicalResult HookOp::verifyRegions() {
  for (Operation &op : getBody().front().without_terminator()) {
    bool allowed = isa<ReadOp, LengthOp, ElementOp>(op) ||
                   (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
                        op.getDialect()) &&
                    op.getNumRegions() == 0 && isMemoryEffectFree(&op));
    if (!allowed)
      return op.emitOpError("is not allowed in a hook; use arith, math, "
                            "attn.read, attn.length or attn.element");
    for (Type type : op.getResultTypes())
      if (!isHookType(type))
        return op.emitOpError("gives ")
               << type << "; values of a hook are i1, i32 or f32";
  }
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  Type wanted = Float32Type::get(getContext());
  if (getKind() == HookKind::Mask)
    wanted = IntegerType::get(getContext(), 1);
  if (!yield || yield.getNumOperands() != 1 ||
      yield.getOperand(0).getType() != wanted)
    return emitOpError("of kind ")
           << stringifyHookKind(getKind()) << " must yield one " << wanted;
  return success();
}
