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
// expected-error @+1 {{atom wgmma of qk is not built for level L3 (built: mma.m16n8k16)}}
attn.kernel @atom(%o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
  }
  attn.return
}

// -----

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"a", warps = 2, replicas = 1, regs = 0>, #pipe.role<"b", warps = 2, replicas = 1, regs = 0>], place = {default = "a"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @two_roles(%o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  // expected-error @+1 {{has 2 roles but level L3 is built for 1}}
  pipe.roles [#pipe.role<"a", warps = 2, replicas = 1, regs = 0>, #pipe.role<"b", warps = 2, replicas = 1, regs = 0>] {
  }, {
  }
  attn.return
}

// -----

!O = !attn.tensor<output, bf16, heads = 4, dim = 64, ragged>
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 2, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @replicas(%o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  // expected-error @+1 {{role 'all' has 2 replicas but level L3 is built for 1}}
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 2, regs = 0>] (%rank) {
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
    // expected-error @+1 {{order = dynamic is not built for level L3}}
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
#sched = #attn.schedule<tile_q = 32, tile_k = 16, pack = 2, kv_order = ascending, softmax = frozen, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>>
attn.kernel @frozen(%o: !O, %plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
    %c = arith.constant 1.0 : f32
    %u:3 = attn.state_init : !Ot, !R, !R
    // expected-error @+1 {{softmax = frozen is not built for level L3}}
    %p = attn.exp frozen %u#0, %u#1, %c : !Ot, !R
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
    attn.hook output(%x: vector<64xf32>, %b, %h, %p, %i) {
      %y = attn.element %x[%i] : vector<64xf32>
      attn.yield %y : f32
    }
  }
  pipe.roles [#pipe.role<"all", warps = 2, replicas = 1, regs = 0>] {
    %c0 = arith.constant 0 : i32
    %rows = attn.row_map request %c0 head %c0 row0 %c0 rows %c0 q_begin %c0 q_len %c0 kv_len %c0 pack 2 : !rows
    %u:3 = attn.state_init : !Ot, !R, !R
    // expected-error @+1 {{is not built for level L3}}
    %t = attn.transform_rows output %u#0, %rows : !Ot, !rows -> !Ot
  }
  attn.return
}
