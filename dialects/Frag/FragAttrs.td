//===- FragAttrs.td - layouts and roles -----------------------------------===//

#ifndef FRAG_ATTRS
#define FRAG_ATTRS

include "FragBase.td"

def Frag_LayoutAttr : AttrDef<FragDialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "named atom and number of warps; the tile's shape gives the grid";
  let description = [{
    A thin handle on `attn::layout::Layout::make(atom, rows, cols, warps)`.  The warps
    may form groups, each of which holds a tile of its own.

    `#frag.layout<"mma_c", warps = 8>`, `#frag.layout<"mma_c", warps = 4, groups = 4>`
  }];
  let parameters = (ins "::mlir::StringAttr":$atom, "int32_t":$warps,
                    DefaultValuedParameter<"int32_t", "1">:$groups);
  let assemblyFormat = "`<` $atom `,` `warps` `=` $warps (`,` `groups` `=` $groups^)? `>`";
  let extraClassDeclaration = [{
    /// The layout of a tile.
    std::optional<::attn::layout::Layout> make(int32_t rows, int32_t cols, std::string &error) const;
  }];
}

def Frag_RoleAttr : AttrDef<FragDialect, "Role"> {
  let mnemonic = "role";
  let summary = "the warps of a role";
  let description = [{
    Replica r has the `warps` warps from `first_warp + r * warps` on.  Only the first
    `active` of them run the region; the others give their registers back with the
    region's leading `frag.set_registers` and are done.

    `#frag.role<"compute", first_warp = 4, warps = 4, active = 4, replicas = 2>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int32_t":$first_warp,
                    "int32_t":$warps, "int32_t":$active, "int32_t":$replicas);
  let assemblyFormat = "`<` $name `,` struct($first_warp, $warps, $active, $replicas) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The warp behind the last one.
    int32_t getEndWarp() const { return getFirstWarp() + getWarps() * getReplicas(); }
  }];
}

#endif // FRAG_ATTRS
