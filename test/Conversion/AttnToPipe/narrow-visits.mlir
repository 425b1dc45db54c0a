// REQUIRES: compiler
// RUN: attnc %s --target=sm_90a --emit=pipe | FileCheck %s
// RUN: attnc %s --target=sm_90a --emit=pipe --schedule=tile_q=128,tile_k=128,roles=load:1:1:24+compute:4:2:240,atoms.qk=wgmma.m64n128k16,channels.k=2,channels.v=2 | FileCheck %s --check-prefix=WHOLE

// Four replicas of 64 rows and blocks of 64 keys: a replica passes the blocks
// behind its last row, and takes its turns in them.
!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, dense>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, dense>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, dense>
!O = !attn.tensor<output, bf16, heads = 2, dim = 64, dense>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, dense>

// CHECK: }, (%[[RANK:.*]]) {
// CHECK: %[[FIRST:.*]] = arith.muli %[[RANK]], %c64_i32
// CHECK: %[[ROW0:.*]] = arith.addi %[[ITEM:.*]], %[[FIRST]]
// CHECK-COUNT-2: arith.divui
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[HI:.*]], %c0_i32
// CHECK: %[[OWN:.*]] = arith.cmpi sgt, %[[OWNHI:.*]], %c0_i32
// CHECK: scf.for %{{.*}} = %[[OWNHI]] to %[[HI]] step
// CHECK-NEXT: pipe.wait
// CHECK-NEXT: pipe.release
// CHECK-NEXT: pipe.take_turn
// CHECK-NEXT: pipe.pass_turn
// CHECK-NEXT: pipe.wait
// CHECK-NEXT: pipe.release
// CHECK-NEXT: } {pipe.passes}
// CHECK-NEXT: scf.if %[[OWN]]
// CHECK: scf.if %[[ANY]] {
// CHECK-NEXT: pipe.wait
// CHECK-NEXT: pipe.release

// Blocks that are not shorter than the rows: everybody visits the same.
// WHOLE-NOT: pipe.passes
attn.variant @causal {
  attn.hook mask(%b, %h, %q, %k) {
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }
}
attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
