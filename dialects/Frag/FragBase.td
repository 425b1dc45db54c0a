//===- FragBase.td - the frag dialect -------------------------------------===//

#ifndef FRAG_BASE
#define FRAG_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def FragDialect : Dialect {
  let name = "frag";
  let cppNamespace = "::attn::frag";
  let summary = "fragments: registers, shared memory, instructions (level L3)";
  let description = [{
    Which thread holds what, which instruction, which barrier.  Every register tile
    has an explicit layout from the MMA atoms (include/attn/Layout); hooks end here
    as `frag.map`.  Values of scalar type are uniform over the CTA, except inside
    the region of a map, where they are per element.  See dialects/Frag/README.md.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerTypes();
  }];
}

class Frag_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::attn::frag";
}

def Frag_ReduceKind : Frag_Enum<"ReduceKind", "row reduction", [
  I32EnumCase<"Max", 0, "max">, I32EnumCase<"Sum", 1, "sum">]>;
def Frag_ReduceKindAttr : EnumAttr<FragDialect, Frag_ReduceKind, "reduce">;

def Frag_ReduceScope : Frag_Enum<"ReduceScope", "who takes part in a row reduction", [
  I32EnumCase<"Thread", 0, "thread">, I32EnumCase<"Row", 1, "row">]>;
def Frag_ReduceScopeAttr : EnumAttr<FragDialect, Frag_ReduceScope, "scope">;

// How the B operand of an MMA lies in its ring: rows are n (K of Q K^T) or
// rows are k (V of P V, read transposed).
def Frag_BOrder : Frag_Enum<"BOrder", "order of operand B in shared memory", [
  I32EnumCase<"NK", 0, "nk">, I32EnumCase<"KN", 1, "kn">]>;
def Frag_BOrderAttr : EnumAttr<FragDialect, Frag_BOrder, "b_order">;

#endif // FRAG_BASE
