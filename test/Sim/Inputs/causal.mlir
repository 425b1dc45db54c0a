// Causal attention of two heads of 64, for cp.async kernels.

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 1, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 1, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 2, dim = 64, ragged>
!LSE = !attn.tensor<lse, f32, heads = 2, dim = 1, ragged>
attn.variant @causal {
  attn.hook mask(%b, %h, %q, %k) {
    %r = arith.cmpi sge, %q, %k : i32
    attn.yield %r : i1
  }
}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal) : (!Q, !K, !V) -> (!O, !LSE)
  attn.return %o, %lse : !O, !LSE
}
