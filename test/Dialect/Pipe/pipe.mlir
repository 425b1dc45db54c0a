// RUN: attn-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @channels
func.func @channels(%plan: i64) {
  // CHECK: %[[K:.*]] = pipe.channel "k" from "all" to ["all"] : <f32, depth = 2>
  %k = pipe.channel "k" from "all" to ["all"] : !pipe.channel<f32, depth = 2>
  // CHECK: pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>] {
  pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>] {
    %none = arith.constant -1 : i32
    // CHECK: pipe.next_work static_order %{{.*}} after %{{.*}} merges = false : i64
    %w = pipe.next_work static_order %plan after %none merges = false : i64
    // CHECK: pipe.next_work dynamic %{{.*}} after %{{.*}} merges = true : i64
    %d = pipe.next_work dynamic %plan after %w merges = true : i64
    // CHECK: %[[A:.*]] = pipe.acquire %[[K]] : <f32, depth = 2> -> <f32>
    %a = pipe.acquire %k : !pipe.channel<f32, depth = 2> -> !pipe.slot<f32>
    // CHECK: %[[F:.*]] = pipe.issue cp_async {
    %f = pipe.issue cp_async {
    }
    // CHECK: pipe.commit %[[A]] after %[[F]] : <f32>
    pipe.commit %a after %f : !pipe.slot<f32>
    // CHECK: %{{.*}}, %[[S:.*]] = pipe.wait %[[K]] : <f32, depth = 2> -> f32, <f32>
    %x, %s = pipe.wait %k : !pipe.channel<f32, depth = 2> -> f32, !pipe.slot<f32>
    // CHECK: pipe.release %[[S]] : <f32>
    pipe.release %s : !pipe.slot<f32>
    %a1 = pipe.acquire %k : !pipe.channel<f32, depth = 2> -> !pipe.slot<f32>
    // CHECK: pipe.commit %{{.*}} : <f32>
    pipe.commit %a1 : !pipe.slot<f32>
  }
  return
}

// CHECK-LABEL: func.func @two_roles
func.func @two_roles() {
  %k = pipe.channel "k" from "load" to ["one", "two"] : !pipe.channel<i32, depth = 3>
  // CHECK: pipe.roles [#pipe.role<"load", {{.*}}>, #pipe.role<"one", {{.*}}>, #pipe.role<"two", warps = 4, replicas = 2, regs = 232>] {
  pipe.roles [#pipe.role<"load", warps = 1, replicas = 1, regs = 40>,
              #pipe.role<"one", warps = 4, replicas = 1, regs = 232>,
              #pipe.role<"two", warps = 4, replicas = 2, regs = 232>] {
  }, {
  }, {
  }
  return
}

// CHECK-LABEL: func.func private @schedule
// CHECK-SAME: agents = {load_kv = "cp_async"}
// CHECK-SAME: handover = "none", persist = "static", unroll = 1>
func.func private @schedule() attributes {pipe = #pipe.schedule<
  roles = [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>], place = {default = "all"},
  agents = {load_kv = "cp_async"}, atoms = {qk = "mma.m16n8k16"}, channels = {k = 2 : i32},
  skew = {load_kv = -1 : i32}, handover = "none", persist = "static", unroll = 1>}
