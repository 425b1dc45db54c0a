// RUN: attn-opt %s --pipe-to-frag --split-input-file --verify-diagnostics
// What several roles, and the units that only they use, are refused for.

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @producer(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{producer 'fetch' is not a role}}
  %kc = pipe.channel "k" from "fetch" to ["compute"] : !C
  pipe.roles [#load, #compute] {
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @consumer(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{consumer 'math' is not a role}}
  %kc = pipe.channel "k" from "load" to ["math"] : !C
  pipe.roles [#load, #compute] {
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @copying_warps(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{is filled by 4 warps of role 'compute' but a copy is started by 1}}
  %kc = pipe.channel "k" from "compute" to ["load"] : !C
  pipe.roles [#load, #compute] {
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @payload(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{payload 'f32' is not built for level L3 (known: tiles, words)}}
  %kc = pipe.channel "k" from "load" to ["compute"] : !pipe.channel<f32, depth = 2>
  pipe.roles [#load, #compute] {
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @not_producer(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
  }, {
    // expected-error @+1 {{role 'compute' is no producer of channel 'k'}}
    %ks = pipe.acquire %kc : !C -> !slot
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @not_consumer(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
    // expected-error @+1 {{role 'load' is no consumer of channel 'k'}}
    %kt, %ks = pipe.wait %kc : !C -> !T, !slot
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @cp_async(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
    %ks = pipe.acquire %kc : !C -> !slot
    // expected-error @+1 {{agent cp_async is not built for level L3}}
    %f = pipe.issue cp_async {
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
    }
    pipe.commit %ks after %f : !slot
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @two_copies(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
    %ks = pipe.acquire %kc : !C -> !slot
    // expected-error @+1 {{of 2 operations on agent tma is not built for level L3 (built: 1)}}
    %f = pipe.issue tma {
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
    }
    pipe.commit %ks after %f : !slot
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @other_op(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
    %ks = pipe.acquire %kc : !C -> !slot
    %f = pipe.issue tma {
      // expected-error @+1 {{cannot be issued on agent tma}}
      attn.zero_rows %ks from %c0 : !slot
    }
    pipe.commit %ks after %f : !slot
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @futures(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
    %ks = pipe.acquire %kc : !C -> !slot
    %f = pipe.issue tma {
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
    }
    %g = pipe.issue tma {
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
    }
    // expected-error @+1 {{of 2 copies under way and 0 joined ones is not built for level L3 (built: 1 and 0, or 0 and any)}}
    pipe.commit %ks after %f, %g : !slot
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @joined_twice(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
    %ks = pipe.acquire %kc : !C -> !slot
    %f = pipe.issue tma {
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
    }
    // expected-error @+1 {{starts a second copy into channel 'k' before the first one is joined}}
    %g = pipe.issue tma {
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
    }
    %d = pipe.join %f : !pipe.future
    %e = pipe.join %g : !pipe.future
    pipe.commit %ks done %d, %e : !slot
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @joined_elsewhere(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
    %yes = arith.constant true
    %ks = pipe.acquire %kc : !C -> !slot
    %f = pipe.issue tma {
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
    }
    scf.if %yes {
      // expected-error @+1 {{joins an operation that another block issued}}
      %d = pipe.join %f : !pipe.future
    }
    pipe.commit %ks : !slot
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @carried(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
    %c1 = arith.constant 1 : i32
    %ks = pipe.acquire %kc : !C -> !slot
    // expected-error @+1 {{future across control flow is not built for level L3}}
    %f = pipe.issue tma {
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
    }
    %g = scf.for %i = %c0 to %c1 step %c1 iter_args(%h = %f) -> (!pipe.future) : i32 {
      scf.yield %h : !pipe.future
    }
    %d = pipe.join %g : !pipe.future
    pipe.commit %ks done %d : !slot
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @zero_rows(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
  }, {
    %kt, %ks = pipe.wait %kc : !C -> !T, !slot
    // expected-error @+1 {{slot does not come from pipe.acquire}}
    attn.zero_rows %ks from %c0 : !slot
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @commit(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
  }, {
    %kt, %ks = pipe.wait %kc : !C -> !T, !slot
    // expected-error @+1 {{slot does not come from pipe.acquire}}
    pipe.commit %ks : !slot
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @release(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
    %ks = pipe.acquire %kc : !C -> !slot
    // expected-error @+1 {{slot does not come from pipe.wait}}
    pipe.release %ks : !slot
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @copy(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
  }, {
    %kt, %ks = pipe.wait %kc : !C -> !T, !slot
    %f = pipe.issue tma {
      // expected-error @+1 {{slot does not come from pipe.acquire}}
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
    }
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "mma.m16n8k16", pv = "mma.m16n8k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @synchronous_atom(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
  }, {
    %qt, %qs = pipe.wait %kc : !C -> !T, !slot
    %kt, %ks = pipe.wait %kc : !C -> !T, !slot
    %f = pipe.issue mma {
      // expected-error @+1 {{is started before it is waited for but its atom 'mma.m16n8k16' is synchronous}}
      %s = attn.qk %qt, %kt : !T, !T -> !S
      pipe.yield %s : !S
    }
    %s, %d = pipe.join %f : !pipe.future<!S>
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @no_slot(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
  }, {
    %u = attn.state_init : !S
    %p = attn.pack %u : !S -> !T
    %kt, %ks = pipe.wait %kc : !C -> !T, !slot
    // expected-error @+1 {{needs Q in a slot and K in a slot}}
    %s = attn.qk %kt, %p : !T, !T -> !S
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @issued_pack(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
  }, {
    %u = attn.state_init : !S
    %f = pipe.issue mma {
      // expected-error @+1 {{cannot be issued on agent mma}}
      %p = attn.pack %u : !S -> !T
      pipe.yield %p : !T
    }
    %t, %d = pipe.join %f : !pipe.future<!T>
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @part_of_registers(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
  }, {
    %u = attn.state_init : !S
    %p = attn.pack %u : !S -> !T
    // expected-error @+1 {{needs a tile in a slot, as operand of wgmma}}
    %h = attn.slice_tile %p[%c0] of 2 : !T -> !attn.tile<32x64xbf16>
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @part_of_rows(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["compute"] : !C
  pipe.roles [#load, #compute] {
  }, {
    %yes = arith.constant true
    %rows = attn.row_map request %c0 head %c0 row0 %c0 rows %c0 q_begin %c0 q_len %c0 kv_len %c0 pack 1 : !rows
    // expected-error @+1 {{part of a row map across control flow is not built for level L3}}
    %part = attn.slice_rows %rows[%c0] of 2 : !rows -> !attn.rows<32>
    %r = scf.if %yes -> (!attn.rows<32>) {
      scf.yield %part : !attn.rows<32>
    } else {
      scf.yield %part : !attn.rows<32>
    }
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @merges(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  pipe.roles [#load, #compute] {
    // expected-error @+1 {{dynamic order of merges is not built for level L3}}
    %w = pipe.next_work dynamic %plan after %c0 merges = true : !attn.plan
  }, {
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @queue(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  pipe.roles [#load, #compute] {
  }, {
    // expected-error @+1 {{takes items in dynamic order by 4 warps of role 'compute' but it is built for 1 warp of several roles}}
    %w = pipe.next_work dynamic %plan after %c0 merges = false : !attn.plan
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @vote(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  pipe.roles [#load, #pipe.role<"pair", warps = 2, replicas = 1, regs = 0>] {
  }, {
    %yes = arith.constant true
    %c = arith.constant 1.0 : f32
    %rows = attn.row_map request %c0 head %c0 row0 %c0 rows %c0 q_begin %c0 q_len %c0 kv_len %c0 pack 1 : !attn.rows<32>
    %u:3 = attn.state_init : !attn.tile<32x64xf32>, !attn.rowvec<32xf32>, !attn.rowvec<32xf32>
    // expected-error @+1 {{asks the 2 warps of role 'pair' but a vote is built for 4}}
    %e = attn.exact_prefix %u#1, %rows, %c, %c0, %c0, %yes : !attn.rowvec<32xf32>, !attn.rows<32>
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @only_role(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "compute" to ["compute"] : !C
  // expected-error @+1 {{role 'compute' multiplies by wgmma but is the only one, which is not built for level L3}}
  pipe.roles [#compute] {
    %qt, %qs = pipe.wait %kc : !C -> !T, !slot
    %kt, %ks = pipe.wait %kc : !C -> !T, !slot
    %s = attn.qk %qt, %kt : !T, !T -> !S
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!T = !attn.tile<64x64xbf16>
!S = !attn.tile<64x64xf32>
!C = !pipe.channel<!T, depth = 2>
!slot = !pipe.slot<!T>
!rows = !attn.rows<64>
#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 0>
#compute = #pipe.role<"compute", warps = 4, replicas = 1, regs = 0>
#sched = #attn.schedule<tile_q = 64, tile_k = 64, pack = 1, kv_order = ascending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"load", warps = 1, replicas = 1, regs = 0>], place = {default = "load"}, agents = {}, atoms = {qk = "wgmma.m64n64k16", pv = "wgmma.m64n64k16"}, channels = {}, skew = {}, handover = "none", persist = "dynamic", unroll = 1>>
attn.kernel @alone_join(%q: !Q, %k: !K, %plan: !attn.plan) attributes {schedule = #sched} {
  %c0 = arith.constant 0 : i32
  %kc = pipe.channel "k" from "load" to ["load"] : !C
  pipe.roles [#load] {
    %ks = pipe.acquire %kc : !C -> !slot
    %f = pipe.issue cp_async {
      attn.copy_kv %ks, %k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c0 : !slot, !K
    }
    // expected-error @+1 {{is not built for one role at level L3}}
    %d = pipe.join %f : !pipe.future
    pipe.commit %ks done %d : !slot
  }
  attn.return
}

// -----

#sched = #attn.schedule<tile_q = 128, tile_k = 16, pack = 1, kv_order = ascending, softmax = frozen, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "direct",
  pipe = #pipe.schedule<roles = [#pipe.role<"all", warps = 4, replicas = 8, regs = 0>], place = {default = "all"}, agents = {}, atoms = {}, channels = {}, skew = {}, handover = "ring", persist = "static", unroll = 1>>
attn.kernel @named_barriers(%plan: !attn.plan) attributes {schedule = #sched} {
  pipe.roles [#pipe.role<"all", warps = 4, replicas = 8, regs = 0>] (%rank) {
    %c0 = arith.constant 0 : i32
    %yes = arith.constant true
    %c = arith.constant 1.0 : f32
    pipe.take_turn
    pipe.pass_turn
    %rows = attn.row_map request %c0 head %c0 row0 %c0 rows %c0 q_begin %c0 q_len %c0 kv_len %c0 pack 1 : !attn.rows<64>
    %u:3 = attn.state_init : !attn.tile<64x64xf32>, !attn.rowvec<64xf32>, !attn.rowvec<64xf32>
    // expected-error @+1 {{needs named barrier 16 but the last one is 15}}
    %e = attn.exact_prefix %u#1, %rows, %c, %c0, %c0, %yes : !attn.rowvec<64xf32>, !attn.rows<64>
  }
  attn.return
}
