//===- AttnTileOps.td - tile ops (L1) -------------------------------------===//
//
// Operands not named otherwise are i32.  "live" rows are those below the item's
// row count; dead rows are computed but never stored and never decide anything.

#ifndef ATTN_TILE_OPS
#define ATTN_TILE_OPS

include "AttnOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"

def Attn_StateLike : AnyTypeOf<[Attn_StateType, Attn_TileType, Attn_RowVecType]>;

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

class Attn_WorkOp<string mnemonic> : Attn_Op<mnemonic, [
    SingleBlockImplicitTerminator<"YieldOp">, Attn_NamedArgs]> {
  let arguments = (ins Attn_PlanType:$plan);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Attn_ForWorkOp : Attn_WorkOp<"for_work"> {
  let summary = "once per work item, in any order";
  let description = [{
    Block arguments: request, head (KV head if packed, else query head), row0,
    rows, kv_begin, kv_end, slot, flags; see include/attn/ABI/WorkItem.h.

    `attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) { ... }`
  }];
}

def Attn_ForMergeOp : Attn_WorkOp<"for_merge"> {
  let summary = "once per merge record, in any order";
  let description = [{
    Block arguments: request, head, row0, rows, first_slot, count.
  }];
}

def Attn_LoadItemOp : Attn_Op<"load_item", [Pure]> {
  let summary = "fields of a work item (8) or merge record (6) by index";
  let description = [{
    Used from L2 on, where `for_work` has become a loop over words.  The number of
    results says which record.  A work word indexes with its low 30 bits (bit 30
    asks for the exact loop); a negative one reads as the inert item: no rows, no
    keys, slot -1.
  }];
  let arguments = (ins Attn_PlanType:$plan, I32:$index);
  let results = (outs Variadic<I32>:$fields);
  let assemblyFormat = "$plan `[` $index `]` attr-dict `:` qualified(type($fields))";
  let hasVerifier = 1;
}

def Attn_RequestOp : Attn_Op<"request", [Pure]> {
  let summary = "where a request's rows lie: q_begin, q_len, kv_begin, kv_len";
  let arguments = (ins Attn_PlanType:$plan, I32:$request);
  let results = (outs I32:$q_begin, I32:$q_len, I32:$kv_begin, I32:$kv_len);
  let assemblyFormat = "$plan `[` $request `]` attr-dict";
}

def Attn_RowMapOp : Attn_Op<"row_map", [Pure]> {
  let summary = "row map of a tile";
  let description = [{
    Row r is live iff r < rows; with t = row0 + r: token = t / pack, query head =
    head * pack + t mod pack, position = token + kv_len - q_len.  With pack 1
    `head` is the query head itself.
  }];
  let arguments = (ins I32:$request, I32:$head, I32:$row0, I32:$nrows, I32:$q_begin,
                   I32:$q_len, I32:$kv_len, I32Attr:$pack);
  let results = (outs Attn_RowsType:$result);
  let assemblyFormat = [{
    `request` $request `head` $head `row0` $row0 `rows` $nrows `q_begin` $q_begin
    `q_len` $q_len `kv_len` $kv_len `pack` $pack attr-dict `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Attn_SegmentsOp : Attn_Op<"segments", [Pure]> {
  let summary = "borders of the block classes of a tile: b0 <= b1 <= ... <= bn";
  let description = [{
    Block j holds keys kv0 + j * tile_k ... and below kv1.  Segment i is
    [b_i, b_i+1) and has class i of the kernel's block map; blocks outside
    [b0, bn) are invisible to every live row.  Only live rows count.  No live row
    or no key: all 0.  `attn-expand-segments` turns it into integer arithmetic.

    Which blocks of an opaque map are whole the plan knows: it has looked at tables
    and parameters, and says so in the work item's `flags` (WorkItem.h).
  }];
  let arguments = (ins Attn_RowsType:$rows, I32:$kv0, I32:$kv1, Optional<I32>:$flags,
                   Attn_BlockMapAttr:$block_map, I32Attr:$tile_k);
  let results = (outs Variadic<I32>:$bounds);
  let assemblyFormat = [{
    $rows `,` $kv0 `,` $kv1 (`flags` $flags^)? `map` $block_map `tile_k` $tile_k attr-dict
    `:` qualified(type($rows)) `->` qualified(type($bounds))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

def Attn_LoadQueryOp : Attn_Op<"load_query", [Pure]> {
  let summary = "tile of Q by the row map; dead rows are 0";
  let arguments = (ins Attn_TensorType:$tensor, Attn_RowsType:$rows);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = "$tensor `,` $rows attr-dict `:` qualified(type($tensor)) `,` qualified(type($rows)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Attn_LoadKVOp : Attn_Op<"load_kv", [Pure]> {
  let summary = "tile of K or V: keys k0 ... of a request; rows >= kv1 are 0";
  let arguments = (ins Attn_TensorType:$tensor, I32:$request, I32:$kv_head,
                   I32:$kv_begin, I32:$k0, I32:$kv1);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = [{
    $tensor `request` $request `kv_head` $kv_head `kv_begin` $kv_begin `k0` $k0
    `kv1` $kv1 attr-dict `:` qualified(type($tensor)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Attn_CopyQueryOp : Attn_Op<"copy_query", []> {
  let summary = "load_query into a channel's slot (L2)";
  let arguments = (ins AnyType:$slot, Attn_TensorType:$tensor, Attn_RowsType:$rows);
  let assemblyFormat = "$slot `,` $tensor `,` $rows attr-dict `:` qualified(type($slot)) `,` qualified(type($tensor)) `,` qualified(type($rows))";
  let hasVerifier = 1;
}

def Attn_CopyKVOp : Attn_Op<"copy_kv", []> {
  let summary = "load_kv into a channel's slot (L2)";
  let arguments = (ins AnyType:$slot, Attn_TensorType:$tensor, I32:$request,
                   I32:$kv_head, I32:$kv_begin, I32:$k0, I32:$kv1);
  let assemblyFormat = [{
    $slot `,` $tensor `request` $request `kv_head` $kv_head `kv_begin` $kv_begin
    `k0` $k0 `kv1` $kv1 attr-dict `:` qualified(type($slot)) `,` qualified(type($tensor))
  }];
  let hasVerifier = 1;
}

def Attn_StoreOp : Attn_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "write the live rows of O and LSE";
  let arguments = (ins Attn_TileType:$tile, Optional<Attn_RowVecType>:$row_lse,
                   Attn_RowsType:$rows, Attn_TensorType:$output,
                   Optional<Attn_TensorType>:$lse);
  let assemblyFormat = [{
    $tile (`lse` $row_lse^)? `,` $rows `to` $output (`lse` $lse^)? attr-dict `:`
    qualified(type($tile)) (`lse` qualified(type($row_lse))^)? `,` qualified(type($rows)) `to` qualified(type($output)) (`lse` qualified(type($lse))^)?
  }];
  let hasVerifier = 1;
}

def Attn_StorePartialOp : Attn_Op<"store_partial", [AttrSizedOperandSegments]> {
  let summary = "write the live rows of a state into a slot: a split partial";
  let description = [{
    One operand of state type; after `attn-expand-softmax` its parts as `state_init`
    has them: the f32 tile O, not yet divided, and with softmax m and l.  c is the
    factor of their exponents: who holds a state in several pieces joins them first.
    O of a row with l = 0 is stored as 0.

    `attn.store_partial %O, %m, %l by %c in %rows, %plan slot %slot : !T, !R, !R in !rows`
  }];
  let arguments = (ins Variadic<Attn_StateLike>:$parts, Optional<F32>:$c,
                   Attn_RowsType:$rows, Attn_PlanType:$plan, I32:$slot);
  let assemblyFormat = [{
    $parts (`by` $c^)? `in` $rows `,` $plan `slot` $slot attr-dict `:`
    qualified(type($parts)) `in` qualified(type($rows))
  }];
  let hasVerifier = 1;
}

def Attn_LoadPartialOp : Attn_Op<"load_partial", [Pure]> {
  let summary = "read the parts of a split partial; dead rows are the unit (0, -inf, 0)";
  let arguments = (ins Attn_RowsType:$rows, Attn_PlanType:$plan, I32:$slot);
  let results = (outs Variadic<AnyTypeOf<[Attn_TileType, Attn_RowVecType]>>:$parts);
  let assemblyFormat = [{
    $rows `,` $plan `slot` $slot attr-dict `:` qualified(type($rows)) `->` qualified(type($parts))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::TypedValue<TileType> getO() {
      return ::llvm::cast<::mlir::TypedValue<TileType>>(getResult(0));
    }
    /// m and l; null without normaliser.
    ::mlir::Value getM() { return getNumResults() == 3 ? getResult(1) : ::mlir::Value(); }
    ::mlir::Value getL() { return getNumResults() == 3 ? getResult(2) : ::mlir::Value(); }
  }];
}

//===----------------------------------------------------------------------===//
// The loop over key blocks
//===----------------------------------------------------------------------===//

def Attn_ForKVOp : Attn_Op<"for_kv", [SingleBlock, RecursiveMemoryEffects, Attn_NamedArgs,
    AllTypesMatch<["inits", "results"]>]> {
  let summary = "loop over the blocks [lo, hi) of one class";
  let description = [{
    Block arguments: j, k0 = base + j * tile_k, then the carried values.  Visits in
    `order`.  A `full` loop has no `apply_mask`, a `partial` one exactly one.

    The reference is `exact` unless the word `frozen` follows the class.

    ```
    %r = attn.for_kv partial descending tile_k 64 from %b1 to %b2 base %kv0
           (%j, %k0) carry (%s = %s0 : !attn.state<128x128, softmax>) { ... attn.yield %s1 : ... }
    ```
  }];
  let arguments = (ins I32:$lo, I32:$hi, I32:$base, Variadic<Attn_StateLike>:$inits,
                   Attn_BlockClassAttr:$block_class, Attn_ReferenceAttr:$reference,
                   Attn_KVOrderAttr:$order, I32Attr:$tile_k);
  let results = (outs Variadic<Attn_StateLike>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getIndex() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getK0() { return getBody().getArgument(1); }
    ::mlir::Block::BlockArgListType getCarried() {
      return getBody().getArguments().drop_front(2);
    }
  }];
}

//===----------------------------------------------------------------------===//
// Products and hooks
//===----------------------------------------------------------------------===//

def Attn_QKOp : Attn_Op<"qk", [Pure]> {
  let summary = "S = Q * K^T in f32, without scale";
  let arguments = (ins Attn_TileType:$query, Attn_TileType:$key);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = "$query `,` $key attr-dict `:` qualified(type($query)) `,` qualified(type($key)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Attn_PVOp : Attn_Op<"pv", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "O + P * V in f32";
  let arguments = (ins Attn_TileType:$p, Attn_TileType:$value, Attn_TileType:$acc);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = "$p `,` $value `,` $acc attr-dict `:` qualified(type($p)) `,` qualified(type($value)) `,` qualified(type($acc))";
  let hasVerifier = 1;
}

def Attn_ApplyScoreOp : Attn_Op<"apply_score", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "s <- score(scale * s, b, h, q, k) under the kernel's variant";
  let description = "Without a score hook it is the product with the scale alone.";
  let arguments = (ins Attn_TileType:$tile, F32:$scale, Attn_RowsType:$rows, I32:$k0, I32:$kv1);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = "$tile `,` $scale `,` $rows `,` $k0 `,` $kv1 attr-dict `:` qualified(type($tile)) `,` qualified(type($rows))";
  let hasVerifier = 1;
}

def Attn_ApplyMaskOp : Attn_Op<"apply_mask", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "s <- fill unless k < kv1 and mask(b, h, q, k): a select";
  let description = [{
    The mask hook is not evaluated for keys >= kv1 or dead rows in a way that can
    be seen: hooks are pure and table indices are clamped.
  }];
  let arguments = (ins Attn_TileType:$tile, Attn_RowsType:$rows, I32:$k0, I32:$kv1,
                   Attn_MaskFillAttr:$fill);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = "`` $fill $tile `,` $rows `,` $k0 `,` $kv1 attr-dict `:` qualified(type($tile)) `,` qualified(type($rows))";
  let hasVerifier = 1;
}

def Attn_TransformRowsOp : Attn_Op<"transform_rows", [Pure]> {
  let summary = "query or output hook on each live row of a tile";
  let arguments = (ins Attn_HookKindAttr:$kind, Attn_TileType:$tile, Attn_RowsType:$rows);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = "`` $kind $tile `,` $rows attr-dict `:` qualified(type($tile)) `,` qualified(type($rows)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Attn_TransformKeysOp : Attn_Op<"transform_keys", [Pure]> {
  let summary = "key or value hook on each row < kv1 of a K or V tile";
  let arguments = (ins Attn_HookKindAttr:$kind, Attn_TileType:$tile, I32:$request, I32:$kv_head,
                   I32:$k0, I32:$kv1, I32:$q_len, I32:$kv_len);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = [{
    `` $kind $tile `request` $request `kv_head` $kv_head `k0` $k0 `kv1` $kv1
    `q_len` $q_len `kv_len` $kv_len attr-dict `:` qualified(type($tile)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The state as one value
//===----------------------------------------------------------------------===//

def Attn_StateInitOp : Attn_Op<"state_init", [Pure]> {
  let summary = "the unit: O = 0, m = -inf, l = 0";
  let description = [{
    One result of state type; after `attn-expand-softmax` its parts: tile O and,
    for softmax, the vectors m and l.
  }];
  let results = (outs Variadic<Attn_StateLike>:$results);
  let assemblyFormat = "attr-dict `:` qualified(type($results))";
  let hasVerifier = 1;
}

def Attn_StateStepOp : Attn_Op<"state_step", [Pure, AllTypesMatch<["state", "result"]>]> {
  let summary = "one online step: (state, S, V) -> state";
  let arguments = (ins Attn_StateType:$state, Attn_TileType:$s, Attn_TileType:$value,
                   F32:$c, Attn_ReferenceAttr:$reference);
  let results = (outs Attn_StateType:$result);
  let assemblyFormat = [{
    `` $reference $state `,` $s `,` $value `,` $c attr-dict `:` qualified(type($state)) `,` qualified(type($s)) `,` qualified(type($value))
  }];
  let hasVerifier = 1;
}

def Attn_StateFinishOp : Attn_Op<"state_finish", [Pure]> {
  let summary = "state -> (O, LSE); a sink logit is merged in if given";
  let arguments = (ins Attn_StateType:$state, F32:$c, Optional<Attn_RowVecType>:$sink);
  let results = (outs Attn_TileType:$tile, Optional<Attn_RowVecType>:$row_lse);
  let assemblyFormat = [{
    $state `,` $c (`sink` $sink^)? attr-dict `:` qualified(type($state)) (`sink` qualified(type($sink))^)? `->` qualified(type($tile)) (`,` qualified(type($row_lse))^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The state's parts
//===----------------------------------------------------------------------===//

def Attn_RowMaxOp : Attn_Op<"row_max", [Pure, AllTypesMatch<["m", "result"]>]> {
  let summary = "max(m, row maximum); NaN is ignored";
  let arguments = (ins Attn_TileType:$tile, Attn_RowVecType:$m);
  let results = (outs Attn_RowVecType:$result);
  let assemblyFormat = "$tile `,` $m attr-dict `:` qualified(type($tile)) `,` qualified(type($m))";
  let hasVerifier = 1;
}

def Attn_LazyMaxOp : Attn_Op<"lazy_max", [Pure, AllTypesMatch<["m", "result"]>]> {
  let summary = "m while P by it is at most 2^threshold, else max(m, row maximum)";
  let description = [{
    With M = max(m, row maximum), NaN ignored: m if |c m| < 2^22 and
    c (M - m) <= threshold, else M.  So P <= 2^(threshold + 1/4): c m, rounded, is
    off by at most 1/4 there.

    `%m1 = attn.lazy_max %s, %m, %c by 8 : !attn.tile<64x32xf32>, !attn.rowvec<64xf32>`
  }];
  let arguments = (ins Attn_TileType:$tile, Attn_RowVecType:$m, F32:$c, I32Attr:$threshold);
  let results = (outs Attn_RowVecType:$result);
  let assemblyFormat = "$tile `,` $m `,` $c `by` $threshold attr-dict `:` qualified(type($tile)) `,` qualified(type($m))";
  let hasVerifier = 1;
}

def Attn_AlphaOp : Attn_Op<"alpha", [Pure, AllTypesMatch<["m", "m_new", "result"]>]> {
  let summary = "factor of the old state: m' = -inf: 1, else exp2(c (m - m'))";
  let arguments = (ins Attn_RowVecType:$m, Attn_RowVecType:$m_new, F32:$c);
  let results = (outs Attn_RowVecType:$result);
  let assemblyFormat = "$m `,` $m_new `,` $c attr-dict `:` qualified(type($m))";
}

def Attn_ExpOp : Attn_Op<"exp", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "P = exp2((s - a) c + b) by the row's reference m";
  let description = [{
    exact: (a, b) = (0, 0) if m = -inf; (0, -c m) if |c m| < 2^29; else (m, 0).
    frozen: exp2(s c - c m), NaN in a row whose reference is not the middle case.
  }];
  let arguments = (ins Attn_TileType:$tile, Attn_RowVecType:$m, F32:$c, Attn_ReferenceAttr:$reference);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = "`` $reference $tile `,` $m `,` $c attr-dict `:` qualified(type($tile)) `,` qualified(type($m))";
  let hasVerifier = 1;
}

def Attn_RowSumOp : Attn_Op<"row_sum", [Pure, AllTypesMatch<["l", "result"]>]> {
  let summary = "l * alpha + row sum of P";
  let arguments = (ins Attn_TileType:$tile, Attn_RowVecType:$l, Optional<Attn_RowVecType>:$alpha);
  let results = (outs Attn_RowVecType:$result);
  let assemblyFormat = "$tile `,` $l (`scaled` $alpha^)? attr-dict `:` qualified(type($tile)) `,` qualified(type($l)) (`scaled` qualified(type($alpha))^)?";
  let hasVerifier = 1;
}

def Attn_RescaleOp : Attn_Op<"rescale", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "each row times its factor";
  let description = [{
    `rare`: the factors are nearly always 1, so that whoever holds the rows asks
    first whether one is not.  The result is the same.
  }];
  let arguments = (ins Attn_TileType:$tile, Attn_RowVecType:$factor, UnitAttr:$rare);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = "(`rare` $rare^)? $tile `,` $factor attr-dict `:` qualified(type($tile)) `,` qualified(type($factor))";
  let hasVerifier = 1;
}

def Attn_PackOp : Attn_Op<"pack", [Pure]> {
  let summary = "f32 tile to the element type of the second product, nearest even";
  let arguments = (ins Attn_TileType:$tile);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = "$tile attr-dict `:` qualified(type($tile)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Attn_ApplySinkOp : Attn_Op<"apply_sink", [Pure]> {
  let summary = "the sink hook per row";
  let arguments = (ins Attn_RowsType:$rows);
  let results = (outs Attn_RowVecType:$result);
  let assemblyFormat = "$rows attr-dict `:` qualified(type($rows)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Attn_FinishOp : Attn_Op<"finish", [Pure, AllTypesMatch<["o", "tile"]>,
    AllTypesMatch<["m", "l", "row_lse"]>]> {
  let summary = "O / l and LSE = (c m + log2 l) ln 2";
  let description = [{
    l = 0: O = 0, LSE = -inf.  With a sink the state (0, sink, 1) is merged in
    first: it adds its exponential to the sum, without a value.
  }];
  let arguments = (ins Attn_TileType:$o, Attn_RowVecType:$m, Attn_RowVecType:$l, F32:$c,
                   Optional<Attn_RowVecType>:$sink);
  let results = (outs Attn_TileType:$tile, Attn_RowVecType:$row_lse);
  let assemblyFormat = [{
    $o `,` $m `,` $l `,` $c (`sink` $sink^)? attr-dict `:` qualified(type($o)) `,` qualified(type($m)) (`sink` qualified(type($sink))^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Merging states
//===----------------------------------------------------------------------===//

def Attn_MergeStateOp : Attn_Op<"merge_state", [Pure, AllTypesMatch<["o_a", "o_b", "o"]>,
    AllTypesMatch<["m_a", "l_a", "m_b", "l_b", "m", "l"]>]> {
  let summary = "the monoid of states: M = max(m), l = sum of l w, O = sum of O w";
  let description = [{
    w = exp2 of the distance of a part's reference and M's as `exp exact` has them:
    c m rounded to f32, one minus the other, if both are below 2^29; else c (m - M).
    M = -inf: w = 0.  (0, -inf, 0) is the unit.

    `%O, %m, %l = attn.merge_state (%Oa, %ma, %la), (%Ob, %mb, %lb), %c : !T, !R`
  }];
  let arguments = (ins Attn_TileType:$o_a, Attn_RowVecType:$m_a, Attn_RowVecType:$l_a,
                   Attn_TileType:$o_b, Attn_RowVecType:$m_b, Attn_RowVecType:$l_b, F32:$c);
  let results = (outs Attn_TileType:$o, Attn_RowVecType:$m, Attn_RowVecType:$l);
  let assemblyFormat = [{
    `(` $o_a `,` $m_a `,` $l_a `)` `,` `(` $o_b `,` $m_b `,` $l_b `)` `,` $c attr-dict `:`
    qualified(type($o_a)) `,` qualified(type($m_a))
  }];
  let hasVerifier = 1;
}

def Attn_AddTileOp : Attn_Op<"add_tile", [Pure, AllTypesMatch<["a", "b", "tile"]>]> {
  let summary = "merge without a normaliser: addition";
  let arguments = (ins Attn_TileType:$a, Attn_TileType:$b);
  let results = (outs Attn_TileType:$tile);
  let assemblyFormat = "$a `,` $b attr-dict `:` qualified(type($a))";
}

//===----------------------------------------------------------------------===//
// Speculation (softmax = frozen)
//===----------------------------------------------------------------------===//

def Attn_SpeculateOp : Attn_Op<"speculate", [RecursiveMemoryEffects]> {
  let summary = "run the body with exact = false; if the check fails, with true";
  let description = [{
    The body's argument is `exact`; the check's arguments are the body's results
    and it yields an i1.  The second run is not checked.
  }];
  let results = (outs Variadic<Attn_StateLike>:$results);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$check);
  let assemblyFormat = "attr-dict `:` qualified(type($results)) $body `check` $check";
  let hasRegionVerifier = 1;
}

def Attn_ExactPrefixOp : Attn_Op<"exact_prefix", [Pure]> {
  let summary = "number of full blocks that run with the maximum";
  let description = [{
    exact: hi - lo; else min(1, hi - lo) if a live row has m = -inf or
    |c m| >= 2^29; else 0.
  }];
  let arguments = (ins Attn_RowVecType:$m, Attn_RowsType:$rows, F32:$c, I32:$lo, I32:$hi, I1:$exact);
  let results = (outs I32:$result);
  let assemblyFormat = "$m `,` $rows `,` $c `,` $lo `,` $hi `,` $exact attr-dict `:` qualified(type($m)) `,` qualified(type($rows))";
  let hasVerifier = 1;
}

def Attn_CheckOp : Attn_Op<"check", [Pure]> {
  let summary = "every live row has l < 2^limit and finite O";
  let description = [{
    `settled`: the visits have been looked at one by one, so a sum that is NaN is the
    row's own, which no redo changes; such a row passes.
  }];
  let arguments = (ins Attn_TileType:$o, Attn_RowVecType:$l, Attn_RowsType:$rows, I32Attr:$limit,
                   UnitAttr:$settled);
  let results = (outs I1:$result);
  let assemblyFormat = "$o `,` $l `,` $rows `limit` $limit (`settled` $settled^)? attr-dict `:` qualified(type($o)) `,` qualified(type($l)) `,` qualified(type($rows))";
  let hasVerifier = 1;
}

def Attn_CheckSumsOp : Attn_Op<"check_sums", [Pure]> {
  let summary = "every live row has l < 2^limit";
  let description = [{
    Of a visit, in the loop: cheaper than `check` and not as strict.  A lowering may
    look at the parts of a row's sum one by one, so sums up to 2^(limit + 2) pass.
  }];
  let arguments = (ins Attn_RowVecType:$l, Attn_RowsType:$rows, I32Attr:$limit);
  let results = (outs I1:$result);
  let assemblyFormat = "$l `,` $rows `limit` $limit attr-dict `:` qualified(type($l)) `,` qualified(type($rows))";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Parts of a tile (L2 roles with replicas)
//===----------------------------------------------------------------------===//

def Attn_SliceRowsOp : Attn_Op<"slice_rows", [Pure]> {
  let summary = "row map of one of `parts` equal groups of rows";
  let description = [{
    Rows `rank * n` to `rank * n + n - 1` of the map, n = rows / parts.  A partial
    that is stored with it keeps its place in the whole tile's slot.

    `%mine = attn.slice_rows %rows[%rank] of 2 : !attn.rows<128> -> !attn.rows<64>`
  }];
  let arguments = (ins Attn_RowsType:$rows, I32:$rank, I32Attr:$parts);
  let results = (outs Attn_RowsType:$result);
  let assemblyFormat = "$rows `[` $rank `]` `of` $parts attr-dict `:` qualified(type($rows)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Attn_SliceTileOp : Attn_Op<"slice_tile", [Pure]> {
  let summary = "one of `parts` equal groups of a tile's rows";
  let description = [{
    A view: it is good as long as the tile is, e.g. until its slot is released.

    `%mine = attn.slice_tile %q[%rank] of 2 : !attn.tile<128x64xbf16> -> !attn.tile<64x64xbf16>`
  }];
  let arguments = (ins Attn_TileType:$tile, I32:$rank, I32Attr:$parts);
  let results = (outs Attn_TileType:$result);
  let assemblyFormat = "$tile `[` $rank `]` `of` $parts attr-dict `:` qualified(type($tile)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Attn_ZeroRowsOp : Attn_Op<"zero_rows", []> {
  let summary = "rows of a slot from `valid` on become 0 (L2)";
  let description = [{
    By the threads of the role that holds the slot, after its copy was joined: the
    copy engine brought rows from outside of the request, and 0 * NaN is NaN.
  }];
  let arguments = (ins AnyType:$slot, I32:$valid);
  let assemblyFormat = "$slot `from` $valid attr-dict `:` qualified(type($slot))";
}

def Attn_RewriteQueryOp : Attn_Op<"rewrite_query", []> {
  let summary = "the query hook on each live row of a slot, in place (L2)";
  let description = [{
    By the threads of the role that reads the slot, in front of its first reader.
    The rows of a part are rewritten by the replica that has it.  New elements are
    rounded to the slot's type.
  }];
  let arguments = (ins AnyType:$slot, Attn_RowsType:$rows);
  let assemblyFormat = "$slot `,` $rows attr-dict `:` qualified(type($slot)) `,` qualified(type($rows))";
}

def Attn_RewriteKVOp : Attn_Op<"rewrite_kv", []> {
  let summary = "key or value hook on each row < kv1 of a slot, in place (L2)";
  let description = [{
    Like `rewrite_query`, but all replicas read the slot: they share its rows and
    meet behind them, so all must come.
  }];
  let arguments = (ins Attn_HookKindAttr:$kind, AnyType:$slot, I32:$request, I32:$kv_head,
                   I32:$k0, I32:$kv1, I32:$q_len, I32:$kv_len);
  let assemblyFormat = [{
    `` $kind $slot `request` $request `kv_head` $kv_head `k0` $k0 `kv1` $kv1
    `q_len` $q_len `kv_len` $kv_len attr-dict `:` qualified(type($slot))
  }];
  let hasVerifier = 1;
}

#endif // ATTN_TILE_OPS
