// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{view of 'f32' (known: f16, bf16)}}
func.func private @f(!frag.view<64x64xf32, swizzle = 128>)

// -----

// expected-error @+1 {{swizzle must be 0, 32, 64 or 128 bytes but is 48}}
func.func private @f(!frag.view<64x64xbf16, swizzle = 48>)

// -----

// expected-error @+1 {{words need 1 to 64 words a lane but have 0}}
func.func private @f(!frag.words<0, slots = 1>)

// -----

// expected-error @+1 {{words need 1 to 64 slots but have 65}}
func.func private @f(!frag.words<1, slots = 65>)

// -----

// expected-error @+1 {{barriers need 1 to 64 slots but have 0}}
func.func private @f(!frag.bars<slots = 0>)

// -----

// expected-error @+1 {{barriers need 1 to 32 lanes but have 33}}
func.func private @f(!frag.bars<slots = 1, lanes = 33>)

// -----

// expected-error @+1 {{tensor map of 'i32' (known: f32, f16, bf16)}}
func.func private @f(!frag.tmap<64x8xi32, swizzle = 128>)

// -----

// expected-error @+1 {{tensor map has 6 dimensions but 1 to 5 are possible}}
func.func private @f(!frag.tmap<8x1x1x1x1x1xbf16, swizzle = 0>)

// -----

// expected-error @+1 {{box of 257 elements in a dimension but 1 to 256 are possible}}
func.func private @f(!frag.tmap<64x257xbf16, swizzle = 128>)

// -----

// expected-error @+1 {{swizzle 16 (known: 0, 32, 64, 128)}}
func.func private @f(!frag.tmap<8x8xbf16, swizzle = 16>)

// -----

// expected-error @+1 {{innermost box of 256 bytes must be a multiple of 16 and at most the swizzle of 128}}
func.func private @f(!frag.tmap<128x8xbf16, swizzle = 128>)

// -----

// expected-error @+1 {{register tile of 'i32' (known: f32, f16, bf16)}}
func.func private @f(!frag.inflight<64x8xi32, #frag.layout<"wgmma_c", warps = 4>>)

// -----

// expected-error @+1 {{role needs a name}}
func.func private @f() attributes {a = #frag.role<"", first_warp = 0, warps = 1, active = 1, replicas = 1>}

// -----

// expected-error @+1 {{role "a" has 2 times 16 warps from 4 on but a block has 32 warps}}
func.func private @f() attributes {a = #frag.role<"a", first_warp = 4, warps = 16, active = 16, replicas = 2>}

// -----

// expected-error @+1 {{role "a" has 5 active warps of 4}}
func.func private @f() attributes {a = #frag.role<"a", first_warp = 0, warps = 4, active = 5, replicas = 1>}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{needs 1 to 1048575 arrivals but has 0}}
  %b = frag.bars "b" at 0 count 0 : !frag.bars<slots = 1>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{needs words or barriers}}
  "frag.init"() : () -> ()
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 0 params 384 {
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 1>
  %true = arith.constant true
  %x = scf.if %true -> !frag.bars<slots = 1> {
    scf.yield %b : !frag.bars<slots = 1>
  } else {
    scf.yield %b : !frag.bars<slots = 1>
  }
  // expected-error @+1 {{storage does not come from frag.words or frag.bars}}
  frag.init %x : !frag.bars<slots = 1>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 1>
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    // expected-error @+1 {{holds a CTA barrier and must not be in a role}}
    frag.init %b : !frag.bars<slots = 1>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{needs a role}}
  "frag.role_dispatch"() <{roles = []}> : () -> ()
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{roles must be #frag.role but one is "a"}}
  frag.role_dispatch ["a"] {
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{names role "a" twice}}
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>, #frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
  }, {
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{role "b" has warps 0 to 3 and role "a" warps 0 to 3}}
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>, #frag.role<"b", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
  }, {
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{has 2 regions but 1 roles}}
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
  }, {
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{must be the last op of a kernel}}
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
  }
  %c1 = arith.constant 1 : i32
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 32 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{role "a" ends at warp 4 but the kernel has 1}}
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{region of role "a" has 1 arguments but a role of 1 replicas has 0}}
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] (%r) {
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{rank of role "a" is 'i64' but must be i32}}
  "frag.role_dispatch"() <{roles = [#frag.role<"a", first_warp = 0, warps = 2, active = 2, replicas = 2>]}> ({
  ^bb0(%r: i64):
    "frag.yield"() : () -> ()
  }) : () -> ()
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{role "a" yields a value}}
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    frag.yield %c0 : i32
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 384 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{roles take 69632 registers but the launch gives 64512}}
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 1, replicas = 1>, #frag.role<"b", first_warp = 4, warps = 4, active = 4, replicas = 2>] {
    frag.set_registers dec 80
  }, (%rank) {
    frag.set_registers inc 232
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    // expected-error @+1 {{takes a multiple of 8 from 24 to 256 but has 100}}
    frag.set_registers dec 100
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>] {
    %c1 = arith.constant 1 : i32
    // expected-error @+1 {{must be the first op of a role}}
    frag.set_registers dec 40
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 2, active = 2, replicas = 1>] {
    // expected-error @+1 {{acts on whole warpgroups but role "a" has 2 warps from 0 on}}
    frag.set_registers dec 40
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 1>
  %b2 = frag.bars "b2" at 8 count 1 : !frag.bars<slots = 1, lanes = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.elect {
    // expected-error @+1 {{arrives once a warp and must not be in frag.elect}}
    frag.mbar_arrive %b[%p] : !frag.bars<slots = 1>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 1>
  %b2 = frag.bars "b2" at 8 count 1 : !frag.bars<slots = 1, lanes = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{barriers have 1 lanes and take no lane}}
  frag.mbar_arrive %b[%p] lane %c0 : !frag.bars<slots = 1>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 1>
  %b2 = frag.bars "b2" at 8 count 1 : !frag.bars<slots = 1, lanes = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{barriers have 2 lanes and need a lane}}
  frag.mbar_arrive %b2[%p] : !frag.bars<slots = 1, lanes = 2>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 1>
  %b2 = frag.bars "b2" at 8 count 1 : !frag.bars<slots = 1, lanes = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{is for one thread and must be in frag.elect}}
  frag.mbar_arrive_one %b[%p] : !frag.bars<slots = 1>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 1>
  %b2 = frag.bars "b2" at 8 count 1 : !frag.bars<slots = 1, lanes = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.elect {
    // expected-error @+1 {{barriers have 1 lanes and take no lane}}
    frag.mbar_arrive_one %b[%p] lane %c0 : !frag.bars<slots = 1>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 1>
  %b2 = frag.bars "b2" at 8 count 1 : !frag.bars<slots = 1, lanes = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{is for one thread and must be in frag.elect}}
  frag.mbar_expect %b[%p] bytes 16 : !frag.bars<slots = 1>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 1>
  %b2 = frag.bars "b2" at 8 count 1 : !frag.bars<slots = 1, lanes = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.elect {
    // expected-error @+1 {{expects 1048576 bytes but a phase counts 0 to 1048575}}
    frag.mbar_expect %b[%p] bytes 1048576 : !frag.bars<slots = 1>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 1>
  %b2 = frag.bars "b2" at 8 count 1 : !frag.bars<slots = 1, lanes = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.elect {
    // expected-error @+1 {{barriers have 2 lanes but bytes come on one}}
    frag.mbar_expect %b2[%p] bytes 16 : !frag.bars<slots = 1, lanes = 2>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{barrier 0 is not in 1 to 15}}
  frag.barrier_sync 0 threads 128
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{barrier takes a multiple of 32 threads up to 128 but has 256}}
  frag.barrier_arrive 1 threads 256
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  frag.elect {
    // expected-error @+1 {{counts whole warps and must not be in frag.elect}}
    frag.barrier_sync 1 threads 128
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %w = frag.words "w" at 0 : !frag.words<2, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{reads 3 words but there are 2}}
  %v:3 = frag.ld_words 3 of %w[%p] : !frag.words<2, slots = 1>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %w = frag.words "w" at 0 : !frag.words<2, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{has 1 results but reads 2 words of 1 lanes}}
  %v = "frag.ld_words"(%w, %p) <{count = 2 : i32}> : (!frag.words<2, slots = 1>, !frag.pos<slots = 1>) -> i32
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %w = frag.words "w" at 0 : !frag.words<2, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{writes 3 words but a lane has 2}}
  frag.st_words (%c0, %c0, %c0) to %w[%p] : !frag.words<2, slots = 1>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %w = frag.words "w" at 0 : !frag.words<2, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // expected-error @+1 {{words have 1 lane and take no lane}}
  frag.st_words (%c0) to %w[%p] lane %c0 : !frag.words<2, slots = 1>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %q = frag.param "plan" at 40 : !frag.ptr<f32>
  // expected-error @+1 {{queue is words of i32, not 'f32'}}
  %n = frag.next_work %q below %c0 : !frag.ptr<f32>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %q = frag.param "plan" at 40 : !frag.ptr<i32>
  frag.elect {
    // expected-error @+1 {{is for a whole warp and must not be in frag.elect}}
    frag.next_work_done %q : !frag.ptr<i32>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{tensor 'o' is not known (known: q, k, v)}}
  %t = frag.tmap "o" at 256 dims ["dim", "token", "head"] pack 1 promotion 0 : !tmap
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{lies at 200 which is not a multiple of 64}}
  %t = frag.tmap "k" at 200 dims ["dim", "token", "head"] pack 1 promotion 0 : !tmap
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{packs 0 heads but needs at least 1}}
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 0 promotion 0 : !tmap
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{promotion 32 (known: 0, 64, 128, 256)}}
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 32 : !tmap
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{names 2 dimensions but the box has 3}}
  %t = frag.tmap "k" at 256 dims ["dim", "token"] pack 1 promotion 0 : !tmap
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{dimension 'row' is not known (known: dim, group, token, head, batch)}}
  %t = frag.tmap "k" at 256 dims ["dim", "row", "head"] pack 1 promotion 0 : !tmap
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{names dimension 'token' twice}}
  %t = frag.tmap "k" at 256 dims ["dim", "token", "token"] pack 1 promotion 0 : !tmap
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{innermost dimension is 'token' but must be 'dim'}}
  %t = frag.tmap "k" at 256 dims ["token", "dim", "head"] pack 1 promotion 0 : !tmap
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{takes 128 bytes at 320 but the parameter struct has 384}}
  %t = frag.tmap "k" at 320 dims ["dim", "token", "head"] pack 1 promotion 0 : !tmap
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 0 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %b = frag.bars "b" at 32768 count 1 : !frag.bars<slots = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  frag.elect {
    // expected-error @+1 {{has 1 coordinates but the tensor map has 2 dimensions behind the first}}
    frag.tma_load %t(%c0) into %k[%p] on %b[%p] : !tmap, !ring, !frag.bars<slots = 2>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 0 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %b = frag.bars "b" at 32768 count 1 : !frag.bars<slots = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %r = frag.smem "r" at 0 : !frag.ring<128x64xf16, swizzle = 128, slots = 2>
  frag.elect {
    // expected-error @+1 {{copies 'bf16' into a ring of 'f16'}}
    frag.tma_load %t(%c0, %c0) into %r[%p] on %b[%p] : !tmap, !frag.ring<128x64xf16, swizzle = 128, slots = 2>, !frag.bars<slots = 2>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 0 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %b = frag.bars "b" at 32768 count 1 : !frag.bars<slots = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %r = frag.smem "r" at 0 : !frag.ring<128x64xbf16, swizzle = 64, slots = 2>
  frag.elect {
    // expected-error @+1 {{swizzle of the tensor map is 128 but that of the ring 64}}
    frag.tma_load %t(%c0, %c0) into %r[%p] on %b[%p] : !tmap, !frag.ring<128x64xbf16, swizzle = 64, slots = 2>, !frag.bars<slots = 2>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 0 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %b = frag.bars "b" at 32768 count 1 : !frag.bars<slots = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %t2 = frag.tmap "k" at 256 dims ["dim", "token"] pack 1 promotion 0 : !frag.tmap<32x256xbf16, swizzle = 128>
  frag.elect {
    // expected-error @+1 {{innermost box has 32 columns but a panel of the ring 64}}
    frag.tma_load %t2(%c0) into %k[%p] on %b[%p] : !frag.tmap<32x256xbf16, swizzle = 128>, !ring, !frag.bars<slots = 2>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 0 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %b = frag.bars "b" at 32768 count 1 : !frag.bars<slots = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %r = frag.smem "r" at 0 : !frag.ring<64x64xbf16, swizzle = 128, slots = 2>
  frag.elect {
    // expected-error @+1 {{box has 16384 bytes but a panel of the ring 8192}}
    frag.tma_load %t(%c0, %c0) into %r[%p] on %b[%p] : !tmap, !frag.ring<64x64xbf16, swizzle = 128, slots = 2>, !frag.bars<slots = 2>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 0 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %b = frag.bars "b" at 32768 count 1 : !frag.bars<slots = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  // expected-error @+1 {{is for one thread and must be in frag.elect}}
  frag.tma_load %t(%c0, %c0) into %k[%p] on %b[%p] : !tmap, !ring, !frag.bars<slots = 2>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 0 : !tmap
  %k = frag.smem "k" at 0 : !ring
  %b = frag.bars "b" at 32768 count 1 : !frag.bars<slots = 2>
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %l = frag.bars "l" at 33000 count 1 : !frag.bars<slots = 2, lanes = 2>
  frag.elect {
    // expected-error @+1 {{barriers have 2 lanes but bytes come on one}}
    frag.tma_load %t(%c0, %c0) into %k[%p] on %l[%p] : !tmap, !ring, !frag.bars<slots = 2, lanes = 2>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  // expected-error @+1 {{view is '!frag.view<64x32xbf16, swizzle = 64>' but the ring is '!frag.ring<128x64xbf16, swizzle = 128, slots = 2>'}}
  %v = frag.view_rows %k[%p] from %c0 : !ring -> !frag.view<64x32xbf16, swizzle = 64>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  // expected-error @+1 {{view has 256 rows but a slot has 128}}
  %v = frag.view_rows %k[%p] from %c0 : !ring -> !frag.view<256x64xbf16, swizzle = 128>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  // expected-error @+1 {{atom 'mma.m16n8k16' is not known (known: wgmma.m64n<N>k16, N a multiple of 8 from 8 to 256)}}
  %s = frag.wgmma "mma.m16n8k16" nk %q, %k[%p] : !view, !ring -> !AS
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  // expected-error @+1 {{atom 'wgmma.m64n12k16' is not known}}
  %s = frag.wgmma "wgmma.m64n12k16" nk %q, %k[%p] : !view, !ring -> !AS
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  %c = frag.splat %z : f32 -> !frag.reg<64x64xf32, #frag.layout<"mma_c", warps = 4>>
  %a = frag.pack %c : !frag.reg<64x64xf32, #frag.layout<"mma_c", warps = 4>> -> !frag.reg<64x64xbf16, #frag.layout<"mma_a", warps = 4>>
  // expected-error @+1 {{operand A has layout 'mma_a' but the atom takes 'wgmma_a'}}
  %s = frag.wgmma "wgmma.m64n128k16" nk %a, %k[%p] : !frag.reg<64x64xbf16, #frag.layout<"mma_a", warps = 4>>, !ring -> !AS
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  // expected-error @+1 {{but the atom gives f32 in layout 'wgmma_c'}}
  %s = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] : !view, !ring -> !frag.inflight<64x128xf32, #frag.layout<"mma_c", warps = 4>>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  %h = frag.smem "h" at 0 : !frag.ring<128x64xf16, swizzle = 128, slots = 2>
  // expected-error @+1 {{A holds 'bf16' but the ring 'f16'}}
  %s = frag.wgmma "wgmma.m64n128k16" nk %q, %h[%p] : !view, !frag.ring<128x64xf16, swizzle = 128, slots = 2> -> !AS
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  // expected-error @+1 {{A has 64 columns but B has 128 rows of k}}
  %s = frag.wgmma "wgmma.m64n64k16" kn %q, %k[%p] : !view, !ring -> !frag.inflight<64x64xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  %h = frag.smem "h" at 0 : !frag.ring<8x64xbf16, swizzle = 128, slots = 2>
  %k8 = frag.smem "k8" at 0 : !frag.ring<64x8xbf16, swizzle = 0, slots = 2>
  %v8 = frag.view_rows %k8[%p] from %c0 : !frag.ring<64x8xbf16, swizzle = 0, slots = 2> -> !frag.view<64x8xbf16, swizzle = 0>
  // expected-error @+1 {{k is 8 but a step takes 16}}
  %s = frag.wgmma "wgmma.m64n64k16" kn %v8, %h[%p] : !frag.view<64x8xbf16, swizzle = 0>, !frag.ring<8x64xbf16, swizzle = 128, slots = 2> -> !frag.inflight<64x64xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  // expected-error @+1 {{atom has 64 columns but B has 128}}
  %s = frag.wgmma "wgmma.m64n64k16" nk %q, %k[%p] : !view, !ring -> !frag.inflight<64x64xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  // expected-error @+1 {{A has 64 rows and the result is 64x64 but the atom gives 64x128}}
  %s = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] : !view, !ring -> !frag.inflight<64x64xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  %o = frag.splat %z : f32 -> !frag.reg<64x64xf32, #C>
  // expected-error @+1 {{acc is '!frag.reg<64x64xf32, #frag.layout<"wgmma_c", warps = 4>>' but the result is}}
  %s = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] acc %o : !view, !ring acc !frag.reg<64x64xf32, #C> -> !AS
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.view_rows %k[%p] from %c0 : !ring -> !view
  %z = arith.constant 0.0 : f32
  %s = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] : !view, !ring -> !AS
  // expected-error @+1 {{waits until at most -1 products are under way}}
  %r = frag.wgmma_wait pending -1 %s : !AS
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 384 smem 0 params 200 {
  %z = arith.constant 0.0 : f32
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 2, replicas = 1>] {
    // expected-error @+1 {{has a layout of 4 warps but the role has 2}}
    %o = frag.splat %z : f32 -> !frag.reg<64x64xf32, #C>
  }
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %y = arith.constant true
  %z = arith.constant 0.0 : f32
  %v = frag.splat %y : i1 -> !frag.vec<64xi1, #C>
  %f = frag.splat %z : f32 -> !frag.vec<64xf32, #C>
  // expected-error @+1 {{asks i1, not 'f32'}}
  %a = frag.any %f : !frag.vec<64xf32, #C>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %y = arith.constant true
  %z = arith.constant 0.0 : f32
  %v = frag.splat %y : i1 -> !frag.vec<64xi1, #C>
  // expected-error @+1 {{scope warpgroup needs a barrier}}
  %a = frag.any %v scope warpgroup : !frag.vec<64xi1, #C>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %y = arith.constant true
  %z = arith.constant 0.0 : f32
  %v = frag.splat %y : i1 -> !frag.vec<64xi1, #C>
  // expected-error @+1 {{scope warp has no barrier}}
  %a = frag.any %v scope warp barrier 1 : !frag.vec<64xi1, #C>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %y = arith.constant true
  %z = arith.constant 0.0 : f32
  %v = frag.splat %y : i1 -> !frag.vec<64xi1, #C>
  // expected-error @+1 {{scope cta has no rank}}
  %a = frag.any %v + %c0 : !frag.vec<64xi1, #C>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %y = arith.constant true
  %z = arith.constant 0.0 : f32
  %v = frag.splat %y : i1 -> !frag.vec<64xi1, #C>
  // expected-error @+1 {{barrier 16 is not in 1 to 15}}
  %a = frag.any %v scope warpgroup barrier 16 : !frag.vec<64xi1, #C>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 64 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %y = arith.constant true
  %w = frag.splat %y : i1 -> !frag.vec<32xi1, #frag.layout<"mma_c", warps = 2>>
  // expected-error @+1 {{scope warpgroup takes 4 warps but the layout has 2}}
  %a = frag.any %w scope warpgroup barrier 1 : !frag.vec<32xi1, #frag.layout<"mma_c", warps = 2>>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : bf16
  %c = frag.splat %z : f32 -> !frag.reg<64x64xf32, #C>
  %b = frag.splat %h : bf16 -> !frag.reg<64x64xbf16, #C>
  // expected-error @+1 {{takes 'mma_c' or 'wgmma_c' to 'quad16', not 'wgmma_c' to 'wgmma_c'}}
  %t = frag.quad_transpose %b : !frag.reg<64x64xbf16, #C> -> !frag.reg<64x64xbf16, #C>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : bf16
  %c = frag.splat %z : f32 -> !frag.reg<64x64xf32, #C>
  %b = frag.splat %h : bf16 -> !frag.reg<64x64xbf16, #C>
  // expected-error @+1 {{result is 64x32 but the tile, in whole atoms, 64x64}}
  %t = frag.quad_transpose %b : !frag.reg<64x64xbf16, #C> -> !frag.reg<64x32xbf16, #E>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : bf16
  %c = frag.splat %z : f32 -> !frag.reg<64x64xf32, #C>
  %b = frag.splat %h : bf16 -> !frag.reg<64x64xbf16, #C>
  // expected-error @+1 {{moves 16-bit elements, not 'bf16' to 'f16'}}
  %t = frag.quad_transpose %b : !frag.reg<64x64xbf16, #C> -> !frag.reg<64x64xf16, #E>
  frag.return
}

// -----

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!view = !frag.view<64x64xbf16, swizzle = 128>
!tmap = !frag.tmap<64x128x1xbf16, swizzle = 128>
!AS = !frag.inflight<64x128xf32, #C>
frag.kernel @k threads 128 smem 40000 params 384 {
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : bf16
  %c = frag.splat %z : f32 -> !frag.reg<64x64xf32, #C>
  %b = frag.splat %h : bf16 -> !frag.reg<64x64xbf16, #C>
  // expected-error @+1 {{mixes layouts of 4 and 2 warps}}
  %t = frag.quad_transpose %b : !frag.reg<64x64xbf16, #C> -> !frag.reg<64x64xbf16, #frag.layout<"quad16", warps = 2>>
  frag.return
}
