//===- Fiber.h - coroutines of the simulated machine ------------*- C++ -*-===//
//
// A role replica (L2) or a warp (L3) is a fiber with a stack of its own, so
// that the interpreter's recursion can stop in the middle of a region.  Agents
// have no stack: a copy or a product is one action that becomes possible.
//
//   Fibers fibers(scheduler);
//   fibers.add("load", [&] { ... fibers.block({until, why}); ... });
//   fibers.addAction([&] { return landed; }, [&] { fill(); }, "tma copy");
//   if (fibers.run() == Fibers::End::Stuck)
//     for (const Waiter &w : fibers.waiters()) ...
//
// One operating system thread runs everything; a fiber goes on until it yields
// or blocks, so code between two such points is atomic.
//
// Invariant: after run() every fiber has ended.  One that was in the middle is
// unwound: block() and yield() return false and its body must return.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_FIBER_H
#define ATTN_SIM_FIBER_H

#include "attn/Sim/Scheduler.h"

#include "mlir/IR/Operation.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attn::sim {

/// A stack and the registers of one coroutine.
class Fiber {
public:
  explicit Fiber(std::function<void()> body, size_t stackBytes = 1 << 20);
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Runs until the body suspends or returns.
  void resume();
  /// Back to the resume() of the running fiber.
  static void suspend();
  static Fiber *current();
  bool done() const { return ended; }

private:
  struct Impl;
  static void entry(unsigned lo, unsigned hi);
  std::unique_ptr<Impl> impl;
  std::function<void()> body;
  bool ended = false;
};

/// Why a fiber does not go on.
struct Waiter {
  uint32_t id = 0;
  std::string name;
  mlir::Operation *op = nullptr; ///< the op at which it waits
  std::string what;              ///< "slot 1 of channel 'k' is full"
};

/// Fibers and the agents' pending actions under one scheduler.
class Fibers {
public:
  enum class End {
    Done,    ///< all fibers ended
    Stuck,   ///< no fiber and no action can go on: see waiters()
    Stopped, ///< stop() was called
    Limit,   ///< more decisions than maxSteps
  };
  explicit Fibers(Scheduler &scheduler, uint64_t maxSteps = 100000000)
      : scheduler(scheduler), maxSteps(maxSteps) {}

  /// Ids count from 0 in order of add().
  uint32_t add(std::string name, std::function<void()> body);

  /// From a fiber: a point where others may run.  False after stop().
  bool yield();
  /// From a fiber: goes on when `until` holds.  `why` is asked after a
  /// deadlock. False after stop().
  bool block(std::function<bool()> until, mlir::Operation *op,
             std::function<std::string()> why);

  /// An agent's action: done once, at some time after `ready` holds (always if
  /// null).  Actions of one `queue` >= 0 are done in order of their age.
  /// Returns the action's number; a fiber waits for it with block and isDone.
  /// Actions left when all fibers have ended are done before run() returns.
  uint64_t addAction(std::function<void()> run,
                     std::function<bool()> ready = nullptr, int queue = -1);
  bool isDone(uint64_t action) const;
  /// Number of the youngest action.
  uint64_t lastAction() const { return nextAction - 1; }

  /// From anywhere: run() ends, and fibers unwind.
  void stop() { stopped = true; }
  bool stopping() const { return stopped; }

  End run();
  uint64_t steps() const { return stepCount; }
  /// After Stuck or Limit: the fibers that had not ended.
  const std::vector<Waiter> &waiters() const { return stuck; }
  /// The running fiber's id.
  uint32_t self() const { return running; }
  const std::string &nameOf(uint32_t id) const { return tasks[id]->name; }
  size_t size() const { return tasks.size(); }
  size_t pendingActions() const { return actions.size(); }

private:
  struct Task {
    std::string name;
    std::unique_ptr<Fiber> fiber;
    std::function<bool()> until; ///< null: can run
    mlir::Operation *op = nullptr;
    std::function<std::string()> why;
  };
  struct Action {
    uint64_t number;
    std::function<void()> run;
    std::function<bool()> ready;
    int queue;
  };
  std::vector<Waiter> collect() const;
  void unwind();

  std::vector<Waiter> stuck;
  Scheduler &scheduler;
  uint64_t maxSteps;
  uint64_t stepCount = 0;
  uint64_t nextAction = 0;
  std::vector<std::unique_ptr<Task>> tasks;
  std::vector<Action> actions;
  uint32_t running = ~0u;
  bool stopped = false;
};

} // namespace attn::sim

#endif // ATTN_SIM_FIBER_H
