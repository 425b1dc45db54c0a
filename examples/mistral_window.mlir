// Mistral: causal sliding window of `window` tokens, the token itself included.

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>

attn.variant @window {
  %window = attn.param "window" : i32 {default = 4096 : i32, sample = [32 : i32, 512 : i32]}
  attn.hook mask(%b, %h, %q, %k) {
    %zero = arith.constant 0 : i32
    %distance = arith.subi %q, %k : i32
    %past = arith.cmpi sge, %distance, %zero : i32
    %near = arith.cmpi slt, %distance, %window : i32
    %visible = arith.andi %past, %near : i1
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@window) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
