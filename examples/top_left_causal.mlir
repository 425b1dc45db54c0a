// Causal, aligned at the top left: query row i sees keys 0 to i, whatever the lengths.
// Positions are aligned at the bottom right, so the row's number is made from them.

!Q = !attn.tensor<query, bf16, heads = 16, dim = 64, dense>
!K = !attn.tensor<key, bf16, heads = 16, dim = 64, dense>
!V = !attn.tensor<value, bf16, heads = 16, dim = 64, dense>
!O = !attn.tensor<output, bf16, heads = 16, dim = 64, dense>
!L = !attn.tensor<lse, f32, heads = 16, dim = 1, dense>

attn.variant @top_left {
  attn.hook mask(%b, %h, %q, %k) {
    %q_len = attn.length q
    %kv_len = attn.length kv
    %shift = arith.subi %kv_len, %q_len : i32
    %row = arith.subi %q, %shift : i32
    %visible = arith.cmpi sge, %row, %k : i32
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@top_left) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
