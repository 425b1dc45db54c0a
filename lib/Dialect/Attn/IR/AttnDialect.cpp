//===- AttnDialect.cpp - registration of the dialect ----------------------===//
//
// The dialect's types and attributes are registered by AttnTypes.cpp and
// AttnAttrs.cpp, so that each file holds the definitions it instantiates.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"

#include "attn/Dialect/Attn/AttnDialect.cpp.inc"
#include "attn/Dialect/Attn/AttnEnums.cpp.inc"

namespace attn {
void AttnDialect::initialize() {
  registerTypes();
  registerAttributes();
  registerOps();
}
} // namespace attn
