// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-split-roles))' -split-input-file -verify-diagnostics

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!Qt = !attn.tile<128x64xbf16>
!KV = !attn.tile<64x64xbf16>
!S = !attn.tile<128x64xf32>
!P = !attn.tile<128x64xbf16>
!R = !attn.rowvec<128xf32>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "quad_transpose",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>], place = {default = "compute", load_kv = "load", load_query = "load"}, agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {pv = 1 : i32}, handover = "none", persist = "dynamic", unroll = 1>>
// expected-error @+1 {{pipe-split-roles needs 1 pipe.roles of 1 role but the kernel has 0}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!Qt = !attn.tile<128x64xbf16>
!KV = !attn.tile<64x64xbf16>
!S = !attn.tile<128x64xf32>
!P = !attn.tile<128x64xbf16>
!R = !attn.rowvec<128xf32>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "quad_transpose",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>], place = {default = "compute", load_kv = "load", load_query = "load"}, agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {pv = 1 : i32}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  // expected-error @+1 {{pipe-split-roles needs 1 run of visits in a work loop but the role has 0}}
  pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>] {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!Qt = !attn.tile<128x64xbf16>
!KV = !attn.tile<64x64xbf16>
!S = !attn.tile<128x64xf32>
!P = !attn.tile<128x64xbf16>
!R = !attn.rowvec<128xf32>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "quad_transpose",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>], place = {default = "compute", load_kv = "load", load_query = "load"}, agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {pv = 1 : i32}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  %kch = pipe.channel "k" from "all" to ["all"] : !pipe.channel<!KV, depth = 2>
  // expected-error @+1 {{pipe-split-roles needs visits with channels}}
  pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %yes = arith.constant true
    scf.while (%w = %c0) : (i32) -> i32 {
      %go = arith.cmpi slt, %w, %c1 : i32
      scf.condition(%go) %w : i32
    } do {
    ^bb0(%w: i32):
      %i:8 = attn.load_item %plan[%w] : i32, i32, i32, i32, i32, i32, i32, i32
      scf.for %j = %c0 to %c1 step %c1 : i32 {
      } {pipe.visits = "ascending"}
      scf.yield %c1 : i32
    }
  }
  attn.return
}

// -----

// What a copy is made of must be in the item's own block.

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!Qt = !attn.tile<128x64xbf16>
!KV = !attn.tile<64x64xbf16>
!S = !attn.tile<128x64xf32>
!P = !attn.tile<128x64xbf16>
!R = !attn.rowvec<128xf32>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "quad_transpose",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>], place = {default = "compute", load_kv = "load", load_query = "load"}, agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {pv = 1 : i32}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  %kch = pipe.channel "k" from "all" to ["all"] : !pipe.channel<!KV, depth = 2>
  pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %yes = arith.constant true
    scf.while (%w = %c0) : (i32) -> i32 {
      %go = arith.cmpi slt, %w, %c1 : i32
      scf.condition(%go) %w : i32
    } do {
    ^bb0(%w: i32):
      %i:8 = attn.load_item %plan[%w] : i32, i32, i32, i32, i32, i32, i32, i32
      scf.if %yes {
      %x = arith.addi %w, %c1 : i32
      scf.for %j = %c0 to %c1 step %c1 : i32 {
        %s = pipe.acquire %kch : !pipe.channel<!KV, depth = 2> -> !pipe.slot<!KV>
        %f = pipe.issue tma {
          // expected-error @+1 {{copies depend on more than the item's record}}
          attn.copy_kv %s, %k request %i#0 kv_head %i#1 kv_begin %x k0 %j kv1 %i#5 : !pipe.slot<!KV>, !K
        }
        pipe.commit %s after %f : !pipe.slot<!KV>
        %t, %h = pipe.wait %kch : !pipe.channel<!KV, depth = 2> -> !KV, !pipe.slot<!KV>
        pipe.release %h : !pipe.slot<!KV>
      } {pipe.visits = "ascending"}
      }
      scf.yield %c1 : i32
    }
  }
  attn.return
}
