// RUN: attn-opt %s --attn-to-cpu | FileCheck %s

// Hooks on vectors of keys: positions of a row are scalars, table indices are
// clamped, exponentials are polynomials, masked elements are selected away.

!Q = !attn.tensor<query, bf16, heads = 4, dim = 16, ragged>
!O = !attn.tensor<output, f16, heads = 4, dim = 16, ragged>
!T = !attn.tile<16x16xf32>
!Tb = !attn.tile<16x16xbf16>
!R = !attn.rowvec<16xf32>

// CHECK-LABEL: llvm.func @hooks
attn.kernel @hooks(%q: !Q, %scale: f32, %o: !O, %plan: !attn.plan) {
  attn.variant @v {
    %w = attn.param "window" : i32 {default = 4 : i32}
    %bias = attn.table "bias" : !attn.table<f32, [head, free]>
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %x = attn.read %bias[%h, %kp] : !attn.table<f32, [head, free]>
      %y = arith.addf %s, %x : f32
      %t = math.tanh %y : f32
      attn.yield %t : f32
    }
    attn.hook mask(%b, %h, %qp, %kp) {
      %d = arith.subi %qp, %kp : i32
      %r = arith.cmpi slt, %d, %w : i32
      attn.yield %r : i1
    }
    attn.hook query(%x: vector<16xf32>, %b, %h, %pos, %i) {
      %one = arith.constant 1 : i32
      %j = arith.addi %i, %one : i32
      %y = attn.element %x[%j] : vector<16xf32>
      attn.yield %y : f32
    }
    attn.hook sink(%b, %h) {
      %zero = arith.constant 0 : i32
      %x = attn.read %bias[%h, %zero] : !attn.table<f32, [head, free]>
      attn.yield %x : f32
    }
  }
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    // Packed rows: token t / 2, query head 2 head + t mod 2.
    // CHECK: %[[T:[0-9]+]] = arith.addi %{{.*}} : i32
    // CHECK: arith.divui %[[T]]
    // CHECK: arith.remui %[[T]]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 2 : !attn.rows<16>
    // bf16 to f32 is a shift.
    // CHECK: arith.extui %{{.*}} : vector<8xi16> to vector<8xi32>
    // CHECK: arith.shli %{{.*}} : vector<8xi32>
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<16> -> !Tb
    // The element's index is clamped into the row.
    // CHECK: %[[UP:[0-9]+]] = arith.minsi %{{.*}}, %c15_i32
    // CHECK: arith.maxsi %[[UP]]
    %qh = attn.transform_rows query %qt, %rows : !Tb, !attn.rows<16> -> !T
    // Score: one lane after the other of the clamped table, then tanh.
    // CHECK: arith.maxsi %{{.*}} : vector<8xi32>
    // CHECK: vector.extract %{{.*}}[7] : i32 from vector<8xi32>
    // CHECK: vector.insert
    // CHECK-NOT: math.tanh
    // CHECK: math.absf %{{.*}} : vector<8xf32>
    %s = attn.apply_score %qh, %scale, %rows, %kv0, %kv1 : !T, !attn.rows<16>
    // Positions of one request are less than 2^31 apart.
    // CHECK: arith.cmpi slt, %{{.*}} : vector<8xi32>
    // CHECK: arith.subi %{{.*}} overflow<nsw> : vector<8xi32>
    // CHECK: arith.cmpi slt, %{{.*}} : vector<8xi32>
    // CHECK: arith.andi %{{.*}} : vector<8xi1>
    // CHECK: arith.select %{{.*}} : vector<8xi1>, vector<8xf32>
    %m = attn.apply_mask zero %s, %rows, %kv0, %kv1 : !T, !attn.rows<16>
    // bf16 by integers, nearest even.
    // CHECK: arith.shrui %{{.*}} : vector<8xi32>
    // CHECK: arith.cmpf uno
    %p = attn.pack %m : !T -> !Tb
    %z = attn.apply_sink %rows : !attn.rows<16> -> !R
    // CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
    attn.store %m, %rows to %o : !T, !attn.rows<16> to !O
  }
  attn.return
}
