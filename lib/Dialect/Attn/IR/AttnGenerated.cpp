//===- AttnGenerated.cpp - the generated bodies of all ops ----------------===//
//
// Alone in its file: thirty thousand lines of cold code, compiled without
// optimisation.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

/// `normaliser(none)`; softmax is not written.
static ParseResult parseNormaliserClause(OpAsmParser &parser,
                                         attn::NormaliserAttr &normaliser) {
  attn::Normaliser value = attn::Normaliser::Softmax;
  if (succeeded(parser.parseOptionalKeyword("normaliser"))) {
    if (parser.parseLParen())
      return failure();
    auto parsed = FieldParser<attn::Normaliser>::parse(parser);
    if (failed(parsed) || parser.parseRParen())
      return failure();
    value = *parsed;
  }
  normaliser = attn::NormaliserAttr::get(parser.getContext(), value);
  return success();
}

static void printNormaliserClause(OpAsmPrinter &printer, Operation *,
                                  attn::NormaliserAttr normaliser) {
  if (normaliser.getValue() != attn::Normaliser::Softmax)
    printer << "normaliser(" << normaliser.getValue() << ')';
}

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/AttnOps.cpp.inc"

namespace attn {
void AttnDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "attn/Dialect/Attn/AttnOps.cpp.inc"
      >();
}
} // namespace attn
