// More kernels for the field's failures: windows, groups that no tile divides, a block
// of columns with an additive mask.

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>

!Q7 = !attn.tensor<query, bf16, heads = 14, dim = 64, ragged>
!O7 = !attn.tensor<output, bf16, heads = 14, dim = 64, ragged>
!L7 = !attn.tensor<lse, f32, heads = 14, dim = 1, ragged>

attn.variant @causal_hooks {
  attn.hook mask(%b, %h, %q, %k) {
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }
}

attn.variant @window_hooks {
  %tokens = attn.param "tokens" : i32 {default = 32 : i32, sample = [1 : i32, 96 : i32]}
  attn.hook mask(%b, %h, %q, %k) {
    %zero = arith.constant 0 : i32
    %distance = arith.subi %q, %k : i32
    %past = arith.cmpi sge, %distance, %zero : i32
    %near = arith.cmpi slt, %distance, %tokens : i32
    %visible = arith.andi %past, %near : i1
    attn.yield %visible : i1
  }
}

// An additive mask over the first 128 columns: scores that are finite, however low.
attn.variant @additive_hooks {
  %low = attn.param "low" : f32 {default = -1.0e+38 : f32, sample = [-1.0e+38 : f32, -1.0e+38 : f32]}
  attn.hook score(%s, %b, %h, %q, %k) {
    %border = arith.constant 128 : i32
    %inside = arith.cmpi slt, %k, %border : i32
    %lowered = arith.addf %s, %low : f32
    %r = arith.select %inside, %lowered, %s : f32
    attn.yield %r : f32
  }
}

attn.kernel @window(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@window_hooks) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
attn.kernel @sevens(%q: !Q7, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal_hooks) : (!Q7, !K, !V) -> (!O7, !L7)
  attn.return %o, %lse : !O7, !L7
}
attn.kernel @additive(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@additive_hooks) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
