// gpt-oss: sliding window of `window` tokens (the token itself included) and one
// learned sink logit a head, which takes weight without a value.

!Q = !attn.tensor<query, bf16, heads = 64, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 64, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 64, dim = 1, ragged>

attn.variant @sink_window {
  %window = attn.param "window" : i32 {default = 128 : i32, sample = [64 : i32, 256 : i32]}
  %sink = attn.table "sink" : !attn.table<f32, [head]> {sample = [-1.0 : f32, 2.0 : f32]}
  attn.hook mask(%b, %h, %q, %k) {
    %zero = arith.constant 0 : i32
    %distance = arith.subi %q, %k : i32
    %past = arith.cmpi sge, %distance, %zero : i32
    %near = arith.cmpi slt, %distance, %window : i32
    %visible = arith.andi %past, %near : i1
    attn.yield %visible : i1
  }
  attn.hook sink(%b, %h) {
    %logit = attn.read %sink[%h] : !attn.table<f32, [head]>
    attn.yield %logit : f32
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@sink_window) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
