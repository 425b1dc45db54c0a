// The problem of prefill-sm90.pipe.mlir and prefill-sm90.frag.mlir: causal
// prefill, head dim 128, four query heads on each KV head, ragged requests.

!Q = !attn.tensor<query, bf16, heads = 8, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 8, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 8, dim = 1, ragged>

attn.variant @causal {
  attn.hook mask(%b, %h, %q, %k) {
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
