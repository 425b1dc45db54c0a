// RUN: attn-opt --pass-pipeline='builtin.module(frag.kernel(frag-fold-affine))' %s | FileCheck %s

!t = !frag.reg<16x8xf32, #frag.layout<"mma_c", warps = 1>>
!v = !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>>

// A distance: what the row shares is worked out once a row, the rest is two FMAs.

// CHECK-LABEL: frag.kernel @distance
// CHECK: frag.map (%[[E:arg[0-9]+]] = {{.*}}) at (%[[R:arg[0-9]+]], %[[C:arg[0-9]+]]) ->
// CHECK-NEXT: %[[D:.*]] = arith.subi %[[K0:.*]], %[[R]] : i32
// CHECK-NEXT: %[[F:.*]] = arith.sitofp %[[D]]
// CHECK-NEXT: %[[A:.*]] = arith.mulf %[[F]], %[[U:.*]] fastmath<contract>
// CHECK-NEXT: %[[AT:.*]] = arith.sitofp %[[C]]
// CHECK-NEXT: %[[T:.*]] = math.fma %[[U]], %[[AT]], %[[A]]
// CHECK-NEXT: %[[Y:.*]] = math.fma %[[E]], %{{.*}}, %[[T]]
// CHECK-NEXT: frag.yield %[[Y]]
// CHECK: frag.return
frag.kernel @distance threads 32 smem 0 params 400 {
  %x = frag.param "scale" at 192 : f32
  %u = frag.param "param.u" at 196 : f32
  %k0 = frag.param "param.k0" at 200 : i32
  %s = frag.splat %x : f32 -> !t
  %m = frag.splat %x : f32 -> !v
  %p = frag.map (%e = %s : !t, %n = %m : !v) at (%r, %c) -> !t {
    %a = arith.mulf %e, %x : f32
    %k = arith.addi %k0, %c overflow<nsw> : i32
    %d = arith.subi %k, %r overflow<nsw> : i32
    %f = arith.sitofp %d : i32 to f32
    %y = math.fma %u, %f, %a : f32
    frag.yield %y : f32
  }
  %q = frag.reduce_row sum thread %p : !t -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>, partial>
  frag.return
}

// A sum that may wrap is no affine function of the column.

// CHECK-LABEL: frag.kernel @wraps
// CHECK: arith.addi
// CHECK-NEXT: arith.subi
// CHECK-NEXT: arith.sitofp
// CHECK-NEXT: math.fma
// CHECK-NEXT: frag.yield
// CHECK: frag.return
frag.kernel @wraps threads 32 smem 0 params 400 {
  %x = frag.param "scale" at 192 : f32
  %u = frag.param "param.u" at 196 : f32
  %k0 = frag.param "param.k0" at 200 : i32
  %s = frag.splat %x : f32 -> !t
  %m = frag.splat %x : f32 -> !v
  %p = frag.map (%e = %s : !t, %n = %m : !v) at (%r, %c) -> !t {
    %k = arith.addi %k0, %c : i32
    %d = arith.subi %k, %r overflow<nsw> : i32
    %f = arith.sitofp %d : i32 to f32
    %y = math.fma %u, %f, %e : f32
    frag.yield %y : f32
  }
  %q = frag.reduce_row sum thread %p : !t -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>, partial>
  frag.return
}

// Signs: a slope of the row, and an element that is subtracted.

// CHECK-LABEL: frag.kernel @negative
// CHECK: frag.map (%[[E:arg[0-9]+]] = {{.*}}, %[[N:arg[0-9]+]] = {{.*}}) at (%[[R:arg[0-9]+]], %[[C:arg[0-9]+]]) ->
// CHECK-NEXT: %[[D:.*]] = arith.subi %[[R]], %[[K0:.*]] : i32
// CHECK-NEXT: %[[F:.*]] = arith.sitofp %[[D]]
// CHECK-NEXT: %[[A:.*]] = arith.mulf %[[F]], %[[N]]
// CHECK-NEXT: %[[B:.*]] = arith.negf %[[N]]
// CHECK-NEXT: %[[AT:.*]] = arith.sitofp %[[C]]
// CHECK-NEXT: %[[T:.*]] = math.fma %[[B]], %[[AT]], %[[A]]
// CHECK-NEXT: %[[MINUS:.*]] = arith.constant -1.0
// CHECK-NEXT: math.fma %[[E]], %[[MINUS]], %[[T]]
// CHECK: frag.return
frag.kernel @negative threads 32 smem 0 params 400 {
  %x = frag.param "scale" at 192 : f32
  %u = frag.param "param.u" at 196 : f32
  %k0 = frag.param "param.k0" at 200 : i32
  %s = frag.splat %x : f32 -> !t
  %m = frag.splat %x : f32 -> !v
  %p = frag.map (%e = %s : !t, %n = %m : !v) at (%r, %c) -> !t {
    %k = arith.addi %k0, %c overflow<nsw> : i32
    %d = arith.subi %r, %k overflow<nsw> : i32
    %f = arith.sitofp %d : i32 to f32
    %b = arith.mulf %f, %n : f32
    %y = arith.subf %b, %e : f32
    frag.yield %y : f32
  }
  %q = frag.reduce_row sum thread %p : !t -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>, partial>
  frag.return
}

// A divisor of the row is a factor.

// CHECK-LABEL: frag.kernel @quotient
// CHECK: frag.map (%[[E:arg[0-9]+]] = {{.*}}) at
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.0
// CHECK-NEXT: %[[I:.*]] = arith.divf %[[ONE]], %{{.*}} : f32
// CHECK-NEXT: %[[F:.*]] = arith.mulf %{{.*}}, %[[I]] fastmath<contract>
// CHECK-NEXT: arith.mulf %[[E]], %[[F]]
// CHECK: frag.return
frag.kernel @quotient threads 32 smem 0 params 400 {
  %x = frag.param "scale" at 192 : f32
  %u = frag.param "param.u" at 196 : f32
  %k0 = frag.param "param.k0" at 200 : i32
  %s = frag.splat %x : f32 -> !t
  %m = frag.splat %x : f32 -> !v
  %p = frag.map (%e = %s : !t, %n = %m : !v) at (%r, %c) -> !t {
    %a = arith.mulf %e, %x : f32
    %y = arith.divf %a, %u : f32
    frag.yield %y : f32
  }
  %q = frag.reduce_row sum thread %p : !t -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>, partial>
  frag.return
}

// A sum over a divisor stays: over 0 its terms would be infinities of either sign.

// CHECK-LABEL: frag.kernel @sum_over
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NEXT: arith.divf %[[SUM]]
// CHECK: frag.return
frag.kernel @sum_over threads 32 smem 0 params 400 {
  %x = frag.param "scale" at 192 : f32
  %u = frag.param "param.u" at 196 : f32
  %s = frag.splat %x : f32 -> !t
  %m = frag.splat %x : f32 -> !v
  %p = frag.map (%e = %s : !t, %n = %m : !v) at (%r, %c) -> !t {
    %a = arith.addf %e, %n : f32
    %y = arith.divf %a, %u : f32
    frag.yield %y : f32
  }
  %q = frag.reduce_row sum thread %p : !t -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>, partial>
  frag.return
}

// What is not affine, has two elements, or would need as many operations, stays.

// CHECK-LABEL: frag.kernel @kept
// CHECK: %[[A:.*]] = arith.mulf
// CHECK-NEXT: %[[B:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[B]]
// CHECK-NEXT: arith.addf %[[D]], %[[A]]
// CHECK: frag.return
frag.kernel @kept threads 32 smem 0 params 400 {
  %x = frag.param "scale" at 192 : f32
  %u = frag.param "param.u" at 196 : f32
  %k0 = frag.param "param.k0" at 200 : i32
  %s = frag.splat %x : f32 -> !t
  %m = frag.splat %x : f32 -> !v
  %p = frag.map (%e = %s : !t, %n = %m : !v) at (%r, %c) -> !t {
    %a = arith.mulf %e, %x : f32
    %b = arith.mulf %a, %a : f32
    %d = arith.mulf %b, %u : f32
    %y = arith.addf %d, %a : f32
    frag.yield %y : f32
  }
  %q = frag.reduce_row sum thread %p : !t -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>, partial>
  frag.return
}
