// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

// A shuffled warp number decides.  Idle warps of load give their registers back
// and end; replicas have a rank.  All warps have a role, so the last needs no
// test.
// CHECK-LABEL: llvm.func @two(
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK-SAME: passthrough = {{\[\[}}"denormal-fp-math-f32", "preserve-sign"]]
// CHECK: nvvm.barrier
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 384>
// CHECK: %[[WARP0:.*]] = llvm.lshr %[[TID]], %{{.*}} : i32
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[WARP0]]
// CHECK: llvm.icmp "ult" %[[WARP]], %{{.*}} : i32
// CHECK: llvm.cond_br
// CHECK: nvvm.setmaxregister decrease 24
// CHECK: llvm.icmp "ult"
// CHECK: llvm.cond_br
// CHECK: mbarrier.try_wait
// CHECK: llvm.lshr
// CHECK: nvvm.setmaxregister increase 240
// CHECK-NOT: llvm.cond_br
// CHECK: bar.arrive
frag.kernel @two threads 384 smem 32 params 200 {
  %b = frag.bars "b" at 0 count 1 : !frag.bars<slots = 2>
  frag.init %b : !frag.bars<slots = 2>
  frag.role_dispatch [#frag.role<"load", first_warp = 0, warps = 4, active = 1, replicas = 1>,
                      #frag.role<"compute", first_warp = 4, warps = 4, active = 4, replicas = 2>] {
    frag.set_registers dec 24
    %p = frag.pos phase 1 : !frag.pos<slots = 2>
    frag.mbar_wait %b[%p] : !frag.bars<slots = 2>
  }, (%rank) {
    frag.set_registers inc 240
    frag.barrier_arrive 1 + %rank threads 256
  }
  frag.return
}

// Warps 4 to 7 have no role: two tests.
// CHECK-LABEL: llvm.func @gap(
// CHECK: nvvm.shfl.sync idx
// CHECK: llvm.cond_br
// CHECK: nvvm.barrier id
// CHECK: llvm.cond_br
// CHECK: nvvm.barrier id
// CHECK: llvm.return
frag.kernel @gap threads 384 smem 0 params 200 {
  frag.role_dispatch [#frag.role<"a", first_warp = 0, warps = 4, active = 4, replicas = 1>,
                      #frag.role<"b", first_warp = 8, warps = 4, active = 4, replicas = 1>] {
    frag.barrier_sync 1 threads 128
  }, {
    frag.barrier_sync 2 threads 128
  }
  frag.return
}

// A kernel without roles says nothing about CTAs of an SM.
// CHECK-LABEL: llvm.func @plain(
// CHECK-NOT: minctasm
// CHECK: llvm.return
frag.kernel @plain threads 32 smem 0 params 200 {
  frag.return
}

// It may say how many registers a thread may use.
// CHECK-LABEL: llvm.func @bounded(
// CHECK-SAME: nvvm.maxnreg = 80 : i32
frag.kernel @bounded threads 32 smem 0 params 200 attributes {registers = 80 : i32} {
  frag.return
}
