// RUN: attn-opt %s --attn-to-cpu | FileCheck %s

// Merge kernels: the loop over partials carries its tile in a buffer, not as a
// value, and the merged state replaces the first one in place.

!O = !attn.tensor<output, f32, heads = 2, dim = 16, ragged>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, ragged>
!T = !attn.tile<16x16xf32>
!R = !attn.rowvec<16xf32>

// CHECK-LABEL: llvm.func @m(
// Two tiles of 18 x 16 f32 and four vectors of 24: 2 * 1152 + 4 * 128.
// CHECK-SAME: attn.scratch_bytes = 2816 : i64
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} : i32 {
// CHECK-NOT: !attn.
attn.kernel @m(%c: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
  attn.variant @v {
    attn.hook sink(%b, %h) {
      %x = arith.constant 1.0 : f32
      attn.yield %x : f32
    }
  }
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<16>
    %c1 = arith.constant 1 : i32
    %p0:3 = attn.load_partial %rows, %plan slot %first : !attn.rows<16> -> !T, !R, !R
    %second = arith.addi %first, %c1 : i32
    %end = arith.addi %first, %count : i32
    %r:3 = scf.for %s = %second to %end step %c1 iter_args(%O = %p0#0, %m = %p0#1, %l = %p0#2) -> (!T, !R, !R) : i32 {
      %p:3 = attn.load_partial %rows, %plan slot %s : !attn.rows<16> -> !T, !R, !R
      %x:3 = attn.merge_state (%O, %m, %l), (%p#0, %p#1, %p#2), %c : !T, !R
      scf.yield %x#0, %x#1, %x#2 : !T, !R, !R
    }
    %z = attn.apply_sink %rows : !attn.rows<16> -> !R
    %y:2 = attn.finish %r#0, %r#1, %r#2, %c sink %z : !T, !R sink !R
    attn.store %y#0 lse %y#1, %rows to %o lse %lse : !T lse !R, !attn.rows<16> to !O lse !L
  }
  attn.return
}

// Without a normaliser a merge is an addition.
// CHECK-LABEL: llvm.func @sum(
// CHECK: scf.for
// CHECK: arith.addf %{{.*}} : vector<8xf32>
attn.kernel @sum(%o: !O, %plan: !attn.plan) {
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<16>
    %a = attn.load_partial %rows, %plan slot %first : !attn.rows<16> -> !T
    %b = attn.load_partial %rows, %plan slot %count : !attn.rows<16> -> !T
    %c = attn.add_tile %a, %b : !T
    attn.store %c, %rows to %o : !T, !attn.rows<16> to !O
  }
  attn.return
}
