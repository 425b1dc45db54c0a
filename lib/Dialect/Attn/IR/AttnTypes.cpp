//===- AttnTypes.cpp - syntax and checks of the types ---------------------===//
//
// Shapes are written like vectors, !attn.tile<128x64xf32>.  Every extent is
// positive and every element type is one that some target computes with, so
// that passes need no such checks.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

#define GET_TYPEDEF_CLASSES
#include "attn/Dialect/Attn/AttnTypes.cpp.inc"

namespace attn {
void AttnDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "attn/Dialect/Attn/AttnTypes.cpp.inc"
      >();
}
} // namespace attn

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

using EmitError = function_ref<InFlightDiagnostic()>;

static LogicalResult verifyFloat(EmitError emitError, Type element) {
  if (element.isF16() || element.isBF16() || element.isF32())
    return success();
  return emitError() << "element type " << element
                     << " is not built; use f16, bf16 or f32";
}

static LogicalResult verifyExtent(EmitError emitError, StringRef what,
                                  int64_t extent) {
  if (extent > 0)
    return success();
  return emitError() << what << " must be at least 1, got " << extent;
}

LogicalResult attn::TensorType::verify(EmitError emitError, TensorRole role,
                                       Type element, int32_t heads, int32_t dim,
                                       Storage storage) {
  if (failed(verifyFloat(emitError, element)) ||
      failed(verifyExtent(emitError, "heads", heads)) ||
      failed(verifyExtent(emitError, "dim", dim)))
    return failure();
  if (role != TensorRole::Lse)
    return success();
  if (!element.isF32())
    return emitError() << "lse is stored as f32, got " << element;
  if (dim != 1)
    return emitError() << "lse has dim 1, got " << dim;
  return success();
}

LogicalResult TableType::verify(EmitError emitError, Type element,
                                ArrayRef<IndexSpace> index) {
  if (!element.isInteger(32) && !element.isF32())
    return emitError() << "table elements are i32 or f32, got " << element;
  if (index.empty() || index.size() > 3)
    return emitError() << "a table has 1 to 3 dimensions, got " << index.size();
  return success();
}

LogicalResult TileType::verify(EmitError emitError, int32_t rows, int32_t cols,
                               Type element) {
  return failure(failed(verifyExtent(emitError, "rows of a tile", rows)) ||
                 failed(verifyExtent(emitError, "columns of a tile", cols)) ||
                 failed(verifyFloat(emitError, element)));
}

LogicalResult RowVecType::verify(EmitError emitError, int32_t rows,
                                 Type element) {
  return failure(failed(verifyExtent(emitError, "rows", rows)) ||
                 failed(verifyFloat(emitError, element)));
}

LogicalResult RowsType::verify(EmitError emitError, int32_t rows) {
  return verifyExtent(emitError, "rows", rows);
}

LogicalResult StateType::verify(EmitError emitError, int32_t rows, int32_t cols,
                                Normaliser) {
  return failure(failed(verifyExtent(emitError, "rows of a state", rows)) ||
                 failed(verifyExtent(emitError, "columns of a state", cols)));
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// `<` d0 x d1 ...; with `trailing` the last extent is followed by an x.
static FailureOr<SmallVector<int64_t, 2>>
parseExtents(AsmParser &parser, size_t rank, bool trailing) {
  SmallVector<int64_t, 2> extents;
  SMLoc loc;
  if (parser.parseLess() || parser.getCurrentLocation(&loc) ||
      parser.parseDimensionList(extents, /*allowDynamic=*/false, trailing))
    return failure();
  if (extents.size() != rank) {
    parser.emitError(loc) << "expected " << rank << " extents, got "
                          << extents.size();
    return failure();
  }
  for (int64_t extent : extents)
    if (extent > INT32_MAX) {
      parser.emitError(loc) << "extent " << extent << " is above " << INT32_MAX;
      return failure();
    }
  return extents;
}

Type TileType::parse(AsmParser &parser) {
  SMLoc loc = parser.getNameLoc();
  auto extents = parseExtents(parser, 2, /*trailing=*/true);
  Type element;
  if (failed(extents) || parser.parseType(element) || parser.parseGreater())
    return {};
  return parser.getChecked<TileType>(loc, parser.getContext(),
                                     int32_t((*extents)[0]),
                                     int32_t((*extents)[1]), element);
}

void TileType::print(AsmPrinter &printer) const {
  printer << '<' << getRows() << 'x' << getCols() << 'x' << getElement() << '>';
}

Type RowVecType::parse(AsmParser &parser) {
  SMLoc loc = parser.getNameLoc();
  auto extents = parseExtents(parser, 1, /*trailing=*/true);
  Type element;
  if (failed(extents) || parser.parseType(element) || parser.parseGreater())
    return {};
  return parser.getChecked<RowVecType>(loc, parser.getContext(),
                                       int32_t((*extents)[0]), element);
}

void RowVecType::print(AsmPrinter &printer) const {
  printer << '<' << getRows() << 'x' << getElement() << '>';
}

Type StateType::parse(AsmParser &parser) {
  SMLoc loc = parser.getNameLoc();
  auto extents = parseExtents(parser, 2, /*trailing=*/false);
  if (failed(extents) || parser.parseComma())
    return {};
  auto normaliser = FieldParser<Normaliser>::parse(parser);
  if (failed(normaliser) || parser.parseGreater())
    return {};
  return parser.getChecked<StateType>(loc, parser.getContext(),
                                      int32_t((*extents)[0]),
                                      int32_t((*extents)[1]), *normaliser);
}

void StateType::print(AsmPrinter &printer) const {
  printer << '<' << getRows() << 'x' << getCols() << ", " << getNormaliser()
          << '>';
}
