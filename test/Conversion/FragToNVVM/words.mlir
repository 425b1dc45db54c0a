// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

!w = !frag.words<6, slots = 2>
!v = !frag.words<1, slots = 3, lanes = 2>

// The slot goes through a uniform register: what is loaded behind it is the same
// in all lanes.  Words 24 bytes a slot.
// CHECK-LABEL: llvm.func @load(
// CHECK: %[[SLOT:.*]] = nvvm.redux.sync or
// CHECK: llvm.mlir.constant(24 : i32)
// CHECK: llvm.mul %[[SLOT]]
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK: llvm.getelementptr %{{.*}}[4]
// CHECK: llvm.load
// CHECK: nvvm.redux.sync or
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK-NOT: llvm.load
// CHECK: llvm.return
frag.kernel @load threads 32 smem 128 params 200 {
  %w = frag.words "w" at 0 : !w
  %v = frag.words "v" at 64 : !v
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.pos phase 0 : !frag.pos<slots = 3>
  %a:2 = frag.ld_words 2 of %w[%p] : !w
  %b:2 = frag.ld_words 1 of %v[%q] : !v
  frag.return
}

// Pairs, since a slot of 24 bytes is aligned to 8; behind a barrier of the warp
// unless one thread is alone; without a lane the same on every lane.
// CHECK-LABEL: llvm.func @store(
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: "@$0 st.shared.v2.b32 [$1+0], {$2, $3};", "b,r,r,r,~{memory}"
// CHECK: "@$0 st.shared.b32 [$1+8], $2;", "b,r,r,~{memory}"
// CHECK: nvvm.bar.warp.sync
// CHECK: "@$0 st.shared.b32 [$1+0], $2;"
// CHECK: "@$0 st.shared.b32 [$1+4], $2;"
// CHECK: nvvm.bar.warp.sync
// CHECK: "@$0 st.shared.b32 [$1+0], $2;"
// CHECK-NOT: st.shared
// CHECK: llvm.return
frag.kernel @store threads 32 smem 128 params 200 {
  %w = frag.words "w" at 0 : !w
  %v = frag.words "v" at 64 : !v
  %p = frag.pos phase 0 : !frag.pos<slots = 2>
  %q = frag.pos phase 0 : !frag.pos<slots = 3>
  %x = frag.cta_id
  frag.elect {
    frag.st_words (%x, %x, %x) to %w[%p] : !w
  }
  frag.st_words (%x) to %v[%q] : !v
  frag.st_words (%x) to %v[%q] lane %x : !v
  frag.return
}

// 8 chunks a row of a panel, 32 threads of one warp in turn; two panels of 2048
// bytes.
// CHECK-LABEL: llvm.func @zero(
// CHECK: llvm.mlir.constant(127 : i32)
// CHECK: llvm.mlir.constant(128 : i32)
// CHECK: llvm.mlir.constant(32 : i32)
// CHECK: llvm.icmp "slt"
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: llvm.getelementptr %{{.*}}[2048]
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NOT: llvm.store
frag.kernel @zero threads 128 smem 4096 params 200 {
  frag.role_dispatch [#frag.role<"load", first_warp = 0, warps = 4, active = 1, replicas = 1>] {
    %r = frag.smem "r" at 0 : !frag.ring<16x128xbf16, swizzle = 128, slots = 1>
    %p = frag.pos phase 0 : !frag.pos<slots = 1>
    %first = frag.cta_id
    frag.zero_rows %r[%p] from %first : !frag.ring<16x128xbf16, swizzle = 128, slots = 1>
  }
  frag.return
}
