//===- FragTypes.td - register tiles, row vectors, rings ------------------===//

#ifndef FRAG_TYPES
#define FRAG_TYPES

include "FragAttrs.td"

class Frag_Type<string name, string typeMnemonic> : TypeDef<FragDialect, name> {
  let mnemonic = typeMnemonic;
}

def Frag_RegType : Frag_Type<"Reg", "reg"> {
  let summary = "register tile with a layout";
  let description = [{ `!frag.reg<128x64xf32, #frag.layout<"mma_c", warps = 8>>` }];
  let parameters = (ins "int32_t":$rows, "int32_t":$cols, "::mlir::Type":$element,
                    "::attn::frag::LayoutAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Frag_VecType : Frag_Type<"Vec", "vec"> {
  let summary = "one value a row, held by every thread that holds part of the row";
  let description = [{
    `partial`: each of the threads that share a row holds its own share of a sum.

    `!frag.vec<128xf32, #frag.layout<"mma_c", warps = 8>, partial>`
  }];
  let parameters = (ins "int32_t":$rows, "::mlir::Type":$element,
                    "::attn::frag::LayoutAttr":$layout, "bool":$partial);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Frag_RingType : Frag_Type<"Ring", "ring"> {
  let summary = "slots of a shared-memory tile: [slot][panel][row][swizzle bytes]";
  let description = [{ `!frag.ring<64x128xbf16, swizzle = 128, slots = 2>` }];
  let parameters = (ins "int32_t":$rows, "int32_t":$cols, "::mlir::Type":$element,
                    "int32_t":$swizzle, "int32_t":$slots);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of one slot.
    int64_t getSlotBytes() const;
    /// Bytes of all slots.
    int64_t getBytes() const { return getSlotBytes() * getSlots(); }
  }];
}

def Frag_PosType : Frag_Type<"Pos", "pos"> {
  let summary = "(slot, phase) in a ring: the only source of phases";
  let parameters = (ins "int32_t":$slots);
  let assemblyFormat = "`<` `slots` `=` $slots `>`";
}

def Frag_PtrType : Frag_Type<"Ptr", "ptr"> {
  let summary = "pointer to elements in global memory";
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
}

#endif // FRAG_TYPES
