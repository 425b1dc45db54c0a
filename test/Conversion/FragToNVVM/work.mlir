// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

// Lane 0 counts, all lanes get its number; limit and above are -1.
// CHECK-LABEL: llvm.func @next(
// CHECK: llvm.cond_br
// CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
// CHECK: %[[I:.*]] = nvvm.shfl.sync idx
// CHECK: %[[IN:.*]] = llvm.icmp "ult" %[[I]], %{{.*}} : i32
// CHECK: llvm.mlir.constant(-1 : i32)
// CHECK: llvm.select %[[IN]], %[[I]]
frag.kernel @next threads 32 smem 0 params 200 {
  %q = frag.param "plan" at 40 : !frag.ptr<i32>
  %n = frag.param "heads" at 184 : i32
  %i = frag.next_work %q below %n : !frag.ptr<i32>
  frag.return
}

// The CTA that is last resets both words.
// CHECK-LABEL: llvm.func @done(
// CHECK: llvm.cond_br
// CHECK: llvm.getelementptr %{{.*}}[4]
// CHECK: %[[OLD:.*]] = llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("device") acq_rel : !llvm.ptr<1>, i32
// CHECK: nvvm.read.ptx.sreg.nctaid.x
// CHECK: llvm.icmp "eq" %[[OLD]]
// CHECK: llvm.cond_br
// CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<1>
frag.kernel @done threads 32 smem 0 params 200 {
  %q = frag.param "plan" at 40 : !frag.ptr<i32>
  frag.next_work_done %q : !frag.ptr<i32>
  frag.return
}
