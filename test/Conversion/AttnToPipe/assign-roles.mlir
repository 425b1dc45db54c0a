// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles))' | FileCheck %s
// Work loops become loops over work indices, loops over blocks become scf.for.

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!Qt = !attn.tile<128x64xbf16>
!KV = !attn.tile<64x64xbf16>
!S = !attn.tile<128x64xf32>
!P = !attn.tile<128x64xbf16>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#all], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "static", unroll = 1>>

// CHECK-LABEL: attn.kernel @k(
// CHECK: pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>] {
// CHECK: %[[NONE:.*]] = arith.constant -1 : i32
// CHECK: scf.while (%[[PREV:.*]] = %[[NONE]]) : (i32) -> i32 {
// CHECK: %[[W:.*]] = pipe.next_work static_order %{{.*}} after %[[PREV]] merges = false : !attn.plan
// CHECK: %[[GO:.*]] = arith.cmpi sge, %[[W]]
// CHECK: scf.condition(%[[GO]]) %[[W]] : i32
// CHECK: ^bb0(%[[WORD:.*]]: i32):
// CHECK: %[[ITEM:.*]]:8 = attn.load_item %{{.*}}[%[[WORD]]]
// CHECK: attn.request %{{.*}}[%[[ITEM]]#0]
// CHECK-DAG: %[[B0:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[B2:.*]] = arith.constant 3 : i32
// CHECK: attn.load_query
// The first loop runs from b1 to b2: j = b1 + b2 - 1 - i.
// CHECK: %[[SUM:.*]] = arith.addi %[[B1:.*]], %[[B2]] : i32
// CHECK: %[[TOP:.*]] = arith.subi %[[SUM]], %{{.*}} : i32
// CHECK: %[[R1:.*]] = scf.for %[[I:.*]] = %[[B1]] to %[[B2]]
// CHECK: %[[J:.*]] = arith.subi %[[TOP]], %[[I]] {pipe.visit_index} : i32
// CHECK: %[[X:.*]] = arith.muli %[[J]], %{{.*}} : i32
// CHECK: %[[K0:.*]] = arith.addi %[[ITEM]]#4, %[[X]] : i32
// CHECK: attn.load_kv %{{.*}} k0 %[[K0]] kv1 %[[ITEM]]#5
// CHECK: {pipe.class = "partial", pipe.visits = "descending"}
// CHECK: scf.for %{{.*}} = %[[B0]] to %[[B1]] {{.*}} iter_args(%{{.*}} = %[[R1]])
// CHECK: {pipe.class = "full", pipe.visits = "descending"}
// CHECK: scf.yield %[[WORD]] : i32
// CHECK-NOT: attn.for_
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 3 : i32
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

// A turn of a merge has 64 of the 128 rows; turns without a live row are not run.
// CHECK-LABEL: attn.kernel @k_merge(
// CHECK: pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 80>] {
// CHECK: pipe.next_work static_order {{.*}} merges = true
// CHECK: %[[REC:.*]]:6 = attn.load_item
// CHECK: %[[ROWS:.*]] = attn.row_map request %[[REC]]#0
// CHECK-DAG: %[[SIZE:.*]] = arith.constant 64 : i32
// CHECK-DAG: %[[LESS:.*]] = arith.constant 63 : i32
// CHECK: %[[UP:.*]] = arith.addi %[[REC]]#3, %[[LESS]] : i32
// CHECK: %[[TURNS:.*]] = arith.divui %[[UP]], %[[SIZE]] : i32
// CHECK: scf.for %[[TURN:.*]] = %{{.*}} to %[[TURNS]]
// CHECK-NEXT: %[[SOME:.*]] = attn.slice_rows %[[ROWS]][%[[TURN]]] of 2 : !attn.rows<128> -> !attn.rows<64>
// CHECK-NEXT: %[[P:.*]] = attn.load_partial %[[SOME]], %{{.*}} slot %[[REC]]#4 : !attn.rows<64> -> !attn.tile<64x64xf32>
// CHECK-NEXT: attn.store %[[P]], %[[SOME]] to %{{.*}} : !attn.tile<64x64xf32>, !attn.rows<64>
attn.kernel @k_merge(%o: !O, %plan: !attn.plan) attributes {schedule = #sched, merge_of = @k} {
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %p = attn.load_partial %rows, %plan slot %first : !attn.rows<128> -> !S
    attn.store %p, %rows to %o : !S, !attn.rows<128> to !O
  }
  attn.return
}
