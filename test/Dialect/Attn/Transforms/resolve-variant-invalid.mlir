// RUN: attn-opt %s --pass-pipeline='builtin.module(builtin.module(attn-resolve-variant))' -verify-diagnostics

!Q = !attn.tensor<query, f32, heads = 2, dim = 64, dense>
!K = !attn.tensor<key, f32, heads = 2, dim = 64, dense>
!V = !attn.tensor<value, f32, heads = 2, dim = 64, dense>
!O = !attn.tensor<output, f32, heads = 2, dim = 64, dense>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, dense>

// The module that a kernel lies in is the only place that is searched.
attn.variant @outside {
}
module {
  attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) {
    // expected-error@+1 {{'attn.attention' op names variant @outside, which is not in the module}}
    %o, %lse = attn.attention %q, %k, %v, %scale variant(@outside) : (!Q, !K, !V) -> (!O, !L)
    attn.return %o, %lse : !O, !L
  }
}
