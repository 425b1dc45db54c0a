//===- AttnTypes.td - tensors, tables, tiles, states ----------------------===//

#ifndef ATTN_TYPES
#define ATTN_TYPES

include "AttnBase.td"

class Attn_Type<string name, string typeMnemonic> : TypeDef<AttnDialect, name> {
  let mnemonic = typeMnemonic;
}

def Attn_TensorType : Attn_Type<"Tensor", "tensor"> {
  let summary = "a batch of rows in global memory";
  let description = [{
    Heads, head dim, element type and storage are static; strides and lengths are
    run-time values.  `lse` has dim 1.

    ```
    !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
    ```
  }];
  let parameters = (ins "::attn::TensorRole":$role, "::mlir::Type":$element,
                    "int32_t":$heads, "int32_t":$dim, "::attn::Storage":$storage);
  let assemblyFormat = "`<` $role `,` $element `,` `heads` `=` $heads `,` `dim` `=` $dim `,` $storage `>`";
  let genVerifyDecl = 1;
}

def Attn_TableType : Attn_Type<"Table", "table"> {
  let summary = "a device array that hooks read";
  let description = [{
    Each dimension has an index space; the extents are run-time values and every
    index is clamped into [0, extent) before the read.

    ```
    !attn.table<i32, [position]>
    ```
  }];
  let parameters = (ins "::mlir::Type":$element,
                    ArrayRefParameter<"::attn::IndexSpace">:$index);
  let assemblyFormat = "`<` $element `,` `[` $index `]` `>`";
  let genVerifyDecl = 1;
}

def Attn_PlanType : Attn_Type<"Plan", "plan"> {
  let summary = "the work of one launch: items, merges, request records";
}

def Attn_TileType : Attn_Type<"Tile", "tile"> {
  let summary = "a rectangle of values, without threads";
  let description = "`!attn.tile<128x64xf32>`";
  let parameters = (ins "int32_t":$rows, "int32_t":$cols, "::mlir::Type":$element);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Attn_RowVecType : Attn_Type<"RowVec", "rowvec"> {
  let summary = "one value a row of a tile";
  let description = "`!attn.rowvec<128xf32>`";
  let parameters = (ins "int32_t":$rows, "::mlir::Type":$element);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Attn_RowsType : Attn_Type<"Rows", "rows"> {
  let summary = "row map: row of a tile to (live, request, head, position)";
  let description = "`!attn.rows<128>`, made by `attn.row_map`";
  let parameters = (ins "int32_t":$rows);
  let assemblyFormat = "`<` $rows `>`";
  let genVerifyDecl = 1;
}

def Attn_StateType : Attn_Type<"State", "state"> {
  let summary = "attention state of a tile of rows, a commutative monoid";
  let description = [{
    For `softmax` it stands for (O, m, l): unnormalised output, reference and sum,
    with exponents in base 2.  For `none` it is O alone.  The unit is O = 0,
    m = -inf, l = 0.  `attn-expand-softmax` replaces it by its parts.

    ```
    !attn.state<128x128, softmax>
    ```
  }];
  let parameters = (ins "int32_t":$rows, "int32_t":$cols, "::attn::Normaliser":$normaliser);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // ATTN_TYPES
