// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s
// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s --check-prefix=NAMES

#C = #frag.layout<"wgmma_c", warps = 4>
#A = #frag.layout<"wgmma_a", warps = 4>
!pos = !frag.pos<slots = 2>

// S = Q K^T of 64 x 8 x 32, Q from row 64 r: the low word of Q has 4 units a row, of
// K 32 units a slot; both have leading offset 1 and, with a swizzle of 64, stride
// 512 and type 2.  Scale-d is off in the first step, nothing is tied.
// CHECK-LABEL: llvm.func @ss(
// CHECK: llvm.mlir.constant(262143 : i32)
// CHECK: llvm.and
// CHECK: llvm.mlir.constant(4 : i32)
// CHECK: llvm.lshr
// CHECK: llvm.mlir.constant(65536 : i32)
// CHECK: llvm.or
// CHECK: llvm.mlir.constant(512 : i32)
// CHECK: llvm.mul
// CHECK: llvm.mlir.constant(4 : i32)
// CHECK: llvm.mul
// CHECK: llvm.add
// CHECK: llvm.mlir.constant(32 : i32)
// CHECK: llvm.mul
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "{\0A
// CHECK-SAME: setp.ne.b32 first, 0, 0;\0Asetp.ne.b32 next, 1, 0;\0A
// CHECK-SAME: mov.b32 ha, 2147483680;\0Amov.b32 hb, 2147483680;\0A
// CHECK-SAME: wgmma.fence.sync.aligned;\0A
// CHECK-SAME: add.s32 wa, $4, 0;\0Amov.b64 da, {wa, ha};\0Aadd.s32 wb, $5, 0;\0Amov.b64 db, {wb, hb};\0A
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, da, db, first, 1, 1, 0, 0;\0A
// CHECK-SAME: add.s32 wa, $4, 2;\0Amov.b64 da, {wa, ha};\0Aadd.s32 wb, $5, 2;\0Amov.b64 db, {wb, hb};\0A
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, da, db, next, 1, 1, 0, 0;\0A
// CHECK-SAME: wgmma.commit_group.sync.aligned;\0A}", "=f,=f,=f,=f,r,r,~{memory}"
// CHECK-SAME: -> !llvm.struct<(f32, f32, f32, f32)>
frag.kernel @ss threads 128 smem 17408 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<128x32xbf16, swizzle = 64, slots = 2>
  %k = frag.smem "k" at 16384 : !frag.ring<8x32xbf16, swizzle = 64, slots = 2>
  %p0 = frag.pos phase 0 : !pos
  %first = frag.cta_id
  %one = arith.constant 1 : i32
  %end = scf.for %i = %one to %first step %one iter_args(%p = %p0) -> (!pos) : i32 {
  %v = frag.view_rows %q[%p] from %first : !frag.ring<128x32xbf16, swizzle = 64, slots = 2> -> !frag.view<64x32xbf16, swizzle = 64>
  %f = frag.wgmma "wgmma.m64n8k16" nk %v, %k[%p] : !frag.view<64x32xbf16, swizzle = 64>, !frag.ring<8x32xbf16, swizzle = 64, slots = 2> -> !frag.inflight<64x8xf32, #C>
  %s = frag.wgmma_wait pending 0 %f : !frag.inflight<64x8xf32, #C>
  %p1 = frag.next %p : !pos
  scf.yield %p1 : !pos
  }
  frag.return
}

// Q's panels are as far apart as its slot's rows make them, not the view's: 1024
// units for 128 rows.
// CHECK-LABEL: llvm.func @panels(
// CHECK: mov.b32 ha, 1073741888;
// CHECK-SAME: add.s32 wa, ${{[0-9]+}}, 6;
// CHECK-SAME: add.s32 wb, ${{[0-9]+}}, 6;
// CHECK-SAME: add.s32 wa, ${{[0-9]+}}, 1024;
// CHECK-SAME: add.s32 wb, ${{[0-9]+}}, 128;
// CHECK-SAME: m64n16k16.f32.f16.f16
frag.kernel @panels threads 128 smem 36864 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<128x128xf16, swizzle = 128, slots = 1>
  %k = frag.smem "k" at 32768 : !frag.ring<16x128xf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %first = frag.cta_id
  %v = frag.view_rows %q[%p] from %first : !frag.ring<128x128xf16, swizzle = 128, slots = 1> -> !frag.view<64x128xf16, swizzle = 128>
  %f = frag.wgmma "wgmma.m64n16k16" nk %v, %k[%p] : !frag.view<64x128xf16, swizzle = 128>, !frag.ring<16x128xf16, swizzle = 128, slots = 1> -> !frag.inflight<64x16xf32, #C>
  %s = frag.wgmma_wait pending 0 %f : !frag.inflight<64x16xf32, #C>
  frag.return
}

// O += P V of 64 x 48 x 32: P in registers, V transposed in three panels of 16
// columns, 1024 bytes = 64 units apart.  The accumulator is tied; the wait takes it
// and P through.
// CHECK-LABEL: llvm.func @rs(
// CHECK: llvm.mlir.constant(4194304 : i32)
// CHECK: llvm.inline_asm
// CHECK-SAME: setp.ne.b32 first, 1, 0;
// CHECK-NOT: mov.b32 ha
// CHECK-SAME: mov.b32 hb, 3221225488;
// CHECK-SAME: add.s32 wb, $32, 0;
// CHECK-SAME: m64n48k16.f32.bf16.bf16 {$0, {{.*}}, $23}, {$24, $25, $26, $27}, db, first, 1, 1, 1;
// CHECK-SAME: add.s32 wb, $32, 32;
// CHECK-SAME: {$28, $29, $30, $31}, db, next, 1, 1, 1;
// CHECK-SAME: "=f,{{.*}},=f,r,r,r,r,r,r,r,r,r,0,1,2,{{.*}},23,~{memory}"
// CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,{{.*}},=f,=r,=r,=r,=r,=r,=r,=r,=r,0,1,{{.*}},31,~{memory}"
frag.kernel @rs threads 128 smem 3072 params 200 {
  %x = frag.param "scale" at 192 : f32
  %v = frag.smem "v" at 0 : !frag.ring<32x48xbf16, swizzle = 32, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %t = frag.splat %x : f32 -> !frag.reg<64x32xf32, #C>
  %o = frag.splat %x : f32 -> !frag.reg<64x48xf32, #C>
  %a = frag.pack %t : !frag.reg<64x32xf32, #C> -> !frag.reg<64x32xbf16, #A>
  %f = frag.wgmma "wgmma.m64n48k16" kn %a, %v[%p] acc %o : !frag.reg<64x32xbf16, #A>, !frag.ring<32x48xbf16, swizzle = 32, slots = 1> acc !frag.reg<64x48xf32, #C> -> !frag.inflight<64x48xf32, #C>
  %w:2 = frag.wgmma_wait pending 0 %f pin %a : !frag.inflight<64x48xf32, #C> pin !frag.reg<64x32xbf16, #A>
  frag.return
}

// Every N is one instruction a step: 64 x 256 takes 128 registers.
// CHECK-LABEL: llvm.func @wide(
// CHECK: m64n256k16.f32.bf16.bf16 {$0, {{.*}}, $127}, da, db, first
// CHECK: m64n256k16
// CHECK: "wgmma.wait_group.sync.aligned 1;", "=f,{{.*}},=f,0,1,{{.*}},127,~{memory}"
// CHECK: "wgmma.wait_group.sync.aligned 0;"
frag.kernel @wide threads 128 smem 40960 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<64x64xbf16, swizzle = 128, slots = 1>
  %k = frag.smem "k" at 8192 : !frag.ring<256x64xbf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %c0 = arith.constant 0 : i32
  %v = frag.view_rows %q[%p] from %c0 : !frag.ring<64x64xbf16, swizzle = 128, slots = 1> -> !frag.view<64x64xbf16, swizzle = 128>
  %f = frag.wgmma "wgmma.m64n256k16" nk %v, %k[%p] : !frag.view<64x64xbf16, swizzle = 128>, !frag.ring<256x64xbf16, swizzle = 128, slots = 1> -> !frag.inflight<64x256xf32, #C>
  %g = frag.wgmma "wgmma.m64n256k16" nk %v, %k[%p] : !frag.view<64x64xbf16, swizzle = 128>, !frag.ring<256x64xbf16, swizzle = 128, slots = 1> -> !frag.inflight<64x256xf32, #C>
  %s = frag.wgmma_wait pending 1 %f : !frag.inflight<64x256xf32, #C>
  %t = frag.wgmma_wait pending 0 %g : !frag.inflight<64x256xf32, #C>
  frag.return
}

// Pinned values of each kind keep their register class.
// NAMES-LABEL: llvm.func @pins(
// NAMES: "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=b,=b,=r,=r,=l,=l,0,1,2,3,4,5,6,7,8,9,~{memory}"
// NAMES-SAME: -> !llvm.struct<(f32, f32, f32, f32, i1, i1, i32, i32, i64, i64)>
frag.kernel @pins threads 128 smem 9216 params 200 {
  %q = frag.smem "q" at 0 : !frag.ring<64x64xbf16, swizzle = 128, slots = 1>
  %k = frag.smem "k" at 8192 : !frag.ring<8x64xbf16, swizzle = 128, slots = 1>
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %c0 = arith.constant 0 : i32
  %l0 = arith.constant 0 : i64
  %true = arith.constant true
  %b = frag.splat %true : i1 -> !frag.vec<64xi1, #C>
  %i = frag.splat %c0 : i32 -> !frag.vec<64xi32, #C>
  %l = frag.splat %l0 : i64 -> !frag.vec<64xi64, #C>
  %v = frag.view_rows %q[%p] from %c0 : !frag.ring<64x64xbf16, swizzle = 128, slots = 1> -> !frag.view<64x64xbf16, swizzle = 128>
  %f = frag.wgmma "wgmma.m64n8k16" nk %v, %k[%p] : !frag.view<64x64xbf16, swizzle = 128>, !frag.ring<8x64xbf16, swizzle = 128, slots = 1> -> !frag.inflight<64x8xf32, #C>
  %w:4 = frag.wgmma_wait pending 0 %f pin %b, %i, %l : !frag.inflight<64x8xf32, #C> pin !frag.vec<64xi1, #C>, !frag.vec<64xi32, #C>, !frag.vec<64xi64, #C>
  frag.return
}
