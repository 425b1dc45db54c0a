// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

!t = !frag.reg<16x8xf32, #frag.layout<"mma_c", warps = 1>>
!v = !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>>
!i = !frag.vec<16xi64, #frag.layout<"mma_c", warps = 1>>
!b = !frag.vec<16xi1, #frag.layout<"mma_c", warps = 1>>

// A soft cap: scale, 1 / cap and the 1/8 of tanh are one factor of the score, cap
// and c one factor of the exponent.  Four elements a thread, nine products, sums and
// FMAs of tanh.

// CHECK-LABEL: llvm.func @softcap(
// CHECK-COUNT-5: llvm.load
// CHECK: %[[INV:.*]] = llvm.call_intrinsic "llvm.nvvm.div.full"
// CHECK: %[[F0:.*]] = llvm.fmul %[[SCALE:.*]], %[[INV]] {fastmathFlags = #llvm.fastmath<contract>}
// CHECK: %[[F:.*]] = llvm.fmul %[[F0]], %{{.*}}
// CHECK: %[[G:.*]] = llvm.fmul %[[CAP:.*]], %[[C:.*]] {fast
// CHECK: %[[WHOLE:.*]] = llvm.fmul %{{.*}}, %[[F]]
// CHECK-NEXT: %[[LEAST:.*]] = llvm.intr.minimum(%[[WHOLE]], %{{.*}})
// CHECK-NEXT: %[[PART:.*]] = llvm.intr.maximum(%[[LEAST]], %{{.*}})
// CHECK-NEXT: %[[SQUARE:.*]] = llvm.fmul %[[PART]], %[[PART]]
// CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.saturate.ftz.f"(%[[SQUARE]])
// CHECK-COUNT-4: llvm.intr.fma
// CHECK-NEXT: %[[W:.*]] = llvm.fmul %[[PART]], %{{.*}}
// CHECK-NEXT: llvm.intr.fma(%[[W]], %[[W]], %{{.*}})
// CHECK-NEXT: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
// CHECK-NEXT: %[[T:.*]] = llvm.fmul %[[W]], %[[R]]
// CHECK-NEXT: %[[E:.*]] = llvm.intr.fma(%[[T]], %[[G]], %{{.*}})
// CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[E]])
// CHECK-NEXT: llvm.fmul %{{.*}}, %[[F]]
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK-NOT: llvm.fmul
// CHECK: llvm.return
frag.kernel @softcap threads 32 smem 0 params 400 {
  %in = frag.param "q" at 0 : !frag.ptr<f32>
  %out = frag.param "o" at 24 : !frag.ptr<f32>
  %scale = frag.param "scale" at 192 : f32
  %cap = frag.param "param.cap" at 196 : f32
  %c = frag.param "param.c" at 200 : f32
  %zero = arith.constant 0.0 : f32
  %m = frag.splat %zero : f32 -> !v
  %off = frag.map () at (%r) -> !i {
    %y = arith.extsi %r : i32 to i64
    frag.yield %y : i64
  }
  %live = frag.map () at (%r) -> !b {
    %y = arith.constant true
    frag.yield %y : i1
  }
  %s = frag.load %in, %off, %live : !frag.ptr<f32>, !i, !b -> !t
  %y = frag.map (%x = %s : !t) at (%r, %k) -> !t {
    %scaled = arith.mulf %x, %scale : f32
    %part = arith.divf %scaled, %cap : f32
    %bent = math.tanh %part : f32
    %capped = arith.mulf %cap, %bent : f32
    frag.yield %capped : f32
  }
  %p = frag.map (%x = %y : !t, %n = %m : !v) at (%r, %k) -> !t {
    %e = math.fma %x, %c, %n : f32
    %w = math.exp2 %e : f32
    frag.yield %w : f32
  }
  frag.store %p, %out, %off, %live : !t, !frag.ptr<f32>, !i, !b
  frag.return
}

// What is needed twice, by two maps or two ops, stays a product; so does a factor of
// the row.

// CHECK-LABEL: llvm.func @kept(
// CHECK: llvm.load
// CHECK: %[[A:.*]] = llvm.load {{.*}} -> f32
// CHECK: %[[D:.*]] = llvm.load {{.*}} -> f32
// CHECK-COUNT-4: llvm.fmul %{{.*}}, %[[A]]
// CHECK-COUNT-4: llvm.fmul %{{.*}}, %[[D]]
// CHECK-COUNT-4: llvm.fadd
// CHECK: llvm.return
frag.kernel @kept threads 32 smem 0 params 400 {
  %in = frag.param "q" at 0 : !frag.ptr<f32>
  %a = frag.param "scale" at 192 : f32
  %d = frag.param "param.d" at 196 : f32
  %off = frag.map () at (%r) -> !i {
    %y = arith.extsi %r : i32 to i64
    frag.yield %y : i64
  }
  %live = frag.map () at (%r) -> !b {
    %y = arith.constant true
    frag.yield %y : i1
  }
  %s = frag.load %in, %off, %live : !frag.ptr<f32>, !i, !b -> !t
  %y = frag.map (%x = %s : !t) at (%r, %k) -> !t {
    %v = arith.mulf %x, %a : f32
    frag.yield %v : f32
  }
  %z = frag.map (%x = %y : !t) at (%r, %k) -> !t {
    %v = arith.mulf %x, %d : f32
    frag.yield %v : f32
  }
  %both = frag.map (%x = %y : !t, %w = %z : !t) at (%r, %k) -> !t {
    %v = arith.addf %x, %w : f32
    frag.yield %v : f32
  }
  frag.store %both, %in, %off, %live : !t, !frag.ptr<f32>, !i, !b
  frag.return
}
