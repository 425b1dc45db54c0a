// RUN: attn-translate --attn-to-ptx %s | FileCheck %s

!wide = !frag.ring<64x128xbf16, swizzle = 128, slots = 2>
!narrow = !frag.ring<12x64xf16, swizzle = 128, slots = 1>
!twelve = !frag.ring<32x96xbf16, swizzle = 64, slots = 1>

// 64 rows of 16 chunks, 256 threads: 4 copies, 16 rows of 128 bytes apart; a
// row that is not valid copies 0 bytes.
// CHECK-LABEL: .entry copy(
// CHECK: selp.b32 [[S0:%r[0-9]+]], 16, 0, %p
// CHECK: cp.async.cg.shared.global [[[D:%r[0-9]+]]+16384], [{{%rd[0-9]+}}], 16, [[S0]];
// CHECK: cp.async.cg.shared.global [[[D]]+18432], [{{%rd[0-9]+}}], 16, %r
// CHECK: cp.async.cg.shared.global [[[D]]+20480], [{{%rd[0-9]+}}], 16, %r
// CHECK: cp.async.cg.shared.global [[[D]]+22528], [{{%rd[0-9]+}}], 16, %r
// CHECK-NOT: cp.async.cg
// CHECK: cp.async.commit_group;
// CHECK: cp.async.wait_group 	1;
// CHECK: bar.sync 	0;
// CHECK: ret;
frag.kernel @copy threads 256 smem 49152 params 200 {
  %k = frag.param "k" at 8 : !frag.ptr<bf16>
  %stride = frag.param "k_strides.token" at 96 : i64
  %n = frag.param "heads" at 184 : i32
  %ring = frag.smem "k" at 16384 : !wide
  %pos = frag.pos phase 0 : !frag.pos<slots = 2>
  frag.cp_async %k into %ring[%pos] row (%r) : !frag.ptr<bf16>, !wide {
    %row = arith.extsi %r : i32 to i64
    %off = arith.muli %row, %stride : i64
    %valid = arith.cmpi slt, %r, %n : i32
    frag.yield %off, %valid : i64, i1
  }
  frag.cp_async_commit
  frag.cp_async_wait pending 1
  frag.cta_sync
  frag.return
}

// 12 rows of 8 chunks, 32 threads: 4 rows at a time, so the chunk's place in the
// swizzle differs from copy to copy; nothing is left over.
// CHECK-LABEL: .entry few_rows(
// CHECK-COUNT-3: cp.async.cg.shared.global
// CHECK-NOT: cp.async.cg
// CHECK: ret;
frag.kernel @few_rows threads 32 smem 1536 params 200 {
  %k = frag.param "k" at 8 : !frag.ptr<f16>
  %ring = frag.smem "k" at 0 : !narrow
  %pos = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.cp_async %k into %ring[%pos] row (%r) : !frag.ptr<f16>, !narrow {
    %c64 = arith.constant 64 : i64
    %row = arith.extsi %r : i32 to i64
    %off = arith.muli %row, %c64 : i64
    %valid = arith.constant true
    frag.yield %off, %valid : i64, i1
  }
  frag.return
}

// 16 rows a step of which 12 exist: threads past the slot do not copy.
// CHECK-LABEL: .entry guarded(
// CHECK: setp.{{gt|lt}}.u32 [[P:%p[0-9]+]], %r{{[0-9]+}}, {{95|96}};
// CHECK: @[[P]] bra
// CHECK: cp.async.cg.shared.global
// CHECK: ret;
frag.kernel @guarded threads 128 smem 1536 params 200 {
  %k = frag.param "k" at 8 : !frag.ptr<f16>
  %ring = frag.smem "k" at 0 : !narrow
  %pos = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.cp_async %k into %ring[%pos] row (%r) : !frag.ptr<f16>, !narrow {
    %c64 = arith.constant 64 : i64
    %row = arith.extsi %r : i32 to i64
    %off = arith.muli %row, %c64 : i64
    %valid = arith.constant true
    frag.yield %off, %valid : i64, i1
  }
  frag.return
}

// The source of a row is that of the row before and the same distance: one product
// of the row's number with the stride, whatever the number of copies.
// CHECK-LABEL: .entry affine(
// CHECK: cp.async.cg.shared.global [{{.*}}], [[[A0:%rd[0-9]+]]], 16
// CHECK: add.s64 [[A1:%rd[0-9]+]], [[A0]], [[STEP:%rd[0-9]+]];
// CHECK: cp.async.cg.shared.global [{{.*}}], [[[A1]]], 16
// CHECK: add.s64 [[A2:%rd[0-9]+]], [[A1]], [[STEP]];
// CHECK: cp.async.cg.shared.global [{{.*}}], [[[A2]]], 16
// CHECK: ret;
frag.kernel @affine threads 128 smem 16384 params 200 {
  %k = frag.param "k" at 8 : !frag.ptr<bf16>
  %stride = frag.param "k_strides.token" at 96 : i64
  %first = frag.param "k_strides.head" at 104 : i64
  %n = frag.param "heads" at 184 : i32
  %ring = frag.smem "k" at 0 : !wide
  %pos = frag.pos phase 0 : !frag.pos<slots = 2>
  frag.cp_async %k into %ring[%pos] row (%r) : !frag.ptr<bf16>, !wide {
    %row = arith.extui %r : i32 to i64
    %move = arith.muli %row, %stride : i64
    %off = arith.addi %first, %move : i64
    %valid = arith.cmpi slt, %r, %n : i32
    frag.yield %off, %valid : i64, i1
  }
  frag.return
}

// Rows of 12 chunks in pieces of 8 and 4: 32 rows by 32 threads are 8 and 4 copies.
// CHECK-LABEL: .entry pieces(
// CHECK-COUNT-12: cp.async.cg.shared.global
// CHECK-NOT: cp.async.cg
// CHECK: ret;
frag.kernel @pieces threads 32 smem 6144 params 200 {
  %k = frag.param "k" at 8 : !frag.ptr<bf16>
  %stride = frag.param "k_strides.token" at 96 : i64
  %ring = frag.smem "k" at 0 : !twelve
  %pos = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.cp_async %k into %ring[%pos] row (%r) : !frag.ptr<bf16>, !twelve {
    %row = arith.extui %r : i32 to i64
    %off = arith.muli %row, %stride : i64
    %valid = arith.constant true
    frag.yield %off, %valid : i64, i1
  }
  frag.return
}

// Memory has 9 chunks of a row, products read 10: of the last two one is copied and
// the other is filled with zeros.  Ten chunks lie in three panels of four.
// CHECK-LABEL: .entry padded(
// CHECK: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, 16;
// CHECK: and.b32 [[LAST:%r[0-9]+]], %r{{[0-9]+}}, 1;
// CHECK: shl.b32 [[NOT:%r[0-9]+]], [[LAST]], 4;
// CHECK: xor.b32 [[BYTES:%r[0-9]+]], [[NOT]], 16;
// CHECK: cp.async.cg.shared.global [{{.*}}+2048], [{{.*}}+128], 16, [[BYTES]];
// CHECK-NOT: cp.async.cg
// CHECK: ret;
!ten = !frag.ring<16x80xbf16, swizzle = 64, slots = 1>
frag.kernel @padded threads 128 smem 3072 params 200 {
  %k = frag.param "k" at 8 : !frag.ptr<bf16>
  %ring = frag.smem "k" at 0 : !ten
  %pos = frag.pos phase 0 : !frag.pos<slots = 1>
  frag.cp_async %k into %ring[%pos] row (%r) cols 72 : !frag.ptr<bf16>, !ten {
    %c72 = arith.constant 72 : i64
    %row = arith.extsi %r : i32 to i64
    %off = arith.muli %row, %c72 : i64
    %valid = arith.constant true
    frag.yield %off, %valid : i64, i1
  }
  frag.return
}
