// RUN: attn-opt %s --pipe-to-frag --canonicalize --cse | FileCheck %s
// RUN: sed 's/limit = 64,/limit = 64, exp2_fma = 5,/' %s | attn-opt --pipe-to-frag --canonicalize --cse | FileCheck %s --check-prefix=SHARE

// A speculation: the reference of the first loop is frozen in the second.

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!LSE = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>
!Qt = !attn.tile<32x64xbf16>
!Ot = !attn.tile<32x64xf32>
!R = !attn.rowvec<32xf32>
!rows = !attn.rows<32>
!Qc = !pipe.channel<!Qt, depth = 1>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = frozen, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>], place = {default = "all"}, agents = {load_query = "cp_async"},
    atoms = {qk = "mma.m16n8k16", pv = "mma.m16n8k16"}, channels = {q = 1 : i32}, skew = {}, handover = "none", persist = "static", unroll = 1>>

// The frozen exponentials alone are shared out.
// SHARE-LABEL: frag.kernel @k
// SHARE-NOT: exp2_fma
// SHARE: scf.for
// SHARE-NOT: exp2_fma
// SHARE: scf.for
// SHARE: attributes {exp2_fma = 5 : i32} {
// SHARE-NEXT: math.fma
// SHARE-NEXT: math.exp2
// SHARE-NOT: exp2_fma

// CHECK-LABEL: frag.kernel @k
// CHECK-DAG: %[[C:.*]] = frag.param "scale"
// CHECK-DAG: %[[LARGE:.*]] = arith.constant 0x4E000000 : f32
// CHECK-DAG: %[[NAN:.*]] = arith.constant 0x7FC00000 : f32
// A quarter of 2^64: four lanes share a row.
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant 4.61168602E+18 : f32
// CHECK: scf.while
// CHECK: scf.while (%[[EXACT:.*]] = %{{.*}}) : (i1)
// The copy's place is not known before the turn.
// CHECK: %[[ROW0:.*]] = frag.opaque %{{.*}} : i32
// CHECK: %[[NROWS:.*]] = frag.opaque %{{.*}} : i32
// CHECK: frag.cp_async
// CHECK: arith.addi %[[ROW0]], %{{.*}} : i32
// CHECK: arith.cmpi slt, %{{.*}}, %[[NROWS]] : i32
// One factor and one summand a row, one FMA an element.
// CHECK: scf.for
// CHECK: %[[M:.*]] = frag.map {{.*}} {
// CHECK: arith.maxnumf
// CHECK: frag.map (%[[X:.*]] = %[[M]] : {{.*}}) at (%{{.*}}) -> !frag.vec<{{.*}}, !frag.vec<{{.*}} {
// CHECK: %[[CM:.*]] = arith.mulf %[[X]], %[[C]] : f32
// CHECK: %[[SIZE:.*]] = math.absf %[[CM]] : f32
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %[[SIZE]], %[[LARGE]] : f32
// CHECK: arith.bitcast %[[X]] : f32 to i32
// CHECK: %[[POWER:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: %[[F:.*]] = arith.select %[[SMALL]], %[[C]], %[[POWER]] : f32
// CHECK: %[[FM:.*]] = arith.mulf %[[X]], %[[F]] : f32
// CHECK: frag.map (%[[S:.*]] = %{{.*}} : {{.*}}, %[[FR:.*]] = %{{.*}} : {{.*}}, %[[B:.*]] = %{{.*}} : {{.*}}) at (%{{.*}}, %{{.*}}) ->
// CHECK-NEXT: math.fma %[[S]], %[[FR]], %[[B]] : f32
// CHECK-NEXT: math.exp2
// CHECK: scf.yield
// Live rows alone decide how many blocks are exact.
// CHECK: %[[VOTE:.*]] = frag.map (%[[X:.*]] = %{{.*}} : {{.*}}) at (%[[ROW:.*]]) -> !frag.vec<32xi1, {{.*}}> {
// CHECK: %[[LIVE:.*]] = arith.cmpi slt, %[[ROW]], %{{.*}} : i32
// CHECK: arith.andi %[[LIVE]], %{{.*}} : i1
// CHECK: %[[SOME:.*]] = frag.any %[[VOTE]]
// CHECK: arith.minsi
// CHECK: %[[E:.*]] = arith.select %[[SOME]]
// CHECK: arith.select %[[EXACT]], %{{.*}}, %[[E]] : i32
// The frozen reference is made into a summand once, before the loop.
// CHECK: %[[MINUS:.*]] = frag.map (%[[X:.*]] = %{{.*}} : {{.*}}) at (%{{.*}}) -> !frag.vec<32xf32, {{.*}}> {
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[NAN]] : f32
// CHECK: scf.for
// CHECK: frag.map (%[[S:.*]] = %{{.*}} : {{.*}}, %[[B:.*]] = %[[MINUS]] : {{.*}}) at (%{{.*}}, %{{.*}}) ->
// CHECK-NEXT: math.fma %[[S]], %[[C]], %[[B]] : f32
// CHECK-NEXT: math.exp2
// CHECK: scf.yield
// CHECK: %[[FINITE:.*]] = frag.reduce_row sum thread
// CHECK: %[[VOTE:.*]] = frag.map (%[[X:.*]] = %{{.*}} : {{.*}}partial>, %[[Z:.*]] = %[[FINITE]] : {{.*}}partial>) at (%[[ROW:.*]]) ->
// CHECK-DAG: arith.cmpi slt, %[[ROW]], %{{.*}} : i32
// CHECK-DAG: arith.cmpf olt, %[[X]], %[[LIMIT]] : f32
// CHECK-DAG: %[[SIZE:.*]] = math.absf %[[Z]] : f32
// CHECK-DAG: arith.cmpf olt, %[[SIZE]], %{{.*}} : f32
// CHECK: %[[BAD:.*]] = frag.any %[[VOTE]]
// CHECK: scf.condition
attn.kernel @k(%q: !Q, %scale: f32, %o: !O, %lse: !LSE, %plan: !attn.plan) attributes {schedule = #sched} {
  %qc = pipe.channel "q" from "all" to ["all"] : !Qc
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
    %none = arith.constant -1 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %no = arith.constant false
    %yes = arith.constant true
    %done = scf.while (%last = %none) : (i32) -> i32 {
      %w = pipe.next_work static_order %plan after %last merges = false : !attn.plan
      %go = arith.cmpi sge, %w, %c0 : i32
      scf.condition(%go) %w : i32
    } do {
    ^bb0(%word: i32):
      %i:8 = attn.load_item %plan[%word] : i32, i32, i32, i32, i32, i32, i32, i32
      %qb, %ql, %kb, %kl = attn.request %plan[%i#0]
      %rows = attn.row_map request %i#0 head %i#1 row0 %i#2 rows %i#3 q_begin %qb q_len %ql kv_len %kl pack 2 : !rows
      %st:3 = scf.while (%exact = %no) : (i1) -> (!Ot, !R, !R) {
        %u:3 = attn.state_init : !Ot, !R, !R
        %qs = pipe.acquire %qc : !Qc -> !pipe.slot<!Qt>
        %fq = pipe.issue cp_async {
          attn.copy_query %qs, %q, %rows : !pipe.slot<!Qt>, !Q, !rows
        }
        pipe.commit %qs after %fq : !pipe.slot<!Qt>
        %qt, %qr = pipe.wait %qc : !Qc -> !Qt, !pipe.slot<!Qt>
        pipe.release %qr : !pipe.slot<!Qt>
        %r:3 = scf.for %j = %c0 to %i#4 step %c1 iter_args(%O = %u#0, %m = %u#1, %l = %u#2) -> (!Ot, !R, !R) : i32 {
          %m1 = attn.row_max %O, %m : !Ot, !R
          %p = attn.exp exact %O, %m1, %scale : !Ot, !R
          %l1 = attn.row_sum %p, %l : !Ot, !R
          scf.yield %p, %m1, %l1 : !Ot, !R, !R
        }
        %e = attn.exact_prefix %r#1, %rows, %scale, %c0, %i#5, %exact : !R, !rows
        %f:3 = scf.for %j = %e to %i#5 step %c1 iter_args(%O = %r#0, %m = %r#1, %l = %r#2) -> (!Ot, !R, !R) : i32 {
          %p = attn.exp frozen %O, %m, %scale : !Ot, !R
          %l1 = attn.row_sum %p, %l : !Ot, !R
          scf.yield %p, %m, %l1 : !Ot, !R, !R
        }
        %ok = attn.check %f#0, %f#2, %rows limit 64 : !Ot, !R, !rows
        %end = arith.ori %ok, %exact : i1
        %again = arith.xori %end, %yes : i1
        scf.condition(%again) %f#0, %f#1, %f#2 : !Ot, !R, !R
      } do {
      ^bb0(%O: !Ot, %m: !R, %l: !R):
        scf.yield %yes : i1
      }
      %f:2 = attn.finish %st#0, %st#1, %st#2, %scale : !Ot, !R
      attn.store %f#0 lse %f#1, %rows to %o lse %lse : !Ot lse !R, !rows to !O lse !LSE
      scf.yield %word : i32
    }
  }
  attn.return
}
