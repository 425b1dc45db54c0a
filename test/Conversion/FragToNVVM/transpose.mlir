// RUN: attn-opt --frag-to-nvvm %s | FileCheck %s

#C = #frag.layout<"wgmma_c", warps = 4>
#E = #frag.layout<"quad16", warps = 4>

// 64 x 64: two blocks of 32 columns for each of two rows, in each two exchanges with
// lane ^ 1 and two with lane ^ 2.
// CHECK-LABEL: llvm.func @transpose(
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i32) : i32
// CHECK: llvm.icmp "ne"
// CHECK: llvm.icmp "ne"
// CHECK: llvm.select
// CHECK: nvvm.shfl.sync bfly
// CHECK-COUNT-2: llvm.select
// CHECK-COUNT-15: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: "@$0 st.global.v4.b32 [$1+0], {$2, $3, $4, $5};", "b,l,r,r,r,r,~{memory}"
// CHECK: "@$0 st.global.v4.b32 [$1+64], {$2, $3, $4, $5};"
// CHECK: "@$0 st.global.v4.b32 [$1+0], {$2, $3, $4, $5};"
// CHECK: "@$0 st.global.v4.b32 [$1+64], {$2, $3, $4, $5};"
// CHECK-NOT: st.global
// CHECK: llvm.return
frag.kernel @transpose threads 128 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  %o = frag.param "o" at 24 : !frag.ptr<bf16>
  %l0 = arith.constant 0 : i64
  %true = arith.constant true
  %t = frag.map () at (%row, %col) -> !frag.reg<64x64xf32, #C> {
    %s = arith.addi %row, %col : i32
    %f = arith.sitofp %s : i32 to f32
    frag.yield %f : f32
  }
  %off = frag.splat %l0 : i64 -> !frag.vec<64xi64, #C>
  %live = frag.splat %true : i1 -> !frag.vec<64xi1, #C>
  %b = frag.pack %t : !frag.reg<64x64xf32, #C> -> !frag.reg<64x64xbf16, #C>
  %e = frag.quad_transpose %b : !frag.reg<64x64xbf16, #C> -> !frag.reg<64x64xbf16, #E>
  frag.store %e, %o, %off, %live : !frag.reg<64x64xbf16, #E>, !frag.ptr<bf16>, !frag.vec<64xi64, #C>, !frag.vec<64xi1, #C>
  frag.return
}

// 48 columns take two blocks of 32: words of the columns that are not there are 0.
// Memory has 40: of the second block's lanes the first stores.
// CHECK-LABEL: llvm.func @padded(
// CHECK: %[[Z0:[0-9]+]] = llvm.mlir.constant(0 : i32) : i32{{[[:space:]]+}}%[[Z1:[0-9]+]] = llvm.mlir.constant(0 : i32) : i32{{[[:space:]]}}
// CHECK: llvm.select %{{.*}}, %[[Z0]], %[[Z1]] : i1, i32
// CHECK: "@$0 st.global.v4.b32 [$1+0], {$2, $3, $4, $5};", "b,l,r,r,r,r,~{memory}" %[[ROWS:[0-9]+]],
// CHECK: %[[C8:.*]] = llvm.mlir.constant(8 : i32) : i32
// CHECK: %[[INSIDE:.*]] = llvm.icmp "slt" %{{.*}}, %[[C8]] : i32
// CHECK: %[[STORED:.*]] = llvm.and %[[ROWS]], %[[INSIDE]] : i1
// CHECK: "@$0 st.global.v4.b32 [$1+64], {$2, $3, $4, $5};", "b,l,r,r,r,r,~{memory}" %[[STORED]],
// CHECK: %[[OTHER:.*]] = llvm.and %{{.*}}, %[[INSIDE]] : i1
// CHECK: "@$0 st.global.v4.b32 [$1+64], {$2, $3, $4, $5};", "b,l,r,r,r,r,~{memory}" %[[OTHER]],
// CHECK-NOT: st.global
// CHECK: llvm.return
frag.kernel @padded threads 128 smem 0 params 200 {
  %o = frag.param "o" at 24 : !frag.ptr<bf16>
  %rows = frag.param "heads" at 184 : i32
  %l0 = arith.constant 0 : i64
  %t = frag.map () at (%row, %col) -> !frag.reg<64x48xf32, #C> {
    %s = arith.addi %row, %col : i32
    %f = arith.sitofp %s : i32 to f32
    frag.yield %f : f32
  }
  %off = frag.splat %l0 : i64 -> !frag.vec<64xi64, #C>
  %live = frag.map () at (%row) -> !frag.vec<64xi1, #C> {
    %y = arith.cmpi slt, %row, %rows : i32
    frag.yield %y : i1
  }
  %b = frag.pack %t : !frag.reg<64x48xf32, #C> -> !frag.reg<64x48xbf16, #C>
  %e = frag.quad_transpose %b : !frag.reg<64x48xbf16, #C> -> !frag.reg<64x64xbf16, #E>
  frag.store %e, %o, %off, %live cols 40 : !frag.reg<64x64xbf16, #E>, !frag.ptr<bf16>, !frag.vec<64xi64, #C>, !frag.vec<64xi1, #C>
  frag.return
}
