// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles,pipe-insert-channels,pipe-skew))' | FileCheck %s
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles,pipe-insert-channels,pipe-skew),pipe-verify-schedule)' -o /dev/null
// The index's marker is there for pipe-skew and gone behind it, also without a skew.
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles,pipe-insert-channels))' | FileCheck %s --check-prefix=MARKED
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles,pipe-insert-channels,pipe-skew))' | FileCheck %s --check-prefix=UNMARKED
// RUN: sed 's/skew = {load_kv = -1 : i32}/skew = {load_kv = 0 : i32}/' %s | attn-opt --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles,pipe-insert-channels,pipe-skew))' | FileCheck %s --check-prefix=UNMARKED
// MARKED-COUNT-2: {pipe.visit_index}
// UNMARKED-NOT: visit_index
// UNMARKED: attn.kernel @k_merge(
// UNMARKED-NOT: visit_index
// The first visit's copies before the loops, the next visit's in each visit.

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
// CHECK: %[[Q:.*]] = pipe.channel "q"
// CHECK: %[[K:.*]] = pipe.channel "k"
// CHECK: %[[V:.*]] = pipe.channel "v"
// CHECK: %[[B2:.*]] = arith.constant 3 : i32
// CHECK: arith.cmpi sgt, %[[B2]], %[[B0:.*]] : i32
// CHECK: scf.if
// CHECK: pipe.commit
// CHECK: %[[FIRST:.*]] = arith.subi %[[B2]], %{{.*}} : i32
// CHECK: arith.muli %[[FIRST]]
// CHECK: pipe.acquire %[[K]]
// CHECK: attn.copy_kv
// CHECK: pipe.commit
// CHECK: pipe.acquire %[[V]]
// CHECK: attn.copy_kv
// CHECK: pipe.commit
// CHECK-NEXT: pipe.wait %[[Q]]
// CHECK: scf.for
// CHECK: %[[J:.*]] = arith.subi
// CHECK-NOT: pipe.acquire
// CHECK: pipe.wait %[[K]]
// CHECK-NEXT: pipe.wait %[[V]]
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi sgt, %[[J]], %[[B0]] : i32
// CHECK-NEXT: scf.if %[[MORE]] {
// CHECK-NEXT: %[[N:.*]] = arith.subi %[[J]], %{{.*}} : i32
// CHECK-NEXT: arith.muli %[[N]]
// CHECK: pipe.acquire %[[K]]
// CHECK: pipe.acquire %[[V]]
// CHECK: pipe.commit
// CHECK-NEXT: }
// CHECK-NEXT: attn.qk
// CHECK: scf.for
// CHECK-NOT: pipe.acquire
// CHECK: pipe.wait %[[K]]
// CHECK: arith.cmpi sgt, %{{.*}}, %[[B0]] : i32
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

// Merges have no channels.
// CHECK-LABEL: attn.kernel @k_merge(
// CHECK-NOT: pipe.acquire
attn.kernel @k_merge(%o: !O, %plan: !attn.plan) attributes {schedule = #sched, merge_of = @k} {
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %p = attn.load_partial %rows, %plan slot %first : !attn.rows<128> -> !S
    attn.store %p, %rows to %o : !S, !attn.rows<128> to !O
  }
  attn.return
}
