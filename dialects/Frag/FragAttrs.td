//===- FragAttrs.td - layouts ---------------------------------------------===//

#ifndef FRAG_ATTRS
#define FRAG_ATTRS

include "FragBase.td"

def Frag_LayoutAttr : AttrDef<FragDialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "named atom and number of warps; the tile's shape gives the grid";
  let description = [{
    A thin handle on `attn::layout::Layout::make(atom, rows, cols, warps)`.

    `#frag.layout<"mma_c", warps = 8>`
  }];
  let parameters = (ins "::mlir::StringAttr":$atom, "int32_t":$warps);
  let assemblyFormat = "`<` $atom `,` `warps` `=` $warps `>`";
}

#endif // FRAG_ATTRS
