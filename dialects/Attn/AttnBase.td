//===- AttnBase.td - the attn dialect and its common predicates -----------===//

#ifndef ATTN_BASE
#define ATTN_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def AttnDialect : Dialect {
  let name = "attn";
  let cppNamespace = "::attn";
  let summary = "attention: the problem (level L0) and its tiles (level L1)";
  let description = [{
    Two families of ops.  Problem ops (L0) say what is computed: `variant`,
    `hook`, `param`, `table`, `kernel`, `attention`, `merge`.  Tile ops (L1) say
    in which blocks: `for_work`, `for_kv`, `qk`, `pv` and so on.  Tiles have no
    threads and no buffers.  See dialects/Attn/README.md.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
  private:
    void registerTypes();
    void registerAttributes();
    void registerOps();
  public:
  }];
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class Attn_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::attn";
}

def Attn_TensorRole : Attn_Enum<"TensorRole", "what a tensor holds", [
  I32EnumCase<"Query", 0, "query">, I32EnumCase<"Key", 1, "key">,
  I32EnumCase<"Value", 2, "value">, I32EnumCase<"Output", 3, "output">,
  I32EnumCase<"Lse", 4, "lse">]>;

def Attn_Storage : Attn_Enum<"Storage", "how the tokens of a batch are stored", [
  I32EnumCase<"Dense", 0, "dense">, I32EnumCase<"Ragged", 1, "ragged">,
  I32EnumCase<"Paged", 2, "paged">]>;

def Attn_IndexSpace : Attn_Enum<"IndexSpace", "what indexes a table dimension", [
  I32EnumCase<"Head", 0, "head">, I32EnumCase<"Batch", 1, "batch">,
  I32EnumCase<"Position", 2, "position">, I32EnumCase<"Free", 3, "free">]>;

// The numbers are those of enum attn_hook_kind in include/attn/ABI/HookExpr.h.
def Attn_HookKind : Attn_Enum<"HookKind", "which hook", [
  I32EnumCase<"Score", 0, "score">, I32EnumCase<"Mask", 1, "mask">,
  I32EnumCase<"Sink", 2, "sink">, I32EnumCase<"Query", 3, "query">,
  I32EnumCase<"Key", 4, "key">, I32EnumCase<"Value", 5, "value">,
  I32EnumCase<"Output", 6, "output">]>;

def Attn_Normaliser : Attn_Enum<"Normaliser", "how weights are normalised", [
  I32EnumCase<"Softmax", 0, "softmax">, I32EnumCase<"None", 1, "none">]>;

def Attn_BlockClass : Attn_Enum<"BlockClass", "class of a run of blocks", [
  I32EnumCase<"Skip", 0, "skip">, I32EnumCase<"Partial", 1, "partial">,
  I32EnumCase<"Full", 2, "full">]>;

def Attn_MapForm : Attn_Enum<"MapForm", "form of a block map", [
  I32EnumCase<"Closed", 0, "closed">, I32EnumCase<"List", 1, "list">,
  I32EnumCase<"Opaque", 2, "opaque">]>;

def Attn_BoundKind : Attn_Enum<"BoundKind", "side of a bound", [
  I32EnumCase<"Lower", 0, "lower">, I32EnumCase<"Upper", 1, "upper">]>;

def Attn_KVOrder : Attn_Enum<"KVOrder", "visiting order of key blocks", [
  I32EnumCase<"Descending", 0, "descending">,
  I32EnumCase<"Ascending", 1, "ascending">]>;

def Attn_SoftmaxKind : Attn_Enum<"SoftmaxKind", "reference of the softmax", [
  I32EnumCase<"Exact", 0, "exact">, I32EnumCase<"Frozen", 1, "frozen">,
  I32EnumCase<"Lazy", 2, "lazy">]>;

def Attn_Redo : Attn_Enum<"Redo", "what is done again where frozen weights overflow", [
  I32EnumCase<"Item", 0, "item">, I32EnumCase<"Visit", 1, "visit">]>;

def Attn_Reference : Attn_Enum<"Reference", "row reference of an exponential", [
  I32EnumCase<"Exact", 0, "exact">, I32EnumCase<"Frozen", 1, "frozen">]>;

def Attn_MaskFill : Attn_Enum<"MaskFill", "what a masked element becomes", [
  I32EnumCase<"NegInf", 0, "neg_inf">, I32EnumCase<"Zero", 1, "zero">]>;

class Attn_EnumAttr<EnumInfo info, string mnemonic>
    : EnumAttr<AttnDialect, info, mnemonic>;

def Attn_HookKindAttr : Attn_EnumAttr<Attn_HookKind, "hook_kind">;
def Attn_NormaliserAttr : Attn_EnumAttr<Attn_Normaliser, "normaliser">;
def Attn_IndexSpaceAttr : Attn_EnumAttr<Attn_IndexSpace, "index_space">;
def Attn_BlockClassAttr : Attn_EnumAttr<Attn_BlockClass, "block_class">;
def Attn_KVOrderAttr : Attn_EnumAttr<Attn_KVOrder, "kv_order">;
def Attn_ReferenceAttr : Attn_EnumAttr<Attn_Reference, "reference">;
def Attn_MaskFillAttr : Attn_EnumAttr<Attn_MaskFill, "mask_fill">;

#endif // ATTN_BASE
