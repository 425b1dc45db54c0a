// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

!bars = !frag.bars<slots = 2>
!lanes = !frag.bars<slots = 3, lanes = 2>

// Thread 0 starts everything, tells the asynchronous proxy, and all meet.
// CHECK-LABEL: llvm.func @init(
// CHECK: llvm.icmp "eq"
// CHECK: llvm.cond_br
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
// CHECK-COUNT-3: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: llvm.br
// CHECK: nvvm.barrier
frag.kernel @init threads 128 smem 64 params 200 {
  %b = frag.bars "b" at 0 count 4 : !bars
  %w = frag.words "w" at 16 : !frag.words<1, slots = 3>
  frag.init %b, %w : !bars, !frag.words<1, slots = 3>
  frag.return
}

// The address of slot s is 8 s on; a wait is on every lane.
// CHECK-LABEL: llvm.func @wait(
// CHECK-COUNT-2: llvm.inline_asm has_side_effects asm_dialect = att "{\0A.reg .pred P;\0AW:\0Ambarrier.try_wait.parity.shared::cta.b64 P, [$0], $1;\0A@P bra D;\0Abra W;\0AD:\0A}", "r,r,~{memory}"
// CHECK-NOT: try_wait
// CHECK: llvm.return
frag.kernel @wait threads 32 smem 64 params 200 {
  %b = frag.bars "b" at 0 count 1 : !lanes
  %p = frag.pos phase 1 : !frag.pos<slots = 3>
  frag.mbar_wait %b[%p] : !lanes
  frag.return
}

// CHECK-LABEL: llvm.func @arrive(
// CHECK: "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];", "b,r,~{memory}"
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.mul %{{.*}} : i32
// CHECK: llvm.icmp "eq"
// CHECK: "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];", "b,r,~{memory}"
frag.kernel @arrive threads 32 smem 64 params 200 {
  %b = frag.bars "b" at 0 count 1 : !bars
  %l = frag.bars "l" at 16 count 1 : !lanes
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.pos phase 0 : !frag.pos<slots = 3>
  %lane = frag.cta_id
  frag.mbar_arrive %b[%p] : !bars
  frag.mbar_arrive %l[%q] lane %lane sync : !lanes
  frag.return
}

// The elected thread has a predicate and no branch.
// CHECK-LABEL: llvm.func @elect(
// CHECK-NOT: cond_br
// CHECK: "@$0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], $2;", "b,r,n,~{memory}"
// CHECK: "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];", "b,r,~{memory}"
// CHECK-NOT: cond_br
// CHECK: llvm.return
frag.kernel @elect threads 32 smem 64 params 200 {
  %b = frag.bars "b" at 0 count 1 : !bars
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  frag.elect {
    frag.mbar_expect %b[%p] bytes 4096 : !bars
    frag.mbar_arrive_one %b[%p] : !bars
  }
  frag.return
}

// CHECK-LABEL: llvm.func @named(
// CHECK: %[[ID:.*]] = llvm.add %{{.*}}, %{{.*}} : i32
// CHECK: nvvm.barrier id = %[[ID]] number_of_threads = %{{.*}}
// CHECK: "bar.arrive $0, $1;", "r,n,~{memory}" %{{.*}}, %{{.*}} : (i32, i32) -> ()
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
frag.kernel @named threads 256 smem 0 params 200 {
  %r = frag.cta_id
  frag.barrier_sync 1 + %r threads 256
  frag.barrier_arrive 3 threads 256
  frag.fence proxy_async_shared
  frag.return
}
