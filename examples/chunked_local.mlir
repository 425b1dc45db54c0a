// Llama 4's local layers: causal inside chunks of `chunk` tokens; a token sees none of
// the chunk before.

!Q = !attn.tensor<query, bf16, heads = 40, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 40, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 40, dim = 1, ragged>

attn.variant @chunked {
  %chunk = attn.param "chunk" : i32 {default = 8192 : i32, sample = [48 : i32, 300 : i32]}
  attn.hook mask(%b, %h, %q, %k) {
    %cq = arith.floordivsi %q, %chunk : i32
    %ck = arith.floordivsi %k, %chunk : i32
    %same = arith.cmpi eq, %cq, %ck : i32
    %past = arith.cmpi sge, %q, %k : i32
    %visible = arith.andi %same, %past : i1
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@chunked) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
