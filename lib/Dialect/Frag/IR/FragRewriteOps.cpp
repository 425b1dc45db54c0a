//===- FragRewriteOps.cpp - text and checks of rewritten rows -------------===//
//
//   frag.rewrite_rows %k[%p] from %lo to %hi at (%row, %col) : ring { ... }
//   frag.rewrite_tile %o through %rows at (%row, %col) : reg, ring { ... }
//
// Invariant: the region is a map's, (row, col) to f32, with the old row's
// elements beside it.
//
//===----------------------------------------------------------------------===//

#include "Bodies.h"
#include "attn/Dialect/Frag/IR/Frag.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

using BodyBuilder = function_ref<void(OpBuilder &, Location, ValueRange)>;

/// The region of (row, col).
static void buildBody(OpBuilder &builder, OperationState &state,
                      BodyBuilder body) {
  Region *region = state.addRegion();
  OpBuilder::InsertionGuard guard(builder);
  Type i32 = builder.getI32Type();
  Block *block = builder.createBlock(region, {}, {i32, i32},
                                     {state.location, state.location});
  body(builder, state.location, block->getArguments());
}

static ParseResult
parseCoordinates(OpAsmParser &parser,
                 SmallVectorImpl<OpAsmParser::Argument> &out) {
  Type i32 = parser.getBuilder().getI32Type();
  return failure(
      parser.parseKeyword("at") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        out.emplace_back().type = i32;
        return parser.parseArgument(out.back());
      }));
}

static void printCoordinates(OpAsmPrinter &printer, Region &body) {
  printer << " at (";
  llvm::interleaveComma(body.getArguments(), printer);
  printer << ") : ";
}

static LogicalResult verifyBody(Operation *op, Region &region) {
  Block &body = region.front();
  if (body.getNumArguments() != 2 ||
      llvm::any_of(body.getArgumentTypes(),
                   [](Type type) { return !type.isInteger(32); }))
    return op->emitOpError() << "region has " << body.getNumArguments()
                             << " arguments but 2 of type i32 are needed";
  if (failed(verifyPureBody(op, body)))
    return failure();
  return verifyYield(op, body, {Float32Type::get(op->getContext())});
}

//===----------------------------------------------------------------------===//
// A slot's rows
//===----------------------------------------------------------------------===//

void RewriteRowsOp::build(OpBuilder &builder, OperationState &state, Value ring,
                          Value pos, Value begin, Value end, BodyBuilder body) {
  state.addOperands({ring, pos, begin, end});
  buildBody(builder, state, body);
}

ParseResult RewriteRowsOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand ring, pos, begin, end;
  SmallVector<OpAsmParser::Argument> args;
  Type type;
  if (parser.parseOperand(ring) || parser.parseLSquare() ||
      parser.parseOperand(pos) || parser.parseRSquare() ||
      parser.parseKeyword("from") || parser.parseOperand(begin) ||
      parser.parseKeyword("to") || parser.parseOperand(end) ||
      parseCoordinates(parser, args) || parser.parseColon())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(type))
    return failure();
  auto ringType = dyn_cast<RingType>(type);
  if (!ringType)
    return parser.emitError(loc)
           << "rows of a ring are rewritten, not " << type;
  Type posType = PosType::get(parser.getContext(), ringType.getSlots());
  Type i32 = parser.getBuilder().getI32Type();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.resolveOperand(ring, type, result.operands) ||
      parser.resolveOperand(pos, posType, result.operands) ||
      parser.resolveOperand(begin, i32, result.operands) ||
      parser.resolveOperand(end, i32, result.operands))
    return failure();
  return parser.parseRegion(*result.addRegion(), args);
}

void RewriteRowsOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getRing() << "[" << getPos() << "] from " << getBegin()
          << " to " << getEnd();
  printCoordinates(printer, getBody());
  printer << getRing().getType();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult RewriteRowsOp::verify() {
  RingType ring = getRing().getType();
  if (getPos().getType().getSlots() != ring.getSlots())
    return emitOpError() << "position counts " << getPos().getType().getSlots()
                         << " slots but the ring has " << ring.getSlots();
  if (bytesOf(ring.getElement()) != 2)
    return emitOpError() << "rewrites 16-bit elements but the ring holds "
                         << ring.getElement();
  return success();
}

LogicalResult RewriteRowsOp::verifyRegions() {
  return verifyBody(*this, getBody());
}

//===----------------------------------------------------------------------===//
// A tile in registers
//===----------------------------------------------------------------------===//

int32_t RewriteTileOp::rowsAtATime(RegType tile) {
  return int32_t(layout::warpSize >> layoutOf(tile).rowLaneMasks().size());
}

bool RewriteTileOp::readsOthers() {
  Block &body = getBody().front();
  return llvm::any_of(body.getOps<ElementOp>(), [&](ElementOp op) {
    return op.getIndex() != body.getArgument(1);
  });
}

void RewriteTileOp::build(OpBuilder &builder, OperationState &state, Value tile,
                          Value scratch, BodyBuilder body) {
  state.addOperands(tile);
  if (scratch)
    state.addOperands(scratch);
  state.addTypes(tile.getType());
  buildBody(builder, state, body);
}

ParseResult RewriteTileOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand tile, scratch;
  SmallVector<OpAsmParser::Argument> args;
  Type type, ring;
  if (parser.parseOperand(tile))
    return failure();
  bool through = succeeded(parser.parseOptionalKeyword("through"));
  if ((through && parser.parseOperand(scratch)) ||
      parseCoordinates(parser, args) || parser.parseColonType(type) ||
      (through && (parser.parseComma() || parser.parseType(ring))) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.resolveOperand(tile, type, result.operands) ||
      (through && parser.resolveOperand(scratch, ring, result.operands)))
    return failure();
  result.addTypes(type);
  return parser.parseRegion(*result.addRegion(), args);
}

void RewriteTileOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getTile();
  if (getScratch())
    printer << " through " << getScratch();
  printCoordinates(printer, getBody());
  printer << getTile().getType();
  if (getScratch())
    printer << ", " << getScratch().getType();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult RewriteTileOp::verify() {
  RegType tile = getTile().getType();
  if (!tile.getElement().isF32())
    return emitOpError() << "rewrites f32 elements but the tile holds "
                         << tile.getElement();
  if (!getScratch())
    return success();
  RingType ring = getScratch().getType();
  // Replicas of a role have their own rows.
  int32_t rows = tile.getLayout().getWarps() * rowsAtATime(tile);
  if (!ring.getElement().isF32() || ring.getCols() != tile.getCols() ||
      ring.getRows() % rows != 0 || ring.getSlots() != 1)
    return emitOpError() << "takes rows through " << ring
                         << " but needs 1 slot of a multiple of " << rows
                         << " rows of " << tile.getCols() << " f32";
  return success();
}

LogicalResult RewriteTileOp::verifyRegions() {
  if (failed(verifyBody(*this, getBody())))
    return failure();
  if (readsOthers() && !getScratch())
    return emitOpError(
        "reads elements of other threads but has no rows to take them through");
  return success();
}
