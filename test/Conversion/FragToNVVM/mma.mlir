// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

!a = !frag.reg<16x32xbf16, #frag.layout<"mma_a", warps = 1>>
!ah = !frag.reg<16x32xf16, #frag.layout<"mma_a", warps = 1>>
!c = !frag.reg<16x32xf32, #frag.layout<"mma_c", warps = 1>>
!ring = !frag.ring<32x32xbf16, swizzle = 64, slots = 1>
!ringh = !frag.ring<32x32xf16, swizzle = 64, slots = 1>
!qring = !frag.ring<16x32xbf16, swizzle = 64, slots = 1>

// A 16 x 32, B 32 x 32: two k steps of two x4 loads and four MMAs.  K is read as
// it lies, V transposed.
// CHECK-LABEL: llvm.func @nk(
// CHECK-COUNT-2: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32
// CHECK: %[[Z:.*]] = llvm.mlir.constant(0.000000e+00 : f32) : f32
// CHECK-COUNT-4: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>
// CHECK: %[[D:.*]] = nvvm.mma.sync A[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] B[%{{.*}}, %{{.*}}] C[%[[Z]], %[[Z]], %[[Z]], %[[Z]]]
// CHECK-SAME: multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK-COUNT-7: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
frag.kernel @nk threads 32 smem 3072 params 200 {
  %q = frag.smem "q" at 0 : !qring
  %k = frag.smem "k" at 1024 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %a = frag.ldmatrix %q[%p] : !qring -> !a
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p] : !a, !ring -> !c
  frag.return
}

// CHECK-LABEL: llvm.func @kn(
// CHECK-COUNT-4: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>
// CHECK: llvm.bitcast %{{.*}} : i32 to vector<2xf16>
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
frag.kernel @kn threads 32 smem 2048 params 200 {
  %x = frag.param "scale" at 192 : f32
  %v = frag.smem "v" at 0 : !ringh
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %o = frag.splat %x : f32 -> !c
  %h = frag.pack %o : !c -> !ah
  %o1 = frag.mma "mma.m16n8k16" kn %h, %v[%p] acc %o : !ah, !ringh acc !c -> !c
  frag.return
}

// A in shared memory too: a load of A before the two loads of B of each step, four
// loads ahead of the first product.
// CHECK-LABEL: llvm.func @ss(
// CHECK-COUNT-6: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>
// CHECK-NOT: nvvm.ldmatrix
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
frag.kernel @ss threads 32 smem 3072 params 200 {
  %q = frag.smem "q" at 0 : !qring
  %k = frag.smem "k" at 1024 : !ring
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
  %s = frag.mma "mma.m16n8k16" nk %q[%p : !frag.pos<slots = 1>], %k[%p] : !qring, !ring -> !c
  frag.return
}
