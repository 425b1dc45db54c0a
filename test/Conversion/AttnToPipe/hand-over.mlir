// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles,pipe-insert-channels,pipe-split-roles,pipe-issue-products,pipe-skew-products,pipe-hand-over),pipe-verify-schedule)' | FileCheck %s
// One turn a visit, from its QK to the PV beside it; the last PV needs none.

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!Qt = !attn.tile<128x64xbf16>
!KV = !attn.tile<64x64xbf16>
!S = !attn.tile<128x64xf32>
!P = !attn.tile<128x64xbf16>
!R = !attn.rowvec<128xf32>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "quad_transpose",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>], place = {default = "compute", load_kv = "load", load_query = "load"}, agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {pv = 1 : i32}, handover = "ring", persist = "dynamic", unroll = 1>>

// CHECK-LABEL: attn.kernel @k(
// CHECK: }, (%{{.*}}) {
// The first visit.
// CHECK: pipe.take_turn
// CHECK-NEXT: pipe.issue mma {
// CHECK-NEXT: attn.qk
// CHECK-NEXT: pipe.yield
// CHECK-NEXT: }
// CHECK-NEXT: pipe.pass_turn
// CHECK: scf.for
// CHECK: pipe.take_turn
// CHECK: attn.qk
// CHECK: pipe.wait
// CHECK: attn.pv
// CHECK: }
// CHECK-NEXT: pipe.pass_turn
// CHECK-NEXT: pipe.join
// CHECK: scf.for
// CHECK: pipe.take_turn
// CHECK: pipe.pass_turn
// CHECK-NOT: _turn
// CHECK: attn.store
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %n0 = arith.subi %kv1, %kv0 : i32
    %n = arith.maxsi %n0, %b0 : i32
    %b1 = arith.divui %n, %c64 : i32
    %b2 = arith.ceildivui %n, %c64 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
    %u = attn.state_init : !S
    %r1 = attn.for_kv partial exact descending tile_k 64 from %b1 to %b2 base %kv0 (%j, %k0) carry (%O = %u : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %p = attn.apply_mask zero %s, %rows, %k0, %kv1 : !S, !attn.rows<128>
      %pb = attn.pack %p : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    %r2 = attn.for_kv full exact descending tile_k 64 from %b0 to %b1 base %kv0 (%j, %k0) carry (%O = %r1 : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %pb = attn.pack %s : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    attn.store %r2, %rows to %o : !S, !attn.rows<128> to !O
  }
  attn.return
}
