// Causal prefill for SM90 at level L3: what prefill-sm90.pipe.mlir becomes.
//
// 384 threads: warpgroup 0 is load (warp 0 works), warpgroups 1 and 2 are the two
// replicas of compute, one code.  A reader's position starts at phase 0, a
// writer's at 1: its first pass over the empty barriers falls through.  Verdict
// has a token in every slot from the start, so its reader starts like a writer.
//
// Arrivals: full barriers of copies 1 (the expecting thread), empty ones 8 (a
// warp each of two warpgroups), work full 1, work empty 8, verdict full 4 (the
// warps of its replica).  Verdict has no empty barrier: work is its credit.
//
// Shared memory: q 0, k 65536, v 131072, words 196608, barriers 196768 to 196952.
// Tensor maps lie behind the fixed parameters, at 256, 384 and 512.  Words 12 and
// 13 of the plan's header are the queue.

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
#M = #frag.layout<"mma_c", warps = 8>
!S = !frag.reg<64x128xf32, #C>
!P = !frag.reg<64x128xbf16, #A>
!Ob = !frag.reg<64x128xbf16, #C>
!Oe = !frag.reg<64x128xbf16, #E>
!AS = !frag.inflight<64x128xf32, #C>
!R = !frag.vec<64xf32, #C>
!Rp = !frag.vec<64xf32, #C, partial>
!Ri = !frag.vec<64xi32, #C>
!Rl = !frag.vec<64xi64, #C>
!Rb = !frag.vec<64xi1, #C>
!ring = !frag.ring<128x128xbf16, swizzle = 128, slots = 2>
!Qd = !frag.view<64x128xbf16, swizzle = 128>
!Qm = !frag.tmap<64x4x32x1x1xbf16, swizzle = 128>
!Km = !frag.tmap<64x128x1x1xbf16, swizzle = 128>
!bars1 = !frag.bars<slots = 1>
!bars2 = !frag.bars<slots = 2>
!bars3 = !frag.bars<slots = 3, lanes = 2>
!pos1 = !frag.pos<slots = 1>
!pos2 = !frag.pos<slots = 2>
!pos3 = !frag.pos<slots = 3>
!work = !frag.words<16, slots = 2>
!verdict = !frag.words<1, slots = 3, lanes = 2>
!T = !frag.reg<128x128xf32, #M>
!Tb = !frag.reg<128x128xbf16, #M>
!V = !frag.vec<128xf32, #M>
!Vl = !frag.vec<128xi64, #M>
!Vb = !frag.vec<128xi1, #M>

module {
  frag.kernel @prefill threads 384 smem 196952 params 640 attributes {target = "sm_90a"} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %c64 = arith.constant 64 : i32
    %c127 = arith.constant 127 : i32
    %c128 = arith.constant 128 : i32
    %none = arith.constant -1 : i32
    %END = arith.constant -2 : i32
    %EXACT = arith.constant 1073741824 : i32
    %INDEX = arith.constant 1073741823 : i32
    %true = arith.constant true
    %l1 = arith.constant 1 : i64
    %l2 = arith.constant 2 : i64
    %l3 = arith.constant 3 : i64
    %l4 = arith.constant 4 : i64
    %l5 = arith.constant 5 : i64
    %l6 = arith.constant 6 : i64
    %l8 = arith.constant 8 : i64
    %l10 = arith.constant 10 : i64
    %l12 = arith.constant 12 : i64
    %l128 = arith.constant 128 : i64
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %ninf = arith.constant 0xFF800000 : f32
    %nan = arith.constant 0x7FC00000 : f32
    %big = arith.constant 536870912.0 : f32              // 2^29: a larger |c m| is no reference
    %limit = arith.constant 0x5F800000 : f32             // 2^64: a larger sum is redone
    %log2e = arith.constant 1.44269502 : f32
    %ln2 = arith.constant 0.693147182 : f32
    %scale = frag.param "scale" at 192 : f32
    %c = arith.mulf %scale, %log2e : f32
    %plan = frag.param "plan" at 40 : !frag.ptr<i32>
    %items = frag.load_scalar %plan[%l1] : !frag.ptr<i32>
    %items_at = frag.load_scalar %plan[%l8] : !frag.ptr<i32>
    %requests_at = frag.load_scalar %plan[%l10] : !frag.ptr<i32>
    %queue = frag.offset %plan[%l12] : !frag.ptr<i32>
    %tq = frag.tmap "q" at 256 dims ["dim", "group", "token", "head", "batch"] pack 4 promotion 128 : !Qm
    %tk = frag.tmap "k" at 384 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !Km
    %tv = frag.tmap "v" at 512 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !Km
    %qr = frag.smem "q" at 0 : !ring
    %kr = frag.smem "k" at 65536 : !ring
    %vr = frag.smem "v" at 131072 : !ring
    %ww = frag.words "work" at 196608 : !work
    %xw = frag.words "verdict" at 196736 : !verdict
    %qf = frag.bars "q.full" at 196768 count 1 : !bars2
    %qe = frag.bars "q.empty" at 196784 count 8 : !bars2
    %kf = frag.bars "k.full" at 196800 count 1 : !bars2
    %ke = frag.bars "k.empty" at 196816 count 8 : !bars2
    %vf = frag.bars "v.full" at 196832 count 1 : !bars2
    %ve = frag.bars "v.empty" at 196848 count 8 : !bars2
    %wf = frag.bars "work.full" at 196864 count 1 : !bars2
    %we = frag.bars "work.empty" at 196880 count 8 : !bars2
    %xf = frag.bars "verdict.full" at 196896 count 4 : !bars3
    %tl = frag.bars "v.tail" at 196944 count 1 : !bars1  // the copy that load itself waits for
    frag.init %xw, %qf, %qe, %kf, %ke, %vf, %ve, %wf, %we, %xf, %tl : !verdict, !bars2, !bars2, !bars2, !bars2, !bars2, !bars2, !bars2, !bars2, !bars3, !bars1
    frag.role_dispatch [#frag.role<"load", first_warp = 0, warps = 4, active = 1, replicas = 1>,
                        #frag.role<"compute", first_warp = 4, warps = 4, active = 4, replicas = 2>] {
      // ---------------------------------------------------------------- load
      frag.set_registers dec 24
      %pw = frag.pos phase 1 : !pos2
      %px = frag.pos phase 1 : !pos3
      %pt = frag.pos phase 0 : !pos1
      %n0 = frag.next_work %queue below %items : !frag.ptr<i32>
      // w3, w2, w1: the words sent three, two and one turns ago; nx: the next item.
      %z:15 = scf.while (%w3 = %none, %w2 = %none, %w1 = %none, %nx = %n0, %qp = %pw, %kp = %pw, %vp = %pw, %wp = %pw, %xp = %px, %tp = %pt) : (i32, i32, i32, i32, !pos2, !pos2, !pos2, !pos2, !pos3, !pos1) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, !pos2, !pos2, !pos2, !pos2, !pos3, !pos1) {
        frag.mbar_wait %xf[%xp] : !bars3                 // both lanes
        %x:2 = frag.ld_words 1 of %xw[%xp] : !verdict
        frag.st_words (%c0) to %xw[%xp] : !verdict       // ready for its next use
        %xp1 = frag.next %xp : !pos3
        %x01 = arith.ori %x#0, %x#1 : i32
        %bad = arith.cmpi ne, %x01, %c0 : i32
        %redo = arith.ori %w3, %EXACT : i32
        %nw = arith.select %bad, %redo, %nx : i32
        // The end: nothing to hand out, and the words not judged yet are no items.
        %none_left = arith.cmpi slt, %nw, %c0 : i32
        %open = arith.andi %w2, %w1 : i32
        %closed = arith.cmpi slt, %open, %c0 : i32
        %last = arith.andi %none_left, %closed : i1
        %word = arith.select %last, %END, %nw : i32
        %nx1 = scf.if %bad -> (i32) {
          scf.yield %nx : i32
        } else {
          %any = arith.cmpi sge, %nx, %c0 : i32
          %y = scf.if %any -> (i32) {
            %y0 = frag.next_work %queue below %items : !frag.ptr<i32>
            scf.yield %y0 : i32
          } else {
            scf.yield %none : i32
          }
          scf.yield %y : i32
        }
        // The item and its request; a negative word is the inert item.
        %real = arith.cmpi sge, %word, %c0 : i32
        %i:11 = scf.if %real -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) {
          %index = arith.andi %word, %INDEX : i32
          %a0 = arith.shrui %items_at, %c2 : i32
          %a1 = arith.extui %a0 : i32 to i64
          %a2 = arith.extui %index : i32 to i64
          %a3 = arith.muli %a2, %l8 : i64
          %a = arith.addi %a1, %a3 : i64
          %item = frag.offset %plan[%a] : !frag.ptr<i32>
          %l0 = arith.constant 0 : i64
          %req = frag.load_scalar %item[%l0] : !frag.ptr<i32>
          %head = frag.load_scalar %item[%l1] : !frag.ptr<i32>
          %row0 = frag.load_scalar %item[%l2] : !frag.ptr<i32>
          %nrows = frag.load_scalar %item[%l3] : !frag.ptr<i32>
          %kv0 = frag.load_scalar %item[%l4] : !frag.ptr<i32>
          %kv1 = frag.load_scalar %item[%l5] : !frag.ptr<i32>
          %slot = frag.load_scalar %item[%l6] : !frag.ptr<i32>
          %r0 = arith.shrui %requests_at, %c2 : i32
          %r1 = arith.extui %r0 : i32 to i64
          %r2 = arith.extui %req : i32 to i64
          %r3 = arith.muli %r2, %l4 : i64
          %r = arith.addi %r1, %r3 : i64
          %request = frag.offset %plan[%r] : !frag.ptr<i32>
          %q_begin = frag.load_scalar %request[%l0] : !frag.ptr<i32>
          %q_len = frag.load_scalar %request[%l1] : !frag.ptr<i32>
          %kv_begin = frag.load_scalar %request[%l2] : !frag.ptr<i32>
          %kv_len = frag.load_scalar %request[%l3] : !frag.ptr<i32>
          scf.yield %req, %head, %row0, %nrows, %kv0, %kv1, %slot, %q_begin, %q_len, %kv_begin, %kv_len : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
        } else {
          scf.yield %c0, %c0, %c0, %c0, %c0, %c0, %none, %c0, %c0, %c0, %c0 : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
        }
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
        frag.mbar_wait %we[%wp] : !bars2
        frag.elect {
          frag.st_words (%word, %i#0, %i#1, %i#2, %i#3, %i#4, %i#5, %i#6, %i#7, %i#8, %i#10, %c0, %b1, %b2) to %ww[%wp] : !work
          frag.mbar_arrive_one %wf[%wp] : !bars2
        }
        %wp1 = frag.next %wp : !pos2
        %go = arith.cmpi ne, %word, %END : i32
        %tok = arith.addi %i#7, %t0 : i32                // first token of the tile, of all requests
        %krow = arith.addi %i#9, %i#4 : i32              // row of key kv0, of all requests
        scf.condition(%go) %w2, %w1, %word, %nx1, %tok, %i#1, %krow, %keys, %b2, %qp, %kp, %vp, %wp1, %xp1, %tp : i32, i32, i32, i32, i32, i32, i32, i32, i32, !pos2, !pos2, !pos2, !pos2, !pos3, !pos1
      } do {
      ^bb0(%w2: i32, %w1: i32, %word: i32, %nx: i32, %tok: i32, %kvh: i32, %krow: i32, %keys: i32, %n: i32, %qp: !pos2, %kp: !pos2, %vp: !pos2, %wp: !pos2, %xp: !pos3, %tp: !pos1):
        %some = arith.cmpi sgt, %n, %c0 : i32
        %y:4 = scf.if %some -> (!pos2, !pos2, !pos2, !pos1) {
          frag.mbar_wait %qe[%qp] : !bars2
          frag.elect {
            frag.mbar_expect %qf[%qp] bytes 32768 : !bars2
            frag.tma_load %tq(%c0, %tok, %kvh, %c0) into %qr[%qp] on %qf[%qp] hint evict_first : !Qm, !ring, !bars2
          }
          %qp1 = frag.next %qp : !pos2
          %jF = arith.subi %n, %c1 : i32
          %oF = arith.muli %jF, %c128 : i32
          %ra = arith.addi %krow, %oF : i32
          frag.mbar_wait %ke[%kp] : !bars2
          frag.elect {
            frag.mbar_expect %kf[%kp] bytes 32768 : !bars2
            frag.tma_load %tk(%ra, %kvh, %c0) into %kr[%kp] on %kf[%kp] hint evict_last : !Km, !ring, !bars2
          }
          %kp1 = frag.next %kp : !pos2
          %two = arith.cmpi sgt, %n, %c1 : i32
          %kp2 = scf.if %two -> (!pos2) {                  // K(F-1) before V(F), which may have to be waited for
            %rb = arith.subi %ra, %c128 : i32
            frag.mbar_wait %ke[%kp1] : !bars2
            frag.elect {
              frag.mbar_expect %kf[%kp1] bytes 32768 : !bars2
              frag.tma_load %tk(%rb, %kvh, %c0) into %kr[%kp1] on %kf[%kp1] hint evict_last : !Km, !ring, !bars2
            }
            %kpx = frag.next %kp1 : !pos2
            scf.yield %kpx : !pos2
          } else {
            scf.yield %kp1 : !pos2
          }
          frag.mbar_wait %ve[%vp] : !bars2
          %valid = arith.subi %keys, %oF : i32
          %ragged = arith.cmpi slt, %valid, %c128 : i32
          %tpn = scf.if %ragged -> (!pos1) {               // rows past the slice may hold NaN, and 0 * NaN is NaN
            frag.elect {
              frag.mbar_expect %tl[%tp] bytes 32768 : !bars1
              frag.tma_load %tv(%ra, %kvh, %c0) into %vr[%vp] on %tl[%tp] hint evict_last : !Km, !ring, !bars1
            }
            frag.mbar_wait %tl[%tp] : !bars1
            frag.zero_rows %vr[%vp] from %valid : !ring
            frag.fence proxy_async_shared
            frag.mbar_arrive %vf[%vp] sync : !bars2        // no bytes to come
            %tp1 = frag.next %tp : !pos1
            scf.yield %tp1 : !pos1
          } else {
            frag.elect {
              frag.mbar_expect %vf[%vp] bytes 32768 : !bars2
              frag.tma_load %tv(%ra, %kvh, %c0) into %vr[%vp] on %vf[%vp] hint evict_last : !Km, !ring, !bars2
            }
            scf.yield %tp : !pos1
          }
          %vp1 = frag.next %vp : !pos2
          %f:2 = scf.for %t = %c2 to %n step %c1 iter_args(%kq = %kp2, %vq = %vp1) -> (!pos2, !pos2) : i32 {
            %back = arith.muli %t, %c128 : i32
            %rd = arith.subi %ra, %back : i32
            frag.mbar_wait %ke[%kq] : !bars2
            frag.elect {
              frag.mbar_expect %kf[%kq] bytes 32768 : !bars2
              frag.tma_load %tk(%rd, %kvh, %c0) into %kr[%kq] on %kf[%kq] hint evict_last : !Km, !ring, !bars2
            }
            %kq1 = frag.next %kq : !pos2
            %re = arith.addi %rd, %c128 : i32
            frag.mbar_wait %ve[%vq] : !bars2
            frag.elect {
              frag.mbar_expect %vf[%vq] bytes 32768 : !bars2
              frag.tma_load %tv(%re, %kvh, %c0) into %vr[%vq] on %vf[%vq] hint evict_last : !Km, !ring, !bars2
            }
            %vq1 = frag.next %vq : !pos2
            scf.yield %kq1, %vq1 : !pos2, !pos2
          }
          %vpn = scf.if %two -> (!pos2) {
            frag.mbar_wait %ve[%f#1] : !bars2
            frag.elect {
              frag.mbar_expect %vf[%f#1] bytes 32768 : !bars2
              frag.tma_load %tv(%krow, %kvh, %c0) into %vr[%f#1] on %vf[%f#1] hint evict_last : !Km, !ring, !bars2
            }
            %vpx = frag.next %f#1 : !pos2
            scf.yield %vpx : !pos2
          } else {
            scf.yield %f#1 : !pos2
          }
          scf.yield %qp1, %f#0, %vpn, %tpn : !pos2, !pos2, !pos2, !pos1
        } else {
          scf.yield %qp, %kp, %vp, %tp : !pos2, !pos2, !pos2, !pos1
        }
        scf.yield %w2, %w1, %word, %nx, %y#0, %y#1, %y#2, %wp, %xp, %y#3 : i32, i32, i32, i32, !pos2, !pos2, !pos2, !pos2, !pos3, !pos1
      }
      frag.next_work_done %queue : !frag.ptr<i32>
    }, (%rank) {
      // ------------------------------------------------------------- compute
      frag.set_registers inc 240
      %pr = frag.pos phase 0 : !pos2
      %px = frag.pos phase 0 : !pos3                     // a writer, but only its slot matters
      %rbase = arith.muli %rank, %c64 : i32
      %O0 = frag.splat %zero : f32 -> !S
      %m0 = frag.splat %ninf : f32 -> !R
      %s0 = frag.splat %zero : f32 -> !Rp
      %z:19 = scf.while (%qp = %pr, %kp = %pr, %vp = %pr, %wp = %pr, %xp = %px) : (!pos2, !pos2, !pos2, !pos2, !pos3) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, !pos2, !pos2, !pos2, !pos2, !pos3) {
        frag.mbar_wait %wf[%wp] : !bars2
        %w:14 = frag.ld_words 14 of %ww[%wp] : !work
        frag.mbar_arrive %we[%wp] sync : !bars2          // all lanes have read
        %wp1 = frag.next %wp : !pos2
        %go = arith.cmpi ne, %w#0, %END : i32
        scf.condition(%go) %w#0, %w#1, %w#2, %w#3, %w#4, %w#5, %w#6, %w#7, %w#8, %w#9, %w#10, %w#11, %w#12, %w#13, %qp, %kp, %vp, %wp1, %xp : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, !pos2, !pos2, !pos2, !pos2, !pos3
      } do {
      ^bb0(%word: i32, %req: i32, %kvh: i32, %row0: i32, %nrows: i32, %kv0: i32, %kv1: i32, %slot: i32, %q_begin: i32, %q_len: i32, %kv_len: i32, %b0: i32, %b1: i32, %b2: i32, %qp: !pos2, %kp: !pos2, %vp: !pos2, %wp: !pos2, %xp: !pos3):
        // The row map: tile row -> live, token, head, position.
        %shift = arith.subi %kv_len, %q_len : i32
        %rm:4 = frag.map () at (%_r) -> !Rb, !Ri, !Ri, !Ri {
          %_tr = arith.addi %rbase, %_r : i32
          %_live = arith.cmpi slt, %_tr, %nrows : i32
          %_t = arith.addi %row0, %_tr : i32
          %_token = arith.shrsi %_t, %c2 : i32
          %_g = arith.andi %_t, %c3 : i32
          %_h0 = arith.muli %kvh, %c4 : i32
          %_h = arith.addi %_h0, %_g : i32
          %_pos = arith.addi %_token, %shift : i32
          frag.yield %_live, %_token, %_h, %_pos : i1, i32, i32, i32
        }
        %xbit = arith.andi %word, %EXACT : i32
        %isx = arith.cmpi ne, %xbit, %c0 : i32
        %real = arith.cmpi sge, %word, %c0 : i32         // -1 has bit 30 set too
        %exact = arith.andi %isx, %real : i1
        %some = arith.cmpi sgt, %b2, %b0 : i32
        %st:6 = scf.if %some -> (!S, !R, !Rp, !pos2, !pos2, !pos2) {
          frag.mbar_wait %qf[%qp] : !bars2
          %qd = frag.view_rows %qr[%qp] from %rbase : !ring -> !Qd
          // The first visit: exact, masked if its block is partial.
          %jF = arith.subi %b2, %c1 : i32
          %oF = arith.muli %jF, %c128 : i32
          %kF0 = arith.addi %kv0, %oF : i32
          frag.mbar_wait %kf[%kp] : !bars2
          %aF = frag.wgmma "wgmma.m64n128k16" nk %qd, %kr[%kp] : !Qd, !ring -> !AS
          %SF = frag.wgmma_wait pending 0 %aF : !AS
          frag.mbar_arrive %ke[%kp] : !bars2
          %isp = arith.cmpi sge, %jF, %b1 : i32
          %S = scf.if %isp -> (!S) {
            %lim = frag.map (%_p = %rm#3 : !Ri) at (%_r) -> !Ri {
              %_p1 = arith.addi %_p, %c1 : i32
              %_end = arith.minsi %_p1, %kv1 : i32
              %_col = arith.subi %_end, %kF0 : i32
              frag.yield %_col : i32
            }
            %Sm = frag.map (%_s = %SF : !S, %_li = %lim : !Ri) at (%_r, %_col) -> !S {
              %_in = arith.cmpi slt, %_col, %_li : i32
              %_y = arith.select %_in, %_s, %ninf : f32
              frag.yield %_y : f32
            }
            scf.yield %Sm : !S
          } else {
            scf.yield %SF : !S
          }
          %mx = frag.reduce_row max row %S : !S -> !R
          %m1 = frag.map (%_x = %m0 : !R, %_y = %mx : !R) at (%_r) -> !R {
            %_z2 = arith.maxnumf %_x, %_y : f32
            frag.yield %_z2 : f32
          }
          // p = exp2((s - a) c + b): m = -inf: (0, 0); |c m| < 2^29: (0, -c m); else (m, 0).
          %abF:2 = frag.map (%_x = %m1 : !R) at (%_r) -> !R, !R {
            %_cm = arith.mulf %_x, %c : f32
            %_abs = math.absf %_cm : f32
            %_ok = arith.cmpf olt, %_abs, %big : f32
            %_e = arith.cmpf oeq, %_x, %ninf : f32
            %_neg = arith.negf %_cm : f32
            %_b = arith.select %_ok, %_neg, %zero : f32
            %_or = arith.ori %_ok, %_e : i1
            %_a = arith.select %_or, %zero, %_x : f32
            frag.yield %_a, %_b : f32, f32
          }
          %p = frag.map (%_s = %S : !S, %_a = %abF#0 : !R, %_b = %abF#1 : !R) at (%_r, %_col) -> !S {
            %_d = arith.subf %_s, %_a : f32
            %_y = math.fma %_d, %c, %_b : f32
            %_e = math.exp2 %_y : f32
            frag.yield %_e : f32
          }
          %ls = frag.reduce_row sum thread %p : !S -> !Rp
          %PF = frag.pack %p : !S -> !P
          %kpF = frag.next %kp : !pos2
          // Descending: [b1, jF) partial, then [b0, min(b1, jF)) full = exact prefix and
          // frozen rest.
          %d1 = arith.subi %jF, %b1 : i32
          %n1 = arith.maxsi %d1, %c0 : i32
          %h2 = arith.minsi %b1, %jF : i32
          // Masked loop.
          %r1:6 = scf.for %t = %c0 to %n1 step %c1 iter_args(%m = %m1, %l = %ls, %P = %PF, %O = %O0, %kq = %kpF, %vq = %vp) -> (!R, !Rp, !P, !S, !pos2, !pos2) : i32 {
            %jt = arith.subi %jF, %t : i32
            %j = arith.subi %jt, %c1 : i32
            %x0 = arith.muli %j, %c128 : i32
            %k0 = arith.addi %kv0, %x0 : i32
            frag.mbar_wait %kf[%kq] : !bars2
            %aS = frag.wgmma "wgmma.m64n128k16" nk %qd, %kr[%kq] : !Qd, !ring -> !AS
            frag.mbar_wait %vf[%vq] : !bars2                 // V of the visit before
            %aO = frag.wgmma "wgmma.m64n128k16" kn %P, %vr[%vq] acc %O : !P, !ring acc !S -> !AS
            %Sn = frag.wgmma_wait pending 1 %aS : !AS
            frag.mbar_arrive %ke[%kq] : !bars2
            %lim = frag.map (%_p = %rm#3 : !Ri) at (%_r) -> !Ri {
              %_p1 = arith.addi %_p, %c1 : i32
              %_end = arith.minsi %_p1, %kv1 : i32
              %_col = arith.subi %_end, %k0 : i32
              frag.yield %_col : i32
            }
            %Sk = frag.map (%_s = %Sn : !S, %_li = %lim : !Ri) at (%_r, %_col) -> !S {
              %_in = arith.cmpi slt, %_col, %_li : i32
              %_y = arith.select %_in, %_s, %ninf : f32
              frag.yield %_y : f32
            }
            %mr = frag.reduce_row max row %Sk : !S -> !R
            %mn = frag.map (%_x = %m : !R, %_y = %mr : !R) at (%_r) -> !R {
              %_z2 = arith.maxnumf %_x, %_y : f32
              frag.yield %_z2 : f32
            }
            %al = frag.map (%_x = %m : !R, %_y = %mn : !R) at (%_r) -> !R {
              %_e = arith.cmpf oeq, %_y, %ninf : f32
              %_d = arith.subf %_x, %_y : f32
              %_g = arith.mulf %_d, %c : f32
              %_z2 = math.exp2 %_g : f32
              %_f2 = arith.select %_e, %one, %_z2 : f32
              frag.yield %_f2 : f32
            }
            // p = exp2((s - a) c + b): m = -inf: (0, 0); |c m| < 2^29: (0, -c m); else (m, 0).
            %ab:2 = frag.map (%_x = %mn : !R) at (%_r) -> !R, !R {
              %_cm = arith.mulf %_x, %c : f32
              %_abs = math.absf %_cm : f32
              %_ok = arith.cmpf olt, %_abs, %big : f32
              %_e = arith.cmpf oeq, %_x, %ninf : f32
              %_neg = arith.negf %_cm : f32
              %_b = arith.select %_ok, %_neg, %zero : f32
              %_or = arith.ori %_ok, %_e : i1
              %_a = arith.select %_or, %zero, %_x : f32
              frag.yield %_a, %_b : f32, f32
            }
            %pn = frag.map (%_s = %Sk : !S, %_a = %ab#0 : !R, %_b = %ab#1 : !R) at (%_r, %_col) -> !S {
              %_d = arith.subf %_s, %_a : f32
              %_y = math.fma %_d, %c, %_b : f32
              %_e = math.exp2 %_y : f32
              frag.yield %_e : f32
            }
            %lr = frag.reduce_row sum thread %pn : !S -> !Rp
            %ln = frag.map (%_x = %l : !Rp, %_y = %al : !R, %_s = %lr : !Rp) at (%_r) -> !Rp {
              %_z2 = math.fma %_x, %_y, %_s : f32
              frag.yield %_z2 : f32
            }
            %w:2 = frag.wgmma_wait pending 0 %aO pin %pn : !AS pin !S   // no pack above the wait: P is an operand
            frag.mbar_arrive %ve[%vq] : !bars2
            %Pn = frag.pack %w#1 : !S -> !P
            %kq1 = frag.next %kq : !pos2
            %vq1 = frag.next %vq : !pos2
            %On = frag.map (%_x = %w#0 : !S, %_y = %al : !R) at (%_r, %_col) -> !S {
              %_z2 = arith.mulf %_x, %_y : f32
              frag.yield %_z2 : f32
            }
            scf.yield %mn, %ln, %Pn, %On, %kq1, %vq1 : !R, !Rp, !P, !S, !pos2, !pos2
          }
          // Exact prefix: products are collective over the warpgroup and the two loops are
          // two sites, so the count must be the same in the whole warpgroup.
          %n2 = arith.subi %h2, %b0 : i32
          %nd = frag.map (%_x = %r1#0 : !R, %_lv = %rm#0 : !Rb) at (%_r) -> !Rb {
            %_cm = arith.mulf %_x, %c : f32
            %_abs = math.absf %_cm : f32
            %_ok = arith.cmpf olt, %_abs, %big : f32
            %_no = arith.xori %_ok, %true : i1
            %_y = arith.andi %_no, %_lv : i1
            frag.yield %_y : i1
          }
          %need = frag.any %nd scope warpgroup barrier 1 + %rank : !Rb
          %e1 = arith.minsi %n2, %c1 : i32
          %e2 = arith.select %need, %e1, %c0 : i32
          %e = arith.select %exact, %n2, %e2 : i32
          %r2:6 = scf.for %t = %c0 to %e step %c1 iter_args(%m = %r1#0, %l = %r1#1, %P = %r1#2, %O = %r1#3, %kq = %r1#4, %vq = %r1#5) -> (!R, !Rp, !P, !S, !pos2, !pos2) : i32 {
            frag.mbar_wait %kf[%kq] : !bars2
            %aS = frag.wgmma "wgmma.m64n128k16" nk %qd, %kr[%kq] : !Qd, !ring -> !AS
            frag.mbar_wait %vf[%vq] : !bars2                 // V of the visit before
            %aO = frag.wgmma "wgmma.m64n128k16" kn %P, %vr[%vq] acc %O : !P, !ring acc !S -> !AS
            %Sn = frag.wgmma_wait pending 1 %aS : !AS
            frag.mbar_arrive %ke[%kq] : !bars2
            %mr = frag.reduce_row max row %Sn : !S -> !R
            %mn = frag.map (%_x = %m : !R, %_y = %mr : !R) at (%_r) -> !R {
              %_z2 = arith.maxnumf %_x, %_y : f32
              frag.yield %_z2 : f32
            }
            %al = frag.map (%_x = %m : !R, %_y = %mn : !R) at (%_r) -> !R {
              %_e = arith.cmpf oeq, %_y, %ninf : f32
              %_d = arith.subf %_x, %_y : f32
              %_g = arith.mulf %_d, %c : f32
              %_z2 = math.exp2 %_g : f32
              %_f2 = arith.select %_e, %one, %_z2 : f32
              frag.yield %_f2 : f32
            }
            // p = exp2((s - a) c + b): m = -inf: (0, 0); |c m| < 2^29: (0, -c m); else (m, 0).
            %ab:2 = frag.map (%_x = %mn : !R) at (%_r) -> !R, !R {
              %_cm = arith.mulf %_x, %c : f32
              %_abs = math.absf %_cm : f32
              %_ok = arith.cmpf olt, %_abs, %big : f32
              %_e = arith.cmpf oeq, %_x, %ninf : f32
              %_neg = arith.negf %_cm : f32
              %_b = arith.select %_ok, %_neg, %zero : f32
              %_or = arith.ori %_ok, %_e : i1
              %_a = arith.select %_or, %zero, %_x : f32
              frag.yield %_a, %_b : f32, f32
            }
            %pn = frag.map (%_s = %Sn : !S, %_a = %ab#0 : !R, %_b = %ab#1 : !R) at (%_r, %_col) -> !S {
              %_d = arith.subf %_s, %_a : f32
              %_y = math.fma %_d, %c, %_b : f32
              %_e = math.exp2 %_y : f32
              frag.yield %_e : f32
            }
            %lr = frag.reduce_row sum thread %pn : !S -> !Rp
            %ln = frag.map (%_x = %l : !Rp, %_y = %al : !R, %_s = %lr : !Rp) at (%_r) -> !Rp {
              %_z2 = math.fma %_x, %_y, %_s : f32
              frag.yield %_z2 : f32
            }
            %w:2 = frag.wgmma_wait pending 0 %aO pin %pn : !AS pin !S   // no pack above the wait: P is an operand
            frag.mbar_arrive %ve[%vq] : !bars2
            %Pn = frag.pack %w#1 : !S -> !P
            %kq1 = frag.next %kq : !pos2
            %vq1 = frag.next %vq : !pos2
            %On = frag.map (%_x = %w#0 : !S, %_y = %al : !R) at (%_r, %_col) -> !S {
              %_z2 = arith.mulf %_x, %_y : f32
              frag.yield %_z2 : f32
            }
            scf.yield %mn, %ln, %Pn, %On, %kq1, %vq1 : !R, !Rp, !P, !S, !pos2, !pos2
          }
          // The frozen reference: -c m, or NaN if unusable; such a row fails the check.
          %nb = frag.map (%_x = %r2#0 : !R) at (%_r) -> !R {
            %_cm = arith.mulf %_x, %c : f32
            %_abs = math.absf %_cm : f32
            %_ok = arith.cmpf olt, %_abs, %big : f32
            %_neg = arith.negf %_cm : f32
            %_b = arith.select %_ok, %_neg, %nan : f32
            frag.yield %_b : f32
          }
          %n3 = arith.subi %n2, %e : i32
          // Frozen loop: the main one.
          %r3:6 = scf.for %t = %c0 to %n3 step %c1 iter_args(%m = %r2#0, %l = %r2#1, %P = %r2#2, %O = %r2#3, %kq = %r2#4, %vq = %r2#5) -> (!R, !Rp, !P, !S, !pos2, !pos2) : i32 {
            frag.mbar_wait %kf[%kq] : !bars2
            %aS = frag.wgmma "wgmma.m64n128k16" nk %qd, %kr[%kq] : !Qd, !ring -> !AS
            frag.mbar_wait %vf[%vq] : !bars2                 // V of the visit before
            %aO = frag.wgmma "wgmma.m64n128k16" kn %P, %vr[%vq] acc %O : !P, !ring acc !S -> !AS
            %Sn = frag.wgmma_wait pending 1 %aS : !AS
            frag.mbar_arrive %ke[%kq] : !bars2
            %pn = frag.map (%_s = %Sn : !S, %_b = %nb : !R) at (%_r, %_col) -> !S {
              %_y = math.fma %_s, %c, %_b : f32
              %_e = math.exp2 %_y : f32
              frag.yield %_e : f32
            }
            %lr = frag.reduce_row sum thread %pn : !S -> !Rp
            %ln = frag.map (%_x = %l : !Rp, %_s = %lr : !Rp) at (%_r) -> !Rp {
              %_z2 = arith.addf %_x, %_s : f32
              frag.yield %_z2 : f32
            }
            %w:2 = frag.wgmma_wait pending 0 %aO pin %pn : !AS pin !S   // no pack above the wait: P is an operand
            frag.mbar_arrive %ve[%vq] : !bars2
            %Pn = frag.pack %w#1 : !S -> !P
            %kq1 = frag.next %kq : !pos2
            %vq1 = frag.next %vq : !pos2
            scf.yield %m, %ln, %Pn, %w#0, %kq1, %vq1 : !R, !Rp, !P, !S, !pos2, !pos2
          }
          frag.mbar_arrive %qe[%qp] : !bars2
          // The last PV.
          frag.mbar_wait %vf[%r3#5] : !bars2
          %aL = frag.wgmma "wgmma.m64n128k16" kn %r3#2, %vr[%r3#5] acc %r3#3 : !P, !ring acc !S -> !AS
          %OL = frag.wgmma_wait pending 0 %aL : !AS
          frag.mbar_arrive %ve[%r3#5] : !bars2
          %qp1 = frag.next %qp : !pos2
          %vp1 = frag.next %r3#5 : !pos2
          scf.yield %OL, %r3#0, %r3#1, %qp1, %r3#4, %vp1 : !S, !R, !Rp, !pos2, !pos2, !pos2
        } else {
          scf.yield %O0, %m0, %s0, %qp, %kp, %vp : !S, !R, !Rp, !pos2, !pos2, !pos2
        }
        // The check: 0 * O is 0, or NaN if O is not finite.
        %lq = frag.reduce_quad %st#2 : !Rp -> !R
        %Oz = frag.map (%_x = %st#0 : !S) at (%_r, %_col) -> !S {
          %_y = arith.mulf %_x, %zero : f32
          frag.yield %_y : f32
        }
        %fp = frag.reduce_row sum row %Oz : !S -> !R
        %bv = frag.map (%_x = %lq : !R, %_y = %fp : !R, %_lv = %rm#0 : !Rb) at (%_r) -> !Rb {
          %_over = arith.cmpf uge, %_x, %limit : f32
          %_notfinite = arith.cmpf uno, %_y, %_y : f32
          %_o = arith.ori %_over, %_notfinite : i1
          %_b = arith.andi %_o, %_lv : i1
          frag.yield %_b : i1
        }
        %bad0 = frag.any %bv scope warp : !Rb
        %nx = arith.xori %exact, %true : i1
        %bad = arith.andi %bad0, %nx : i1
        scf.if %bad {                                    // warps of a replica write the same 1
          frag.st_words (%c1) to %xw[%xp] lane %rank : !verdict
        }
        frag.mbar_arrive %xf[%xp] lane %rank : !bars3
        %xp1 = frag.next %xp : !pos3
        // O / l and LSE.  Dead rows and failed warps store nothing.
        %good = arith.xori %bad, %true : i1
        %wr = frag.map (%_x = %rm#0 : !Rb) at (%_r) -> !Rb {
          %_y = arith.andi %_x, %good : i1
          frag.yield %_y : i1
        }
        %il:2 = frag.map (%_x = %lq : !R, %_m = %st#1 : !R) at (%_r) -> !R, !R {
          %_e = arith.cmpf oeq, %_x, %zero : f32
          %_rc = arith.divf %one, %_x : f32
          %_inv = arith.select %_e, %zero, %_rc : f32
          %_lg = math.log2 %_x : f32
          %_a = math.fma %_m, %c, %_lg : f32
          %_b = arith.mulf %_a, %ln2 : f32
          %_ls = arith.select %_e, %ninf, %_b : f32
          frag.yield %_inv, %_ls : f32, f32
        }
        %On = frag.map (%_x = %st#0 : !S, %_y = %il#0 : !R) at (%_r, %_col) -> !S {
          %_z2 = arith.mulf %_x, %_y : f32
          frag.yield %_z2 : f32
        }
        %direct = arith.cmpi slt, %slot, %c0 : i32
        scf.if %direct {
          %Ob = frag.pack %On : !S -> !Ob
          %Oe = frag.quad_transpose %Ob : !Ob -> !Oe
          %op = frag.param "o" at 24 : !frag.ptr<bf16>
          %ob = frag.param "o_strides.batch" at 136 : i64
          %ot = frag.param "o_strides.token" at 144 : i64
          %oh = frag.param "o_strides.head" at 152 : i64
          %req64 = arith.extsi %req : i32 to i64
          %obase = arith.muli %req64, %ob : i64
          %off = frag.map (%_x = %rm#1 : !Ri, %_h = %rm#2 : !Ri) at (%_r) -> !Rl {
            %_t = arith.addi %_x, %q_begin : i32
            %_t64 = arith.extsi %_t : i32 to i64
            %_h64 = arith.extsi %_h : i32 to i64
            %_a = arith.muli %_t64, %ot : i64
            %_b = arith.muli %_h64, %oh : i64
            %_ab2 = arith.addi %_a, %_b : i64
            %_y = arith.addi %obase, %_ab2 : i64
            frag.yield %_y : i64
          }
          frag.store %Oe, %op, %off, %wr : !Oe, !frag.ptr<bf16>, !Rl, !Rb
          %l0 = arith.constant 0 : i64
          %lse64 = frag.param "lse" at 32 : i64
          %wanted = arith.cmpi ne, %lse64, %l0 : i64
          scf.if %wanted {
            %lp = frag.param "lse" at 32 : !frag.ptr<f32>
            %lb = frag.param "lse_strides.batch" at 160 : i64
            %lt = frag.param "lse_strides.token" at 168 : i64
            %lh = frag.param "lse_strides.head" at 176 : i64
            %lbase = arith.muli %req64, %lb : i64
            %loff = frag.map (%_x = %rm#1 : !Ri, %_h = %rm#2 : !Ri) at (%_r) -> !Rl {
              %_t = arith.addi %_x, %q_begin : i32
              %_t64 = arith.extsi %_t : i32 to i64
              %_h64 = arith.extsi %_h : i32 to i64
              %_a = arith.muli %_t64, %lt : i64
              %_b = arith.muli %_h64, %lh : i64
              %_ab2 = arith.addi %_a, %_b : i64
              %_y = arith.addi %lbase, %_ab2 : i64
              frag.yield %_y : i64
            }
            frag.store_vec %il#1, %lp, %loff, %wr : !R, !frag.ptr<f32>, !Rl, !Rb
          }
        } else {
          %pp = frag.param "partial_o" at 48 : !frag.ptr<f32>
          %pl = frag.param "partial_rows" at 56 : !frag.ptr<f32>
          %slot64 = arith.extsi %slot : i32 to i64
          %srow = arith.muli %slot64, %l128 : i64
          %off:3 = frag.map () at (%_r) -> !Rl, !Rl, !Rl {
            %_tr = arith.addi %rbase, %_r : i32
            %_tr64 = arith.extsi %_tr : i32 to i64
            %_row = arith.addi %srow, %_tr64 : i64
            %_el = arith.muli %_row, %l128 : i64
            %_m = arith.addi %_row, %srow : i64
            %_l = arith.addi %_m, %l128 : i64
            frag.yield %_el, %_m, %_l : i64, i64, i64
          }
          frag.store %st#0, %pp, %off#0, %wr : !S, !frag.ptr<f32>, !Rl, !Rb
          frag.store_vec %st#1, %pl, %off#1, %wr : !R, !frag.ptr<f32>, !Rl, !Rb
          frag.store_vec %lq, %pl, %off#2, %wr : !R, !frag.ptr<f32>, !Rl, !Rb
        }
        scf.yield %st#3, %st#4, %st#5, %wp, %xp1 : !pos2, !pos2, !pos2, !pos2, !pos3
      }
    }
    frag.return
  }

  // Merges the partials of split rows.
  frag.kernel @prefill_merge threads 256 smem 0 params 640 attributes {target = "sm_90a"} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %none = arith.constant -1 : i32
    %l0 = arith.constant 0 : i64
    %l1 = arith.constant 1 : i64
    %l2 = arith.constant 2 : i64
    %l3 = arith.constant 3 : i64
    %l4 = arith.constant 4 : i64
    %l5 = arith.constant 5 : i64
    %l8 = arith.constant 8 : i64
    %l9 = arith.constant 9 : i64
    %l10 = arith.constant 10 : i64
    %l128 = arith.constant 128 : i64
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %ninf = arith.constant 0xFF800000 : f32
    %log2e = arith.constant 1.44269502 : f32
    %scale = frag.param "scale" at 192 : f32
    %c = arith.mulf %scale, %log2e : f32
    %ln2 = arith.constant 0.693147182 : f32
    %plan = frag.param "plan" at 40 : !frag.ptr<i32>
    %merges = frag.load_scalar %plan[%l2] : !frag.ptr<i32>
    %merges_at = frag.load_scalar %plan[%l9] : !frag.ptr<i32>
    %requests_at = frag.load_scalar %plan[%l10] : !frag.ptr<i32>
    %pp = frag.param "partial_o" at 48 : !frag.ptr<f32>
    %pl = frag.param "partial_rows" at 56 : !frag.ptr<f32>
    %op = frag.param "o" at 24 : !frag.ptr<bf16>
    %ob = frag.param "o_strides.batch" at 136 : i64
    %ot = frag.param "o_strides.token" at 144 : i64
    %oh = frag.param "o_strides.head" at 152 : i64
    %lp = frag.param "lse" at 32 : !frag.ptr<f32>
    %lse64 = frag.param "lse" at 32 : i64
    %lb = frag.param "lse_strides.batch" at 160 : i64
    %lt = frag.param "lse_strides.token" at 168 : i64
    %lh = frag.param "lse_strides.head" at 176 : i64
    %first = frag.cta_id
    %step = frag.cta_count
    scf.for %word = %first to %merges step %step : i32 {
      %a0 = arith.shrui %merges_at, %c2 : i32
      %a1 = arith.extui %a0 : i32 to i64
      %a2 = arith.extui %word : i32 to i64
      %a3 = arith.muli %a2, %l8 : i64
      %a = arith.addi %a1, %a3 : i64
      %item = frag.offset %plan[%a] : !frag.ptr<i32>
      %req = frag.load_scalar %item[%l0] : !frag.ptr<i32>
      %head = frag.load_scalar %item[%l1] : !frag.ptr<i32>
      %row0 = frag.load_scalar %item[%l2] : !frag.ptr<i32>
      %nrows = frag.load_scalar %item[%l3] : !frag.ptr<i32>
      %slot = frag.load_scalar %item[%l4] : !frag.ptr<i32>
      %count = frag.load_scalar %item[%l5] : !frag.ptr<i32>
      %r0 = arith.shrui %requests_at, %c2 : i32
      %r1 = arith.extui %r0 : i32 to i64
      %req64 = arith.extsi %req : i32 to i64
      %r3 = arith.muli %req64, %l4 : i64
      %r4 = arith.addi %r1, %r3 : i64
      %q_begin = frag.load_scalar %plan[%r4] : !frag.ptr<i32>
      %live = frag.map () at (%_r) -> !Vb {
        %_y = arith.cmpi slt, %_r, %nrows : i32
        frag.yield %_y : i1
      }
      %T0 = frag.splat %zero : f32 -> !T
      %M0 = frag.splat %ninf : f32 -> !V
      %L0 = frag.splat %zero : f32 -> !V
      %end = arith.addi %slot, %count : i32
      %state:3 = scf.for %s = %slot to %end step %c1 iter_args(%ta = %T0, %ma = %M0, %la = %L0) -> (!T, !V, !V) : i32 {
        %s64 = arith.extsi %s : i32 to i64
        %srow = arith.muli %s64, %l128 : i64
        %off:3 = frag.map () at (%_r) -> !Vl, !Vl, !Vl {
          %_r64 = arith.extsi %_r : i32 to i64
          %_row = arith.addi %srow, %_r64 : i64
          %_el = arith.muli %_row, %l128 : i64
          %_m = arith.addi %_row, %srow : i64
          %_l = arith.addi %_m, %l128 : i64
          frag.yield %_el, %_m, %_l : i64, i64, i64
        }
        %tb = frag.load %pp, %off#0, %live : !frag.ptr<f32>, !Vl, !Vb -> !T
        %mb0 = frag.load_vec %pl, %off#1, %live : !frag.ptr<f32>, !Vl, !Vb -> !V
        %lb0 = frag.load_vec %pl, %off#2, %live : !frag.ptr<f32>, !Vl, !Vb -> !V
        // Dead rows read as 0 and are not stored.
        %f:4 = frag.map (%_x = %ma : !V, %_y = %mb0 : !V, %_lx = %la : !V, %_ly = %lb0 : !V) at (%_r) -> !V, !V, !V, !V {
          %_mx = arith.maxnumf %_x, %_y : f32
          %_e = arith.cmpf oeq, %_mx, %ninf : f32
          %_ref = arith.select %_e, %zero, %_mx : f32
          %_dx = arith.subf %_x, %_ref : f32
          %_cx = arith.mulf %_dx, %c : f32
          %_wx = math.exp2 %_cx : f32
          %_dy = arith.subf %_y, %_ref : f32
          %_cy = arith.mulf %_dy, %c : f32
          %_wy = math.exp2 %_cy : f32
          %_sy = arith.mulf %_ly, %_wy : f32
          %_sum = math.fma %_lx, %_wx, %_sy : f32
          frag.yield %_wx, %_wy, %_mx, %_sum : f32, f32, f32, f32
        }
        %tc = frag.map (%_x = %ta : !T, %_y = %tb : !T, %_fx = %f#0 : !V, %_fy = %f#1 : !V) at (%_r, %_col) -> !T {
          %_yf = arith.mulf %_y, %_fy : f32
          %_z2 = math.fma %_x, %_fx, %_yf : f32
          frag.yield %_z2 : f32
        }
        scf.yield %tc, %f#2, %f#3 : !T, !V, !V
      }
      %il:2 = frag.map (%_x = %state#2 : !V, %_m = %state#1 : !V) at (%_r) -> !V, !V {
        %_e = arith.cmpf oeq, %_x, %zero : f32
        %_rc = arith.divf %one, %_x : f32
        %_inv = arith.select %_e, %zero, %_rc : f32
        %_lg = math.log2 %_x : f32
        %_a = math.fma %_m, %c, %_lg : f32
        %_b = arith.mulf %_a, %ln2 : f32
        %_ls = arith.select %_e, %ninf, %_b : f32
        frag.yield %_inv, %_ls : f32, f32
      }
      %whole = frag.map (%_x = %state#0 : !T, %_y = %il#0 : !V) at (%_r, %_col) -> !T {
        %_z2 = arith.mulf %_x, %_y : f32
        frag.yield %_z2 : f32
      }
      %packed = frag.pack %whole : !T -> !Tb
      %obase = arith.muli %req64, %ob : i64
      %lbase = arith.muli %req64, %lb : i64
      %off:2 = frag.map () at (%_r) -> !Vl, !Vl {
        %_t = arith.addi %row0, %_r : i32
        %_tok = arith.shrsi %_t, %c2 : i32
        %_g = arith.andi %_t, %c3 : i32
        %_h0 = arith.muli %head, %c4 : i32
        %_h = arith.addi %_h0, %_g : i32
        %_tq = arith.addi %_tok, %q_begin : i32
        %_t64 = arith.extsi %_tq : i32 to i64
        %_h64 = arith.extsi %_h : i32 to i64
        %_ta = arith.muli %_t64, %ot : i64
        %_ha = arith.muli %_h64, %oh : i64
        %_ra = arith.addi %_ta, %_ha : i64
        %_o = arith.addi %obase, %_ra : i64
        %_tl = arith.muli %_t64, %lt : i64
        %_hl = arith.muli %_h64, %lh : i64
        %_rl = arith.addi %_tl, %_hl : i64
        %_l = arith.addi %lbase, %_rl : i64
        frag.yield %_o, %_l : i64, i64
      }
      frag.store %packed, %op, %off#0, %live : !Tb, !frag.ptr<bf16>, !Vl, !Vb
      %wanted = arith.cmpi ne, %lse64, %l0 : i64
      scf.if %wanted {
        frag.store_vec %il#1, %lp, %off#1, %live : !V, !frag.ptr<f32>, !Vl, !Vb
      }
    }
    frag.return
  }
}
