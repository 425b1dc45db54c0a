// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-skew-products,pipe-skew))' -split-input-file -verify-diagnostics

!Q = !attn.tensor<query, bf16, heads = 4, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 4, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 4, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!Qt = !attn.tile<128x64xbf16>
!KV = !attn.tile<64x64xbf16>
!S = !attn.tile<128x64xf32>
!P = !attn.tile<128x64xbf16>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#all], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {pv = 1 : i32}, handover = "none", persist = "static", unroll = 1>>
// expected-error @+1 {{skew = {pv = 1} of 1 roles is not built; use {pv = 1} of 2 roles}}
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
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#all], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -2 : i32}, handover = "none", persist = "static", unroll = 1>>
// expected-error @+1 {{skew = {load_kv = -2} of 1 roles is not built; use {load_kv = -1} of 1 role}}
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
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = unit>
// expected-error @+1 {{pipe-skew-products needs a #pipe.schedule but the schedule has pipe = unit}}
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
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#all], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  %kch = pipe.channel "k" from "all" to ["all"] : !pipe.channel<!KV, depth = 1>
  %b0 = arith.constant 0 : i32
  %b1 = arith.constant 1 : i32
  pipe.roles [#all] {
    scf.for %i = %b0 to %b1 step %b1 : i32 {
      %x = arith.muli %i, %b1 : i32
      // expected-error @+1 {{skew of load_kv needs 2 slots but channel 'k' has 1}}
      %a = pipe.acquire %kch : !pipe.channel<!KV, depth = 1> -> !pipe.slot<!KV>
      %f = pipe.issue cp_async {
        attn.copy_kv %a, %k request %b0 kv_head %b0 kv_begin %b0 k0 %x kv1 %b1 : !pipe.slot<!KV>, !K
      }
      pipe.commit %a after %f : !pipe.slot<!KV>
      %kt, %ks = pipe.wait %kch : !pipe.channel<!KV, depth = 1> -> !KV, !pipe.slot<!KV>
      pipe.release %ks : !pipe.slot<!KV>
    } {pipe.visits = "ascending"}
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
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#all], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  %kch = pipe.channel "k" from "all" to ["all"] : !pipe.channel<!KV, depth = 2>
  %b0 = arith.constant 0 : i32
  %b1 = arith.constant 1 : i32
  pipe.roles [#all] {
    // expected-error @+1 {{starts copies that no visit waits for}}
    scf.for %i = %b0 to %b1 step %b1 : i32 {
      %x = arith.muli %i, %b1 : i32
      %a = pipe.acquire %kch : !pipe.channel<!KV, depth = 2> -> !pipe.slot<!KV>
      %f = pipe.issue cp_async {
        attn.copy_kv %a, %k request %b0 kv_head %b0 kv_begin %b0 k0 %x kv1 %b1 : !pipe.slot<!KV>, !K
      }
      pipe.commit %a after %f : !pipe.slot<!KV>
    } {pipe.visits = "ascending"}
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
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#all], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  %kch = pipe.channel "k" from "all" to ["all"] : !pipe.channel<!KV, depth = 2>
  %b0 = arith.constant 0 : i32
  %b1 = arith.constant 1 : i32
  pipe.roles [#all] {
    // expected-error @+1 {{visit loop has lost its pipe.visit_index}}
    scf.for %i = %b0 to %b1 step %b1 : i32 {
      %x = arith.muli %i, %b1 : i32
      %a = pipe.acquire %kch : !pipe.channel<!KV, depth = 2> -> !pipe.slot<!KV>
      %f = pipe.issue cp_async {
        attn.copy_kv %a, %k request %b0 kv_head %b0 kv_begin %b0 k0 %x kv1 %b1 : !pipe.slot<!KV>, !K
      }
      pipe.commit %a after %f : !pipe.slot<!KV>
      %kt, %ks = pipe.wait %kch : !pipe.channel<!KV, depth = 2> -> !KV, !pipe.slot<!KV>
      pipe.release %ks : !pipe.slot<!KV>
    } {pipe.visits = "descending"}
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
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#all], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  %kch = pipe.channel "k" from "all" to ["all"] : !pipe.channel<!KV, depth = 2>
  %b0 = arith.constant 0 : i32
  %b1 = arith.constant 1 : i32
  pipe.roles [#all] {
    // expected-error @+1 {{copies depend on more than the index of the visit}}
    scf.for %i = %b0 to %b1 step %b1 : i32 {
      %y = pipe.next_work static_order %plan after %i merges = false : !attn.plan
      %x = arith.muli %y, %b1 : i32
      %a = pipe.acquire %kch : !pipe.channel<!KV, depth = 2> -> !pipe.slot<!KV>
      %f = pipe.issue cp_async {
        attn.copy_kv %a, %k request %b0 kv_head %b0 kv_begin %b0 k0 %x kv1 %b1 : !pipe.slot<!KV>, !K
      }
      pipe.commit %a after %f : !pipe.slot<!KV>
      %kt, %ks = pipe.wait %kch : !pipe.channel<!KV, depth = 2> -> !KV, !pipe.slot<!KV>
      pipe.release %ks : !pipe.slot<!KV>
    } {pipe.visits = "ascending"}
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
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>], place = {default = "compute", load_kv = "load", load_query = "load"}, agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "dynamic", unroll = 1>>
// expected-error @+1 {{skew = {load_kv = -1} of 2 roles is not built; use {load_kv = -1} of 1 role}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.return
}
