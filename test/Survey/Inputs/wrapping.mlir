// Windows written as a sum and as a difference.

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 2, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, ragged>

attn.variant @sum_hooks {
  %w = attn.param "window" : i32 {default = 64 : i32, sample = [1 : i32, 512 : i32]}
  attn.hook mask(%b, %h, %q, %k) {
    %end = arith.addi %k, %w : i32
    %near = arith.cmpi slt, %q, %end : i32
    %past = arith.cmpi sge, %q, %k : i32
    %r = arith.andi %near, %past : i1
    attn.yield %r : i1
  }
}

attn.kernel @sum(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@sum_hooks) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

attn.variant @difference_hooks {
  %w = attn.param "window" : i32 {default = 64 : i32, sample = [1 : i32, 512 : i32]}
  attn.hook mask(%b, %h, %q, %k) {
    %d = arith.subi %q, %k : i32
    %near = arith.cmpi slt, %d, %w : i32
    %past = arith.cmpi sge, %q, %k : i32
    %r = arith.andi %near, %past : i1
    attn.yield %r : i1
  }
}

attn.kernel @difference(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@difference_hooks) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

attn.variant @constant_hooks {
  attn.hook mask(%b, %h, %q, %k) {
    %max = arith.constant 2147483647 : i32
    %end = arith.addi %k, %max : i32
    %r = arith.cmpi sge, %q, %end : i32
    attn.yield %r : i1
  }
}

attn.kernel @constant(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@constant_hooks) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
