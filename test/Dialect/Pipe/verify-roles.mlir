// RUN: attn-opt %s --pipe-verify-schedule --split-input-file --verify-diagnostics -o /dev/null
// RUN: attn-opt %S/../../Sim/Inputs/prefill-sm90.pipe.mlir --pipe-verify-schedule -o /dev/null

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func private @visits(i32) -> i32

func.func @network(%plan: i64) {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %none = arith.constant -1 : i32
  pipe.roles [#load, #compute] {
    scf.while (%previous = %none) : (i32) -> i32 {
      %v:2 = pipe.recv %x : !verdict
      %word = pipe.next_work dynamic %plan after %previous merges = false : i64
      %go = arith.cmpi sge, %word, %c0 : i32
      %n0 = func.call @visits(%word) : (i32) -> i32
      %n = arith.select %go, %n0, %none : i32
      pipe.send %w(%n) : !work
      scf.condition(%go) %n : i32
    } do {
    ^bb0(%n: i32):
      scf.for %i = %c0 to %n step %c1 : i32 {
        %s = pipe.acquire %k : !ch -> !slot
        %f = pipe.issue tma {
          func.call @copy(%s) : (!slot) -> ()
        }
        %d = pipe.join %f : !pipe.future
        pipe.commit %s done %d : !slot
      }
      scf.yield %n : i32
    }
  }, (%rank) {
    scf.while : () -> i32 {
      %n = pipe.recv %w : !work
      %go = arith.cmpi sge, %n, %c0 : i32
      scf.condition(%go) %n : i32
    } do {
    ^bb0(%n: i32):
      // Data shares the visits out over two loops.
      %e0 = "func.call"(%n) <{callee = @visits}> {pipe.at_most = array<i32: 0, 0>} : (i32) -> i32
      %rest = arith.subi %n, %e0 : i32
      scf.for %i = %c0 to %e0 step %c1 : i32 {
        %p, %s = pipe.wait %k : !ch -> f32, !slot
        pipe.release %s : !slot
      }
      scf.for %i = %c0 to %rest step %c1 : i32 {
        %p, %s = pipe.wait %k : !ch -> f32, !slot
        %f = pipe.issue mma {
          %y = func.call @product(%p) : (f32) -> f32
          pipe.yield %y : f32
        }
        %y, %d = pipe.join %f : !pipe.future<f32>
        pipe.release %s done %d : !slot
      }
      %all:2 = pipe.gather 2 of %n : i32
      pipe.send %x(%all#1) : !verdict
      scf.yield
    }
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @copy_not_named() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  pipe.roles [#load, #compute] {
    %s = pipe.acquire %k : !ch -> !slot
    // expected-error @+1 {{fills a slot that is committed without its future}}
    %f = pipe.issue tma {
      func.call @copy(%s) : (!slot) -> ()
    }
    pipe.join %f : !pipe.future
    pipe.commit %s : !slot
  }, (%rank) {
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @read_not_named() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  pipe.roles [#load, #compute] {
    %s = pipe.acquire %k : !ch -> !slot
    %f = pipe.issue tma {
      func.call @copy(%s) : (!slot) -> ()
    }
    pipe.commit %s after %f : !slot
  }, (%rank) {
    %p, %s = pipe.wait %k : !ch -> f32, !slot
    // expected-error @+1 {{reads a slot that is released without its token}}
    %f = pipe.issue mma {
      %y = func.call @product(%p) : (f32) -> f32
      pipe.yield %y : f32
    }
    %y, %d = pipe.join %f : !pipe.future<f32>
    pipe.release %s : !slot
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @joined_twice() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  pipe.roles [#load, #compute] {
    %s = pipe.acquire %k : !ch -> !slot
    // expected-error @+1 {{is joined 2 times but can be once}}
    %f = pipe.issue tma {
      func.call @copy(%s) : (!slot) -> ()
    }
    %d = pipe.join %f : !pipe.future
    %e = pipe.join %f : !pipe.future
    pipe.commit %s done %d : !slot
  }, (%rank) {
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @not_waited_for() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  pipe.roles [#load, #compute] {
  }, (%rank) {
    %z = arith.constant 0.0 : f32
    // expected-error @+1 {{is never waited for}}
    %f = pipe.issue mma {
      pipe.yield %z : f32
    }
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!work2 = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @sender() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %w2 = pipe.channel "work" from "load" to ["compute"] : !work2
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  pipe.roles [#load, #compute] {
  }, (%rank) {
    // expected-error @+1 {{role 'compute' sends on channel 'work' but its producer is 'load'}}
    pipe.send %w2(%rank) : !work2
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @receiver() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  pipe.roles [#load, #compute] {
    // expected-error @+1 {{role 'load' receives from channel 'work' but is not a consumer}}
    %n = pipe.recv %w : !work
  }, (%rank) {
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @unknown_role() {
  // expected-error @+1 {{channel 'k' names role 'store' but there is none}}
  %k = pipe.channel "k" from "load" to ["compute", "store"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  pipe.roles [#load, #compute] {
  }, (%rank) {
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @lanes() {
  // expected-error @+1 {{channel 'k' has 1 lanes but its producer has 2 replicas}}
  %k = pipe.channel "k" from "compute" to ["load"] : !ch
  pipe.roles [#load, #compute] {
  }, (%rank) {
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @undeclared(%c: !work) {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  pipe.roles [#load, #compute] {
    // expected-error @+1 {{channel is not a declared one}}
    %n = pipe.recv %c : !work
  }, (%rank) {
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @deadlock() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] : !verdict
  // expected-error @+1 {{roles block one another}}
  pipe.roles [#load, #compute] {
    // expected-note @+1 {{role "load" waits for slot 0 of channel 'verdict' to be full (0 filled, 0 given back)}}
    %v:2 = pipe.recv %x : !verdict
    pipe.send %w(%v#0) : !work
  }, (%rank) {
    // expected-note @+2 {{role "compute" replica 0 waits for slot 0 of channel 'work' to be full (0 filled, 0 given back)}}
    // expected-note @+1 {{role "compute" replica 1 waits for slot 0 of channel 'work' to be full (0 filled, 0 given back)}}
    %n = pipe.recv %w : !work
    pipe.send %x(%n) : !verdict
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @never_freed() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  // expected-error @+1 {{roles block one another}}
  pipe.roles [#load, #compute] {
    scf.for %i = %c0 to %c3 step %c1 : i32 {
      // expected-note @+1 {{role "load" waits for slot 0 of channel 'k' to be free (2 filled, 0 given back)}}
      %s = pipe.acquire %k : !ch -> !slot
      pipe.commit %s : !slot
    }
  }, (%rank) {
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @gather() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{roles block one another}}
  pipe.roles [#load, #compute] {
  }, (%rank) {
    %first = arith.cmpi eq, %rank, %c0 : i32
    scf.if %first {
      // expected-note @+1 {{role "compute" replica 0 waits for the other replicas}}
      %all:2 = pipe.gather 2 of %rank : i32
    }
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @credit() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  pipe.roles [#load, #compute] {
  }, (%rank) {
    // expected-error @+1 {{channel 'verdict' would hold 3 messages but its depth is 2}}
    pipe.send %x(%rank) : !verdict
  }
  return
}

// -----

#load = #pipe.role<"load", warps = 1, replicas = 1, regs = 40>
#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
!ch = !pipe.channel<f32, depth = 2>
!slot = !pipe.slot<f32>
!work = !pipe.channel<!pipe.words<1>, depth = 2>
!verdict = !pipe.channel<!pipe.words<1>, depth = 2, lanes = 2>
func.func private @copy(!slot)
func.func private @product(f32) -> f32
func.func @left() {
  %k = pipe.channel "k" from "load" to ["compute"] : !ch
  %w = pipe.channel "work" from "load" to ["compute"] : !work
  %x = pipe.channel "verdict" from "compute" to ["load"] initial 2 : !verdict
  // expected-error @+1 {{ends with 1 slots of channel 'k' in use but 0 may be}}
  pipe.roles [#load, #compute] {
    %s = pipe.acquire %k : !ch -> !slot
    %f = pipe.issue tma {
      func.call @copy(%s) : (!slot) -> ()
    }
    pipe.commit %s after %f : !slot
  }, (%rank) {
  }
  return
}

// -----

#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
func.func @turns() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  pipe.roles [#compute] (%rank) {
    scf.for %i = %c0 to %c3 step %c1 : i32 {
      pipe.take_turn
      pipe.pass_turn
    }
  }
  return
}


// -----

#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
func.func @twice() {
  pipe.roles [#compute] (%rank) {
    pipe.take_turn
    // expected-error @+1 {{takes turn 1 while it has turn 0}}
    pipe.take_turn
    pipe.pass_turn
  }
  return
}


// -----

#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
func.func @not_taken() {
  pipe.roles [#compute] (%rank) {
    // expected-error @+1 {{passes turn 0 but has taken 0}}
    pipe.pass_turn
  }
  return
}


// -----

#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
func.func @first_alone() {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{replica 1 of role "compute" takes 0 turns but replica 0 takes 1}}
  pipe.roles [#compute] (%rank) {
    %first = arith.cmpi eq, %rank, %c0 : i32
    scf.if %first {
      pipe.take_turn
      pipe.pass_turn
    }
  }
  return
}


// -----

#compute = #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>
func.func @second_alone() {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{roles block one another}}
  pipe.roles [#compute] (%rank) {
    %second = arith.cmpi ne, %rank, %c0 : i32
    scf.if %second {
      // expected-note @+1 {{role "compute" replica 1 waits for its turn 0}}
      pipe.take_turn
      pipe.pass_turn
    }
  }
  return
}
