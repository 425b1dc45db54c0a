// RUN: attn-opt %s --attn-verify-tiles | FileCheck %s

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

// States in one piece, and the two arms of an item as alternatives.

// CHECK-LABEL: attn.kernel @ok(
// CHECK:         attn.store
attn.kernel @ok(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
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

// CHECK-LABEL: attn.kernel @arms(
// CHECK:         scf.if
attn.kernel @arms(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %o0, %m, %l = attn.state_init : !t, !r, !r
    %c = arith.constant true
    scf.if %c {
      attn.store_partial %o0, %m, %l by %scale in %rows, %plan slot %slot : !t, !r, !r in !attn.rows<64>
    } else {
      %t, %r = attn.finish %o0, %m, %l, %scale : !t, !r
      attn.store %t lse %r, %rows to %o lse %lse : !t lse !r, !attn.rows<64> to !O lse !L
    }
  }
  attn.return
}
