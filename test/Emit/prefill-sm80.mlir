// RUN: attn-translate --attn-to-ptx %s | FileCheck %s
// A whole prefill kernel, causal, head dimension 128, four query heads a KV head
// packed into the rows, softmax = exact: what pipe-to-frag makes, written by
// hand.  Two loops: masked blocks, then full ones.

// CHECK: .version 7.7
// CHECK: .target sm_80
// CHECK: .extern .shared .align 1024 .b8 attn_shared[];
// CHECK: .entry prefill(
// CHECK-NEXT: .param .align 16 .b8 prefill_param_0[200]
// CHECK-NOT: .local
// CHECK: .reqntid 256, 1, 1
// CHECK-NOT: .local
// CHECK: ret;

// 2 loops of 64 + 64 MMAs, 32 + 32 loads of K and V; Q is loaded once: 8.
// RUN: attn-translate --attn-to-ptx %s | grep -c 'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32' | FileCheck %s --check-prefix=MMA
// MMA: {{^}}256
// RUN: attn-translate --attn-to-ptx %s | grep -c 'ldmatrix.sync.aligned.m8n8.x4.shared' | FileCheck %s --check-prefix=LDK
// LDK: {{^}}72
// RUN: attn-translate --attn-to-ptx %s | grep -c 'ldmatrix.sync.aligned.m8n8.x4.trans.shared' | FileCheck %s --check-prefix=LDV
// LDV: {{^}}64
// 32 exponentials of elements and 2 of rows a loop.
// RUN: attn-translate --attn-to-ptx %s | grep -c 'ex2.approx.ftz.f32' | FileCheck %s --check-prefix=EX2
// EX2: {{^}}68
// 8 copies of Q, 4 of K and 4 of V before the loops and in each.
// RUN: attn-translate --attn-to-ptx %s | grep -c 'cp.async.cg.shared.global' | FileCheck %s --check-prefix=CP
// CP: {{^}}32

#C = #frag.layout<"mma_c", warps = 8>
#A = #frag.layout<"mma_a", warps = 8>
!S = !frag.reg<128x64xf32, #C>
!P = !frag.reg<128x64xbf16, #A>
!Qa = !frag.reg<128x128xbf16, #A>
!O = !frag.reg<128x128xf32, #C>
!Oh = !frag.reg<128x128xbf16, #C>
!R = !frag.vec<128xf32, #C>
!Rp = !frag.vec<128xf32, #C, partial>
!Ri = !frag.vec<128xi32, #C>
!Rl = !frag.vec<128xi64, #C>
!Rb = !frag.vec<128xi1, #C>
!ring = !frag.ring<64x128xbf16, swizzle = 128, slots = 2>
!qring = !frag.ring<128x128xbf16, swizzle = 128, slots = 1>
!pos1 = !frag.pos<slots = 1>
!pos2 = !frag.pos<slots = 2>

frag.kernel @prefill threads 256 smem 98304 params 200 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %six = arith.constant 6 : i32
  %c63 = arith.constant 63 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c256 = arith.constant 256 : i32
  %one_w = arith.constant 1 : i64
  %two_w = arith.constant 2 : i64
  %three_w = arith.constant 3 : i64
  %four_w = arith.constant 4 : i64
  %five_w = arith.constant 5 : i64
  %six_w = arith.constant 6 : i64
  %eight_w = arith.constant 8 : i64
  %ten_w = arith.constant 10 : i64
  %zero_w = arith.constant 0 : i64
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %log2e = arith.constant 1.44269502 : f32
  %scale = frag.param "scale" at 192 : f32
  %c = arith.mulf %scale, %log2e : f32
  %q = frag.param "q" at 0 : !frag.ptr<bf16>
  %k_all = frag.param "k" at 8 : !frag.ptr<bf16>
  %v_all = frag.param "v" at 16 : !frag.ptr<bf16>
  %o = frag.param "o" at 24 : !frag.ptr<bf16>
  %lse = frag.param "lse" at 32 : !frag.ptr<f32>
  %lse_bits = frag.param "lse" at 32 : i64
  %plan = frag.param "plan" at 40 : !frag.ptr<i32>
  %partial_o = frag.param "partial_o" at 48 : !frag.ptr<f32>
  %partial_rows = frag.param "partial_rows" at 56 : !frag.ptr<f32>
  %q_batch = frag.param "q_strides.batch" at 64 : i64
  %q_token = frag.param "q_strides.token" at 72 : i64
  %q_head = frag.param "q_strides.head" at 80 : i64
  %k_batch = frag.param "k_strides.batch" at 88 : i64
  %k_token = frag.param "k_strides.token" at 96 : i64
  %k_head = frag.param "k_strides.head" at 104 : i64
  %v_batch = frag.param "v_strides.batch" at 112 : i64
  %v_token = frag.param "v_strides.token" at 120 : i64
  %v_head = frag.param "v_strides.head" at 128 : i64
  %o_batch = frag.param "o_strides.batch" at 136 : i64
  %o_token = frag.param "o_strides.token" at 144 : i64
  %o_head = frag.param "o_strides.head" at 152 : i64
  %lse_batch = frag.param "lse_strides.batch" at 160 : i64
  %lse_token = frag.param "lse_strides.token" at 168 : i64
  %lse_head = frag.param "lse_strides.head" at 176 : i64
  %items = frag.load_scalar %plan[%one_w] : !frag.ptr<i32>
  %items_bytes = frag.load_scalar %plan[%eight_w] : !frag.ptr<i32>
  %requests_bytes = frag.load_scalar %plan[%ten_w] : !frag.ptr<i32>
  %items_word = arith.shrui %items_bytes, %c2 : i32
  %items_index = arith.extui %items_word : i32 to i64
  %item_list = frag.offset %plan[%items_index] : !frag.ptr<i32>
  %requests_word = arith.shrui %requests_bytes, %c2 : i32
  %requests_index = arith.extui %requests_word : i32 to i64
  %request_list = frag.offset %plan[%requests_index] : !frag.ptr<i32>
  %qr = frag.smem "q" at 0 : !qring
  %kr = frag.smem "k" at 32768 : !ring
  %vr = frag.smem "v" at 65536 : !ring
  %p1 = frag.pos phase 0 : !pos1
  %p2 = frag.pos phase 0 : !pos2
  %first = frag.cta_id
  %ctas = frag.cta_count

  scf.while (%w = %first) : (i32) -> i32 {
    %go = arith.cmpi slt, %w, %items : i32
    scf.condition(%go) %w : i32
  } do {
  ^bb0(%w: i32):
    %w64 = arith.extsi %w : i32 to i64
    %item_index = arith.muli %w64, %eight_w : i64
    %item = frag.offset %item_list[%item_index] : !frag.ptr<i32>
    %request = frag.load_scalar %item[%zero_w] : !frag.ptr<i32>
    %head = frag.load_scalar %item[%one_w] : !frag.ptr<i32>
    %row0 = frag.load_scalar %item[%two_w] : !frag.ptr<i32>
    %rows = frag.load_scalar %item[%three_w] : !frag.ptr<i32>
    %kv_begin = frag.load_scalar %item[%four_w] : !frag.ptr<i32>
    %kv_end = frag.load_scalar %item[%five_w] : !frag.ptr<i32>
    %slot = frag.load_scalar %item[%six_w] : !frag.ptr<i32>
    %request64 = arith.extsi %request : i32 to i64
    %record_index = arith.muli %request64, %four_w : i64
    %record = frag.offset %request_list[%record_index] : !frag.ptr<i32>
    %q_row = frag.load_scalar %record[%zero_w] : !frag.ptr<i32>
    %q_len = frag.load_scalar %record[%one_w] : !frag.ptr<i32>
    %kv_row = frag.load_scalar %record[%two_w] : !frag.ptr<i32>
    %kv_len = frag.load_scalar %record[%three_w] : !frag.ptr<i32>
    %shift = arith.subi %kv_len, %q_len : i32
    %head64 = arith.extsi %head : i32 to i64

    // Rows of the tile: live, token, query head, position.
    %live = frag.map () at (%r) -> !Rb {
      %x = arith.cmpi slt, %r, %rows : i32
      frag.yield %x : i1
    }
    %position = frag.map () at (%r) -> !Ri {
      %t = arith.addi %row0, %r : i32
      %token = arith.shrui %t, %c2 : i32
      %x = arith.addi %token, %shift : i32
      frag.yield %x : i32
    }

    // Bases of the request and the KV head.
    %k_off0 = arith.muli %request64, %k_batch : i64
    %k_off1 = arith.muli %head64, %k_head : i64
    %k_off = arith.addi %k_off0, %k_off1 : i64
    %k = frag.offset %k_all[%k_off] : !frag.ptr<bf16>
    %v_off0 = arith.muli %request64, %v_batch : i64
    %v_off1 = arith.muli %head64, %v_head : i64
    %v_off = arith.addi %v_off0, %v_off1 : i64
    %v = frag.offset %v_all[%v_off] : !frag.ptr<bf16>
    %q_off = arith.muli %request64, %q_batch : i64

    // Blocks: [0, full) without a mask, [full, blocks) masked.
    %last_t0 = arith.addi %row0, %rows : i32
    %last_t = arith.subi %last_t0, %c1 : i32
    %last_token = arith.shrui %last_t, %c2 : i32
    %last_q = arith.addi %last_token, %shift : i32
    %last_key = arith.addi %last_q, %c1 : i32
    %end = arith.minsi %last_key, %kv_end : i32
    %len = arith.subi %end, %kv_begin : i32
    %up = arith.addi %len, %c63 : i32
    %blocks0 = arith.shrsi %up, %six : i32
    %blocks = arith.maxsi %blocks0, %c0 : i32
    %first_token = arith.shrui %row0, %c2 : i32
    %first_q = arith.addi %first_token, %shift : i32
    %first_key = arith.addi %first_q, %c1 : i32
    %whole0 = arith.minsi %first_key, %kv_end : i32
    %whole1 = arith.subi %whole0, %kv_begin : i32
    %whole2 = arith.shrsi %whole1, %six : i32
    %whole3 = arith.maxsi %whole2, %c0 : i32
    %full = arith.minsi %whole3, %blocks : i32

    %m0 = frag.splat %ninf : f32 -> !R
    %l0 = frag.splat %zero : f32 -> !Rp
    %O0 = frag.splat %zero : f32 -> !O
    %some = arith.cmpi sgt, %blocks, %c0 : i32
    %state:3 = scf.if %some -> (!R, !Rp, !O) {
        frag.cta_sync
        frag.cp_async %q into %qr[%p1] row (%r) : !frag.ptr<bf16>, !qring {
          %t = arith.addi %row0, %r : i32
          %token = arith.shrui %t, %c2 : i32
          %in_group = arith.andi %t, %c3 : i32
          %group0 = arith.shli %head, %c2 : i32
          %h = arith.addi %group0, %in_group : i32
          %row = arith.addi %q_row, %token : i32
          %row64 = arith.extsi %row : i32 to i64
          %h64 = arith.extsi %h : i32 to i64
          %off0 = arith.muli %row64, %q_token : i64
          %off1 = arith.muli %h64, %q_head : i64
          %off2 = arith.addi %off0, %off1 : i64
          %off = arith.addi %off2, %q_off : i64
          %valid = arith.cmpi slt, %r, %rows : i32
          frag.yield %off, %valid : i64, i1
        }
        frag.cp_async_commit
        %last = arith.subi %blocks, %c1 : i32
        %last64 = arith.muli %last, %c64 : i32
        %last_k0 = arith.addi %kv_begin, %last64 : i32
        frag.cp_async %k into %kr[%p2] row (%r) : !frag.ptr<bf16>, !ring {
          %key = arith.addi %last_k0, %r : i32
          %token = arith.addi %kv_row, %key : i32
          %token64 = arith.extsi %token : i32 to i64
          %offset = arith.muli %token64, %k_token : i64
          %valid = arith.cmpi slt, %key, %kv_end : i32
          frag.yield %offset, %valid : i64, i1
        }
        frag.cp_async %v into %vr[%p2] row (%r) : !frag.ptr<bf16>, !ring {
          %key = arith.addi %last_k0, %r : i32
          %token = arith.addi %kv_row, %key : i32
          %token64 = arith.extsi %token : i32 to i64
          %offset = arith.muli %token64, %v_token : i64
          %valid = arith.cmpi slt, %key, %kv_end : i32
          frag.yield %offset, %valid : i64, i1
        }
        frag.cp_async_commit
        %pp0 = frag.next %p2 : !pos2
        frag.cp_async_wait pending 1
        frag.cta_sync
        %qa = frag.ldmatrix %qr[%p1] : !qring -> !Qa
        %n_masked = arith.subi %blocks, %full : i32
        %masked:5 = scf.for %t = %c0 to %n_masked step %c1 iter_args(%m = %m0, %l = %l0, %O = %O0, %kp = %p2, %pp = %pp0) -> (!R, !Rp, !O, !pos2, !pos2) : i32 {
          %down = arith.subi %blocks, %t : i32
          %j = arith.subi %down, %c1 : i32
          %j64 = arith.muli %j, %c64 : i32
          %k0 = arith.addi %kv_begin, %j64 : i32
          frag.cp_async_wait pending 0
          frag.cta_sync
          %more = arith.cmpi sgt, %j, %c0 : i32
          %pp1 = scf.if %more -> (!pos2) {
            %next_k0 = arith.subi %k0, %c64 : i32
            frag.cp_async %k into %kr[%pp] row (%r) : !frag.ptr<bf16>, !ring {
              %key = arith.addi %next_k0, %r : i32
              %token = arith.addi %kv_row, %key : i32
              %token64 = arith.extsi %token : i32 to i64
              %offset = arith.muli %token64, %k_token : i64
              %valid = arith.cmpi slt, %key, %kv_end : i32
              frag.yield %offset, %valid : i64, i1
            }
            frag.cp_async %v into %vr[%pp] row (%r) : !frag.ptr<bf16>, !ring {
              %key = arith.addi %next_k0, %r : i32
              %token = arith.addi %kv_row, %key : i32
              %token64 = arith.extsi %token : i32 to i64
              %offset = arith.muli %token64, %v_token : i64
              %valid = arith.cmpi slt, %key, %kv_end : i32
              frag.yield %offset, %valid : i64, i1
            }
            frag.cp_async_commit
            %nx = frag.next %pp : !pos2
            scf.yield %nx : !pos2
          } else {
            scf.yield %pp : !pos2
          }
          %S0 = frag.mma "mma.m16n8k16" nk %qa, %kr[%kp] : !Qa, !ring -> !S
          %S1 = frag.map (%x = %S0 : !S, %at = %position : !Ri) at (%row, %col) -> !S {
            %key = arith.addi %k0, %col : i32
            %causal = arith.cmpi sge, %at, %key : i32
            %inside = arith.cmpi slt, %key, %kv_len : i32
            %in = arith.andi %causal, %inside : i1
            %y = arith.select %in, %x, %ninf : f32
            frag.yield %y : f32
          }
          %mx = frag.reduce_row max row %S1 : !S -> !R
          %m1 = frag.map (%x = %m : !R, %y = %mx : !R) at (%row) -> !R {
            %z = arith.maxnumf %x, %y : f32
            frag.yield %z : f32
          }
          %alpha = frag.map (%x = %m : !R, %y = %m1 : !R) at (%row) -> !R {
            %empty = arith.cmpf oeq, %y, %ninf : f32
            %d = arith.subf %x, %y : f32
            %z = arith.mulf %d, %c : f32
            %e = math.exp2 %z : f32
            %u = arith.select %empty, %one, %e : f32
            frag.yield %u : f32
          }
          %bias = frag.map (%x = %m1 : !R) at (%row) -> !R {
            %empty = arith.cmpf oeq, %x, %ninf : f32
            %z = arith.mulf %x, %c : f32
            %n = arith.negf %z : f32
            %u = arith.select %empty, %zero, %n : f32
            frag.yield %u : f32
          }
          %p = frag.map (%x = %S1 : !S, %b = %bias : !R) at (%row, %col) -> !S {
            %y = math.fma %x, %c, %b : f32
            %z = math.exp2 %y : f32
            frag.yield %z : f32
          }
          %share = frag.reduce_row sum thread %p : !S -> !Rp
          %l1 = frag.map (%x = %l : !Rp, %y = %alpha : !R, %z = %share : !Rp) at (%row) -> !Rp {
            %s = math.fma %x, %y, %z : f32
            frag.yield %s : f32
          }
          %P = frag.pack %p : !S -> !P
          %Or = frag.map (%x = %O : !O, %y = %alpha : !R) at (%row, %col) -> !O {
            %z = arith.mulf %x, %y : f32
            frag.yield %z : f32
          }
          %O1 = frag.mma "mma.m16n8k16" kn %P, %vr[%kp] acc %Or : !P, !ring acc !O -> !O
          %kp1 = frag.next %kp : !pos2
          scf.yield %m1, %l1, %O1, %kp1, %pp1 : !R, !Rp, !O, !pos2, !pos2
        }
        %n_plain = arith.subi %full, %c0 : i32
        %plain:5 = scf.for %t = %c0 to %n_plain step %c1 iter_args(%m = %masked#0, %l = %masked#1, %O = %masked#2, %kp = %masked#3, %pp = %masked#4) -> (!R, !Rp, !O, !pos2, !pos2) : i32 {
          %down = arith.subi %full, %t : i32
          %j = arith.subi %down, %c1 : i32
          %j64 = arith.muli %j, %c64 : i32
          %k0 = arith.addi %kv_begin, %j64 : i32
          frag.cp_async_wait pending 0
          frag.cta_sync
          %more = arith.cmpi sgt, %j, %c0 : i32
          %pp1 = scf.if %more -> (!pos2) {
            %next_k0 = arith.subi %k0, %c64 : i32
            frag.cp_async %k into %kr[%pp] row (%r) : !frag.ptr<bf16>, !ring {
              %key = arith.addi %next_k0, %r : i32
              %token = arith.addi %kv_row, %key : i32
              %token64 = arith.extsi %token : i32 to i64
              %offset = arith.muli %token64, %k_token : i64
              %valid = arith.cmpi slt, %key, %kv_end : i32
              frag.yield %offset, %valid : i64, i1
            }
            frag.cp_async %v into %vr[%pp] row (%r) : !frag.ptr<bf16>, !ring {
              %key = arith.addi %next_k0, %r : i32
              %token = arith.addi %kv_row, %key : i32
              %token64 = arith.extsi %token : i32 to i64
              %offset = arith.muli %token64, %v_token : i64
              %valid = arith.cmpi slt, %key, %kv_end : i32
              frag.yield %offset, %valid : i64, i1
            }
            frag.cp_async_commit
            %nx = frag.next %pp : !pos2
            scf.yield %nx : !pos2
          } else {
            scf.yield %pp : !pos2
          }
          %S0 = frag.mma "mma.m16n8k16" nk %qa, %kr[%kp] : !Qa, !ring -> !S
          %mx = frag.reduce_row max row %S0 : !S -> !R
          %m1 = frag.map (%x = %m : !R, %y = %mx : !R) at (%row) -> !R {
            %z = arith.maxnumf %x, %y : f32
            frag.yield %z : f32
          }
          %alpha = frag.map (%x = %m : !R, %y = %m1 : !R) at (%row) -> !R {
            %empty = arith.cmpf oeq, %y, %ninf : f32
            %d = arith.subf %x, %y : f32
            %z = arith.mulf %d, %c : f32
            %e = math.exp2 %z : f32
            %u = arith.select %empty, %one, %e : f32
            frag.yield %u : f32
          }
          %bias = frag.map (%x = %m1 : !R) at (%row) -> !R {
            %empty = arith.cmpf oeq, %x, %ninf : f32
            %z = arith.mulf %x, %c : f32
            %n = arith.negf %z : f32
            %u = arith.select %empty, %zero, %n : f32
            frag.yield %u : f32
          }
          %p = frag.map (%x = %S0 : !S, %b = %bias : !R) at (%row, %col) -> !S {
            %y = math.fma %x, %c, %b : f32
            %z = math.exp2 %y : f32
            frag.yield %z : f32
          }
          %share = frag.reduce_row sum thread %p : !S -> !Rp
          %l1 = frag.map (%x = %l : !Rp, %y = %alpha : !R, %z = %share : !Rp) at (%row) -> !Rp {
            %s = math.fma %x, %y, %z : f32
            frag.yield %s : f32
          }
          %P = frag.pack %p : !S -> !P
          %Or = frag.map (%x = %O : !O, %y = %alpha : !R) at (%row, %col) -> !O {
            %z = arith.mulf %x, %y : f32
            frag.yield %z : f32
          }
          %O1 = frag.mma "mma.m16n8k16" kn %P, %vr[%kp] acc %Or : !P, !ring acc !O -> !O
          %kp1 = frag.next %kp : !pos2
          scf.yield %m1, %l1, %O1, %kp1, %pp1 : !R, !Rp, !O, !pos2, !pos2
        }
        scf.yield %plain#0, %plain#1, %plain#2 : !R, !Rp, !O
    } else {
      scf.yield %m0, %l0, %O0 : !R, !Rp, !O
    }

    // Finish: O / l and the natural LSE; an empty row gives 0 and -inf.
    %l = frag.reduce_quad %state#1 : !Rp -> !R
    %inverse = frag.map (%x = %l : !R) at (%r) -> !R {
      %empty = arith.cmpf oeq, %x, %zero : f32
      %y = arith.divf %one, %x : f32
      %z = arith.select %empty, %zero, %y : f32
      frag.yield %z : f32
    }
    %On = frag.map (%x = %state#2 : !O, %y = %inverse : !R) at (%r, %col) -> !O {
      %z = arith.mulf %x, %y : f32
      frag.yield %z : f32
    }
    %logsum = frag.map (%m = %state#0 : !R, %x = %l : !R) at (%r) -> !R {
      %empty = arith.cmpf oeq, %x, %zero : f32
      %log = math.log %x : f32
      %y = arith.mulf %m, %scale : f32
      %z = arith.addf %y, %log : f32
      %u = arith.select %empty, %ninf, %z : f32
      frag.yield %u : f32
    }
    %direct = arith.cmpi slt, %slot, %c0 : i32
    scf.if %direct {
      %Oh = frag.pack %On : !O -> !Oh
      %o_offsets = frag.map () at (%r) -> !Rl {
        %t = arith.addi %row0, %r : i32
        %token = arith.shrui %t, %c2 : i32
        %in_group = arith.andi %t, %c3 : i32
        %group0 = arith.shli %head, %c2 : i32
        %h = arith.addi %group0, %in_group : i32
        %row = arith.addi %q_row, %token : i32
        %row64 = arith.extsi %row : i32 to i64
        %h64 = arith.extsi %h : i32 to i64
        %off0 = arith.muli %row64, %o_token : i64
        %off1 = arith.muli %h64, %o_head : i64
        %off2 = arith.addi %off0, %off1 : i64
        %off3 = arith.muli %request64, %o_batch : i64
        %off = arith.addi %off2, %off3 : i64
        frag.yield %off : i64
      }
      frag.store %Oh, %o, %o_offsets, %live : !Oh, !frag.ptr<bf16>, !Rl, !Rb
      %wanted = arith.cmpi ne, %lse_bits, %zero_w : i64
      scf.if %wanted {
        %lse_offsets = frag.map () at (%r) -> !Rl {
          %t = arith.addi %row0, %r : i32
          %token = arith.shrui %t, %c2 : i32
          %in_group = arith.andi %t, %c3 : i32
          %group0 = arith.shli %head, %c2 : i32
          %h = arith.addi %group0, %in_group : i32
          %row = arith.addi %q_row, %token : i32
          %row64 = arith.extsi %row : i32 to i64
          %h64 = arith.extsi %h : i32 to i64
          %off0 = arith.muli %row64, %lse_token : i64
          %off1 = arith.muli %h64, %lse_head : i64
          %off2 = arith.addi %off0, %off1 : i64
          %off3 = arith.muli %request64, %lse_batch : i64
          %off = arith.addi %off2, %off3 : i64
          frag.yield %off : i64
        }
        frag.store_vec %logsum, %lse, %lse_offsets, %live : !R, !frag.ptr<f32>, !Rl, !Rb
      }
    } else {
      %slot_rows = frag.map () at (%r) -> !Rl {
        %tile = arith.muli %slot, %c128 : i32
        %row = arith.addi %tile, %r : i32
        %row64 = arith.extsi %row : i32 to i64
        frag.yield %row64 : i64
      }
      %slot_offsets = frag.map (%x = %slot_rows : !Rl) at (%r) -> !Rl {
        %dim = arith.constant 128 : i64
        %off = arith.muli %x, %dim : i64
        frag.yield %off : i64
      }
      // m and l of a slot: [2][128].
      %parts:2 = frag.map () at (%r) -> !Rl, !Rl {
        %tile = arith.muli %slot, %c256 : i32
        %row = arith.addi %tile, %r : i32
        %second = arith.addi %row, %c128 : i32
        %m64 = arith.extsi %row : i32 to i64
        %l64 = arith.extsi %second : i32 to i64
        frag.yield %m64, %l64 : i64, i64
      }
      frag.store %state#2, %partial_o, %slot_offsets, %live : !O, !frag.ptr<f32>, !Rl, !Rb
      frag.store_vec %state#0, %partial_rows, %parts#0, %live : !R, !frag.ptr<f32>, !Rl, !Rb
      frag.store_vec %l, %partial_rows, %parts#1, %live : !R, !frag.ptr<f32>, !Rl, !Rb
    }
    %next = arith.addi %w, %ctas : i32
    scf.yield %next : i32
  }
  frag.return
}
