// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

!bars = !frag.bars<slots = 2>
!ring = !frag.ring<128x128xbf16, swizzle = 128, slots = 2>
!k = !frag.tmap<64x128x1x1xbf16, swizzle = 128>
!q = !frag.tmap<64x4x32x1x1xbf16, swizzle = 128>

// A kernel with tensor maps has a parameter struct aligned to 64 bytes.  One box a
// panel: columns 0 and 64, 16384 bytes apart, on one barrier.
// CHECK-LABEL: llvm.func @load(
// CHECK-SAME: llvm.align = 64 : i64, llvm.byval = !llvm.struct<(array<640 x i8>)>, nvvm.grid_constant
// CHECK: %[[MAP:.*]] = llvm.getelementptr %arg0[256]
// CHECK: %[[QMAP:.*]] = llvm.getelementptr %arg0[384]
// CHECK: llvm.mlir.constant(1508705875169116160 : i64)
// CHECK: %[[C0:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK: "@$0 cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [$1], [$2, {$4, $5, $6, $7}], [$3], $8;", "b,r,l,r,r,r,r,r,l,~{memory}" %{{.*}}, %{{.*}}, %[[MAP]], %{{.*}}, %[[C0]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK: %[[C64:.*]] = llvm.mlir.constant(64 : i32) : i32
// CHECK: llvm.getelementptr %{{.*}}[16384]
// CHECK: cp.async.bulk.tensor.4d{{.*}} %[[MAP]], %{{.*}}, %[[C64]],
// CHECK: "@$0 cp.async.bulk.tensor.5d.shared::cta.global.tile.mbarrier::complete_tx::bytes [$1], [$2, {$4, $5, $6, $7, $8}], [$3];", "b,r,l,r,r,r,r,r,r,~{memory}"
// CHECK: cp.async.bulk.tensor.5d
// CHECK-NOT: cp.async.bulk
// CHECK: llvm.return
frag.kernel @load threads 32 smem 65552 params 640 {
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !k
  %tq = frag.tmap "q" at 384 dims ["dim", "group", "token", "head", "batch"] pack 4 promotion 128 : !q
  %r = frag.smem "k" at 0 : !ring
  %b = frag.bars "b" at 65536 count 1 : !bars
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %x = frag.cta_id
  frag.elect {
    frag.tma_load %t(%x, %x, %x) into %r[%p] on %b[%p] hint evict_last : !k, !ring, !bars
    frag.tma_load %tq(%x, %x, %x, %x) into %r[%p] on %b[%p] : !q, !ring, !bars
  }
  frag.return
}

// Rows of a slot: the target moves on by 128 bytes a row, in both panels.
// CHECK-LABEL: llvm.func @rows(
// CHECK: %[[ROW:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[ROWBYTES:.*]] = llvm.mlir.constant(128 : i32) : i32
// CHECK: %[[AT:.*]] = llvm.mul %{{.*}}, %[[ROWBYTES]]
// CHECK: llvm.getelementptr %{{.*}}[%[[AT]]]
// CHECK: cp.async.bulk.tensor.4d
// CHECK: llvm.getelementptr %{{.*}}[16384]
// CHECK: cp.async.bulk.tensor.4d
frag.kernel @rows threads 32 smem 65552 params 640 {
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !frag.tmap<64x64x1x1xbf16, swizzle = 128>
  %r = frag.smem "k" at 0 : !ring
  %b = frag.bars "b" at 65536 count 1 : !bars
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %x = frag.cta_id
  frag.elect {
    frag.tma_load %t(%x, %x, %x) into %r[%p] from %x on %b[%p] : !frag.tmap<64x64x1x1xbf16, swizzle = 128>, !ring, !bars
  }
  frag.return
}

// 80 columns in panels of 32: three boxes, the last of columns 64 to 95.
// CHECK-LABEL: llvm.func @last_panel(
// CHECK: llvm.getelementptr %{{.*}}[4096]
// CHECK: %[[C64:.*]] = llvm.mlir.constant(64 : i32) : i32
// CHECK: llvm.getelementptr %{{.*}}[8192]
// CHECK: cp.async.bulk.tensor.4d{{.*}} %[[C64]],
// CHECK-NOT: cp.async.bulk
// CHECK: llvm.return
frag.kernel @last_panel threads 32 smem 12304 params 640 {
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !frag.tmap<32x64x1x1xbf16, swizzle = 64>
  %r = frag.smem "k" at 0 : !frag.ring<64x80xbf16, swizzle = 64, slots = 1>
  %b = frag.bars "b" at 12288 count 1 : !frag.bars<slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %x = frag.cta_id
  frag.elect {
    frag.mbar_expect %b[%p] bytes 12288 : !frag.bars<slots = 1>
    frag.tma_load %t(%x, %x, %x) into %r[%p] on %b[%p] : !frag.tmap<32x64x1x1xbf16, swizzle = 64>, !frag.ring<64x80xbf16, swizzle = 64, slots = 1>, !frag.bars<slots = 1>
  }
  frag.return
}
