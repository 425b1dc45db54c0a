// RUN: attn-opt %s --attn-verify-problem | FileCheck %s

!Q   = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K   = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V   = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O   = !attn.tensor<output, f32, heads = 32, dim = 128, ragged>
!L   = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
!Qf  = !attn.tensor<query, f32, heads = 2, dim = 40, dense>
!Kf  = !attn.tensor<key, f32, heads = 2, dim = 40, dense>
!Vf  = !attn.tensor<value, f32, heads = 2, dim = 48, dense>
!Of  = !attn.tensor<output, f32, heads = 2, dim = 48, dense>
!Lf  = !attn.tensor<lse, f32, heads = 2, dim = 1, dense>

// What is legal passes through unchanged.

// CHECK-LABEL: attn.kernel @gpu
// CHECK:         attn.attention
attn.kernel @gpu(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// The cpu takes f32, unequal dims and vector hooks.

// CHECK-LABEL: attn.kernel @cpu
// CHECK:         attn.hook query
attn.kernel @cpu(%q: !Qf, %k: !Kf, %v: !Vf, %scale: f32) attributes {target = "cpu"} {
  attn.variant @v {
    attn.hook query(%x: vector<40xf32>, %b, %h, %pos, %i) {
      %y = attn.element %x[%i] : vector<40xf32>
      attn.yield %y : f32
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Qf, !Kf, !Vf) -> (!Of, !Lf)
  attn.return %o, %lse : !Of, !Lf
}
