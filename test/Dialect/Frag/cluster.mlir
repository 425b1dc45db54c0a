// RUN: attn-opt %s --verify-roundtrip | FileCheck %s
// RUN: attn-opt %S/../../Sim/Inputs/cluster-sm90.frag.mlir --pass-pipeline='builtin.module(frag.kernel(frag-verify))' -o /dev/null

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!half = !frag.tmap<64x8x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>

// CHECK-LABEL: frag.kernel @cluster threads 32 smem 4112 params 384 cluster = 4 attributes {target = "sm_90a"} {
frag.kernel @cluster threads 32 smem 4112 params 384 cluster = 4 attributes {target = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !half
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %p = frag.pos phase 0 : !pos
  frag.init %full : !bars
  // CHECK: frag.cluster_sync
  frag.cluster_sync
  // CHECK-NEXT: %[[RANK:.*]] = frag.cluster_rank
  %rank = frag.cluster_rank
  // CHECK-NEXT: frag.mbar_arrive %{{.*}}[%{{.*}}] cta %[[RANK]] sync : <slots = 2>
  frag.mbar_arrive %full[%p] cta %rank sync : !bars
  frag.elect {
    // CHECK: frag.mbar_arrive_one %{{.*}}[%{{.*}}] cta %[[RANK]] : <slots = 2>
    frag.mbar_arrive_one %full[%p] cta %rank : !bars
    // CHECK-NEXT: frag.mbar_expect
    frag.mbar_expect %full[%p] bytes 3072 : !bars
    // CHECK-NEXT: frag.tma_load %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) into %{{.*}}[%{{.*}}] from %[[RANK]] on %{{.*}}[%{{.*}}] multicast 7 hint evict_last
    frag.tma_load %t(%c0, %c0, %c0) into %k[%p] from %rank on %full[%p] multicast 7 hint evict_last : !half, !ring, !bars
  }
  frag.return
}

// CHECK-LABEL: frag.kernel @alone threads 32 smem 0 params 200 {
frag.kernel @alone threads 32 smem 0 params 200 cluster = 1 {
  frag.return
}
