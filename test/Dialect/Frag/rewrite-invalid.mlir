// RUN: attn-opt %s --split-input-file --verify-diagnostics

frag.kernel @not_a_ring threads 32 smem 0 params 200 {
  %c0 = arith.constant 0 : i32
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{rows of a ring are rewritten, not 'i32'}}
  frag.rewrite_rows %c0[%p] from %c0 to %c0 at (%row, %col) : i32 {
    %x = frag.element %col
    frag.yield %x : f32
  }
  frag.return
}

// -----

!ring = !frag.ring<16x64xf32, swizzle = 128, slots = 1>
frag.kernel @element threads 32 smem 4096 params 200 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{rewrites 16-bit elements but the ring holds 'f32'}}
  frag.rewrite_rows %k[%p] from %c0 to %c0 at (%row, %col) : !ring {
    %x = frag.element %col
    frag.yield %x : f32
  }
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
frag.kernel @position threads 32 smem 4096 params 200 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{position counts 1 slots but the ring has 2}}
  "frag.rewrite_rows"(%k, %p, %c0, %c0) ({
  ^bb0(%row: i32, %col: i32):
    %x = "frag.element"(%col) : (i32) -> f32
    "frag.yield"(%x) : (f32) -> ()
  }) : (!ring, !frag.pos<slots = 1>, i32, i32) -> ()
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
frag.kernel @arguments threads 32 smem 2048 params 200 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{region has 1 arguments but 2 of type i32 are needed}}
  frag.rewrite_rows %k[%p] from %c0 to %c0 at (%row) : !ring {
    %x = frag.element %row
    frag.yield %x : f32
  }
  frag.return
}

// -----

!tile = !frag.reg<16x64xbf16, #frag.layout<"mma_c", warps = 1>>
frag.kernel @tile threads 32 smem 0 params 200 {
  %z = arith.constant 0.0 : bf16
  %t = frag.splat %z : bf16 -> !tile
  // expected-error @+1 {{rewrites f32 elements but the tile holds 'bf16'}}
  %u = frag.rewrite_tile %t at (%row, %col) : !tile {
    %x = frag.element %col
    frag.yield %x : f32
  }
  frag.return
}

// -----

!tile = !frag.reg<16x64xf32, #frag.layout<"mma_c", warps = 1>>
!rows = !frag.ring<4x64xf32, swizzle = 128, slots = 1>
frag.kernel @few_rows threads 32 smem 1024 params 200 {
  %z = arith.constant 0.0 : f32
  %rows = frag.smem "rows" at 0 : !rows
  %t = frag.splat %z : f32 -> !tile
  // expected-error @+1 {{takes rows through '!frag.ring<4x64xf32, swizzle = 128, slots = 1>' but needs 1 slot of a multiple of 8 rows of 64 f32}}
  %u = frag.rewrite_tile %t through %rows at (%row, %col) : !tile, !rows {
    %x = frag.element %row
    frag.yield %x : f32
  }
  frag.return
}

// -----

!tile = !frag.reg<16x64xf32, #frag.layout<"mma_c", warps = 1>>
frag.kernel @no_rows threads 32 smem 0 params 200 {
  %z = arith.constant 0.0 : f32
  %t = frag.splat %z : f32 -> !tile
  // expected-error @+1 {{reads elements of other threads but has no rows to take them through}}
  %u = frag.rewrite_tile %t at (%row, %col) : !tile {
    %x = frag.element %row
    frag.yield %x : f32
  }
  frag.return
}
