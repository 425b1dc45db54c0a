// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func private @f(%plan: !attn.plan, %i: i32) {
  // expected-error @below {{has 8 fields (work item) or 6 (merge record), got 3}}
  %x:3 = attn.load_item %plan[%i] : i32, i32, i32
  return
}

// -----

func.func private @f(%plan: !attn.plan) {
  // expected-error @below {{body has 8 arguments, got 2}}
  attn.for_work %plan (%a, %b) {
  }
  return
}

// -----

func.func private @f(%plan: !attn.plan) {
  // expected-error @below {{arguments of the body are i32, got 'f32'}}
  "attn.for_merge"(%plan) ({
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32, %e: i32, %f: f32):
    attn.yield
  }) : (!attn.plan) -> ()
  return
}

// -----

func.func private @f(%plan: !attn.plan) {
  // expected-error @below {{yields nothing, got 1 values}}
  attn.for_merge %plan (%a, %b, %c, %d, %e, %f) {
    attn.yield %a : i32
  }
  return
}

// -----

func.func private @f(%i: i32) {
  // expected-error @below {{pack must be in [1, rows], got pack 129 and 128 rows}}
  %r = attn.row_map request %i head %i row0 %i rows %i q_begin %i q_len %i kv_len %i pack 129 : !attn.rows<128>
  return
}

// -----

func.func private @f(%i: i32, %r: !attn.rows<128>) {
  // expected-error @below {{the map has 1 classes, so there are 2 borders, got 3}}
  %b:3 = attn.segments %r, %i, %i map <opaque, classes = [partial]> tile_k 64 : !attn.rows<128> -> i32, i32, i32
  return
}

// -----

func.func private @f(%i: i32, %r: !attn.rows<128>) {
  // expected-error @below {{needs the item's flags: the plan knows the classes of an opaque map}}
  %b:4 = attn.segments %r, %i, %i map <opaque, classes = [partial, full, partial]> tile_k 64 : !attn.rows<128> -> i32, i32, i32, i32
  return
}

// -----

func.func private @f(%i: i32, %r: !attn.rows<128>) {
  // expected-error @below {{tile_k must be at least 1, got 0}}
  %b:2 = attn.segments %r, %i, %i map <opaque, classes = [partial]> tile_k 0 : !attn.rows<128> -> i32, i32
  return
}

// -----

!K = !attn.tensor<key, bf16, heads = 8, dim = 64, ragged>
func.func private @f(%k: !K, %r: !attn.rows<128>) {
  // expected-error @below {{tensor must have role query, got key}}
  %b = attn.load_query %k, %r : !K, !attn.rows<128> -> !attn.tile<128x64xbf16>
  return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 8, dim = 64, ragged>
func.func private @f(%q: !Q, %r: !attn.rows<128>) {
  // expected-error @below {{tile has rows 64 but row map has 128}}
  %b = attn.load_query %q, %r : !Q, !attn.rows<128> -> !attn.tile<64x64xbf16>
  return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 8, dim = 64, ragged>
func.func private @f(%q: !Q, %i: i32) {
  // expected-error @below {{tensor must have role key or value, got query}}
  %b = attn.load_kv %q request %i kv_head %i kv_begin %i k0 %i kv1 %i : !Q -> !attn.tile<64x64xbf16>
  return
}

// -----

!K = !attn.tensor<key, bf16, heads = 8, dim = 64, ragged>
func.func private @f(%k: !K, %i: i32) {
  // expected-error @below {{tile has columns 128 but tensor has 64}}
  %b = attn.load_kv %k request %i kv_head %i kv_begin %i k0 %i kv1 %i : !K -> !attn.tile<64x128xbf16>
  return
}

// -----

!O = !attn.tensor<output, bf16, heads = 8, dim = 64, ragged>
!T = !attn.tile<128x64xf32>
!R = !attn.rowvec<128xf32>
func.func private @f(%t: !T, %l: !R, %r: !attn.rows<128>, %o: !O) {
  // expected-error @below {{needs both the row lse and the lse tensor, or neither}}
  attn.store %t lse %l, %r to %o : !T lse !R, !attn.rows<128> to !O
  return
}

// -----

!T = !attn.tile<128x64xbf16>
func.func private @f(%t: !T, %r: !attn.rows<128>, %p: !attn.plan, %i: i32) {
  // expected-error @below {{partial tile must hold f32, got 'bf16'}}
  attn.store_partial %t in %r, %p slot %i : !T in !attn.rows<128>
  return
}

// -----

!T = !attn.tile<128x64xf32>
!R = !attn.rowvec<128xf32>
func.func private @f(%t: !T, %m: !R, %r: !attn.rows<128>, %p: !attn.plan, %i: i32) {
  // expected-error @below {{stores a state, a tile, or a tile and two row vectors}}
  attn.store_partial %t, %m in %r, %p slot %i : !T, !R in !attn.rows<128>
  return
}

// -----

!T = !attn.tile<128x64xf32>
!R = !attn.rowvec<128xf32>
func.func private @f(%t: !T, %m: !R, %r: !attn.rows<128>, %p: !attn.plan, %i: i32) {
  // expected-error @below {{has 3 parts with a maximum but no factor}}
  attn.store_partial %t, %m, %m in %r, %p slot %i : !T, !R, !R in !attn.rows<128>
  return
}

// -----

!S = !attn.state<128x64, none>
func.func private @f(%s: !S, %c: f32, %r: !attn.rows<128>, %p: !attn.plan, %i: i32) {
  // expected-error @below {{has 1 parts without a maximum but a factor}}
  attn.store_partial %s by %c in %r, %p slot %i : !S in !attn.rows<128>
  return
}

// -----

!S = !attn.state<64x64, none>
func.func private @f(%s: !S, %r: !attn.rows<128>, %p: !attn.plan, %i: i32) {
  // expected-error @below {{state has rows 64 but row map has 128}}
  attn.store_partial %s in %r, %p slot %i : !S in !attn.rows<128>
  return
}

// -----

func.func private @f(%r: !attn.rows<128>, %p: !attn.plan, %i: i32) {
  // expected-error @below {{tile has rows 128 but row vector has 64}}
  %s:3 = attn.load_partial %r, %p slot %i : !attn.rows<128> -> !attn.tile<128x64xf32>, !attn.rowvec<64xf32>, !attn.rowvec<64xf32>
  return
}

// -----

func.func private @f(%q: !attn.tile<128x64xbf16>, %k: !attn.tile<64x128xbf16>) {
  // expected-error @below {{query has columns 64 but key has 128}}
  %s = attn.qk %q, %k : !attn.tile<128x64xbf16>, !attn.tile<64x128xbf16> -> !attn.tile<128x64xf32>
  return
}

// -----

func.func private @f(%q: !attn.tile<128x64xbf16>, %k: !attn.tile<32x64xbf16>) {
  // expected-error @below {{key has rows 32 but result's columns has 64}}
  %s = attn.qk %q, %k : !attn.tile<128x64xbf16>, !attn.tile<32x64xbf16> -> !attn.tile<128x64xf32>
  return
}

// -----

func.func private @f(%q: !attn.tile<128x64xbf16>, %k: !attn.tile<64x64xbf16>) {
  // expected-error @below {{result must hold f32, got 'bf16'}}
  %s = attn.qk %q, %k : !attn.tile<128x64xbf16>, !attn.tile<64x64xbf16> -> !attn.tile<128x64xbf16>
  return
}

// -----

func.func private @f(%p: !attn.tile<128x64xbf16>, %v: !attn.tile<32x128xbf16>, %o: !attn.tile<128x128xf32>) {
  // expected-error @below {{p has columns 64 but value's rows has 32}}
  %s = attn.pv %p, %v, %o : !attn.tile<128x64xbf16>, !attn.tile<32x128xbf16>, !attn.tile<128x128xf32>
  return
}

// -----

func.func private @f(%t: !attn.tile<128x64xf32>, %r: !attn.rows<64>, %i: i32) {
  // expected-error @below {{tile has rows 128 but row map has 64}}
  %s = attn.apply_mask neg_inf %t, %r, %i, %i : !attn.tile<128x64xf32>, !attn.rows<64>
  return
}

// -----

func.func private @f(%t: !attn.tile<128x64xf32>, %r: !attn.rows<128>) {
  // expected-error @below {{applies a query or output hook, got key}}
  %s = attn.transform_rows key %t, %r : !attn.tile<128x64xf32>, !attn.rows<128> -> !attn.tile<128x64xf32>
  return
}

// -----

!T = !attn.tile<128x64xf32>
func.func private @f(%t: !T, %i: i32) {
  // expected-error @below {{applies a key or value hook, got output}}
  %s = attn.transform_keys output %t request %i kv_head %i k0 %i kv1 %i q_len %i kv_len %i : !T -> !T
  return
}

// -----

func.func private @f(%s: !attn.tile<128x64xbf16>, %i: i32) {
  // expected-error @below {{applies a key or value hook, got query}}
  attn.rewrite_kv query %s request %i kv_head %i k0 %i kv1 %i q_len %i kv_len %i : !attn.tile<128x64xbf16>
  return
}

// -----

// expected-error @below {{gives a state, a tile, or a tile and two row vectors}}
%s:2 = attn.state_init : !attn.tile<128x64xf32>, !attn.rowvec<128xf32>

// -----

!S = !attn.state<128x64, softmax>
func.func private @f(%s: !S, %t: !attn.tile<128x32xf32>, %v: !attn.tile<64x64xbf16>, %c: f32) {
  // expected-error @below {{scores has columns 32 but value's rows has 64}}
  %r = attn.state_step exact %s, %t, %v, %c : !S, !attn.tile<128x32xf32>, !attn.tile<64x64xbf16>
  return
}

// -----

!S = !attn.state<128x64, softmax>
func.func private @f(%s: !S, %c: f32) {
  // expected-error @below {{normaliser softmax has an lse result}}
  %r = attn.state_finish %s, %c : !S -> !attn.tile<128x64xf32>
  return
}

// -----

!S = !attn.state<128x64, none>
!R = !attn.rowvec<128xf32>
func.func private @f(%s: !S, %c: f32, %k: !R) {
  // expected-error @below {{normaliser none has no sink logit}}
  %r = attn.state_finish %s, %c sink %k : !S sink !R -> !attn.tile<128x64xf32>
  return
}

// -----

!R = !attn.rowvec<128xf32>
func.func private @f(%t: !attn.tile<128x64xf32>, %l: !R, %a: !attn.rowvec<64xf32>) {
  // expected-error @below {{alpha is '!attn.rowvec<64xf32>' but the sum is '!attn.rowvec<128xf32>'}}
  %r = attn.row_sum %t, %l scaled %a : !attn.tile<128x64xf32>, !R scaled !attn.rowvec<64xf32>
  return
}

// -----

!R = !attn.rowvec<128xf32>
func.func private @f(%t: !attn.tile<128x64xf32>, %l: !R, %c: f32, %a: !attn.rowvec<64xf32>) {
  // expected-error @below {{sink is '!attn.rowvec<64xf32>' but m is '!attn.rowvec<128xf32>'}}
  %r, %s = attn.finish %t, %l, %l, %c sink %a : !attn.tile<128x64xf32>, !R sink !attn.rowvec<64xf32>
  return
}

// -----

func.func private @f(%t: !attn.tile<64x64xf32>) {
  // expected-error @below {{tile has columns 64 but result has 32}}
  %r = attn.pack %t : !attn.tile<64x64xf32> -> !attn.tile<64x32xbf16>
  return
}

// -----

func.func private @f(%i: i32) {
  // expected-error @below {{blocks of class skip are not visited}}
  attn.for_kv skip descending tile_k 64 from %i to %i base %i (%j, %k0) {
    attn.yield
  }
  return
}

// -----

func.func private @f(%i: i32) {
  // expected-error @below {{tile_k must be at least 1, got 0}}
  attn.for_kv full descending tile_k 0 from %i to %i base %i (%j, %k0) {
    attn.yield
  }
  return
}

// -----

!T = !attn.tile<128x64xf32>
func.func private @f(%i: i32, %t: !T, %r: !attn.rows<128>) {
  // expected-error @below {{full loop must not hold apply_mask, got 1}}
  %x = attn.for_kv full descending tile_k 64 from %i to %i base %i (%j, %k0) carry (%s = %t : !T) {
    %m = attn.apply_mask neg_inf %s, %r, %k0, %i : !T, !attn.rows<128>
    attn.yield %m : !T
  }
  return
}

// -----

!T = !attn.tile<128x64xf32>
func.func private @f(%i: i32, %t: !T) {
  // expected-error @below {{partial loop must hold one apply_mask, got 0}}
  %x = attn.for_kv partial descending tile_k 64 from %i to %i base %i (%j, %k0) carry (%s = %t : !T) {
    attn.yield %s : !T
  }
  return
}

// -----

!T = !attn.tile<128x64xf32>
func.func private @f(%i: i32, %t: !T) {
  // expected-error @below {{must yield the 1 carried values}}
  %x = attn.for_kv full descending tile_k 64 from %i to %i base %i (%j, %k0) carry (%s = %t : !T) {
    attn.yield
  }
  return
}

// -----

!T = !attn.tile<128x64xf32>
!U = !attn.tile<64x64xf32>
func.func private @f(%i: i32, %t: !T, %u: !U) {
  // expected-error @below {{carried value 0 has type '!attn.tile<128x64xf32>' but the body takes '!attn.tile<128x64xf32>' and yields '!attn.tile<64x64xf32>'}}
  %x = attn.for_kv full descending tile_k 64 from %i to %i base %i (%j, %k0) carry (%s = %t : !T) {
    attn.yield %u : !U
  }
  return
}

// -----

!T = !attn.tile<128x64xf32>
func.func private @f(%i: i32, %t: !T) {
  // expected-error @below {{carries 1 values, so the body has 3 arguments, got 2}}
  %x = "attn.for_kv"(%i, %i, %i, %t) <{block_class = #attn<block_class full>, reference = #attn<reference exact>, order = #attn<kv_order descending>, tile_k = 64 : i32}> ({
  ^bb0(%j: i32, %k0: i32):
    attn.yield %t : !T
  }) : (i32, i32, i32, !T) -> !T
  return
}

// -----

func.func private @f(%i: i32) {
  // expected-error @below {{the body's j and k0 are i32}}
  "attn.for_kv"(%i, %i, %i) <{block_class = #attn<block_class full>, reference = #attn<reference exact>, order = #attn<kv_order descending>, tile_k = 64 : i32}> ({
  ^bb0(%j: i64, %k0: i32):
    attn.yield
  }) : (i32, i32, i32) -> ()
  return
}

// -----

!T = !attn.tile<128x64xf32>
func.func private @f(%t: !T) {
  // expected-error @below {{body has one argument of type i1}}
  %x = attn.speculate : !T {
    attn.yield %t : !T
  } check {
  ^bb0(%a: !T):
    attn.yield
  }
  return
}

// -----

!T = !attn.tile<128x64xf32>
func.func private @f(%t: !T) {
  // expected-error @below {{body must yield the 1 results}}
  %x = attn.speculate : !T {
  ^bb0(%e: i1):
    attn.yield
  } check {
  ^bb0(%a: !T):
    attn.yield
  }
  return
}

// -----

!T = !attn.tile<128x64xf32>
func.func private @f(%t: !T) {
  // expected-error @below {{check takes the 1 results}}
  %x = attn.speculate : !T {
  ^bb0(%e: i1):
    attn.yield %t : !T
  } check {
    attn.yield
  }
  return
}

// -----

!T = !attn.tile<128x64xf32>
func.func private @f(%t: !T) {
  // expected-error @below {{check must yield one i1}}
  %x = attn.speculate : !T {
  ^bb0(%e: i1):
    attn.yield %t : !T
  } check {
  ^bb0(%a: !T):
    attn.yield %a : !T
  }
  return
}

// -----

func.func private @f(%rows: !attn.rows<128>, %i: i32) {
  // expected-error @below {{cannot cut 128 rows into 3 equal parts}}
  %x = attn.slice_rows %rows[%i] of 3 : !attn.rows<128> -> !attn.rows<42>
  return
}

// -----

func.func private @f(%rows: !attn.rows<128>, %i: i32) {
  // expected-error @below {{gives 32 rows but a part has 64}}
  %x = attn.slice_rows %rows[%i] of 2 : !attn.rows<128> -> !attn.rows<32>
  return
}

// -----

func.func private @f(%t: !attn.tile<128x64xf32>, %i: i32) {
  // expected-error @below {{gives '!attn.tile<64x32xf32>' from '!attn.tile<128x64xf32>'}}
  %x = attn.slice_tile %t[%i] of 2 : !attn.tile<128x64xf32> -> !attn.tile<64x32xf32>
  return
}
