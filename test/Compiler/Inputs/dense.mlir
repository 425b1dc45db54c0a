// No mask, head dim 64: two specialisations on targets with warpgroup products.

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
