// RUN: attn-opt %s --split-input-file --attn-derive-block-map -verify-diagnostics

!Q = !attn.tensor<query, f32, heads = 2, dim = 64, dense>
!K = !attn.tensor<key, f32, heads = 2, dim = 64, dense>
!V = !attn.tensor<value, f32, heads = 2, dim = 64, dense>
!O = !attn.tensor<output, f32, heads = 2, dim = 64, dense>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, dense>
attn.variant @outside {
}
// expected-error@+1 {{'attn.kernel' op has no variant of its own; run attn-resolve-variant first}}
attn.kernel @unresolved(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@outside) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, f32, heads = 2, dim = 64, dense>
!K = !attn.tensor<key, f32, heads = 2, dim = 64, dense>
!V = !attn.tensor<value, f32, heads = 2, dim = 64, dense>
!O = !attn.tensor<output, f32, heads = 2, dim = 64, dense>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, dense>

// What has no encoding cannot be planned: an error, not an opaque map.
attn.kernel @unsigned(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @v {
    // expected-error@+1 {{'attn.hook' op}}
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi ugt, %qp, %kp : i32
      attn.yield %r : i1
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
