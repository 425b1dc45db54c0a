// RUN: attn-opt %s --pass-pipeline='builtin.module(frag.kernel(frag-allocate-smem))' --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: frag.kernel @rings threads 256 smem 50176
frag.kernel @rings threads 256 smem 0 params 200 {
  // CHECK: frag.smem "q" at 0
  %q = frag.smem "q" at -1 : !frag.ring<128x128xbf16, swizzle = 128, slots = 1>
  // 512 bytes: the next one begins at the next period.
  // CHECK: frag.smem "w" at 32768
  %w = frag.smem "w" at -1 : !frag.ring<16x16xbf16, swizzle = 0, slots = 1>
  // CHECK: frag.smem "k" at 33792
  %k = frag.smem "k" at -1 : !frag.ring<64x64xf16, swizzle = 128, slots = 2>
  frag.return
}

// -----

// Overlays follow each other from byte 0 on, whatever the others need.
// CHECK-LABEL: frag.kernel @overlay threads 32 smem 33792
frag.kernel @overlay threads 32 smem 0 params 200 {
  // CHECK: frag.smem "o" at 0 overlay
  %o = frag.smem "o" at -1 overlay : !frag.ring<64x128xf32, swizzle = 128, slots = 1>
  // CHECK: frag.smem "k" at 0 :
  %k = frag.smem "k" at -1 : !frag.ring<64x64xf16, swizzle = 128, slots = 2>
  // CHECK: frag.smem "m" at 32768 overlay
  %m = frag.smem "m" at -1 overlay : !frag.ring<64x4xf32, swizzle = 0, slots = 1>
  frag.return
}

// -----

frag.kernel @twice threads 32 smem 0 params 200 {
  // expected-error @+1 {{ring 'q' already has offset 1024}}
  %q = frag.smem "q" at 1024 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  frag.return
}

// -----

frag.kernel @large threads 32 smem 0 params 200 {
  // expected-error @+1 {{ring 'q' ends at byte 68719476736 but offsets end at 2147483647}}
  %q = frag.smem "q" at -1 : !frag.ring<16384x32768xbf16, swizzle = 128, slots = 64>
  frag.return
}

// -----

// Rings, then words, then barriers.
// CHECK-LABEL: frag.kernel @roles threads 128 smem 2200
frag.kernel @roles threads 128 smem 0 params 200 {
  // CHECK: frag.bars "full" at 2128
  %f = frag.bars "full" at -1 count 1 : !frag.bars<slots = 2>
  // CHECK: frag.words "work" at 2048
  %w = frag.words "work" at -1 : !frag.words<10, slots = 2>
  // CHECK: frag.smem "q" at 0
  %q = frag.smem "q" at -1 : !frag.ring<16x64xbf16, swizzle = 128, slots = 1>
  // CHECK: frag.bars "verdict" at 2144
  %x = frag.bars "verdict" at -1 count 4 : !frag.bars<slots = 3, lanes = 2>
  // CHECK: frag.bars "tail" at 2192
  %t = frag.bars "tail" at -1 count 1 : !frag.bars<slots = 1>
  frag.return
}

// -----

frag.kernel @words_twice threads 32 smem 0 params 200 {
  // expected-error @+1 {{words 'w' already has offset 16}}
  %w = frag.words "w" at 16 : !frag.words<1, slots = 1>
  frag.return
}
