// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

!t = !frag.reg<16x16xf32, #frag.layout<"mma_c", warps = 1>>
!a = !frag.reg<16x16xbf16, #frag.layout<"mma_a", warps = 1>>
!r = !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>>
!p = !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>, partial>
!b = !frag.vec<16xi1, #frag.layout<"mma_c", warps = 1>>

// Four elements a row: three maxima in the thread, then lanes 1 and 2.
// CHECK-LABEL: llvm.func @max(
// CHECK-COUNT-3: llvm.intr.maxnum
// CHECK: %[[LANE1:.*]] = llvm.mlir.constant(1 : i32) : i32
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[LANE1]], %{{.*}} : f32 -> f32
// CHECK: llvm.intr.maxnum
// CHECK: %[[LANE2:.*]] = llvm.mlir.constant(2 : i32) : i32
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[LANE2]], %{{.*}} : f32 -> f32
// CHECK: llvm.intr.maxnum
// CHECK-COUNT-3: llvm.intr.maxnum
// CHECK-COUNT-2: nvvm.shfl.sync
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.return
frag.kernel @max threads 32 smem 0 params 200 {
  %t = frag.map () at (%row, %col) -> !t {
    %sum = arith.addi %row, %col : i32
    %f = arith.sitofp %sum : i32 to f32
    frag.yield %f : f32
  }
  %m = frag.reduce_row max row %t : !t -> !r
  frag.return
}

// A share stays in the thread until reduce_quad.
// CHECK-LABEL: llvm.func @sum(
// CHECK-COUNT-6: llvm.fadd
// CHECK: nvvm.shfl.sync bfly
// CHECK: llvm.fadd
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK: llvm.return
frag.kernel @sum threads 32 smem 0 params 200 {
  %t = frag.map () at (%row, %col) -> !t {
    %sum = arith.addi %row, %col : i32
    %f = arith.sitofp %sum : i32 to f32
    frag.yield %f : f32
  }
  %share = frag.reduce_row sum thread %t : !t -> !p
  %l = frag.reduce_quad %share : !p -> !r
  frag.return
}

// CHECK-LABEL: llvm.func @any(
// CHECK: %[[OWN:.*]] = llvm.or %{{.*}}, %{{.*}} : i1
// CHECK: %[[WORD:.*]] = llvm.zext %[[OWN]] : i1 to i32
// CHECK: %[[ALL:.*]] = nvvm.barrier #nvvm.reduction<or> %[[WORD]] -> i32
// CHECK: %[[SAME:.*]] = nvvm.redux.sync or %[[ALL]]
// CHECK: llvm.icmp "ne" %[[SAME]]
frag.kernel @any threads 32 smem 0 params 200 {
  %n = frag.param "heads" at 184 : i32
  %v = frag.map () at (%row) -> !b {
    %y = arith.cmpi sgt, %row, %n : i32
    frag.yield %y : i1
  }
  %any = frag.any %v : !b
  scf.if %any {
    frag.cta_sync
  }
  frag.return
}

// Two mma_c atoms side by side are one mma_a atom: four pairs.
// CHECK-LABEL: llvm.func @pack(
// CHECK-COUNT-4: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK-NOT: llvm.fptrunc
// CHECK: llvm.return
frag.kernel @pack threads 32 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  %t = frag.splat %x : f32 -> !t
  %h = frag.pack %t : !t -> !a
  frag.return
}

// A warp votes; a warpgroup meets at its named barrier first, whose result ptxas
// does not know to be the same in all lanes.
// CHECK-LABEL: llvm.func @votes(
// CHECK: llvm.or
// CHECK: nvvm.vote.sync any %{{.*}}, %{{.*}} -> i1
// CHECK: llvm.add
// CHECK: %[[RED:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "bar.red.or.pred $0, $1, $2, $3;", "=b,r,n,b,~{memory}"
// CHECK: nvvm.vote.sync any %{{.*}}, %[[RED]] -> i1
frag.kernel @votes threads 128 smem 0 params 200 {
  %true = arith.constant true
  %r = frag.cta_id
  %v = frag.map () at (%row) -> !frag.vec<64xi1, #frag.layout<"wgmma_c", warps = 4>> {
    %y = arith.cmpi slt, %row, %r : i32
    frag.yield %y : i1
  }
  %a = frag.any %v scope warp : !frag.vec<64xi1, #frag.layout<"wgmma_c", warps = 4>>
  %b = frag.any %v scope warpgroup barrier 1 + %r : !frag.vec<64xi1, #frag.layout<"wgmma_c", warps = 4>>
  frag.return
}
