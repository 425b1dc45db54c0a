// RUN: attn-opt %s | attn-opt | FileCheck %s

#G = #frag.layout<"mma_c", warps = 4, groups = 4>
#A = #frag.layout<"mma_a", warps = 4, groups = 4>
#R = #frag.layout<"row_c", warps = 4>
!q = !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
!k = !frag.ring<64x64xbf16, swizzle = 128, slots = 1>
!parts = !frag.ring<64x64xf32, swizzle = 128, slots = 1>
!rows = !frag.ring<64x4xf32, swizzle = 0, slots = 1>
// CHECK-LABEL: frag.kernel @groups
frag.kernel @groups threads 128 smem 17408 params 200 {
  %q = frag.smem "q" at 0 : !q
  %k = frag.smem "k" at 2048 : !k
  // CHECK: frag.smem "parts" at 0 overlay : <64x64xf32, swizzle = 128, slots = 1>
  %parts = frag.smem "parts" at 0 overlay : !parts
  %rows = frag.smem "rows" at 16384 overlay : !rows
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  // CHECK: %[[RANK:.*]] = frag.group_rank of 4
  %g = frag.group_rank of 4
  %a = frag.ldmatrix %q[%p] : !q -> !frag.reg<16x64xbf16, #A>
  // CHECK: %[[S:.*]] = frag.mma "mma.m16n8k16" nk %{{.*}}, %{{.*}}[%{{.*}}] part %[[RANK]] : {{.*}} -> <16x16xf32, #[[G:frag.layout<"mma_c", warps = 4, groups = 4>]]>
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p] part %g : !frag.reg<16x64xbf16, #A>, !k -> !frag.reg<16x16xf32, #G>
  %w = frag.pack %s : !frag.reg<16x16xf32, #G> -> !frag.reg<16x16xbf16, #A>
  // CHECK: %[[O:.*]] = frag.mma "mma.m16n8k16" kn %{{.*}}, %{{.*}}[%{{.*}}] part %[[RANK]] : {{.*}} -> <16x64xf32, #[[G]]>
  %o = frag.mma "mma.m16n8k16" kn %w, %k[%p] part %g : !frag.reg<16x16xbf16, #A>, !k -> !frag.reg<16x64xf32, #G>
  %m = frag.reduce_row max row %s : !frag.reg<16x16xf32, #G> -> !frag.vec<16xf32, #G>
  frag.cta_sync
  // CHECK: frag.st_tile %[[O]] into %{{.*}} part %[[RANK]] : !frag.reg<16x64xf32, #[[G]]>, <64x64xf32, swizzle = 128, slots = 1>
  frag.st_tile %o into %parts part %g : !frag.reg<16x64xf32, #G>, !parts
  // CHECK: frag.st_tile %{{.*}} into %{{.*}} part %[[RANK]] col 1 : !frag.vec<16xf32, #[[G]]>, <64x4xf32, swizzle = 0, slots = 1>
  frag.st_tile %m into %rows part %g col 1 : !frag.vec<16xf32, #G>, !rows
  frag.cta_sync
  %c2 = arith.constant 2 : i32
  // CHECK: frag.ld_tile %{{.*}} part %{{.*}} : <64x64xf32, swizzle = 128, slots = 1> -> !frag.reg<16x64xf32, #[[R:frag.layout<"row_c", warps = 4>]]>
  %x = frag.ld_tile %parts part %c2 : !parts -> !frag.reg<16x64xf32, #R>
  // CHECK: frag.ld_tile %{{.*}} part %{{.*}} col 1 : <64x4xf32, swizzle = 0, slots = 1> -> !frag.vec<16xf32, #[[R]]>
  %y = frag.ld_tile %rows part %c2 col 1 : !rows -> !frag.vec<16xf32, #R>
  frag.return
}
