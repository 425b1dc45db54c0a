//===- AttnTileOps.cpp - shapes of the tile ops ---------------------------===//
//
// A tile op's operands agree in rows, columns and element types; messages name
// both sides and both numbers:
//
//   'attn.qk' op query has columns 64 but key has columns 128
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace attn;

static LogicalResult same(Operation *op, StringRef what, StringRef a,
                          int64_t na, StringRef b, int64_t nb) {
  if (na == nb)
    return success();
  return op->emitOpError() << a << " has " << what << ' ' << na << " but " << b
                           << " has " << nb;
}

/// Equal numbers of rows; T and U are tile, rowvec, rows or state types.
template <class T, class U>
static LogicalResult sameRows(Operation *op, StringRef a, T ta, StringRef b,
                              U tb) {
  return same(op, "rows", a, ta.getRows(), b, tb.getRows());
}

static LogicalResult isF32(Operation *op, StringRef what, Type element) {
  if (element.isF32())
    return success();
  return op->emitOpError() << what << " must hold f32, got " << element;
}

static LogicalResult hasRole(Operation *op, attn::TensorType type,
                             ArrayRef<TensorRole> roles) {
  if (llvm::is_contained(roles, type.getRole()))
    return success();
  InFlightDiagnostic error = op->emitOpError("tensor must have role ");
  llvm::interleave(
      roles, error,
      [&](TensorRole role) { error << stringifyTensorRole(role); }, " or ");
  return error << ", got " << stringifyTensorRole(type.getRole());
}

/// Columns of a tile are the tensor's head dim.
static LogicalResult sameDim(Operation *op, TileType tile,
                             attn::TensorType tensor) {
  return same(op, "columns", "tile", tile.getCols(), "tensor", tensor.getDim());
}

#define CHECK(...)                                                             \
  if (failed(__VA_ARGS__))                                                     \
    return failure();

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

LogicalResult LoadItemOp::verify() {
  if (getNumResults() != 8 && getNumResults() != 6)
    return emitOpError("has 8 fields (work item) or 6 (merge record), got ")
           << getNumResults();
  return success();
}

LogicalResult RowMapOp::verify() {
  int32_t pack = getPack(), rows = getType().getRows();
  if (pack < 1 || pack > rows)
    return emitOpError("pack must be in [1, rows], got pack ")
           << pack << " and " << rows << " rows";
  return success();
}

LogicalResult SegmentsOp::verify() {
  size_t classes = getBlockMap().getClasses().size();
  if (getNumResults() != classes + 1)
    return emitOpError("the map has ")
           << classes << " classes, so there are " << classes + 1
           << " borders, got " << getNumResults();
  if (getTileK() < 1)
    return emitOpError("tile_k must be at least 1, got ") << getTileK();
  if (getBlockMap().getForm() == MapForm::Opaque && classes > 1 && !getFlags())
    return emitOpError("needs the item's flags: the plan knows the classes of "
                       "an opaque map");
  return success();
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

LogicalResult LoadQueryOp::verify() {
  CHECK(hasRole(*this, getTensor().getType(), TensorRole::Query));
  CHECK(sameRows(*this, "tile", getType(), "row map", getRows().getType()));
  return sameDim(*this, getType(), getTensor().getType());
}

LogicalResult LoadKVOp::verify() {
  CHECK(hasRole(*this, getTensor().getType(),
                {TensorRole::Key, TensorRole::Value}));
  return sameDim(*this, getType(), getTensor().getType());
}

LogicalResult CopyQueryOp::verify() {
  return hasRole(*this, getTensor().getType(), TensorRole::Query);
}

LogicalResult CopyKVOp::verify() {
  return hasRole(*this, getTensor().getType(),
                 {TensorRole::Key, TensorRole::Value});
}

/// `part` must be one of `parts` equal groups of `whole` rows.
static LogicalResult verifySlice(Operation *op, int64_t whole, int64_t part,
                                 int64_t parts) {
  if (parts < 1 || whole % parts != 0)
    return op->emitOpError("cannot cut ")
           << whole << " rows into " << parts << " equal parts";
  if (part != whole / parts)
    return op->emitOpError("gives ")
           << part << " rows but a part has " << whole / parts;
  return success();
}

LogicalResult SliceRowsOp::verify() {
  return verifySlice(*this, getRows().getType().getRows(),
                     getResult().getType().getRows(), getParts());
}

LogicalResult SliceTileOp::verify() {
  TileType whole = getTile().getType(), part = getResult().getType();
  if (whole.getCols() != part.getCols() ||
      whole.getElement() != part.getElement())
    return emitOpError("gives ") << part << " from " << whole;
  return verifySlice(*this, whole.getRows(), part.getRows(), getParts());
}

LogicalResult StoreOp::verify() {
  CHECK(hasRole(*this, getOutput().getType(), TensorRole::Output));
  CHECK(sameRows(*this, "tile", getTile().getType(), "row map",
                 getRows().getType()));
  CHECK(sameDim(*this, getTile().getType(), getOutput().getType()));
  if (bool(getRowLse()) != bool(getLse()))
    return emitOpError("needs both the row lse and the lse tensor, or neither");
  if (!getLse())
    return success();
  CHECK(hasRole(*this, getLse().getType(), TensorRole::Lse));
  return sameRows(*this, "lse", getRowLse().getType(), "row map",
                  getRows().getType());
}

/// A state, or its parts: a tile, with softmax two row vectors too.
static LogicalResult verifyParts(Operation *op, TypeRange types,
                                 StringRef verb) {
  bool whole = types.size() == 1 && !isa<RowVecType>(types[0]);
  bool parts = types.size() == 3 && isa<TileType>(types[0]) &&
               isa<RowVecType>(types[1]) && types[1] == types[2];
  if (!whole && !parts)
    return op->emitOpError()
           << verb << " a state, a tile, or a tile and two row vectors";
  if (parts)
    return sameRows(op, "tile", cast<TileType>(types[0]), "row vector",
                    cast<RowVecType>(types[1]));
  return success();
}

/// Split partials are f32 whatever the output holds.
static LogicalResult verifyPartial(Operation *op, TileType tile,
                                   RowsType rows) {
  CHECK(isF32(op, "partial tile", tile.getElement()));
  return sameRows(op, "tile", tile, "row map", rows);
}

LogicalResult StorePartialOp::verify() {
  TypeRange types = getParts().getTypes();
  CHECK(verifyParts(*this, types, "stores"));
  auto state = dyn_cast<StateType>(types[0]);
  bool softmax =
      state ? state.getNormaliser() == Normaliser::Softmax : types.size() == 3;
  if (softmax != bool(getC()))
    return emitOpError("has ") << types.size() << " parts "
                               << (softmax ? "with a maximum but no factor"
                                           : "without a maximum but a factor");
  if (state)
    return sameRows(*this, "state", state, "row map", getRows().getType());
  return verifyPartial(*this, cast<TileType>(types[0]), getRows().getType());
}

LogicalResult LoadPartialOp::verify() {
  CHECK(verifyParts(*this, getResultTypes(), "gives"));
  return verifyPartial(*this, getO().getType(), getRows().getType());
}

//===----------------------------------------------------------------------===//
// Products and hooks
//===----------------------------------------------------------------------===//

LogicalResult QKOp::verify() {
  TileType q = getQuery().getType(), k = getKey().getType(), s = getType();
  CHECK(same(*this, "columns", "query", q.getCols(), "key", k.getCols()));
  CHECK(sameRows(*this, "query", q, "result", s));
  CHECK(
      same(*this, "rows", "key", k.getRows(), "result's columns", s.getCols()));
  return isF32(*this, "result", s.getElement());
}

LogicalResult PVOp::verify() {
  TileType p = getP().getType(), v = getValue().getType(), o = getType();
  CHECK(same(*this, "columns", "p", p.getCols(), "value's rows", v.getRows()));
  CHECK(sameRows(*this, "p", p, "accumulator", o));
  CHECK(
      same(*this, "columns", "value", v.getCols(), "accumulator", o.getCols()));
  return isF32(*this, "accumulator", o.getElement());
}

LogicalResult ApplyScoreOp::verify() {
  CHECK(isF32(*this, "tile", getType().getElement()));
  return sameRows(*this, "tile", getType(), "row map", getRows().getType());
}

LogicalResult ApplyMaskOp::verify() {
  CHECK(isF32(*this, "tile", getType().getElement()));
  return sameRows(*this, "tile", getType(), "row map", getRows().getType());
}

LogicalResult TransformRowsOp::verify() {
  if (getKind() != HookKind::Query && getKind() != HookKind::Output)
    return emitOpError("applies a query or output hook, got ")
           << stringifyHookKind(getKind());
  CHECK(sameRows(*this, "tile", getTile().getType(), "row map",
                 getRows().getType()));
  CHECK(sameRows(*this, "tile", getTile().getType(), "result", getType()));
  return same(*this, "columns", "tile", getTile().getType().getCols(), "result",
              getType().getCols());
}

static LogicalResult isKeyOrValue(Operation *op, HookKind kind) {
  if (kind == HookKind::Key || kind == HookKind::Value)
    return success();
  return op->emitOpError("applies a key or value hook, got ")
         << stringifyHookKind(kind);
}

LogicalResult RewriteKVOp::verify() { return isKeyOrValue(*this, getKind()); }

LogicalResult TransformKeysOp::verify() {
  CHECK(isKeyOrValue(*this, getKind()));
  CHECK(sameRows(*this, "tile", getTile().getType(), "result", getType()));
  return same(*this, "columns", "tile", getTile().getType().getCols(), "result",
              getType().getCols());
}

//===----------------------------------------------------------------------===//
// The state
//===----------------------------------------------------------------------===//

LogicalResult StateInitOp::verify() {
  return verifyParts(*this, getResultTypes(), "gives");
}

LogicalResult StateStepOp::verify() {
  StateType state = getType();
  TileType s = getS().getType(), v = getValue().getType();
  CHECK(sameRows(*this, "state", state, "scores", s));
  CHECK(same(*this, "columns", "scores", s.getCols(), "value's rows",
             v.getRows()));
  CHECK(same(*this, "columns", "state", state.getCols(), "value", v.getCols()));
  return isF32(*this, "scores", s.getElement());
}

LogicalResult StateFinishOp::verify() {
  StateType state = getState().getType();
  CHECK(sameRows(*this, "state", state, "tile", getTile().getType()));
  CHECK(same(*this, "columns", "state", state.getCols(), "tile",
             getTile().getType().getCols()));
  bool softmax = state.getNormaliser() == Normaliser::Softmax;
  if (softmax != bool(getRowLse()))
    return emitOpError("normaliser ")
           << stringifyNormaliser(state.getNormaliser()) << " has "
           << (softmax ? "an" : "no") << " lse result";
  if (!softmax && getSink())
    return emitOpError("normaliser none has no sink logit");
  if (getSink())
    return sameRows(*this, "state", state, "sink", getSink().getType());
  return success();
}

LogicalResult RowMaxOp::verify() {
  return sameRows(*this, "tile", getTile().getType(), "row vector", getType());
}

LogicalResult LazyMaxOp::verify() {
  return sameRows(*this, "tile", getTile().getType(), "row vector", getType());
}

LogicalResult ExpOp::verify() {
  return sameRows(*this, "tile", getType(), "row vector", getM().getType());
}

LogicalResult RowSumOp::verify() {
  if (getAlpha() && getAlpha().getType() != getType())
    return emitOpError("alpha is ")
           << getAlpha().getType() << " but the sum is " << getType();
  return sameRows(*this, "tile", getTile().getType(), "row vector", getType());
}

LogicalResult RescaleOp::verify() {
  return sameRows(*this, "tile", getType(), "row vector",
                  getFactor().getType());
}

LogicalResult PackOp::verify() {
  TileType tile = getTile().getType();
  CHECK(isF32(*this, "tile", tile.getElement()));
  CHECK(sameRows(*this, "tile", tile, "result", getType()));
  return same(*this, "columns", "tile", tile.getCols(), "result",
              getType().getCols());
}

LogicalResult ApplySinkOp::verify() {
  return sameRows(*this, "row map", getRows().getType(), "result", getType());
}

LogicalResult FinishOp::verify() {
  if (getSink() && getSink().getType() != getM().getType())
    return emitOpError("sink is ")
           << getSink().getType() << " but m is " << getM().getType();
  return sameRows(*this, "tile", getO().getType(), "row vector",
                  getM().getType());
}

LogicalResult MergeStateOp::verify() {
  return sameRows(*this, "tile", getOA().getType(), "row vector",
                  getMA().getType());
}

//===----------------------------------------------------------------------===//
// Speculation
//===----------------------------------------------------------------------===//

LogicalResult SpeculateOp::verifyRegions() {
  Block &body = getBody().front(), &check = getCheck().front();
  if (body.getNumArguments() != 1 ||
      !body.getArgument(0).getType().isInteger(1))
    return emitOpError("body has one argument of type i1");
  auto yield = dyn_cast_or_null<YieldOp>(body.empty() ? nullptr : &body.back());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("body must yield the ") << getNumResults() << " results";
  if (check.getArgumentTypes() != getResultTypes())
    return emitOpError("check takes the ") << getNumResults() << " results";
  auto verdict =
      dyn_cast_or_null<YieldOp>(check.empty() ? nullptr : &check.back());
  if (!verdict || verdict.getNumOperands() != 1 ||
      !verdict.getOperand(0).getType().isInteger(1))
    return emitOpError("check must yield one i1");
  return success();
}

LogicalResult ExactPrefixOp::verify() {
  return sameRows(*this, "row map", getRows().getType(), "row vector",
                  getM().getType());
}

LogicalResult CheckSumsOp::verify() {
  return sameRows(*this, "row map", getRows().getType(), "row vector",
                  getL().getType());
}

LogicalResult CheckOp::verify() {
  CHECK(sameRows(*this, "tile", getO().getType(), "row vector",
                 getL().getType()));
  return sameRows(*this, "tile", getO().getType(), "row map",
                  getRows().getType());
}
