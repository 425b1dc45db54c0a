// RUN: attn-opt %s --attn-check-resources | FileCheck %s

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>

// 98304 of 166912 bytes, 256 threads, 184 registers a thread.

// CHECK-LABEL: attn.kernel @fits(
attn.kernel @fits(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80", schedule = #attn.schedule<tile_q = 128, tile_k = 64, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>], place = {}, agents = {}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {}, handover = "none", persist = "static", unroll = 1>>} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// CHECK-LABEL: attn.kernel @cpu(
attn.kernel @cpu(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu", schedule = #attn.schedule<tile_q = 64, tile_k = 64, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = f32, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// A merge kernel has no tiles in shared memory.

// CHECK-LABEL: attn.kernel @merge(
attn.kernel @merge(%o: !O, %plan: !attn.plan) attributes {merge_of = @fits} {
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
  }
  attn.return
}
