// RUN: attn-opt %s --pass-pipeline='builtin.module(frag.kernel(frag-verify))' --split-input-file --verify-diagnostics
// RUN: attn-opt %S/../../Sim/Inputs/prefill-sm90.frag.mlir --pass-pipeline='builtin.module(frag.kernel(frag-verify))' -o /dev/null

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @good threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.init %f : !bars
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    %p = frag.pos phase 0 : !frag.pos<slots = 2>
    %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
    frag.elect {
      frag.mbar_expect %f[%p] bytes 16384 : !bars
      frag.tma_load %t(%c0, %c0) into %k[%p] on %f[%p] : !tmap, !ring, !bars
    }
    frag.mbar_wait %f[%p] : !bars
    %a = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] : !view, !ring -> !AS
    %b = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] : !view, !ring -> !AS
    %s = frag.wgmma_wait pending 1 %a : !AS
    %u = frag.wgmma_wait pending 0 %b : !AS
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @no_offset threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  // expected-error @+1 {{words 'work' have no offset}}
  %w = frag.words "work" at -1 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.init %f : !bars
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @alignment threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  // expected-error @+1 {{barriers 'full' lie at 32804 which is not a multiple of 8}}
  %f = frag.bars "full" at 32804 count 1 : !bars
  frag.init %f : !bars
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @end threads 128 smem 32800 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  // expected-error @+1 {{barriers 'full' end at byte 32816 but the kernel has 32800}}
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.init %f : !bars
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @overlap threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  // expected-error @+1 {{barriers 'full' at 32768 overlap words 'work' at 32768 to 32800}}
  %f = frag.bars "full" at 32768 count 1 : !bars
  frag.init %f : !bars
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @not_initialised threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  // expected-error @+1 {{barriers 'full' are not initialised}}
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @twice threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  // expected-error @+1 {{barriers 'full' are initialised twice}}
  frag.init %f : !bars
  frag.init %f : !bars
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @init_in_if threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  %true = arith.constant true
  scf.if %true {
    // expected-error @+1 {{must be in the body of the kernel}}
    frag.init %f : !bars
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @early threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  // expected-error @+1 {{uses barriers 'full' before they are initialised}}
  frag.mbar_wait %f[%p] : !bars
  frag.init %f : !bars
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @bytes threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.init %f : !bars
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    %p = frag.pos phase 0 : !frag.pos<slots = 2>
    %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
    frag.elect {
      // expected-error @+1 {{expects 16400 bytes but the copies beside it bring 16384}}
      frag.mbar_expect %f[%p] bytes 16400 : !bars
      frag.tma_load %t(%c0, %c0) into %k[%p] on %f[%p] : !tmap, !ring, !bars
    }
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @no_wait threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.init %f : !bars
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    %p = frag.pos phase 0 : !frag.pos<slots = 2>
    %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
    // expected-error @+1 {{must be waited for once, in its own block}}
    %a = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] : !view, !ring -> !AS
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @other_block threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.init %f : !bars
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    %p = frag.pos phase 0 : !frag.pos<slots = 2>
    %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
    %true = arith.constant true
    // expected-error @+1 {{must be waited for once, in its own block}}
    %a = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] : !view, !ring -> !AS
    scf.if %true {
      %s = frag.wgmma_wait pending 0 %a : !AS
    }
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @pending threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.init %f : !bars
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    %p = frag.pos phase 0 : !frag.pos<slots = 2>
    %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
    %a = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] : !view, !ring -> !AS
    // expected-error @+1 {{leaves 1 products under way but only 0 are younger than the one it waits for}}
    %s = frag.wgmma_wait pending 1 %a : !AS
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @acc threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.init %f : !bars
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    %p = frag.pos phase 0 : !frag.pos<slots = 2>
    %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
    %z = arith.constant 0.0 : f32
    %o = frag.splat %z : f32 -> !frag.reg<64x128xf32, #C>
    // expected-error @+1 {{acc is used elsewhere too}}
    %a = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] acc %o : !view, !ring acc !frag.reg<64x128xf32, #C> -> !AS
    %m = frag.reduce_row max row %o : !frag.reg<64x128xf32, #C> -> !frag.vec<64xf32, #C>
    %s = frag.wgmma_wait pending 0 %a : !AS
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @cta_sync threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.init %f : !bars
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    // expected-error @+1 {{holds a CTA barrier and must not be in a role}}
    frag.cta_sync
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @any threads 128 smem 32816 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %w = frag.words "work" at 32768 : !frag.words<4, slots = 2>
  %f = frag.bars "full" at 32800 count 1 : !bars
  frag.init %f : !bars
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    %true = arith.constant true
    %v = frag.splat %true : i1 -> !frag.vec<64xi1, #C>
    // expected-error @+1 {{holds a CTA barrier and must not be in a role}}
    %a = frag.any %v : !frag.vec<64xi1, #C>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
!bars = !frag.bars<slots = 2>
frag.kernel @copies threads 128 smem 32768 params 384 {
  %base = frag.param "k" at 8 : !frag.ptr<bf16>
  %zero = arith.constant 0 : i64
  %true = arith.constant true
  %k = frag.smem "k" at 0 : !ring
  // expected-error @+1 {{role "a" ends with copies of ring 'k' that are not committed}}
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    %p = frag.pos phase 0 : !frag.pos<slots = 2>
    frag.cp_async %base into %k[%p] row (%r) : !frag.ptr<bf16>, !ring {
      frag.yield %zero, %true : i64, i1
    }
  }
  frag.return
}

// -----

// Tensor maps have places of their own among the parameters.
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
frag.kernel @maps_overlap threads 128 smem 0 params 640 {
  %k = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  // expected-error @below {{'v' at byte 320 overlaps tensor map 'k' at 256}}
  %v = frag.tmap "v" at 320 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  frag.return
}

// -----

!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
frag.kernel @map_in_fixed threads 128 smem 0 params 640 {
  // expected-error @below {{'k' at byte 128 overlaps the fixed parameters at 0}}
  %k = frag.tmap "k" at 128 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  frag.return
}

// -----

!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
frag.kernel @map_over_param threads 128 smem 0 params 640 {
  %w = frag.param "window" at 260 : i32
  // expected-error @below {{'k' at byte 256 overlaps parameter 'window' at 260}}
  %k = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !tmap
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!half = !frag.tmap<64x8x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>
frag.kernel @multicast threads 32 smem 4112 params 384 cluster = 2 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !half
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %p = frag.pos phase 0 : !pos
  frag.init %full : !bars
  frag.elect {
    // expected-error @+1 {{expects 1024 bytes but the copies beside it bring 2048}}
    frag.mbar_expect %full[%p] bytes 1024 : !bars
    frag.tma_load %t(%c0, %c0, %c0) into %k[%p] from %c0 on %full[%p] multicast 3 : !half, !ring, !bars
  }
  frag.return
}
