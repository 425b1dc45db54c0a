// Prefix LM: the first `prefix[b]` tokens of a request see each other, the rest is
// causal.

!Q = !attn.tensor<query, bf16, heads = 16, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 16, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 16, dim = 1, ragged>

attn.variant @prefix_lm {
  %prefix = attn.table "prefix" : !attn.table<i32, [batch]> {sample = [0 : i32, 200 : i32]}
  attn.hook mask(%b, %h, %q, %k) {
    %n = attn.read %prefix[%b] : !attn.table<i32, [batch]>
    %inside = arith.cmpi slt, %k, %n : i32
    %past = arith.cmpi sge, %q, %k : i32
    %visible = arith.ori %inside, %past : i1
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@prefix_lm) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
