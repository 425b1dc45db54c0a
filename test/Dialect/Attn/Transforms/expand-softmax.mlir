// RUN: attn-opt %s --attn-expand-softmax | FileCheck %s --implicit-check-not=!attn.state
// RUN: sed 's/softmax = exact, limit = 64/softmax = lazy, limit = 8/' %s | attn-opt --attn-expand-softmax | FileCheck %s --check-prefix=LAZY --implicit-check-not=attn.row_max --implicit-check-not=attn.speculate

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
#sched = #attn.schedule<tile_q = 64, tile_k = 32, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>

// Each step takes the maximum, then rescales what was summed by the old one.

// The schedule's limit is the threshold of a lazy reference; all else is as it was.

// LAZY-LABEL: attn.kernel @exact(
// LAZY-COUNT-2: attn.for_kv
// LAZY:           %[[M1:.*]] = attn.lazy_max %[[S:.*]], %[[M:.*]], %[[C:.*]] by 8 :
// LAZY-NEXT:      %[[A:.*]] = attn.alpha %[[M]], %[[M1]], %[[C]]
// LAZY-NEXT:      %[[P:.*]] = attn.exp exact %[[S]], %[[M1]], %[[C]]
// LAZY-NEXT:      attn.row_sum %[[P]], %{{.*}} scaled %[[A]]
// LAZY-NEXT:      %[[PB:.*]] = attn.pack %[[P]]
// LAZY-NEXT:      %[[OR:.*]] = attn.rescale rare %{{.*}}, %[[A]]
// LAZY-NEXT:      attn.pv %[[PB]], %{{.*}}, %[[OR]]

// CHECK-LABEL: attn.kernel @exact(
// CHECK-SAME:    %[[C:[a-z_0-9]*]]: f32
// CHECK:         %[[S0:.*]]:3 = attn.state_init : !attn.tile<64x64xf32>, !attn.rowvec<64xf32>, !attn.rowvec<64xf32>
// CHECK:         %[[S1:.*]]:3 = attn.for_kv partial {{.*}} carry (%[[O:.*]] = %[[S0]]#0 : {{.*}}, %[[M:.*]] = %[[S0]]#1 : {{.*}}, %[[L:.*]] = %[[S0]]#2 : {{.*}}) {
// CHECK:           %[[V:.*]] = attn.load_kv %{{.*}} -> !attn.tile<32x64xbf16>
// CHECK:           %[[V:.*]] = attn.load_kv %{{.*}} -> !attn.tile<32x64xbf16>
// CHECK:           %[[S:.*]] = attn.apply_mask
// CHECK-NEXT:      %[[M1:.*]] = attn.row_max %[[S]], %[[M]]
// CHECK-NEXT:      %[[A:.*]] = attn.alpha %[[M]], %[[M1]], %[[C]]
// CHECK-NEXT:      %[[P:.*]] = attn.exp exact %[[S]], %[[M1]], %[[C]]
// CHECK-NEXT:      %[[L1:.*]] = attn.row_sum %[[P]], %[[L]] scaled %[[A]]
// CHECK-NEXT:      %[[PB:.*]] = attn.pack %[[P]] : {{.*}} -> !attn.tile<64x32xbf16>
// CHECK-NEXT:      %[[OR:.*]] = attn.rescale %[[O]], %[[A]]
// CHECK-NEXT:      %[[O1:.*]] = attn.pv %[[PB]], %[[V]], %[[OR]]
// CHECK-NEXT:      attn.yield %[[O1]], %[[M1]], %[[L1]]
// CHECK:         %[[S2:.*]]:3 = attn.for_kv full {{.*}} carry (%{{.*}} = %[[S1]]#0 : {{.*}}, %{{.*}} = %[[S1]]#1 : {{.*}}, %{{.*}} = %[[S1]]#2 : {{.*}}) {
// CHECK-NOT:       attn.apply_mask
// CHECK:         %[[T:.*]], %[[R:.*]] = attn.finish %[[S2]]#0, %[[S2]]#1, %[[S2]]#2, %[[C]]
// CHECK:         attn.store %[[T]] lse %[[R]]
attn.kernel @exact(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 2 : i32
    %b3 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<64> -> !qk
    %s0 = attn.state_init : !st
    %s1 = attn.for_kv partial descending tile_k 32 from %b1 to %b2 base %kv0 (%j, %k0) carry (%a = %s0 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %sm = attn.apply_mask neg_inf %s, %rows, %k0, %kv1 : !s, !attn.rows<64>
      %n = attn.state_step exact %a, %sm, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %s2 = attn.for_kv full descending tile_k 32 from %b0 to %b1 base %kv0 (%j, %k0) carry (%a = %s1 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %n = attn.state_step exact %a, %s, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %t, %r = attn.state_finish %s2, %scale : !st -> !t, !r
    attn.store %t lse %r, %rows to %o lse %lse : !t lse !r, !attn.rows<64> to !O lse !L
  }
  attn.return
}

// Without normaliser the state is O and the scores are the weights; the factor of
// the exponent has no use left.

// CHECK-LABEL: attn.kernel @weights(
// CHECK-NOT:     arith.constant 1.44
// CHECK:         %[[O0:.*]] = attn.state_init : !attn.tile<64x64xf32>
// CHECK:         %[[O1:.*]] = attn.for_kv partial {{.*}} carry (%[[O:.*]] = %[[O0]] : !attn.tile<64x64xf32>)
// CHECK:           %[[S:.*]] = attn.apply_mask zero
// CHECK-NEXT:      %[[P:.*]] = attn.pack %[[S]]
// CHECK-NEXT:      %[[N:.*]] = attn.pv %[[P]], %{{.*}}, %[[O]]
// CHECK-NEXT:      attn.yield %[[N]]
// CHECK:         attn.store_partial %[[O1]] in
// CHECK:         attn.store %[[O1]], 
attn.kernel @weights(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  %c = arith.constant 1.44269502 : f32
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<64> -> !qk
    %s0 = attn.state_init : !attn.state<64x64, none>
    %st = attn.for_kv partial descending tile_k 32 from %b0 to %b1 base %kv0 (%j, %k0) carry (%a = %s0 : !attn.state<64x64, none>) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %sm = attn.apply_mask zero %s, %rows, %k0, %kv1 : !s, !attn.rows<64>
      %n = attn.state_step exact %a, %sm, %vt, %c : !attn.state<64x64, none>, !s, !kv
      attn.yield %n : !attn.state<64x64, none>
    }
    %split = arith.cmpi sge, %slot, %b0 : i32
    scf.if %split {
      attn.store_partial %st in %rows, %plan slot %slot : !attn.state<64x64, none> in !attn.rows<64>
    } else {
      %t = attn.state_finish %st, %c : !attn.state<64x64, none> -> !t
      attn.store %t, %rows to %o : !t, !attn.rows<64> to !O
    }
  }
  attn.return
}
