// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{has a cluster of 3 CTAs (known: 1, 2, 4, 8)}}
frag.kernel @three threads 32 smem 0 params 200 cluster = 3 {
  frag.return
}

// -----

frag.kernel @rank threads 32 smem 0 params 200 {
  // expected-error @+1 {{reaches other CTAs but the kernel has a cluster of 1}}
  %rank = frag.cluster_rank
  frag.return
}

// -----

frag.kernel @sync threads 32 smem 4112 params 384 {
  // expected-error @+1 {{reaches other CTAs but the kernel has a cluster of 1}}
  frag.cluster_sync
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!half = !frag.tmap<64x8x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>
frag.kernel @arrive threads 32 smem 4112 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !half
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %p = frag.pos phase 0 : !pos
  // expected-error @+1 {{reaches other CTAs but the kernel has a cluster of 1}}
  frag.mbar_arrive %full[%p] cta %c0 : !bars
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!half = !frag.tmap<64x8x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>
frag.kernel @arrive_one threads 32 smem 4112 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !half
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %p = frag.pos phase 0 : !pos
  frag.elect {
    // expected-error @+1 {{reaches other CTAs but the kernel has a cluster of 1}}
    frag.mbar_arrive_one %full[%p] cta %c0 : !bars
  }
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!half = !frag.tmap<64x8x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>
frag.kernel @multicast threads 32 smem 4112 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !half
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %p = frag.pos phase 0 : !pos
  frag.elect {
    // expected-error @+1 {{reaches other CTAs but the kernel has a cluster of 1}}
    frag.tma_load %t(%c0, %c0, %c0) into %k[%p] from %c0 on %full[%p] multicast 1 : !half, !ring, !bars
  }
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!half = !frag.tmap<64x8x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>
frag.kernel @mask threads 32 smem 4112 params 384 cluster = 2 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !half
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %p = frag.pos phase 0 : !pos
  frag.elect {
    // expected-error @+1 {{multicast mask is 0 but a cluster of 2 has 1 to 3}}
    frag.tma_load %t(%c0, %c0, %c0) into %k[%p] from %c0 on %full[%p] multicast 0 : !half, !ring, !bars
  }
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!half = !frag.tmap<64x8x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>
frag.kernel @mask threads 32 smem 4112 params 384 cluster = 2 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !half
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %p = frag.pos phase 0 : !pos
  frag.elect {
    // expected-error @+1 {{multicast mask is 4 but a cluster of 2 has 1 to 3}}
    frag.tma_load %t(%c0, %c0, %c0) into %k[%p] from %c0 on %full[%p] multicast 4 : !half, !ring, !bars
  }
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!half = !frag.tmap<64x8x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>
frag.kernel @mask threads 32 smem 4112 params 384 cluster = 8 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !half
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %p = frag.pos phase 0 : !pos
  frag.elect {
    // expected-error @+1 {{multicast mask is 256 but a cluster of 8 has 1 to 255}}
    frag.tma_load %t(%c0, %c0, %c0) into %k[%p] from %c0 on %full[%p] multicast 256 : !half, !ring, !bars
  }
  frag.return
}

// -----

frag.kernel @elect threads 32 smem 0 params 200 cluster = 2 {
  frag.elect {
    // expected-error @+1 {{is for whole warps and must not be in frag.elect}}
    frag.cluster_sync
  }
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!part = !frag.tmap<64x12x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>
frag.kernel @part threads 32 smem 4112 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !part
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %p = frag.pos phase 0 : !pos
  frag.elect {
    // expected-error @+1 {{box has 12 rows but a slot 16, and a part of it a multiple of 8}}
    frag.tma_load %t(%c0, %c0, %c0) into %k[%p] from %c0 on %full[%p] : !part, !ring, !bars
  }
  frag.return
}

// -----

!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!part = !frag.tmap<64x24x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>
frag.kernel @part threads 32 smem 4112 params 384 {
  %c0 = arith.constant 0 : i32
  %t = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !part
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %p = frag.pos phase 0 : !pos
  frag.elect {
    // expected-error @+1 {{box has 24 rows but a slot 16, and a part of it a multiple of 8}}
    frag.tma_load %t(%c0, %c0, %c0) into %k[%p] from %c0 on %full[%p] : !part, !ring, !bars
  }
  frag.return
}
