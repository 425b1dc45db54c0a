//===- AttnAttrs.td - block maps and schedules ----------------------------===//

#ifndef ATTN_ATTRS
#define ATTN_ATTRS

include "AttnBase.td"

class Attn_Attr<string name, string attrMnemonic>
    : AttrDef<AttnDialect, name> {
  let mnemonic = attrMnemonic;
}

def Attn_BoundAttr : Attn_Attr<"Bound", "bound"> {
  let summary = "one linear bound on the visible keys of a row";
  let description = [{
    `upper`: k <= q_coeff * q + constant + q_len_coeff * q_len +
    kv_len_coeff * kv_len + sum of coefficient * parameter; `lower`: k >= the
    same.  `q` is 0 or 1, so both bounds grow with q and the tightest and loosest
    row of a tile are its first and last.  Bounds are inclusive.

    The window `q - k < w` is

    ```
    #attn.bound<lower, q = 1, constant = 1, q_len = 0, kv_len = 0, params = {window = -1 : i32}>
    ```
  }];
  let parameters = (ins "::attn::BoundKind":$kind, "int32_t":$q,
                    "int32_t":$constant, "int32_t":$q_len, "int32_t":$kv_len,
                    "::mlir::DictionaryAttr":$params);
  let assemblyFormat = "`<` $kind `,` struct($q, $constant, $q_len, $kv_len, $params) `>`";
  let genVerifyDecl = 1;
}

def Attn_BlockMapAttr : Attn_Attr<"BlockMap", "block_map"> {
  let summary = "which key blocks a tile of rows visits, and how";
  let description = [{
    `closed`: a fixed list of classes with integer code for the borders, from
    `bounds`.  `opaque`: partial, full, partial, with borders from the plan, which
    narrows the slice and knows its whole blocks where it can look at the tables;
    or one partial segment over the slice.  `list` (ranges from the plan) is reserved.

    ```
    #attn.block_map<closed, classes = [full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>]>
    ```
  }];
  let parameters = (ins "::attn::MapForm":$form,
                    ArrayRefParameter<"::attn::BlockClass">:$classes,
                    OptionalArrayRefParameter<"::attn::BoundAttr">:$bounds);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Attn_Bool : AttrOrTypeParameter<"bool", "flag"> {
  let printer = "$_printer << ($_self ? \"true\" : \"false\")";
}

def Attn_ScheduleAttr : Attn_Attr<"Schedule", "schedule"> {
  let summary = "every scheduling decision of a kernel";
  let description = [{
    Chosen by one pass (`attn-select-schedule`), printed in full, overridable
    field by field (`attnc --schedule='tile_k=64'`), only carried out by the
    passes below.  The `pipe` field is the part that does not name attention; it
    is `#pipe.schedule` for targets with roles and unit for the CPU.

    - `tile_q`, `tile_k`: rows and keys of a block;
    - `pack`: query heads of one KV head in a tile, 1 or the group size;
    - `kv_order`: visiting order of the blocks;
    - `softmax`, `limit`: row reference of the exponential, and an exponent: of the
      frozen check's limit, or of the largest weight by a lazy reference;
    - `redo`: what is done again where weights of a frozen reference overflow: the
      `item`, from its start, or the `visit`, and those after it are exact;
    - `exp2_fma`: how many of 16 columns of a block have their exponentials
      computed on the FMA pipe while the reference is frozen, 0 to 16;
    - `fold_scale`: the scale is a factor of the exponent (requires scale > 0);
    - `p_type`: element type in which P enters the second product;
    - `v_tail`: how rows of V past the slice become 0 (`zero_fill`, `zero_rows`,
      `select_rows`);
    - `merge`: `kernel`, split partials are merged by a second launch;
    - `epilogue`: how O reaches global memory (`direct`, `quad_transpose`).
  }];
  let parameters = (ins "int32_t":$tile_q, "int32_t":$tile_k, "int32_t":$pack,
                    "::attn::KVOrder":$kv_order,
                    "::attn::SoftmaxKind":$softmax, "int32_t":$limit,
                    DefaultValuedParameter<"::attn::Redo", "Redo::Item">:$redo,
                    DefaultValuedParameter<"int32_t", "0">:$exp2_fma,
                    Attn_Bool:$fold_scale, "::mlir::Type":$p_type,
                    "::mlir::StringAttr":$v_tail, "::mlir::StringAttr":$merge,
                    "::mlir::StringAttr":$epilogue, "::mlir::Attribute":$pipe);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // ATTN_ATTRS
