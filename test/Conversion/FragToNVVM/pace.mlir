// RUN: attn-opt --pass-pipeline='builtin.module(frag.kernel(frag-join-maps,frag-fold-affine),frag-to-nvvm)' %s \
// RUN:   | FileCheck %s

!t = !frag.reg<16x64xf32, #frag.layout<"mma_c", warps = 1>>
!i = !frag.vec<16xi64, #frag.layout<"mma_c", warps = 1>>
!b = !frag.vec<16xi1, #frag.layout<"mma_c", warps = 1>>

// Two maps with MUFU work go element by element.  32 elements a thread: from the 9th on
// the first factor of one waits for the result of the 8th before it.

// CHECK-LABEL: llvm.func @paced(
// CHECK: %[[F:.*]] = llvm.fmul
// CHECK: llvm.fmul %{{.*}}, %[[F]]
// CHECK: "llvm.nvvm.rsqrt.approx.ftz.f"
// CHECK: %[[P0:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK-NOT: ctaid.z
// CHECK-COUNT-7: "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: %[[ZERO:.*]] = nvvm.read.ptx.sreg.ctaid.z
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[P0]] : f32 to i32
// CHECK: %[[NONE:.*]] = llvm.and %[[BITS]], %[[ZERO]]
// CHECK: %[[OLD:.*]] = llvm.bitcast %[[F]] : f32 to i32
// CHECK: %[[SAME:.*]] = llvm.or %[[OLD]], %[[NONE]]
// CHECK: %[[NEW:.*]] = llvm.bitcast %[[SAME]] : i32 to f32
// CHECK: llvm.fmul %{{.*}}, %[[NEW]]
// CHECK-COUNT-23: nvvm.read.ptx.sreg.ctaid.z
// CHECK-NOT: ctaid.z
// CHECK: llvm.return
frag.kernel @paced threads 32 smem 0 params 400 {
  %in = frag.param "q" at 0 : !frag.ptr<f32>
  %scale = frag.param "scale" at 192 : f32
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
    %bent = math.tanh %scaled : f32
    frag.yield %bent : f32
  }
  %p = frag.map (%x = %y : !t) at (%r, %k) -> !t {
    %w = math.exp2 %x : f32
    frag.yield %w : f32
  }
  frag.store %p, %in, %off, %live : !t, !frag.ptr<f32>, !i, !b
  frag.return
}

// One MUFU instruction an element needs no pace, and what has two readers or an
// effect behind it stays a map of its own.

// CHECK-LABEL: llvm.func @apart(
// CHECK-COUNT-32: "llvm.nvvm.rsqrt.approx.ftz.f"
// CHECK-NOT: "llvm.nvvm.rsqrt.approx.ftz.f"
// CHECK-COUNT-32: "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK-NOT: ctaid.z
// CHECK: llvm.return
frag.kernel @apart threads 32 smem 0 params 400 {
  %in = frag.param "q" at 0 : !frag.ptr<f32>
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
    %bent = math.tanh %x : f32
    frag.yield %bent : f32
  }
  frag.cta_sync
  %p = frag.map (%x = %y : !t) at (%r, %k) -> !t {
    %w = math.exp2 %x : f32
    frag.yield %w : f32
  }
  frag.store %p, %in, %off, %live : !t, !frag.ptr<f32>, !i, !b
  frag.return
}
