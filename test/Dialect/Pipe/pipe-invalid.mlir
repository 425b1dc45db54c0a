// RUN: attn-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{role needs a name}}
func.func private @f() attributes {r = #pipe.role<"", warps = 1, replicas = 1, regs = 0>}

// -----

// expected-error @+1 {{role "a" has 33 warps but needs 1 to 32}}
func.func private @f() attributes {r = #pipe.role<"a", warps = 33, replicas = 1, regs = 0>}

// -----

// expected-error @+1 {{role "a" has 5 replicas of 8 warps but a block holds 1 to 32 warps}}
func.func private @f() attributes {r = #pipe.role<"a", warps = 8, replicas = 5, regs = 0>}

// -----

// expected-error @+1 {{role "a" has 256 registers a thread but the limit is 255}}
func.func private @f() attributes {r = #pipe.role<"a", warps = 8, replicas = 1, regs = 256>}

// -----

// expected-error @+1 {{schedule needs a role}}
func.func private @f() attributes {s = #pipe.schedule<roles = [], place = {},
  agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>}

// -----

// expected-error @+1 {{roles must be #pipe.role but one is "all"}}
func.func private @f() attributes {s = #pipe.schedule<roles = ["all"], place = {},
  agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
// expected-error @+1 {{role "a" is named twice}}
func.func private @f() attributes {s = #pipe.schedule<roles = [#a, #a], place = {},
  agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
// expected-error @+1 {{place of 'qk' must be the name of a role but is "b"}}
func.func private @f() attributes {s = #pipe.schedule<roles = [#a], place = {qk = "b"},
  agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
// expected-error @+1 {{agent of 'qk' must be one of "threads", "cp_async", "tma", "mma" but is "dma"}}
func.func private @f() attributes {s = #pipe.schedule<roles = [#a], place = {},
  agents = {qk = "dma"}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
// expected-error @+1 {{atom of 'qk' must be a name but is 3 : i32}}
func.func private @f() attributes {s = #pipe.schedule<roles = [#a], place = {},
  agents = {}, atoms = {qk = 3 : i32}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 1>}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
// expected-error @+1 {{depth of 'k' must be an i32 of at least 1 but is 0 : i32}}
func.func private @f() attributes {s = #pipe.schedule<roles = [#a], place = {},
  agents = {}, atoms = {}, channels = {k = 0 : i32}, skew = {}, handover = "none", persist = "static", unroll = 1>}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
// expected-error @+1 {{skew of 'k' must be an i32 but is 1 : i64}}
func.func private @f() attributes {s = #pipe.schedule<roles = [#a], place = {},
  agents = {}, atoms = {}, channels = {}, skew = {k = 1}, handover = "none", persist = "static", unroll = 1>}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
// expected-error @+1 {{persist must be "static", "dynamic" or "none" but is "never"}}
func.func private @f() attributes {s = #pipe.schedule<roles = [#a], place = {},
  agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "never", unroll = 1>}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
// expected-error @+1 {{handover must be "none" or "ring" but is "toss"}}
func.func private @f() attributes {s = #pipe.schedule<roles = [#a], place = {},
  agents = {}, atoms = {}, channels = {}, skew = {}, handover = "toss", persist = "static", unroll = 1>}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
// expected-error @+1 {{unroll must be at least 1 but is 0}}
func.func private @f() attributes {s = #pipe.schedule<roles = [#a], place = {},
  agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "static", unroll = 0>}

// -----

// expected-error @+1 {{channel has depth 0 but needs at least 1}}
func.func private @f() -> !pipe.channel<f32, depth = 0>

// -----

func.func @f() {
  // expected-error @+1 {{needs a name}}
  %k = pipe.channel "" from "all" to ["all"] : !pipe.channel<f32, depth = 1>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{needs a producer role}}
  %k = pipe.channel "k" from "" to ["all"] : !pipe.channel<f32, depth = 1>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{needs a consumer role}}
  %k = pipe.channel "k" from "all" to [] : !pipe.channel<f32, depth = 1>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{names consumer 'a' twice}}
  %k = pipe.channel "k" from "all" to ["a", "a"] : !pipe.channel<f32, depth = 1>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'pipe.roles' op needs a role}}
  pipe.roles [] {
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{roles must be #pipe.role but one is "a"}}
  pipe.roles ["a"] {
  }
  return
}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
func.func @f() {
  // expected-error @+1 {{names role 'a' twice}}
  pipe.roles [#a, #a] {
  }, {
  }
  return
}

// -----

#a = #pipe.role<"a", warps = 1, replicas = 1, regs = 0>
func.func @f() {
  // expected-error @+1 {{has 2 regions but 1 roles}}
  pipe.roles [#a] {
  }, {
  }
  return
}

// -----

func.func @f(%k: !pipe.channel<f32, depth = 1>) {
  // expected-error @+1 {{slot holds 'i32' but the channel holds 'f32'}}
  %a = pipe.acquire %k : !pipe.channel<f32, depth = 1> -> !pipe.slot<i32>
  return
}

// -----

func.func @f(%s: !pipe.slot<f32>, %f: !pipe.future) {
  // expected-error @+1 {{waits for a future that is not an issue's}}
  pipe.commit %s after %f : !pipe.slot<f32>
  return
}

// -----

func.func @f(%k: !pipe.channel<f32, depth = 1>) {
  // expected-error @+1 {{payload is 'i32' but the channel holds 'f32'}}
  %x, %s = pipe.wait %k : !pipe.channel<f32, depth = 1> -> i32, !pipe.slot<f32>
  return
}

// -----

func.func @f(%k: !pipe.channel<f32, depth = 1>) {
  // expected-error @+1 {{slot holds 'i32' but the channel holds 'f32'}}
  %x, %s = pipe.wait %k : !pipe.channel<f32, depth = 1> -> f32, !pipe.slot<i32>
  return
}

// -----

// expected-error @+1 {{channel has 33 lanes but needs 1 to 32}}
func.func private @f(!pipe.channel<f32, depth = 1, lanes = 33>)

// -----

// expected-error @+1 {{message of 65 words but 1 to 64 are possible}}
func.func private @f(!pipe.words<65>)

// -----

func.func @f() {
  // expected-error @+1 {{has 1 initial tokens but its depth is 2}}
  %x = pipe.channel "x" from "a" to ["b"] initial 1 : !pipe.channel<!pipe.words<1>, depth = 2>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{has initial tokens but holds 'f32', not words}}
  %x = pipe.channel "x" from "a" to ["b"] initial 2 : !pipe.channel<f32, depth = 2>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{region of role "a" has 0 arguments but a role of 2 replicas has 1}}
  pipe.roles [#pipe.role<"a", warps = 1, replicas = 2, regs = 0>] {
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{region of role "a" has 1 arguments but a role of 1 replicas has 0}}
  pipe.roles [#pipe.role<"a", warps = 1, replicas = 1, regs = 0>] (%rank) {
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{rank of role "a" is 'i64' but must be i32}}
  "pipe.roles"() <{roles = [#pipe.role<"a", warps = 1, replicas = 2, regs = 0>]}> ({
  ^bb0(%rank: i64):
    "pipe.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{role "a" yields a value}}
  pipe.roles [#pipe.role<"a", warps = 1, replicas = 1, regs = 0>] {
    pipe.yield %x : f32
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{agent 'dma' is not known (known: threads, cp_async, tma, mma)}}
  %f = pipe.issue dma {
  }
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{region yields 2 values but 1 is possible}}
  %f = pipe.issue mma {
    pipe.yield %x, %x : f32, f32
  }
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{future is '!pipe.future<i32>' but the region's is '!pipe.future<f32>'}}
  %f = "pipe.issue"() <{agent = #pipe<agent mma>}> ({
    "pipe.yield"(%x) : (f32) -> ()
  }) : () -> !pipe.future<i32>
  return
}

// -----

// A commit waits for copies; the value of a product is had by joining it.
func.func @f(%s: !pipe.slot<f32>, %x: f32) {
  // expected-note @+1 {{prior use here}}
  %f = pipe.issue mma {
    pipe.yield %x : f32
  }
  // expected-error @+1 {{expects different type than prior uses}}
  pipe.commit %s after %f : !pipe.slot<f32>
  return
}

// -----

func.func @f() {
  %x = pipe.channel "x" from "a" to ["b"] : !pipe.channel<!pipe.words<1>, depth = 1>
  // expected-error @+1 {{takes a slot of '!pipe.words<1>' but words go through pipe.send and pipe.recv}}
  %s = pipe.acquire %x : !pipe.channel<!pipe.words<1>, depth = 1> -> !pipe.slot<!pipe.words<1>>
  return
}

// -----

func.func @f() {
  %x = pipe.channel "x" from "a" to ["b"] : !pipe.channel<!pipe.words<1>, depth = 1>
  // expected-error @+1 {{takes a slot of '!pipe.words<1>' but words go through pipe.send and pipe.recv}}
  %p, %s = pipe.wait %x : !pipe.channel<!pipe.words<1>, depth = 1> -> !pipe.words<1>, !pipe.slot<!pipe.words<1>>
  return
}

// -----

func.func @f(%w: i32) {
  %x = pipe.channel "x" from "a" to ["b"] : !pipe.channel<f32, depth = 1>
  // expected-error @+1 {{needs a channel of words but it holds 'f32'}}
  pipe.send %x(%w) : !pipe.channel<f32, depth = 1>
  return
}

// -----

func.func @f(%w: i32) {
  %x = pipe.channel "x" from "a" to ["b"] : !pipe.channel<f32, depth = 1>
  // expected-error @+1 {{needs a channel of words but it holds 'f32'}}
  pipe.recv %x : !pipe.channel<f32, depth = 1>
  return
}

// -----

func.func @f(%w: i32) {
  %x = pipe.channel "x" from "a" to ["b"] : !pipe.channel<!pipe.words<2>, depth = 1>
  // expected-error @+1 {{sends 1 words but the channel holds 2}}
  pipe.send %x(%w) : !pipe.channel<!pipe.words<2>, depth = 1>
  return
}

// -----

func.func @f(%w: i32) {
  %x = pipe.channel "x" from "a" to ["a"] : !pipe.channel<!pipe.words<1>, depth = 1>
  pipe.roles [#pipe.role<"a", warps = 1, replicas = 2, regs = 0>] (%rank) {
    // expected-error @+1 {{channel has 1 lanes but its producer has 2 replicas}}
    pipe.send %x(%rank) : !pipe.channel<!pipe.words<1>, depth = 1>
  }
  return
}

// -----

func.func @f() {
  pipe.roles [#pipe.role<"a", warps = 1, replicas = 2, regs = 0>] (%rank) {
    // expected-error @+1 {{gathers from 3 replicas but the role has 2}}
    %x:3 = pipe.gather 3 of %rank : i32
  }
  return
}

// -----

func.func @f(%w: i32) {
  // expected-error @+1 {{gathers from 0 replicas but 1 to 32 are possible}}
  pipe.gather 0 of %w : i32
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{needs at least 1 value}}
  "pipe.gather"() <{replicas = 2 : i32}> : () -> ()
  return
}

// -----

func.func @f() {
  pipe.roles [#pipe.role<"a", warps = 1, replicas = 1, regs = 0>] {
    // expected-error @+1 {{needs 2 replicas to take turns but role "a" has 1}}
    pipe.take_turn
  }
  return
}

// -----

func.func @f() {
  pipe.roles [#pipe.role<"a", warps = 1, replicas = 1, regs = 0>] {
    // expected-error @+1 {{needs 2 replicas to take turns but role "a" has 1}}
    pipe.pass_turn
  }
  return
}
