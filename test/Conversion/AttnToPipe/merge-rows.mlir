// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles))' | FileCheck %s

// How many rows a turn of a merge has: as many as 16 registers a thread hold, four
// a warp at least, and a power of two that divides tile_q.

#pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 32>, #pipe.role<"compute", warps = 4, replicas = 3, regs = 160>],
  place = {default = "compute", load_kv = "load", load_query = "load"}, agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"},
  atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {pv = 1 : i32}, handover = "none", persist = "dynamic", unroll = 1>
#sched = #attn.schedule<tile_q = 192, tile_k = 128, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "quad_transpose", pipe = #pipe>
#small = #attn.schedule<tile_q = 16, tile_k = 128, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "quad_transpose", pipe = #pipe>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>
!T = !attn.tile<192x64xf32>
!R = !attn.rowvec<192xf32>
!Wide = !attn.tensor<output, bf16, heads = 4, dim = 256, ragged>

// 12 computing warps, 8 for the merge: three turns of 64 rows.  Everything in a
// turn is small, the loop over partials and the sink too.
// CHECK-LABEL: attn.kernel @three(
// CHECK: pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 80>]
// CHECK: scf.for
// CHECK: %[[SOME:.*]] = attn.slice_rows %{{.*}} of 3 : !attn.rows<192> -> !attn.rows<64>
// CHECK: attn.load_partial %[[SOME]], %{{.*}} slot %{{.*}} : !attn.rows<64> -> !attn.tile<64x64xf32>, !attn.rowvec<64xf32>, !attn.rowvec<64xf32>
// CHECK: scf.for {{.*}} -> (!attn.tile<64x64xf32>, !attn.rowvec<64xf32>, !attn.rowvec<64xf32>)
// CHECK: attn.load_partial %[[SOME]]
// CHECK: attn.merge_state{{.*}} : !attn.tile<64x64xf32>, !attn.rowvec<64xf32>
// CHECK: attn.apply_sink %[[SOME]]{{.*}} !attn.rowvec<64xf32>
// CHECK: attn.finish {{.*}} sink {{.*}} : !attn.tile<64x64xf32>, !attn.rowvec<64xf32> sink !attn.rowvec<64xf32>
// CHECK: attn.store {{.*}}, %[[SOME]] to
attn.kernel @three(%c: f32, %o: !O, %lse: !L, %plan: !attn.plan) attributes {schedule = #sched, merge_of = @k} {
  attn.variant @v {
    attn.hook sink(%b, %h) {
      %x = arith.constant 1.5 : f32
      attn.yield %x : f32
    }
  }
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<192>
    %c1 = arith.constant 1 : i32
    %p0:3 = attn.load_partial %rows, %plan slot %first : !attn.rows<192> -> !T, !R, !R
    %from = arith.addi %first, %c1 : i32
    %to = arith.addi %first, %count : i32
    %r:3 = scf.for %s = %from to %to step %c1 iter_args(%ta = %p0#0, %ma = %p0#1, %la = %p0#2) -> (!T, !R, !R) : i32 {
      %p:3 = attn.load_partial %rows, %plan slot %s : !attn.rows<192> -> !T, !R, !R
      %x:3 = attn.merge_state (%ta, %ma, %la), (%p#0, %p#1, %p#2), %c : !T, !R
      scf.yield %x#0, %x#1, %x#2 : !T, !R, !R
    }
    %sink = attn.apply_sink %rows : !attn.rows<192> -> !R
    %ts, %ls = attn.finish %r#0, %r#1, %r#2, %c sink %sink : !T, !R sink !R
    attn.store %ts lse %ls, %rows to %o lse %lse : !T lse !R, !attn.rows<192> to !O lse !L
  }
  attn.return
}

// Four rows a warp take 32 registers; that is the least.
// CHECK-LABEL: attn.kernel @wide(
// CHECK: pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 80>]
// CHECK: attn.slice_rows %{{.*}} of 6 : !attn.rows<192> -> !attn.rows<32>
attn.kernel @wide(%o: !Wide, %plan: !attn.plan) attributes {schedule = #sched, merge_of = @k} {
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<192>
    %t = attn.load_partial %rows, %plan slot %first : !attn.rows<192> -> !attn.tile<192x256xf32>
    attn.store %t, %rows to %o : !attn.tile<192x256xf32>, !attn.rows<192> to !Wide
  }
  attn.return
}

// 16 rows are enough for four warps, and one turn.
// CHECK-LABEL: attn.kernel @small(
// CHECK: pipe.roles [#pipe.role<"all", warps = 4, replicas = 1, regs = 80>]
// CHECK-NOT: scf.for
// CHECK: attn.load_partial {{.*}} : !attn.rows<16> -> !attn.tile<16x64xf32>
attn.kernel @small(%o: !O, %plan: !attn.plan) attributes {schedule = #small, merge_of = @k} {
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<16>
    %t = attn.load_partial %rows, %plan slot %first : !attn.rows<16> -> !attn.tile<16x64xf32>
    attn.store %t, %rows to %o : !attn.tile<16x64xf32>, !attn.rows<16> to !O
  }
  attn.return
}
