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
  }, (%rank) {
    // CHECK: }, (%[[RANK:.*]]) {
    // CHECK-NEXT: arith.addi %[[RANK]], %[[RANK]] : i32
    %x = arith.addi %rank, %rank : i32
    // CHECK-NEXT: pipe.take_turn
    // CHECK-NEXT: pipe.pass_turn
    pipe.take_turn
    pipe.pass_turn
  }
  return
}

func.func private @copy(!pipe.slot<f32>)
func.func private @product(f32) -> f32

// CHECK-LABEL: func.func @hopper
func.func @hopper() {
  // CHECK: %[[K:.*]] = pipe.channel "k" from "load" to ["compute"] : <f32, depth = 2>
  %k = pipe.channel "k" from "load" to ["compute"] : !pipe.channel<f32, depth = 2>
  // CHECK: %[[W:.*]] = pipe.channel "work" from "load" to ["compute"] : <!pipe.words<2>, depth = 2>
  %w = pipe.channel "work" from "load" to ["compute"] initial 0 : !pipe.channel<!pipe.words<2>, depth = 2, lanes = 1>
  // CHECK: %[[X:.*]] = pipe.channel "verdict" from "compute" to ["load"] initial 3 : <!pipe.words<1>, depth = 3, lanes = 2>
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 3 : !pipe.channel<!pipe.words<1>, depth = 3, lanes = 2>
  // Order alone.
  // CHECK: pipe.channel "turn" {{.*}} : <none, depth = 1>
  %turn = pipe.channel "turn" from "load" to ["compute"] : !pipe.channel<none, depth = 1>
  pipe.roles [#pipe.role<"load", warps = 1, replicas = 1, regs = 40>,
              #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>] {
    // CHECK: %[[V:.*]]:2 = pipe.recv %[[X]] : <!pipe.words<1>, depth = 3, lanes = 2>
    %v:2 = pipe.recv %x : !pipe.channel<!pipe.words<1>, depth = 3, lanes = 2>
    // CHECK: pipe.send %[[W]](%[[V]]#0, %[[V]]#1) : <!pipe.words<2>, depth = 2>
    pipe.send %w(%v#0, %v#1) : !pipe.channel<!pipe.words<2>, depth = 2>
    %s = pipe.acquire %k : !pipe.channel<f32, depth = 2> -> !pipe.slot<f32>
    // CHECK: %[[F:.*]] = pipe.issue tma {
    %f = pipe.issue tma {
      func.call @copy(%s) : (!pipe.slot<f32>) -> ()
    }
    // CHECK: %[[D:.*]] = pipe.join %[[F]] : !pipe.future
    %d = pipe.join %f : !pipe.future
    // CHECK: pipe.commit %{{.*}} done %[[D]] : <f32>
    pipe.commit %s done %d : !pipe.slot<f32>
    %t = pipe.acquire %turn : !pipe.channel<none, depth = 1> -> !pipe.slot<none>
    %g = pipe.issue tma {
    }
    // CHECK: pipe.commit %{{.*}} after %{{.*}} done %[[D]] : <none>
    pipe.commit %t after %g done %d : !pipe.slot<none>
  }, (%rank) {
    // CHECK: }, (%[[RANK:.*]]) {
    // CHECK: %{{.*}}:2 = pipe.recv %[[W]]
    %i:2 = pipe.recv %w : !pipe.channel<!pipe.words<2>, depth = 2>
    %a, %s = pipe.wait %k : !pipe.channel<f32, depth = 2> -> f32, !pipe.slot<f32>
    // CHECK: %[[G:.*]] = pipe.issue mma {
    // CHECK: pipe.yield %{{.*}} : f32
    %f = pipe.issue mma {
      %y = func.call @product(%a) : (f32) -> f32
      pipe.yield %y : f32
    }
    // CHECK: %{{.*}}, %[[E:.*]] = pipe.join %[[G]] : <f32>
    %y, %d = pipe.join %f : !pipe.future<f32>
    // CHECK: pipe.release %{{.*}} done %[[E]] : <f32>
    pipe.release %s done %d : !pipe.slot<f32>
    // CHECK: %{{.*}}:4 = pipe.gather 2 of %{{.*}}, %[[RANK]] : f32, i32
    %all:4 = pipe.gather 2 of %y, %rank : f32, i32
    pipe.send %x(%all#2) : !pipe.channel<!pipe.words<1>, depth = 3, lanes = 2>
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
