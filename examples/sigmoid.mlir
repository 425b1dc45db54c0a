// Sigmoid attention (Ramapuram et al., 2024): weights are sigmoid(s + bias)
// without a normaliser, so there is no LSE, and split partials add up.

!Q = !attn.tensor<query, bf16, heads = 16, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 16, dim = 64, ragged>

attn.variant @sigmoid normaliser(none) {
  %bias = attn.param "bias" : f32 {default = -4.0 : f32, sample = [-6.0 : f32, -2.0 : f32]}
  attn.hook score(%s, %b, %h, %q, %k) {
    %one = arith.constant 1.0 : f32
    %x = arith.addf %s, %bias : f32
    %n = arith.negf %x : f32
    %e = math.exp %n : f32
    %d = arith.addf %one, %e : f32
    %w = arith.divf %one, %d : f32
    attn.yield %w : f32
  }
  attn.hook mask(%b, %h, %q, %k) {
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o = attn.attention %q, %k, %v, %scale variant(@sigmoid) : (!Q, !K, !V) -> (!O)
  attn.return %o : !O
}
