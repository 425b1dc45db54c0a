// RUN: attn-opt --pass-pipeline='builtin.module(frag.kernel(frag-join-maps,frag-fold-affine),frag-to-nvvm)' %s \
// RUN:   | FileCheck %s

!t = !frag.reg<16x8xf32, #frag.layout<"mma_c", warps = 1>>
!v = !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>>
!i = !frag.vec<16xi64, #frag.layout<"mma_c", warps = 1>>
!b = !frag.vec<16xi1, #frag.layout<"mma_c", warps = 1>>

// A soft cap: scale, 1 / cap and the 1/8 of tanh are one factor of the score, cap
// and c one factor of the exponent.  Four elements a thread, nine products, sums and
// FMAs of tanh.

// CHECK-LABEL: llvm.func @softcap(
// CHECK-COUNT-5: llvm.load
// CHECK: %[[INV:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
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

// What is needed twice, by two maps or two ops, stays a product.

// CHECK-LABEL: llvm.func @kept(
// CHECK: llvm.load
// CHECK: %[[A:.*]] = llvm.load {{.*}} -> f32
// CHECK: %[[D:.*]] = llvm.load {{.*}} -> f32
// CHECK-COUNT-4: llvm.fmul %{{.*}}, %[[A]]
// CHECK: llvm.fmul %{{.*}}, %[[D]]
// CHECK-NEXT: llvm.fadd
// CHECK: llvm.fmul %{{.*}}, %[[D]]
// CHECK-NEXT: llvm.fadd
// CHECK: llvm.fmul %{{.*}}, %[[D]]
// CHECK-NEXT: llvm.fadd
// CHECK: llvm.fmul %{{.*}}, %[[D]]
// CHECK-NEXT: llvm.fadd
// CHECK-NOT: llvm.fmul
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

// ALiBi: scale * s + slope * (k0 + column - row), times c, less a maximum.  A row's
// base and slope are worked out once, and the thread's two columns are the base and
// one FMA from it.  Two FMAs an element, one for those at the first column.

// CHECK-LABEL: llvm.func @alibi(
// CHECK: %[[FIRST:.*]] = llvm.inline_asm {{.*}}"mov.b32 $0, $1;"
// CHECK-COUNT-2: llvm.sub %{{.*}}, %{{.*}} : i32
// CHECK-COUNT-2: llvm.sitofp %{{.*}} : i32 to f32
// CHECK: %[[AT:.*]] = llvm.sitofp %[[FIRST]] : i32 to f32
// CHECK: %[[BASE0:.*]] = llvm.intr.fma(%[[SLOPE:.*]], %[[AT]], %{{.*}})
// CHECK-NEXT: %[[BASE1:.*]] = llvm.intr.fma(%[[SLOPE]], %[[AT]], %{{.*}})
// CHECK: llvm.intr.fma(%{{.*}}, %[[SCALE:.*]], %[[BASE0]])
// CHECK-NEXT: "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1.000000e+00 : f32)
// CHECK-NEXT: %[[NEXT:.*]] = llvm.intr.fma(%[[SLOPE]], %[[ONE]], %[[BASE0]])
// CHECK-NEXT: llvm.intr.fma(%{{.*}}, %[[SCALE]], %[[NEXT]])
// CHECK-NEXT: "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: llvm.intr.fma(%{{.*}}, %[[SCALE]], %[[BASE1]])
// CHECK-NOT: sitofp
// CHECK: llvm.return
frag.kernel @alibi threads 32 smem 0 params 400 {
  %in = frag.param "q" at 0 : !frag.ptr<f32>
  %scale = frag.param "scale" at 192 : f32
  %slope = frag.param "param.slope" at 196 : f32
  %c = frag.param "param.c" at 200 : f32
  %k0 = frag.param "param.k0" at 204 : i32
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
    %key = arith.addi %k0, %k overflow<nsw> : i32
    %distance = arith.subi %key, %r overflow<nsw> : i32
    %d = arith.sitofp %distance : i32 to f32
    %v = math.fma %slope, %d, %scaled : f32
    frag.yield %v : f32
  }
  %p = frag.map (%x = %y : !t, %n = %m : !v) at (%r, %k) -> !t {
    %e = math.fma %x, %c, %n : f32
    %w = math.exp2 %e : f32
    frag.yield %w : f32
  }
  frag.store %p, %in, %off, %live : !t, !frag.ptr<f32>, !i, !b
  frag.return
}

// A sum that may wrap is converted as it is, an element each.

// CHECK-LABEL: llvm.func @wraps(
// CHECK-COUNT-4: llvm.sitofp
// CHECK: llvm.return
frag.kernel @wraps threads 32 smem 0 params 400 {
  %in = frag.param "q" at 0 : !frag.ptr<f32>
  %scale = frag.param "scale" at 192 : f32
  %slope = frag.param "param.slope" at 196 : f32
  %c = frag.param "param.c" at 200 : f32
  %k0 = frag.param "param.k0" at 204 : i32
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
    %key = arith.addi %k0, %k : i32
    %distance = arith.subi %key, %r : i32
    %d = arith.sitofp %distance : i32 to f32
    %v = math.fma %slope, %d, %scaled : f32
    frag.yield %v : f32
  }
  %p = frag.map (%x = %y : !t, %n = %m : !v) at (%r, %k) -> !t {
    %e = math.fma %x, %c, %n : f32
    %w = math.exp2 %e : f32
    frag.yield %w : f32
  }
  frag.store %p, %in, %off, %live : !t, !frag.ptr<f32>, !i, !b
  frag.return
}

// A ramp that all rows share is worked out once a column; what is subtracted has its
// terms negated.

// CHECK-LABEL: llvm.func @shared(
// CHECK: %[[MINUS:.*]] = llvm.fneg %[[SLOPE:.*]] : f32
// CHECK: llvm.sitofp
// CHECK: %[[START:.*]] = llvm.intr.fma(%[[MINUS]], %{{.*}}, %{{.*}})
// CHECK: %[[SECOND:.*]] = llvm.intr.fma(%[[MINUS]], %{{.*}}, %[[START]])
// CHECK-NOT: llvm.intr.fma
// CHECK: llvm.fadd %{{.*}}, %[[START]]
// CHECK: llvm.fadd %{{.*}}, %[[SECOND]]
// CHECK: llvm.fadd %{{.*}}, %[[START]]
// CHECK: llvm.fadd %{{.*}}, %[[SECOND]]
// CHECK: llvm.return
frag.kernel @shared threads 32 smem 0 params 400 {
  %in = frag.param "q" at 0 : !frag.ptr<f32>
  %scale = frag.param "scale" at 192 : f32
  %slope = frag.param "param.slope" at 196 : f32
  %c = frag.param "param.c" at 200 : f32
  %k0 = frag.param "param.k0" at 204 : i32
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
  %p = frag.map (%x = %s : !t) at (%r, %k) -> !t {
    %d = arith.sitofp %k : i32 to f32
    %bias = arith.mulf %slope, %d : f32
    %less = arith.subf %x, %bias : f32
    %v = arith.addf %less, %c : f32
    frag.yield %v : f32
  }
  frag.store %p, %in, %off, %live : !t, !frag.ptr<f32>, !i, !b
  frag.return
}
