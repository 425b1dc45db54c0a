// RUN: attn-opt %s --split-input-file --attn-resolve-variant | FileCheck %s

!Q = !attn.tensor<query, f32, heads = 2, dim = 64, dense>
!K = !attn.tensor<key, f32, heads = 2, dim = 64, dense>
!V = !attn.tensor<value, f32, heads = 2, dim = 64, dense>
!O = !attn.tensor<output, f32, heads = 2, dim = 64, dense>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, dense>

// Both kernels own a copy, nothing is left outside.

// CHECK-NOT:     {{^}}  attn.variant
// CHECK-LABEL:   attn.kernel @one
// CHECK-NEXT:      attn.variant @causal
// CHECK:             arith.cmpi sge
// CHECK:           attn.attention {{.*}} variant(@causal)
// CHECK-LABEL:   attn.kernel @two
// CHECK-NEXT:      attn.variant @causal
// CHECK-NOT:     {{^}}  attn.variant
attn.variant @causal {
  attn.hook mask(%b, %h, %q, %k) {
    %r = arith.cmpi sge, %q, %k : i32
    attn.yield %r : i1
  }
}
attn.variant @unused {
}
attn.kernel @one(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
attn.kernel @two(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, f32, heads = 2, dim = 64, dense>
!K = !attn.tensor<key, f32, heads = 2, dim = 64, dense>
!V = !attn.tensor<value, f32, heads = 2, dim = 64, dense>
!O = !attn.tensor<output, f32, heads = 2, dim = 64, dense>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, dense>

// A kernel that owns its variant keeps it, once.

// CHECK-LABEL:   attn.kernel @resolved
// CHECK-COUNT-1:   attn.variant @own
// CHECK-NOT:       attn.variant
attn.kernel @resolved(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @own {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@own) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
