// RUN: attn-opt %s --verify-roundtrip | FileCheck %s

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
#E = #frag.layout<"quad16", warps = 4>
!ring = !frag.ring<128x64xbf16, swizzle = 128, slots = 2>
!S = !frag.reg<64x128xf32, #C>
!O = !frag.reg<64x64xf32, #C>
!P = !frag.reg<64x128xbf16, #A>
!Ib = !frag.reg<64x64xbf16, #C>
!Ob = !frag.reg<64x64xbf16, #E>

// CHECK-LABEL: frag.kernel @async threads 384 smem 34000 params 384
frag.kernel @async threads 384 smem 34000 params 384 {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant 0.0 : f32
  %plan = frag.param "plan" at 40 : !frag.ptr<i32>
  // CHECK: frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : <64x128x1xbf16, swizzle = 128>
  %tk = frag.tmap "k" at 256 dims ["dim", "token", "head"] pack 1 promotion 128 : !frag.tmap<64x128x1xbf16, swizzle = 128>
  %k = frag.smem "k" at 0 : !ring
  // CHECK: %[[W:.*]] = frag.words "work" at 32768 : <16, slots = 2>
  %w = frag.words "work" at 32768 : !frag.words<16, slots = 2>
  // CHECK: %[[X:.*]] = frag.words "verdict" at 33000 : <1, slots = 3, lanes = 2>
  %x = frag.words "verdict" at 33000 : !frag.words<1, slots = 3, lanes = 2>
  // CHECK: %[[F:.*]] = frag.bars "k.full" at 33280 count 1 : <slots = 2>
  %f = frag.bars "k.full" at 33280 count 1 : !frag.bars<slots = 2>
  %xf = frag.bars "verdict.full" at 33296 count 4 : !frag.bars<slots = 3, lanes = 2>
  // CHECK: frag.init %[[X]], %[[F]], %{{.*}} : !frag.words<1, slots = 3, lanes = 2>, !frag.bars<slots = 2>, !frag.bars<slots = 3, lanes = 2>
  frag.init %x, %f, %xf : !frag.words<1, slots = 3, lanes = 2>, !frag.bars<slots = 2>, !frag.bars<slots = 3, lanes = 2>
  // CHECK: frag.role_dispatch [#frag.role<"load", first_warp = 0, warps = 4, active = 1, replicas = 1>, #frag.role<"compute", first_warp = 4, warps = 4, active = 4, replicas = 2>] {
  frag.role_dispatch [#frag.role<"load", first_warp = 0, warps = 4, active = 1, replicas = 1>,
                      #frag.role<"compute", first_warp = 4, warps = 4, active = 4, replicas = 2>] {
    // CHECK: frag.set_registers dec 40
    frag.set_registers dec 40
    %p = frag.pos phase 1 : !frag.pos<slots = 2>
    %p3 = frag.pos phase 1 : !frag.pos<slots = 3>
    // CHECK: frag.mbar_wait %{{.*}}[%{{.*}}] : <slots = 3, lanes = 2>
    frag.mbar_wait %xf[%p3] : !frag.bars<slots = 3, lanes = 2>
    // CHECK: %{{.*}}:2 = frag.ld_words 1 of %[[X]][%{{.*}}] : <1, slots = 3, lanes = 2>
    %v:2 = frag.ld_words 1 of %x[%p3] : !frag.words<1, slots = 3, lanes = 2>
    // CHECK: frag.st_words(%{{.*}}) to %[[X]][%{{.*}}] : <1, slots = 3, lanes = 2>
    frag.st_words (%c0) to %x[%p3] : !frag.words<1, slots = 3, lanes = 2>
    // CHECK: frag.next_work %{{.*}} below %{{.*}} : <i32>
    %n = frag.next_work %plan below %c64 : !frag.ptr<i32>
    // CHECK: frag.elect {
    frag.elect {
      // CHECK-NEXT: frag.st_words(%{{.*}}, %{{.*}}) to %[[W]]
      frag.st_words (%n, %v#0) to %w[%p] : !frag.words<16, slots = 2>
      // CHECK-NEXT: frag.mbar_arrive_one %[[F]][%{{.*}}] : <slots = 2>
      frag.mbar_arrive_one %f[%p] : !frag.bars<slots = 2>
      // CHECK-NEXT: frag.mbar_expect %[[F]][%{{.*}}] bytes 16384 : <slots = 2>
      frag.mbar_expect %f[%p] bytes 16384 : !frag.bars<slots = 2>
      // CHECK-NEXT: frag.tma_load %{{.*}}(%{{.*}}, %{{.*}}) into %{{.*}}[%{{.*}}] on %[[F]][%{{.*}}] hint evict_last
      frag.tma_load %tk(%c64, %c0) into %k[%p] on %f[%p] hint evict_last : !frag.tmap<64x128x1xbf16, swizzle = 128>, !ring, !frag.bars<slots = 2>
      // CHECK-NEXT: }
    }
    // CHECK: frag.zero_rows %{{.*}}[%{{.*}}] from %{{.*}} : <128x64xbf16, swizzle = 128, slots = 2>
    frag.zero_rows %k[%p] from %c64 : !ring
    // CHECK: frag.fence proxy_async_shared
    frag.fence proxy_async_shared
    // CHECK: frag.mbar_arrive %[[F]][%{{.*}}] sync : <slots = 2>
    frag.mbar_arrive %f[%p] sync : !frag.bars<slots = 2>
    // CHECK: frag.next_work_done %{{.*}} : <i32>
    frag.next_work_done %plan : !frag.ptr<i32>
  }, (%rank) {
    // CHECK: }, (%[[RANK:.*]]) {
    // CHECK: frag.set_registers inc 232
    frag.set_registers inc 232
    %p = frag.pos phase 0 : !frag.pos<slots = 2>
    %p3 = frag.pos phase 0 : !frag.pos<slots = 3>
    // CHECK: frag.view_rows %{{.*}}[%{{.*}}] from %{{.*}} : <128x64xbf16, swizzle = 128, slots = 2> -> <64x64xbf16, swizzle = 128>
    %q = frag.view_rows %k[%p] from %c64 : !ring -> !frag.view<64x64xbf16, swizzle = 128>
    // CHECK: %[[S:.*]] = frag.wgmma "wgmma.m64n128k16" nk %{{.*}}, %{{.*}}[%{{.*}}] : !frag.view<64x64xbf16, swizzle = 128>, <128x64xbf16, swizzle = 128, slots = 2> -> <64x128xf32, #frag.layout<"wgmma_c", warps = 4>>
    %s = frag.wgmma "wgmma.m64n128k16" nk %q, %k[%p] : !frag.view<64x64xbf16, swizzle = 128>, !ring -> !frag.inflight<64x128xf32, #C>
    // CHECK: frag.wgmma_wait pending 0 %[[S]] : <64x128xf32
    %s1 = frag.wgmma_wait pending 0 %s : !frag.inflight<64x128xf32, #C>
    %pk = frag.pack %s1 : !S -> !P
    %o0 = frag.splat %zero : f32 -> !O
    // CHECK: frag.wgmma "wgmma.m64n64k16" kn %{{.*}}, %{{.*}}[%{{.*}}] acc %{{.*}} : !frag.reg<64x128xbf16, {{.*}}>, <128x64xbf16, {{.*}}> acc !frag.reg<64x64xf32
    %o = frag.wgmma "wgmma.m64n64k16" kn %pk, %k[%p] acc %o0 : !P, !ring acc !O -> !frag.inflight<64x64xf32, #C>
    // CHECK: %{{.*}}, %{{.*}} = frag.wgmma_wait pending 0 %{{.*}} pin %{{.*}} : <64x64xf32, {{.*}}> pin !frag.reg<64x128xf32
    %o1, %s2 = frag.wgmma_wait pending 0 %o pin %s1 : !frag.inflight<64x64xf32, #C> pin !S
    // CHECK: frag.mbar_arrive %{{.*}}[%{{.*}}] lane %[[RANK]] : <slots = 3, lanes = 2>
    frag.mbar_arrive %xf[%p3] lane %rank : !frag.bars<slots = 3, lanes = 2>
    // CHECK: frag.st_words(%{{.*}}) to %[[X]][%{{.*}}] lane %[[RANK]]
    frag.st_words (%c0) to %x[%p3] lane %rank : !frag.words<1, slots = 3, lanes = 2>
    %b = frag.map () at (%r) -> !frag.vec<64xi1, #C> {
      %y = arith.cmpi slt, %r, %rank : i32
      frag.yield %y : i1
    }
    // CHECK: frag.any %{{.*}} scope warp : <64xi1
    %a0 = frag.any %b scope warp : !frag.vec<64xi1, #C>
    // CHECK: frag.any %{{.*}} scope warpgroup barrier 1 + %[[RANK]] : <64xi1
    %a1 = frag.any %b scope warpgroup barrier 1 + %rank : !frag.vec<64xi1, #C>
    // CHECK: frag.barrier_sync 3 + %[[RANK]] threads 256
    frag.barrier_sync 3 + %rank threads 256
    // CHECK: frag.barrier_arrive 5 threads 256
    frag.barrier_arrive 5 threads 256
    %packed = frag.pack %o1 : !O -> !Ib
    // CHECK: frag.quad_transpose %{{.*}} : <64x64xbf16, #frag.layout<"wgmma_c", warps = 4>> -> <64x64xbf16, #frag.layout<"quad16", warps = 4>>
    %t = frag.quad_transpose %packed : !Ib -> !Ob
    %base = frag.param "o" at 24 : !frag.ptr<bf16>
    %off = frag.map () at (%r) -> !frag.vec<64xi64, #C> {
      %y = arith.extui %r : i32 to i64
      frag.yield %y : i64
    }
    // Offsets of the accumulator's rows: a quad's rows stay where they are.
    // CHECK: frag.store %{{.*}} : <64x64xbf16, #frag.layout<"quad16", warps = 4>>, <bf16>, <64xi64, #frag.layout<"wgmma_c", warps = 4>>
    frag.store %t, %base, %off, %b : !Ob, !frag.ptr<bf16>, !frag.vec<64xi64, #C>, !frag.vec<64xi1, #C>
  }
  frag.return
}
