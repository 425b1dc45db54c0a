// RUN: attn-opt %s --attn-peel-classes | FileCheck %s
// RUN: attn-opt %s --attn-peel-classes --attn-peel-classes | FileCheck %s

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 2, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, ragged>
!qk = !attn.tile<64x64xbf16>
!kv = !attn.tile<32x64xbf16>
!s = !attn.tile<64x32xf32>
!t = !attn.tile<64x64xf32>
!r = !attn.rowvec<64xf32>
!st = !attn.state<64x64, softmax>

// Descending: the last segment first.

// CHECK-LABEL: attn.kernel @causal(
// CHECK:         %[[B:.*]]:3 = attn.segments
// CHECK:         %[[S0:.*]] = attn.state_init
// CHECK:         %[[S1:.*]] = attn.for_kv partial descending tile_k 32 from %[[B]]#1 to %[[B]]#2 {{.*}} carry (%{{.*}} = %[[S0]]
// CHECK:           %[[S:.*]] = attn.qk
// CHECK:           %[[SM:.*]] = attn.apply_mask neg_inf %[[S]]
// CHECK:           attn.state_step exact %{{.*}}, %[[SM]]
// CHECK:         %[[S2:.*]] = attn.for_kv full descending tile_k 32 from %[[B]]#0 to %[[B]]#1 {{.*}} carry (%{{.*}} = %[[S1]]
// CHECK:           %[[S:.*]] = attn.qk
// CHECK-NOT:       attn.apply_mask
// CHECK:           attn.state_step exact %{{.*}}, %[[S]]
// CHECK-NOT:     attn.for_kv
// CHECK:         attn.state_finish %[[S2]]
attn.kernel @causal(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b:3 = attn.segments %rows, %kv0, %kv1 map <closed, classes = [full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>]> tile_k 32 : !attn.rows<64> -> i32, i32, i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<64> -> !qk
    %s0 = attn.state_init : !st
    %st = attn.for_kv partial descending tile_k 32 from %b#0 to %b#2 base %kv0 (%j, %k0) carry (%a = %s0 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %sm = attn.apply_mask neg_inf %s, %rows, %k0, %kv1 : !s, !attn.rows<64>
      %n = attn.state_step exact %a, %sm, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %t, %r = attn.state_finish %st, %scale : !st -> !t, !r
    attn.store %t lse %r, %rows to %o lse %lse : !t lse !r, !attn.rows<64> to !O lse !L
  }
  attn.return
}

// Ascending: the first segment first.

// CHECK-LABEL: attn.kernel @ascending(
// CHECK:         %[[B:.*]]:4 = attn.segments
// CHECK:         attn.for_kv partial ascending tile_k 32 from %[[B]]#0 to %[[B]]#1
// CHECK:         attn.for_kv full ascending tile_k 32 from %[[B]]#1 to %[[B]]#2
// CHECK:         attn.for_kv partial ascending tile_k 32 from %[[B]]#2 to %[[B]]#3
// CHECK-NOT:     attn.for_kv
attn.kernel @ascending(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b:4 = attn.segments %rows, %kv0, %kv1 map <closed, classes = [partial, full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>, #attn.bound<lower, q = 1, constant = 1, q_len = 0, kv_len = 0, params = {window = -1 : i32}>]> tile_k 32 : !attn.rows<64> -> i32, i32, i32, i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<64> -> !qk
    %s0 = attn.state_init : !st
    %st = attn.for_kv partial ascending tile_k 32 from %b#0 to %b#3 base %kv0 (%j, %k0) carry (%a = %s0 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %sm = attn.apply_mask neg_inf %s, %rows, %k0, %kv1 : !s, !attn.rows<64>
      %n = attn.state_step exact %a, %sm, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %t, %r = attn.state_finish %st, %scale : !st -> !t, !r
    attn.store %t lse %r, %rows to %o lse %lse : !t lse !r, !attn.rows<64> to !O lse !L
  }
  attn.return
}

// A segment of class skip has no loop.

// CHECK-LABEL: attn.kernel @hole(
// CHECK:         %[[B:.*]]:4 = attn.segments
// CHECK:         attn.for_kv partial descending tile_k 32 from %[[B]]#2 to %[[B]]#3
// CHECK:         attn.for_kv partial descending tile_k 32 from %[[B]]#0 to %[[B]]#1
// CHECK-NOT:     attn.for_kv
attn.kernel @hole(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b:4 = attn.segments %rows, %kv0, %kv1 map <closed, classes = [partial, skip, partial]> tile_k 32 : !attn.rows<64> -> i32, i32, i32, i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<64> -> !qk
    %s0 = attn.state_init : !st
    %st = attn.for_kv partial descending tile_k 32 from %b#0 to %b#3 base %kv0 (%j, %k0) carry (%a = %s0 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %sm = attn.apply_mask neg_inf %s, %rows, %k0, %kv1 : !s, !attn.rows<64>
      %n = attn.state_step exact %a, %sm, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %t, %r = attn.state_finish %st, %scale : !st -> !t, !r
    attn.store %t lse %r, %rows to %o lse %lse : !t lse !r, !attn.rows<64> to !O lse !L
  }
  attn.return
}

// One class: nothing to do.

// CHECK-LABEL: attn.kernel @opaque(
// CHECK:         %[[B:.*]]:2 = attn.segments
// CHECK:         attn.for_kv partial descending tile_k 32 from %[[B]]#0 to %[[B]]#1
// CHECK-NOT:     attn.for_kv
attn.kernel @opaque(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b:2 = attn.segments %rows, %kv0, %kv1 map <opaque, classes = [partial]> tile_k 32 : !attn.rows<64> -> i32, i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<64> -> !qk
    %s0 = attn.state_init : !st
    %st = attn.for_kv partial descending tile_k 32 from %b#0 to %b#1 base %kv0 (%j, %k0) carry (%a = %s0 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %sm = attn.apply_mask neg_inf %s, %rows, %k0, %kv1 : !s, !attn.rows<64>
      %n = attn.state_step exact %a, %sm, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %t, %r = attn.state_finish %st, %scale : !st -> !t, !r
    attn.store %t lse %r, %rows to %o lse %lse : !t lse !r, !attn.rows<64> to !O lse !L
  }
  attn.return
}
