// RUN: attn-opt %s --attn-select-schedule | FileCheck %s
// RUN: attn-opt %s --attn-select-schedule='override=tile_k=32' | FileCheck %s --check-prefix=TILE

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>

// Every field is printed.

// CHECK-LABEL: attn.kernel @gpu(
// CHECK-SAME:    schedule = #attn.schedule<tile_q = 128, tile_k = 32, pack = 4, kv_order = descending, softmax = frozen, limit = 64, fold_scale = true,
// CHECK-SAME:      p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "quad_transpose",
// CHECK-SAME:      pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 4, replicas = 1, regs = 0>], place = {default = "all"},
// CHECK-SAME:        agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {pv = "mma.m16n8k16", qk = "mma.m16n8k16.ss"},
// CHECK-SAME:        channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32},
// CHECK-SAME:        handover = "none", persist = "none", unroll = 1>>
// TILE-LABEL: attn.kernel @gpu(
// TILE-SAME:    tile_q = 128, tile_k = 32, pack = 4
attn.kernel @gpu(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// A score hook sees s in natural units: the scale is not folded.

// CHECK-LABEL: attn.kernel @score(
// CHECK-SAME:    fold_scale = false
attn.kernel @score(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  attn.variant @v {
    attn.hook score(%s, %b, %h, %qp, %kp) {
      attn.yield %s : f32
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// Warpgroup products: two roles; the shape follows from head dim and mask.

// CHECK-LABEL: attn.kernel @roles(
// CHECK-SAME:    schedule = #attn.schedule<tile_q = 128, tile_k = 128, pack = 4, kv_order = descending, softmax = frozen, limit = 64, fold_scale = true,
// CHECK-SAME:      p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "quad_transpose",
// CHECK-SAME:      pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>],
// CHECK-SAME:        place = {default = "compute", load_kv = "load", load_query = "load"},
// CHECK-SAME:        agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"}, atoms = {pv = "wgmma.m64n128k16", qk = "wgmma.m64n128k16"},
// CHECK-SAME:        channels = {k = 2 : i32, q = 2 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {pv = 1 : i32},
// CHECK-SAME:        handover = "ring", persist = "static", unroll = 1>>
// What follows from tile_k follows it.
// TILE-LABEL: attn.kernel @roles(
// TILE-SAME:    tile_k = 32
// TILE-SAME:    qk = "wgmma.m64n32k16"
attn.kernel @roles(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_90a"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// The cpu has no roles and keeps P in f32.

// CHECK-LABEL: attn.kernel @cpu(
// CHECK-SAME:    tile_q = 64, tile_k = 64, pack = 4,
// CHECK-SAME:    p_type = f32
// CHECK-SAME:    pipe = unit>
attn.kernel @cpu(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// A hook of two MUFU instructions and little else: the exponentials go elsewhere.

// CHECK-LABEL: attn.kernel @softplus(
// CHECK-SAME:    softmax = frozen, limit = 64, exp2_fma = 7, fold_scale = false,
attn.kernel @softplus(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_90a"} {
  attn.variant @v {
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %one = arith.constant 1.0 : f32
      %e = math.exp2 %s : f32
      %x = arith.addf %e, %one : f32
      %y = math.log2 %x : f32
      attn.yield %y : f32
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// A schedule that is there stays, and is still overridden.

// CHECK-LABEL: attn.kernel @given(
// CHECK-SAME:    tile_q = 8, tile_k = 16,
// TILE-LABEL: attn.kernel @given(
// TILE-SAME:    tile_q = 8, tile_k = 32,
attn.kernel @given(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu", schedule = #attn.schedule<tile_q = 8, tile_k = 16, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = f32, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// A merge kernel has no choices of its own.

// CHECK-LABEL: attn.kernel @merge(
// CHECK-NOT:     schedule
attn.kernel @merge(%o: !O, %plan: !attn.plan) attributes {merge_of = @gpu} {
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
  }
  attn.return
}
