// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-insert-channels))' -split-input-file -verify-diagnostics

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
// expected-error @+1 {{pipe-insert-channels needs roles but the kernel has 0 pipe.roles}}
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
  %b0 = arith.constant 0 : i32
  %b1 = arith.constant 1 : i32
  %b2 = arith.constant 2 : i32
  pipe.roles [#all] {
    %rows = attn.row_map request %b0 head %b0 row0 %b0 rows %b1 q_begin %b0 q_len %b1 kv_len %b1 pack 1 : !attn.rows<128>
    // expected-error @+1 {{stands outside the visits of an item}}
    %t = attn.load_kv %k request %b0 kv_head %b0 kv_begin %b0 k0 %b0 kv1 %b1 : !K -> !KV
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
// expected-error @+1 {{pipe-insert-channels builds 1 query and 1 run of visits but the role has 2 and 0}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  %b0 = arith.constant 0 : i32
  %b1 = arith.constant 1 : i32
  %b2 = arith.constant 2 : i32
  pipe.roles [#all] {
    %rows = attn.row_map request %b0 head %b0 row0 %b0 rows %b1 q_begin %b0 q_len %b1 kv_len %b1 pack 1 : !attn.rows<128>
    %a = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
    %b = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
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
  %b0 = arith.constant 0 : i32
  %b1 = arith.constant 1 : i32
  %b2 = arith.constant 2 : i32
  pipe.roles [#all] {
    %rows = attn.row_map request %b0 head %b0 row0 %b0 rows %b1 q_begin %b0 q_len %b1 kv_len %b1 pack 1 : !attn.rows<128>
    %a = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
    scf.for %i = %b0 to %b1 step %b1 : i32 {
    } {pipe.visits = "ascending"}
    // expected-error @+1 {{uses the query tile outside the visits of an item}}
    %s = attn.qk %a, %a : !Qt, !Qt -> !attn.tile<128x128xf32>
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
  %b0 = arith.constant 0 : i32
  %b1 = arith.constant 1 : i32
  %b2 = arith.constant 2 : i32
  pipe.roles [#all] {
    %rows = attn.row_map request %b0 head %b0 row0 %b0 rows %b1 q_begin %b0 q_len %b1 kv_len %b1 pack 1 : !attn.rows<128>
    scf.for %i = %b0 to %b1 step %b1 : i32 {
      %t = attn.load_kv %k request %b0 kv_head %b0 kv_begin %b0 k0 %b0 kv1 %b1 : !K -> !KV
      // expected-error @+1 {{loads '!attn.tile<32x64xbf16>' but channel 'k' holds '!attn.tile<64x64xbf16>'}}
      %s = attn.load_kv %k request %b0 kv_head %b0 kv_begin %b0 k0 %b0 kv1 %b1 : !K -> !attn.tile<32x64xbf16>
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
  %b0 = arith.constant 0 : i32
  %b1 = arith.constant 1 : i32
  %b2 = arith.constant 2 : i32
  pipe.roles [#all] {
    %rows = attn.row_map request %b0 head %b0 row0 %b0 rows %b1 q_begin %b0 q_len %b1 kv_len %b1 pack 1 : !attn.rows<128>
    scf.for %i = %b0 to %b1 step %b1 : i32 {
    } {pipe.visits = "ascending"}
    // expected-error @+1 {{visits do not continue where the loop before them ends}}
    scf.for %i = %b0 to %b2 step %b1 : i32 {
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
  pipe = unit>
// expected-error @+1 {{pipe-insert-channels needs a #pipe.schedule but the schedule has pipe = unit}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.return
}
