// RUN: attn-opt %S/../AttnToPipe/merge-rows.mlir --pass-pipeline='builtin.module(attn.kernel(pipe-assign-roles), pipe-to-frag)' | FileCheck %s

// A merge in turns: rows of a turn keep their place in the slot and in the tensor,
// and the registers of the one role are the kernel's.
// CHECK-LABEL: frag.kernel @three threads 256 smem 0 params 200 attributes {registers = 80 : i32}
// CHECK: scf.while
// CHECK: scf.for %[[TURN:[^ ]*]] =
// CHECK: %[[FIRST:.*]] = arith.muli %[[TURN]], %c64
// CHECK: %[[BASE:.*]] = arith.muli %{{.*}}, %c192_i64
// CHECK: frag.map () at (%[[R:.*]]) -> !frag.vec<64xi64, #frag.layout<"row_c", warps = 8>>
// CHECK-NEXT: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[R]]
// CHECK-NEXT: %[[WIDE:.*]] = arith.extui %[[ROW]]
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[BASE]], %[[WIDE]]
// CHECK: arith.muli %[[AT]], %c64_i64
// CHECK-NEXT: arith.cmpi slt, %[[ROW]]
// CHECK: frag.load {{.*}} -> <64x64xf32, #frag.layout<"row_c", warps = 8>>
// m of the slot, l behind it.
// CHECK: arith.muli %{{.*}}, %c384_i64
// CHECK: frag.load_vec
// CHECK: frag.load_vec
// CHECK: scf.for {{.*}} -> (!frag.reg<64x64xf32, #frag.layout<"row_c", warps = 8>>, !frag.vec<64xf32, #frag.layout<"row_c", warps = 8>>, !frag.vec<64xf32, #frag.layout<"row_c", warps = 8>>)
// References differ by c m as exponentials had it, rounded: the product is an FMA, as one
// by itself would be contracted with the difference.  Large ones differ before the factor.
// CHECK: %[[TOP:.*]] = arith.maxnumf %[[A:.*]], %[[B:.*]] : f32
// CHECK: %[[BASE2:.*]] = arith.select {{.*}}, %[[TOP]]
// CHECK: %[[CT:.*]] = math.fma %[[C:.*]], %[[BASE2]], %[[ZERO:.*]] : f32
// CHECK: %[[CA:.*]] = math.fma %[[C]], %[[A]], %{{.*}} : f32
// CHECK: %[[NEAR:.*]] = arith.andi
// CHECK: %[[DA:.*]] = arith.subf %[[CA]], %[[CT]]
// CHECK: %[[FA:.*]] = arith.subf %[[A]], %[[BASE2]]
// CHECK: %[[XA:.*]] = arith.mulf %[[FA]], %[[C]]
// CHECK: %[[SA:.*]] = arith.select %[[NEAR]], %[[DA]], %[[XA]]
// CHECK-NEXT: math.exp2 %[[SA]]
// CHECK: %[[CB:.*]] = math.fma %[[C]], %[[B]], %{{.*}} : f32
// CHECK: arith.subf %[[CB]], %[[CT]]
// CHECK: math.exp2
// Neighbours lie in one lane as they are.
// CHECK: %[[H:.*]] = frag.pack {{.*}} -> <64x64xbf16, #frag.layout<"row_c", warps = 8>>
// CHECK: frag.store %[[H]],
