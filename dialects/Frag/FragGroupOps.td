//===- FragGroupOps.td - groups of warps with tiles of their own ----------===//

#ifndef FRAG_GROUP_OPS
#define FRAG_GROUP_OPS

include "FragAsyncOps.td"

def Frag_GroupRankOp : Frag_Op<"group_rank", [Pure]> {
  let summary = "number of the group of warps that the thread is in";
  let description = [{
    The warps that run the op form `groups` groups of neighbours.  The result is the
    same in a group only, so no collective op may depend on it by control flow.

    `%g = frag.group_rank of 4`
  }];
  let arguments = (ins I32Attr:$groups);
  let results = (outs I32:$result);
  let assemblyFormat = "`of` $groups attr-dict";
}

def Frag_StTileOp : Frag_Op<"st_tile"> {
  let summary = "a tile or row vector of f32 into a part of a ring of one slot";
  let description = [{
    Row r goes to row `part` * rows + r of the ring, columns from `col` on.  Others
    read it behind a barrier of all who take part.

    ```mlir
    frag.kernel @k threads 64 smem 4096 params 200 {
      %cst = arith.constant 1.0 : f32
      %ring = frag.smem "groups" at 0 : !frag.ring<32x32xf32, swizzle = 128, slots = 1>
      %g = frag.group_rank of 2
      %o = frag.splat %cst : f32 -> !frag.reg<16x32xf32, #frag.layout<"mma_c", warps = 2, groups = 2>>
      frag.st_tile %o into %ring part %g
          : !frag.reg<16x32xf32, #frag.layout<"mma_c", warps = 2, groups = 2>>, !frag.ring<32x32xf32, swizzle = 128, slots = 1>
      frag.cta_sync
      %c1 = arith.constant 1 : i32
      %x = frag.ld_tile %ring part %c1
          : !frag.ring<32x32xf32, swizzle = 128, slots = 1> -> !frag.reg<16x32xf32, #frag.layout<"row_c", warps = 2>>
      frag.return
    }
    ```
  }];
  let arguments = (ins Frag_Tile:$value, Frag_RingType:$ring, I32:$part,
                   DefaultValuedAttr<I32Attr, "0">:$col);
  let assemblyFormat = "$value `into` $ring `part` $part (`col` $col^)? attr-dict `:` type($value) `,` type($ring)";
  let hasVerifier = 1;
}

def Frag_LdTileOp : Frag_Op<"ld_tile"> {
  let summary = "a tile or row vector of f32 from a part of a ring of one slot";
  let description = [{
    The other way round; columns of a tile behind the ring's last one are 0.  The
    layout need not be that in which the part was stored.
  }];
  let arguments = (ins Frag_RingType:$ring, I32:$part,
                   DefaultValuedAttr<I32Attr, "0">:$col);
  let results = (outs Frag_Tile:$result);
  let assemblyFormat = "$ring `part` $part (`col` $col^)? attr-dict `:` type($ring) `->` type($result)";
  let hasVerifier = 1;
}

#endif // FRAG_GROUP_OPS
