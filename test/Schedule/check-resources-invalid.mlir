// RUN: attn-opt %s --split-input-file --attn-check-resources -verify-diagnostics
//
// All refusals of a schedule are in test/unit/Tiles.

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{'attn.kernel' op has no schedule}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu"} {
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
// expected-error@+1 {{'attn.kernel' op has no target}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {schedule = #attn.schedule<tile_q = 64, tile_k = 64, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = f32, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>} {
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
// expected-error@+1 {{unknown target 'tpu' (known: cpu, sm_80, sm_90a, sm_100a)}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "tpu", schedule = #attn.schedule<tile_q = 64, tile_k = 64, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = f32, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>} {
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
// expected-error@+1 {{tile needs 229376 bytes of shared memory but sm_80 has 166912}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80", schedule = #attn.schedule<tile_q = 128, tile_k = 64, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>], place = {}, agents = {}, atoms = {}, channels = {k = 6 : i32, q = 1 : i32, v = 6 : i32}, skew = {}, handover = "none", persist = "static", unroll = 1>>} {
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
// expected-error@+1 {{kernel needs 296 registers a thread but sm_80 has 255}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80", schedule = #attn.schedule<tile_q = 256, tile_k = 64, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>], place = {}, agents = {}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {}, handover = "none", persist = "static", unroll = 1>>} {
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
// expected-error@+1 {{kernel needs 102400 registers a block but sm_80 has 65536}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80", schedule = #attn.schedule<tile_q = 256, tile_k = 128, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 16, replicas = 1, regs = 0>], place = {}, agents = {}, atoms = {}, channels = {k = 1 : i32, q = 1 : i32, v = 1 : i32}, skew = {}, handover = "none", persist = "static", unroll = 1>>} {
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
// expected-error@+1 {{tile_q is 100 but 8 warps of 16 rows need a multiple of 128, or 16 rows times a divisor of 8}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80", schedule = #attn.schedule<tile_q = 100, tile_k = 64, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>], place = {}, agents = {}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {}, handover = "none", persist = "static", unroll = 1>>} {
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
// expected-error@+1 {{limit is 65 but softmax = lazy in f32 takes at most 64}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu", schedule = #attn.schedule<tile_q = 64, tile_k = 64, pack = 4, kv_order = descending, softmax = lazy, limit = 65, fold_scale = true, p_type = f32, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
