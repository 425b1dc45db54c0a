// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-resolve-variant,attn.kernel(attn-verify-problem,attn-derive-block-map,attn-select-schedule,attn-check-resources),attn-tile,attn.kernel(attn-peel-classes,attn-split-kv,attn-expand-softmax,attn-expand-segments,attn-verify-tiles))' | FileCheck %s
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-resolve-variant,attn.kernel(attn-verify-problem,attn-derive-block-map,attn-select-schedule,attn-check-resources),attn-tile,attn.kernel(attn-peel-classes,attn-split-kv,attn-expand-softmax,attn-expand-segments,attn-verify-tiles))' | attn-opt | FileCheck %s
//
// The whole road from L0 to L1; every result is read back.

!Q = !attn.tensor<query, bf16, heads = 8, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 8, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 8, dim = 1, ragged>

attn.variant @causal {
  attn.hook mask(%b, %h, %q, %k) {
    %r = arith.cmpi sge, %q, %k : i32
    attn.yield %r : i1
  }
}
attn.variant @capped {
  %cap = attn.param "cap" : f32
  %w = attn.param "window" : i32
  %sink = attn.table "sink" : !attn.table<f32, [head]>
  attn.hook score(%s, %b, %h, %q, %k) {
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %r = arith.mulf %cap, %t : f32
    attn.yield %r : f32
  }
  attn.hook mask(%b, %h, %q, %k) {
    %zero = arith.constant 0 : i32
    %d = arith.subi %q, %k : i32
    %lo = arith.cmpi sge, %d, %zero : i32
    %hi = arith.cmpi slt, %d, %w : i32
    %r = arith.andi %lo, %hi : i1
    attn.yield %r : i1
  }
  attn.hook sink(%b, %h) {
    %x = attn.read %sink[%h] : !attn.table<f32, [head]>
    attn.yield %x : f32
  }
}
attn.variant @sigmoid normaliser(none) {
  attn.hook score(%s, %b, %h, %q, %k) {
    %one = arith.constant 1.0 : f32
    %n = arith.negf %s : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %r = arith.divf %one, %d : f32
    attn.yield %r : f32
  }
}

// CHECK-LABEL: attn.kernel @causal_gpu(
// CHECK:         attn.for_kv partial descending tile_k 48
// CHECK:         attn.for_kv full descending tile_k 48
// A partial is what the loops leave.
// CHECK:         attn.store_partial %[[ST:.*]]#0, %[[ST]]#1, %[[ST]]#2 by %
// CHECK:         attn.finish %[[ST]]#0, %[[ST]]#1, %[[ST]]#2,
// CHECK-LABEL: attn.kernel @causal_gpu_merge(
attn.kernel @causal_gpu(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// CHECK-LABEL: attn.kernel @capped_gpu(
// CHECK:         attn.param "window" : i32
// CHECK-COUNT-3: attn.for_kv
// CHECK-LABEL: attn.kernel @capped_gpu_merge(
// CHECK:         attn.finish {{.*}} sink
attn.kernel @capped_gpu(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@capped) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// CHECK-LABEL: attn.kernel @capped_cpu(
// CHECK:         attn.load_kv {{.*}} -> !attn.tile<64x64xbf16>
// CHECK:         attn.load_kv {{.*}} -> !attn.tile<64x64xf32>
// CHECK-NOT:     attn.pack
// CHECK-LABEL: attn.kernel @capped_cpu_merge(
attn.kernel @capped_cpu(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu"} {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@capped) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// CHECK-LABEL: attn.kernel @sigmoid_gpu(
// CHECK:         attn.apply_mask zero
// CHECK:         attn.pack
// CHECK-LABEL: attn.kernel @sigmoid_gpu_merge(
// CHECK:         attn.add_tile
attn.kernel @sigmoid_gpu(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "sm_80"} {
  %o = attn.attention %q, %k, %v, %scale variant(@sigmoid) : (!Q, !K, !V) -> (!O)
  attn.return %o : !O
}
