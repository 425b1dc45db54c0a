// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

// Kernels become entries with the parameter struct as the one argument.

// CHECK: llvm.mlir.global external @attn_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-LABEL: llvm.func @scalars(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr {llvm.align = 16 : i64, llvm.byval = !llvm.struct<(array<200 x i8>)>, nvvm.grid_constant}
// CHECK-SAME: attn.smem = 98304 : i32
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.reqntid = array<i32: 32, 1, 1>
frag.kernel @scalars threads 32 smem 98304 params 200 {
  // CHECK-DAG: %[[QA:.*]] = llvm.load %[[P]] invariant {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr<1>
  %q = frag.param "q" at 0 : !frag.ptr<i32>
  // CHECK: %[[SA:.*]] = llvm.getelementptr %[[P]][192]
  // CHECK: llvm.load %[[SA]] invariant {alignment = 4 : i64} : !llvm.ptr -> f32
  %scale = frag.param "scale" at 192 : f32
  // CHECK: nvvm.read.ptx.sreg.ctaid.x
  // CHECK: nvvm.read.ptx.sreg.nctaid.x
  %id = frag.cta_id
  %count = frag.cta_count
  %id64 = arith.extsi %id : i32 to i64
  // CHECK: %[[O:.*]] = llvm.getelementptr %[[QA]][%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
  %p = frag.offset %q[%id64] : !frag.ptr<i32>
  // CHECK: %[[E:.*]] = llvm.getelementptr %[[O]][%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
  // CHECK: %[[N:.*]] = llvm.load %[[E]] invariant {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  %n = frag.load_scalar %p[%id64] : !frag.ptr<i32>
  // CHECK: %[[SM:.*]] = llvm.mlir.addressof @attn_shared : !llvm.ptr<3>
  // CHECK: %[[R:.*]] = llvm.getelementptr %[[SM]][32768] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %ring = frag.smem "k" at 32768 : !frag.ring<16x64xbf16, swizzle = 128, slots = 3>
  %p0 = frag.pos phase 0 : !frag.pos<slots = 3>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // A position is a slot and a phase; three slots wrap by a compare, and the
  // phase flips there.
  // CHECK: llvm.br ^[[H:bb[0-9]+]](%{{.*}}, %{{.*}}, %{{.*}} : i32, i32, i32)
  // CHECK: ^[[H]](%{{.*}}: i32, %[[POS:.*]]: i32, %[[PHASE:.*]]: i32):
  %last = scf.for %i = %zero to %n step %one iter_args(%pos = %p0) -> (!frag.pos<slots = 3>) : i32 {
    // CHECK: %[[NEXT:.*]] = llvm.add %[[POS]], %{{.*}} : i32
    // CHECK: %[[WRAP:.*]] = llvm.icmp "eq" %[[NEXT]]
    // CHECK: llvm.select %[[WRAP]], %{{.*}}, %[[NEXT]] : i1, i32
    // CHECK: %[[FLIPPED:.*]] = llvm.xor %[[PHASE]], %{{.*}} : i32
    // CHECK: llvm.select %[[WRAP]], %[[FLIPPED]], %[[PHASE]] : i1, i32
    %next = frag.next %pos : !frag.pos<slots = 3>
    scf.yield %next : !frag.pos<slots = 3>
  }
  // CHECK: llvm.mul %{{.*}}, %{{.*}} : i32
  // CHECK: nvvm.ldmatrix
  %a = frag.ldmatrix %ring[%last] : !frag.ring<16x64xbf16, swizzle = 128, slots = 3>
    -> !frag.reg<16x64xbf16, #frag.layout<"mma_a", warps = 1>>
  // CHECK: llvm.return
  frag.return
}

// CHECK-LABEL: llvm.func @two_slots(
frag.kernel @two_slots threads 32 smem 0 params 200 {
  %n = frag.param "heads" at 184 : i32
  %p0 = frag.pos phase 0 : !frag.pos<slots = 2>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // Two slots: the phase flips where slot 1 is left.
  // CHECK: ^bb1(%{{.*}}: i32, %[[SLOT:.*]]: i32, %[[PHASE2:.*]]: i32):
  // CHECK: llvm.xor %[[PHASE2]], %[[SLOT]] : i32
  // CHECK: llvm.xor %[[SLOT]], %{{.*}} : i32
  %last = scf.for %i = %zero to %n step %one iter_args(%pos = %p0) -> (!frag.pos<slots = 2>) : i32 {
    %next = frag.next %pos : !frag.pos<slots = 2>
    scf.yield %next : !frag.pos<slots = 2>
  }
  frag.return
}
