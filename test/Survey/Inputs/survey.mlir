// Kernels for the field's known failures; each .test beside this folder names one.

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>

attn.variant @full_hooks {
}

attn.variant @causal_hooks {
  attn.hook mask(%b, %h, %q, %k) {
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }
}

// Every score lies near -6e4, where a finite mask sentinel would swallow it; integers,
// so that f32 holds them exactly.
attn.variant @low_hooks {
  attn.hook score(%s, %b, %h, %q, %k) {
    %c3 = arith.constant 3 : i32
    %shift = arith.constant -6.0e+04 : f32
    %m = arith.andi %k, %c3 : i32
    %x = arith.sitofp %m : i32 to f32
    %r = arith.addf %x, %shift : f32
    attn.yield %r : f32
  }
}

// NaN for every pair that the request does not own.
attn.variant @owned_hooks {
  attn.hook score(%s, %b, %h, %q, %k) {
    %zero = arith.constant 0 : i32
    %nan = arith.constant 0x7FC00000 : f32
    %kv = attn.length kv
    %low = arith.cmpi sge, %k, %zero : i32
    %high = arith.cmpi slt, %k, %kv : i32
    %in = arith.andi %low, %high : i1
    %row = arith.cmpi slt, %q, %kv : i32
    %own = arith.andi %in, %row : i1
    %r = arith.select %own, %s, %nan : f32
    attn.yield %r : f32
  }
}

attn.kernel @full(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@full_hooks) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
attn.kernel @causal(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal_hooks) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
attn.kernel @low(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@low_hooks) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
attn.kernel @owned(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@owned_hooks) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
