//===- AttnAttrs.cpp - syntax and checks of block maps and schedules ------===//
//
// A block map prints as
//   #attn.block_map<closed, classes = [full, partial], bounds = [...]>
// with `bounds` left out when there are none.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Attn/AttnAttrs.cpp.inc"

namespace attn {
void AttnDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attn/Dialect/Attn/AttnAttrs.cpp.inc"
      >();
}
} // namespace attn

using EmitError = function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// bound
//===----------------------------------------------------------------------===//

LogicalResult BoundAttr::verify(EmitError emitError, BoundKind, int32_t q,
                                int32_t, int32_t, int32_t,
                                DictionaryAttr params) {
  if (q != 0 && q != 1)
    return emitError() << "the coefficient of q must be 0 or 1, got " << q;
  for (NamedAttribute term : params) {
    auto coefficient = llvm::dyn_cast<IntegerAttr>(term.getValue());
    if (!coefficient || !coefficient.getType().isInteger(32))
      return emitError() << "the coefficient of parameter \""
                         << term.getName().getValue() << "\" must be an i32";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// block_map
//===----------------------------------------------------------------------===//

LogicalResult BlockMapAttr::verify(EmitError emitError, MapForm form,
                                   ArrayRef<BlockClass> classes,
                                   ArrayRef<BoundAttr> bounds) {
  switch (form) {
  case MapForm::List:
    return emitError() << "block map form 'list' is not built";
  case MapForm::Opaque:
    if (classes != ArrayRef({BlockClass::Partial}) &&
        classes != ArrayRef({BlockClass::Partial, BlockClass::Full,
                             BlockClass::Partial}))
      return emitError() << "an opaque block map has the class partial, or "
                            "partial, full and partial by the plan";
    if (!bounds.empty())
      return emitError() << "an opaque block map has no bounds, got "
                         << bounds.size();
    return success();
  case MapForm::Closed:
    if (classes.empty())
      return emitError() << "a closed block map has at least one class";
    return success();
  }
  llvm_unreachable("all forms are covered");
}

Attribute BlockMapAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<BlockClass> classes;
  SmallVector<BoundAttr> bounds;
  if (parser.parseLess())
    return {};
  auto form = FieldParser<MapForm>::parse(parser);
  if (failed(form) || parser.parseComma() || parser.parseKeyword("classes") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        auto blockClass = FieldParser<BlockClass>::parse(parser);
        if (succeeded(blockClass))
          classes.push_back(*blockClass);
        return ParseResult(blockClass);
      }))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("bounds") || parser.parseEqual() ||
       parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
         return parser.parseAttribute(bounds.emplace_back());
       })))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<BlockMapAttr>(loc, parser.getContext(), *form,
                                         classes, bounds);
}

void BlockMapAttr::print(AsmPrinter &printer) const {
  printer << '<' << getForm() << ", classes = [";
  llvm::interleaveComma(getClasses(), printer.getStream());
  printer << ']';
  if (!getBounds().empty()) {
    printer << ", bounds = [";
    llvm::interleaveComma(getBounds(), printer.getStream(),
                          [&](BoundAttr bound) { printer << bound; });
    printer << ']';
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// schedule
//===----------------------------------------------------------------------===//

static LogicalResult verifyChoice(EmitError emitError, StringRef field,
                                  StringAttr value,
                                  ArrayRef<StringRef> choices) {
  if (llvm::is_contained(choices, value.getValue()))
    return success();
  return emitError() << field << " must be one of ["
                     << llvm::join(choices, ", ") << "], got \""
                     << value.getValue() << "\"";
}

LogicalResult ScheduleAttr::verify(EmitError emitError, int32_t tileQ,
                                   int32_t tileK, int32_t pack, KVOrder,
                                   SoftmaxKind, int32_t limit, Redo,
                                   int32_t exp2Fma, bool, Type pType,
                                   StringAttr vTail, StringAttr merge,
                                   StringAttr epilogue, Attribute) {
  if (tileQ < 1 || tileK < 1)
    return emitError() << "tile_q and tile_k must be at least 1, got " << tileQ
                       << " and " << tileK;
  if (pack < 1 || pack > tileQ)
    return emitError() << "pack must be in [1, tile_q], got pack " << pack
                       << " and tile_q " << tileQ;
  if (limit < 0 || limit > 126)
    return emitError() << "limit must be in [0, 126], got " << limit;
  if (exp2Fma < 0 || exp2Fma > 16)
    return emitError() << "exp2_fma must be in [0, 16], got " << exp2Fma;
  if (!pType.isF16() && !pType.isBF16() && !pType.isF32())
    return emitError() << "p_type " << pType
                       << " is not built; use f16, bf16 or f32";
  return failure(
      failed(verifyChoice(emitError, "v_tail", vTail,
                          {"zero_fill", "zero_rows", "select_rows"})) ||
      failed(verifyChoice(emitError, "merge", merge, {"kernel"})) ||
      failed(verifyChoice(emitError, "epilogue", epilogue,
                          {"direct", "quad_transpose"})));
}
