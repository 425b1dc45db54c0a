// The worked SM90 prefill: roles, barriers, copies by TMA, products by wgmma.
// RUN: attn-opt %attn_src/test/Sim/Inputs/prefill-sm90.pipe.mlir --attn-to-frag | FileCheck %s

// Three warpgroups; the tensor maps lie behind the fixed parameters.
// CHECK-LABEL: frag.kernel @prefill threads 384 smem 196960 params 640
// CHECK: %[[QUEUE:.*]] = frag.offset %{{.*}}[%c12_i64]
// CHECK: %[[TQ:.*]] = frag.tmap "q" at 256 dims ["dim", "group", "token", "head", "batch"] pack 4 promotion 128 : <64x4x32x1x1xbf16, swizzle = 128>
// CHECK: %[[TK:.*]] = frag.tmap "k" at 384 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : <64x128x1x1xbf16, swizzle = 128>
// CHECK: frag.tmap "v" at 512

// Arrivals: the copy's own; a warp each of two warpgroups; the warps of a replica.
// CHECK: %[[Q:.*]] = frag.smem "q"
// CHECK: %[[QF:.*]] = frag.bars "q.full" at {{.*}} count 1 : <slots = 2>
// CHECK: %[[QE:.*]] = frag.bars "q.empty" at {{.*}} count 8 : <slots = 2>
// CHECK: %[[K:.*]] = frag.smem "k"
// CHECK: %[[KF:.*]] = frag.bars "k.full"
// CHECK: %[[KE:.*]] = frag.bars "k.empty"
// CHECK: %[[V:.*]] = frag.smem "v"
// CHECK: %[[VF:.*]] = frag.bars "v.full"
// CHECK: %[[VE:.*]] = frag.bars "v.empty"
// CHECK: %[[VJ:.*]] = frag.bars "v.joined" at {{.*}} count 1 : <slots = 1>
// CHECK: %[[W:.*]] = frag.words "work" at {{.*}} : <16, slots = 2>
// CHECK: %[[WF:.*]] = frag.bars "work.full" at {{.*}} count 1
// CHECK: %[[WE:.*]] = frag.bars "work.empty" at {{.*}} count 8
// Tokens are the credit: no empty barrier.
// CHECK: %[[X:.*]] = frag.words "verdict" at {{.*}} : <1, slots = 3, lanes = 2>
// CHECK-NEXT: %[[XF:.*]] = frag.bars "verdict.full" at {{.*}} count 4 : <slots = 3, lanes = 2>
// Words without tokens need no zeros.
// CHECK-NEXT: frag.init %[[QF]], %[[QE]], %[[KF]], %[[KE]], %[[VF]], %[[VE]], %[[VJ]], %[[WF]], %[[WE]], %[[X]], %[[XF]]

// CHECK-NEXT: frag.role_dispatch [#frag.role<"load", first_warp = 0, warps = 4, active = 1, replicas = 1>, #frag.role<"compute", first_warp = 4, warps = 4, active = 4, replicas = 2>] {
// CHECK-NEXT: frag.set_registers dec 40
// Writers start at phase 1, the reader of verdicts too; the joined copy is read.
// CHECK-NEXT: frag.pos phase 1 : <slots = 2>
// CHECK-NEXT: frag.pos phase 0 : <slots = 1>
// CHECK-NEXT: frag.pos phase 1 : <slots = 3>
// CHECK-NEXT: frag.next_work %[[QUEUE]] below
// CHECK: frag.mbar_wait %[[XF]][%[[XP:.*]]]
// CHECK-NEXT: %[[BAD:.*]]:2 = frag.ld_words 1 of %[[X]][%[[XP]]]
// CHECK-NEXT: frag.st_words(%c0_i32) to %[[X]][%[[XP]]]
// CHECK: %[[REDO:.*]] = arith.ori %{{.*}}, %c1073741824_i32
// CHECK: %[[WORD:.*]] = arith.select %{{.*}}, %c-2_i32, %{{.*}} : i32
// A word that is no item reads as the inert one; its number is in 30 bits.
// CHECK: %[[REC:.*]]:11 = scf.if
// CHECK: %[[REAL:.*]] = arith.cmpi sge, %[[REDO]], %c0_i32
// CHECK: arith.andi %[[REDO]], %c1073741823_i32
// CHECK: scf.if %[[REAL]] -> (i32, i32, i32, i32, i32, i32, i32, i32)
// CHECK: scf.yield %c0_i32, %c0_i32, %c0_i32, %c0_i32, %c0_i32, %c0_i32, %c-1_i32, %c0_i32
// CHECK: scf.if %[[REAL]] -> (i32, i32, i32, i32)
// CHECK: frag.mbar_wait %[[WE]][%[[WP:.*]]]
// CHECK-NEXT: frag.elect {
// CHECK-NEXT: frag.st_words(%[[WORD]], %[[REC]]#0, {{.*}}) to %[[W]][%[[WP]]]
// CHECK-NEXT: frag.mbar_arrive_one %[[WF]][%[[WP]]]

// One expectation and one copy a slot.
// CHECK: frag.mbar_wait %[[QE]][%[[QP:.*]]]
// CHECK: frag.elect {
// CHECK-NEXT: frag.mbar_expect %[[QF]][%[[QP]]] bytes 32768
// CHECK-NEXT: frag.tma_load %[[TQ]](%c0_i32, %{{.*}}, %{{.*}}, %c0_i32) into %[[Q]][%[[QP]]] on %[[QF]][%[[QP]]] hint evict_first
// CHECK: frag.mbar_wait %[[KE]][%[[KP:.*]]]
// CHECK: frag.tma_load %[[TK]](%{{.*}}, %{{.*}}, %c0_i32) into %[[K]][%[[KP]]] on %[[KF]][%[[KP]]] hint evict_last
// The next item, in the time that the other copies wait anyhow.
// CHECK: frag.next_work %[[QUEUE]] below
// A tail of V: the copy reports to load, whose arrival fills the slot.
// CHECK: frag.mbar_wait %[[VE]][%[[VP:.*]]]
// CHECK-NEXT: frag.elect {
// CHECK-NEXT: frag.mbar_expect %[[VJ]][%[[JP:.*]]] bytes 32768
// CHECK-NEXT: frag.tma_load %{{.*}} into %[[V]][%[[VP]]] on %[[VJ]][%[[JP]]]
// CHECK: frag.mbar_wait %[[VJ]][%[[JP]]]
// CHECK-NEXT: frag.zero_rows %[[V]][%[[VP]]] from
// CHECK-NEXT: frag.fence proxy_async_shared
// CHECK-NEXT: frag.mbar_arrive %[[VF]][%[[VP]]] sync
// CHECK: frag.next_work_done %[[QUEUE]]

// CHECK: }, (%[[RANK:.*]]) {
// CHECK-NEXT: frag.set_registers inc 232
// CHECK: frag.mbar_wait %[[WF]][%[[P:.*]]]
// CHECK-NEXT: frag.ld_words 14 of %[[W]][%[[P]]]
// CHECK-NEXT: frag.mbar_arrive %[[WE]][%[[P]]] sync
// CHECK: %[[ROW:.*]] = arith.muli %[[RANK]], %c64_i32
// CHECK: frag.mbar_wait %[[QF]]
// CHECK-NEXT: %[[QV:.*]] = frag.view_rows %[[Q]][%{{.*}}] from %[[ROW]]
// CHECK: frag.wgmma "wgmma.m64n128k16" nk %[[QV]], %[[K]]
// CHECK-NEXT: frag.wgmma_wait pending 0
// CHECK-NEXT: frag.mbar_arrive %[[KE]]
// CHECK-NOT: sync
// Tokens are no values: reference, sum, P, O and two positions.
// CHECK: scf.for {{.*}} -> (!frag.vec<64xf32, {{[^>]*>}}>, !frag.vec<64xf32, {{[^>]*}}>, partial>, !frag.reg<64x128xbf16, {{[^>]*}}>>, !frag.reg<64x128xf32, {{[^>]*}}>>, !frag.pos<slots = 2>, !frag.pos<slots = 2>)
// CHECK: frag.any {{.*}} scope warpgroup barrier 1 + %[[RANK]]

// The frozen loop: both products under way, softmax beside the second, and P is
// packed behind it.
// CHECK: frag.wgmma_wait pending 0
// CHECK: %[[B:.*]] = frag.map (%{{.*}} = %{{.*}}#0 : {{.*}} -> !frag.vec<64xf32,
// CHECK: scf.for
// CHECK: frag.mbar_wait %[[KF]][%[[KP:.*]]] :
// CHECK-NEXT: %[[S:.*]] = frag.wgmma "wgmma.m64n128k16" nk %[[QV]], %[[K]][%[[KP]]]
// CHECK: frag.mbar_wait %[[VF]][%[[VP:.*]]] :
// CHECK-NEXT: %[[O:.*]] = frag.wgmma "wgmma.m64n128k16" kn %{{.*}}, %[[V]][%[[VP]]] acc
// CHECK-NEXT: %[[SR:.*]] = frag.wgmma_wait pending 1 %[[S]]
// CHECK-NEXT: frag.mbar_arrive %[[KE]][%[[KP]]] :
// CHECK-NEXT: %[[E:.*]] = frag.map (%{{.*}} = %[[SR]] : {{.*}}, %{{.*}} = %[[B]] :
// CHECK: %{{.*}}, %[[PIN:.*]] = frag.wgmma_wait pending 0 %[[O]] pin %[[E]]
// CHECK-NEXT: frag.mbar_arrive %[[VE]][%[[VP]]] :
// CHECK-NEXT: frag.pack %[[PIN]]

// CHECK: frag.mbar_arrive %[[QE]]
// CHECK: frag.any {{.*}} scope warpgroup barrier 1 + %[[RANK]]
// CHECK: frag.elect {
// CHECK-NEXT: frag.st_words(%{{.*}}) to %[[X]][%[[XP:.*]]] lane %[[RANK]]
// CHECK-NEXT: frag.mbar_arrive_one %[[XF]][%[[XP]]] lane %[[RANK]]
// Partials keep their place in the slot of the whole tile.
// CHECK: arith.muli %{{.*}}, %c128_i64
// CHECK: frag.map () at (%[[R:.*]]) ->
// CHECK-NEXT: arith.addi %[[ROW]], %[[R]]
// CHECK: frag.pack {{.*}} -> <64x128xbf16, #frag.layout<"wgmma_c", warps = 4>>
// CHECK-NEXT: frag.quad_transpose {{.*}} -> <64x128xbf16, #frag.layout<"quad16", warps = 4>>

// One role beside it: no barriers, no maps, but the same parameter struct.
// CHECK-LABEL: frag.kernel @prefill_merge threads 256 smem 0 params 640
// CHECK-NOT: frag.role_dispatch
// No product, no fragments: tiles lie in rows, and are stored as they lie.
// CHECK: frag.load {{.*}} -> <128x128xf32, #frag.layout<"row_c", warps = 8>>
// CHECK: %[[O:.*]] = frag.pack {{.*}} -> <128x128xbf16, #frag.layout<"row_c", warps = 8>>
// CHECK-NOT: frag.quad_transpose
// CHECK: frag.store %[[O]],
