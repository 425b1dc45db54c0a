//===- FragSmemOps.td - shared memory, copies, barriers, MMA --------------===//

#ifndef FRAG_SMEM_OPS
#define FRAG_SMEM_OPS

include "FragOps.td"

// A position belongs to a ring with as many slots.
def Frag_PosOfRing : TypesMatchWith<"position has the ring's number of slots", "ring", "pos",
    "::attn::frag::PosType::get($_self.getContext(), ::llvm::cast<::attn::frag::RingType>($_self).getSlots())">;

def Frag_SmemOp : Frag_Op<"smem"> {
  let summary = "a ring in shared memory";
  let description = [{
    `offset` is filled by `frag-allocate-smem`; -1 before.  An `overlay` lies over the
    rings that are none and holds something only between barriers of all who use
    them, while they hold nothing.
  }];
  let arguments = (ins StrAttr:$name, I32Attr:$offset, UnitAttr:$overlay);
  let results = (outs Frag_RingType:$ring);
  let assemblyFormat = "$name `at` $offset (`overlay` $overlay^)? attr-dict `:` type($ring)";
}

def Frag_PosOp : Frag_Op<"pos", [Pure]> {
  let summary = "first slot, with the given phase";
  let arguments = (ins I32Attr:$phase);
  let results = (outs Frag_PosType:$result);
  let assemblyFormat = "`phase` $phase attr-dict `:` type($result)";
}

def Frag_NextOp : Frag_Op<"next", [Pure, AllTypesMatch<["pos", "result"]>]> {
  let summary = "next slot; the phase flips at the wrap";
  let arguments = (ins Frag_PosType:$pos);
  let results = (outs Frag_PosType:$result);
  let assemblyFormat = "$pos attr-dict `:` type($pos)";
}

def Frag_CpAsyncOp : Frag_Op<"cp_async", [SingleBlock]> {
  let summary = "start a copy of rows into a slot by all threads; zero fill";
  let description = [{
    The region maps a row of the slot to (element offset from the base, valid);
    rows that are not valid become 0 and are not read.  16-byte copies: offsets
    are multiples of 16 bytes.  With `cols` a row in memory has fewer columns than
    the ring, and those behind become 0.

    ```
    frag.cp_async %base into %ring[%pos] row (%r) : ... {
      ...
      frag.yield %offset, %valid : i64, i1
    }
    ```
  }];
  let arguments = (ins Frag_PtrType:$base, Frag_RingType:$ring, Frag_PosType:$pos,
                       OptionalAttr<I32Attr>:$cols);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Columns that a row has in memory.
    int32_t getMemoryCols() { return int32_t(getCols().value_or(uint32_t(getRing().getType().getCols()))); }
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$base, "::mlir::Value":$ring, "::mlir::Value":$pos,
    "::mlir::IntegerAttr":$cols,
    "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::Value)>":$body)>];
}

def Frag_CpAsyncCommitOp : Frag_Op<"cp_async_commit"> {
  let summary = "close the group of the copies started since the last commit";
  let assemblyFormat = "attr-dict";
}

def Frag_CpAsyncWaitOp : Frag_Op<"cp_async_wait"> {
  let summary = "wait until at most `pending` of the own groups are in flight";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "`pending` $pending attr-dict";
}

def Frag_CtaSyncOp : Frag_Op<"cta_sync"> {
  let summary = "barrier of all threads of the CTA";
  let assemblyFormat = "attr-dict";
}

def Frag_LdmatrixOp : Frag_Op<"ldmatrix", [Frag_PosOfRing]> {
  let summary = "a slot's tile into registers as operand A";
  let arguments = (ins Frag_RingType:$ring, Frag_PosType:$pos);
  let results = (outs Frag_RegType:$result);
  let assemblyFormat = "$ring `[` $pos `]` attr-dict `:` type($ring) `->` type($result)";
  let hasVerifier = 1;
}

def Frag_MmaOp : Frag_Op<"mma", [AttrSizedOperandSegments, Frag_PosOfRing]> {
  let summary = "one synchronous GEMM: acc + A * B, B fragments by ldmatrix";
  let description = [{
    A is M x K in registers (`mma_a`) or all rows of a slot, of which each k step
    reads its own fragments.  B lies in a ring: `nk` rows are n (S = Q K^T),
    `kn` rows are k and it is read transposed (O = P V).  Without acc it starts
    from 0.  The k loop is inside.  With `part` B is that part of the slot's rows, as
    many as the other operands say: groups of warps take a part each.
  }];
  let arguments = (ins StrAttr:$atom, Frag_BOrderAttr:$b_order, AnyTypeOf<[Frag_RegType, Frag_RingType]>:$a,
                   Optional<Frag_PosType>:$a_pos, Frag_RingType:$ring, Frag_PosType:$pos,
                   Optional<I32>:$part, Optional<Frag_RegType>:$acc);
  let results = (outs Frag_RegType:$result);
  let assemblyFormat = [{
    $atom $b_order $a (`[` $a_pos^ `:` type($a_pos) `]`)? `,` $ring `[` $pos `]` (`part` $part^)? (`acc` $acc^)? attr-dict `:` type($a) `,` type($ring) (`acc` type($acc)^)? `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Operand A as it is in registers when it is multiplied.
    ::attn::frag::RegType getAFragments();
    /// Rows of the slot that B has.
    int32_t getBRows();
    /// Operand B as it is read from the slot, or from the part of it.
    ::attn::layout::Ldmatrix getBLoads();
    /// Byte in the slot at which a part begins: the swizzle is the same from there.
    int64_t getPartBytes();
  }];
  let hasVerifier = 1;
}

#endif // FRAG_SMEM_OPS
