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
    as `frag.map`.  Values of scalar type are uniform over the threads that run the
    code (the CTA, or the warps of a role), except inside the region of a map, where
    they are per element.  See dialects/Frag/README.md.
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

def Frag_VoteScope : Frag_Enum<"VoteScope", "who takes part in a vote", [
  I32EnumCase<"Cta", 0, "cta">, I32EnumCase<"Warpgroup", 1, "warpgroup">,
  I32EnumCase<"Warp", 2, "warp">]>;
def Frag_VoteScopeAttr : EnumAttr<FragDialect, Frag_VoteScope, "vote_scope">;

def Frag_RegistersDir : Frag_Enum<"RegistersDir", "give registers back or ask for more", [
  I32EnumCase<"Dec", 0, "dec">, I32EnumCase<"Inc", 1, "inc">]>;
def Frag_RegistersDirAttr : EnumAttr<FragDialect, Frag_RegistersDir, "registers_dir">;

def Frag_FenceKind : Frag_Enum<"FenceKind", "what a fence orders", [
  I32EnumCase<"ProxyAsyncShared", 0, "proxy_async_shared">]>;
def Frag_FenceKindAttr : EnumAttr<FragDialect, Frag_FenceKind, "fence_kind">;

def Frag_CacheHint : Frag_Enum<"CacheHint", "how long the L2 cache should keep a line", [
  I32EnumCase<"EvictFirst", 0, "evict_first">, I32EnumCase<"EvictLast", 1, "evict_last">]>;
def Frag_CacheHintAttr : EnumAttr<FragDialect, Frag_CacheHint, "cache_hint">;

// Dimensions of a tensor map; see frag.tmap.
def Frag_TmapDim : Frag_Enum<"TmapDim", "dimension of a tensor map", [
  I32EnumCase<"Dim", 0, "dim">, I32EnumCase<"Group", 1, "group">,
  I32EnumCase<"Token", 2, "token">, I32EnumCase<"Head", 3, "head">,
  I32EnumCase<"Batch", 4, "batch">]>;

#endif // FRAG_BASE
