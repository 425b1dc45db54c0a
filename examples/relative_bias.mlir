// T5's relative bias: a learned table [head][distance], the distance cut off at both
// ends of the table.  Encoder attention: no mask.

!Q = !attn.tensor<query, bf16, heads = 12, dim = 64, dense>
!K = !attn.tensor<key, bf16, heads = 12, dim = 64, dense>
!V = !attn.tensor<value, bf16, heads = 12, dim = 64, dense>
!O = !attn.tensor<output, bf16, heads = 12, dim = 64, dense>
!L = !attn.tensor<lse, f32, heads = 12, dim = 1, dense>

attn.variant @relative_bias {
  %bias = attn.table "bias" : !attn.table<f32, [head, free]> {sample = [-1.0 : f32, 1.0 : f32]}
  %reach = attn.param "reach" : i32 {default = 128 : i32, sample = [4 : i32, 64 : i32]}
  attn.hook score(%s, %b, %h, %q, %k) {
    %distance = arith.subi %k, %q : i32
    %index = arith.addi %distance, %reach : i32  // clamped into the table by the read
    %y = attn.read %bias[%h, %index] : !attn.table<f32, [head, free]>
    %z = arith.addf %s, %y : f32
    attn.yield %z : f32
  }
}

attn.kernel @encode(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@relative_bias) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
