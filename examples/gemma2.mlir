// Gemma 2's local layers: scores squashed to (-cap, cap), then a causal window of
// `window` tokens (the token itself included).  Head dim 256, scale 1 / sqrt(256).

!Q = !attn.tensor<query, bf16, heads = 16, dim = 256, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 256, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 256, ragged>
!O = !attn.tensor<output, bf16, heads = 16, dim = 256, ragged>
!L = !attn.tensor<lse, f32, heads = 16, dim = 1, ragged>

attn.variant @gemma2 {
  %cap = attn.param "cap" : f32 {default = 50.0 : f32, sample = [20.0 : f32, 50.0 : f32]}
  %window = attn.param "window" : i32 {default = 4096 : i32, sample = [32 : i32, 512 : i32]}
  attn.hook score(%s, %b, %h, %q, %k) {
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %y = arith.mulf %cap, %t : f32
    attn.yield %y : f32
  }
  attn.hook mask(%b, %h, %q, %k) {
    %distance = arith.subi %q, %k : i32
    %zero = arith.constant 0 : i32
    %past = arith.cmpi sge, %distance, %zero : i32
    %near = arith.cmpi slt, %distance, %window : i32
    %visible = arith.andi %past, %near : i1
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@gemma2) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
