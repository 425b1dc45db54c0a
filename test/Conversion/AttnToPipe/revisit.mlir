// RUN: attnc %s --target=sm_90a --schedule=redo=visit,tile_q=128,tile_k=64,handover=ring --emit=pipe -o - | FileCheck %s
// RUN: attnc %s --target=sm_90a --schedule=redo=visit,tile_q=128,tile_k=64,kv_order=ascending --emit=pipe -o - | FileCheck %s --check-prefix=UP
// RUN: attnc %s --target=sm_90a --schedule=redo=item,tile_q=128,tile_k=64 --emit=pipe -o - | FileCheck %s --check-prefix=ITEM

// The frozen loop ends at a visit whose sums reach the limit; that one is done again
// with the maximum, on the K that its slot still holds and without a turn of its own.

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 2, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, ragged>
attn.variant @causal {
  attn.hook mask(%b, %h, %q, %k) {
    %r = arith.cmpi sge, %q, %k : i32
    attn.yield %r : i1
  }
}

// CHECK-LABEL: attn.kernel @k(
// CHECK: }, (%{{.*}}) {
// The first visit, the masked loop.
// CHECK: attn.apply_mask
// CHECK: scf.for
// CHECK: attn.apply_mask
// CHECK: %[[PREFIX:.*]] = attn.exact_prefix
// A round: the exact loop, then the frozen one until it is not good.
// CHECK: %[[ALL:.*]]:{{.*}} = scf.while (%[[FROM:[a-z0-9]+]] = %{{[0-9]+}}, %[[MID:[a-z0-9]+]] = %{{[0-9]+}}, %{{.*}}
// CHECK: scf.for %{{.*}} = %[[MID]] to %[[FROM]]
// CHECK: attn.exp exact
// CHECK: pipe.class = "full"
// CHECK: scf.while (%[[H:[a-z0-9]+]] = %[[MID]], %[[OK:[a-z0-9]+]] = %true
// CHECK: %[[LEFT:.*]] = arith.cmpi sgt, %[[H]], %c0
// CHECK: %[[GO:.*]] = arith.andi %[[LEFT]], %[[OK]]
// CHECK: scf.condition(%[[GO]])
// CHECK: %[[KT:.*]], %[[KS:.*]] = pipe.wait %{{.*}} depth = 4
// CHECK: pipe.take_turn
// CHECK: attn.qk %{{.*}}, %[[KT]]
// CHECK: pipe.pass_turn
// CHECK: attn.exp frozen
// CHECK: %[[L:.*]] = attn.row_sum
// CHECK-NEXT: %[[GOOD:.*]] = attn.check_sums %[[L]], %{{.*}} limit 64
// CHECK: pipe.join
// CHECK: scf.if %[[GOOD]]
// CHECK-NOT: _turn
// CHECK: attn.qk %{{.*}}, %[[KT]]
// CHECK: attn.row_max
// CHECK: attn.exp exact
// CHECK: attn.rescale
// CHECK: }
// CHECK-NEXT: pipe.release %[[KS]]
// CHECK: %[[BAD:.*]] = arith.xori
// CHECK-NEXT: scf.condition(%[[BAD]])
// The next round's exact loop goes from where the frozen one stopped to the end.
// CHECK: ^bb0(%[[STOP:[a-z0-9]*]]: i32
// CHECK-NEXT: scf.yield %[[STOP]], %c0
// The check at the end stays: O may overflow by V alone.
// CHECK: attn.check %{{.*}} limit 64

// UP-LABEL: attn.kernel @k(
// UP: }, (%{{.*}}) {
// UP: scf.while (%[[FROM:[a-z0-9]+]] = %{{[0-9]+}}, %[[MID:[a-z0-9]+]] = %{{[0-9]+}}, %{{.*}} !attn.tile<64x64xf32>
// UP: scf.for %{{.*}} = %[[FROM]] to %[[MID]]
// UP: attn.exp exact
// UP: scf.while (%[[LOW:[a-z0-9]+]] = %[[MID]], %[[OK:[a-z0-9]+]] = %true
// UP: arith.cmpi slt, %[[LOW]]
// UP: attn.check_sums

// ITEM-NOT: check_sums
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
