// Gemma 2: scores are squashed to (-cap, cap) before the causal mask.
// Dense storage: [batch][token][head][dim].

!Q = !attn.tensor<query, bf16, heads = 16, dim = 128, dense>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, dense>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, dense>
!O = !attn.tensor<output, bf16, heads = 16, dim = 128, dense>
!L = !attn.tensor<lse, f32, heads = 16, dim = 1, dense>

attn.variant @softcap {
  %cap = attn.param "cap" : f32 {default = 50.0 : f32, sample = [20.0 : f32, 50.0 : f32]}
  attn.hook score(%s, %b, %h, %q, %k) {
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %y = arith.mulf %cap, %t : f32
    attn.yield %y : f32
  }
  attn.hook mask(%b, %h, %q, %k) {
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@softcap) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
