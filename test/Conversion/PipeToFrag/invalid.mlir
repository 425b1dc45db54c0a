// RUN: attn-opt %s --pipe-to-frag --split-input-file --verify-diagnostics

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
// expected-error @+1 {{is not at level L2: it has no pipe.roles}}
attn.kernel @no_roles(%o: !O, %plan: !attn.plan) {
  attn.return
}

// -----

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
// expected-error @+1 {{has no #pipe.schedule}}
attn.kernel @no_schedule(%o: !O, %plan: !attn.plan) {
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
  }
  attn.return
}

// -----

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {qk = "wgmma"}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
// expected-error @+1 {{atom wgmma of qk is not built for level L3 (built: mma.m16n8k16, wgmma.m64n<N>k16)}}
attn.kernel @atom(%o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
  }
  attn.return
}

// -----

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @dynamic(%o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
    %none = arith.constant -1 : i32
    // expected-error @+1 {{takes items in dynamic order by 2 warps of role 'all' but it is built for 1 warp of several roles}}
    %w = pipe.next_work dynamic %plan after %none merges = false : !attn.plan
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!Kt = !attn.tile<16x64xbf16>
!Kc = !pipe.channel<!Kt, depth = 2>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @agent(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %kc = pipe.channel "k" from "all" to ["all"] : !Kc
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %ks = pipe.acquire %kc : !Kc -> !pipe.slot<!Kt>
    // expected-error @+1 {{agent tma is not built for level L3}}
    %f = pipe.issue tma {
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !pipe.slot<!Kt>, !K
    }
    pipe.commit %ks after %f : !pipe.slot<!Kt>
  }
  attn.return
}

// -----

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!Ot = !attn.tile<32x64xf32>
!R = !attn.rowvec<32xf32>
!rows = !attn.rows<32>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @output_hook(%o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.variant @v {
  }
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %rows = attn.row_map request %c0 head %c0 row0 %c0 rows %c0 q_begin %c0 q_len %c0 kv_len %c0 pack 2 : !rows
    %u:3 = attn.state_init : !Ot, !R, !R
    // expected-error @+1 {{kernel has no output hook}}
    %t = attn.transform_rows output %u#0, %rows : !Ot, !rows -> !Ot
  }
  attn.return
}

// -----

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
!Ot = !attn.tile<32x64xf32>
!R = !attn.rowvec<32xf32>
!rows = !attn.rows<32>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @query_tile(%o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %rows = attn.row_map request %c0 head %c0 row0 %c0 rows %c0 q_begin %c0 q_len %c0 kv_len %c0 pack 2 : !rows
    %u:3 = attn.state_init : !Ot, !R, !R
    // expected-error @+1 {{query of a tile outside of a slot is not built for level L3}}
    %t = attn.transform_rows query %u#0, %rows : !Ot, !rows -> !Ot
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!Kt = !attn.tile<16x64xbf16>
!Kc = !pipe.channel<!Kt, depth = 2>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @no_key_hook(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %kc = pipe.channel "k" from "all" to ["all"] : !Kc
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %kt, %ks = pipe.wait %kc : !Kc -> !Kt, !pipe.slot<!Kt>
    // expected-error @+1 {{kernel has no key hook}}
    attn.rewrite_kv key %ks request %c0 kv_head %c0 k0 %c0 kv1 %c0 q_len %c0 kv_len %c0 : !pipe.slot<!Kt>
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!Kt = !attn.tile<16x64xbf16>
!Kc = !pipe.channel<!Kt, depth = 2>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @acquired(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  attn.variant @v {
    attn.hook key(%x: vector<64xf32>, %b, %h, %p, %i) {
      %y = attn.element %x[%i] : vector<64xf32>
      attn.yield %y : f32
    }
  }
  %kc = pipe.channel "k" from "all" to ["all"] : !Kc
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %ks = pipe.acquire %kc : !Kc -> !pipe.slot<!Kt>
    // expected-error @+1 {{slot does not come from pipe.wait}}
    attn.rewrite_kv key %ks request %c0 kv_head %c0 k0 %c0 kv1 %c0 q_len %c0 kv_len %c0 : !pipe.slot<!Kt>
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!Kt = !attn.tile<16x64xbf16>
!Kc = !pipe.channel<!Kt, depth = 2>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @commit_of_a_wait(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %kc = pipe.channel "k" from "all" to ["all"] : !Kc
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %kt, %ks = pipe.wait %kc : !Kc -> !Kt, !pipe.slot<!Kt>
    // expected-error @+1 {{slot does not come from pipe.acquire}}
    pipe.commit %ks : !pipe.slot<!Kt>
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!Kt = !attn.tile<16x64xbf16>
!Kc = !pipe.channel<!Kt, depth = 2>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @release_of_an_acquire(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %kc = pipe.channel "k" from "all" to ["all"] : !Kc
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %ks = pipe.acquire %kc : !Kc -> !pipe.slot<!Kt>
    // expected-error @+1 {{slot does not come from pipe.wait}}
    pipe.release %ks : !pipe.slot<!Kt>
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!Kt = !attn.tile<16x64xbf16>
!Kc = !pipe.channel<!Kt, depth = 2>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @copy_into_a_wait(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %kc = pipe.channel "k" from "all" to ["all"] : !Kc
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %kt, %ks = pipe.wait %kc : !Kc -> !Kt, !pipe.slot<!Kt>
    %f = pipe.issue cp_async {
      // expected-error @+1 {{slot does not come from pipe.acquire}}
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !pipe.slot<!Kt>, !K
    }
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!Qt = !attn.tile<16x64xbf16>
!Qc = !pipe.channel<!Qt, depth = 1>
!rows = !attn.rows<16>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @query_into_a_wait(%q: !Q, %plan: !attn.plan) attributes {schedule = #sched} {
  %qc = pipe.channel "q" from "all" to ["all"] : !Qc
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %rows = attn.row_map request %c0 head %c0 row0 %c0 rows %c0 q_begin %c0 q_len %c0 kv_len %c0 pack 1 : !rows
    %qt, %qs = pipe.wait %qc : !Qc -> !Qt, !pipe.slot<!Qt>
    %f = pipe.issue cp_async {
      // expected-error @+1 {{slot does not come from pipe.acquire}}
      attn.copy_query %qs, %q, %rows : !pipe.slot<!Qt>, !Q, !rows
    }
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @other_region(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    // expected-error @+1 {{is not built for one role at level L3}}
    scf.execute_region {
      scf.yield
    }
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @number_channel(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  // expected-error @+1 {{payload 'f32' is not built for level L3 (known: tiles)}}
  %nc = pipe.channel "n" from "all" to ["all"] : !pipe.channel<f32, depth = 1>
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @issued(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %f = pipe.issue cp_async {
      // expected-error @+1 {{cannot be issued on agent cp_async}}
      %c0 = arith.constant 0 : i32
    }
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @no_sink(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %rows = attn.row_map request %c0 head %c0 row0 %c0 rows %c0 q_begin %c0 q_len %c0 kv_len %c0 pack 1 : !attn.rows<16>
    // expected-error @+1 {{kernel has no sink hook}}
    %z = attn.apply_sink %rows : !attn.rows<16> -> !attn.rowvec<16xf32>
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @beside(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  // expected-error @+1 {{an operation with regions beside pipe.roles is not built for level L3}}
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
  }
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @plan_chosen(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %yes = arith.constant true
    // expected-error @+1 {{value of type '!attn.plan' across control flow is not built for level L3}}
    %p = scf.if %yes -> !attn.plan {
      scf.yield %plan : !attn.plan
    } else {
      scf.yield %plan : !attn.plan
    }
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
// expected-error @+1 {{value of type '!attn.plan' across control flow is not built for level L3}}
attn.kernel @plan_carried(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %p = scf.for %i = %c0 to %c1 step %c1 iter_args(%h = %plan) -> (!attn.plan) : i32 {
      scf.yield %h : !attn.plan
    }
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @rows_chosen(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %yes = arith.constant true
    %a = attn.row_map request %c0 head %c0 row0 %c0 rows %c0 q_begin %c0 q_len %c0 kv_len %c0 pack 1 : !attn.rows<16>
    // expected-error @+1 {{row map of 2 packed heads meets one of 1}}
    %b = attn.row_map request %c0 head %c0 row0 %c0 rows %c0 q_begin %c0 q_len %c0 kv_len %c0 pack 2 : !attn.rows<16>
    %rows = scf.if %yes -> !attn.rows<16> {
      scf.yield %a : !attn.rows<16>
    } else {
      scf.yield %b : !attn.rows<16>
    }
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!Kt = !attn.tile<16x64xbf16>
!Kc = !pipe.channel<!Kt, depth = 2>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @key_in_registers(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %x = attn.state_init : !attn.tile<16x64xf32>
    %t = attn.pack %x : !attn.tile<16x64xf32> -> !Kt
    // expected-error @+1 {{needs Q in registers and K in a slot}}
    %s = attn.qk %t, %t : !Kt, !Kt -> !attn.tile<16x16xf32>
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!Kt = !attn.tile<16x64xbf16>
!Kc = !pipe.channel<!Kt, depth = 2>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @query_in_a_slot(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %kc = pipe.channel "k" from "all" to ["all"] : !Kc
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %t, %ks = pipe.wait %kc : !Kc -> !Kt, !pipe.slot<!Kt>
    // expected-error @+1 {{needs Q in registers and K in a slot}}
    %s = attn.qk %t, %t : !Kt, !Kt -> !attn.tile<16x16xf32>
    pipe.release %ks : !pipe.slot<!Kt>
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @value_in_registers(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    %x = attn.state_init : !attn.tile<16x64xf32>
    %s = attn.state_init : !attn.tile<16x16xf32>
    %t = attn.pack %x : !attn.tile<16x64xf32> -> !attn.tile<16x64xbf16>
    %p = attn.pack %s : !attn.tile<16x16xf32> -> !attn.tile<16x16xbf16>
    // expected-error @+1 {{needs V in a slot}}
    %o = attn.pv %p, %t, %x : !attn.tile<16x16xbf16>, !attn.tile<16x64xbf16>, !attn.tile<16x64xf32>
  }
  attn.return
}

// -----

!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 16, tile_k = 16, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @whole_state(%k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 1, replicas = 1, regs = 0>] {
    // expected-error @+1 {{has a state that is not expanded}}
    %u = attn.state_init : !attn.state<16x64, softmax>
  }
  attn.return
}
