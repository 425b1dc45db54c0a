//===- FragRewriteOps.td - new elements from whole rows -------------------===//

#ifndef FRAG_REWRITE_OPS
#define FRAG_REWRITE_OPS

include "FragSmemOps.td"

def Frag_ElementOp : Frag_Op<"element", [Pure,
    ParentOneOf<["RewriteRowsOp", "RewriteTileOp"]>]> {
  let summary = "an element of the row as it was before the rewrite, as f32";
  let description = "The index is clamped into the row.";
  let arguments = (ins I32:$index);
  let results = (outs F32:$result);
  let assemblyFormat = "$index attr-dict";
}

class Frag_RewriteOp<string mnemonic, list<Trait> traits = []>
    : Frag_Op<mnemonic, traits # [SingleBlock]> {
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Frag_RewriteRowsOp : Frag_RewriteOp<"rewrite_rows"> {
  let summary = "the executing threads rewrite rows [begin, end) of a slot in place";
  let description = [{
    The region gives element (row, col) of the new row and may read every element of
    the old one.  It is pure and may use uniform scalars from above.  The new
    element is rounded to the ring's type, nearest even.

    A warp has whole rows, so that nothing but the warp stands between the last read
    of a row and its first write; others see the rows behind a barrier, and wgmma
    behind a fence too.

    ```mlir
    frag.kernel @k threads 32 smem 4096 params 200 {
      %c0 = arith.constant 0 : i32
      %c16 = arith.constant 16 : i32
      %c32 = arith.constant 32 : i32
      %k = frag.smem "k" at 0 : !frag.ring<32x64xbf16, swizzle = 128, slots = 1>
      %p = frag.pos phase 0 : !frag.pos<slots = 1>
      frag.rewrite_rows %k[%p] from %c0 to %c16 at (%row, %col)
          : !frag.ring<32x64xbf16, swizzle = 128, slots = 1> {
        %other = arith.xori %col, %c32 : i32
        %x = frag.element %other
        frag.yield %x : f32
      }
      frag.return
    }
    ```
  }];
  let arguments = (ins Frag_RingType:$ring, Frag_PosType:$pos, I32:$begin, I32:$end);
  let builders = [OpBuilder<(ins "::mlir::Value":$ring, "::mlir::Value":$pos,
      "::mlir::Value":$begin, "::mlir::Value":$end,
      "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$body)>];
}

def Frag_RewriteTileOp : Frag_RewriteOp<"rewrite_tile", [AllTypesMatch<["tile", "result"]>]> {
  let summary = "new elements of an f32 tile in registers from its whole rows";
  let description = [{
    Like `frag.rewrite_rows`.  A region that reads elements other than its own takes
    them through a ring of one slot, in which each warp has as many rows as its
    lanes hold at a time; nobody else uses it.

    `%y = frag.rewrite_tile %x through %rows at (%row, %col) : !frag.reg<...>, !frag.ring<...> { ... }`
  }];
  let arguments = (ins Frag_RegType:$tile, Optional<Frag_RingType>:$scratch);
  let results = (outs Frag_RegType:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$tile, "::mlir::Value":$scratch,
      "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$body)>];
  let extraClassDeclaration = [{
    /// Rows of a tile that the lanes of a warp hold at a time, one register each.
    static int32_t rowsAtATime(::attn::frag::RegType tile);
    /// True if the region reads an element other than the one that it makes.
    bool readsOthers();
  }];
}

#endif // FRAG_REWRITE_OPS
