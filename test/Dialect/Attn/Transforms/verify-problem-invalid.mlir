// RUN: attn-opt %s --split-input-file --attn-verify-problem -verify-diagnostics

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{'attn.kernel' op has no target}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{unknown target 'sm_70' (known: cpu, sm_80, sm_90a, sm_100a)}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_70"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{target sm_100a is not built (built: cpu, sm_80, sm_90a)}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_100a"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 76, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 76, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 76, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 76, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{head dim 76 is not built for sm_80 (built: multiples of 8 up to 256)}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 260, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 260, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{value dim 260 is not built for sm_80 (built: multiples of 8 up to 256)}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, f32, heads = 32, dim = 20, ragged>
!K = !attn.tensor<key, f32, heads = 8, dim = 20, ragged>
!V = !attn.tensor<value, f32, heads = 8, dim = 20, ragged>
!O = !attn.tensor<output, f32, heads = 32, dim = 20, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{head dim 20 is not built for cpu (built: multiples of 8 up to 512)}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, f32, heads = 32, dim = 520, ragged>
!K = !attn.tensor<key, f32, heads = 8, dim = 520, ragged>
!V = !attn.tensor<value, f32, heads = 8, dim = 520, ragged>
!O = !attn.tensor<output, f32, heads = 32, dim = 520, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{head dim 520 is not built for cpu (built: multiples of 8 up to 512)}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, f32, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, f32, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, f32, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, f32, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{sm_80 takes f16 and bf16 inputs but the query is f32}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, paged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, paged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{paged storage of the key is not built for cpu}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
attn.variant @v {
}
// expected-error@+1 {{has no variant of its own; run attn-resolve-variant first}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{'attn.kernel' op has no attention}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  attn.variant @v {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  attn.variant @v {
  }
  // expected-error@+1 {{'arith.constant' op is not part of a problem: a kernel is one attn.attention over its arguments}}
  %c = arith.constant 1.0 : f32
  %o, %lse = attn.attention %q, %k, %v, %c variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  // expected-error@+1 {{'attn.return' op must return the results of the attention}}
  attn.return %o : !O
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  // expected-error@+1 {{'attn.merge' op is not built for sm_80}}
  %p, %m = attn.merge %o, %o lse %lse, %lse : !O, !O lse !L, !L -> !O, !L
  attn.return %p, %m : !O, !L
}

// -----

!Q = !attn.tensor<query, bf16, heads = 32, dim = 264, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 264, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{head dim 264 is not built for sm_90a (built: multiples of 8 up to 256)}}
attn.kernel @kernel(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_90a"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// -----

// A merge kernel, tiled already, has no query to ask.
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
attn.kernel @merge(%o: !O, %plan: !attn.plan) attributes {target = "sm_80"} {
  // expected-error@+1 {{'attn.for_merge' op is not part of a problem}}
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
  }
  attn.return
}
