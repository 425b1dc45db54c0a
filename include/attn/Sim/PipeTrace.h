//===- PipeTrace.h - every interleaving of one network ----------*- C++ -*-===//
//
// The channel ops of each role replica in the order of one run.  Visits derive
// from words and data that arrive in FIFO order, so the trace of a replica does
// not depend on the schedule, and all schedules are the interleavings of the
// traces.  A state is one position a replica: there are at most the product of
// the lengths, which explorePipe visits.
//
//   load:    acq k, com k, acq v, com v      2 replicas of compute: wait k, ...
//   explorePipe(trace, 1000000)  ->  correct, 1,234 states
//
// Agents finish late or at once; a copy that lands later only delays one that waits
// for it, and what must not overlap with it was checked when the trace was recorded,
// so a state does not need to say which copies are under way.  One that does not
// wait for a copy comes before it in some interleaving.
//
// Invariant: no data, no IR but for the places in a report.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_PIPETRACE_H
#define ATTN_SIM_PIPETRACE_H

#include "attn/Sim/Verdict.h"

#include "mlir/IR/Operation.h"

#include <string>
#include <vector>

namespace attn::sim {

struct PipeTrace {
  enum class Kind : uint8_t {
    Acquire,
    Commit,
    Wait,
    Release,
    Send,
    Recv,
    Gather,
    TakeTurn, ///< channel: the replica before; turn: how many it must have passed
    PassTurn
  };
  struct Event {
    Kind kind;
    uint32_t channel; ///< or number of the gather
    uint64_t turn;
    mlir::Operation *op;
    /// Takes its slot without waiting (a mutant).
    bool unguarded = false;
    /// The slot is filled by an agent, which may finish after the commit.
    bool late = false;

    bool operator==(const Event &other) const {
      return kind == other.kind && channel == other.channel &&
             turn == other.turn && op == other.op;
    }
  };
  struct Channel {
    std::string name;
    uint32_t depth = 1, lanes = 1;
    bool feedback = false;
    std::vector<uint32_t> readers; ///< replicas that read
    std::vector<uint32_t> writers; ///< by lane
  };
  struct Replica {
    std::string name;
    uint32_t lane = 0; ///< rank in its role
    std::vector<Event> events;
  };
  std::vector<Channel> channels;
  std::vector<Replica> replicas;

  /// Two runs of one kernel that differ in the schedule alone.
  bool sameEvents(const PipeTrace &other) const;
};

struct Exploration {
  Report report;
  uint64_t states = 0;
  bool complete = false; ///< false: stopped at maxStates, or at a violation
};

/// Breadth first over all interleavings.
Exploration explorePipe(const PipeTrace &trace, uint64_t maxStates);

} // namespace attn::sim

#endif // ATTN_SIM_PIPETRACE_H
