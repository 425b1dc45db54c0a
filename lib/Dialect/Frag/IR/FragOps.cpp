//===- FragOps.cpp - kernels, maps, reductions, tiles in memory -----------===//
//
// Text and checks of the ops that do not touch shared memory.  A message names
// both sides of what does not fit:
//
//   frag.reduce_row sum row %t : 128 rows -> 64 rows
//     -> "result has 64 rows but the tile has 128"
//
//===----------------------------------------------------------------------===//

#include "Bodies.h"
#include "attn/Dialect/Frag/IR/Frag.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// Warps that run `op` together.
static int32_t warpsAt(Operation *op) {
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion()) {
    if (auto dispatch = dyn_cast<RoleDispatchOp>(region->getParentOp()))
      return dispatch.getRole(region->getRegionNumber()).getActive();
    if (auto kernel = dyn_cast<KernelOp>(region->getParentOp()))
      return int32_t(kernel.getThreads()) / 32;
  }
  return 0;
}

LogicalResult KernelOp::verify() {
  int32_t threads = getThreads();
  if (threads < 32 || threads > 1024 || threads % 32)
    return emitOpError() << "needs a multiple of 32 threads up to 1024 but has "
                         << threads;
  if (int32_t(getSmem()) < 0)
    return emitOpError() << "needs at least 0 bytes of shared memory but has "
                         << int32_t(getSmem());
  if (int32_t(getParamsBytes()) < 0)
    return emitOpError() << "needs at least 0 bytes of parameters but has "
                         << int32_t(getParamsBytes());
  if (auto registers = getRegistersAttr())
    if (registers.getInt() < 16 || registers.getInt() > 255)
      return emitOpError() << "allows " << registers.getInt()
                           << " registers a thread but 16 to 255 are possible";
  int32_t cluster = getCluster();
  if (cluster != 1 && cluster != 2 && cluster != 4 && cluster != 8)
    return emitOpError() << "has a cluster of " << cluster
                         << " CTAs (known: 1, 2, 4, 8)";
  Block &body = getBody().front();
  if (body.empty() || !isa<ReturnOp>(body.back()))
    return emitOpError() << "body must end with frag.return";
  return success();
}

/// What reaches beyond the own CTA needs a cluster, and only CTAs that are in it.
static LogicalResult verifyCluster(Operation *op, int32_t cluster) {
  std::optional<uint32_t> mask;
  bool reaches = isa<ClusterRankOp, ClusterSyncOp>(op);
  if (auto arrive = dyn_cast<MbarArriveOp>(op))
    reaches = bool(arrive.getCta());
  else if (auto arrive = dyn_cast<MbarArriveOneOp>(op))
    reaches = bool(arrive.getCta());
  else if (auto load = dyn_cast<TmaLoadOp>(op))
    mask = load.getMulticast();
  if ((reaches || mask) && cluster == 1)
    return op->emitOpError()
           << "reaches other CTAs but the kernel has a cluster of 1";
  if (mask && (*mask == 0 || *mask >> cluster))
    return op->emitOpError()
           << "multicast mask is " << *mask << " but a cluster of " << cluster
           << " has 1 to " << (1u << cluster) - 1;
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  int32_t threads = getThreads();
  WalkResult result = walk([&](Operation *op) {
    if (failed(verifyCluster(op, getCluster())))
      return WalkResult::interrupt();
    // Layouts cover the threads that run the op: the CTA or a role's replica.
    int32_t warps = warpsAt(op);
    for (Type type : op->getResultTypes()) {
      LayoutAttr layout;
      if (auto reg = dyn_cast<RegType>(type))
        layout = reg.getLayout();
      else if (auto vec = dyn_cast<VecType>(type))
        layout = vec.getLayout();
      else if (auto inflight = dyn_cast<InflightType>(type))
        layout = inflight.getLayout();
      if (layout && layout.getWarps() != warps) {
        op->emitOpError() << "has a layout of " << layout.getWarps()
                          << " warps but the "
                          << (warps == threads / 32 ? "kernel" : "role")
                          << " has " << warps;
        return WalkResult::interrupt();
      }
    }
    if (auto rank = dyn_cast<GroupRankOp>(op))
      if (int32_t groups = rank.getGroups(); groups < 1 || warps % groups) {
        rank.emitOpError() << "needs a number of groups that divides " << warps
                           << " warps but has " << groups;
        return WalkResult::interrupt();
      }
    if (auto tmap = dyn_cast<TmapOp>(op))
      if (int32_t(tmap.getOffset()) + TmapOp::bytes >
          int32_t(getParamsBytes())) {
        tmap.emitOpError() << "takes " << TmapOp::bytes << " bytes at "
                           << int32_t(tmap.getOffset())
                           << " but the parameter struct has "
                           << int32_t(getParamsBytes());
        return WalkResult::interrupt();
      }
    if (auto param = dyn_cast<ParamOp>(op)) {
      int64_t size = isa<PtrType>(param.getType())
                         ? 8
                         : bytesOf(param.getResult().getType());
      int64_t offset = int32_t(param.getOffset());
      if (offset < 0 || offset % size ||
          offset + size > int32_t(getParamsBytes())) {
        param.emitOpError()
            << "takes " << size << " bytes at " << offset
            << " but the parameter struct has " << int32_t(getParamsBytes())
            << " and fields are aligned to their size";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Splat
//===----------------------------------------------------------------------===//

LogicalResult SplatOp::verify() {
  Type type = getResult().getType();
  Type element = isa<RegType>(type) ? cast<RegType>(type).getElement()
                                    : cast<VecType>(type).getElement();
  if (getValue().getType() != element)
    return emitOpError() << "spreads " << getValue().getType()
                         << " but the result holds " << element;
  return success();
}

//===----------------------------------------------------------------------===//
// Map
//===----------------------------------------------------------------------===//

static Type elementOf(Type type) {
  return isa<RegType>(type) ? cast<RegType>(type).getElement()
                            : cast<VecType>(type).getElement();
}

bool MapOp::hasTile() {
  return llvm::any_of(getInputs().getTypes(), llvm::IsaPred<RegType>) ||
         llvm::any_of(getResultTypes(), llvm::IsaPred<RegType>);
}

void MapOp::build(OpBuilder &builder, OperationState &state, TypeRange results,
                  ValueRange inputs,
                  function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  state.addOperands(inputs);
  state.addTypes(results);
  Region *region = state.addRegion();
  bool tile = llvm::any_of(inputs.getTypes(), llvm::IsaPred<RegType>) ||
              llvm::any_of(results, llvm::IsaPred<RegType>);
  SmallVector<Type> types;
  for (Type type : inputs.getTypes())
    types.push_back(elementOf(type));
  types.append(tile ? 2 : 1, builder.getI32Type());
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(
      region, {}, types, SmallVector<Location>(types.size(), state.location));
  body(builder, state.location, block->getArguments());
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  SmallVector<Type> types;
  auto parseInput = [&]() -> ParseResult {
    OpAsmParser::Argument &arg = args.emplace_back();
    Type &type = types.emplace_back();
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseArgument(arg) || parser.parseEqual() ||
        parser.parseOperand(inputs.emplace_back()) ||
        parser.parseColonType(type))
      return failure();
    if (!isa<RegType, VecType>(type))
      return parser.emitError(loc)
             << "input of a map is a tile or a row vector, not " << type;
    arg.type = elementOf(type);
    return success();
  };
  Type i32 = parser.getBuilder().getI32Type();
  auto parseCoord = [&]() -> ParseResult {
    OpAsmParser::Argument &arg = args.emplace_back();
    arg.type = i32;
    return parser.parseArgument(arg);
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseInput) ||
      parser.parseKeyword("at") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseCoord) ||
      parser.parseArrow())
    return failure();
  SmallVector<Type> results;
  if (parser.parseTypeList(results) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.resolveOperands(inputs, types, loc, result.operands))
    return failure();
  result.addTypes(results);
  return parser.parseRegion(*result.addRegion(), args);
}

void MapOp::print(OpAsmPrinter &printer) {
  Block &block = getBody().front();
  unsigned count = getInputs().size();
  printer << " (";
  for (unsigned i = 0; i < count; ++i) {
    if (i)
      printer << ", ";
    printer << block.getArgument(i) << " = " << getInputs()[i] << " : "
            << getInputs()[i].getType();
  }
  printer << ") at (";
  llvm::interleaveComma(block.getArguments().drop_front(count), printer);
  printer << ") -> ";
  llvm::interleaveComma(getResultTypes(), printer);
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult MapOp::verify() {
  if (getNumResults() == 0)
    return emitOpError() << "needs at least 1 result but has 0";
  if (std::optional<uint32_t> share = getExp2Fma()) {
    if (int32_t(*share) < 1 || int32_t(*share) > 16)
      return emitOpError() << "exp2_fma must be in [1, 16], got "
                           << int32_t(*share);
    if (!hasTile())
      return emitOpError() << "exp2_fma counts columns but there is no tile";
  }
  // Rows, warps and groups of all; shape and layout of the tiles among them.
  int32_t rows = -1, warps = -1, groups = -1;
  RegType tile;
  bool partialIn = false;
  auto check = [&](Type type) -> LogicalResult {
    auto reg = dyn_cast<RegType>(type);
    auto vec = dyn_cast<VecType>(type);
    int32_t r = reg ? reg.getRows() : vec.getRows();
    LayoutAttr layout = reg ? reg.getLayout() : vec.getLayout();
    int32_t w = layout.getWarps(), g = layout.getGroups();
    if (rows < 0) {
      rows = r;
      warps = w;
      groups = g;
    }
    if (r != rows)
      return emitOpError() << "mixes " << rows << " rows and " << r << " rows";
    if (w != warps)
      return emitOpError() << "mixes layouts of " << warps << " and " << w
                           << " warps";
    if (g != groups)
      return emitOpError() << "mixes layouts of " << groups << " and " << g
                           << " groups";
    if (!reg)
      return success();
    if (tile && (reg.getCols() != tile.getCols() ||
                 reg.getLayout() != tile.getLayout()))
      return emitOpError() << "mixes tiles " << tile << " and " << reg;
    tile = reg;
    return success();
  };
  for (Type type : getInputs().getTypes()) {
    if (failed(check(type)))
      return failure();
    if (auto vec = dyn_cast<VecType>(type))
      partialIn |= vec.getPartial();
  }
  for (Type type : getResultTypes())
    if (failed(check(type)))
      return failure();
  if (tile && partialIn)
    return emitOpError() << "has a partial vector beside a tile";
  for (Type type : getResultTypes())
    if (auto vec = dyn_cast<VecType>(type)) {
      if (tile)
        return emitOpError() << "has a vector result beside a tile";
      if (vec.getPartial() != partialIn)
        return emitOpError()
               << "has a " << (partialIn ? "partial" : "complete")
               << " operand but a "
               << (vec.getPartial() ? "partial" : "complete") << " result";
    }
  return success();
}

LogicalResult frag::verifyPureBody(Operation *op, Block &body) {
  for (Operation &inner : body.without_terminator()) {
    if (inner.getNumRegions() || !isMemoryEffectFree(&inner))
      return inner.emitOpError()
             << "is not allowed in the region of " << op->getName();
    for (Type type : inner.getResultTypes())
      if (isa<RegType, VecType, RingType, PosType>(type))
        return inner.emitOpError()
               << "makes a " << type << " in the region of " << op->getName();
  }
  if (body.empty() || !isa<YieldOp>(body.back()))
    return op->emitOpError() << "region must end with frag.yield";
  return success();
}

LogicalResult frag::verifyYield(Operation *op, Block &body, TypeRange types) {
  auto yield = cast<YieldOp>(body.back());
  if (yield.getValues().size() != types.size())
    return op->emitOpError() << "region yields " << yield.getValues().size()
                             << " values but " << types.size() << " are needed";
  for (auto [value, type] : llvm::zip(yield.getValues(), types))
    if (value.getType() != type)
      return op->emitOpError() << "region yields " << value.getType() << " but "
                               << type << " is needed";
  return success();
}

LogicalResult MapOp::verifyRegions() {
  Block &body = getBody().front();
  SmallVector<Type> expected;
  for (Type type : getInputs().getTypes())
    expected.push_back(elementOf(type));
  expected.append(hasTile() ? 2 : 1, IntegerType::get(getContext(), 32));
  if (body.getNumArguments() != expected.size())
    return emitOpError() << "region has " << body.getNumArguments()
                         << " arguments but " << expected.size()
                         << " are needed";
  for (auto [have, want] : llvm::zip(body.getArgumentTypes(), expected))
    if (have != want)
      return emitOpError() << "region argument is " << have << " but " << want
                           << " is needed";
  if (failed(verifyPureBody(*this, body)))
    return failure();
  SmallVector<Type> results;
  for (Type type : getResultTypes())
    results.push_back(elementOf(type));
  return verifyYield(*this, body, results);
}

//===----------------------------------------------------------------------===//
// Copies into shared memory (the region's text and checks are a map's)
//===----------------------------------------------------------------------===//

/// Fewer columns in memory than in a tile are whole 16-byte accesses of 16-bit
/// elements: neither a copied chunk nor a lane's access is cut.
static constexpr int32_t memoryGranule = 8;

static LogicalResult verifyMemoryCols(Operation *op,
                                      std::optional<uint32_t> cols,
                                      int32_t tileCols) {
  int32_t have = int32_t(cols.value_or(uint32_t(tileCols)));
  if (have >= 1 && have <= tileCols && (!cols || have % memoryGranule == 0))
    return success();
  return op->emitOpError() << "memory has " << have
                           << " columns but needs a multiple of "
                           << memoryGranule << " up to the tile's " << tileCols;
}

void CpAsyncOp::build(OpBuilder &builder, OperationState &state, Value base,
                      Value ring, Value pos, IntegerAttr cols,
                      function_ref<void(OpBuilder &, Location, Value)> body) {
  state.addOperands({base, ring, pos});
  if (cols)
    state.addAttribute(getColsAttrName(state.name), cols);
  Region *region = state.addRegion();
  OpBuilder::InsertionGuard guard(builder);
  Block *block =
      builder.createBlock(region, {}, {builder.getI32Type()}, {state.location});
  body(builder, state.location, block->getArgument(0));
}

ParseResult CpAsyncOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand base, ring, pos;
  OpAsmParser::Argument row;
  row.type = parser.getBuilder().getI32Type();
  Type baseType, ringType;
  if (parser.parseOperand(base) || parser.parseKeyword("into") ||
      parser.parseOperand(ring) || parser.parseLSquare() ||
      parser.parseOperand(pos) || parser.parseRSquare() ||
      parser.parseKeyword("row") || parser.parseLParen() ||
      parser.parseArgument(row) || parser.parseRParen())
    return failure();
  IntegerAttr cols;
  StringAttr colsName = getColsAttrName(result.name);
  if (succeeded(parser.parseOptionalKeyword("cols")) &&
      parser.parseAttribute(cols, parser.getBuilder().getI32Type(), colsName,
                            result.attributes))
    return failure();
  if (parser.parseColonType(baseType) || parser.parseComma())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(ringType))
    return failure();
  auto type = dyn_cast<RingType>(ringType);
  if (!type)
    return parser.emitError(loc)
           << "destination of a copy is a ring, not " << ringType;
  Type posType = PosType::get(parser.getContext(), type.getSlots());
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.resolveOperand(base, baseType, result.operands) ||
      parser.resolveOperand(ring, ringType, result.operands) ||
      parser.resolveOperand(pos, posType, result.operands))
    return failure();
  return parser.parseRegion(*result.addRegion(), row);
}

void CpAsyncOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getBase() << " into " << getRing() << "[" << getPos()
          << "] row (" << getBody().getArgument(0) << ")";
  if (getCols())
    printer << " cols " << int32_t(*getCols());
  printer << " : " << getBase().getType() << ", " << getRing().getType();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getColsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult CpAsyncOp::verify() {
  RingType ring = getRing().getType();
  if (getBase().getType().getElement() != ring.getElement())
    return emitOpError() << "copies " << getBase().getType().getElement()
                         << " into a ring of " << ring.getElement();
  if (getPos().getType().getSlots() != ring.getSlots())
    return emitOpError() << "position counts " << getPos().getType().getSlots()
                         << " slots but the ring has " << ring.getSlots();
  // Rows are whole 16-byte chunks: the ring's type says so.
  return verifyMemoryCols(*this, getCols(), ring.getCols());
}

LogicalResult CpAsyncOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 ||
      !body.getArgument(0).getType().isInteger(32))
    return emitOpError() << "region has " << body.getNumArguments()
                         << " arguments but 1 of type i32 is needed";
  if (failed(verifyPureBody(*this, body)))
    return failure();
  Builder builder(getContext());
  return verifyYield(*this, body, {builder.getI64Type(), builder.getI1Type()});
}

//===----------------------------------------------------------------------===//
// Reductions and packing
//===----------------------------------------------------------------------===//

/// Does each thread hold the same rows in the same order?  True for the layouts
/// of an accumulator and of its quad transpose.
static bool sameRows(VecType vec, RegType tile) {
  layout::Layout a = layoutOf(vec), b = layoutOf(tile);
  if (a.getThreads() != b.getThreads() ||
      a.rowsPerThread() != b.rowsPerThread())
    return false;
  for (unsigned thread = 0; thread < a.getThreads(); ++thread)
    for (unsigned i = 0; i < a.rowsPerThread(); ++i)
      if (a.rowOf(thread, i) != b.rowOf(thread, i))
        return false;
  return true;
}

/// Does a vector belong to the rows of a tile?
static LogicalResult verifyRowsOf(Operation *op, StringRef name, VecType vec,
                                  RegType tile) {
  if (vec.getRows() != tile.getRows())
    return op->emitOpError() << name << " has " << vec.getRows()
                             << " rows but the tile has " << tile.getRows();
  if (vec.getLayout() != tile.getLayout() && !sameRows(vec, tile))
    return op->emitOpError() << name << " has " << vec.getLayout()
                             << " but the tile has " << tile.getLayout();
  return success();
}

LogicalResult KeepColumnsOp::verify() {
  RegType tile = getTile().getType();
  if (!tile.getElement().isF32())
    return emitOpError() << "keeps columns of f32, not " << tile.getElement();
  auto check = [&](StringRef name, VecType limit) -> LogicalResult {
    if (!limit.getElement().isInteger(32))
      return emitOpError() << name << " has " << limit.getElement()
                           << " but a limit is i32";
    return verifyRowsOf(*this, name, limit, tile);
  };
  if (getLo() && failed(check("lower limit", getLo().getType())))
    return failure();
  return check("upper limit", getHi().getType());
}

LogicalResult ReduceRowOp::verify() {
  RegType tile = getTile().getType();
  VecType vec = getResult().getType();
  if (!tile.getElement().isF32() || !vec.getElement().isF32())
    return emitOpError() << "reduces f32, not " << tile.getElement() << " to "
                         << vec.getElement();
  if (failed(verifyRowsOf(*this, "result", vec, tile)))
    return failure();
  bool thread = getScope() == ReduceScope::Thread;
  if (thread && getKind() == ReduceKind::Max)
    return emitOpError() << "max has no thread scope: shares of a maximum are "
                            "not a vector";
  if (vec.getPartial() != thread)
    return emitOpError() << "scope " << stringifyReduceScope(getScope())
                         << " needs a " << (thread ? "partial" : "complete")
                         << " result";
  return success();
}

LogicalResult ReduceQuadOp::verify() {
  VecType in = getVec().getType(), out = getResult().getType();
  if (!in.getPartial() || out.getPartial() || !in.getElement().isF32())
    return emitOpError() << "takes a partial vector of f32 to a complete one";
  if (in.getRows() != out.getRows())
    return emitOpError() << "result has " << out.getRows()
                         << " rows but the vector has " << in.getRows();
  if (in.getElement() != out.getElement() || in.getLayout() != out.getLayout())
    return emitOpError() << "takes " << in << " to " << out;
  return success();
}

LogicalResult AnyOp::verify() {
  if (!getVec().getType().getElement().isInteger(1))
    return emitOpError() << "asks i1, not " << getVec().getType().getElement();
  bool named = getScope() == VoteScope::Warpgroup;
  if (named != getBarrier().has_value())
    return emitOpError() << "scope " << stringifyVoteScope(getScope())
                         << (named ? " needs a barrier" : " has no barrier");
  if (getRank() && !named)
    return emitOpError() << "scope " << stringifyVoteScope(getScope())
                         << " has no rank";
  if (named && (int32_t(*getBarrier()) < 1 || int32_t(*getBarrier()) > 15))
    return emitOpError() << "barrier " << int32_t(*getBarrier())
                         << " is not in 1 to 15";
  if (named && getVec().getType().getLayout().getWarps() != 4)
    return emitOpError() << "scope warpgroup takes 4 warps but the layout has "
                         << getVec().getType().getLayout().getWarps();
  return success();
}

LogicalResult QuadTransposeOp::verify() {
  RegType in = getTile().getType(), out = getResult().getType();
  StringRef from = in.getLayout().getAtom().getValue();
  StringRef to = out.getLayout().getAtom().getValue();
  if ((from != "mma_c" && from != "wgmma_c") || to != "quad16")
    return emitOpError() << "takes 'mma_c' or 'wgmma_c' to 'quad16', not '"
                         << from << "' to '" << to << "'";
  int32_t cols = llvm::alignTo(in.getCols(), layoutOf(out).getAtom().cols);
  if (in.getRows() != out.getRows() || out.getCols() != cols)
    return emitOpError() << "result is " << out.getRows() << "x"
                         << out.getCols() << " but the tile, in whole atoms, "
                         << in.getRows() << "x" << cols;
  if (in.getElement() != out.getElement() || in.getElement().isF32())
    return emitOpError() << "moves 16-bit elements, not " << in.getElement()
                         << " to " << out.getElement();
  if (in.getLayout().getWarps() != out.getLayout().getWarps())
    return emitOpError() << "mixes layouts of " << in.getLayout().getWarps()
                         << " and " << out.getLayout().getWarps() << " warps";
  if (in.getLayout().getGroups() != out.getLayout().getGroups())
    return emitOpError() << "mixes layouts of " << in.getLayout().getGroups()
                         << " and " << out.getLayout().getGroups() << " groups";
  return success();
}

LogicalResult PackOp::verify() {
  RegType in = getTile().getType(), out = getResult().getType();
  if (!in.getElement().isF32() || out.getElement().isF32())
    return emitOpError() << "packs f32 to 16 bits, not " << in.getElement()
                         << " to " << out.getElement();
  if (in.getRows() != out.getRows() || in.getCols() != out.getCols())
    return emitOpError() << "result is " << out.getRows() << "x"
                         << out.getCols() << " but the tile is " << in.getRows()
                         << "x" << in.getCols();
  if (!layoutOf(in).sameHolding(layoutOf(out)))
    return emitOpError() << "would move elements between threads: "
                         << in.getLayout() << " to " << out.getLayout();
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles and vectors in global memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyOffsets(Operation *op, VecType offsets,
                                   VecType mask) {
  if (!offsets.getElement().isInteger(64))
    return op->emitOpError() << "offsets are i64, not " << offsets.getElement();
  if (!mask.getElement().isInteger(1))
    return op->emitOpError() << "mask is i1, not " << mask.getElement();
  return success();
}

static LogicalResult verifyTileAccess(Operation *op, RegType tile, PtrType base,
                                      VecType offsets, VecType mask) {
  if (base.getElement() != tile.getElement())
    return op->emitOpError() << "pointer is to " << base.getElement()
                             << " but the tile holds " << tile.getElement();
  if (failed(verifyOffsets(op, offsets, mask)) ||
      failed(verifyRowsOf(op, "offset vector", offsets, tile)))
    return failure();
  return verifyRowsOf(op, "mask", mask, tile);
}

static LogicalResult verifyVecAccess(Operation *op, VecType vec, PtrType base,
                                     VecType offsets, VecType mask) {
  if (vec.getPartial())
    return op->emitOpError() << "vector is partial: reduce it first";
  if (base.getElement() != vec.getElement())
    return op->emitOpError() << "pointer is to " << base.getElement()
                             << " but the vector holds " << vec.getElement();
  if (failed(verifyOffsets(op, offsets, mask)))
    return failure();
  for (VecType other : {offsets, mask})
    if (other.getRows() != vec.getRows())
      return op->emitOpError() << "mixes " << vec.getRows() << " rows and "
                               << other.getRows() << " rows";
  if (offsets.getLayout() != vec.getLayout() ||
      mask.getLayout() != vec.getLayout())
    return op->emitOpError() << "mixes layouts of its vectors";
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(
          verifyMemoryCols(*this, getCols(), getResult().getType().getCols())))
    return failure();
  return verifyTileAccess(*this, getResult().getType(), getBase().getType(),
                          getOffsets().getType(), getMask().getType());
}

LogicalResult StoreOp::verify() {
  if (failed(verifyMemoryCols(*this, getCols(), getTile().getType().getCols())))
    return failure();
  return verifyTileAccess(*this, getTile().getType(), getBase().getType(),
                          getOffsets().getType(), getMask().getType());
}

LogicalResult LoadVecOp::verify() {
  return verifyVecAccess(*this, getResult().getType(), getBase().getType(),
                         getOffsets().getType(), getMask().getType());
}

LogicalResult StoreVecOp::verify() {
  return verifyVecAccess(*this, getVec().getType(), getBase().getType(),
                         getOffsets().getType(), getMask().getType());
}
