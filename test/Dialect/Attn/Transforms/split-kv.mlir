// RUN: attn-opt %s --attn-split-kv | FileCheck %s

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

// Sink and output hook belong to the whole row: a partial has neither.

// CHECK-LABEL: attn.kernel @sink(
// CHECK:         attn.for_work %[[PLAN:.*]] (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SLOT:.*]], %{{.*}}) {
// CHECK:           %[[ROWS:.*]] = attn.row_map
// CHECK:           %[[ST:.*]] = attn.for_kv
// CHECK-NOT:       attn.apply_sink
// CHECK:           %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK:           %[[SPLIT:.*]] = arith.cmpi sge, %[[SLOT]], %[[ZERO]] : i32
// CHECK:           scf.if %[[SPLIT]] {
// CHECK-NEXT:        attn.store_partial %[[ST]] by %{{[^ ]*}} in %[[ROWS]], %[[PLAN]] slot %[[SLOT]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[Z:.*]] = attn.apply_sink %[[ROWS]]
// CHECK-NEXT:        %[[T:.*]], %[[R:.*]] = attn.state_finish %[[ST]], %{{[^ ]*}} sink %[[Z]]
// CHECK-NEXT:        %[[X:.*]] = attn.transform_rows output %[[T]], %[[ROWS]]
// CHECK-NEXT:        attn.store %[[X]] lse %[[R]], %[[ROWS]]
// CHECK-NEXT:      }
attn.kernel @sink(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
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
    %z = attn.apply_sink %rows : !attn.rows<64> -> !r
    %t, %r = attn.state_finish %st, %scale sink %z : !st sink !r -> !t, !r
    %x = attn.transform_rows output %t, %rows : !t, !attn.rows<64> -> !t
    attn.store %x lse %r, %rows to %o lse %lse : !t lse !r, !attn.rows<64> to !O lse !L
  }
  attn.return
}
