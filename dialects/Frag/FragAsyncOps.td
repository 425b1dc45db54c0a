//===- FragAsyncOps.td - roles, barriers, TMA, wgmma ----------------------===//

#ifndef FRAG_ASYNC_OPS
#define FRAG_ASYNC_OPS

include "FragRewriteOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

// A position belongs to words or barriers with as many slots.
class Frag_PosOf<string storage, string pos, string type>
    : TypesMatchWith<"position has the number of slots of " # storage, storage, pos,
        "::attn::frag::PosType::get($_self.getContext(), ::llvm::cast<::attn::frag::"
        # type # ">($_self).getSlots())">;
def Frag_PosOfBars : Frag_PosOf<"bars", "pos", "BarsType">;
def Frag_PosOfWords : Frag_PosOf<"words", "pos", "WordsType">;

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

def Frag_WordsOp : Frag_Op<"words"> {
  let summary = "words in shared memory";
  let description = "`offset` is filled by `frag-allocate-smem`; -1 before.";
  let arguments = (ins StrAttr:$name, I32Attr:$offset);
  let results = (outs Frag_WordsType:$words);
  let assemblyFormat = "$name `at` $offset attr-dict `:` type($words)";
}

def Frag_BarsOp : Frag_Op<"bars"> {
  let summary = "mbarriers in shared memory; `count` arrivals complete a phase";
  let description = [{
    A phase is complete when `count` arrivals and all expected bytes are in.
    `offset` is filled by `frag-allocate-smem`; -1 before.

    `%kf = frag.bars "k.full" at 196800 count 1 : !frag.bars<slots = 2>`
  }];
  let arguments = (ins StrAttr:$name, I32Attr:$offset, I32Attr:$count);
  let results = (outs Frag_BarsType:$bars);
  let assemblyFormat = "$name `at` $offset `count` $count attr-dict `:` type($bars)";
  let hasVerifier = 1;
}

def Frag_InitOp : Frag_Op<"init"> {
  let summary = "words become 0, barriers start their first phase; then a CTA barrier";
  let description = [{
    Thread 0 writes, a fence makes the barriers known to the asynchronous proxy, and
    all threads of the CTA meet.  Stands before the roles part.
  }];
  let arguments = (ins Variadic<AnyTypeOf<[Frag_WordsType, Frag_BarsType]>>:$storage);
  let assemblyFormat = "$storage attr-dict `:` type($storage)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

def Frag_RoleDispatchOp : Frag_Op<"role_dispatch", [
    SingleBlock, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "each role's warps run its region";
  let description = [{
    One branch on a shuffled warpgroup number.  A role with replicas has the
    replica's number as argument; layouts inside a region cover one replica's active
    warps.  Warps of no role skip the op.  The op is the kernel's last before
    `frag.return`, so roles never join.

    ```
    frag.role_dispatch [#frag.role<"load", ...>, #frag.role<"compute", ...>] {
      ...
    }, (%rank) {
      ...
    }
    ```
  }];
  let arguments = (ins ArrayAttr:$roles);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The role of a region.
    ::attn::frag::RoleAttr getRole(unsigned index) {
      return ::llvm::cast<::attn::frag::RoleAttr>(getRoles()[index]);
    }
  }];
}

def Frag_SetRegistersOp : Frag_Op<"set_registers"> {
  let summary = "registers a thread of the executing warpgroup from here on";
  let description = [{
    `dec` gives registers back at once, `inc` waits until enough have been given
    back.  All warps of the role execute it, the inactive ones too.

    `frag.set_registers inc 232`
  }];
  let arguments = (ins Frag_RegistersDirAttr:$dir, I32Attr:$count);
  let assemblyFormat = "$dir $count attr-dict";
  let hasVerifier = 1;
}

def Frag_ElectOp : Frag_Op<"elect", [SingleBlock, NoRegionArguments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "lane 0 of each executing warp runs the region";
  let description = [{
    Always the same lane: later stores rely on its program order.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def Frag_MbarWaitOp : Frag_Op<"mbar_wait", [Frag_PosOfBars]> {
  let summary = "every thread: until the phase of the position is over, on all lanes";
  let description = [{
    The slot's barrier must have left the phase with the position's parity: a reader
    starts at phase 0, a writer at 1, whose first pass falls through.
  }];
  let arguments = (ins Frag_BarsType:$bars, Frag_PosType:$pos);
  let assemblyFormat = "$bars `[` $pos `]` attr-dict `:` type($bars)";
}

def Frag_MbarArriveOp : Frag_Op<"mbar_arrive", [Frag_PosOfBars, AttrSizedOperandSegments]> {
  let summary = "lane 0 of each executing warp arrives once";
  let description = [{
    `sync`: behind a barrier of the warp, so that all its lanes have done what they
    did before.  `lane` of the barriers: needed if they have several.  `cta`: at the
    barriers of that CTA of the cluster; without it at the own ones.

    `frag.mbar_arrive %empty[%p] cta %peer : !frag.bars<slots = 2>`
  }];
  let arguments = (ins Frag_BarsType:$bars, Frag_PosType:$pos, Optional<I32>:$lane,
                   Optional<I32>:$cta, UnitAttr:$sync);
  let assemblyFormat = "$bars `[` $pos `]` (`lane` $lane^)? (`cta` $cta^)? (`sync` $sync^)? attr-dict `:` type($bars)";
  let builders = [OpBuilder<(ins "::mlir::Value":$bars, "::mlir::Value":$pos,
      "::mlir::Value":$lane, "bool":$sync), [{
    build($_builder, $_state, bars, pos, lane, /*cta=*/::mlir::Value(), sync);
  }]>];
  let hasVerifier = 1;
}

def Frag_MbarArriveOneOp : Frag_Op<"mbar_arrive_one", [Frag_PosOfBars, AttrSizedOperandSegments]> {
  let summary = "the elected thread arrives once";
  let description = "`lane` and `cta` as in `frag.mbar_arrive`.";
  let arguments = (ins Frag_BarsType:$bars, Frag_PosType:$pos, Optional<I32>:$lane,
                   Optional<I32>:$cta);
  let assemblyFormat = "$bars `[` $pos `]` (`lane` $lane^)? (`cta` $cta^)? attr-dict `:` type($bars)";
  let builders = [OpBuilder<(ins "::mlir::Value":$bars, "::mlir::Value":$pos,
      "::mlir::Value":$lane), [{
    build($_builder, $_state, bars, pos, lane, /*cta=*/::mlir::Value());
  }]>];
  let hasVerifier = 1;
}

def Frag_MbarExpectOp : Frag_Op<"mbar_expect", [Frag_PosOfBars]> {
  let summary = "the elected thread arrives once and `bytes` more must come";
  let arguments = (ins Frag_BarsType:$bars, Frag_PosType:$pos, I32Attr:$bytes);
  let assemblyFormat = "$bars `[` $pos `]` `bytes` $bytes attr-dict `:` type($bars)";
  let hasVerifier = 1;
}

def Frag_BarrierSyncOp : Frag_Op<"barrier_sync"> {
  let summary = "named barrier id + rank: arrive and wait for `threads` threads";
  let description = [{
    Id 0 is the CTA barrier and not available here.

    `frag.barrier_sync 1 + %rank threads 256`
  }];
  let arguments = (ins I32Attr:$id, Optional<I32>:$rank, I32Attr:$threads);
  let assemblyFormat = "$id (`+` $rank^)? `threads` $threads attr-dict";
  let hasVerifier = 1;
}

def Frag_BarrierArriveOp : Frag_Op<"barrier_arrive"> {
  let summary = "named barrier id + rank: arrive without waiting";
  let arguments = (ins I32Attr:$id, Optional<I32>:$rank, I32Attr:$threads);
  let assemblyFormat = "$id (`+` $rank^)? `threads` $threads attr-dict";
  let hasVerifier = 1;
}

def Frag_FenceOp : Frag_Op<"fence"> {
  let summary = "every thread: own writes before are seen by the other proxy after";
  let description = [{
    `proxy_async_shared`: stores to shared memory before reads by wgmma or copies by
    TMA.
  }];
  let arguments = (ins Frag_FenceKindAttr:$kind);
  let assemblyFormat = "$kind attr-dict";
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

def Frag_ClusterRankOp : Frag_Op<"cluster_rank", [Pure]> {
  let summary = "number of this CTA in its cluster";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Frag_ClusterSyncOp : Frag_Op<"cluster_sync"> {
  let summary = "every thread arrives at the cluster's barrier and waits";
  let description = [{
    Until all threads of all CTAs of the cluster have come or ended.  One must lie
    behind `frag.init`, before another CTA's barriers are used, and one behind the
    last use, so that no CTA ends too early.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Words and rows in shared memory
//===----------------------------------------------------------------------===//

def Frag_LdWordsOp : Frag_Op<"ld_words", [Frag_PosOfWords,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "every thread reads the first `count` words of each lane";
  let description = "`%w:14 = frag.ld_words 14 of %work[%p] : !frag.words<16, slots = 2>`";
  let arguments = (ins I32Attr:$count, Frag_WordsType:$words, Frag_PosType:$pos);
  let results = (outs Variadic<I32>:$values);
  let assemblyFormat = "$count `of` $words `[` $pos `]` attr-dict `:` type($words)";
  let hasVerifier = 1;
}

def Frag_StWordsOp : Frag_Op<"st_words", [Frag_PosOfWords, AttrSizedOperandSegments]> {
  let summary = "lane 0 of each executing warp writes the first words of a lane";
  let description = [{
    Behind a barrier of the warp, so that all its lanes have read what it
    overwrites; the elected thread alone needs none.  Without `lane` it writes the
    same values on every lane.  Warps may write the same values at once.
  }];
  let arguments = (ins Variadic<I32>:$values, Frag_WordsType:$words, Frag_PosType:$pos,
                   Optional<I32>:$lane);
  let assemblyFormat = [{
    `(` $values `)` `to` $words `[` $pos `]` (`lane` $lane^)? attr-dict `:` type($words)
  }];
  let hasVerifier = 1;
}

def Frag_ZeroRowsOp : Frag_Op<"zero_rows", [Frag_PosOfRing]> {
  let summary = "the executing threads write 0 into the slot's rows from `first` on";
  let description = "Plain stores: a fence and an arrival make them visible to wgmma.";
  let arguments = (ins Frag_RingType:$ring, Frag_PosType:$pos, I32:$first);
  let assemblyFormat = "$ring `[` $pos `]` `from` $first attr-dict `:` type($ring)";
}

//===----------------------------------------------------------------------===//
// Copies by TMA
//===----------------------------------------------------------------------===//

def Frag_TmapOp : Frag_Op<"tmap", [Pure]> {
  let summary = "tensor map in the parameter struct, with the recipe to make it";
  let description = [{
    128 bytes at `offset`, filled by the runtime for tensor `q`, `k` or `v` (field
    names of include/attn/ABI/KernelParams.h) when its strides are known.  A
    coordinate counts steps of its dimension:

    | dim | extent | stride in elements |
    | --- | --- | --- |
    | `dim` | head dim | 1 |
    | `group` | `pack` | head stride |
    | `token` | ragged: tokens of the tensor, dense: of the longest request | token stride |
    | `head` | heads / `pack` | `pack` times the head stride |
    | `batch` | ragged: 1, dense: requests | batch stride |

    Dimensions are named innermost first, `dim` is the first; the box of the type
    has as many, and `dim` of it is one panel of the ring.  Elements outside the
    extents become 0 and still count as bytes.

    ```
    %q = frag.tmap "q" at 256 dims ["dim", "group", "token", "head", "batch"] pack 4
         promotion 128 : !frag.tmap<64x4x32x1x1xbf16, swizzle = 128>
    ```
  }];
  let arguments = (ins StrAttr:$name, I32Attr:$offset, StrArrayAttr:$dims, I32Attr:$pack,
                   I32Attr:$promotion);
  let results = (outs Frag_TmapType:$tmap);
  let assemblyFormat = "$name `at` $offset `dims` $dims `pack` $pack `promotion` $promotion attr-dict `:` type($tmap)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes of a tensor map and what its offset is a multiple of.
    static constexpr int32_t bytes = 128, alignment = 64;
    /// Dimension i of the box.
    ::attn::frag::TmapDim getDim(unsigned i);
  }];
}

def Frag_TmaLoadOp : Frag_Op<"tma_load", [Frag_PosOfRing,
    Frag_PosOf<"bars", "bar_pos", "BarsType">, AttrSizedOperandSegments]> {
  let summary = "the elected thread starts the copy of a slot, or of some rows of it";
  let description = [{
    One box a panel of the ring: panel c from column c times the box's columns on.
    The coordinates are those of all dimensions behind `dim`.  The elements of a box
    lie one after the other as rows of its panel, swizzled.  What has landed counts
    towards the barrier's phase, in all the bytes of the boxes.

    A box has as many rows as the slot, or with `from` fewer, which lie from that row
    on, a multiple of 8.  `multicast`: they land at the same place of each CTA of the
    cluster that is in the mask, and count on that CTA's own barrier.

    ```
    frag.tma_load %tk(%row, %head, %c0) into %k[%p] on %full[%p] hint evict_last
      : !frag.tmap<64x128x1x1xbf16, swizzle = 128>,
        !frag.ring<128x128xbf16, swizzle = 128, slots = 2>, !frag.bars<slots = 2>
    frag.tma_load %half(%row, %head, %c0) into %k[%p] from %first on %full[%p] multicast 3
      : !frag.tmap<64x64x1x1xbf16, swizzle = 128>,
        !frag.ring<128x128xbf16, swizzle = 128, slots = 2>, !frag.bars<slots = 2>
    ```
  }];
  let arguments = (ins Frag_TmapType:$tmap, Variadic<I32>:$coordinates, Frag_RingType:$ring,
                   Frag_PosType:$pos, Optional<I32>:$first, Frag_BarsType:$bars,
                   Frag_PosType:$bar_pos, OptionalAttr<I32Attr>:$multicast,
                   OptionalAttr<Frag_CacheHintAttr>:$hint);
  let assemblyFormat = [{
    $tmap `(` $coordinates `)` `into` $ring `[` $pos `]` (`from` $first^)?
    `on` $bars `[` $bar_pos `]` (`multicast` $multicast^)? (`hint` $hint^)?
    attr-dict `:` type($tmap) `,` type($ring) `,` type($bars)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$tmap, "::mlir::ValueRange":$coordinates,
      "::mlir::Value":$ring, "::mlir::Value":$pos, "::mlir::Value":$bars,
      "::mlir::Value":$bar_pos, "::attn::frag::CacheHintAttr":$hint), [{
    build($_builder, $_state, tmap, coordinates, ring, pos, /*first=*/::mlir::Value(),
          bars, bar_pos, /*multicast=*/::mlir::IntegerAttr(), hint);
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Rows of the slot that it fills, and their bytes in one CTA.
    int64_t getRows();
    int64_t getBytes();
  }];
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

def Frag_ViewRowsOp : Frag_Op<"view_rows", [Pure, Frag_PosOfRing]> {
  let summary = "rows of a slot from `first` on, as operand A in shared memory";
  let description = "`first` is a multiple of 8, the period of a swizzle.";
  let arguments = (ins Frag_RingType:$ring, Frag_PosType:$pos, I32:$first);
  let results = (outs Frag_ViewType:$view);
  let assemblyFormat = "$ring `[` $pos `]` `from` $first attr-dict `:` type($ring) `->` type($view)";
  let hasVerifier = 1;
}

def Frag_WgmmaOp : Frag_Op<"wgmma", [Frag_PosOfRing]> {
  let summary = "start one GEMM of a warpgroup: acc + A * B, B in a ring";
  let description = [{
    Fence, all steps of k, one commit.  A is a view of shared memory or registers
    (`wgmma_a`); B as in `frag.mma`.  Without acc it starts from 0.  Until the wait
    that covers it, nothing may touch the accumulator, A's registers, or the shared
    memory that it reads.  Groups of a warpgroup finish in their order.

    ```
    %f = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p]
         : !frag.view<64x128xbf16, swizzle = 128>,
           !frag.ring<128x128xbf16, swizzle = 128, slots = 2>
         -> !frag.inflight<64x128xf32, #C>
    ```
  }];
  let arguments = (ins StrAttr:$atom, Frag_BOrderAttr:$b_order,
                   AnyTypeOf<[Frag_ViewType, Frag_RegType]>:$a, Frag_RingType:$ring,
                   Frag_PosType:$pos, Optional<Frag_RegType>:$acc);
  let results = (outs Frag_InflightType:$result);
  let assemblyFormat = [{
    $atom $b_order $a `,` $ring `[` $pos `]` (`acc` $acc^)? attr-dict `:` type($a) `,` type($ring) (`acc` type($acc)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Frag_WgmmaWaitOp : Frag_Op<"wgmma_wait", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "until at most `pending` of the warpgroup's products are under way";
  let description = [{
    Gives the accumulator, and each pinned value under a new name: what uses that
    name cannot be moved above the wait.

    `%o, %p1 = frag.wgmma_wait pending 0 %f pin %p : !frag.inflight<64x128xf32, #C> pin !frag.reg<64x128xf32, #C>`
  }];
  let arguments = (ins I32Attr:$pending, Frag_InflightType:$inflight, Variadic<Frag_Tile>:$pinned);
  let results = (outs Frag_RegType:$result, Variadic<Frag_Tile>:$released);
  let assemblyFormat = "`pending` $pending $inflight (`pin` $pinned^)? attr-dict `:` type($inflight) (`pin` type($pinned)^)?";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def Frag_NextWorkOp : Frag_Op<"next_work"> {
  let summary = "the first item that no CTA has taken, or -1";
  let description = [{
    By one warp: lane 0 adds 1 to `queue[0]` and the old value goes to all lanes;
    `limit` and above read as -1.
  }];
  let arguments = (ins Frag_PtrType:$queue, I32:$limit);
  let results = (outs I32:$index);
  let assemblyFormat = "$queue `below` $limit attr-dict `:` type($queue)";
  let hasVerifier = 1;
}

def Frag_NextWorkDoneOp : Frag_Op<"next_work_done"> {
  let summary = "this CTA takes no more work; the last one resets the queue";
  let description = [{
    By one warp, once a CTA: lane 0 adds 1 to `queue[1]`; the CTA that brings it to
    the number of CTAs writes 0 to both words, for the next launch.
  }];
  let arguments = (ins Frag_PtrType:$queue);
  let assemblyFormat = "$queue attr-dict `:` type($queue)";
  let hasVerifier = 1;
}

#endif // FRAG_ASYNC_OPS
