// RUN: attn-opt %s --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles))' -split-input-file -verify-diagnostics

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
// expected-error @+1 {{pipe-assign-roles needs a #pipe.schedule but the schedule has pipe = unit}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
    %u = attn.state_init : !S
    %r1 = attn.for_kv partial exact descending tile_k 64 from %b1 to %b2 base %kv0 (%j, %k0) carry (%O = %u : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %p = attn.apply_mask zero %s, %rows, %k0, %kv1 : !S, !attn.rows<128>
      %pb = attn.pack %p : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    %r2 = attn.for_kv full exact descending tile_k 64 from %b0 to %b1 base %kv0 (%j, %k0) carry (%O = %r1 : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %pb = attn.pack %s : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    attn.store %r2, %rows to %o : !S, !attn.rows<128> to !O
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
  pipe = #pipe.schedule<roles = [#all, #pipe.role<"b", warps = 1, replicas = 1, regs = 0>], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "static", unroll = 1>>
// expected-error @+1 {{load_query and load_kv are placed in roles 'all' and 'all' but must share one beside 'all'}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
    %u = attn.state_init : !S
    %r1 = attn.for_kv partial exact descending tile_k 64 from %b1 to %b2 base %kv0 (%j, %k0) carry (%O = %u : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %p = attn.apply_mask zero %s, %rows, %k0, %kv1 : !S, !attn.rows<128>
      %pb = attn.pack %p : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    %r2 = attn.for_kv full exact descending tile_k 64 from %b0 to %b1 base %kv0 (%j, %k0) carry (%O = %r1 : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %pb = attn.pack %s : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    attn.store %r2, %rows to %o : !S, !attn.rows<128> to !O
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
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 4, replicas = 2, regs = 0>], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "static", unroll = 1>>
// expected-error @+1 {{a kernel of one role has 1 replica but role "all" has 2}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
    %u = attn.state_init : !S
    %r1 = attn.for_kv partial exact descending tile_k 64 from %b1 to %b2 base %kv0 (%j, %k0) carry (%O = %u : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %p = attn.apply_mask zero %s, %rows, %k0, %kv1 : !S, !attn.rows<128>
      %pb = attn.pack %p : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    %r2 = attn.for_kv full exact descending tile_k 64 from %b0 to %b1 base %kv0 (%j, %k0) carry (%O = %r1 : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %pb = attn.pack %s : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    attn.store %r2, %rows to %o : !S, !attn.rows<128> to !O
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
  pipe = #pipe.schedule<roles = [#all], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "dynamic", unroll = 1>>
// expected-error @+1 {{persist = "dynamic" needs 2 roles but the schedule has 1}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
    %u = attn.state_init : !S
    %r1 = attn.for_kv partial exact descending tile_k 64 from %b1 to %b2 base %kv0 (%j, %k0) carry (%O = %u : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %p = attn.apply_mask zero %s, %rows, %k0, %kv1 : !S, !attn.rows<128>
      %pb = attn.pack %p : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    %r2 = attn.for_kv full exact descending tile_k 64 from %b0 to %b1 base %kv0 (%j, %k0) carry (%O = %r1 : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %pb = attn.pack %s : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    attn.store %r2, %rows to %o : !S, !attn.rows<128> to !O
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
  pipe = #pipe.schedule<roles = [#all], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "ring", persist = "static", unroll = 1>>
// expected-error @+1 {{handover = "ring" needs 2 roles but the schedule has 1}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
    %u = attn.state_init : !S
    %r1 = attn.for_kv partial exact descending tile_k 64 from %b1 to %b2 base %kv0 (%j, %k0) carry (%O = %u : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %p = attn.apply_mask zero %s, %rows, %k0, %kv1 : !S, !attn.rows<128>
      %pb = attn.pack %p : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    %r2 = attn.for_kv full exact descending tile_k 64 from %b0 to %b1 base %kv0 (%j, %k0) carry (%O = %r1 : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %pb = attn.pack %s : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    attn.store %r2, %rows to %o : !S, !attn.rows<128> to !O
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
  pipe = #pipe.schedule<roles = [#all], place = {}, agents = {load_kv = "cp_async", load_query = "cp_async"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32}, skew = {load_kv = -1 : i32}, handover = "none", persist = "static", unroll = 2>>
// expected-error @+1 {{unroll = 2 is not built; use 1}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
    %u = attn.state_init : !S
    %r1 = attn.for_kv partial exact descending tile_k 64 from %b1 to %b2 base %kv0 (%j, %k0) carry (%O = %u : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %p = attn.apply_mask zero %s, %rows, %k0, %kv1 : !S, !attn.rows<128>
      %pb = attn.pack %p : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    %r2 = attn.for_kv full exact descending tile_k 64 from %b0 to %b1 base %kv0 (%j, %k0) carry (%O = %r1 : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %pb = attn.pack %s : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    attn.store %r2, %rows to %o : !S, !attn.rows<128> to !O
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
// expected-error @+1 {{pipe-assign-roles needs one work loop but the kernel has 0}}
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
// expected-error @+1 {{pipe-assign-roles needs a schedule}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 3 : i32
    %qt = attn.load_query %q, %rows : !Q, !attn.rows<128> -> !Qt
    %u = attn.state_init : !S
    %r1 = attn.for_kv partial exact descending tile_k 64 from %b1 to %b2 base %kv0 (%j, %k0) carry (%O = %u : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %p = attn.apply_mask zero %s, %rows, %k0, %kv1 : !S, !attn.rows<128>
      %pb = attn.pack %p : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    %r2 = attn.for_kv full exact descending tile_k 64 from %b0 to %b1 base %kv0 (%j, %k0) carry (%O = %r1 : !S) {
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !K -> !KV
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kb k0 %k0 kv1 %kv1 : !V -> !KV
      %s = attn.qk %qt, %kt : !Qt, !KV -> !S
      %pb = attn.pack %s : !S -> !P
      %O1 = attn.pv %pb, %vt, %O : !P, !KV, !S
      attn.yield %O1 : !S
    }
    attn.store %r2, %rows to %o : !S, !attn.rows<128> to !O
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
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 3 : i32
    // expected-error @+1 {{is in the way of pipe-assign-roles: run attn-expand-softmax first}}
    %u = attn.state_init : !attn.state<128x64, softmax>
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
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.constant 3 : i32
    // expected-error @+1 {{is in the way of pipe-assign-roles: run attn-expand-segments first}}
    %s:2 = attn.segments %rows, %kv0, %kv1 map #attn.block_map<opaque, classes = [partial]> tile_k 64 : !attn.rows<128> -> i32, i32
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
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>, #pipe.role<"third", warps = 1, replicas = 1, regs = 24>], place = {default = "compute", load_kv = "load", load_query = "load"}, agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {pv = 1 : i32}, handover = "none", persist = "dynamic", unroll = 1>>
// expected-error @+1 {{pipe-assign-roles builds 1 or 2 roles but the schedule has 3}}
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
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 2, regs = 24>, #pipe.role<"compute", warps = 4, replicas = 2, regs = 240>], place = {default = "compute", load_kv = "load", load_query = "load"}, agents = {load_kv = "tma", load_query = "tma", pv = "mma", qk = "mma"}, atoms = {}, channels = {k = 2 : i32, q = 1 : i32, v = 2 : i32, verdict = 3 : i32, work = 2 : i32}, skew = {pv = 1 : i32}, handover = "none", persist = "dynamic", unroll = 1>>
// expected-error @+1 {{role 'load' of the copies has 2 replicas but 1 is built}}
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
attn.kernel @k_merge(%o: !O, %plan: !attn.plan) attributes {schedule = #sched, merge_of = @k} {
  // expected-error @+1 {{pipe-assign-roles needs 1 row map and a partial in a merge but finds 1 and 0}}
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<128>
  }
  attn.return
}
