//===- FragDialect.cpp - registration and generated classes ---------------===//
//
// Everything of the dialect that TableGen writes for ops, enums and attributes;
// what is written by hand is in the files beside this one.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Frag/IR/Frag.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn::frag;

#include "attn/Dialect/Frag/FragDialect.cpp.inc"
#include "attn/Dialect/Frag/FragEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Frag/FragAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "attn/Dialect/Frag/FragOps.cpp.inc"

void FragDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attn/Dialect/Frag/FragAttrs.cpp.inc"
      >();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "attn/Dialect/Frag/FragOps.cpp.inc"
      >();
}
