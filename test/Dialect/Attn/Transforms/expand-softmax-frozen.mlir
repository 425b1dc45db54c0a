// RUN: attn-opt %s --attn-expand-softmax | FileCheck %s --implicit-check-not=!attn.state

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
#sched = #attn.schedule<tile_q = 64, tile_k = 32, pack = 1, kv_order = descending, softmax = frozen, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>
#ascending = #attn.schedule<tile_q = 64, tile_k = 32, pack = 1, kv_order = ascending, softmax = frozen, limit = 126, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>

// The full blocks are cut at the number that still need the maximum: the last ones
// in key order are visited first.

// CHECK-LABEL: attn.kernel @frozen(
// CHECK-SAME:    %[[C:[a-z_0-9]*]]: f32
// CHECK:         %[[ROWS:.*]] = attn.row_map
// CHECK-DAG:     %[[B0:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[B1:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[B2:.*]] = arith.constant 2 : i32
// CHECK-DAG:     %[[B3:.*]] = arith.constant 3 : i32
// CHECK:         %[[ST:.*]]:3 = attn.speculate
// CHECK:           ^bb0(%[[EXACT:.*]]: i1):
// CHECK:             %[[S0:.*]]:3 = attn.state_init
// CHECK:             %[[S1:.*]]:3 = attn.for_kv partial descending tile_k 32 from %[[B2]] to %[[B3]] {{.*}} %[[S0]]#0
// CHECK:               attn.row_max
// CHECK:             %[[E0:.*]] = attn.exact_prefix %[[S1]]#1, %[[ROWS]], %[[C]], %[[B1]], %[[B2]], %[[EXACT]]
// CHECK:             %[[N:.*]] = arith.subi %[[B2]], %[[B1]] : i32
// CHECK:             %[[E1:.*]] = arith.maxsi %[[E0]], %{{.*}} : i32
// CHECK:             %[[E:.*]] = arith.minsi %[[E1]], %[[N]] : i32
// CHECK:             %[[MID:.*]] = arith.subi %[[B2]], %[[E]] : i32
// CHECK:             %[[S2:.*]]:3 = attn.for_kv full descending tile_k 32 from %[[MID]] to %[[B2]] {{.*}} %[[S1]]#0
// CHECK:               attn.row_max
// CHECK:             %[[S3:.*]]:3 = attn.for_kv full frozen descending tile_k 32 from %[[B1]] to %[[MID]] {{.*}} carry (%[[O:.*]] = %[[S2]]#0 : {{.*}}, %[[M:.*]] = %[[S2]]#1 : {{.*}}, %[[L:.*]] = %[[S2]]#2 : {{.*}}) {
// CHECK:               %[[V:.*]] = attn.load_kv
// CHECK:               %[[V:.*]] = attn.load_kv
// CHECK:               %[[S:.*]] = attn.qk
// CHECK-NEXT:          %[[P:.*]] = attn.exp frozen %[[S]], %[[M]], %[[C]]
// CHECK-NEXT:          %[[L1:.*]] = attn.row_sum %[[P]], %[[L]] :
// CHECK-NEXT:          %[[PB:.*]] = attn.pack %[[P]]
// CHECK-NEXT:          %[[O1:.*]] = attn.pv %[[PB]], %[[V]], %[[O]]
// CHECK-NEXT:          attn.yield %[[O1]], %[[M]], %[[L1]]
// CHECK:             %[[S4:.*]]:3 = attn.for_kv partial descending tile_k 32 from %[[B0]] to %[[B1]] {{.*}} %[[S3]]#0
// CHECK:             attn.yield %[[S4]]#0, %[[S4]]#1, %[[S4]]#2
// CHECK:           check
// CHECK:           ^bb0(%[[CO:.*]]: !attn.tile<64x64xf32>, %{{.*}}: !attn.rowvec<64xf32>, %[[CL:.*]]: !attn.rowvec<64xf32>):
// CHECK:             %[[OK:.*]] = attn.check %[[CO]], %[[CL]], %[[ROWS]] limit 64
// CHECK:             attn.yield %[[OK]] : i1
// CHECK:         attn.finish %[[ST]]#0, %[[ST]]#1, %[[ST]]#2, %[[C]]
attn.kernel @frozen(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 2 : i32
    %b3 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<64> -> !qk
    %s0 = attn.state_init : !st
    %s1 = attn.for_kv partial descending tile_k 32 from %b2 to %b3 base %kv0 (%j, %k0) carry (%a = %s0 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %sm = attn.apply_mask neg_inf %s, %rows, %k0, %kv1 : !s, !attn.rows<64>
      %n = attn.state_step exact %a, %sm, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %s2 = attn.for_kv full descending tile_k 32 from %b1 to %b2 base %kv0 (%j, %k0) carry (%a = %s1 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %n = attn.state_step exact %a, %s, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %s3 = attn.for_kv partial descending tile_k 32 from %b0 to %b1 base %kv0 (%j, %k0) carry (%a = %s2 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %sm = attn.apply_mask neg_inf %s, %rows, %k0, %kv1 : !s, !attn.rows<64>
      %n = attn.state_step exact %a, %sm, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %t, %r = attn.state_finish %s3, %scale : !st -> !t, !r
    attn.store %t lse %r, %rows to %o lse %lse : !t lse !r, !attn.rows<64> to !O lse !L
  }
  attn.return
}

// Ascending: the first ones.

// CHECK-LABEL: attn.kernel @ascending(
// CHECK:             attn.exact_prefix %{{.*}}, %{{.*}}, %{{.*}}, %[[B0:.*]], %[[B1:.*]], %{{.*}} :
// CHECK:             %[[E:.*]] = arith.minsi
// CHECK:             %[[MID:.*]] = arith.addi %[[B0]], %[[E]] : i32
// CHECK:             attn.for_kv full ascending tile_k 32 from %[[B0]] to %[[MID]]
// CHECK:             attn.for_kv full frozen ascending tile_k 32 from %[[MID]] to %[[B1]]
// CHECK:             attn.check {{.*}} limit 126
attn.kernel @ascending(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) attributes {schedule = #ascending} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 2 : i32
    %b3 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<64> -> !qk
    %s0 = attn.state_init : !st
    %s1 = attn.for_kv full ascending tile_k 32 from %b0 to %b1 base %kv0 (%j, %k0) carry (%a = %s0 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %n = attn.state_step exact %a, %s, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %s2 = attn.for_kv partial ascending tile_k 32 from %b1 to %b2 base %kv0 (%j, %k0) carry (%a = %s1 : !st) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !kv
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !kv
      %s = attn.qk %qt, %kt : !qk, !kv -> !s
      %sm = attn.apply_mask neg_inf %s, %rows, %k0, %kv1 : !s, !attn.rows<64>
      %n = attn.state_step exact %a, %sm, %vt, %scale : !st, !s, !kv
      attn.yield %n : !st
    }
    %t, %r = attn.state_finish %s2, %scale : !st -> !t, !r
    attn.store %t lse %r, %rows to %o lse %lse : !t lse !r, !attn.rows<64> to !O lse !L
  }
  attn.return
}
