// Two CTAs of a cluster read the same keys.  Each copies one half of the rows of
// every tile and the half lands in both; each reader gives the slot back to both
// loaders.
//
//   cta 0: rows 0 to 7  of tile i -> slot i % 2 of cta 0 and of cta 1
//   cta 1: rows 8 to 15 of tile i -> the same
//
// out[cta][r][key] = sum over c of q(cta, r, c) * k[key][c], q = 32 cta + r + c

#A = #frag.layout<"mma_a", warps = 1>
#C = #frag.layout<"mma_c", warps = 1>
!ring = !frag.ring<16x64xbf16, swizzle = 128, slots = 2>
!half = !frag.tmap<64x8x1x1xbf16, swizzle = 128>
!bars = !frag.bars<slots = 2>
!pos = !frag.pos<slots = 2>
!Q = !frag.reg<16x64xbf16, #A>
!S = !frag.reg<16x16xf32, #C>
!live = !frag.vec<16xi1, #C>
!offsets = !frag.vec<16xi64, #C>

frag.kernel @cluster threads 64 smem 4128 params 384 cluster = 2 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %true = arith.constant true
  %out = frag.param "o" at 24 : !frag.ptr<f32>
  %tiles = frag.param "tiles" at 200 : i32
  %tk = frag.tmap "k" at 256 dims ["dim", "token", "head", "batch"] pack 1 promotion 128 : !half
  %k = frag.smem "k" at 0 : !ring
  %full = frag.bars "full" at 4096 count 1 : !bars
  %empty = frag.bars "empty" at 4112 count 2 : !bars
  frag.init %full, %empty : !bars, !bars
  frag.cluster_sync
  %rank = frag.cluster_rank
  %first = arith.muli %rank, %c8 : i32
  frag.role_dispatch [#frag.role<"load", first_warp = 0, warps = 1, active = 1, replicas = 1>,
                      #frag.role<"score", first_warp = 1, warps = 1, active = 1, replicas = 1>] {
    %p0 = frag.pos phase 1 : !pos
    %end = scf.for %i = %c0 to %tiles step %c1 iter_args(%p = %p0) -> (!pos) : i32 {
      %tile = arith.muli %i, %c16 : i32
      %row = arith.addi %tile, %first : i32
      frag.mbar_wait %empty[%p] : !bars
      frag.elect {
        frag.mbar_expect %full[%p] bytes 2048 : !bars
        frag.tma_load %tk(%row, %c0, %c0) into %k[%p] from %first on %full[%p] multicast 3 hint evict_last : !half, !ring, !bars
      }
      %next = frag.next %p : !pos
      scf.yield %next : !pos
    }
  }, {
    %p0 = frag.pos phase 0 : !pos
    %cta = frag.cta_id
    %from = arith.muli %cta, %c32 : i32
    %q = frag.map () at (%r, %c) -> !Q {
      %x = arith.addi %r, %c : i32
      %y = arith.addi %x, %from : i32
      %w = arith.sitofp %y : i32 to f32
      %z = arith.truncf %w : f32 to bf16
      frag.yield %z : bf16
    }
    %peer = arith.subi %c1, %rank : i32
    %keys = arith.muli %tiles, %c16 : i32
    %row0 = arith.muli %cta, %c16 : i32
    %live = frag.splat %true : i1 -> !live
    %end = scf.for %i = %c0 to %tiles step %c1 iter_args(%p = %p0) -> (!pos) : i32 {
      frag.mbar_wait %full[%p] : !bars
      %s = frag.mma "mma.m16n8k16" nk %q, %k[%p] : !Q, !ring -> !S
      frag.mbar_arrive %empty[%p] : !bars
      frag.mbar_arrive %empty[%p] cta %peer : !bars
      %tile = arith.muli %i, %c16 : i32
      %offsets = frag.map () at (%r) -> !offsets {
        %row = arith.addi %row0, %r : i32
        %begin = arith.muli %row, %keys : i32
        %at = arith.addi %begin, %tile : i32
        %o = arith.extsi %at : i32 to i64
        frag.yield %o : i64
      }
      frag.store %s, %out, %offsets, %live : !S, !frag.ptr<f32>, !offsets, !live
      %next = frag.next %p : !pos
      scf.yield %next : !pos
    }
    frag.cluster_sync
  }
  frag.return
}
