// ALiBi (Press et al., 2022): each head subtracts its slope times the distance from
// the score.  The slopes, 2^(-8 h / heads) for a power of two of heads, are a table.

!Q = !attn.tensor<query, bf16, heads = 16, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 16, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 16, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 16, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 16, dim = 1, ragged>

attn.variant @alibi {
  %slope = attn.table "slope" : !attn.table<f32, [head]> {sample = [0.004 : f32, 0.8 : f32]}
  attn.hook score(%s, %b, %h, %q, %k) {
    %m = attn.read %slope[%h] : !attn.table<f32, [head]>
    %distance = arith.subi %k, %q : i32
    %d = arith.sitofp %distance : i32 to f32
    %y = math.fma %m, %d, %s : f32
    attn.yield %y : f32
  }
  attn.hook mask(%b, %h, %q, %k) {
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@alibi) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
