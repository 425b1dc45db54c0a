// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

!ring = !frag.ring<32x96xbf16, swizzle = 64, slots = 1>
!rows = !frag.ring<16x64xf32, swizzle = 128, slots = 1>
!tile = !frag.reg<32x64xf32, #frag.layout<"mma_c", warps = 2>>

// Every second row to each of two warps, 96 columns in two turns of 64.  What is at
// the own place comes with the word that is stored; all reads of a row stand before the
// barrier of its warp, both stores behind it.
// CHECK-LABEL: llvm.func @slot(
// CHECK: nvvm.shfl.sync idx
// CHECK: llvm.cond_br
// CHECK-COUNT-2: llvm.intr.smin
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK: llvm.extractelement
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> bf16
// CHECK-NOT: llvm.store
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
frag.kernel @slot threads 64 smem 8192 params 200 {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %k = frag.smem "k" at 0 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.rewrite_rows %k[%p] from %c0 to %c32 at (%row, %col) : !ring {
    %j = arith.xori %col, %c32 : i32
    %x = frag.element %col
    %y = frag.element %j
    %z = arith.addf %x, %y : f32
    frag.yield %z : f32
  }
  frag.return
}

// Two rows a thread, one after the other through the same rows of the warp.
// CHECK-LABEL: llvm.func @tile(
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-16: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK-NEXT: llvm.mlir.constant
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-16: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-16: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-16: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
frag.kernel @tile threads 64 smem 4096 params 200 {
  %c63 = arith.constant 63 : i32
  %two = arith.constant 2.0 : f32
  %o = frag.param "o" at 0 : !frag.ptr<f32>
  %rows = frag.smem "rows" at 0 : !rows
  %t = frag.splat %two : f32 -> !tile
  %u = frag.rewrite_tile %t through %rows at (%row, %col) : !tile, !rows {
    %j = arith.subi %c63, %col : i32
    %x = frag.element %j
    frag.yield %x : f32
  }
  %offsets = frag.map () at (%r) -> !frag.vec<32xi64, #frag.layout<"mma_c", warps = 2>> {
    %x = arith.extsi %r : i32 to i64
    frag.yield %x : i64
  }
  %live = frag.map () at (%r) -> !frag.vec<32xi1, #frag.layout<"mma_c", warps = 2>> {
    %x = arith.constant true
    frag.yield %x : i1
  }
  frag.store %u, %o, %offsets, %live : !tile, !frag.ptr<f32>, !frag.vec<32xi64, #frag.layout<"mma_c", warps = 2>>, !frag.vec<32xi1, #frag.layout<"mma_c", warps = 2>>
  frag.return
}

// Elements in registers need neither rows nor barriers.
// CHECK-LABEL: llvm.func @own(
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: llvm.return
frag.kernel @own threads 64 smem 0 params 200 {
  %two = arith.constant 2.0 : f32
  %o = frag.param "o" at 0 : !frag.ptr<f32>
  %t = frag.splat %two : f32 -> !tile
  %u = frag.rewrite_tile %t at (%row, %col) : !tile {
    %x = frag.element %col
    %y = arith.mulf %x, %two : f32
    frag.yield %y : f32
  }
  frag.return
}
