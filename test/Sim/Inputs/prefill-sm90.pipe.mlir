// Causal prefill for SM90 at level L2: one load warp, two replicas of a compute
// warpgroup; tile 128 x 128, head dim 128, four query heads packed, dynamic work.
//
// Skew {pv = 1}: a visit issues QK(this) and PV(the one before) and does its
// softmax under both.  In the order of one compute replica:
//   K(F) | K V(F) | K V | ... | V(last)
// and load commits in the same order, so no cycle of full channels exists.
// n = 0 visits: neither side touches q, k, v.  n = 1: K(F), V(F), no loop runs.
// n > 1: n - 1 turns, shared out over the masked, the exact and the frozen loop.
//
// Words: an item's number, | 2^30 for a redo with the exact loop, -1 for no item,
// -2 for the end.  A verdict on a word is read three turns later.

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
#pipe = #pipe.schedule<roles = [#load, #compute],
  place = {copy_query = "load", copy_kv = "load", zero_rows = "load", next_work = "load", load_item = "load", default = "compute"},
  agents = {copy_query = "tma", copy_kv = "tma", qk = "mma", pv = "mma"},
  atoms = {qk = "wgmma.m64n128k16", pv = "wgmma.m64n128k16"},
  channels = {q = 2 : i32, k = 2 : i32, v = 2 : i32, work = 2 : i32, verdict = 3 : i32},
  skew = {pv = 1 : i32}, handover = "none", persist = "dynamic", unroll = 1>
#schedule = #attn.schedule<tile_q = 128, tile_k = 128, pack = 4, kv_order = descending, softmax = frozen, limit = 64,
  fold_scale = true, p_type = bf16, v_tail = "zero_rows", merge = "kernel", epilogue = "quad_transpose", pipe = #pipe>
#map = #attn.block_map<closed, classes = [full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>]>

!Q = !attn.tensor<query, bf16, heads = 8, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 8, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 8, dim = 1, ragged>
!Qt = !attn.tile<128x128xbf16>
!Qh = !attn.tile<64x128xbf16>
!KV = !attn.tile<128x128xbf16>
!S = !attn.tile<64x128xf32>
!P = !attn.tile<64x128xbf16>
!Ot = !attn.tile<64x128xf32>
!R = !attn.rowvec<64xf32>
!rowsT = !attn.rows<128>
!rows = !attn.rows<64>
!Qch = !pipe.channel<!attn.tile<128x128xbf16>, depth = 2>
!Kch = !pipe.channel<!attn.tile<128x128xbf16>, depth = 2>
!Wch = !pipe.channel<!pipe.words<14>, depth = 2>
!Xch = !pipe.channel<!pipe.words<1>, depth = 3, lanes = 2>
!slot = !pipe.slot<!attn.tile<128x128xbf16>>
!FS = !pipe.future<!attn.tile<64x128xf32>>

module {
  attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan)
      attributes {block_map = #map, schedule = #schedule, target = "sm_90a"} {
    attn.variant @causal {
      attn.hook mask(%b, %h, %qp, %kp) {
        %visible = arith.cmpi sge, %qp, %kp : i32
        attn.yield %visible : i1
      }
    }
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c127 = arith.constant 127 : i32
    %c128 = arith.constant 128 : i32
    %none = arith.constant -1 : i32
    %END = arith.constant -2 : i32
    %EXACT = arith.constant 1073741824 : i32
    %log2e = arith.constant 1.44269502 : f32
    %c = arith.mulf %scale, %log2e : f32
    %qch = pipe.channel "q" from "load" to ["compute"] : !Qch
    %kch = pipe.channel "k" from "load" to ["compute"] : !Kch
    %vch = pipe.channel "v" from "load" to ["compute"] : !Kch
    %wch = pipe.channel "work" from "load" to ["compute"] : !Wch
    %xch = pipe.channel "verdict" from "compute" to ["load"] initial 3 : !Xch
    pipe.roles [#load, #compute] {
      // ---------------------------------------------------------------- load
      %n0 = pipe.next_work dynamic %plan after %none merges = false : !attn.plan
      %f:8 = attn.load_item %plan[%n0] : i32, i32, i32, i32, i32, i32, i32, i32
      %fq_begin, %fq_len, %fkv_begin, %fkv_len = attn.request %plan[%f#0]
      // w3, w2, w1: the words sent three, two and one turns ago; nx: the next item
      // and its record, fetched one turn early, behind the first copies.
      %z:24 = scf.while (%w3 = %none, %w2 = %none, %w1 = %none, %nx = %n0, %nxreq = %f#0, %nxkvh = %f#1, %nxrow0 = %f#2, %nxnrows = %f#3, %nxkv0 = %f#4, %nxkv1 = %f#5, %nxslot = %f#6, %nxq_begin = %fq_begin, %nxq_len = %fq_len, %nxkv_begin = %fkv_begin, %nxkv_len = %fkv_len) : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i1, i32, i32, i32, i32, i32, i32, i32, !rowsT) {
        %x:2 = pipe.recv %xch : !Xch                     // on w3, a word a replica
        %x01 = arith.ori %x#0, %x#1 : i32
        %bad = arith.cmpi ne, %x01, %c0 : i32
        %redo = arith.ori %w3, %EXACT : i32
        %nw = arith.select %bad, %redo, %nx : i32
        // The end: nothing to hand out, and the words not judged yet (w2, w1) are
        // no items.
        %none_left = arith.cmpi slt, %nw, %c0 : i32
        %open = arith.andi %w2, %w1 : i32
        %closed = arith.cmpi slt, %open, %c0 : i32
        %last = arith.andi %none_left, %closed : i1
        %word = arith.select %last, %END, %nw : i32
        %more = arith.cmpi sge, %nx, %c0 : i32
        %taken = arith.cmpi eq, %nw, %nx : i32
        %fetches = arith.andi %more, %taken : i1
        // The record of the item that is handed out.
        %i:11 = scf.if %bad -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) {
          %r:8 = attn.load_item %plan[%redo] : i32, i32, i32, i32, i32, i32, i32, i32
          %rq_begin, %rq_len, %rkv_begin, %rkv_len = attn.request %plan[%r#0]
          scf.yield %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6, %rq_begin, %rq_len, %rkv_begin, %rkv_len : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
        } else {
          scf.yield %nxreq, %nxkvh, %nxrow0, %nxnrows, %nxkv0, %nxkv1, %nxslot, %nxq_begin, %nxq_len, %nxkv_begin, %nxkv_len : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
        }
        %rt = attn.row_map request %i#0 head %i#1 row0 %i#2 rows %i#3 q_begin %i#7 q_len %i#8 kv_len %i#10 pack 4 : !rowsT
        // Closed form of the causal map: b0 = 0, b1 full blocks, b2 visible ones.
        %shift = arith.subi %i#10, %i#8 : i32
        %t0 = arith.shrsi %i#2, %c2 : i32
        %lo = arith.addi %t0, %shift : i32
        %rend = arith.addi %i#2, %i#3 : i32
        %rlast = arith.subi %rend, %c1 : i32
        %t1 = arith.shrsi %rlast, %c2 : i32
        %hi = arith.addi %t1, %shift : i32
        %keys0 = arith.subi %i#5, %i#4 : i32
        %keys1 = arith.maxsi %keys0, %c0 : i32
        %live = arith.cmpi sgt, %i#3, %c0 : i32
        %keys = arith.select %live, %keys1, %c0 : i32
        %any0 = arith.subi %hi, %i#4 : i32
        %any1 = arith.addi %any0, %c1 : i32
        %any2 = arith.maxsi %any1, %c0 : i32
        %any3 = arith.minsi %any2, %keys : i32
        %any4 = arith.addi %any3, %c127 : i32
        %b2 = arith.divui %any4, %c128 : i32
        %all0 = arith.subi %lo, %i#4 : i32
        %all1 = arith.addi %all0, %c1 : i32
        %all2 = arith.maxsi %all1, %c0 : i32
        %all3 = arith.minsi %all2, %keys : i32
        %b1 = arith.divui %all3, %c128 : i32
        pipe.send %wch(%word, %i#0, %i#1, %i#2, %i#3, %i#4, %i#5, %i#6, %i#7, %i#8, %i#10, %c0, %b1, %b2) : !Wch
        %go = arith.cmpi ne, %word, %END : i32
        scf.condition(%go) %w2, %w1, %word, %nx, %nxreq, %nxkvh, %nxrow0, %nxnrows, %nxkv0, %nxkv1, %nxslot, %nxq_begin, %nxq_len, %nxkv_begin, %nxkv_len, %fetches, %i#0, %i#1, %i#9, %i#4, %i#5, %c0, %b2, %rt : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i1, i32, i32, i32, i32, i32, i32, i32, !rowsT
      } do {
      ^bb0(%w2: i32, %w1: i32, %word: i32, %nx: i32, %nxreq: i32, %nxkvh: i32, %nxrow0: i32, %nxnrows: i32, %nxkv0: i32, %nxkv1: i32, %nxslot: i32, %nxq_begin: i32, %nxq_len: i32, %nxkv_begin: i32, %nxkv_len: i32, %fetches: i1, %req: i32, %kvh: i32, %kv_begin: i32, %kv0: i32, %kv1: i32, %b0: i32, %b2: i32, %rt: !rowsT):
        %n = arith.subi %b2, %b0 : i32
        %some = arith.cmpi sgt, %n, %c0 : i32
        %nn:12 = scf.if %some -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) {
          %qs = pipe.acquire %qch : !Qch -> !slot
          %fq = pipe.issue tma {
            attn.copy_query %qs, %q, %rt : !slot, !Q, !rowsT
          }
          pipe.commit %qs after %fq : !slot
          %jF = arith.subi %b2, %c1 : i32
          %oF = arith.muli %jF, %c128 : i32
          %k0 = arith.addi %kv0, %oF : i32
          %ks = pipe.acquire %kch : !Kch -> !slot
          %fk = pipe.issue tma {
            attn.copy_kv %ks, %k request %req kv_head %kvh kv_begin %kv_begin k0 %k0 kv1 %kv1 : !slot, !K
          }
          pipe.commit %ks after %fk : !slot
          // Nobody waits for the other copies yet: the next item.
          %na:12 = scf.if %fetches -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) {
            %y = pipe.next_work dynamic %plan after %nx merges = false : !attn.plan
            %y1:8 = attn.load_item %plan[%y] : i32, i32, i32, i32, i32, i32, i32, i32
            %y1q_begin, %y1q_len, %y1kv_begin, %y1kv_len = attn.request %plan[%y1#0]
            scf.yield %y, %y1#0, %y1#1, %y1#2, %y1#3, %y1#4, %y1#5, %y1#6, %y1q_begin, %y1q_len, %y1kv_begin, %y1kv_len : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
          } else {
            scf.yield %nx, %nxreq, %nxkvh, %nxrow0, %nxnrows, %nxkv0, %nxkv1, %nxslot, %nxq_begin, %nxq_len, %nxkv_begin, %nxkv_len : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
          }
          %two = arith.cmpi sgt, %n, %c1 : i32
          scf.if %two {                                // K(F-1) before V(F), which may have to be joined
            %k0b = arith.subi %k0, %c128 : i32
            %ksb = pipe.acquire %kch : !Kch -> !slot
            %fkb = pipe.issue tma {
              attn.copy_kv %ksb, %k request %req kv_head %kvh kv_begin %kv_begin k0 %k0b kv1 %kv1 : !slot, !K
            }
            pipe.commit %ksb after %fkb : !slot
          }
          %valid = arith.subi %kv1, %k0 : i32
          %ragged = arith.cmpi slt, %valid, %c128 : i32
          scf.if %ragged {                             // rows past the slice may hold NaN, and 0 * NaN is NaN
            %vs = pipe.acquire %vch : !Kch -> !slot
            %fv = pipe.issue tma {
              attn.copy_kv %vs, %v request %req kv_head %kvh kv_begin %kv_begin k0 %k0 kv1 %kv1 : !slot, !V
            }
            %dv = pipe.join %fv : !pipe.future
            attn.zero_rows %vs from %valid : !slot
            pipe.commit %vs done %dv : !slot
          } else {
            %vs = pipe.acquire %vch : !Kch -> !slot
            %fv = pipe.issue tma {
              attn.copy_kv %vs, %v request %req kv_head %kvh kv_begin %kv_begin k0 %k0 kv1 %kv1 : !slot, !V
            }
            pipe.commit %vs after %fv : !slot
          }
          scf.for %t = %c2 to %n step %c1 : i32 {
            %back = arith.muli %t, %c128 : i32
            %k0c = arith.subi %k0, %back : i32
            %ksc = pipe.acquire %kch : !Kch -> !slot
            %fkc = pipe.issue tma {
              attn.copy_kv %ksc, %k request %req kv_head %kvh kv_begin %kv_begin k0 %k0c kv1 %kv1 : !slot, !K
            }
            pipe.commit %ksc after %fkc : !slot
            %v0c = arith.addi %k0c, %c128 : i32
            %vsc = pipe.acquire %vch : !Kch -> !slot
            %fvc = pipe.issue tma {
              attn.copy_kv %vsc, %v request %req kv_head %kvh kv_begin %kv_begin k0 %v0c kv1 %kv1 : !slot, !V
            }
            pipe.commit %vsc after %fvc : !slot
          }
          scf.if %two {
            %od = arith.muli %b0, %c128 : i32
            %v0d = arith.addi %kv0, %od : i32
            %vsd = pipe.acquire %vch : !Kch -> !slot
            %fvd = pipe.issue tma {
              attn.copy_kv %vsd, %v request %req kv_head %kvh kv_begin %kv_begin k0 %v0d kv1 %kv1 : !slot, !V
            }
            pipe.commit %vsd after %fvd : !slot
          }
          scf.yield %na#0, %na#1, %na#2, %na#3, %na#4, %na#5, %na#6, %na#7, %na#8, %na#9, %na#10, %na#11 : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
        } else {
          %nb:12 = scf.if %fetches -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) {
            %y = pipe.next_work dynamic %plan after %nx merges = false : !attn.plan
            %y1:8 = attn.load_item %plan[%y] : i32, i32, i32, i32, i32, i32, i32, i32
            %y1q_begin, %y1q_len, %y1kv_begin, %y1kv_len = attn.request %plan[%y1#0]
            scf.yield %y, %y1#0, %y1#1, %y1#2, %y1#3, %y1#4, %y1#5, %y1#6, %y1q_begin, %y1q_len, %y1kv_begin, %y1kv_len : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
          } else {
            scf.yield %nx, %nxreq, %nxkvh, %nxrow0, %nxnrows, %nxkv0, %nxkv1, %nxslot, %nxq_begin, %nxq_len, %nxkv_begin, %nxkv_len : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
          }
          scf.yield %nb#0, %nb#1, %nb#2, %nb#3, %nb#4, %nb#5, %nb#6, %nb#7, %nb#8, %nb#9, %nb#10, %nb#11 : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
        }
        scf.yield %w2, %w1, %word, %nn#0, %nn#1, %nn#2, %nn#3, %nn#4, %nn#5, %nn#6, %nn#7, %nn#8, %nn#9, %nn#10, %nn#11 : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
      }
    }, (%rank) {
      // ------------------------------------------------------------- compute
      %w:14 = pipe.recv %wch : !Wch
      %z:14 = scf.while (%a0 = %w#0, %a1 = %w#1, %a2 = %w#2, %a3 = %w#3, %a4 = %w#4, %a5 = %w#5, %a6 = %w#6, %a7 = %w#7, %a8 = %w#8, %a9 = %w#9, %a10 = %w#10, %a11 = %w#11, %a12 = %w#12, %a13 = %w#13) : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) {
        %go = arith.cmpi ne, %a0, %END : i32
        scf.condition(%go) %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13 : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
      } do {
      ^bb0(%word: i32, %req: i32, %kvh: i32, %row0: i32, %nrows: i32, %kv0: i32, %kv1: i32, %slot: i32, %q_begin: i32, %q_len: i32, %kv_len: i32, %b0: i32, %b1: i32, %b2: i32):
        %rt = attn.row_map request %req head %kvh row0 %row0 rows %nrows q_begin %q_begin q_len %q_len kv_len %kv_len pack 4 : !rowsT
        %rows = attn.slice_rows %rt[%rank] of 2 : !rowsT -> !rows
        %xbit = arith.andi %word, %EXACT : i32
        %isx = arith.cmpi ne, %xbit, %c0 : i32
        %real = arith.cmpi sge, %word, %c0 : i32         // -1 has bit 30 set too
        %exact = arith.andi %isx, %real : i1
        %u:3 = attn.state_init : !Ot, !R, !R
        %some = arith.cmpi sgt, %b2, %b0 : i32
        %st:3 = scf.if %some -> (!Ot, !R, !R) {
          %qT, %qs = pipe.wait %qch : !Qch -> !Qt, !slot
          %qt = attn.slice_tile %qT[%rank] of 2 : !Qt -> !Qh
          // The first visit: exact, masked if its block is partial; it has no PV
          // to run beside.
          %jF = arith.subi %b2, %c1 : i32
          %oF = arith.muli %jF, %c128 : i32
          %kF0 = arith.addi %kv0, %oF : i32
          %ktF, %ksF = pipe.wait %kch : !Kch -> !KV, !slot
          %fF = pipe.issue mma {
            %s = attn.qk %qt, %ktF : !Qh, !KV -> !S
            pipe.yield %s : !S
          }
          %sF, %dF = pipe.join %fF : !FS
          pipe.release %ksF done %dF : !slot
          %isp = arith.cmpi sge, %jF, %b1 : i32
          %sFm = scf.if %isp -> (!S) {
            %y = attn.apply_mask neg_inf %sF, %rows, %kF0, %kv1 : !S, !rows
            scf.yield %y : !S
          } else {
            scf.yield %sF : !S
          }
          %mF = attn.row_max %sFm, %u#1 : !S, !R
          %pF = attn.exp exact %sFm, %mF, %c : !S, !R
          %lF = attn.row_sum %pF, %u#2 : !S, !R
          %PF = attn.pack %pF : !S -> !P
          // Descending: [b1, jF) partial, then [b0, min(b1, jF)) full = exact
          // prefix and frozen rest.
          %d1 = arith.subi %jF, %b1 : i32
          %n1 = arith.maxsi %d1, %c0 : i32
          %h2 = arith.minsi %b1, %jF : i32
          // Masked loop.
          %r1:5 = scf.for %t = %c0 to %n1 step %c1 iter_args(%m = %mF, %l = %lF, %P = %PF, %O = %u#0, %qd = %dF) -> (!R, !R, !P, !Ot, !pipe.done) : i32 {
            %jt = arith.subi %jF, %t : i32
            %j = arith.subi %jt, %c1 : i32
            %x0 = arith.muli %j, %c128 : i32
            %k0 = arith.addi %kv0, %x0 : i32
            %kt, %ks = pipe.wait %kch : !Kch -> !KV, !slot
            %fs = pipe.issue mma {
              %s0 = attn.qk %qt, %kt : !Qh, !KV -> !S
              pipe.yield %s0 : !S
            }
            %vt, %vs = pipe.wait %vch : !Kch -> !KV, !slot    // V of the visit before
            %fo = pipe.issue mma {
              %o0 = attn.pv %P, %vt, %O : !P, !KV, !Ot
              pipe.yield %o0 : !Ot
            }
            %s, %ds = pipe.join %fs : !FS
            pipe.release %ks done %ds : !slot
            %sm = attn.apply_mask neg_inf %s, %rows, %k0, %kv1 : !S, !rows
            %m1 = attn.row_max %sm, %m : !S, !R
            %al = attn.alpha %m, %m1, %c : !R
            %p = attn.exp exact %sm, %m1, %c : !S, !R
            %l1 = attn.row_sum %p, %l scaled %al : !S, !R scaled !R
            %O1, %do = pipe.join %fo : !FS
            pipe.release %vs done %do : !slot
            %P1 = attn.pack %p : !S -> !P
            %O2 = attn.rescale %O1, %al : !Ot, !R
            scf.yield %m1, %l1, %P1, %O2, %ds : !R, !R, !P, !Ot, !pipe.done
          }
          // Exact loop: all full blocks of a redone item; else one, if some live
          // row has no usable reference yet; else none.
          %e = attn.exact_prefix %r1#0, %rows, %c, %b0, %h2, %exact {pipe.at_most = array<i32: 3, 4>} : !R, !rows
          %r2:5 = scf.for %t = %c0 to %e step %c1 iter_args(%m = %r1#0, %l = %r1#1, %P = %r1#2, %O = %r1#3, %qd = %r1#4) -> (!R, !R, !P, !Ot, !pipe.done) : i32 {
            %kt, %ks = pipe.wait %kch : !Kch -> !KV, !slot
            %fs = pipe.issue mma {
              %s0 = attn.qk %qt, %kt : !Qh, !KV -> !S
              pipe.yield %s0 : !S
            }
            %vt, %vs = pipe.wait %vch : !Kch -> !KV, !slot
            %fo = pipe.issue mma {
              %o0 = attn.pv %P, %vt, %O : !P, !KV, !Ot
              pipe.yield %o0 : !Ot
            }
            %s, %ds = pipe.join %fs : !FS
            pipe.release %ks done %ds : !slot
            %m1 = attn.row_max %s, %m : !S, !R
            %al = attn.alpha %m, %m1, %c : !R
            %p = attn.exp exact %s, %m1, %c : !S, !R
            %l1 = attn.row_sum %p, %l scaled %al : !S, !R scaled !R
            %O1, %do = pipe.join %fo : !FS
            pipe.release %vs done %do : !slot
            %P1 = attn.pack %p : !S -> !P
            %O2 = attn.rescale %O1, %al : !Ot, !R
            scf.yield %m1, %l1, %P1, %O2, %ds : !R, !R, !P, !Ot, !pipe.done
          }
          %n2 = arith.subi %h2, %b0 : i32
          %n3 = arith.subi %n2, %e : i32
          // Frozen loop: the main one.
          %r3:5 = scf.for %t = %c0 to %n3 step %c1 iter_args(%m = %r2#0, %l = %r2#1, %P = %r2#2, %O = %r2#3, %qd = %r2#4) -> (!R, !R, !P, !Ot, !pipe.done) : i32 {
            %kt, %ks = pipe.wait %kch : !Kch -> !KV, !slot
            %fs = pipe.issue mma {
              %s0 = attn.qk %qt, %kt : !Qh, !KV -> !S
              pipe.yield %s0 : !S
            }
            %vt, %vs = pipe.wait %vch : !Kch -> !KV, !slot
            %fo = pipe.issue mma {
              %o0 = attn.pv %P, %vt, %O : !P, !KV, !Ot
              pipe.yield %o0 : !Ot
            }
            %s, %ds = pipe.join %fs : !FS
            pipe.release %ks done %ds : !slot
            %p = attn.exp frozen %s, %m, %c : !S, !R
            %l1 = attn.row_sum %p, %l : !S, !R
            %O1, %do = pipe.join %fo : !FS
            pipe.release %vs done %do : !slot
            %P1 = attn.pack %p : !S -> !P
            scf.yield %m, %l1, %P1, %O1, %ds : !R, !R, !P, !Ot, !pipe.done
          }
          pipe.release %qs done %r3#4 : !slot
          // The last PV.
          %vtL, %vsL = pipe.wait %vch : !Kch -> !KV, !slot
          %fL = pipe.issue mma {
            %o0 = attn.pv %r3#2, %vtL, %r3#3 : !P, !KV, !Ot
            pipe.yield %o0 : !Ot
          }
          %OL, %dL = pipe.join %fL : !FS
          pipe.release %vsL done %dL : !slot
          scf.yield %OL, %r3#0, %r3#1 : !Ot, !R, !R
        } else {
          scf.yield %u#0, %u#1, %u#2 : !Ot, !R, !R
        }
        // One verdict a word; an exact word is always good.
        %ok0 = attn.check %st#0, %st#2, %rows limit 64 : !Ot, !R, !rows
        %ok = arith.ori %ok0, %exact : i1
        %okw = arith.extui %ok : i1 to i32
        %badw = arith.subi %c1, %okw : i32
        pipe.send %xch(%badw) : !Xch
        %next:14 = pipe.recv %wch : !Wch
        // A failed tile publishes nothing; an inert word has no live rows.
        scf.if %ok {
          %split = arith.cmpi sge, %slot, %c0 : i32
          scf.if %split {
            attn.store_partial %st#0, %st#1, %st#2 by %c in %rows, %plan slot %slot : !Ot, !R, !R in !rows
          } else {
            %tile, %row_lse = attn.finish %st#0, %st#1, %st#2, %c : !Ot, !R
            attn.store %tile lse %row_lse, %rows to %o lse %lse : !Ot lse !R, !rows to !O lse !L
          }
        }
        scf.yield %next#0, %next#1, %next#2, %next#3, %next#4, %next#5, %next#6, %next#7, %next#8, %next#9, %next#10, %next#11, %next#12, %next#13 : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
      }
    }
    attn.return
  }

  // Merges the partials of split rows: one role, no channels.
  attn.kernel @prefill_merge(%scale: f32, %o: !O, %lse: !L, %plan: !attn.plan)
      attributes {block_map = #map, merge_of = @prefill, schedule = #schedule, target = "sm_90a"} {
    %log2e = arith.constant 1.44269504 : f32
    %c = arith.mulf %scale, %log2e : f32
    pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>] {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %none = arith.constant -1 : i32
      %z = scf.while (%previous = %none) : (i32) -> i32 {
        %word = pipe.next_work static_order %plan after %previous merges = true : !attn.plan
        %go = arith.cmpi sge, %word, %c0 : i32
        scf.condition(%go) %word : i32
      } do {
      ^bb0(%word: i32):
        %i:6 = attn.load_item %plan[%word] : i32, i32, i32, i32, i32, i32
        %q_begin, %q_len, %kv_begin, %kv_len = attn.request %plan[%i#0]
        %rows = attn.row_map request %i#0 head %i#1 row0 %i#2 rows %i#3 q_begin %q_begin q_len %q_len kv_len %kv_len pack 4 : !attn.rows<128>
        %p0:3 = attn.load_partial %rows, %plan slot %i#4 : !attn.rows<128> -> !attn.tile<128x128xf32>, !attn.rowvec<128xf32>, !attn.rowvec<128xf32>
        %from = arith.addi %i#4, %c1 : i32
        %to = arith.addi %i#4, %i#5 : i32
        %r:3 = scf.for %s = %from to %to step %c1 iter_args(%ta = %p0#0, %ma = %p0#1, %la = %p0#2) -> (!attn.tile<128x128xf32>, !attn.rowvec<128xf32>, !attn.rowvec<128xf32>) : i32 {
          %p:3 = attn.load_partial %rows, %plan slot %s : !attn.rows<128> -> !attn.tile<128x128xf32>, !attn.rowvec<128xf32>, !attn.rowvec<128xf32>
          %x:3 = attn.merge_state (%ta, %ma, %la), (%p#0, %p#1, %p#2), %c : !attn.tile<128x128xf32>, !attn.rowvec<128xf32>
          scf.yield %x#0, %x#1, %x#2 : !attn.tile<128x128xf32>, !attn.rowvec<128xf32>, !attn.rowvec<128xf32>
        }
        %m:2 = attn.finish %r#0, %r#1, %r#2, %c : !attn.tile<128x128xf32>, !attn.rowvec<128xf32>
        attn.store %m#0 lse %m#1, %rows to %o lse %lse : !attn.tile<128x128xf32> lse !attn.rowvec<128xf32>, !attn.rows<128> to !O lse !L
        scf.yield %word : i32
      }
    }
    attn.return
  }
}
