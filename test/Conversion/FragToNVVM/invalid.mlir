// RUN: attn-opt --frag-to-nvvm --split-input-file --verify-diagnostics %s

frag.kernel @no_offset threads 32 smem 0 params 200 {
  // expected-error @below {{ring 'k' has no offset in shared memory}}
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

frag.kernel @chunks threads 32 smem 0 params 200 {
  %k = frag.param "k" at 8 : !frag.ptr<bf16>
  %ring = frag.smem "k" at 0 : !frag.ring<64x192xbf16, swizzle = 128, slots = 1>
  %pos = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @below {{copy needs a power of two of chunks a row that divides 32 threads but a row has 24}}
  // expected-error @below {{failed to legalize operation 'frag.cp_async'}}
  frag.cp_async %k into %ring[%pos] row (%r) : !frag.ptr<bf16>, !frag.ring<64x192xbf16, swizzle = 128, slots = 1> {
    %off = arith.constant 0 : i64
    %valid = arith.constant true
    frag.yield %off, %valid : i64, i1
  }
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

frag.kernel @vote threads 128 smem 0 params 200 {
  %true = arith.constant true
  %v = frag.splat %true : i1 -> !frag.vec<64xi1, #frag.layout<"wgmma_c", warps = 4>>
  // expected-error @below {{scope warp is not built for PTX; cta is}}
  // expected-error @below {{failed to legalize operation 'frag.any'}}
  %a = frag.any %v scope warp : !frag.vec<64xi1, #frag.layout<"wgmma_c", warps = 4>>
  frag.return
}
