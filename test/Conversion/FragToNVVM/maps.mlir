// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

!t = !frag.reg<16x8xf32, #frag.layout<"mma_c", warps = 1>>
!r = !frag.vec<16xi32, #frag.layout<"mma_c", warps = 1>>
!h = !frag.reg<16x8xbf16, #frag.layout<"mma_c", warps = 1>>
!ptr = !frag.ptr<f32>
!offsets = !frag.vec<16xi64, #frag.layout<"mma_c", warps = 1>>
!live = !frag.vec<16xi1, #frag.layout<"mma_c", warps = 1>>

// The thread's rows are tid / 4 and + 8, its columns 2 (tid % 4) and + 1.  What
// depends on the row alone is there twice, on the element four times.

// CHECK-LABEL: llvm.func @mask(
frag.kernel @mask threads 32 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  %limit = frag.param "heads" at 184 : i32
  %o = frag.param "o" at 24 : !ptr
  %ninf = arith.constant 0xFF800000 : f32
  %t = frag.splat %x : f32 -> !t
  // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 32> : i32
  // CHECK: %[[RS:.*]] = llvm.lshr %[[TID]], %{{.*}} : i32
  // CHECK: %[[ROW:.*]] = llvm.and %[[RS]], %{{.*}} : i32
  // CHECK: %[[CM:.*]] = llvm.and %[[TID]], %{{.*}} : i32
  // CHECK: %[[FIRST:.*]] = llvm.shl %[[CM]], %{{.*}} : i32
  // CHECK: %[[ROW8:.*]] = llvm.add %[[ROW]], %{{.*}} : i32
  // Columns are made where they are used.
  // CHECK: %[[COL:.*]] = llvm.inline_asm has_side_effects {{.*}}"mov.b32 $0, $1;", "=r,r" %[[FIRST]]
  // CHECK: %[[COL1:.*]] = llvm.add %[[COL]], %{{.*}} : i32
  // CHECK: %[[D0:.*]] = llvm.add %[[ROW]], %[[L:.*]] : i32
  // CHECK: %[[D1:.*]] = llvm.add %[[ROW8]], %[[L]] : i32
  // CHECK: %[[C00:.*]] = llvm.icmp "sle" %[[COL]], %[[D0]] : i32
  // CHECK: llvm.select %[[C00]]
  // CHECK: %[[C01:.*]] = llvm.icmp "sle" %[[COL1]], %[[D0]] : i32
  // CHECK: llvm.select %[[C01]]
  // CHECK: %[[C10:.*]] = llvm.icmp "sle" %[[COL]], %[[D1]] : i32
  // CHECK: llvm.select %[[C10]]
  // CHECK: %[[C11:.*]] = llvm.icmp "sle" %[[COL1]], %[[D1]] : i32
  // CHECK: llvm.select %[[C11]]
  // CHECK-NOT: llvm.icmp "sle"
  %m = frag.map (%e = %t : !t) at (%row, %col) -> !t {
    %diagonal = arith.addi %row, %limit : i32
    %in = arith.cmpi sle, %col, %diagonal : i32
    %y = arith.select %in, %e, %ninf : f32
    frag.yield %y : f32
  }
  %off = frag.map () at (%row) -> !offsets {
    %c8 = arith.constant 8 : i64
    %wide = arith.extsi %row : i32 to i64
    %y = arith.muli %wide, %c8 : i64
    frag.yield %y : i64
  }
  %live = frag.map () at (%row) -> !live {
    %y = arith.cmpi slt, %row, %limit : i32
    frag.yield %y : i1
  }
  frag.store %m, %o, %off, %live : !t, !ptr, !offsets, !live
  frag.return
}

// Vectors come in by the register's row.
// CHECK-LABEL: llvm.func @by_row(
frag.kernel @by_row threads 32 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  %limit = frag.param "heads" at 184 : i32
  %t = frag.splat %x : f32 -> !t
  // CHECK: %[[V0:.*]] = llvm.mul %{{.*}}, %{{.*}} : i32
  // CHECK: %[[V1:.*]] = llvm.mul %{{.*}}, %{{.*}} : i32
  %v = frag.map () at (%row) -> !r {
    %y = arith.muli %row, %limit : i32
    frag.yield %y : i32
  }
  // CHECK: %[[F0:.*]] = llvm.sitofp %[[V0]] : i32 to f32
  // CHECK: %[[F1:.*]] = llvm.sitofp %[[V1]] : i32 to f32
  // CHECK-NOT: llvm.sitofp
  // CHECK: llvm.fadd %{{.*}}, %[[F0]] {fastmathFlags = #llvm.fastmath<contract>} : f32
  // CHECK: llvm.fadd %{{.*}}, %[[F0]]
  // CHECK: llvm.fadd %{{.*}}, %[[F1]]
  // CHECK: llvm.fadd %{{.*}}, %[[F1]]
  // CHECK-NOT: llvm.fadd
  %s = frag.map (%e = %t : !t, %k = %v : !r) at (%row, %col) -> !t {
    %f = arith.sitofp %k : i32 to f32
    %y = arith.addf %e, %f : f32
    frag.yield %y : f32
  }
  // Packed elements are taken apart and joined again.
  // CHECK: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xbf16>
  // CHECK: llvm.fptrunc
  // CHECK: llvm.bitcast %{{.*}} : i32 to vector<2xbf16>
  // CHECK-COUNT-4: llvm.fneg %{{.*}} : bf16
  %h = frag.pack %s : !t -> !h
  %g = frag.map (%e = %h : !h) at (%row, %col) -> !h {
    %y = arith.negf %e : bf16
    frag.yield %y : bf16
  }
  frag.return
}

// A thread's first column is taken off the limits, two rows here; then each of
// its eight elements costs a comparison with a constant for each limit.
// CHECK-LABEL: llvm.func @band(
// CHECK-COUNT-4: llvm.sub
// CHECK-NOT: llvm.sub
// CHECK: %[[C0:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK: %[[BELOW:.*]] = llvm.icmp "sgt" %{{.*}}, %[[C0]] : i32
// CHECK: %[[FROM:.*]] = llvm.icmp "sle" %{{.*}}, %[[C0]] : i32
// CHECK: %[[KEPT:.*]] = llvm.and %[[BELOW]], %[[FROM]] : i1
// CHECK: llvm.select %[[KEPT]]
// CHECK-COUNT-7: llvm.select
// CHECK-NOT: llvm.select
// CHECK: llvm.return
frag.kernel @band threads 32 smem 0 params 200 {
  %f = frag.param "scale" at 192 : f32
  %t = frag.splat %f : f32 -> !frag.reg<16x16xf32, #frag.layout<"mma_c", warps = 1>>
  %n = arith.constant 7 : i32
  %v = frag.splat %n : i32 -> !frag.vec<16xi32, #frag.layout<"mma_c", warps = 1>>
  %z = arith.constant 0.0 : f32
  %u = frag.keep_columns %t from %v to %v else %z : !frag.reg<16x16xf32, #frag.layout<"mma_c", warps = 1>>, !frag.vec<16xi32, #frag.layout<"mma_c", warps = 1>>, !frag.vec<16xi32, #frag.layout<"mma_c", warps = 1>>
  frag.return
}

// exp2 of the thread's first column on the FMA pipe, in both rows, and of its second
// one on the MUFU.

// CHECK-LABEL: llvm.func @share(
// CHECK: llvm.intr.minnum
// CHECK: llvm.intr.maxnum
// CHECK: %[[T:.*]] = llvm.fadd %{{.*}}, %{{.*}} : f32
// CHECK: llvm.fsub
// CHECK: llvm.fsub
// CHECK-COUNT-4: llvm.intr.fma
// CHECK: llvm.shl
// CHECK: llvm.add
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: llvm.intr.minnum
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK-NOT: llvm.intr.minnum
// CHECK: llvm.return
frag.kernel @share threads 32 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  %t = frag.splat %x : f32 -> !t
  %p = frag.map (%e = %t : !t) at (%row, %col) -> !t attributes {exp2_fma = 8 : i32} {
    %y = math.exp2 %e : f32
    frag.yield %y : f32
  }
  frag.return
}
