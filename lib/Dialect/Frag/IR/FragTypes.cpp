//===- FragTypes.cpp - text and legality of types -------------------------===//
//
// A type is checked against the layout library when it is made, so no op has to
// ask again whether its layout exists:
//
//   !frag.reg<100x64xf32, #frag.layout<"mma_c", warps = 8>>
//     -> error with the library's text (rows are not a multiple of ...)
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Frag/IR/Frag.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

#define GET_TYPEDEF_CLASSES
#include "attn/Dialect/Frag/FragTypes.cpp.inc"

void FragDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "attn/Dialect/Frag/FragTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Text: <128x64xf32, ...>
//===----------------------------------------------------------------------===//

static ParseResult parseShape(AsmParser &parser, unsigned rank,
                              SmallVectorImpl<int64_t> &dims, Type &element) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(dims, /*allowDynamic=*/false) ||
      parser.parseType(element))
    return failure();
  if (dims.size() != rank)
    return parser.emitError(loc)
           << "expected " << rank << " dimensions but got " << dims.size();
  for (int64_t dim : dims)
    if (dim <= 0 || dim > 65536)
      return parser.emitError(loc)
             << "dimension " << dim << " is not in 1 to 65536";
  return success();
}

static ParseResult parseNumber(AsmParser &parser, StringRef name,
                               int32_t &value) {
  return failure(parser.parseComma() || parser.parseKeyword(name) ||
                 parser.parseEqual() || parser.parseInteger(value));
}

Type RegType::parse(AsmParser &parser) {
  SmallVector<int64_t> dims;
  Type element;
  LayoutAttr layout;
  if (parseShape(parser, 2, dims, element) || parser.parseComma() ||
      parser.parseAttribute(layout) || parser.parseGreater())
    return {};
  return parser.getChecked<RegType>(parser.getContext(), int32_t(dims[0]),
                                    int32_t(dims[1]), element, layout);
}

void RegType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getCols() << "x" << getElement() << ", "
          << getLayout() << ">";
}

Type VecType::parse(AsmParser &parser) {
  SmallVector<int64_t> dims;
  Type element;
  LayoutAttr layout;
  bool partial = false;
  if (parseShape(parser, 1, dims, element) || parser.parseComma() ||
      parser.parseAttribute(layout))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("partial"))
      return {};
    partial = true;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<VecType>(parser.getContext(), int32_t(dims[0]),
                                    element, layout, partial);
}

void VecType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getElement() << ", " << getLayout();
  if (getPartial())
    printer << ", partial";
  printer << ">";
}

Type RingType::parse(AsmParser &parser) {
  SmallVector<int64_t> dims;
  Type element;
  int32_t swizzle = 0, slots = 0;
  if (parseShape(parser, 2, dims, element) ||
      parseNumber(parser, "swizzle", swizzle) ||
      parseNumber(parser, "slots", slots) || parser.parseGreater())
    return {};
  return parser.getChecked<RingType>(parser.getContext(), int32_t(dims[0]),
                                     int32_t(dims[1]), element, swizzle, slots);
}

void RingType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getCols() << "x" << getElement()
          << ", swizzle = " << getSwizzle() << ", slots = " << getSlots()
          << ">";
}

Type InflightType::parse(AsmParser &parser) {
  SmallVector<int64_t> dims;
  Type element;
  LayoutAttr layout;
  if (parseShape(parser, 2, dims, element) || parser.parseComma() ||
      parser.parseAttribute(layout) || parser.parseGreater())
    return {};
  return parser.getChecked<InflightType>(parser.getContext(), int32_t(dims[0]),
                                         int32_t(dims[1]), element, layout);
}

void InflightType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getCols() << "x" << getElement() << ", "
          << getLayout() << ">";
}

Type ViewType::parse(AsmParser &parser) {
  SmallVector<int64_t> dims;
  Type element;
  int32_t swizzle = 0;
  if (parseShape(parser, 2, dims, element) ||
      parseNumber(parser, "swizzle", swizzle) || parser.parseGreater())
    return {};
  return parser.getChecked<ViewType>(parser.getContext(), int32_t(dims[0]),
                                     int32_t(dims[1]), element, swizzle);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getCols() << "x" << getElement()
          << ", swizzle = " << getSwizzle() << ">";
}

Type TmapType::parse(AsmParser &parser) {
  SmallVector<int64_t> box;
  Type element;
  int32_t swizzle = 0;
  if (parser.parseLess() ||
      parser.parseDimensionList(box, /*allowDynamic=*/false) ||
      parser.parseType(element) || parseNumber(parser, "swizzle", swizzle) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<TmapType>(parser.getContext(), box, element,
                                     swizzle);
}

void TmapType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t dim : getBox())
    printer << dim << "x";
  printer << getElement() << ", swizzle = " << getSwizzle() << ">";
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static bool isSixteenBit(Type type) { return type.isF16() || type.isBF16(); }

std::optional<layout::Layout> LayoutAttr::make(int32_t rows, int32_t cols,
                                               std::string &error) const {
  if (getWarps() <= 0) {
    error =
        "layout needs at least 1 warp but has " + std::to_string(getWarps());
    return std::nullopt;
  }
  if (getGroups() <= 0) {
    error =
        "layout needs at least 1 group but has " + std::to_string(getGroups());
    return std::nullopt;
  }
  return layout::Layout::make(getAtom().getValue(), rows, cols, getWarps(),
                              error, layout::GridOrder::RowMajor, getGroups());
}

LogicalResult RegType::verify(function_ref<InFlightDiagnostic()> emitError,
                              int32_t rows, int32_t cols, Type element,
                              LayoutAttr layout) {
  std::string error;
  auto made = layout.make(rows, cols, error);
  if (!made)
    return emitError() << error;
  // A tile of 32-bit registers may hold 16-bit elements (two registers packed),
  // never the other way round.
  unsigned bits = made->getAtom().elementBits;
  if (!element.isF32() && !isSixteenBit(element))
    return emitError() << "register tile of " << element
                       << " (known: f32, f16, bf16)";
  if (bits == 16 && element.isF32())
    return emitError() << "layout '" << layout.getAtom().getValue()
                       << "' holds elements of 16 bits but " << element
                       << " has 32";
  return success();
}

LogicalResult VecType::verify(function_ref<InFlightDiagnostic()> emitError,
                              int32_t rows, Type element, LayoutAttr layout,
                              bool partial) {
  std::string error;
  const layout::Atom *atom =
      layout::findAtom(layout.getAtom().getValue(), error);
  if (!atom || !layout.make(rows, atom->cols, error))
    return emitError() << error;
  if (!element.isF32() && !element.isInteger(1) && !element.isInteger(32) &&
      !element.isInteger(64))
    return emitError() << "row vector of " << element
                       << " (known: f32, i1, i32, i64)";
  if (partial && !element.isF32() && !element.isInteger(1))
    return emitError()
           << "a partial row vector is a sum of f32 or an or of i1, not of "
           << element;
  return success();
}

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int32_t rows, int32_t cols, Type element,
                               int32_t swizzle, int32_t slots) {
  if (!isSixteenBit(element) && !element.isF32())
    return emitError() << "ring of " << element << " (known: f32, f16, bf16)";
  if (slots < 1 || slots > 64)
    return emitError() << "ring needs 1 to 64 slots but has " << slots;
  std::string error;
  if (!layout::Swizzle::make(rows, cols, bytesOf(element), swizzle, error))
    return emitError() << error;
  return success();
}

LogicalResult InflightType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int32_t rows, int32_t cols, Type element,
                                   LayoutAttr layout) {
  return RegType::verify(emitError, rows, cols, element, layout);
}

RegType InflightType::getReg() const {
  return RegType::get(getContext(), getRows(), getCols(), getElement(),
                      getLayout());
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int32_t rows, int32_t cols, Type element,
                               int32_t swizzle) {
  if (!isSixteenBit(element))
    return emitError() << "view of " << element << " (known: f16, bf16)";
  std::string error;
  if (!layout::Swizzle::make(rows, cols, bytesOf(element), swizzle, error))
    return emitError() << error;
  return success();
}

/// More than this would be data, not a message.
static constexpr int32_t maxWords = 64;

static LogicalResult verifySlots(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef what, int32_t slots, int32_t lanes) {
  if (slots < 1 || slots > 64)
    return emitError() << what << " need 1 to 64 slots but have " << slots;
  if (lanes < 1 || lanes > 32)
    return emitError() << what << " need 1 to 32 lanes but have " << lanes;
  return success();
}

LogicalResult WordsType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int32_t count, int32_t slots, int32_t lanes) {
  if (count < 1 || count > maxWords)
    return emitError() << "words need 1 to " << maxWords
                       << " words a lane but have " << count;
  return verifySlots(emitError, "words", slots, lanes);
}

LogicalResult BarsType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int32_t slots, int32_t lanes) {
  return verifySlots(emitError, "barriers", slots, lanes);
}

LogicalResult TmapType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> box, Type element,
                               int32_t swizzle) {
  if (!isSixteenBit(element) && !element.isF32())
    return emitError() << "tensor map of " << element
                       << " (known: f32, f16, bf16)";
  if (box.empty() || box.size() > 5)
    return emitError() << "tensor map has " << box.size()
                       << " dimensions but 1 to 5 are possible";
  for (int64_t dim : box)
    if (dim < 1 || dim > 256)
      return emitError()
             << "box of " << dim
             << " elements in a dimension but 1 to 256 are possible";
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return emitError() << "swizzle " << swizzle << " (known: 0, 32, 64, 128)";
  int64_t row = box[0] * bytesOf(element);
  if (row % 16 || (swizzle && row > swizzle))
    return emitError() << "innermost box of " << row
                       << " bytes must be a multiple of 16 and at most the "
                          "swizzle of "
                       << swizzle;
  return success();
}

int64_t TmapType::getBoxElements() const {
  int64_t elements = 1;
  for (int64_t dim : getBox())
    elements *= dim;
  return elements;
}

int64_t TmapType::getBoxBytes() const {
  return getBoxElements() * bytesOf(getElement());
}

int64_t RingType::getSlotBytes() const { return swizzleOf(*this).bytes(); }

//===----------------------------------------------------------------------===//
// Into the layout library
//===----------------------------------------------------------------------===//

layout::Layout attn::frag::layoutOf(RegType type) {
  std::string error;
  return *type.getLayout().make(type.getRows(), type.getCols(), error);
}

layout::Layout attn::frag::layoutOf(VecType type) {
  std::string error;
  const layout::Atom *atom =
      layout::findAtom(type.getLayout().getAtom().getValue(), error);
  return *type.getLayout().make(type.getRows(), atom->cols, error);
}

layout::Swizzle attn::frag::swizzleOf(RingType type) {
  std::string error;
  return *layout::Swizzle::make(type.getRows(), type.getCols(),
                                bytesOf(type.getElement()), type.getSwizzle(),
                                error);
}

layout::Ldmatrix attn::frag::operandBOf(RingType ring, BOrder order,
                                        unsigned rows, unsigned warps) {
  std::string error;
  bool nk = order == BOrder::NK;
  unsigned k = nk ? ring.getCols() : rows;
  unsigned n = nk ? rows : ring.getCols();
  auto layout = *layout::Layout::make("mma_b", k, n, warps, error);
  return *layout::Ldmatrix::make(
      layout, nk ? layout::MmaOperand::BFromNK : layout::MmaOperand::BFromKN,
      error);
}

layout::Ldmatrix attn::frag::operandAOf(RegType type) {
  std::string error;
  return *layout::Ldmatrix::make(layoutOf(type), layout::MmaOperand::A, error);
}

unsigned attn::frag::bytesOf(Type scalar) {
  return (scalar.getIntOrFloatBitWidth() + 7) / 8;
}
