//===- Fiber.cpp - coroutines of the simulated machine --------------------===//
//
// One mapped stack a fiber with a page below that traps, ucontext to switch.
//
// Invariant: a fiber is resumed by the thread that made it.
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/Fiber.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTN_SIM_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif
#endif

using namespace attn::sim;

struct Fiber::Impl {
  ucontext_t own{}, caller{};
  char *map = nullptr;
  size_t mapped = 0, page = 0;
  Fiber *outer = nullptr; ///< that was running at resume()
#ifdef ATTN_SIM_ASAN
  void *fake = nullptr;
  const void *callerStack = nullptr;
  size_t callerSize = 0;
#endif
};

static thread_local Fiber *runningFiber = nullptr;

Fiber *Fiber::current() { return runningFiber; }

void Fiber::entry(unsigned lo, unsigned hi) {
  auto *fiber = reinterpret_cast<Fiber *>(uintptr_t(lo) | uintptr_t(hi) << 32);
#ifdef ATTN_SIM_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &fiber->impl->callerStack,
                                  &fiber->impl->callerSize);
#endif
  fiber->body();
  fiber->body = nullptr;
  fiber->ended = true;
#ifdef ATTN_SIM_ASAN
  __sanitizer_start_switch_fiber(nullptr, fiber->impl->callerStack,
                                 fiber->impl->callerSize);
#endif
  swapcontext(&fiber->impl->own, &fiber->impl->caller);
}

Fiber::Fiber(std::function<void()> body, size_t stackBytes)
    : impl(std::make_unique<Impl>()), body(std::move(body)) {
  impl->page = size_t(sysconf(_SC_PAGESIZE));
  impl->mapped =
      (stackBytes + impl->page - 1) / impl->page * impl->page + impl->page;
  void *map = mmap(nullptr, impl->mapped, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED)
    llvm::report_bad_alloc_error("no memory for the stack of a fiber");
  impl->map = static_cast<char *>(map);
  mprotect(impl->map, impl->page, PROT_NONE);
  getcontext(&impl->own);
  impl->own.uc_stack.ss_sp = impl->map + impl->page;
  impl->own.uc_stack.ss_size = impl->mapped - impl->page;
  impl->own.uc_link = nullptr;
  auto self = reinterpret_cast<uintptr_t>(this);
  makecontext(&impl->own, reinterpret_cast<void (*)()>(&Fiber::entry), 2,
              unsigned(self), unsigned(self >> 32));
}

Fiber::~Fiber() {
  assert(runningFiber != this && "a fiber cannot end itself");
  munmap(impl->map, impl->mapped);
}

void Fiber::resume() {
  if (ended)
    return;
  impl->outer = runningFiber;
  runningFiber = this;
#ifdef ATTN_SIM_ASAN
  void *fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, impl->map + impl->page,
                                 impl->mapped - impl->page);
#endif
  swapcontext(&impl->caller, &impl->own);
#ifdef ATTN_SIM_ASAN
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  runningFiber = impl->outer;
}

void Fiber::suspend() {
  Fiber *self = runningFiber;
  assert(self && "no fiber is running");
#ifdef ATTN_SIM_ASAN
  __sanitizer_start_switch_fiber(&self->impl->fake, self->impl->callerStack,
                                 self->impl->callerSize);
#endif
  swapcontext(&self->impl->own, &self->impl->caller);
#ifdef ATTN_SIM_ASAN
  __sanitizer_finish_switch_fiber(self->impl->fake, &self->impl->callerStack,
                                  &self->impl->callerSize);
#endif
}

//===----------------------------------------------------------------------===//
// Fibers
//===----------------------------------------------------------------------===//

uint32_t Fibers::add(std::string name, std::function<void()> body) {
  auto task = std::make_unique<Task>();
  task->name = std::move(name);
  // A fiber that was never entered has nothing to unwind.
  task->fiber = std::make_unique<Fiber>([this, body = std::move(body)] {
    if (!stopped)
      body();
  });
  tasks.push_back(std::move(task));
  return static_cast<uint32_t>(tasks.size() - 1);
}

bool Fibers::yield() {
  if (!stopped && scheduler.preempts())
    Fiber::suspend();
  return !stopped;
}

bool Fibers::block(std::function<bool()> until, mlir::Operation *op,
                   std::function<std::string()> why) {
  if (stopped)
    return false;
  // Always a point of the schedule, even where the condition holds.
  Task &task = *tasks[running];
  task.until = std::move(until);
  task.op = op;
  task.why = std::move(why);
  if (scheduler.preempts() || !task.until())
    Fiber::suspend();
  task.until = nullptr;
  task.op = nullptr;
  task.why = nullptr;
  return !stopped;
}

uint64_t Fibers::addAction(std::function<void()> run,
                           std::function<bool()> ready, int queue) {
  actions.push_back({nextAction, std::move(run), std::move(ready), queue});
  return nextAction++;
}

bool Fibers::isDone(uint64_t action) const {
  auto found = std::lower_bound(
      actions.begin(), actions.end(), action,
      [](const Action &a, uint64_t n) { return a.number < n; });
  return found == actions.end() || found->number != action;
}

Fibers::End Fibers::run() {
  std::vector<Choice> ready;
  std::vector<int> queues;
  End end = End::Done;
  while (true) {
    if (stopped) {
      end = End::Stopped;
      break;
    }
    ready.clear();
    bool alive = false;
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      Task &task = *tasks[i];
      if (task.fiber->done())
        continue;
      alive = true;
      if (!task.until || task.until())
        ready.push_back({i, false});
    }
    size_t fibers = ready.size();
    queues.clear();
    for (const Action &action : actions) {
      // In a queue only the oldest may be done.
      if (action.queue >= 0) {
        if (llvm::is_contained(queues, action.queue))
          continue;
        queues.push_back(action.queue);
      }
      if (!action.ready || action.ready())
        ready.push_back({static_cast<uint32_t>(action.number), true});
    }
    if (ready.empty()) {
      end = alive ? End::Stuck : End::Done;
      break;
    }
    if (++stepCount > maxSteps) {
      end = End::Limit;
      break;
    }
    size_t chosen = scheduler.pick(ready);
    if (chosen < fibers) {
      running = ready[chosen].id;
      tasks[running]->fiber->resume();
      running = ~0u;
      continue;
    }
    uint32_t number = ready[chosen].id;
    auto at =
        std::find_if(actions.begin(), actions.end(), [&](const Action &a) {
          return static_cast<uint32_t>(a.number) == number;
        });
    std::function<void()> act = std::move(at->run);
    actions.erase(at);
    act();
  }
  if (end == End::Stuck || end == End::Limit)
    stuck = collect();
  unwind();
  return end;
}

std::vector<Waiter> Fibers::collect() const {
  std::vector<Waiter> all;
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    const Task &task = *tasks[i];
    if (task.fiber->done())
      continue;
    all.push_back({i, task.name, task.op, task.why ? task.why() : ""});
  }
  return all;
}

void Fibers::unwind() {
  stopped = true;
  actions.clear();
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    running = i;
    while (!tasks[i]->fiber->done())
      tasks[i]->fiber->resume();
  }
  running = ~0u;
}
