// RUN: attn-opt %s --split-input-file --attn-expand-softmax -verify-diagnostics

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

// expected-error@+1 {{'attn.kernel' op has no schedule}}
attn.kernel @unscheduled(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
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

// -----

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
attn.kernel @branches(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 2 : i32
    %b3 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<64> -> !qk
    %s0 = attn.state_init : !st
    %c = arith.constant true
    // expected-error@+1 {{'scf.if' op makes a state that attn-expand-softmax does not know}}
    %s1 = scf.if %c -> !st {
      scf.yield %s0 : !st
    } else {
      scf.yield %s0 : !st
    }
    %t, %r = attn.state_finish %s1, %scale : !st -> !t, !r
    attn.store %t lse %r, %rows to %o lse %lse : !t lse !r, !attn.rows<64> to !O lse !L
  }
  attn.return
}
