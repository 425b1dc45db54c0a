// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-resolve-variant,attn.kernel(attn-verify-problem,attn-derive-block-map,attn-select-schedule{override=softmax=frozen,kv_order=ascending},attn-check-resources),attn-tile,attn.kernel(attn-peel-classes,attn-split-kv,attn-expand-softmax,attn-expand-segments,attn-verify-tiles))' | FileCheck %s

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

// CHECK-LABEL: attn.kernel @causal_cpu(
// CHECK:         attn.speculate
// CHECK:         attn.exact_prefix
// CHECK:         attn.for_kv full frozen ascending
attn.kernel @causal_cpu(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu"} {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// CHECK-LABEL: attn.kernel @capped_cpu(
// CHECK:         attn.speculate
attn.kernel @capped_cpu(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu"} {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@capped) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
