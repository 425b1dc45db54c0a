// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles,pipe-insert-channels,pipe-split-roles),pipe-verify-schedule)' | FileCheck %s
// Load takes the items, copies, and sends what compute uses of a record; compute
// has the rest, a share of the rows in each replica.

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
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>], place = {default = "compute", load_kv = "load", load_query = "load"}, agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {pv = 1 : i32}, handover = "none", persist = "dynamic", unroll = 1>>

// CHECK-LABEL: attn.kernel @k(
// CHECK: %[[Q:.*]] = pipe.channel "q" from "load" to ["compute"] : <!attn.tile<128x64xbf16>, depth = 1>
// CHECK: %[[K:.*]] = pipe.channel "k" from "load" to ["compute"]
// CHECK: %[[V:.*]] = pipe.channel "v" from "load" to ["compute"]
// CHECK-NOT: "verdict"
// No kv_begin, no slot, no flags; b0 is a constant.
// CHECK: %[[W:.*]] = pipe.channel "work" from "load" to ["compute"] : <!pipe.words<12>, depth = 2>
// CHECK: pipe.roles [#pipe.role<"load", warps = 1, replicas = 1, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>] {
// The first item and its record are fetched before the first turn.
// CHECK: %[[FIRST:.*]] = pipe.next_work dynamic %{{.*}} after %{{.*}} merges = false
// CHECK: %[[R:.*]]:8 = attn.load_item %{{.*}}[%[[FIRST]]]
// CHECK: attn.request %{{.*}}[%[[R]]#0]
// CHECK: scf.while (%[[NEXT:[a-z0-9]*]] = %[[FIRST]], %[[I0:[a-z0-9]*]] = %[[R]]#0, %[[I1:[a-z0-9]*]] = %[[R]]#1, %[[I2:[a-z0-9]*]] = %[[R]]#2, %[[I3:[a-z0-9]*]] = %[[R]]#3, %[[I4:[a-z0-9]*]] = %[[R]]#4, %[[I5:[a-z0-9]*]] = %[[R]]#5,
// CHECK: %[[NONE:.*]] = arith.cmpi slt, %[[NEXT]]
// CHECK: %[[WORD:.*]] = arith.select %[[NONE]], %{{.*}}, %[[NEXT]] : i32
// CHECK: %[[MORE:.*]] = arith.cmpi sge, %[[NEXT]]
// CHECK-NOT: attn.load_item
// CHECK: %[[B1:.*]] = arith.divui
// CHECK: %[[B2:.*]] = arith.ceildivui
// CHECK: pipe.send %[[W]](%[[WORD]], %[[I0]], %[[I1]], %[[I2]], %[[I3]], %[[I4]], %[[I5]], %{{.*}}, %{{.*}}, %{{.*}}, %[[B1]], %[[B2]])
// CHECK: scf.condition(%{{[a-z0-9]*}}) %[[NEXT]], %[[I0]], {{.*}}, %[[MORE]], %[[B2]],
// CHECK: ^bb0(%[[NOW:[a-z0-9]*]]: i32, %{{.*}}: i32, %[[FETCHES:[a-z0-9]*]]: i1,
// CHECK: %[[NN:.*]]:11 = scf.if
// CHECK: pipe.acquire %[[Q]]
// CHECK: attn.copy_query
// CHECK: pipe.commit
// The next one is fetched between the first copies and the others.
// CHECK: %[[N:.*]]:11 = scf.if %[[FETCHES]]
// CHECK-NEXT: %[[IDX:.*]] = pipe.next_work dynamic %{{.*}} after %[[NOW]]
// CHECK-NEXT: attn.load_item %{{.*}}[%[[IDX]]]
// CHECK-NEXT: attn.request
// CHECK-NEXT: scf.yield %[[IDX]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[NOW]]
// One loop for both classes; a V that is ragged is joined and cleared.
// CHECK: scf.for
// CHECK: %[[RAGGED:.*]] = arith.cmpi slt
// CHECK: pipe.acquire %[[K]]
// CHECK: scf.if %[[RAGGED]]
// CHECK: pipe.acquire %[[V]]
// CHECK: %[[D:.*]] = pipe.join
// CHECK: attn.zero_rows %[[S:.*]] from
// CHECK: pipe.commit %[[S]] done %[[D]]
// CHECK: } else {
// CHECK: pipe.acquire %[[V]]
// CHECK: pipe.commit %{{.*}} after
// CHECK-NOT: scf.for
// An item without visits fetches too.
// CHECK: scf.yield %[[N]]#0
// CHECK: scf.if %[[FETCHES]]
// CHECK-NEXT: pipe.next_work dynamic %{{.*}} after %[[NOW]]
// CHECK: scf.yield %[[NN]]#0
// CHECK: }, (%[[RANK:.*]]) {
// CHECK: %[[X:.*]]:12 = pipe.recv %[[W]]
// CHECK: scf.while (%[[X0:[a-z0-9]*]] = %[[X]]#0,
// CHECK: arith.cmpi ne, %[[X0]]
// CHECK: ^bb0(
// CHECK-NOT: attn.load_item
// CHECK: %[[ALL:.*]] = attn.row_map
// CHECK: %[[ROWS:.*]] = attn.slice_rows %[[ALL]][%[[RANK]]] of 2 : !attn.rows<128> -> !attn.rows<64>
// CHECK: attn.state_init : !attn.tile<64x64xf32>
// CHECK: pipe.wait %[[Q]]
// CHECK: %[[MINE:.*]] = attn.slice_tile %{{.*}}[%[[RANK]]] of 2 : !attn.tile<128x64xbf16> -> !attn.tile<64x64xbf16>
// CHECK: scf.for
// CHECK: pipe.wait %[[K]]
// CHECK-NEXT: attn.qk %[[MINE]]
// CHECK-NEXT: pipe.release
// CHECK-NEXT: attn.apply_mask zero %{{.*}}, %[[ROWS]]
// CHECK-NEXT: attn.pack
// CHECK-NEXT: pipe.wait %[[V]]
// CHECK-NEXT: attn.pv
// CHECK-NEXT: pipe.release
// CHECK: scf.for
// The next words are there before the results are stored.
// CHECK: %[[Y:.*]]:12 = pipe.recv %[[W]]
// CHECK: attn.store %{{.*}}, %[[ROWS]]
// CHECK-NEXT: scf.yield %[[Y]]#0, %[[Y]]#1
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

// An item that was speculated on in vain comes back with the exact bit, and its
// second verdict is good; what is bad is not stored.

// CHECK-LABEL: attn.kernel @speculates(
// CHECK: %[[VERDICT:.*]] = pipe.channel "verdict" from "compute" to ["load"] initial 3 : <!pipe.words<1>, depth = 3, lanes = 2>
// CHECK: scf.while (%[[OLD:[a-z0-9]*]] = %{{[^,]*}}, %[[W2:[a-z0-9]*]] = %{{[^,]*}}, %[[W1:[a-z0-9]*]] = %{{[^,]*}}, %[[NX:[a-z0-9]*]] = %{{[^,]*}}, %[[NREQ:[a-z0-9]*]] =
// CHECK: %[[BAD:.*]]:2 = pipe.recv %[[VERDICT]]
// CHECK: arith.ori %[[BAD]]#0, %[[BAD]]#1
// CHECK: %[[REDO:.*]] = arith.ori %[[OLD]], %c1073741824
// CHECK: arith.select %[[AGAIN:.*]], %[[REDO]], %[[NX]]
// A redo's record is read again; the other was fetched.
// CHECK: scf.if %[[AGAIN]]
// CHECK-NEXT: %[[OLDI:.*]]:8 = attn.load_item %{{.*}}[%[[REDO]]]
// CHECK-NEXT: attn.request %{{.*}}[%[[OLDI]]#0]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[NREQ]],
// CHECK: arith.andi %[[W2]], %[[W1]]
// CHECK: arith.select %{{.*}}, %c-2
// CHECK: }, (%{{.*}}) {
// CHECK: attn.slice_rows
// CHECK: %[[EXACT:.*]] = arith.cmpi ne
// CHECK: attn.exact_prefix {{.*}}, %[[EXACT]] {pipe.at_most = array<i32: 3, 4>}
// CHECK: %[[GOOD:.*]] = attn.check
// CHECK: %[[OK:.*]] = arith.ori %[[GOOD]], %[[EXACT]]
// CHECK: pipe.send %[[VERDICT]]
// CHECK-NEXT: pipe.recv
// CHECK-NEXT: scf.if %[[OK]] {
// CHECK: attn.store
attn.kernel @speculates(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
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
    %c = arith.constant 1.0 : f32
    %st:3 = attn.speculate : !S, !R, !R {
    ^bb0(%exact: i1):
      %i:3 = attn.state_init : !S, !R, !R
      %e = attn.exact_prefix %i#1, %rows, %c, %b0, %b2, %exact : !R, !attn.rows<128>
      %mid = arith.subi %b2, %e : i32
      %x:3 = attn.for_kv full exact descending tile_k 64 from %mid to %b2 base %kv0 (%j, %k0) carry (%O = %i#0 : !S, %m = %i#1 : !R, %l = %i#2 : !R) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %pb = attn.pack %s : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1, %m, %l : !S, !R, !R
      }
      %y:3 = attn.for_kv full frozen descending tile_k 64 from %b0 to %mid base %kv0 (%j, %k0) carry (%O = %x#0 : !S, %m = %x#1 : !R, %l = %x#2 : !R) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %pb = attn.pack %s : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1, %m, %l : !S, !R, !R
      }
      attn.yield %y#0, %y#1, %y#2 : !S, !R, !R
    } check {
    ^bb0(%O: !S, %m: !R, %l: !R):
      %ok = attn.check %O, %l, %rows limit 64 : !S, !R, !attn.rows<128>
      attn.yield %ok : i1
    }
    attn.store %st#0, %rows to %o : !S, !attn.rows<128> to !O
  }
  attn.return
}

// A merge kernel keeps its one role.

// CHECK-LABEL: attn.kernel @k_merge(
// CHECK: pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 80>] {
// CHECK: pipe.next_work static_order
attn.kernel @k_merge(%o: !O, %plan: !attn.plan) attributes {schedule = #sched, merge_of = @k} {
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %p = attn.load_partial %rows, %plan slot %first : !attn.rows<128> -> !S
    attn.store %p, %rows to %o : !S, !attn.rows<128> to !O
  }
  attn.return
}
