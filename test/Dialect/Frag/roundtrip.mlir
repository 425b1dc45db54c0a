// RUN: attn-opt %s --verify-roundtrip | FileCheck %s

#C = #frag.layout<"mma_c", warps = 2>
#A = #frag.layout<"mma_a", warps = 2>

// CHECK-LABEL: frag.kernel @all threads 64 smem 24576 params 200 attributes {target = "sm_80"}
frag.kernel @all threads 64 smem 24576 params 200 attributes {target = "sm_80"} {
  // CHECK: frag.param "scale" at 192 : f32
  %scale = frag.param "scale" at 192 : f32
  %kb = frag.param "k" at 8 : !frag.ptr<bf16>
  %plan = frag.param "plan" at 40 : !frag.ptr<i32>
  %out = frag.param "partial_o" at 48 : !frag.ptr<f32>
  %id = frag.cta_id
  %count = frag.cta_count
  %zero = arith.constant 0 : i64
  // CHECK: frag.load_scalar %{{.*}}[%{{.*}}] : <i32>
  %word = frag.load_scalar %plan[%zero] : !frag.ptr<i32>
  // CHECK: frag.offset %{{.*}}[%{{.*}}] : <f32>
  %base = frag.offset %out[%zero] : !frag.ptr<f32>
  // CHECK: frag.smem "q" at 0 : <32x64xbf16, swizzle = 128, slots = 1>
  %q = frag.smem "q" at 0 : !frag.ring<32x64xbf16, swizzle = 128, slots = 1>
  %k = frag.smem "k" at 4096 : !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
  %p1 = frag.pos phase 0 : !frag.pos<slots = 1>
  %p2 = frag.pos phase 1 : !frag.pos<slots = 2>
  // CHECK: frag.next %{{.*}} : <slots = 2>
  %n2 = frag.next %p2 : !frag.pos<slots = 2>
  // CHECK: frag.cp_async %{{.*}} into %{{.*}}[%{{.*}}] row (%[[ROW:.*]]) : !frag.ptr<bf16>, !frag.ring<16x64xbf16, swizzle = 128, slots = 2> {
  frag.cp_async %kb into %k[%p2] row (%r) : !frag.ptr<bf16>, !frag.ring<16x64xbf16, swizzle = 128, slots = 2> {
    // CHECK: arith.cmpi slt, %[[ROW]], %{{.*}} : i32
    %live = arith.cmpi slt, %r, %word : i32
    frag.yield %zero, %live : i64, i1
  }
  frag.cp_async_commit
  // CHECK: frag.cp_async_wait pending 0
  frag.cp_async_wait pending 0
  frag.cta_sync
  // CHECK: frag.ldmatrix {{.*}} -> <32x64xbf16, #frag.layout<"mma_a", warps = 2>>
  %a = frag.ldmatrix %q[%p1] : !frag.ring<32x64xbf16, swizzle = 128, slots = 1> -> !frag.reg<32x64xbf16, #A>
  // CHECK: frag.mma "mma.m16n8k16" nk
  %s = frag.mma "mma.m16n8k16" nk %a, %k[%p2] : !frag.reg<32x64xbf16, #A>, !frag.ring<16x64xbf16, swizzle = 128, slots = 2> -> !frag.reg<32x16xf32, #C>
  // CHECK: frag.mma "mma.m16n8k16" nk %{{.*}}[%{{.*}} : !frag.pos<slots = 1>], %{{.*}}[%{{.*}}] : !frag.ring<32x64xbf16, swizzle = 128, slots = 1>, <16x64xbf16
  %s2 = frag.mma "mma.m16n8k16" nk %q[%p1 : !frag.pos<slots = 1>], %k[%p2] : !frag.ring<32x64xbf16, swizzle = 128, slots = 1>, !frag.ring<16x64xbf16, swizzle = 128, slots = 2> -> !frag.reg<32x16xf32, #C>
  // CHECK: frag.map () at (%{{.*}}) -> !frag.vec<32xi64, {{.*}}>, !frag.vec<32xi1, {{.*}}> {
  %off, %live = frag.map () at (%row) -> !frag.vec<32xi64, #C>, !frag.vec<32xi1, #C> {
    %x = arith.extui %row : i32 to i64
    %y = arith.cmpi slt, %row, %word : i32
    frag.yield %x, %y : i64, i1
  }
  %lo, %hi = frag.map () at (%row) -> !frag.vec<32xi32, #C>, !frag.vec<32xi32, #C> {
    frag.yield %word, %row : i32, i32
  }
  // CHECK: frag.keep_columns %[[S:.*]] to %[[HI:.*]] else %{{.*}} : <32x16xf32, {{.*}}>, <32xi32, {{.*}}>
  %below = frag.keep_columns %s to %hi else %scale : !frag.reg<32x16xf32, #C>, !frag.vec<32xi32, #C>
  // CHECK: frag.keep_columns %{{.*}} from %{{.*}} to %[[HI]] else %{{.*}} : <32x16xf32, {{.*}}>, <32xi32, {{.*}}>, !frag.vec<32xi32, {{.*}}>
  %band = frag.keep_columns %below from %lo to %hi else %scale : !frag.reg<32x16xf32, #C>, !frag.vec<32xi32, #C>, !frag.vec<32xi32, #C>
  // CHECK: frag.reduce_row max row
  %m = frag.reduce_row max row %s : !frag.reg<32x16xf32, #C> -> !frag.vec<32xf32, #C>
  // CHECK: frag.map (%{{.*}} = %{{.*}} : !frag.reg<32x16xf32, {{.*}}>, %{{.*}} = %{{.*}} : !frag.vec<32xf32, {{.*}}>) at (%{{.*}}, %{{.*}}) -> !frag.reg<32x16xf32
  %t = frag.map (%x = %s : !frag.reg<32x16xf32, #C>, %y = %m : !frag.vec<32xf32, #C>) at (%row, %col) -> !frag.reg<32x16xf32, #C> {
    %d = arith.subf %x, %y : f32
    %e = arith.mulf %d, %scale : f32
    frag.yield %e : f32
  }
  // CHECK: frag.reduce_row sum thread %{{.*}} -> <32xf32, {{.*}}, partial>
  %l = frag.reduce_row sum thread %t : !frag.reg<32x16xf32, #C> -> !frag.vec<32xf32, #C, partial>
  // CHECK: frag.reduce_quad
  %sum = frag.reduce_quad %l : !frag.vec<32xf32, #C, partial> -> !frag.vec<32xf32, #C>
  // CHECK: frag.any
  %any = frag.any %live : !frag.vec<32xi1, #C>
  // CHECK: frag.splat %{{.*}} : f32 -> !frag.reg<32x64xf32
  %o = frag.splat %scale : f32 -> !frag.reg<32x64xf32, #C>
  // CHECK: frag.pack
  %p = frag.pack %t : !frag.reg<32x16xf32, #C> -> !frag.reg<32x16xbf16, #A>
  // CHECK: frag.mma "mma.m16n8k16" kn {{.*}} acc
  %o1 = frag.mma "mma.m16n8k16" kn %p, %k[%n2] acc %o : !frag.reg<32x16xbf16, #A>, !frag.ring<16x64xbf16, swizzle = 128, slots = 2> acc !frag.reg<32x64xf32, #C> -> !frag.reg<32x64xf32, #C>
  // CHECK: frag.load
  %x = frag.load %base, %off, %live : !frag.ptr<f32>, !frag.vec<32xi64, #C>, !frag.vec<32xi1, #C> -> !frag.reg<32x64xf32, #C>
  // CHECK: frag.store
  frag.store %o1, %base, %off, %live : !frag.reg<32x64xf32, #C>, !frag.ptr<f32>, !frag.vec<32xi64, #C>, !frag.vec<32xi1, #C>
  // CHECK: frag.load %{{.*}}, %{{.*}}, %{{.*}} cols 40 : <f32>
  %x40 = frag.load %base, %off, %live cols 40 : !frag.ptr<f32>, !frag.vec<32xi64, #C>, !frag.vec<32xi1, #C> -> !frag.reg<32x64xf32, #C>
  // CHECK: frag.store %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} cols 40 : <32x64xf32
  frag.store %x40, %base, %off, %live cols 40 : !frag.reg<32x64xf32, #C>, !frag.ptr<f32>, !frag.vec<32xi64, #C>, !frag.vec<32xi1, #C>
  // CHECK: frag.load_vec
  %v = frag.load_vec %base, %off, %live : !frag.ptr<f32>, !frag.vec<32xi64, #C>, !frag.vec<32xi1, #C> -> !frag.vec<32xf32, #C>
  // CHECK: frag.store_vec
  frag.store_vec %sum, %base, %off, %live : !frag.vec<32xf32, #C>, !frag.ptr<f32>, !frag.vec<32xi64, #C>, !frag.vec<32xi1, #C>
  frag.return
}

// A slot of 80 columns, of which memory has 72, in panels of 32.
// CHECK-LABEL: frag.kernel @padded
frag.kernel @padded threads 64 smem 3072 params 200 {
  %q = frag.param "q" at 0 : !frag.ptr<bf16>
  %ring = frag.smem "q" at 0 : !frag.ring<16x80xbf16, swizzle = 64, slots = 1>
  %pos = frag.pos phase 0 : !frag.pos<slots = 1>
  // CHECK: frag.cp_async %{{.*}} into %{{.*}}[%{{.*}}] row (%{{.*}}) cols 72 : !frag.ptr<bf16>, !frag.ring<16x80xbf16, swizzle = 64, slots = 1> {
  frag.cp_async %q into %ring[%pos] row (%r) cols 72 : !frag.ptr<bf16>, !frag.ring<16x80xbf16, swizzle = 64, slots = 1> {
    %x = arith.extui %r : i32 to i64
    %true = arith.constant true
    frag.yield %x, %true : i64, i1
  }
  frag.return
}
