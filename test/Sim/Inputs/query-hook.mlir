// Causal attention of two heads of 64 with a query hook.

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 1, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 1, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 2, dim = 64, ragged>
!LSE = !attn.tensor<lse, f32, heads = 2, dim = 1, ragged>
attn.variant @rows {
  attn.hook mask(%b, %h, %q, %k) {
    %r = arith.cmpi sge, %q, %k : i32
    attn.yield %r : i1
  }
  attn.hook query(%x: vector<64xf32>, %b, %h, %pos, %i) {
    %half = arith.constant 32 : i32
    %seven = arith.constant 7 : i32
    %eighth = arith.constant 0.125 : f32
    %j = arith.xori %i, %half : i32
    %p = arith.addi %pos, %h : i32
    %r = arith.andi %p, %seven : i32
    %f = arith.sitofp %r : i32 to f32
    %s = arith.mulf %f, %eighth : f32
    %a = attn.element %x[%i] : vector<64xf32>
    %c = attn.element %x[%j] : vector<64xf32>
    %y = math.fma %c, %s, %a : f32
    attn.yield %y : f32
  }
}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@rows) : (!Q, !K, !V) -> (!O, !LSE)
  attn.return %o, %lse : !O, !LSE
}
