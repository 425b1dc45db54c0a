// RUN: attn-translate --attn-to-ptx %s | FileCheck %s

!t = !frag.reg<16x16xf32, #frag.layout<"mma_c", warps = 1>>
!h = !frag.reg<16x16xbf16, #frag.layout<"mma_c", warps = 1>>
!r = !frag.vec<16xf32, #frag.layout<"mma_c", warps = 1>>
!offsets = !frag.vec<16xi64, #frag.layout<"mma_c", warps = 1>>
!live = !frag.vec<16xi1, #frag.layout<"mma_c", warps = 1>>

// Pairs of columns in one access: 8 bytes of f32, 4 bytes of bf16; the second
// atom's columns are a constant away.
// CHECK-LABEL: .entry tiles(
// CHECK: ld.global.v2.b32 {{.*}}, [[[A:%rd[0-9]+]]];
// CHECK-NEXT: ld.global.v2.b32 {{.*}}, [[[A]]+32];
// CHECK: ld.global.v2.b32 {{.*}}, [[[B:%rd[0-9]+]]];
// CHECK-NEXT: ld.global.v2.b32 {{.*}}, [[[B]]+32];
// CHECK-COUNT-2: cvt.rn.bf16x2.f32
// CHECK-COUNT-2: cvt.rn.bf16x2.f32
// CHECK: @[[P:%p[0-9]+]] st.global.b32 [[[C:%rd[0-9]+]]+0], %r
// CHECK: @[[P]] st.global.b32 [[[C]]+16], %r
// CHECK: @[[R:%p[0-9]+]] st.global.b32 [[[D:%rd[0-9]+]]+0], %r
// CHECK: @[[R]] st.global.b32 [[[D]]+16], %r
// CHECK-NOT: st.global
// CHECK: ret;
frag.kernel @tiles threads 32 smem 0 params 200 {
  %rows = frag.param "heads" at 184 : i32
  %in = frag.param "partial_o" at 48 : !frag.ptr<f32>
  %out = frag.param "o" at 24 : !frag.ptr<bf16>
  %stride = frag.param "o_strides.token" at 144 : i64
  %offsets = frag.map () at (%row) -> !offsets {
    %wide = arith.extsi %row : i32 to i64
    %y = arith.muli %wide, %stride : i64
    frag.yield %y : i64
  }
  %live = frag.map () at (%row) -> !live {
    %y = arith.cmpi slt, %row, %rows : i32
    frag.yield %y : i1
  }
  %t = frag.load %in, %offsets, %live : !frag.ptr<f32>, !offsets, !live -> !t
  %h = frag.pack %t : !t -> !h
  frag.store %h, %out, %offsets, %live : !h, !frag.ptr<bf16>, !offsets, !live
  frag.return
}

// Rows on lanes: four columns in one access, 16 bytes of f32, 8 of bf16; the
// second run of 32 columns is a constant away.
// CHECK-LABEL: .entry rows(
// CHECK: ld.global.v4.b32 {{.*}}, [[[A:%rd[0-9]+]]];
// CHECK-NEXT: ld.global.v4.b32 {{.*}}, [[[A]]+128];
// CHECK-NOT: ld.global.v4
// CHECK: @[[P:%p[0-9]+]] st.global.v2.b32 [[[C:%rd[0-9]+]]+0], {
// CHECK: @[[P]] st.global.v2.b32 [[[C]]+64], {
// CHECK-NOT: st.global
// CHECK: ret;
!rowT = !frag.reg<8x64xf32, #frag.layout<"row_c", warps = 2>>
!rowH = !frag.reg<8x64xbf16, #frag.layout<"row_c", warps = 2>>
!rowOffsets = !frag.vec<8xi64, #frag.layout<"row_c", warps = 2>>
!rowLive = !frag.vec<8xi1, #frag.layout<"row_c", warps = 2>>
frag.kernel @rows threads 64 smem 0 params 200 {
  %rows = frag.param "heads" at 184 : i32
  %in = frag.param "partial_o" at 48 : !frag.ptr<f32>
  %out = frag.param "o" at 24 : !frag.ptr<bf16>
  %stride = frag.param "o_strides.token" at 144 : i64
  %offsets = frag.map () at (%row) -> !rowOffsets {
    %wide = arith.extsi %row : i32 to i64
    %y = arith.muli %wide, %stride : i64
    frag.yield %y : i64
  }
  %live = frag.map () at (%row) -> !rowLive {
    %y = arith.cmpi slt, %row, %rows : i32
    frag.yield %y : i1
  }
  %t = frag.load %in, %offsets, %live : !frag.ptr<f32>, !rowOffsets, !rowLive -> !rowT
  %h = frag.pack %t : !rowT -> !rowH
  frag.store %h, %out, %offsets, %live : !rowH, !frag.ptr<bf16>, !rowOffsets, !rowLive
  frag.return
}

// One lane of the four that share a row stores it.
// CHECK-LABEL: .entry vectors(
// CHECK: ld.global.b32
// CHECK: ld.global.b32
// CHECK: and.b32 [[Q:%r[0-9]+]], %{{.*}}, 3;
// CHECK: setp.eq.b32 [[FIRST:%p[0-9]+]], [[Q]], 0;
// CHECK: and.pred [[P:%p[0-9]+]], [[FIRST]], %p
// CHECK: @[[P]] st.global.b32
// CHECK: and.pred [[R:%p[0-9]+]], [[FIRST]], %p
// CHECK: @[[R]] st.global.b32
// CHECK-NOT: st.global
// CHECK: ret;
frag.kernel @vectors threads 32 smem 0 params 200 {
  %rows = frag.param "heads" at 184 : i32
  %in = frag.param "partial_rows" at 56 : !frag.ptr<f32>
  %out = frag.param "lse" at 32 : !frag.ptr<f32>
  %offsets = frag.map () at (%row) -> !offsets {
    %y = arith.extsi %row : i32 to i64
    frag.yield %y : i64
  }
  %live = frag.map () at (%row) -> !live {
    %y = arith.cmpi slt, %row, %rows : i32
    frag.yield %y : i1
  }
  %v = frag.load_vec %in, %offsets, %live : !frag.ptr<f32>, !offsets, !live -> !r
  frag.store_vec %v, %out, %offsets, %live : !r, !frag.ptr<f32>, !offsets, !live
  frag.return
}

// A truth value in memory is a byte, 64 bits are one register.
// CHECK-LABEL: .entry kinds(
// CHECK: @%p{{[0-9]+}} st.global.b8 [%rd{{[0-9]+}}+0], %r{{[0-9]+}};
// CHECK: @%p{{[0-9]+}} st.global.b64 [%rd{{[0-9]+}}+0], %rd{{[0-9]+}};
// CHECK: ret;
frag.kernel @kinds threads 32 smem 0 params 200 {
  %bytes = frag.param "lse" at 32 : !frag.ptr<i1>
  %longs = frag.param "o" at 24 : !frag.ptr<i64>
  %rows = frag.param "heads" at 184 : i32
  %offsets = frag.map () at (%row) -> !offsets {
    %y = arith.extsi %row : i32 to i64
    frag.yield %y : i64
  }
  %live = frag.map () at (%row) -> !live {
    %y = arith.cmpi slt, %row, %rows : i32
    frag.yield %y : i1
  }
  frag.store_vec %live, %bytes, %offsets, %live : !live, !frag.ptr<i1>, !offsets, !live
  frag.store_vec %offsets, %longs, %offsets, %live : !offsets, !frag.ptr<i64>, !offsets, !live
  frag.return
}

// Memory has 8 of 16 columns of mma_c, where a lane's pairs are in every atom: the first
// atom is stored, the second is not.  It has 40 of 64 columns of row_c: of the second run
// the lanes of columns 0 to 7 load and store.
// CHECK-LABEL: .entry fewer_columns(
// CHECK: @%p{{[0-9]+}} st.global.b32 [{{%rd[0-9]+}}+0], %r
// CHECK: @%p{{[0-9]+}} st.global.b32 [{{%rd[0-9]+}}+0], %r
// CHECK-NOT: st.global
// CHECK: ret;
frag.kernel @fewer_columns threads 32 smem 0 params 200 {
  %x = frag.param "scale" at 192 : f32
  %out = frag.param "o" at 24 : !frag.ptr<bf16>
  %l0 = arith.constant 0 : i64
  %true = arith.constant true
  %offsets = frag.splat %l0 : i64 -> !offsets
  %live = frag.splat %true : i1 -> !live
  %t = frag.splat %x : f32 -> !t
  %h = frag.pack %t : !t -> !h
  frag.store %h, %out, %offsets, %live cols 8 : !h, !frag.ptr<bf16>, !offsets, !live
  frag.return
}

// CHECK-LABEL: .entry fewer_in_rows(
// CHECK: setp.gt.u32 [[OUTSIDE:%p[0-9]+]], %r{{[0-9]+}}, 7;
// CHECK: or.pred [[SKIP:%p[0-9]+]], {{.*}}[[OUTSIDE]]
// CHECK: @[[SKIP]] bra
// CHECK: ld.global.v4.b32 {{.*}}, [%rd{{[0-9]+}}+128];
// CHECK: ld.global.v4.b32 {{.*}}, [%rd{{[0-9]+}}];
// CHECK-NOT: ld.global.v4
// CHECK: @[[ALL:%p[0-9]+]] st.global.v2.b32 [[[C:%rd[0-9]+]]+0], {
// CHECK: setp.lt.s32 [[INSIDE:%p[0-9]+]], %r{{[0-9]+}}, 8;
// CHECK: and.pred [[STORED:%p[0-9]+]], [[ALL]], [[INSIDE]];
// CHECK: @[[STORED]] st.global.v2.b32 [[[C]]+64], {
// CHECK-NOT: st.global
// CHECK: ret;
frag.kernel @fewer_in_rows threads 64 smem 0 params 200 {
  %rows = frag.param "heads" at 184 : i32
  %in = frag.param "partial_o" at 48 : !frag.ptr<f32>
  %out = frag.param "o" at 24 : !frag.ptr<bf16>
  %stride = frag.param "o_strides.token" at 144 : i64
  %offsets = frag.map () at (%row) -> !rowOffsets {
    %wide = arith.extsi %row : i32 to i64
    %y = arith.muli %wide, %stride : i64
    frag.yield %y : i64
  }
  %live = frag.map () at (%row) -> !rowLive {
    %y = arith.cmpi slt, %row, %rows : i32
    frag.yield %y : i1
  }
  %t = frag.load %in, %offsets, %live cols 40 : !frag.ptr<f32>, !rowOffsets, !rowLive -> !rowT
  %h = frag.pack %t : !rowT -> !rowH
  frag.store %h, %out, %offsets, %live cols 40 : !rowH, !frag.ptr<bf16>, !rowOffsets, !rowLive
  frag.return
}
