// Problem ops in custom syntax; hook arguments need no types.
// RUN: attn-opt --verify-roundtrip %s | FileCheck %s

// CHECK-LABEL: attn.variant @causal {
attn.variant @causal {
  // CHECK-NEXT: attn.hook mask(%[[b:.*]], %[[h:.*]], %[[q:.*]], %[[k:.*]]) {
  attn.hook mask(%b, %h, %q, %k) {
    // CHECK-NEXT: %[[r:.*]] = arith.cmpi sge, %[[q]], %[[k]] : i32
    // CHECK-NEXT: attn.yield %[[r]] : i1
    %r = arith.cmpi sge, %q, %k : i32
    attn.yield %r : i1
  }
}

// CHECK-LABEL: attn.variant @capped {
attn.variant @capped {
  // CHECK: attn.param "cap" : f32 {default = 5.000000e+01 : f32, sample = [3.000000e+01 : f32, 5.000000e+01 : f32]}
  %cap = attn.param "cap" : f32 {default = 50.0 : f32, sample = [30.0 : f32, 50.0 : f32]}
  // CHECK: %[[doc:.*]] = attn.table "doc" : !attn.table<i32, [batch, position]> {sample = [0 : i32, 7 : i32], sorted}
  %doc = attn.table "doc" : !attn.table<i32, [batch, position]> {sample = [0 : i32, 7 : i32], sorted}
  // CHECK: attn.table "sink" : !attn.table<f32, [head]>
  %sink = attn.table "sink" : !attn.table<f32, [head]>
  // CHECK: attn.hook score(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
  attn.hook score(%s, %b, %h, %q, %k) {
    %x = arith.divf %s, %cap : f32
    %y = math.tanh %x : f32
    %z = arith.mulf %cap, %y : f32
    attn.yield %z : f32
  }
  attn.hook mask(%b, %h, %q, %k) {
    // CHECK: attn.read %[[doc]][%{{.*}}, %{{.*}}] : !attn.table<i32, [batch, position]>
    %dq = attn.read %doc[%b, %q] : !attn.table<i32, [batch, position]>
    %dk = attn.read %doc[%b, %k] : !attn.table<i32, [batch, position]>
    // CHECK: attn.length q
    // CHECK: attn.length kv
    %ql = attn.length q
    %kl = attn.length kv
    %top = arith.subi %kl, %ql : i32
    %same = arith.cmpi eq, %dq, %dk : i32
    %below = arith.cmpi sge, %q, %top : i32
    %r = arith.andi %same, %below : i1
    attn.yield %r : i1
  }
  // CHECK: attn.hook sink(%{{.*}}, %[[h:.*]]) {
  attn.hook sink(%b, %h) {
    %x = attn.read %sink[%h] : !attn.table<f32, [head]>
    attn.yield %x : f32
  }
}

// CHECK-LABEL: attn.variant @rotated normaliser(none) attributes {note = "no softmax"} {
attn.variant @rotated normaliser(none) attributes {note = "no softmax"} {
  // CHECK: attn.hook query(%[[x:.*]]: vector<64xf32>, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
  attn.hook query(%x: vector<64xf32>, %b, %h, %pos, %i) {
    %c32 = arith.constant 32 : i32
    %j = arith.xori %i, %c32 : i32
    // CHECK: attn.element %[[x]][%{{.*}}] : vector<64xf32>
    %y = attn.element %x[%j] : vector<64xf32>
    attn.yield %y : f32
  }
}

// softmax is the default and is not printed.
// CHECK-LABEL: attn.variant @plain {
attn.variant @plain normaliser(softmax) {
}
