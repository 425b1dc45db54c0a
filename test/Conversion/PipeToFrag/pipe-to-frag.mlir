// RUN: attn-opt %s --pipe-to-frag --canonicalize --cse --split-input-file | FileCheck %s
// RUN: sed 's/attn.row_max %%sm, %%m/attn.lazy_max %%sm, %%m, %%scale by 8/; s/attn.rescale/attn.rescale rare/' %s | attn-opt --pipe-to-frag --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=LAZY

// One visit of each block, the copies of the next one ahead of its products.

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!LSE = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>
!Qt = !attn.tile<32x64xbf16>
!Kt = !attn.tile<16x64xbf16>
!S = !attn.tile<32x16xf32>
!P = !attn.tile<32x16xbf16>
!Ot = !attn.tile<32x64xf32>
!R = !attn.rowvec<32xf32>
!Qc = !pipe.channel<!Qt, depth = 1>
!Kc = !pipe.channel<!Kt, depth = 2>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>], place = {default = "all"}, agents = {load_kv = "cp_async", load_query = "cp_async"},
    atoms = {qk = "mma.m16n8k16", pv = "mma.m16n8k16"}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "static", unroll = 1>>

// The window is the variant's parameter, at the first byte behind the fixed ones.
// CHECK-LABEL: frag.kernel @k threads 64 smem 0 params 208
// CHECK-DAG: %[[WINDOW:.*]] = frag.param "param.window" at 200 : i32
// CHECK-DAG: %[[Q:.*]] = frag.smem "q" at -1 : <32x64xbf16, swizzle = 128, slots = 1>
// CHECK-DAG: %[[K:.*]] = frag.smem "k" at -1 : <16x64xbf16, swizzle = 128, slots = 2>
// CHECK-DAG: %[[V:.*]] = frag.smem "v" at -1 : <16x64xbf16, swizzle = 128, slots = 2>
// k and v move in step: two positions are carried, not four.
// CHECK: scf.while (%{{.*}}, %{{.*}}, %{{.*}}) : (i32, !frag.pos<slots = 2>, !frag.pos<slots = 2>)
// CHECK: frag.cta_sync
// CHECK: frag.cp_async %{{.*}} into %[[Q]]
// CHECK: frag.cp_async_commit
// CHECK: frag.cp_async %{{.*}} into %[[K]]
// CHECK: frag.cp_async_commit
// CHECK: frag.cp_async %{{.*}} into %[[V]]
// CHECK: frag.cp_async_commit
// The two younger groups stay in flight.
// CHECK: frag.cp_async_wait pending 2
// CHECK-NEXT: frag.cta_sync
// CHECK-NEXT: %[[A:.*]] = frag.ldmatrix %[[Q]]
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (!frag.reg<32x64xf32, {{.*}}>, !frag.vec<32xf32, #frag.layout<"mma_c", warps = 2>>, !frag.vec<32xf32, {{.*}}, partial>, !frag.pos<slots = 2>, !frag.pos<slots = 2>)
// One wait and one barrier for k and v, none before the next copy.
// CHECK: frag.cp_async_wait pending 0
// CHECK-NEXT: frag.cta_sync
// CHECK: scf.if
// CHECK-NOT: frag.cta_sync
// CHECK: frag.cp_async %{{.*}} into %[[K]]
// CHECK: %[[S:.*]] = frag.mma "mma.m16n8k16" nk %[[A]], %[[K]]
// The window is a limit a row, made in 64 bits and clamped to the columns; the
// end of the keys is one for all rows.
// CHECK: %[[HI:.*]] = frag.map () at (%{{.*}}) ->
// CHECK: %[[W:.*]] = arith.extsi %[[WINDOW]] : i32 to i64
// CHECK: %[[LO:.*]] = frag.map (%[[POS:.*]] = %{{.*}} : !frag.vec<32xi32, {{.*}}>) at (%{{.*}}) ->
// CHECK: %[[POS64:.*]] = arith.extsi %[[POS]] : i32 to i64
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[POS64]]
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[SUM]], %c0_i64
// CHECK: arith.minsi %[[LEAST]], %c16_i64
// CHECK: arith.trunci
// CHECK: %[[M:.*]] = frag.keep_columns %[[S]] from %[[LO]] to %[[HI]] else
// CHECK: frag.reduce_row max row %[[M]]
// CHECK: %[[P:.*]] = frag.reduce_row sum thread
// CHECK: frag.pack %{{.*}} -> <32x16xbf16, #frag.layout<"mma_a", warps = 2>>
// CHECK: frag.mma "mma.m16n8k16" kn {{.*}}, %[[V]]{{.*}} acc
// The shares are added up once, behind the loop.
// CHECK: frag.reduce_quad
// CHECK: frag.pack %{{.*}} -> <32x64xbf16, #frag.layout<"mma_c", warps = 2>>
// CHECK: frag.store
// CHECK: scf.if
// CHECK: frag.store_vec
// CHECK: frag.return

// A row keeps its reference where c m is precise and the maximum is near; a warp all of
// whose rows keep theirs leaves O alone.
// LAZY-LABEL: frag.kernel @k
// LAZY-DAG: %[[C:.*]] = frag.param "scale"
// LAZY-DAG: %[[PRECISE:.*]] = arith.constant 0x4A800000 : f32
// LAZY-DAG: %[[THRESHOLD:.*]] = arith.constant 8.000000e+00 : f32
// LAZY-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// LAZY: scf.for {{.*}} iter_args(%[[O:[a-z0-9]*]] =
// LAZY: %[[MAX:.*]] = frag.reduce_row max row
// LAZY: %[[M1:.*]] = frag.map (%[[M:.*]] = %{{.*}} : {{.*}}, %[[X:.*]] = %[[MAX]] : {{.*}}) at (%{{.*}}) ->
// LAZY: %[[TOP:.*]] = arith.maxnumf %[[M]], %[[X]] : f32
// LAZY: %[[RISE:.*]] = arith.subf %[[TOP]], %[[M]] : f32
// LAZY: %[[UNITS:.*]] = arith.mulf %[[RISE]], %[[C]] : f32
// LAZY: %[[NEAR:.*]] = arith.cmpf ole, %[[UNITS]], %[[THRESHOLD]] : f32
// LAZY: %[[CM:.*]] = arith.mulf %[[M]], %[[C]] : f32
// LAZY: %[[SIZE:.*]] = math.absf %[[CM]] : f32
// LAZY: %[[SMALL:.*]] = arith.cmpf olt, %[[SIZE]], %[[PRECISE]] : f32
// LAZY: %[[KEEP:.*]] = arith.andi %[[SMALL]], %[[NEAR]] : i1
// LAZY: arith.select %[[KEEP]], %[[M]], %[[TOP]] : f32
// LAZY: %[[AL:.*]] = frag.map (%{{.*}} = %{{.*}} : {{.*}}, %{{.*}} = %[[M1]] : {{.*}})
// LAZY: math.exp2
// LAZY: frag.pack
// LAZY: %[[MOVED:.*]] = frag.map (%[[A:.*]] = %[[AL]] : {{.*}}) at (%{{.*}}) -> !frag.vec<32xi1,
// LAZY-NEXT: arith.cmpf une, %[[A]], %[[ONE]] : f32
// LAZY: %[[ANY:.*]] = frag.any %[[MOVED]] scope warp
// LAZY-NEXT: %[[OR:.*]] = scf.if %[[ANY]] -> (!frag.reg<32x64xf32,
// LAZY-NEXT: frag.map (%{{.*}} = %[[O]] : {{.*}}, %{{.*}} = %[[AL]] : {{.*}})
// LAZY: arith.mulf
// LAZY: } else {
// LAZY-NEXT: scf.yield %[[O]]
// LAZY: frag.mma "mma.m16n8k16" kn {{.*}} acc %[[OR]]
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !LSE, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.variant @window {
    %w = attn.param "window" : i32 {default = 1024 : i32}
    attn.hook mask(%b, %h, %qp, %kp) {
      %d = arith.subi %qp, %kp : i32
      %r = arith.cmpi slt, %d, %w : i32
      attn.yield %r : i1
    }
  }
  %qc = pipe.channel "q" from "all" to ["all"] : !Qc
  %kc = pipe.channel "k" from "all" to ["all"] : !Kc
  %vc = pipe.channel "v" from "all" to ["all"] : !Kc
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
    %none = arith.constant -1 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c16 = arith.constant 16 : i32
    %done = scf.while (%last = %none) : (i32) -> i32 {
      %w = pipe.next_work static_order %plan after %last merges = false : !attn.plan
      %go = arith.cmpi sge, %w, %c0 : i32
      scf.condition(%go) %w : i32
    } do {
    ^bb0(%word: i32):
      %i:8 = attn.load_item %plan[%word] : i32, i32, i32, i32, i32, i32, i32, i32
      %qb, %ql, %kb, %kl = attn.request %plan[%i#0]
      %rows = attn.row_map request %i#0 head %i#1 row0 %i#2 rows %i#3 q_begin %qb q_len %ql kv_len %kl pack 2 : !attn.rows<32>
      %n = arith.divui %kl, %c16 : i32
      %u:3 = attn.state_init : !Ot, !R, !R
      %qs = pipe.acquire %qc : !Qc -> !pipe.slot<!Qt>
      %fq = pipe.issue cp_async {
        attn.copy_query %qs, %q, %rows : !pipe.slot<!Qt>, !Q, !attn.rows<32>
      }
      pipe.commit %qs after %fq : !pipe.slot<!Qt>
      %ks0 = pipe.acquire %kc : !Kc -> !pipe.slot<!Kt>
      %fk0 = pipe.issue cp_async {
        attn.copy_kv %ks0, %k request %i#0 kv_head %i#1 kv_begin %kb k0 %i#4 kv1 %i#5 : !pipe.slot<!Kt>, !K
      }
      pipe.commit %ks0 after %fk0 : !pipe.slot<!Kt>
      %vs0 = pipe.acquire %vc : !Kc -> !pipe.slot<!Kt>
      %fv0 = pipe.issue cp_async {
        attn.copy_kv %vs0, %v request %i#0 kv_head %i#1 kv_begin %kb k0 %i#4 kv1 %i#5 : !pipe.slot<!Kt>, !V
      }
      pipe.commit %vs0 after %fv0 : !pipe.slot<!Kt>
      %qt, %qr = pipe.wait %qc : !Qc -> !Qt, !pipe.slot<!Qt>
      %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%O = %u#0, %m = %u#1, %l = %u#2) -> (!Ot, !R, !R) : i32 {
        %x = arith.muli %j, %c16 : i32
        %k0 = arith.addi %i#4, %x : i32
        %kt, %kr = pipe.wait %kc : !Kc -> !Kt, !pipe.slot<!Kt>
        %vt, %vr = pipe.wait %vc : !Kc -> !Kt, !pipe.slot<!Kt>
        %jn = arith.addi %j, %c1 : i32
        %more = arith.cmpi slt, %jn, %n : i32
        scf.if %more {
          %k1 = arith.addi %k0, %c16 : i32
          %ks = pipe.acquire %kc : !Kc -> !pipe.slot<!Kt>
          %fk = pipe.issue cp_async {
            attn.copy_kv %ks, %k request %i#0 kv_head %i#1 kv_begin %kb k0 %k1 kv1 %i#5 : !pipe.slot<!Kt>, !K
          }
          pipe.commit %ks after %fk : !pipe.slot<!Kt>
          %vs = pipe.acquire %vc : !Kc -> !pipe.slot<!Kt>
          %fv = pipe.issue cp_async {
            attn.copy_kv %vs, %v request %i#0 kv_head %i#1 kv_begin %kb k0 %k1 kv1 %i#5 : !pipe.slot<!Kt>, !V
          }
          pipe.commit %vs after %fv : !pipe.slot<!Kt>
        }
        %s = attn.qk %qt, %kt : !Qt, !Kt -> !S
        pipe.release %kr : !pipe.slot<!Kt>
        %sm = attn.apply_mask neg_inf %s, %rows, %k0, %i#5 : !S, !attn.rows<32>
        %m1 = attn.row_max %sm, %m : !S, !R
        %al = attn.alpha %m, %m1, %scale : !R
        %p = attn.exp exact %sm, %m1, %scale : !S, !R
        %l1 = attn.row_sum %p, %l scaled %al : !S, !R scaled !R
        %pb = attn.pack %p : !S -> !P
        %Or = attn.rescale %O, %al : !Ot, !R
        %O1 = attn.pv %pb, %vt, %Or : !P, !Kt, !Ot
        pipe.release %vr : !pipe.slot<!Kt>
        scf.yield %O1, %m1, %l1 : !Ot, !R, !R
      }
      pipe.release %qr : !pipe.slot<!Qt>
      %f:2 = attn.finish %r#0, %r#1, %r#2, %scale : !Ot, !R
      attn.store %f#0 lse %f#1, %rows to %o lse %lse : !Ot lse !R, !attn.rows<32> to !O lse !LSE
      scf.yield %word : i32
    }
  }
  attn.return
}
