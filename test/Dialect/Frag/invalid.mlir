// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{needs a multiple of 32 threads up to 1024 but has 40}}
frag.kernel @threads threads 40 smem 0 params 200 { frag.return }

// -----

// expected-error @+1 {{needs at least 0 bytes of shared memory but has -1}}
frag.kernel @smem threads 32 smem -1 params 200 { frag.return }

// -----

// expected-error @+1 {{needs at least 0 bytes of parameters but has -8}}
frag.kernel @params threads 32 smem 0 params -8 { frag.return }

// -----

// expected-error @+1 {{allows 256 registers a thread but 16 to 255 are possible}}
frag.kernel @registers threads 32 smem 0 params 200 attributes {registers = 256 : i32} { frag.return }

// -----

frag.kernel @offset threads 32 smem 0 params 200 {
  // expected-error @+1 {{takes 8 bytes at 196 but the parameter struct has 200 and fields are aligned to their size}}
  %p = frag.param "q" at 196 : !frag.ptr<bf16>
  frag.return
}

// -----

frag.kernel @warps threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  // expected-error @+1 {{has a layout of 2 warps but the kernel has 1}}
  %t = frag.splat %x : f32 -> !frag.reg<32x16xf32, #frag.layout<"mma_c", warps = 2>>
  frag.return
}

// -----

// expected-error @+1 {{unknown layout 'mma_z'}}
func.func private @f(!frag.reg<16x16xf32, #frag.layout<"mma_z", warps = 1>>)

// -----

// expected-error @+1 {{layout needs at least 1 warp but has 0}}
func.func private @f(!frag.reg<16x16xf32, #frag.layout<"mma_c", warps = 0>>)

// -----

// expected-error @+1 {{layout needs at least 1 group but has 0}}
func.func private @f(!frag.reg<16x16xf32, #frag.layout<"mma_c", warps = 1, groups = 0>>)

// -----

// expected-error @+1 {{register tile of 'i32' (known: f32, f16, bf16)}}
func.func private @f(!frag.reg<16x16xi32, #frag.layout<"mma_c", warps = 1>>)

// -----

// expected-error @+1 {{layout 'mma_a' holds elements of 16 bits but 'f32' has 32}}
func.func private @f(!frag.reg<16x16xf32, #frag.layout<"mma_a", warps = 1>>)

// -----

// expected-error @+1 {{expected 2 dimensions but got 1}}
func.func private @f(!frag.reg<16xf32, #frag.layout<"mma_c", warps = 1>>)

// -----

// expected-error @+1 {{dimension 70000 is not in 1 to 65536}}
func.func private @f(!frag.reg<70000x16xf32, #frag.layout<"mma_c", warps = 1>>)

// -----

// expected-error @+1 {{row vector of 'f16' (known: f32, i1, i32, i64)}}
func.func private @f(!frag.vec<16xf16, #frag.layout<"mma_c", warps = 1>>)

// -----

// expected-error @+1 {{a partial row vector is a sum of f32 or an or of i1, not of 'i32'}}
func.func private @f(!frag.vec<16xi32, #frag.layout<"mma_c", warps = 1>, partial>)

// -----

// expected-error @+1 {{ring of 'i32' (known: f32, f16, bf16)}}
func.func private @f(!frag.ring<16x64xi32, swizzle = 128, slots = 1>)

// -----

// expected-error @+1 {{ring needs 1 to 64 slots but has 0}}
func.func private @f(!frag.ring<16x64xbf16, swizzle = 128, slots = 0>)

// -----

frag.kernel @splat threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  // expected-error @+1 {{spreads 'f32' but the result holds 'i32'}}
  %t = frag.splat %x : f32 -> !frag.vec<16xi32, #frag.layout<"mma_c", warps = 1>>
  frag.return
}

// -----

// expected-error @+1 {{body must end with frag.return}}
frag.kernel @end threads 32 smem 0 params 200 { frag.yield }

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_shape threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %t = frag.splat %x : f32 -> !frag.reg<16x16xf32, #C>
  // expected-error @+1 {{mixes tiles}}
  %u = frag.map (%a = %t : !frag.reg<16x16xf32, #C>) at (%r, %c) -> !frag.reg<16x8xf32, #C> {
    frag.yield %a : f32
  }
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_rows threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %t = frag.splat %x : f32 -> !frag.vec<16xf32, #C>
  // expected-error @+1 {{mixes 16 rows and 32 rows}}
  %u = frag.map (%a = %t : !frag.vec<16xf32, #C>) at (%r) -> !frag.vec<32xf32, #C> {
    frag.yield %a : f32
  }
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_partial threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %t = frag.splat %x : f32 -> !frag.vec<16xf32, #C, partial>
  // expected-error @+1 {{has a partial operand but a complete result}}
  %u = frag.map (%a = %t : !frag.vec<16xf32, #C, partial>) at (%r) -> !frag.vec<16xf32, #C> {
    frag.yield %a : f32
  }
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_partial_tile threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %t = frag.splat %x : f32 -> !frag.vec<16xf32, #C, partial>
  // expected-error @+1 {{has a partial vector beside a tile}}
  %u = frag.map (%a = %t : !frag.vec<16xf32, #C, partial>) at (%r, %c) -> !frag.reg<16x8xf32, #C> {
    frag.yield %a : f32
  }
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_two_kinds threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  // expected-error @+1 {{has a vector result beside a tile}}
  %u, %v = frag.map () at (%r, %c) -> !frag.reg<16x8xf32, #C>, !frag.vec<16xf32, #C> {
    frag.yield %x, %x : f32, f32
  }
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_effect threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %u = frag.map () at (%r) -> !frag.vec<16xf32, #C> {
    // expected-error @+1 {{is not allowed in the region of frag.map}}
    frag.cta_sync
    frag.yield %x : f32
  }
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_inside threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %u = frag.map () at (%r) -> !frag.vec<16xf32, #C> {
    // expected-error @+1 {{in the region of frag.map}}
    %v = frag.splat %x : f32 -> !frag.vec<16xf32, #C>
    frag.yield %x : f32
  }
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_yield_count threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  // expected-error @+1 {{region yields 2 values but 1 are needed}}
  %u = frag.map () at (%r) -> !frag.vec<16xf32, #C> {
    frag.yield %x, %x : f32, f32
  }
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_yield_type threads 32 smem 0 params 200 {
  // expected-error @+1 {{region yields 'i32' but 'f32' is needed}}
  %u = frag.map () at (%r) -> !frag.vec<16xf32, #C> {
    frag.yield %r : i32
  }
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_args threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  // expected-error @+1 {{region has 2 arguments but 1 are needed}}
  %u = frag.map () at (%r, %c) -> !frag.vec<16xf32, #C> {
    frag.yield %x : f32
  }
  frag.return
}

// -----

frag.kernel @map_input threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  // expected-error @+1 {{input of a map is a tile or a row vector, not 'f32'}}
  %u = frag.map (%a = %x : f32) at (%r) -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>> {
    frag.yield %a : f32
  }
  frag.return
}

// -----

frag.kernel @map_nothing threads 32 smem 0 params 200 {
  // expected-error @+1 {{needs at least 1 result but has 0}}
  "frag.map"() ({
  ^bb0(%r: i32):
    frag.yield
  }) : () -> ()
  frag.return
}

// -----

#V1 = #frag.layout<"mma_c", warps = 1>
#V2 = #frag.layout<"mma_c", warps = 2>
func.func @map_warps(%v: !frag.vec<32xf32, #V1>) {
  // expected-error @+1 {{mixes layouts of 1 and 2 warps}}
  %u = frag.map (%a = %v : !frag.vec<32xf32, #V1>) at (%r) -> !frag.vec<32xf32, #V2> {
    frag.yield %a : f32
  }
  return
}

// -----

#V = #frag.layout<"mma_c", warps = 1>
func.func @map_share(%t: !frag.reg<16x8xf32, #V>) {
  // expected-error @+1 {{exp2_fma must be in [1, 16], got 17}}
  %u = frag.map (%a = %t : !frag.reg<16x8xf32, #V>) at (%r, %c) -> !frag.reg<16x8xf32, #V> attributes {exp2_fma = 17 : i32} {
    frag.yield %a : f32
  }
  return
}

// -----

#V = #frag.layout<"mma_c", warps = 1>
func.func @map_share_of_rows(%t: !frag.vec<16xf32, #V>) {
  // expected-error @+1 {{exp2_fma counts columns but there is no tile}}
  %u = frag.map (%a = %t : !frag.vec<16xf32, #V>) at (%r) -> !frag.vec<16xf32, #V> attributes {exp2_fma = 4 : i32} {
    frag.yield %a : f32
  }
  return
}

// -----

frag.kernel @map_end threads 32 smem 0 params 200 {
  // expected-error @+1 {{region must end with frag.yield}}
  %u = frag.map () at (%r) -> !frag.vec<16xi32, #frag.layout<"mma_c", warps = 1>> {
    llvm.unreachable
  }
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @map_arg_type threads 32 smem 0 params 200 {
  // expected-error @+1 {{region argument is 'i64' but 'i32' is needed}}
  %u = "frag.map"() ({
  ^bb0(%r: i64):
    frag.yield %r : i64
  }) : () -> !frag.vec<16xi64, #C>
  frag.return
}

// -----

frag.kernel @copy_element threads 32 smem 0 params 200 {
  %b = frag.param "q" at 0 : !frag.ptr<f16>
  %z = arith.constant 0 : i64
  %t = arith.constant true
  %q = frag.smem "q" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{copies 'f16' into a ring of 'bf16'}}
  frag.cp_async %b into %q[%p] row (%r) : !frag.ptr<f16>, !frag.ring<16x64xbf16, swizzle = 128, slots = 1> {
    frag.yield %z, %t : i64, i1
  }
  frag.return
}

// -----

frag.kernel @copy_into threads 32 smem 0 params 200 {
  %b = frag.param "q" at 0 : !frag.ptr<bf16>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{destination of a copy is a ring, not '!frag.ptr<bf16>'}}
  frag.cp_async %b into %b[%p] row (%r) : !frag.ptr<bf16>, !frag.ptr<bf16> {
  }
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
func.func @copy_slots(%b: !frag.ptr<bf16>, %ring: !ring, %p: !frag.pos<slots = 3>, %z: i64, %t: i1) {
  // expected-error @+1 {{position counts 3 slots but the ring has 2}}
  "frag.cp_async"(%b, %ring, %p) ({
  ^bb0(%r: i32):
    frag.yield %z, %t : i64, i1
  }) : (!frag.ptr<bf16>, !ring, !frag.pos<slots = 3>) -> ()
  return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
func.func @copy_args(%b: !frag.ptr<bf16>, %ring: !ring, %p: !frag.pos<slots = 2>, %z: i64, %t: i1) {
  // expected-error @+1 {{region has 2 arguments but 1 of type i32 is needed}}
  "frag.cp_async"(%b, %ring, %p) ({
  ^bb0(%r: i32, %c: i32):
    frag.yield %z, %t : i64, i1
  }) : (!frag.ptr<bf16>, !ring, !frag.pos<slots = 2>) -> ()
  return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
func.func @copy_yield(%b: !frag.ptr<bf16>, %ring: !ring, %p: !frag.pos<slots = 2>, %t: i1) {
  // expected-error @+1 {{region yields 'i32' but 'i64' is needed}}
  frag.cp_async %b into %ring[%p] row (%r) : !frag.ptr<bf16>, !ring {
    frag.yield %r, %t : i32, i1
  }
  return
}

// -----

func.func @reduce_element(%t: !frag.reg<16x16xbf16, #frag.layout<"mma_c", warps = 1>>) {
  // expected-error @+1 {{reduces f32, not 'bf16' to 'f32'}}
  %u = frag.reduce_row sum row %t : !frag.reg<16x16xbf16, #frag.layout<"mma_c", warps = 1>> -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @reduce_rows threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %t = frag.splat %x : f32 -> !frag.reg<16x8xf32, #C>
  // expected-error @+1 {{result has 32 rows but the tile has 16}}
  %u = frag.reduce_row sum row %t : !frag.reg<16x8xf32, #C> -> !frag.vec<32xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @reduce_thread threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %t = frag.splat %x : f32 -> !frag.reg<16x8xf32, #C>
  // expected-error @+1 {{scope thread needs a partial result}}
  %u = frag.reduce_row sum thread %t : !frag.reg<16x8xf32, #C> -> !frag.vec<16xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @reduce_max threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %t = frag.splat %x : f32 -> !frag.reg<16x8xf32, #C>
  // expected-error @+1 {{max has no thread scope: shares of a maximum are not a vector}}
  %u = frag.reduce_row max thread %t : !frag.reg<16x8xf32, #C> -> !frag.vec<16xf32, #C, partial>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @quad threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %t = frag.splat %x : f32 -> !frag.vec<16xf32, #C>
  // expected-error @+1 {{takes a partial vector of f32 to a complete one}}
  %u = frag.reduce_quad %t : !frag.vec<16xf32, #C> -> !frag.vec<16xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @pack_shape threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %t = frag.splat %x : f32 -> !frag.reg<16x16xf32, #C>
  // expected-error @+1 {{result is 16x32 but the tile is 16x16}}
  %u = frag.pack %t : !frag.reg<16x16xf32, #C> -> !frag.reg<16x32xbf16, #frag.layout<"mma_a", warps = 1>>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @pack_moves threads 32 smem 0 params 200 {
  %x = arith.constant 0.0 : f32
  %t = frag.splat %x : f32 -> !frag.reg<16x32xf32, #C>
  // expected-error @+1 {{would move elements between threads: #frag.layout<"mma_c", warps = 1> to #frag.layout<"quad16", warps = 1>}}
  %u = frag.pack %t : !frag.reg<16x32xf32, #C> -> !frag.reg<16x32xbf16, #frag.layout<"quad16", warps = 1>>
  frag.return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @mma_k threads 32 smem 0 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  %k = frag.smem "k" at 0 : !frag.ring<16x128xbf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %a = frag.ldmatrix %q[%p] : !frag.ring<16x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<16x64xbf16, #A>
  // expected-error @+1 {{A has 64 columns but B has 128 rows of k}}
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p] : !frag.reg<16x64xbf16, #A>, !frag.ring<16x128xbf16, swizzle = 128, slots = 1> -> !frag.reg<16x16xf32, #C>
  frag.return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @mma_n threads 32 smem 0 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %a = frag.ldmatrix %q[%p] : !frag.ring<16x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<16x64xbf16, #A>
  // expected-error @+1 {{result is 16x32 but the product is 16x16}}
  %s = frag.mma "mma.m16n8k16" nk %a, %q[%p] : !frag.reg<16x64xbf16, #A>, !frag.ring<16x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<16x32xf32, #C>
  frag.return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
#C = #frag.layout<"mma_c", warps = 1>
frag.kernel @mma_atom threads 32 smem 0 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %a = frag.ldmatrix %q[%p] : !frag.ring<16x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<16x64xbf16, #A>
  // expected-error @+1 {{atom 'wgmma' is not known (known: mma.m16n8k16)}}
  %s = frag.mma "wgmma" nk %a, %q[%p] : !frag.reg<16x64xbf16, #A>, !frag.ring<16x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<16x16xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
frag.kernel @mma_ring_without_position threads 32 smem 0 params 200 {
  %q = frag.smem "q" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{takes A from a ring iff it has a position in it}}
  %s = frag.mma "mma.m16n8k16" nk %q, %q[%p] : !ring, !ring -> !frag.reg<16x16xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
frag.kernel @mma_position_of_other_ring threads 32 smem 0 params 200 {
  %q = frag.smem "q" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %p2 = frag.pos phase 0 : !frag.pos<slots = 2>
  // expected-error @+1 {{position in A has 2 slots but the ring has 1}}
  %s = frag.mma "mma.m16n8k16" nk %q[%p2 : !frag.pos<slots = 2>], %q[%p] : !ring, !ring -> !frag.reg<16x16xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 2>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
frag.kernel @mma_ring_of_fewer_rows threads 64 smem 0 params 200 {
  %q = frag.smem "q" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{layout mma_a on 2 warps needs a multiple of 32 rows but the tile has 16}}
  %s = frag.mma "mma.m16n8k16" nk %q[%p : !frag.pos<slots = 1>], %q[%p] : !ring, !ring -> !frag.reg<32x16xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
func.func @quad_rows(%v: !frag.vec<32xf32, #C, partial>) {
  // expected-error @+1 {{result has 16 rows but the vector has 32}}
  %u = frag.reduce_quad %v : !frag.vec<32xf32, #C, partial> -> !frag.vec<16xf32, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
func.func @pack_element(%t: !frag.reg<16x16xf32, #C>) {
  // expected-error @+1 {{packs f32 to 16 bits, not 'f32' to 'f32'}}
  %u = frag.pack %t : !frag.reg<16x16xf32, #C> -> !frag.reg<16x16xf32, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
!tile = !frag.reg<16x16xf32, #C>
func.func @store_offsets(%t: !tile, %b: !frag.ptr<f32>, %o: !frag.vec<16xi32, #C>, %m: !frag.vec<16xi1, #C>) {
  // expected-error @+1 {{offsets are i64, not 'i32'}}
  frag.store %t, %b, %o, %m : !tile, !frag.ptr<f32>, !frag.vec<16xi32, #C>, !frag.vec<16xi1, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
!tile = !frag.reg<16x16xf32, #C>
func.func @load_mask(%b: !frag.ptr<f32>, %o: !frag.vec<16xi64, #C>) {
  // expected-error @+1 {{mask is i1, not 'i64'}}
  %t = frag.load %b, %o, %o : !frag.ptr<f32>, !frag.vec<16xi64, #C>, !frag.vec<16xi64, #C> -> !tile
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
!tile = !frag.reg<16x16xf32, #C>
func.func @load_element(%b: !frag.ptr<bf16>, %o: !frag.vec<16xi64, #C>, %m: !frag.vec<16xi1, #C>) {
  // expected-error @+1 {{pointer is to 'bf16' but the tile holds 'f32'}}
  %t = frag.load %b, %o, %m : !frag.ptr<bf16>, !frag.vec<16xi64, #C>, !frag.vec<16xi1, #C> -> !tile
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
#D = #frag.layout<"mma_c", warps = 2>
!tile = !frag.reg<32x16xf32, #C>
func.func @store_layout(%t: !tile, %b: !frag.ptr<f32>, %o: !frag.vec<32xi64, #C>, %m: !frag.vec<32xi1, #D>) {
  // expected-error @+1 {{mask has #frag.layout<"mma_c", warps = 2> but the tile has #frag.layout<"mma_c", warps = 1>}}
  frag.store %t, %b, %o, %m : !tile, !frag.ptr<f32>, !frag.vec<32xi64, #C>, !frag.vec<32xi1, #D>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
func.func @store_partial(%v: !frag.vec<16xf32, #C, partial>, %b: !frag.ptr<f32>, %o: !frag.vec<16xi64, #C>, %m: !frag.vec<16xi1, #C>) {
  // expected-error @+1 {{vector is partial: reduce it first}}
  frag.store_vec %v, %b, %o, %m : !frag.vec<16xf32, #C, partial>, !frag.ptr<f32>, !frag.vec<16xi64, #C>, !frag.vec<16xi1, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
func.func @load_vec_element(%b: !frag.ptr<bf16>, %o: !frag.vec<16xi64, #C>, %m: !frag.vec<16xi1, #C>) {
  // expected-error @+1 {{pointer is to 'bf16' but the vector holds 'f32'}}
  %v = frag.load_vec %b, %o, %m : !frag.ptr<bf16>, !frag.vec<16xi64, #C>, !frag.vec<16xi1, #C> -> !frag.vec<16xf32, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
func.func @load_vec_rows(%b: !frag.ptr<f32>, %o: !frag.vec<16xi64, #C>, %m: !frag.vec<32xi1, #C>) {
  // expected-error @+1 {{mixes 16 rows and 32 rows}}
  %v = frag.load_vec %b, %o, %m : !frag.ptr<f32>, !frag.vec<16xi64, #C>, !frag.vec<32xi1, #C> -> !frag.vec<16xf32, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
#Q = #frag.layout<"quad16", warps = 1>
func.func @load_vec_layout(%b: !frag.ptr<f32>, %o: !frag.vec<16xi64, #C>, %m: !frag.vec<16xi1, #C>) {
  // expected-error @+1 {{mixes layouts of its vectors}}
  %v = frag.load_vec %b, %o, %m : !frag.ptr<f32>, !frag.vec<16xi64, #C>, !frag.vec<16xi1, #C> -> !frag.vec<16xf32, #Q>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
func.func @ldmatrix_layout(%q: !ring, %p: !frag.pos<slots = 1>) {
  // expected-error @+1 {{operand A has layout 'mma_c' but the atom takes 'mma_a'}}
  %a = frag.ldmatrix %q[%p] : !ring -> !frag.reg<16x64xbf16, #C>
  return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
func.func @ldmatrix_element(%q: !ring, %p: !frag.pos<slots = 1>) {
  // expected-error @+1 {{ring holds 'bf16' but the result holds 'f16'}}
  %a = frag.ldmatrix %q[%p] : !ring -> !frag.reg<16x64xf16, #A>
  return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
func.func @ldmatrix_shape(%q: !ring, %p: !frag.pos<slots = 1>) {
  // expected-error @+1 {{ring is 16x64 but the result is 32x64}}
  %a = frag.ldmatrix %q[%p] : !ring -> !frag.reg<32x64xbf16, #A>
  return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
func.func @mma_result(%a: !frag.reg<16x64xbf16, #A>, %k: !ring, %p: !frag.pos<slots = 1>) {
  // expected-error @+1 {{result is '!frag.reg<16x16xbf16, #frag.layout<"mma_c", warps = 1>>' but the atom gives f32 in layout 'mma_c'}}
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p] : !frag.reg<16x64xbf16, #A>, !ring -> !frag.reg<16x16xbf16, #frag.layout<"mma_c", warps = 1>>
  return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
#C = #frag.layout<"mma_c", warps = 1>
!ring = !frag.ring<16x64xf16, swizzle = 128, slots = 1>
func.func @mma_element(%a: !frag.reg<16x64xbf16, #A>, %k: !ring, %p: !frag.pos<slots = 1>) {
  // expected-error @+1 {{A holds 'bf16' but the ring 'f16'}}
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p] : !frag.reg<16x64xbf16, #A>, !ring -> !frag.reg<16x16xf32, #C>
  return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
#C = #frag.layout<"mma_c", warps = 2>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
func.func @mma_warps(%a: !frag.reg<32x64xbf16, #A>, %k: !ring, %p: !frag.pos<slots = 1>) {
  // expected-error @+1 {{A has 1 warps but the result has 2}}
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p] : !frag.reg<32x64xbf16, #A>, !ring -> !frag.reg<32x16xf32, #C>
  return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
#C = #frag.layout<"mma_c", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
func.func @mma_acc(%a: !frag.reg<16x64xbf16, #A>, %k: !ring, %p: !frag.pos<slots = 1>, %o: !frag.reg<16x8xf32, #C>) {
  // expected-error @+1 {{acc is '!frag.reg<16x8xf32, #frag.layout<"mma_c", warps = 1>>' but the result is '!frag.reg<16x16xf32, #frag.layout<"mma_c", warps = 1>>'}}
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p] acc %o : !frag.reg<16x64xbf16, #A>, !ring acc !frag.reg<16x8xf32, #C> -> !frag.reg<16x16xf32, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
func.func @keep_element(%t: !frag.reg<16x16xbf16, #C>, %hi: !frag.vec<16xi32, #C>, %f: f32) {
  // expected-error @+1 {{keeps columns of f32, not 'bf16'}}
  %u = frag.keep_columns %t to %hi else %f : !frag.reg<16x16xbf16, #C>, !frag.vec<16xi32, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
func.func @keep_limit(%t: !frag.reg<16x16xf32, #C>, %hi: !frag.vec<16xi64, #C>, %f: f32) {
  // expected-error @+1 {{upper limit has 'i64' but a limit is i32}}
  %u = frag.keep_columns %t to %hi else %f : !frag.reg<16x16xf32, #C>, !frag.vec<16xi64, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
func.func @keep_rows(%t: !frag.reg<16x16xf32, #C>, %lo: !frag.vec<32xi32, #C>, %hi: !frag.vec<16xi32, #C>, %f: f32) {
  // expected-error @+1 {{lower limit has 32 rows but the tile has 16}}
  %u = frag.keep_columns %t from %lo to %hi else %f : !frag.reg<16x16xf32, #C>, !frag.vec<16xi32, #C>, !frag.vec<32xi32, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
func.func @store_cols(%t: !frag.reg<16x16xf32, #C>, %b: !frag.ptr<f32>, %off: !frag.vec<16xi64, #C>, %live: !frag.vec<16xi1, #C>) {
  // expected-error @+1 {{memory has 24 columns but needs a multiple of 8 up to the tile's 16}}
  frag.store %t, %b, %off, %live cols 24 : !frag.reg<16x16xf32, #C>, !frag.ptr<f32>, !frag.vec<16xi64, #C>, !frag.vec<16xi1, #C>
  return
}

// -----

#C = #frag.layout<"mma_c", warps = 1>
func.func @load_cols(%b: !frag.ptr<f32>, %off: !frag.vec<16xi64, #C>, %live: !frag.vec<16xi1, #C>) {
  // expected-error @+1 {{memory has 4 columns but needs a multiple of 8 up to the tile's 16}}
  %t = frag.load %b, %off, %live cols 4 : !frag.ptr<f32>, !frag.vec<16xi64, #C>, !frag.vec<16xi1, #C> -> !frag.reg<16x16xf32, #C>
  return
}

// -----

func.func @copy_cols(%b: !frag.ptr<bf16>, %ring: !frag.ring<16x80xbf16, swizzle = 64, slots = 1>, %p: !frag.pos<slots = 1>) {
  // expected-error @+1 {{memory has 0 columns but needs a multiple of 8 up to the tile's 80}}
  frag.cp_async %b into %ring[%p] row (%r) cols 0 : !frag.ptr<bf16>, !frag.ring<16x80xbf16, swizzle = 64, slots = 1> {
    %x = arith.extui %r : i32 to i64
    %true = arith.constant true
    frag.yield %x, %true : i64, i1
  }
  return
}
