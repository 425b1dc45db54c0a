// RUN: attn-opt %s --frag-to-nvvm | FileCheck %s

// What branches may depend on goes into uniform registers; elements do not.

!ptr = !frag.ptr<i32>
!r = !frag.vec<16xi32, #frag.layout<"mma_c", warps = 1>>
!b = !frag.vec<16xi1, #frag.layout<"mma_c", warps = 1>>

// CHECK-LABEL: llvm.func @loads(
frag.kernel @loads threads 32 smem 2048 params 200 {
  %plan = frag.param "plan" at 40 : !ptr
  %o = frag.param "o" at 24 : !ptr
  %zero = arith.constant 0 : i64
  // CHECK: %[[WORD:.*]] = llvm.load %{{.*}} invariant {{.*}} -> i32
  // CHECK: %[[SAME:.*]] = nvvm.redux.sync or %[[WORD]]
  %word = frag.load_scalar %plan[%zero] : !ptr
  // CHECK: llvm.inline_asm has_side_effects {{.*}}"mov.b32 $0, $1;", "=r,r" %[[SAME]] : (i32) -> i32
  %here = frag.opaque %word : i32
  // CHECK-NOT: nvvm.redux.sync
  // CHECK-COUNT-2: llvm.load %{{.*}} invariant {{.*}} -> i32
  // CHECK-NOT: nvvm.redux.sync
  %v = frag.map () at (%row) -> !r {
    %i = arith.extsi %row : i32 to i64
    %x = frag.load_scalar %plan[%i] : !ptr
    %y = arith.addi %x, %here : i32
    frag.yield %y : i32
  }
  // CHECK: llvm.return
  frag.return
}

// Without shared memory nothing in the kernel needs it.
// CHECK-LABEL: llvm.func @alone(
// CHECK-NOT: nvvm.redux.sync
frag.kernel @alone threads 32 smem 0 params 200 {
  %plan = frag.param "plan" at 40 : !ptr
  %zero = arith.constant 0 : i64
  %word = frag.load_scalar %plan[%zero] : !ptr
  %here = frag.opaque %word : i32
  // CHECK: llvm.return
  frag.return
}
