//===- Scheduler.cpp - round robin, random, adversarial, all --------------===//
//
// The three schedules of a test run, and the depth-first one.
//
// Invariant: numbers come from a generator of our own, so that a seed means the
// same run on every machine.
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/Scheduler.h"

#include <algorithm>
#include <cassert>

using namespace llvm;
using namespace attn::sim;

StringRef attn::sim::nameOf(ScheduleKind kind) {
  switch (kind) {
  case ScheduleKind::RoundRobin:
    return "rr";
  case ScheduleKind::Random:
    return "random";
  case ScheduleKind::Adversarial:
    return "adversarial";
  }
  return "";
}

std::optional<ScheduleKind> attn::sim::parseScheduleKind(StringRef name) {
  for (ScheduleKind kind : {ScheduleKind::RoundRobin, ScheduleKind::Random,
                            ScheduleKind::Adversarial})
    if (name == nameOf(kind))
      return kind;
  return std::nullopt;
}

/// Number of choices in front that are fibers.
static size_t countFibers(ArrayRef<Choice> ready) {
  return std::find_if(ready.begin(), ready.end(),
                      [](const Choice &c) { return c.agent; }) -
         ready.begin();
}

namespace {
/// splitmix64.
class Numbers {
public:
  explicit Numbers(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return next() % n; }

private:
  uint64_t state;
};

class RoundRobin : public Scheduler {
public:
  size_t pick(ArrayRef<Choice> ready) override {
    size_t fibers = countFibers(ready);
    if (fibers < ready.size())
      return fibers; // the oldest
    for (size_t i = 0; i < fibers; ++i)
      if (ready[i].id > last || !started)
        return take(ready, i);
    return take(ready, 0);
  }

private:
  size_t take(ArrayRef<Choice> ready, size_t i) {
    last = ready[i].id;
    started = true;
    return i;
  }
  uint32_t last = 0;
  bool started = false;
};

class Random : public Scheduler {
public:
  explicit Random(uint64_t seed) : numbers(seed ^ 0x5eed) {
    agentsIn8 = 1 + numbers.below(7);
  }
  size_t pick(ArrayRef<Choice> ready) override {
    size_t fibers = countFibers(ready);
    size_t agents = ready.size() - fibers;
    if (fibers && agents)
      return numbers.below(8) < agentsIn8 ? fibers + numbers.below(agents)
                                          : numbers.below(fibers);
    return numbers.below(ready.size());
  }

private:
  Numbers numbers;
  uint64_t agentsIn8;
};

class Adversarial : public Scheduler {
public:
  explicit Adversarial(uint64_t seed) : seed(seed) {
    Numbers numbers(seed ^ 0xad5e);
    newest = numbers.below(2);
    greedy = numbers.below(2);
  }
  size_t pick(ArrayRef<Choice> ready) override {
    size_t fibers = countFibers(ready);
    for (size_t i = 0; i < fibers; ++i)
      most = std::max(most, ready[i].id + 1);
    uint32_t victim = seed % most;
    // Others first; then the agents; the starved one last of the fibers, but
    // before agents: they wait for the last legal moment.
    SmallVector<size_t> others;
    for (size_t i = 0; i < fibers; ++i)
      if (ready[i].id != victim)
        others.push_back(i);
    if (!others.empty()) {
      if (greedy)
        for (size_t i : others)
          if (ready[i].id == last)
            return i;
      size_t chosen = others.front();
      for (size_t i : others)
        if (ready[i].id > last) {
          chosen = i;
          break;
        }
      last = ready[chosen].id;
      return chosen;
    }
    if (fibers)
      return 0;
    return newest ? ready.size() - 1 : 0;
  }

private:
  uint64_t seed;
  uint32_t most = 1; ///< fibers seen
  uint32_t last = 0;
  bool newest, greedy;
};
} // namespace

std::unique_ptr<Scheduler> attn::sim::makeScheduler(ScheduleKind kind,
                                                    uint64_t seed) {
  switch (kind) {
  case ScheduleKind::RoundRobin:
    return std::make_unique<RoundRobin>();
  case ScheduleKind::Random:
    return std::make_unique<Random>(seed);
  case ScheduleKind::Adversarial:
    return std::make_unique<Adversarial>(seed);
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Explorer
//===----------------------------------------------------------------------===//

size_t Explorer::pick(ArrayRef<Choice> ready) {
  size_t fibers = countFibers(ready);
  // The fiber that ran last, if it could go on: leaving it costs a preemption.
  std::optional<uint32_t> same;
  for (size_t i = 0; i < fibers; ++i)
    if (last && ready[i].id == *last)
      same = static_cast<uint32_t>(i);
  if (depth == path.size()) {
    Level level;
    if (same)
      level.open.push_back(*same);
    for (size_t i = 0; i < ready.size(); ++i) {
      if (same && i == *same)
        continue;
      if (same && i < fibers && preemptions >= maxPreemptions)
        continue;
      level.open.push_back(static_cast<uint32_t>(i));
    }
    path.push_back(std::move(level));
  }
  size_t chosen = path[depth++].open.front();
  assert(chosen < ready.size() && "the program depends on more than the picks");
  if (chosen < fibers) {
    if (same && chosen != *same)
      ++preemptions;
    last = ready[chosen].id;
  }
  return chosen;
}

bool Explorer::next() {
  depth = 0;
  preemptions = 0;
  last.reset();
  while (!path.empty()) {
    Level &level = path.back();
    level.open.erase(level.open.begin());
    if (!level.open.empty())
      break;
    path.pop_back();
  }
  if (path.empty()) {
    finished = true;
    return false;
  }
  if (count >= maxRuns)
    return false;
  ++count;
  return true;
}
