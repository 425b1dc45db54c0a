// RUN: attn-opt %s -split-input-file -verify-diagnostics

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
// expected-error @below {{'attn.kernel' op has two tensors of role query}}
attn.kernel @k(%a: !Q, %b: !Q) {
  attn.return
}

// -----

// expected-error @below {{argument 0 must be a tensor, the scale (f32) or the plan, got 'i64'}}
attn.kernel @k(%a: i64) {
  attn.return
}

// -----

// expected-error @below {{has at most one plan and one scale, got 0 and 2}}
attn.kernel @k(%a: f32, %b: f32) {
  attn.return
}

// -----

// expected-error @below {{has more than one variant}}
attn.kernel @k(%a: f32) {
  attn.variant @v {
  }
  attn.variant @w {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>
attn.variant @v {
}
// expected-error @below {{has more than one attention}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %s: f32) {
  %o, %l = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O, !L)
  %p, %m = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return
}

// -----

// expected-error @below {{must end with attn.return}}
attn.kernel @k(%a: f32) {
  attn.yield
}

// -----

!Q = !attn.tensor<query, bf16, heads = 6, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 6, dim = 64, ragged>
func.func private @f(%q: !Q, %k: !K, %v: !V, %s: f32) {
  // expected-error @below {{query heads must be a multiple of key heads, got 6 and 4}}
  %o = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O)
  return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
func.func private @f(%q: !Q, %k: !K, %v: !V, %s: f32) {
  // expected-error @below {{query has dim 64 but key has 128}}
  %o = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O)
  return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
func.func private @f(%q: !Q, %k: !K, %v: !V, %s: f32) {
  // expected-error @below {{key has heads 4 but value has 2}}
  %o = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O)
  return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
func.func private @f(%q: !Q, %v: !V, %s: f32) {
  // expected-error @below {{key must have role key, got value}}
  %o = attn.attention %q, %v, %v, %s variant(@v) : (!Q, !V, !V) -> (!O)
  return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, f16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
func.func private @f(%q: !Q, %k: !K, %v: !V, %s: f32) {
  // expected-error @below {{query holds 'bf16' but key holds 'f16'}}
  %o = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O)
  return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, dense>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
func.func private @f(%q: !Q, %k: !K, %v: !V, %s: f32) {
  // expected-error @below {{key is ragged but value is dense}}
  %o = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O)
  return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, paged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, paged>
func.func private @f(%q: !Q, %k: !K, %v: !V, %s: f32) {
  // expected-error @below {{query must be dense or ragged, got paged}}
  %o = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O)
  return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %s: f32) {
  // expected-error @below {{variant @missing does not exist}}
  %o = attn.attention %q, %k, %v, %s variant(@missing) : (!Q, !K, !V) -> (!O)
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
attn.variant @v {
}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %s: f32) {
  // expected-error @below {{normaliser softmax has an lse result, got none}}
  %o = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O)
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>
attn.variant @v normaliser(none) {
}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %s: f32) {
  // expected-error @below {{normaliser none has no lse result, got one}}
  %o, %l = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>
attn.variant @v {
  attn.hook query(%x: vector<32xf32>, %b, %h, %pos, %i) {
    %y = attn.element %x[%i] : vector<32xf32>
    attn.yield %y : f32
  }
}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %s: f32) {
  // expected-error @below {{query hook of @v works on 32 elements but the tensor has dim 64}}
  %o, %l = attn.attention %q, %k, %v, %s variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return
}

// -----

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!P = !attn.tensor<output, bf16, heads = 4, dim = 32, ragged>
!L = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>
func.func private @f(%o: !O, %p: !P, %l: !L) {
  // expected-error @below {{output has dim 64 but another output has 32}}
  %x, %y = attn.merge %o, %p lse %l, %l : !O, !P lse !L, !L -> !O, !L
  return
}

// -----

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>
func.func private @f(%o: !O, %l: !L) {
  // expected-error @below {{has 2 outputs but 1 lses}}
  %x, %y = attn.merge %o, %o lse %l : !O, !O lse !L -> !O, !L
  return
}

// -----

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>
func.func private @f() {
  // expected-error @below {{needs at least one pair}}
  %x, %y = "attn.merge"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> (!O, !L)
  return
}
