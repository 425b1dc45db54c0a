// RUN: attn-opt %s --pipe-verify-schedule -split-input-file -verify-diagnostics
// The verifier of L2 alone: what is right stays silent, what is wrong is named.

!ch1 = !pipe.channel<f32, depth = 1>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>

// One visit ahead with two slots.
func.func @skewed(%plan: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %none = arith.constant -1 : i32
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    %end = scf.while (%p = %none) : (i32) -> i32 {
      %w = pipe.next_work static_order %plan after %p merges = false : i64
      %go = arith.cmpi sge, %w, %c0 : i32
      scf.condition(%go) %w : i32
    } do {
    ^bb0(%w: i32):
      %n = func.call @visits(%w) : (i32) -> i32
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        %a = pipe.acquire %k : !ch -> !slot
        pipe.commit %a : !slot
        scf.for %i = %c0 to %n step %c1 : i32 {
          %x, %s = pipe.wait %k : !ch -> f32, !slot
          %next = arith.addi %i, %c1 : i32
          %more = arith.cmpi slt, %next, %n : i32
          scf.if %more {
            %b = pipe.acquire %k : !ch -> !slot
            pipe.commit %b : !slot
          }
          pipe.release %s : !slot
        }
      }
      scf.yield %w : i32
    }
  }
  return
}
func.func private @visits(i32) -> i32

// -----

!ch = !pipe.channel<f32, depth = 1>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @ahead_with_one_slot() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    %n = func.call @visits() : () -> i32
    %a = pipe.acquire %k : !ch -> !slot
    pipe.commit %a : !slot
    scf.for %i = %c0 to %n step %c1 : i32 {
      %x, %s = pipe.wait %k : !ch -> f32, !slot
      // expected-error @+1 {{slot 0 of channel 'k' is held by a consumer but must be free (loops of}}
      %b = pipe.acquire %k : !ch -> !slot
      pipe.commit %b : !slot
      pipe.release %s : !slot
    }
    %y, %t = pipe.wait %k : !ch -> f32, !slot
    pipe.release %t : !slot
  }
  return
}
func.func private @visits() -> i32

// -----

!ch = !pipe.channel<f32, depth = 8>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
// Loops of different lengths: right only if both numbers happen to agree.
func.func @unbalanced() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    %n = func.call @visits() : () -> i32
    %half = arith.shrsi %n, %c1 : i32
    scf.for %i = %c0 to %half step %c1 : i32 {
      %a = pipe.acquire %k : !ch -> !slot
      pipe.commit %a : !slot
      %x, %s = pipe.wait %k : !ch -> f32, !slot
      pipe.release %s : !slot
    }
    %odd = arith.andi %n, %c1 : i32
    %one = arith.cmpi eq, %odd, %c1 : i32
    scf.if %one {
      // expected-error @+1 {{is free but must be full (loops of}}
      %x, %s = pipe.wait %k : !ch -> f32, !slot
      pipe.release %s : !slot
    }
  }
  return
}
func.func private @visits() -> i32

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @left_full() {
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  // expected-error @+1 {{ends with slot 0 of channel 'k' full}}
  pipe.roles [#all] {
    %a = pipe.acquire %k : !ch -> !slot
    pipe.commit %a : !slot
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @never_released() {
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    // expected-error @+1 {{slot is never released}}
    %x, %s = pipe.wait %k : !ch -> f32, !slot
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @never_committed() {
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    // expected-error @+1 {{slot is never committed}}
    %a = pipe.acquire %k : !ch -> !slot
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @twice() {
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    %a = pipe.acquire %k : !ch -> !slot
    // expected-error @+1 {{slot is committed twice}}
    pipe.commit %a : !slot
    pipe.commit %a : !slot
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @wrong_side() {
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    %a = pipe.acquire %k : !ch -> !slot
    // expected-error @+1 {{releases a slot that was acquired}}
    pipe.release %a : !slot
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @wrong_side() {
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    %x, %s = pipe.wait %k : !ch -> f32, !slot
    // expected-error @+1 {{commits a slot that was waited for}}
    pipe.commit %s : !slot
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @other_block(%c: i1) {
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    %x, %s = pipe.wait %k : !ch -> f32, !slot
    scf.if %c {
      // expected-error @+1 {{slot is not released in the block of its 'pipe.wait'}}
      pipe.release %s : !slot
    }
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @late_use() {
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    %x, %s = pipe.wait %k : !ch -> f32, !slot
    pipe.release %s : !slot
    // expected-error @+1 {{slot is used after it was released}}
    %y = arith.negf %x : f32
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @other_producer() {
  %k = pipe.channel "k" from "load" to ["all"] : !ch
  pipe.roles [#all] {
    // expected-error @+1 {{role 'all' acquires from channel 'k' but its producer is 'load'}}
    %a = pipe.acquire %k : !ch -> !slot
    pipe.commit %a : !slot
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @other_consumer() {
  %k = pipe.channel "k" from "all" to ["compute"] : !ch
  pipe.roles [#all] {
    // expected-error @+1 {{role 'all' waits for channel 'k' but is not a consumer}}
    %x, %s = pipe.wait %k : !ch -> f32, !slot
    pipe.release %s : !slot
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @undeclared(%k: !ch) {
  pipe.roles [#all] {
    // expected-error @+1 {{channel is not a declared one}}
    %a = pipe.acquire %k : !ch -> !slot
    pipe.commit %a : !slot
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @undeclared(%s: !slot) {
  pipe.roles [#all] {
    // expected-error @+1 {{slot comes from neither an acquire nor a wait}}
    pipe.release %s : !slot
  }
  return
}

// -----

!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
#all = #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
func.func @future_leaves(%c: i1) {
  %k = pipe.channel "k" from "all" to ["all"] : !ch
  pipe.roles [#all] {
    %f = pipe.issue cp_async {
    }
    scf.if %c {
      %a = pipe.acquire %k : !ch -> !slot
      // expected-error @+1 {{future leaves the block of its 'pipe.issue'}}
      pipe.commit %a after %f : !slot
    }
  }
  return
}
