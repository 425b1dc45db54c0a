// StreamingLLM (Xiao et al., 2024): the first `sinks` tokens stay visible for ever,
// next to a window of the last `window` tokens (the token itself included).  The
// blocks between them are skipped.

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>

attn.variant @streaming {
  %sinks = attn.param "sinks" : i32 {default = 4 : i32, sample = [1 : i32, 80 : i32]}
  %window = attn.param "window" : i32 {default = 1024 : i32, sample = [32 : i32, 256 : i32]}
  attn.hook mask(%b, %h, %q, %k) {
    %distance = arith.subi %q, %k : i32
    %near = arith.cmpi slt, %distance, %window : i32
    %sink = arith.cmpi slt, %k, %sinks : i32
    %kept = arith.ori %near, %sink : i1
    %past = arith.cmpi sge, %q, %k : i32
    %visible = arith.andi %past, %kept : i1
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@streaming) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
