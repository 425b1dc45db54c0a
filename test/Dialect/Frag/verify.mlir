// RUN: attn-opt %s --pass-pipeline='builtin.module(frag.kernel(frag-verify))' --split-input-file --verify-diagnostics

#A = #frag.layout<"mma_a", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
!regs = !frag.reg<16x64xbf16, #A>

frag.kernel @good threads 32 smem 2048 params 200 {
  %base = frag.param "q" at 0 : !frag.ptr<bf16>
  %zero = arith.constant 0 : i64
  %true = arith.constant true
  %q = frag.smem "q" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.cp_async %base into %q[%p] row (%r) : !frag.ptr<bf16>, !ring {
    frag.yield %zero, %true : i64, i1
  }
  frag.cp_async_commit
  frag.cp_async_wait pending 0
  frag.cta_sync
  %a = frag.ldmatrix %q[%p] : !ring -> !regs
  frag.return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
!regs = !frag.reg<16x64xbf16, #A>

frag.kernel @no_barrier threads 32 smem 2048 params 200 {
  %base = frag.param "q" at 0 : !frag.ptr<bf16>
  %zero = arith.constant 0 : i64
  %true = arith.constant true
  %q = frag.smem "q" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.cp_async %base into %q[%p] row (%r) : !frag.ptr<bf16>, !ring {
    frag.yield %zero, %true : i64, i1
  }
  frag.cp_async_commit
  frag.cp_async_wait pending 0
  // expected-error @+1 {{reads ring 'q' between the wait for its copies and a CTA barrier}}
  %a = frag.ldmatrix %q[%p] : !ring -> !regs
  frag.return
}

// -----

#A = #frag.layout<"mma_a", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
!regs = !frag.reg<16x64xbf16, #A>

frag.kernel @too_early threads 32 smem 2048 params 200 {
  %base = frag.param "q" at 0 : !frag.ptr<bf16>
  %zero = arith.constant 0 : i64
  %true = arith.constant true
  %q = frag.smem "q" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.cp_async %base into %q[%p] row (%r) : !frag.ptr<bf16>, !ring {
    frag.yield %zero, %true : i64, i1
  }
  frag.cp_async_commit
  frag.cp_async_wait pending 1
  frag.cta_sync
  // expected-error @+1 {{reads ring 'q' while a copy into its only slot is in flight}}
  %a = frag.ldmatrix %q[%p] : !ring -> !regs
  frag.return
}

// -----

// expected-error @+1 {{ends with copies of ring 'q' that are not committed}}
frag.kernel @no_commit threads 32 smem 2048 params 200 {
  %base = frag.param "q" at 0 : !frag.ptr<bf16>
  %zero = arith.constant 0 : i64
  %true = arith.constant true
  %q = frag.smem "q" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.cp_async %base into %q[%p] row (%r) : !frag.ptr<bf16>, !frag.ring<16x64xbf16, swizzle = 128, slots = 1> {
    frag.yield %zero, %true : i64, i1
  }
  frag.return
}

// -----

frag.kernel @never_waits threads 32 smem 2048 params 200 {
  %base = frag.param "q" at 0 : !frag.ptr<bf16>
  %zero = arith.constant 0 : i64
  %lo = arith.constant 0 : i32
  %hi = arith.constant 100 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  %q = frag.smem "q" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{has more copies in flight on every turn: 9 groups after 9 turns}}
  scf.for %i = %lo to %hi step %one : i32 {
    frag.cp_async %base into %q[%p] row (%r) : !frag.ptr<bf16>, !frag.ring<16x64xbf16, swizzle = 128, slots = 1> {
      frag.yield %zero, %true : i64, i1
    }
    frag.cp_async_commit
  }
  frag.return
}

// -----

frag.kernel @negative threads 32 smem 0 params 200 {
  // expected-error @+1 {{waits until at most -1 groups are in flight}}
  frag.cp_async_wait pending -1
  frag.return
}

// -----

frag.kernel @no_offset threads 32 smem 2048 params 200 {
  // expected-error @+1 {{ring 'q' has no offset}}
  %q = frag.smem "q" at -1 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  frag.return
}

// -----

frag.kernel @unaligned threads 32 smem 4096 params 200 {
  // expected-error @+1 {{ring 'q' lies at 512 which is not a multiple of 1024}}
  %q = frag.smem "q" at 512 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  frag.return
}

// -----

frag.kernel @past_the_end threads 32 smem 1024 params 200 {
  // expected-error @+1 {{ring 'q' ends at byte 2048 but the kernel has 1024}}
  %q = frag.smem "q" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  frag.return
}

// -----

// An overlay lies over what is none, but not over another.
frag.kernel @overlays threads 32 smem 4096 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  %o = frag.smem "o" at 0 overlay : !frag.ring<16x32xf32, swizzle = 128, slots = 1>
  // expected-error @+1 {{ring 'm' at 1024 overlaps ring 'o' at 0 to 2048}}
  %m = frag.smem "m" at 1024 overlay : !frag.ring<16x4xf32, swizzle = 0, slots = 1>
  frag.return
}

// -----

frag.kernel @overlap threads 32 smem 4096 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  // expected-error @+1 {{ring 'k' at 1024 overlaps ring 'q' at 0 to 2048}}
  %k = frag.smem "k" at 1024 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  frag.return
}

// -----

frag.kernel @other_level threads 32 smem 0 params 200 {
  // expected-error @+1 {{is not an operation of level L3}}
  %v = ub.poison : i32
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
frag.kernel @chosen_ring threads 32 smem 4096 params 200 {
  %yes = arith.constant true
  %q = frag.smem "q" at 0 : !ring
  %k = frag.smem "k" at 2048 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %either = arith.select %yes, %q, %k : !ring
  // expected-error @+1 {{ring does not come from frag.smem}}
  %a = frag.ldmatrix %either[%p] : !ring -> !frag.reg<16x64xbf16, #frag.layout<"mma_a", warps = 1>>
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
frag.kernel @copy_into_chosen_ring threads 32 smem 4096 params 200 {
  %base = frag.param "q" at 0 : !frag.ptr<bf16>
  %zero = arith.constant 0 : i64
  %yes = arith.constant true
  %q = frag.smem "q" at 0 : !ring
  %k = frag.smem "k" at 2048 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %either = arith.select %yes, %q, %k : !ring
  // expected-error @+1 {{ring does not come from frag.smem}}
  frag.cp_async %base into %either[%p] row (%r) : !frag.ptr<bf16>, !ring {
    frag.yield %zero, %yes : i64, i1
  }
  frag.return
}
