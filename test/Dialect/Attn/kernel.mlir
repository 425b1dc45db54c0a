// RUN: attn-opt --verify-roundtrip %s | FileCheck %s

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, paged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 64, paged>
!O = !attn.tensor<output, f32, heads = 32, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>

attn.variant @full {
}
attn.variant @sigmoid normaliser(none) {
}

// Arguments print under the names of their roles.
// CHECK-LABEL: attn.kernel @prefill(%q: !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>, %k: !attn.tensor<key, bf16, heads = 8, dim = 128, paged>, %v: !attn.tensor<value, bf16, heads = 8, dim = 64, paged>, %scale: f32) attributes {target = "sm_80"} {
attn.kernel @prefill(%a: !Q, %b: !K, %c: !V, %d: f32) attributes {target = "sm_80"} {
  // CHECK-NEXT: %[[o:.*]], %[[lse:.*]] = attn.attention %q, %k, %v, %scale variant(@full) : (!attn.tensor<query,
  // CHECK-SAME: -> (!attn.tensor<output, f32, heads = 32, dim = 64, ragged>, !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>)
  // CHECK-NEXT: attn.return %[[o]], %[[lse]]
  %o, %lse = attn.attention %a, %b, %c, %d variant(@full) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// CHECK-LABEL: attn.kernel @no_lse
// CHECK: variant(@sigmoid)
// CHECK-SAME: -> (!attn.tensor<output, f32, heads = 32, dim = 64, ragged>)
attn.kernel @no_lse(%a: !Q, %b: !K, %c: !V, %d: f32) {
  %o = attn.attention %a, %b, %c, %d variant(@sigmoid) : (!Q, !K, !V) -> (!O)
  attn.return %o : !O
}

// The kernel's own variant is found before the module's.
// CHECK-LABEL: attn.kernel @resolved
attn.kernel @resolved(%a: !Q, %b: !K, %c: !V, %d: f32) {
  // CHECK: attn.variant @full normaliser(none) {
  attn.variant @full normaliser(none) {
  }
  %o = attn.attention %a, %b, %c, %d variant(@full) : (!Q, !K, !V) -> (!O)
  attn.return %o : !O
}

// CHECK-LABEL: func.func private @merge
func.func private @merge(%o0: !O, %l0: !L, %o1: !O, %l1: !L) -> (!O, !L) {
  // CHECK: attn.merge %{{.*}}, %{{.*}} lse %{{.*}}, %{{.*}} : !attn.tensor<output
  %o, %l = attn.merge %o0, %o1 lse %l0, %l1 : !O, !O lse !L, !L -> !O, !L
  return %o, %l : !O, !L
}
