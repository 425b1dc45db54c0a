// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

#G = #frag.layout<"mma_c", warps = 4, groups = 4>
#A = #frag.layout<"mma_a", warps = 4, groups = 4>
#R = #frag.layout<"row_c", warps = 4>
!k = !frag.ring<64x64xbf16, swizzle = 128, slots = 1>
!parts = !frag.ring<64x64xf32, swizzle = 128, slots = 1>
!rows = !frag.ring<64x4xf32, swizzle = 0, slots = 1>

// 16 of the slot's 64 keys: one x4 load and two MMAs for each of 4 k steps, from
// the group's 2048 bytes on.
// CHECK-LABEL: llvm.func @product(
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[FIVE:.*]] = llvm.mlir.constant(5 : i32)
// CHECK: %[[WARP:.*]] = llvm.lshr %[[TID]], %[[FIVE]]
// CHECK: %[[RANK:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[WARP]],
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(2048 : i32)
// CHECK: %[[PART:.*]] = llvm.mul %[[RANK]], %[[BYTES]]
// CHECK: llvm.getelementptr %{{.*}}[%[[PART]]]
// CHECK-COUNT-4: nvvm.ldmatrix
// CHECK-NOT: nvvm.ldmatrix
// CHECK: llvm.return
frag.kernel @product threads 128 smem 8192 params 200 {
  %x = frag.param "scale" at 192 : f32
  %g = frag.group_rank of 4
  %k = frag.smem "k" at 0 : !k
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %q = frag.splat %x : f32 -> !frag.reg<16x64xf32, #G>
  %a = frag.pack %q : !frag.reg<16x64xf32, #G> -> !frag.reg<16x64xbf16, #A>
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p] part %g : !frag.reg<16x64xbf16, #A>, !k -> !frag.reg<16x16xf32, #G>
  frag.return
}

// 32 registers of O as pairs; m by one lane of a row.
// CHECK-LABEL: llvm.func @store(
// CHECK-COUNT-16: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK-COUNT-2: llvm.inline_asm {{.*}}"@$0 st.shared.b32 [$1+0], $2;"
// CHECK-NOT: llvm.inline_asm {{.*}}st.shared
// CHECK: llvm.return
frag.kernel @store threads 128 smem 17408 params 200 {
  %x = frag.param "scale" at 192 : f32
  %g = frag.group_rank of 4
  %parts = frag.smem "parts" at 0 : !parts
  %rows = frag.smem "rows" at 16384 : !rows
  %o = frag.splat %x : f32 -> !frag.reg<16x64xf32, #G>
  %m = frag.splat %x : f32 -> !frag.vec<16xf32, #G>
  frag.st_tile %o into %parts part %g : !frag.reg<16x64xf32, #G>, !parts
  frag.st_tile %m into %rows part %g col 1 : !frag.vec<16xf32, #G>, !rows
  frag.return
}

// A lane has four columns of one row in each of two panels.
// CHECK-LABEL: llvm.func @load(
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT: llvm.load %{{.*}}vector<4xf32>
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK: llvm.return
frag.kernel @load threads 128 smem 17408 params 200 {
  %c2 = arith.constant 2 : i32
  %parts = frag.smem "parts" at 0 : !parts
  %rows = frag.smem "rows" at 16384 : !rows
  %o = frag.ld_tile %parts part %c2 : !parts -> !frag.reg<16x64xf32, #R>
  %m = frag.ld_tile %rows part %c2 col 1 : !rows -> !frag.vec<16xf32, #R>
  frag.return
}
