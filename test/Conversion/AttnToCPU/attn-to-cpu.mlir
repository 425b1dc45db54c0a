// RUN: attn-opt %s --attn-to-cpu | FileCheck %s
// RUN: attn-opt %s --attn-to-cpu=vector-bits=512 | FileCheck %s --check-prefix=WIDE
// RUN: sed 's/attn.row_max %%s, %%m/attn.lazy_max %%s, %%m, %%c by 8/; s/attn.rescale/attn.rescale rare/' %s | attn-opt --attn-to-cpu | FileCheck %s --check-prefix=LAZY

// One item a call: fields from the record, an inert record does nothing, the
// request from the plan's header, tiles at offsets of the scratch buffer.

!Q = !attn.tensor<query, f32, heads = 2, dim = 16, ragged>
!K = !attn.tensor<key, f32, heads = 2, dim = 16, ragged>
!V = !attn.tensor<value, f32, heads = 2, dim = 16, ragged>
!O = !attn.tensor<output, f32, heads = 2, dim = 16, ragged>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, ragged>
!T = !attn.tile<16x16xf32>
!R = !attn.rowvec<16xf32>

// CHECK-LABEL: llvm.func @f
// CHECK-SAME: (%[[RECORD:[a-z0-9]+]]: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias})
// CHECK-SAME: attn.scratch_bytes = {{[0-9]+}} : i64
// CHECK: %[[REQ:[0-9]+]] = llvm.load %[[RECORD]] {alignment = 4 : i64} : !llvm.ptr -> i32
// CHECK: %[[LIVE:[0-9]+]] = arith.cmpi sgt
// CHECK: scf.if %[[LIVE]]
// The requests' offset is at byte 40 of the plan's header.
// CHECK: arith.constant 40 : i64
// Descending: j = lo + (hi - 1) - t.
// CHECK: scf.for %[[T:[a-z0-9_]+]] = %[[LO:[a-z0-9_]+]] to %[[HI:[a-z0-9_]+]] step %{{[a-z0-9_]+}} : i32 {
// CHECK: %[[LAST:[0-9]+]] = arith.subi %[[HI]]
// CHECK: %[[SUM:[0-9]+]] = arith.addi %[[LO]], %[[LAST]]
// CHECK: arith.subi %[[SUM]], %[[T]]
// K is transposed in registers.
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 8, 9, 10, 11]
// 6 rows by 2 vectors of accumulators.
// CHECK-COUNT-12: math.fma %{{.*}} : vector<8xf32>
// CHECK-NOT: attn.
// CHECK-NOT: math.exp2

// 6 rows by 1 vector: 16 columns are one vector.
// WIDE-LABEL: llvm.func @f
// WIDE: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16,
// WIDE-COUNT-6: math.fma %{{.*}} : vector<16xf32>

// The reference of a row stays where the maximum is near.
// LAZY-LABEL: llvm.func @f
// LAZY: arith.constant 0x4A800000 : f32
// LAZY: %[[SMALL:.*]] = arith.cmpf olt
// LAZY: arith.constant 8.000000e+00 : f32
// LAZY: %[[NEAR:.*]] = arith.cmpf ole
// LAZY: %[[KEEP:.*]] = arith.andi %[[SMALL]], %[[NEAR]]
// LAZY: arith.select %[[KEEP]], %{{.*}}, %{{.*}} : f32

attn.kernel @f(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
  %log2e = arith.constant 1.44269502 : f32
  %c = arith.mulf %scale, %log2e : f32
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<16>
    %c0 = arith.constant 0 : i32
    %c16 = arith.constant 16 : i32
    %n = arith.divui %kv1, %c16 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<16> -> !T
    %O0, %m0, %l0 = attn.state_init : !T, !R, !R
    %r:3 = attn.for_kv full exact descending tile_k 16 from %c0 to %n base %kv0 (%j, %k0) carry (%O = %O0 : !T, %m = %m0 : !R, %l = %l0 : !R) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !T
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !T
      %s = attn.qk %qt, %kt : !T, !T -> !T
      %m1 = attn.row_max %s, %m : !T, !R
      %al = attn.alpha %m, %m1, %c : !R
      %p = attn.exp exact %s, %m1, %c : !T, !R
      %l1 = attn.row_sum %p, %l scaled %al : !T, !R scaled !R
      %Or = attn.rescale %O, %al : !T, !R
      %O1 = attn.pv %p, %vt, %Or : !T, !T, !T
      attn.yield %O1, %m1, %l1 : !T, !R, !R
    }
    %f:2 = attn.finish %r#0, %r#1, %r#2, %c : !T, !R
    attn.store %f#0 lse %f#1, %rows to %o lse %lse : !T lse !R, !attn.rows<16> to !O lse !L
  }
  attn.return
}

// One tile of 16 rows, padded to 18 rows of 64 bytes.
// CHECK-LABEL: llvm.func @kept
// CHECK: attn.scratch_bytes = 1152 : i64
attn.kernel @kept(%o: !O, %plan: !attn.plan) {
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<16>
    %p0 = attn.load_partial %rows, %plan slot %first : !attn.rows<16> -> !T
    attn.store %p0, %rows to %o : !T, !attn.rows<16> to !O
  }
  attn.return
}
