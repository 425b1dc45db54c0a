// RUN: attn-opt --pass-pipeline='builtin.module(frag.kernel(frag-join-maps))' %s | FileCheck %s

!t = !frag.reg<16x8xf32, #frag.layout<"mma_c", warps = 1>>
!v = !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>>

// A hook and the exponent that alone reads it: inputs of both, the body of one behind
// that of the other, and the attribute of the last.

// CHECK-LABEL: frag.kernel @joined
// CHECK: %[[P:.*]] = frag.map (%[[S:arg[0-9]+]] = %{{.*}} : {{.*}}, %[[N:arg[0-9]+]] = %{{.*}} : {{.*}}) at (%{{.*}}, %[[C:arg[0-9]+]]) {{.*}} attributes {exp2_fma = 2 : i32}
// CHECK-NEXT: %[[F:.*]] = arith.sitofp %[[C]]
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[S]], %[[F]]
// CHECK-NEXT: %[[E:.*]] = arith.addf %[[Y]], %[[N]]
// CHECK-NEXT: %[[W:.*]] = math.exp2 %[[E]]
// CHECK-NEXT: frag.yield %[[W]]
// CHECK-NOT: frag.map
// CHECK: frag.return
frag.kernel @joined threads 32 smem 0 params 400 {
  %x = frag.param "scale" at 192 : f32
  %s = frag.splat %x : f32 -> !t
  %m = frag.splat %x : f32 -> !v
  %y = frag.map (%e = %s : !t) at (%r, %c) -> !t {
    %f = arith.sitofp %c : i32 to f32
    %a = arith.addf %e, %f : f32
    frag.yield %a : f32
  }
  %p = frag.map (%e = %y : !t, %n = %m : !v) at (%r, %c) -> !t attributes {exp2_fma = 2 : i32} {
    %a = arith.addf %e, %n : f32
    %w = math.exp2 %a : f32
    frag.yield %w : f32
  }
  %q = frag.reduce_row sum thread %p : !t -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>, partial>
  frag.return
}

// Three in a row become one.

// CHECK-LABEL: frag.kernel @chain
// CHECK-COUNT-1: frag.map
// CHECK-COUNT-3: arith.mulf
// CHECK-NOT: frag.map
// CHECK: frag.return
frag.kernel @chain threads 32 smem 0 params 400 {
  %x = frag.param "scale" at 192 : f32
  %s = frag.splat %x : f32 -> !t
  %0 = frag.map (%e = %s : !t) at (%r, %c) -> !t {
    %a = arith.mulf %e, %x : f32
    frag.yield %a : f32
  }
  %1 = frag.map (%e = %0 : !t) at (%r, %c) -> !t {
    %a = arith.mulf %e, %x : f32
    frag.yield %a : f32
  }
  %2 = frag.map (%e = %1 : !t) at (%r, %c) -> !t {
    %a = arith.mulf %e, %x : f32
    frag.yield %a : f32
  }
  %q = frag.reduce_row sum thread %2 : !t -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>, partial>
  frag.return
}

// A result with a second reader (the row's maximum), and one with an effect behind it,
// stay what they are.

// CHECK-LABEL: frag.kernel @apart
// CHECK-COUNT-4: frag.map
// CHECK: frag.return
frag.kernel @apart threads 32 smem 0 params 400 {
  %x = frag.param "scale" at 192 : f32
  %s = frag.splat %x : f32 -> !t
  %0 = frag.map (%e = %s : !t) at (%r, %c) -> !t {
    %a = arith.mulf %e, %x : f32
    frag.yield %a : f32
  }
  %m = frag.reduce_row max row %0 : !t -> !v
  %1 = frag.map (%e = %0 : !t, %n = %m : !v) at (%r, %c) -> !t {
    %a = arith.subf %e, %n : f32
    frag.yield %a : f32
  }
  %l = frag.reduce_row sum row %1 : !t -> !v
  %2 = frag.map (%e = %1 : !t, %n = %l : !v) at (%r, %c) -> !t {
    %a = arith.mulf %e, %n : f32
    frag.yield %a : f32
  }
  frag.cta_sync
  %3 = frag.map (%e = %2 : !t) at (%r, %c) -> !t {
    %a = arith.mulf %e, %x : f32
    frag.yield %a : f32
  }
  %q = frag.reduce_row sum thread %3 : !t -> !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>, partial>
  frag.return
}
