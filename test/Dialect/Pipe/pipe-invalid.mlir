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
// expected-error @+1 {{persist must be "static" or "dynamic" but is "never"}}
func.func private @f() attributes {s = #pipe.schedule<roles = [#a], place = {},
  agents = {}, atoms = {}, channels = {}, skew = {}, handover = "none", persist = "never", unroll = 1>}

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
