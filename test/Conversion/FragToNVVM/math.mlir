// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s
// RUN: attn-translate --attn-to-ptx %s | FileCheck %s --check-prefix=PTX

!r = !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>>
!i = !frag.vec<16xi32, #frag.layout<"mma_c", warps = 1>>
!offsets = !frag.vec<16xi64, #frag.layout<"mma_c", warps = 1>>
!live = !frag.vec<16xi1, #frag.layout<"mma_c", warps = 1>>

// CHECK-LABEL: llvm.func @exp(
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: llvm.fmul %{{.*}}, %{{.*}} {fastmathFlags = #llvm.fastmath<contract>}
// CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"
// CHECK: %[[LG:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"
// CHECK: llvm.fmul %[[LG]]
// CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
frag.kernel @exp threads 32 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  %a = math.exp2 %x : f32
  %b = math.exp %x : f32
  %c = math.log2 %x : f32
  %d = math.log %x : f32
  %e = math.log2 %x fastmath<afn> : f32
  frag.return
}

// tanh without afn has no tanh.approx in it and one MUFU, sin and cos are reduced first.
// PTX-LABEL: .entry store_all(
// PTX-NOT: tanh.approx
// PTX-NOT: ex2.approx
// PTX-DAG: cvt.ftz.sat.f32.f32
// PTX-DAG: rsqrt.approx.ftz.f32
// PTX-DAG: cvt.rni.ftz.f32.f32
// PTX-DAG: sin.approx.ftz.f32
// PTX-DAG: cos.approx.ftz.f32
// PTX-DAG: sqrt.rn.ftz.f32
// PTX-DAG: cvt.rzi.s32.f32
// PTX: ret;
frag.kernel @store_all threads 32 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  %out = frag.param "lse" at 32 : !frag.ptr<f32>
  %offsets = frag.map () at (%row) -> !offsets {
    %y = arith.extsi %row : i32 to i64
    frag.yield %y : i64
  }
  %live = frag.map () at (%row) -> !live {
    %y = arith.constant true
    frag.yield %y : i1
  }
  %v = frag.map () at (%row) -> !r {
    %f = arith.sitofp %row : i32 to f32
    %a = math.tanh %f : f32
    %b = math.sin %f : f32
    %c = math.cos %f : f32
    %d = math.sqrt %f : f32
    %e = arith.fptosi %d : f32 to i32
    %g = arith.sitofp %e : i32 to f32
    %s0 = arith.addf %a, %b : f32
    %s1 = arith.addf %s0, %c : f32
    %s2 = arith.addf %s1, %d : f32
    %s3 = arith.addf %s2, %g : f32
    frag.yield %s3 : f32
  }
  frag.store_vec %v, %out, %offsets, %live : !r, !frag.ptr<f32>, !offsets, !live
  frag.return
}

// A uniform divisor is inverted once before the map, a constant one at compile
// time; anything else is div.full.
// CHECK-LABEL: llvm.func @division(
// CHECK: %[[INV:.*]] = llvm.call_intrinsic "llvm.nvvm.div.full"
// CHECK-COUNT-2: llvm.sitofp
// CHECK-COUNT-2: llvm.fmul %{{.*}}, %[[INV]]
// CHECK: %[[FIFTH:.*]] = llvm.mlir.constant(2.000000e-01 : f32) : f32
// CHECK-COUNT-2: llvm.fmul %{{.*}}, %[[FIFTH]]
// CHECK-NOT: llvm.fmul
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.div.full"
// CHECK-NOT: "llvm.nvvm.div.full"
// CHECK: llvm.return
frag.kernel @division threads 32 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  %v = frag.map () at (%row) -> !r {
    %five = arith.constant 5.0 : f32
    %f = arith.sitofp %row : i32 to f32
    %a = arith.divf %f, %x : f32
    %b = arith.divf %a, %five : f32
    %c = arith.divf %b, %f : f32
    frag.yield %c : f32
  }
  frag.return
}

// Rounds down; a divisor of 0 gives 0.
// CHECK-LABEL: llvm.func @floor_division(
// CHECK: %[[ZERO:.*]] = llvm.icmp "eq" %[[Y:.*]], %{{.*}} : i32
// CHECK: %[[D:.*]] = llvm.select %[[ZERO]], %{{.*}}, %[[Y]]
// CHECK: llvm.sdiv %{{.*}}, %[[D]]
// CHECK: llvm.sub
// CHECK: llvm.select %[[ZERO]]
// CHECK-LABEL: llvm.func @ceil_division(
// CHECK: llvm.sdiv
// CHECK: llvm.add
// CHECK: llvm.select
frag.kernel @floor_division threads 32 smem 0 params 200 {
  %x = frag.param "heads" at 184 : i32
  %y = frag.param "kv_heads" at 188 : i32
  %z = arith.floordivsi %x, %y : i32
  frag.return
}
frag.kernel @ceil_division threads 32 smem 0 params 200 {
  %x = frag.param "heads" at 184 : i32
  %y = frag.param "kv_heads" at 188 : i32
  %z = arith.ceildivsi %x, %y : i32
  frag.return
}

// With afn it is one instruction.
// PTX-LABEL: .entry approximate(
// PTX-NOT: rsqrt
// PTX: tanh.approx.f32
// PTX-NOT: tanh.approx
// PTX: ret;
frag.kernel @approximate threads 32 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  %out = frag.param "lse" at 32 : !frag.ptr<f32>
  %offset = arith.constant 0 : i64
  %yes = arith.constant true
  %offsets = frag.splat %offset : i64 -> !offsets
  %live = frag.splat %yes : i1 -> !live
  %v = frag.map () at (%row) -> !r {
    %f = math.tanh %x fastmath<afn> : f32
    frag.yield %f : f32
  }
  frag.store_vec %v, %out, %offsets, %live : !r, !frag.ptr<f32>, !offsets, !live
  frag.return
}
