// RUN: attn-opt --frag-to-nvvm --split-input-file --verify-diagnostics %s

frag.kernel @no_offset threads 32 smem 0 params 200 {
  // expected-error @below {{ring 'k' without an offset in shared memory}}
  %k = frag.smem "k" at -1 : !frag.ring<64x64xbf16, swizzle = 128, slots = 1>
  frag.return
}

// -----

frag.kernel @no_math threads 32 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  // expected-error @below {{'math.atan' op has no lowering for a GPU target}}
  %y = math.atan %x : f32
  frag.return
}

// -----

frag.kernel @half_math threads 32 smem 0 params 200 {
  %x = arith.constant 1.0 : bf16
  // expected-error @below {{'math.exp2' op has no lowering for 'bf16', only for f32}}
  %y = math.exp2 %x : bf16
  frag.return
}

// -----

!b = !frag.reg<16x8xbf16, #frag.layout<"mma_b", warps = 1>>
!offsets = !frag.vec<16xi64, #frag.layout<"mma_b", warps = 1>>
!live = !frag.vec<16xi1, #frag.layout<"mma_b", warps = 1>>

frag.kernel @load_pairs threads 32 smem 0 params 200 {
  %p = frag.param "o" at 24 : !frag.ptr<bf16>
  %zero = arith.constant 0 : i64
  %true = arith.constant true
  %offsets = frag.splat %zero : i64 -> !offsets
  %live = frag.splat %true : i1 -> !live
  // expected-error @below {{load needs pairs of neighbouring columns but layout #frag.layout<"mma_b", warps = 1> has 1}}
  // expected-error @below {{failed to legalize operation 'frag.load'}}
  %t = frag.load %p, %offsets, %live : !frag.ptr<bf16>, !offsets, !live -> !b
  frag.return
}

// -----

!b = !frag.reg<16x8xbf16, #frag.layout<"mma_b", warps = 1>>
!offsets = !frag.vec<16xi64, #frag.layout<"mma_b", warps = 1>>
!live = !frag.vec<16xi1, #frag.layout<"mma_b", warps = 1>>

frag.kernel @store_pairs threads 32 smem 0 params 200 {
  %p = frag.param "o" at 24 : !frag.ptr<bf16>
  %x = arith.constant 1.0 : bf16
  %zero = arith.constant 0 : i64
  %true = arith.constant true
  %t = frag.splat %x : bf16 -> !b
  %offsets = frag.splat %zero : i64 -> !offsets
  %live = frag.splat %true : i1 -> !live
  // expected-error @below {{store needs pairs of neighbouring columns but layout #frag.layout<"mma_b", warps = 1> has 1}}
  // expected-error @below {{failed to legalize operation 'frag.store'}}
  frag.store %t, %p, %offsets, %live : !b, !frag.ptr<bf16>, !offsets, !live
  frag.return
}

// -----

frag.kernel @no_bars threads 32 smem 0 params 200 {
  // expected-error @below {{barriers 'b' without an offset in shared memory}}
  %b = frag.bars "b" at -1 count 1 : !frag.bars<slots = 1>
  frag.return
}

// -----

frag.kernel @no_words threads 32 smem 0 params 200 {
  // expected-error @below {{words 'w' without an offset in shared memory}}
  %w = frag.words "w" at -1 : !frag.words<1, slots = 1>
  frag.return
}

// -----

frag.kernel @numbers threads 128 smem 0 params 200 {
  // expected-error @below {{role "b" has 2 warps from 1 on but threads are numbered by bits: a power of two of warps, from a multiple of it on}}
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 1, active = 1, replicas = 1>,
                      #frag.role<"b", first_warp = 1, warps = 2, active = 2, replicas = 1>] {
  }, {
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<64x64xbf16, swizzle = 128, slots = 1>
!view = !frag.view<64x64xbf16, swizzle = 128>

frag.kernel @far_view threads 128 smem 16384 params 200 {
  %q = frag.smem "q" at 0 : !ring
  %k = frag.smem "k" at 8192 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %c0 = arith.constant 0 : i32
  %true = arith.constant true
  %v0 = frag.view_rows %q[%p] from %c0 : !ring -> !view
  %v1 = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %v = arith.select %true, %v0, %v1 : !view
  // expected-error @below {{operand A must come from frag.view_rows itself}}
  // expected-error @below {{failed to legalize operation 'frag.wgmma'}}
  %f = frag.wgmma "wgmma.m64n64k16" nk %v, %k[%p] : !view, !ring -> !frag.inflight<64x64xf32, #C>
  %s = frag.wgmma_wait pending 0 %f : !frag.inflight<64x64xf32, #C>
  frag.return
}

// -----

!ring = !frag.ring<64x64xbf16, swizzle = 0, slots = 1>
!view = !frag.view<64x64xbf16, swizzle = 0>

frag.kernel @no_swizzle threads 128 smem 8192 params 200 {
  %q = frag.smem "q" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %c0 = arith.constant 0 : i32
  // expected-error @below {{wgmma reads tiles with a swizzle of 32, 64 or 128 bytes but this one has 0}}
  // expected-error @below {{failed to legalize operation 'frag.view_rows'}}
  %v = frag.view_rows %q[%p] from %c0 : !ring -> !view
  frag.return
}

// -----

// expected-error @below {{clusters are not built: cluster is 2 but must be 1}}
frag.kernel @cluster threads 32 smem 0 params 200 cluster = 2 {
  frag.return
}
