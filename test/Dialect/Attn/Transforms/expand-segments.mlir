// RUN: attn-opt %s --attn-expand-segments --allow-unregistered-dialect | FileCheck %s --implicit-check-not=attn.segments
//
// The numbers are checked against brute force in test/unit/Tiles.

// Without bounds: whole blocks are full.

// CHECK-LABEL: attn.kernel @dense(
// CHECK:         %[[LEN:.*]] = arith.subi %{{.*}}, %{{.*}} : i32
// CHECK:         %[[KEYS0:.*]] = arith.maxsi %{{.*}}, %[[ZERO:.*]] : i32
// CHECK:         %[[LIVE:.*]] = arith.cmpi sgt, %{{.*}}, %[[ZERO]] : i32
// CHECK:         %[[KEYS:.*]] = arith.select %[[LIVE]], %[[KEYS0]], %[[ZERO]] : i32
// CHECK:         %[[TK:.*]] = arith.constant 32 : i32
// CHECK:         %[[B1:.*]] = arith.divui %[[KEYS]], %[[TK]] : i32
// CHECK:         %[[C31:.*]] = arith.constant 31 : i32
// CHECK:         %[[UP:.*]] = arith.addi %[[KEYS]], %[[C31]] : i32
// CHECK:         %[[B2:.*]] = arith.divui %[[UP]], %[[TK]] : i32
// CHECK:         "test.use"(%[[ZERO]], %[[B1]], %[[B2]])
attn.kernel @dense(%plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b:3 = attn.segments %rows, %kv0, %kv1 map <closed, classes = [full, partial]> tile_k 32 : !attn.rows<64> -> i32, i32, i32
    "test.use"(%b#0, %b#1, %b#2) : (i32, i32, i32) -> ()
  }
  attn.return
}

// k <= q: 32 bits, no parameter.

// CHECK-LABEL: attn.kernel @causal(
// CHECK-NOT:     i64
// CHECK:         "test.use"
attn.kernel @causal(%plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b:3 = attn.segments %rows, %kv0, %kv1 map <closed, classes = [full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>]> tile_k 32 : !attn.rows<64> -> i32, i32, i32
    "test.use"(%b#0, %b#1, %b#2) : (i32, i32, i32) -> ()
  }
  attn.return
}

// A parameter is read at the top of the kernel, once; sums are 64 bits wide.

// CHECK-LABEL: attn.kernel @window(
// CHECK:         attn.variant @v
// CHECK:         }
// CHECK-NEXT:    %[[W:.*]] = attn.param "window" : i32
// CHECK-NEXT:    attn.for_work
// CHECK:           arith.extsi %[[W]] : i32 to i64
// CHECK-NOT:       attn.param
// CHECK:           "test.use"
attn.kernel @window(%plan: !attn.plan) {
  attn.variant @v {
    %w = attn.param "window" : i32
  }
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b:4 = attn.segments %rows, %kv0, %kv1 map <closed, classes = [partial, full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>, #attn.bound<lower, q = 1, constant = 1, q_len = 0, kv_len = 0, params = {window = -1 : i32}>]> tile_k 32 : !attn.rows<64> -> i32, i32, i32, i32
    "test.use"(%b#0, %b#1, %b#2, %b#3) : (i32, i32, i32, i32) -> ()
  }
  attn.return
}

// Not analysed, and the plan knows: the item's flags say how many blocks at each end are
// not whole; 0 that nothing is known.

// CHECK-LABEL: attn.kernel @planned(
// CHECK-SAME:      %[[PLAN:.*]]: !attn.plan
// CHECK:         attn.for_work %{{.*}} (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[FLAGS:.*]]) {
// CHECK:         %[[BLOCKS:.*]] = arith.divui %{{.*}}, %c32_i32
// CHECK:         %[[BODY:.*]] = arith.andi %[[FLAGS]], %c255_i32
// CHECK:         %[[KNOWN:.*]] = arith.cmpi ne, %[[BODY]], %c0_i32
// CHECK:         %[[EDGES:.*]] = arith.subi %[[BODY]], %c1_i32
// CHECK:         %[[FIRST:.*]] = arith.divui %[[EDGES]], %c15_i32
// CHECK:         %[[LAST:.*]] = arith.remui %[[EDGES]], %c15_i32
// CHECK:         %[[LOW:.*]] = arith.select %[[KNOWN]], %[[FIRST]], %[[BLOCKS]]
// CHECK:         %[[B1:.*]] = arith.minsi %[[LOW]], %[[BLOCKS]]
// CHECK:         %[[HIGH:.*]] = arith.subi %[[BLOCKS]], %[[LAST]]
// CHECK:         %[[END:.*]] = arith.select %[[KNOWN]], %[[HIGH]], %[[BLOCKS]]
// CHECK:         %[[B2:.*]] = arith.maxsi %[[END]], %[[B1]]
// CHECK:         "test.use"(%c0_i32{{.*}}, %[[B1]], %[[B2]], %[[BLOCKS]])
attn.kernel @planned(%plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b:4 = attn.segments %rows, %kv0, %kv1 flags %flags map <opaque, classes = [partial, full, partial]> tile_k 32 : !attn.rows<64> -> i32, i32, i32, i32
    "test.use"(%b#0, %b#1, %b#2, %b#3) : (i32, i32, i32, i32) -> ()
  }
  attn.return
}

// Not analysed: every block of the slice.

// CHECK-LABEL: attn.kernel @opaque(
// CHECK:         %[[KEYS:.*]] = arith.select
// CHECK:         %[[UP:.*]] = arith.addi %[[KEYS]], %{{.*}} : i32
// CHECK:         %[[B1:.*]] = arith.divui %[[UP]], %{{.*}} : i32
// CHECK:         "test.use"(%{{.*}}, %[[B1]])
attn.kernel @opaque(%plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    %b:2 = attn.segments %rows, %kv0, %kv1 map <opaque, classes = [partial]> tile_k 32 : !attn.rows<64> -> i32, i32
    "test.use"(%b#0, %b#1) : (i32, i32) -> ()
  }
  attn.return
}
