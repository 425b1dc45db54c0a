// Attention without a mask of three heads of 64: all tiles of a request cost the same.

!Q = !attn.tensor<query, bf16, heads = 3, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 3, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 3, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 3, dim = 64, ragged>
!LSE = !attn.tensor<lse, f32, heads = 3, dim = 1, ragged>
attn.variant @all {
}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@all) : (!Q, !K, !V) -> (!O, !LSE)
  attn.return %o, %lse : !O, !LSE
}
