// Gated attention: each element of a head's output is weighed by a learned gate,
// o[i] * sigmoid(gate[head][i]).  The gate acts once a row, behind the merge of its
// splits.  An element that the hook reads at its own place is in registers already.

!Q = !attn.tensor<query, bf16, heads = 16, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 16, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 16, dim = 1, ragged>

attn.variant @gate {
  %gate = attn.table "gate" : !attn.table<f32, [head, free]> {sample = [-2.0 : f32, 2.0 : f32]}
  attn.hook mask(%b, %h, %q, %k) {
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }
  attn.hook output(%x: vector<128xf32>, %b, %h, %pos, %i) {
    %one = arith.constant 1.0 : f32
    %g = attn.read %gate[%h, %i] : !attn.table<f32, [head, free]>
    %minus = arith.negf %g : f32
    %e = math.exp %minus : f32
    %sum = arith.addf %one, %e : f32
    %o = attn.element %x[%i] : vector<128xf32>
    %y = arith.divf %o, %sum : f32
    attn.yield %y : f32
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@gate) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
