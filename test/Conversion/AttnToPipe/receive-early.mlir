// Words behind an item's visits are read beside its last product, or where there is none.

// RUN: attnc %s --target=sm_90a --emit=pipe -o - | FileCheck %s
// CHECK-LABEL: attn.kernel @encode(
// CHECK: %[[FIRST:.*]]:13 = pipe.recv %{{.*}} depth = 2>
// CHECK-NEXT: scf.while (%{{.*}} = %[[FIRST]]#0
// CHECK-NOT: pipe.recv
// CHECK: %[[BOTH:.*]]:16 = scf.if
// CHECK: %[[WORDS:.*]]:13 = pipe.recv
// CHECK-NEXT: %[[O:.*]], %{{.*}} = pipe.join
// CHECK-NEXT: pipe.release
// CHECK-NEXT: scf.yield %[[O]], %{{.*}}, %{{.*}}, %[[WORDS]]#0,
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[WORDS:.*]]:13 = pipe.recv
// CHECK-NEXT: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[WORDS]]#0,
// CHECK-NEXT: }
// CHECK-NEXT: attn.check %[[BOTH]]#0
// CHECK-NOT: pipe.recv
// CHECK: scf.yield %[[BOTH]]#3, %[[BOTH]]#4

// Without a verdict there is nothing to be ahead of.

// RUN: attnc %s --target=sm_90a --schedule=softmax=exact --emit=pipe -o - | FileCheck %s --check-prefix=EXACT
// EXACT-LABEL: attn.kernel @encode(
// EXACT: pipe.recv
// EXACT-NEXT: scf.while
// EXACT: attn.pv
// EXACT: pipe.recv
// EXACT-NEXT: pipe.join
// EXACT: else {
// EXACT-NEXT: pipe.recv

// Where the words wait for the item's own verdict, they stand behind it.

// RUN: attnc %s --target=sm_90a --schedule=channels.verdict=1 --emit=pipe -o - | FileCheck %s --check-prefix=ONE
// ONE-LABEL: attn.kernel @encode(
// ONE: pipe.recv %{{.*}} depth = 2>
// ONE-NEXT: scf.while
// ONE-NOT: pipe.recv
// ONE: attn.check
// ONE: pipe.send
// ONE-NEXT: pipe.recv

// A replica without visits first gives back the blocks that the next words wait for.

// RUN: attnc %S/revisit.mlir --target=sm_90a --schedule=redo=item,tile_q=128,tile_k=64 --emit=pipe -o - | FileCheck %s --check-prefix=PASS
// PASS-LABEL: attn.kernel @
// PASS: pipe.recv %{{.*}} depth = 2>
// PASS-NEXT: scf.while
// PASS: pipe.recv
// PASS-NEXT: pipe.join
// PASS: } else {
// PASS-NOT: pipe.recv
// PASS: pipe.wait
// PASS: pipe.release
// PASS: pipe.recv
// PASS-NEXT: scf.yield

!Q = !attn.tensor<query, bf16, heads = 8, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 8, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 8, dim = 1, ragged>
attn.variant @plain {
}
attn.kernel @encode(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@plain) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
