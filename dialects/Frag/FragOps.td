//===- FragOps.td - kernels, scalars, maps, reductions --------------------===//

#ifndef FRAG_OPS
#define FRAG_OPS

include "FragTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Frag_Op<string mnemonic, list<Trait> traits = []>
    : Op<FragDialect, mnemonic, traits>;

def Frag_Scalar : AnyTypeOf<[I1, I32, I64, F32, F16, BF16]>;
def Frag_Tile : AnyTypeOf<[Frag_RegType, Frag_VecType]>;

//===----------------------------------------------------------------------===//
// Kernel, parameters, global memory
//===----------------------------------------------------------------------===//

def Frag_KernelOp : Frag_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock, NoRegionArguments]> {
  let summary = "a device entry";
  let description = [{
    `threads` of a CTA, dynamic `smem` bytes (filled by `frag-allocate-smem`) and
    the bytes of the parameter struct (include/attn/ABI/KernelParams.h).  A kernel
    whose warps do not trade registers may say how many a thread may use.  The CTAs
    of a `cluster`, neighbours in the launch, run at the same time and reach each
    other's barriers.

    ```mlir
    frag.kernel @k threads 256 smem 0 params 200 cluster = 2 {
      frag.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I32Attr:$threads, I32Attr:$smem,
                   I32Attr:$params_bytes, OptionalAttr<StrAttr>:$target,
                   OptionalAttr<I32Attr>:$registers,
                   DefaultValuedAttr<I32Attr, "1">:$cluster);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `threads` $threads `smem` $smem `params` $params_bytes
    (`cluster` `=` $cluster^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Frag_ReturnOp : Frag_Op<"return", [Pure, Terminator, HasParent<"::attn::frag::KernelOp">]> {
  let summary = "end of a kernel";
  let assemblyFormat = "attr-dict";
}

def Frag_YieldOp : Frag_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "results of a map's or a copy's region";
  let arguments = (ins Variadic<Frag_Scalar>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

def Frag_ParamOp : Frag_Op<"param", [Pure]> {
  let summary = "field of the parameter struct; the name is for readers";
  let arguments = (ins StrAttr:$name, I32Attr:$offset);
  let results = (outs AnyTypeOf<[I32, I64, F32, Frag_PtrType]>:$result);
  let assemblyFormat = "$name `at` $offset attr-dict `:` type($result)";
}

def Frag_CtaIdOp : Frag_Op<"cta_id", [Pure]> {
  let summary = "number of this CTA";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Frag_CtaCountOp : Frag_Op<"cta_count", [Pure]> {
  let summary = "number of CTAs";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Frag_OpaqueOp : Frag_Op<"opaque"> {
  let summary = "the same scalar, known where the op stands and not before";
  let description = [{
    Keeps address arithmetic in the loop that it is written in: moved out, it
    would hold its registers through every inner loop.
  }];
  let arguments = (ins I32:$value);
  let results = (outs I32:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Frag_OffsetOp : Frag_Op<"offset", [Pure, AllTypesMatch<["base", "result"]>]> {
  let summary = "pointer advanced by a number of elements";
  let arguments = (ins Frag_PtrType:$base, I64:$elements);
  let results = (outs Frag_PtrType:$result);
  let assemblyFormat = "$base `[` $elements `]` attr-dict `:` type($base)";
}

def Frag_LoadScalarOp : Frag_Op<"load_scalar", [Pure,
    TypesMatchWith<"result is the pointer's element", "base", "result",
                   "::llvm::cast<::attn::frag::PtrType>($_self).getElement()">]> {
  let summary = "one element of read-only global memory";
  let description = "Plans, request records and tables do not change during a launch.";
  let arguments = (ins Frag_PtrType:$base, I64:$index);
  let results = (outs Frag_Scalar:$result);
  let assemblyFormat = "$base `[` $index `]` attr-dict `:` type($base)";
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def Frag_SplatOp : Frag_Op<"splat", [Pure]> {
  let summary = "every element is the scalar";
  let arguments = (ins Frag_Scalar:$value);
  let results = (outs Frag_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Frag_MapOp : Frag_Op<"map", [Pure, SingleBlock]> {
  let summary = "elementwise region over tiles and row vectors";
  let description = [{
    Operands and results are register tiles of one layout and shape, and row
    vectors with its rows, which are broadcast along the row.  With no tile among
    operands and results it runs once a row.  Block arguments: one scalar an
    operand, then row: i32, and col: i32 if there is a tile.  The region is pure and
    may use uniform scalars from above.  Hooks end here.

    With `exp2_fma = n`, n of every 16 columns of a thread, evenly spread, have
    their `math.exp2` computed on the FMA pipe (include/attn/Target/Exp2.h).

    ```mlir
    frag.kernel @k threads 32 smem 0 params 200 {
      %c = arith.constant 2.0 : f32
      %z = frag.splat %c : f32 -> !frag.reg<16x8xf32, #frag.layout<"mma_c", warps = 1>>
      %r = frag.map (%x = %z : !frag.reg<16x8xf32, #frag.layout<"mma_c", warps = 1>>) at (%row, %col)
           -> !frag.reg<16x8xf32, #frag.layout<"mma_c", warps = 1>> {
        %y = arith.mulf %x, %c : f32
        frag.yield %y : f32
      }
      frag.return
    }
    ```
  }];
  let arguments = (ins Variadic<Frag_Tile>:$inputs, OptionalAttr<I32Attr>:$exp2_fma);
  let results = (outs Variadic<Frag_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$inputs,
    "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$body)>];
  let extraClassDeclaration = [{
    /// True if an operand or result is a tile (then col is an argument).
    bool hasTile();
  }];
}

def Frag_KeepColumnsOp
    : Frag_Op<"keep_columns", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "columns from `lo` up to `hi` of each row; the rest is `fill`";
  let description = [{
    A mask that is two limits a row: column c of row r stays if lo[r] <= c < hi[r].
    Limits lie between 0 and the number of columns, so a thread subtracts its first
    column once a row and compares with constants.

    `frag.keep_columns %s to %hi else %ninf : !frag.reg<64x128xf32, #C>, !frag.vec<64xi32, #C>`
  }];
  let arguments = (ins Frag_RegType:$tile, Optional<Frag_VecType>:$lo, Frag_VecType:$hi, F32:$fill);
  let results = (outs Frag_RegType:$result);
  let assemblyFormat = [{
    $tile (`from` $lo^)? `to` $hi `else` $fill attr-dict `:` type($tile) `,` type($hi)
      (`,` type($lo)^)?
  }];
  let hasVerifier = 1;
}

def Frag_ReduceRowOp : Frag_Op<"reduce_row", [Pure]> {
  let summary = "reduce each row of a tile";
  let description = [{
    scope thread: each thread reduces the elements that it holds (a partial vector
    for sum); scope row: also over the lanes that share the row.  max ignores NaN.
  }];
  let arguments = (ins Frag_ReduceKindAttr:$kind, Frag_ReduceScopeAttr:$scope, Frag_RegType:$tile);
  let results = (outs Frag_VecType:$result);
  let assemblyFormat = "$kind $scope $tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def Frag_ReduceQuadOp : Frag_Op<"reduce_quad", [Pure]> {
  let summary = "sum the shares of a partial vector over the lanes of its row";
  let arguments = (ins Frag_VecType:$vec);
  let results = (outs Frag_VecType:$result);
  let assemblyFormat = "$vec attr-dict `:` type($vec) `->` type($result)";
  let hasVerifier = 1;
}

def Frag_AnyOp : Frag_Op<"any"> {
  let summary = "true for all of them if any row's element is";
  let description = [{
    Collective.  `cta` holds a CTA barrier.  `warpgroup` holds the named barrier
    `barrier` + rank over the 128 threads of the executing warpgroup; `warp` is a
    vote and holds none.

    `frag.any %v scope warpgroup barrier 1 + %rank : !frag.vec<64xi1, #C>`
  }];
  let arguments = (ins Frag_VecType:$vec,
                   DefaultValuedAttr<Frag_VoteScopeAttr, "::attn::frag::VoteScope::Cta">:$scope,
                   OptionalAttr<I32Attr>:$barrier, Optional<I32>:$rank);
  let results = (outs I1:$result);
  let assemblyFormat = [{
    $vec (`scope` $scope^)? (`barrier` $barrier^)? (`+` $rank^)? attr-dict `:` type($vec)
  }];
  let hasVerifier = 1;
}

def Frag_PackOp : Frag_Op<"pack", [Pure]> {
  let summary = "f32 to 16-bit elements, nearest even; registers stay where they are";
  let description = [{
    `mma_c` to `mma_a` of the same tile is a relabelling (a unit test of the layout
    library); `mma_c` to `mma_c` keeps the layout for a store.

    `here`: the back end leaves it in front of a branch that follows, where other work
    hides it.
  }];
  let arguments = (ins Frag_RegType:$tile, UnitAttr:$here);
  let results = (outs Frag_RegType:$result);
  let assemblyFormat = "$tile (`here` $here^)? attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def Frag_QuadTransposeOp : Frag_Op<"quad_transpose", [Pure]> {
  let summary = "accumulator layout to eight neighbouring columns a lane";
  let description = [{
    The one layout change: 16-bit `mma_c` or `wgmma_c` to `quad16`.  Elements move
    between the four lanes of a row only, so row vectors stay as they are.  The
    result has the next multiple of 32 columns; those that it has more are 0.
  }];
  let arguments = (ins Frag_RegType:$tile);
  let results = (outs Frag_RegType:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Registers and global memory
//===----------------------------------------------------------------------===//

def Frag_LoadOp : Frag_Op<"load"> {
  let summary = "element (r, c) = base[offsets(r) + c]; rows off the mask give 0";
  let description = "With `cols` memory has fewer columns than the tile; those behind are 0.";
  let arguments = (ins Frag_PtrType:$base, Frag_VecType:$offsets, Frag_VecType:$mask,
                       OptionalAttr<I32Attr>:$cols);
  let results = (outs Frag_RegType:$result);
  let assemblyFormat = "$base `,` $offsets `,` $mask (`cols` $cols^)? attr-dict `:` type($base) `,` type($offsets) `,` type($mask) `->` type($result)";
  let hasVerifier = 1;
}

def Frag_StoreOp : Frag_Op<"store"> {
  let summary = "base[offsets(r) + c] = element (r, c) for rows of the mask";
  let description = "With `cols` only the first columns are stored.";
  let arguments = (ins Frag_RegType:$tile, Frag_PtrType:$base, Frag_VecType:$offsets, Frag_VecType:$mask,
                       OptionalAttr<I32Attr>:$cols);
  let assemblyFormat = "$tile `,` $base `,` $offsets `,` $mask (`cols` $cols^)? attr-dict `:` type($tile) `,` type($base) `,` type($offsets) `,` type($mask)";
  let hasVerifier = 1;
}

def Frag_LoadVecOp : Frag_Op<"load_vec"> {
  let summary = "element r = base[offsets(r)]; rows off the mask give 0";
  let arguments = (ins Frag_PtrType:$base, Frag_VecType:$offsets, Frag_VecType:$mask);
  let results = (outs Frag_VecType:$result);
  let assemblyFormat = "$base `,` $offsets `,` $mask attr-dict `:` type($base) `,` type($offsets) `,` type($mask) `->` type($result)";
  let hasVerifier = 1;
}

def Frag_StoreVecOp : Frag_Op<"store_vec"> {
  let summary = "base[offsets(r)] = element r for rows of the mask, by one lane a row";
  let arguments = (ins Frag_VecType:$vec, Frag_PtrType:$base, Frag_VecType:$offsets, Frag_VecType:$mask);
  let assemblyFormat = "$vec `,` $base `,` $offsets `,` $mask attr-dict `:` type($vec) `,` type($base) `,` type($offsets) `,` type($mask)";
  let hasVerifier = 1;
}

#endif // FRAG_OPS
