//===- Scheduler.h - who runs next ------------------------------*- C++ -*-===//
//
// The simulator asks a scheduler at each point where more than one thing may
// happen next: fibers that can run (roles, warps) and agents that can finish
// something (a copy lands, a product is ready).
//
//   auto s = makeScheduler(ScheduleKind::Random, /*seed=*/7);
//   size_t i = s->pick({{0, false}, {2, false}, {17, true}});
//
// A run is a function of (kind, seed, input): a failing seed replays.
//
// Invariant: a scheduler sees ids and kinds only, never addresses or time.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_SCHEDULER_H
#define ATTN_SIM_SCHEDULER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace attn::sim {

/// Something that may happen next.
struct Choice {
  uint32_t id = 0;    ///< of a fiber: its number; of an agent's work: its age
  bool agent = false; ///< an agent finishes something
};

enum class ScheduleKind { RoundRobin, Random, Adversarial };

/// "rr", "random", "adversarial".
llvm::StringRef nameOf(ScheduleKind kind);
std::optional<ScheduleKind> parseScheduleKind(llvm::StringRef name);

class Scheduler {
public:
  virtual ~Scheduler() = default;
  /// Index into `ready`, which is not empty and in ascending order of id with
  /// all fibers before all agents.
  virtual size_t pick(llvm::ArrayRef<Choice> ready) = 0;
  /// False where a fiber need not stop at a point at which it could go on:
  /// saves the switch.  Only a hint; a fiber that stops anyway is in `ready`.
  virtual bool preempts() { return true; }
};

/// RoundRobin: fibers in turn, agents as soon as they can.
/// Random: any, by seed; the seed also sets how often agents are preferred.
/// Adversarial: agents at the last legal moment (newest or oldest first, by
/// seed); the fiber seed % number of fibers runs only when no other can; the
/// others run until they block or in turn, by seed.
std::unique_ptr<Scheduler> makeScheduler(ScheduleKind kind, uint64_t seed);

/// Runs through all schedules of a program, depth first, with at most
/// `maxPreemptions` switches away from a fiber that could go on (agents' work
/// is free of charge).
///
///   Explorer e(2, 10000);
///   do { run(e); } while (e.next());
///   e.complete()   // false: stopped at the limit of runs
///
/// The program must be a function of the picks.
class Explorer : public Scheduler {
public:
  Explorer(unsigned maxPreemptions, uint64_t maxRuns)
      : maxPreemptions(maxPreemptions), maxRuns(maxRuns) {}
  size_t pick(llvm::ArrayRef<Choice> ready) override;
  /// Prepares the next run; false when all are done or the limit is reached.
  bool next();
  bool complete() const { return finished; }
  uint64_t runs() const { return count; }

private:
  struct Level {
    std::vector<uint32_t> open; ///< indices into `ready`, first is in use
  };
  std::vector<Level> path;
  size_t depth = 0;
  unsigned preemptions = 0;
  std::optional<uint32_t> last; ///< fiber that ran last
  unsigned maxPreemptions;
  uint64_t maxRuns, count = 1;
  bool finished = false;
};

} // namespace attn::sim

#endif // ATTN_SIM_SCHEDULER_H
