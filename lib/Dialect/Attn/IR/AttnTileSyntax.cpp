//===- AttnTileSyntax.cpp - syntax of the tile loops ----------------------===//
//
//   attn.for_work %plan (%req, %head, ...) { ... }
//   %r = attn.for_kv full frozen descending tile_k 64 from %b0 to %b1 base %kv0
//       (%j, %k0) carry (%s = %s0 : !attn.state<128x128, softmax>) { ... }
//
// Integers are i32 by definition and are written without a type.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace attn;

using Operand = OpAsmParser::UnresolvedOperand;

/// `(` %a, %b ... `)`, all i32.
static ParseResult
parseInts(OpAsmParser &parser,
          SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  if (parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren))
    return failure();
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = parser.getBuilder().getI32Type();
  return success();
}

static void printInts(OpAsmPrinter &printer, ValueRange arguments) {
  printer << " (";
  llvm::interleaveComma(arguments, printer,
                        [&](Value argument) { printer << argument; });
  printer << ')';
}

//===----------------------------------------------------------------------===//
// for_work, for_merge
//===----------------------------------------------------------------------===//

static constexpr StringRef itemFields[] = {"req", "head", "row0", "nrows",
                                           "kv0", "kv1",  "slot", "flags"};
static constexpr StringRef mergeFields[] = {"req",   "head",  "row0",
                                            "nrows", "first", "count"};

template <class Op>
static ParseResult parseWork(OpAsmParser &parser, OperationState &result) {
  Operand plan;
  SmallVector<OpAsmParser::Argument> arguments;
  Region *body = result.addRegion();
  if (parser.parseOperand(plan) ||
      parser.resolveOperand(plan, PlanType::get(parser.getContext()),
                            result.operands) ||
      parseInts(parser, arguments) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  Op::ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

template <class Op> static void printWork(OpAsmPrinter &printer, Op op) {
  printer << ' ' << op.getPlan();
  printInts(printer, op.getBody().getArguments());
  printer.printOptionalAttrDictWithKeyword(op->getAttrs());
  printer << ' ';
  printer.printRegion(op.getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
}

static void nameArguments(Region &region, ArrayRef<StringRef> names,
                          OpAsmSetValueNameFn set) {
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    set(argument, name);
}

ParseResult ForWorkOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseWork<ForWorkOp>(parser, result);
}
void ForWorkOp::print(OpAsmPrinter &printer) { printWork(printer, *this); }
void ForWorkOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn set) {
  nameArguments(region, itemFields, set);
}

ParseResult ForMergeOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseWork<ForMergeOp>(parser, result);
}
void ForMergeOp::print(OpAsmPrinter &printer) { printWork(printer, *this); }
void ForMergeOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn set) {
  nameArguments(region, mergeFields, set);
}

static LogicalResult verifyWork(Operation *op, Region &body, size_t fields) {
  if (body.getNumArguments() != fields)
    return op->emitOpError("body has ")
           << fields << " arguments, got " << body.getNumArguments();
  for (Type type : body.getArgumentTypes())
    if (!type.isInteger(32))
      return op->emitOpError("arguments of the body are i32, got ") << type;
  if (body.front().getTerminator()->getNumOperands() != 0)
    return op->emitOpError("yields nothing, got ")
           << body.front().getTerminator()->getNumOperands() << " values";
  return success();
}

LogicalResult ForWorkOp::verifyRegions() {
  return verifyWork(*this, getBody(), std::size(itemFields));
}

LogicalResult ForMergeOp::verifyRegions() {
  return verifyWork(*this, getBody(), std::size(mergeFields));
}

//===----------------------------------------------------------------------===//
// for_kv
//===----------------------------------------------------------------------===//

void ForKVOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn set) {
  nameArguments(region, {"j", "k0"}, set);
}

ParseResult ForKVOp::parse(OpAsmParser &parser, OperationState &result) {
  MLIRContext *context = parser.getContext();
  Type i32 = parser.getBuilder().getI32Type();
  auto blockClass = FieldParser<BlockClass>::parse(parser);
  if (failed(blockClass))
    return failure();
  Reference reference = Reference::Exact;
  if (succeeded(parser.parseOptionalKeyword("frozen")))
    reference = Reference::Frozen;
  else
    (void)parser.parseOptionalKeyword("exact");
  auto order = FieldParser<KVOrder>::parse(parser);
  int32_t tileK;
  Operand lo, hi, base;
  SmallVector<OpAsmParser::Argument> arguments;
  if (failed(order) || parser.parseKeyword("tile_k") ||
      parser.parseInteger(tileK) || parser.parseKeyword("from") ||
      parser.parseOperand(lo) || parser.parseKeyword("to") ||
      parser.parseOperand(hi) || parser.parseKeyword("base") ||
      parser.parseOperand(base) ||
      parser.resolveOperands({lo, hi, base}, i32, result.operands) ||
      parseInts(parser, arguments))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("carry")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        OpAsmParser::Argument &argument = arguments.emplace_back();
        Operand init;
        if (parser.parseArgument(argument) || parser.parseEqual() ||
            parser.parseOperand(init) || parser.parseColonType(argument.type) ||
            parser.resolveOperand(init, argument.type, result.operands))
          return failure();
        result.addTypes(argument.type);
        return success();
      }))
    return failure();
  result.addAttribute(getBlockClassAttrName(result.name),
                      BlockClassAttr::get(context, *blockClass));
  result.addAttribute(getReferenceAttrName(result.name),
                      ReferenceAttr::get(context, reference));
  result.addAttribute(getOrderAttrName(result.name),
                      KVOrderAttr::get(context, *order));
  result.addAttribute(getTileKAttrName(result.name),
                      parser.getBuilder().getI32IntegerAttr(tileK));
  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

void ForKVOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getBlockClass();
  if (getReference() != Reference::Exact)
    printer << ' ' << getReference();
  printer << ' ' << getOrder() << " tile_k " << getTileK() << " from "
          << getLo() << " to " << getHi() << " base " << getBase();
  printInts(printer, getBody().getArguments().take_front(2));
  if (!getInits().empty()) {
    printer << " carry (";
    llvm::interleaveComma(
        llvm::zip(getCarried(), getInits()), printer, [&](auto pair) {
          auto [argument, init] = pair;
          printer << argument << " = " << init << " : " << init.getType();
        });
    printer << ')';
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getBlockClassAttrName(), getReferenceAttrName(),
                            getOrderAttrName(), getTileKAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult ForKVOp::verify() {
  if (getTileK() < 1)
    return emitOpError("tile_k must be at least 1, got ") << getTileK();
  if (getBlockClass() == BlockClass::Skip)
    return emitOpError("blocks of class skip are not visited");
  return success();
}

/// Counts the masks of the loop's own body, those of inner loops excluded.
static unsigned countMasks(Region &region) {
  unsigned masks = 0;
  for (Operation &op : region.getOps()) {
    if (isa<ForKVOp>(op))
      continue;
    masks += isa<ApplyMaskOp>(op);
    for (Region &inner : op.getRegions())
      masks += countMasks(inner);
  }
  return masks;
}

LogicalResult ForKVOp::verifyRegions() {
  size_t carried = getInits().size();
  if (getBody().getNumArguments() != carried + 2)
    return emitOpError("carries ")
           << carried << " values, so the body has " << carried + 2
           << " arguments, got " << getBody().getNumArguments();
  if (!getIndex().getType().isInteger(32) || !getK0().getType().isInteger(32))
    return emitOpError("the body's j and k0 are i32");
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getNumOperands() != carried)
    return emitOpError("must yield the ") << carried << " carried values";
  for (size_t i = 0; i != carried; ++i) {
    Type type = getInits()[i].getType();
    if (getCarried()[i].getType() != type ||
        yield.getOperand(i).getType() != type)
      return emitOpError("carried value ")
             << i << " has type " << type << " but the body takes "
             << getCarried()[i].getType() << " and yields "
             << yield.getOperand(i).getType();
  }
  unsigned masks = countMasks(getBody());
  if (getBlockClass() == BlockClass::Full && masks != 0)
    return emitOpError("full loop must not hold apply_mask, got ") << masks;
  if (getBlockClass() == BlockClass::Partial && masks != 1)
    return emitOpError("partial loop must hold one apply_mask, got ") << masks;
  return success();
}
