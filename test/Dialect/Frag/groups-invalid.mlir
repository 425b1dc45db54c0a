// RUN: attn-opt %s --split-input-file --verify-diagnostics

frag.kernel @rank threads 96 smem 0 params 200 {
  // expected-error @+1 {{needs a number of groups that divides 3 warps but has 2}}
  %g = frag.group_rank of 2
  frag.return
}

// -----

#A = #frag.layout<"mma_c", warps = 4, groups = 4>
#B = #frag.layout<"mma_c", warps = 4, groups = 2>
frag.kernel @map threads 128 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %a = frag.splat %x : f32 -> !frag.vec<32xf32, #A>
  // expected-error @+1 {{mixes layouts of 4 and 2 groups}}
  %b = frag.map (%y = %a : !frag.vec<32xf32, #A>) at (%r) -> !frag.vec<32xf32, #B> {
    frag.yield %y : f32
  }
  frag.return
}

// -----

#A = #frag.layout<"mma_c", warps = 4, groups = 4>
#B = #frag.layout<"quad16", warps = 4, groups = 2>
frag.kernel @transpose threads 128 smem 0 params 200 {
  %x = arith.constant 0.0 : bf16
  %a = frag.splat %x : bf16 -> !frag.reg<32x32xbf16, #A>
  // expected-error @+1 {{mixes layouts of 4 and 2 groups}}
  %b = frag.quad_transpose %a : !frag.reg<32x32xbf16, #A> -> !frag.reg<32x32xbf16, #B>
  frag.return
}

// -----

#A = #frag.layout<"mma_a", warps = 4, groups = 2>
#C = #frag.layout<"mma_c", warps = 4, groups = 4>
frag.kernel @product threads 128 smem 16384 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<32x64xbf16, swizzle = 128, slots = 1>
  %k = frag.smem "k" at 4096 : !frag.ring<64x64xbf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %g = frag.group_rank of 4
  %a = frag.ldmatrix %q[%p] : !frag.ring<32x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<32x64xbf16, #A>
  // expected-error @+1 {{A has 2 groups but the result has 4}}
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p] part %g : !frag.reg<32x64xbf16, #A>, !frag.ring<64x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<32x16xf32, #C>
  frag.return
}

// -----

#A = #frag.layout<"mma_a", warps = 4, groups = 4>
#C = #frag.layout<"mma_c", warps = 4, groups = 4>
frag.kernel @part threads 128 smem 16384 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  %k = frag.smem "k" at 4096 : !frag.ring<64x64xbf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %g = frag.group_rank of 4
  %a = frag.ldmatrix %q[%p] : !frag.ring<16x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<16x64xbf16, #A>
  // expected-error @+1 {{takes a part of 48 rows of 64 but parts are a multiple of 16 rows that divides the slot's}}
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p] part %g : !frag.reg<16x64xbf16, #A>, !frag.ring<64x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<16x48xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @elements threads 32 smem 16384 params 200 {
  %c0 = arith.constant 0 : i32
  %r = frag.smem "r" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  // expected-error @+1 {{moves f32, not 'f32' and 'bf16'}}
  %s = frag.ld_tile %r part %c0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<16x64xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @shares threads 32 smem 16384 params 200 {
  %c0 = arith.constant 0 : i32
  %x = arith.constant 0.0 : f32
  %r = frag.smem "r" at 0 : !frag.ring<16x4xf32, swizzle = 0, slots = 1>
  %v = frag.splat %x : f32 -> !frag.vec<16xf32, #C, partial>
  // expected-error @+1 {{vector is partial: reduce it first}}
  frag.st_tile %v into %r part %c0 : !frag.vec<16xf32, #C, partial>, !frag.ring<16x4xf32, swizzle = 0, slots = 1>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @slots threads 32 smem 16384 params 200 {
  %c0 = arith.constant 0 : i32
  %r = frag.smem "r" at 0 : !frag.ring<16x32xf32, swizzle = 128, slots = 2>
  // expected-error @+1 {{takes a ring of 1 slot but it has 2}}
  %s = frag.ld_tile %r part %c0 : !frag.ring<16x32xf32, swizzle = 128, slots = 2> -> !frag.reg<16x32xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @swizzle threads 32 smem 16384 params 200 {
  %c0 = arith.constant 0 : i32
  %r = frag.smem "r" at 0 : !frag.ring<16x32xf32, swizzle = 0, slots = 1>
  // expected-error @+1 {{takes a ring with swizzle 128 but it has 0}}
  %s = frag.ld_tile %r part %c0 : !frag.ring<16x32xf32, swizzle = 0, slots = 1> -> !frag.reg<16x32xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @swizzle_of_rows threads 32 smem 16384 params 200 {
  %c0 = arith.constant 0 : i32
  %r = frag.smem "r" at 0 : !frag.ring<16x16xf32, swizzle = 64, slots = 1>
  // expected-error @+1 {{takes a ring with swizzle 0 or 128 but it has 64}}
  %s = frag.ld_tile %r part %c0 : !frag.ring<16x16xf32, swizzle = 64, slots = 1> -> !frag.vec<16xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @rows threads 32 smem 16384 params 200 {
  %c0 = arith.constant 0 : i32
  %r = frag.smem "r" at 0 : !frag.ring<40x32xf32, swizzle = 128, slots = 1>
  // expected-error @+1 {{has 16 rows but the ring has 40, not a multiple}}
  %s = frag.ld_tile %r part %c0 : !frag.ring<40x32xf32, swizzle = 128, slots = 1> -> !frag.reg<16x32xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @columns threads 32 smem 16384 params 200 {
  %c0 = arith.constant 0 : i32
  %r = frag.smem "r" at 0 : !frag.ring<16x32xf32, swizzle = 128, slots = 1>
  // expected-error @+1 {{takes columns 32 to 33 but the ring has 32}}
  %s = frag.ld_tile %r part %c0 col 32 : !frag.ring<16x32xf32, swizzle = 128, slots = 1> -> !frag.vec<16xf32, #C>
  frag.return
}
