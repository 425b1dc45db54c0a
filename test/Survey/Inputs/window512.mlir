// A window of 512 tokens, the token itself included.

!Q = !attn.tensor<query, bf16, heads = 1, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 1, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 1, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 1, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 1, dim = 1, ragged>

attn.variant @window {
  attn.hook mask(%b, %h, %q, %k) {
    %zero = arith.constant 0 : i32
    %width = arith.constant 512 : i32
    %distance = arith.subi %q, %k : i32
    %past = arith.cmpi sge, %distance, %zero : i32
    %near = arith.cmpi slt, %distance, %width : i32
    %visible = arith.andi %past, %near : i1
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@window) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
