// RUN: attn-opt %s | attn-opt | FileCheck %s

#C = #frag.layout<"mma_c", warps = 2>
!ring = !frag.ring<32x64xbf16, swizzle = 128, slots = 2>
!rows = !frag.ring<16x64xf32, swizzle = 128, slots = 1>
!tile = !frag.reg<32x64xf32, #C>
// CHECK-LABEL: frag.kernel @rewrite
frag.kernel @rewrite threads 64 smem 12288 params 200 {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %f0 = arith.constant 0.0 : f32
  %k = frag.smem "k" at 0 : !ring
  %rows = frag.smem "rows" at 8192 : !rows
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  // CHECK: frag.rewrite_rows %[[K:.*]][%[[P:.*]]] from %[[LO:.*]] to %[[HI:.*]] at (%[[R:.*]], %[[C:.*]]) : !frag.ring<32x64xbf16, swizzle = 128, slots = 2> {
  // CHECK: %[[X:.*]] = frag.element %{{.*}}
  // CHECK: frag.yield %[[X]] : f32
  frag.rewrite_rows %k[%p] from %c0 to %c32 at (%row, %col) : !ring {
    %i = arith.addi %row, %col : i32
    %x = frag.element %i
    frag.yield %x : f32
  }
  %t = frag.splat %f0 : f32 -> !tile
  // CHECK: %[[U:.*]] = frag.rewrite_tile %{{.*}} through %{{.*}} at (%{{.*}}, %{{.*}}) : !frag.reg<32x64xf32, #[[L:.*]]>, !frag.ring<16x64xf32, swizzle = 128, slots = 1> {
  %u = frag.rewrite_tile %t through %rows at (%row, %col) : !tile, !rows {
    %x = frag.element %row
    frag.yield %x : f32
  }
  // What is in registers needs no rows.
  // CHECK: frag.rewrite_tile %[[U]] at (%{{.*}}, %[[OWN:.*]]) : !frag.reg<32x64xf32, #[[L]]> {
  // CHECK-NEXT: frag.element %[[OWN]]
  %v = frag.rewrite_tile %u at (%row, %col) : !tile {
    %x = frag.element %col
    frag.yield %x : f32
  }
  frag.return
}
