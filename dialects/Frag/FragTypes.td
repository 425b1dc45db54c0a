//===- FragTypes.td - registers, shared memory, barriers, tensor maps -----===//

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
    `partial`: each of the threads that share a row holds its own share of a sum, or of
    a question about one (i1).

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

def Frag_InflightType : Frag_Type<"Inflight", "inflight"> {
  let summary = "accumulator of a product under way; only frag.wgmma_wait gives it";
  let description = [{ `!frag.inflight<64x128xf32, #frag.layout<"wgmma_c", warps = 4>>` }];
  let parameters = (ins "int32_t":$rows, "int32_t":$cols, "::mlir::Type":$element,
                    "::attn::frag::LayoutAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The tile that the wait gives.
    ::attn::frag::RegType getReg() const;
  }];
}

def Frag_ViewType : Frag_Type<"View", "view"> {
  let summary = "rows of a ring's slot as an operand in shared memory";
  let description = [{ `!frag.view<64x128xbf16, swizzle = 128>` }];
  let parameters = (ins "int32_t":$rows, "int32_t":$cols, "::mlir::Type":$element,
                    "int32_t":$swizzle);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Frag_WordsType : Frag_Type<"Words", "words"> {
  let summary = "32-bit integers in shared memory: [slot][lane][word]";
  let description = [{
    A lane is the share of one replica of the producer.

    `!frag.words<16, slots = 2>`, `!frag.words<1, slots = 3, lanes = 2>`
  }];
  let parameters = (ins "int32_t":$count, "int32_t":$slots,
                    DefaultValuedParameter<"int32_t", "1">:$lanes);
  let assemblyFormat = "`<` $count `,` `slots` `=` $slots (`,` `lanes` `=` $lanes^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getBytes() const { return int64_t(4) * getCount() * getSlots() * getLanes(); }
  }];
}

def Frag_BarsType : Frag_Type<"Bars", "bars"> {
  let summary = "mbarriers in shared memory: [slot][lane]";
  let description = "`!frag.bars<slots = 2>`, `!frag.bars<slots = 3, lanes = 2>`";
  let parameters = (ins "int32_t":$slots, DefaultValuedParameter<"int32_t", "1">:$lanes);
  let assemblyFormat = "`<` `slots` `=` $slots (`,` `lanes` `=` $lanes^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getBytes() const { return int64_t(8) * getSlots() * getLanes(); }
  }];
}

def Frag_TmapType : Frag_Type<"Tmap", "tmap"> {
  let summary = "tensor map: moves boxes of elements, innermost dimension first";
  let description = [{ `!frag.tmap<64x128x1x1xbf16, swizzle = 128>` }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$box, "::mlir::Type":$element,
                    "int32_t":$swizzle);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements of a box.
    int64_t getBoxElements() const;
    /// Bytes of a box, which is a panel of the slot that is copied to.
    int64_t getBoxBytes() const;
  }];
}

#endif // FRAG_TYPES
