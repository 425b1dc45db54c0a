//===- PipeExplore.cpp - every interleaving of the traces -----------------===//
//
// Breadth-first search over positions.  What a slot's state is follows from the
// positions alone: turn t of a ring is free for its writer once every reader
// has passed its release of turn t - depth, and full for a reader once the
// writer has passed its commit of turn t.
//
// Invariant: a state is visited once; the report is about a shortest way.
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/PipeTrace.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <map>
#include <unordered_set>

using namespace mlir;
using namespace attn::sim;

using Kind = PipeTrace::Kind;
using Event = PipeTrace::Event;

bool PipeTrace::sameEvents(const PipeTrace &other) const {
  if (replicas.size() != other.replicas.size())
    return false;
  for (auto [a, b] : llvm::zip_equal(replicas, other.replicas))
    if (a.events != b.events)
      return false;
  return true;
}

namespace {
constexpr uint32_t never = ~0u;

/// Position behind the event of each turn, `never` where there is none.
using Turns = std::vector<uint32_t>;

class Exploring {
public:
  Exploring(const PipeTrace &trace, uint64_t maxStates)
      : trace(trace), maxStates(maxStates) {}
  Exploration run();

private:
  using Positions = std::vector<uint32_t>;
  enum class Answer { Yes, No, Violation };

  void index();
  Answer canGo(uint32_t replica, const Positions &at) const;
  bool isFree(const PipeTrace::Channel &channel, uint32_t number, uint32_t lane,
              uint64_t turn, const Positions &at) const;
  bool isFull(const PipeTrace::Channel &channel, uint32_t number, uint32_t lane,
              uint64_t turn, const Positions &at) const;
  void report(Exploration &result, const Positions &at, uint32_t culprit);
  uint64_t encode(const Positions &at) const;
  void decode(uint64_t code, Positions &at) const;

  static void put(Turns &turns, uint64_t turn, uint32_t position) {
    if (turns.size() <= turn)
      turns.resize(turn + 1, never);
    turns[turn] = position;
  }
  static bool passed(const Turns &turns, uint64_t turn, uint32_t position) {
    return turn < turns.size() && turns[turn] <= position;
  }

  const PipeTrace &trace;
  uint64_t maxStates;
  /// [channel][lane], [channel][reader]
  std::vector<std::vector<Turns>> committed, released;
  std::vector<Turns> turnsPassed; ///< by replica
  /// Replicas that come to a gather, with the position before it.
  std::map<std::pair<Operation *, uint64_t>,
           std::vector<std::pair<uint32_t, uint32_t>>>
      gathers;
};
} // namespace

void Exploring::index() {
  for (const PipeTrace::Channel &channel : trace.channels) {
    committed.emplace_back(channel.lanes);
    released.emplace_back(channel.readers.size());
  }
  turnsPassed.resize(trace.replicas.size());
  for (auto [r, replica] : llvm::enumerate(trace.replicas)) {
    for (auto [i, event] : llvm::enumerate(replica.events)) {
      auto behind = uint32_t(i + 1);
      if (event.kind == Kind::PassTurn)
        put(turnsPassed[r], event.turn, behind);
      if (event.kind == Kind::PassTurn || event.kind == Kind::TakeTurn)
        continue;
      if (event.kind == Kind::Gather) {
        gathers[{event.op, event.turn}].push_back({uint32_t(r), uint32_t(i)});
        continue;
      }
      const PipeTrace::Channel &channel = trace.channels[event.channel];
      uint32_t lane = channel.lanes > 1 ? replica.lane : 0;
      if (event.kind == Kind::Commit || event.kind == Kind::Send)
        put(committed[event.channel][lane], event.turn, behind);
      if (event.kind == Kind::Release || event.kind == Kind::Recv)
        for (auto [k, reader] : llvm::enumerate(channel.readers))
          if (reader == r)
            put(released[event.channel][k], event.turn, behind);
    }
  }
}

bool Exploring::isFree(const PipeTrace::Channel &channel, uint32_t number,
                       uint32_t lane, uint64_t turn,
                       const Positions &at) const {
  if (turn < channel.depth)
    return true;
  for (auto [k, reader] : llvm::enumerate(channel.readers))
    if (!passed(released[number][k], turn - channel.depth, at[reader]))
      return false;
  return true;
}

bool Exploring::isFull(const PipeTrace::Channel &channel, uint32_t number,
                       uint32_t lane, uint64_t turn,
                       const Positions &at) const {
  if (channel.feedback && turn < channel.depth)
    return true;
  return lane < channel.writers.size() &&
         passed(committed[number][lane], turn, at[channel.writers[lane]]);
}

Exploring::Answer Exploring::canGo(uint32_t r, const Positions &at) const {
  const Event &event = trace.replicas[r].events[at[r]];
  if (event.kind == Kind::Gather) {
    for (auto [other, position] : gathers.at({event.op, event.turn}))
      if (at[other] < position)
        return Answer::No;
    return Answer::Yes;
  }
  if (event.kind == Kind::PassTurn)
    return Answer::Yes;
  if (event.kind == Kind::TakeTurn)
    return event.turn == 0 || passed(turnsPassed[event.channel], event.turn - 1,
                                     at[event.channel])
               ? Answer::Yes
               : Answer::No;
  const PipeTrace::Channel &channel = trace.channels[event.channel];
  bool go = true, strict = event.unguarded;
  switch (event.kind) {
  case Kind::Acquire:
  case Kind::Send: {
    uint32_t lane = channel.lanes > 1 ? trace.replicas[r].lane : 0;
    go = isFree(channel, event.channel, lane, event.turn, at);
    strict |= channel.feedback;
    break;
  }
  case Kind::Wait:
    go = isFull(channel, event.channel, 0, event.turn, at) &&
         !(event.unguarded && event.late);
    break;
  case Kind::Recv:
    for (uint32_t lane = 0; lane < channel.lanes; ++lane)
      go &= isFull(channel, event.channel, lane, event.turn, at);
    break;
  default:
    break;
  }
  return go ? Answer::Yes : strict ? Answer::Violation : Answer::No;
}

uint64_t Exploring::encode(const Positions &at) const {
  uint64_t code = 0;
  for (auto [r, replica] : llvm::enumerate(trace.replicas))
    code = code * (replica.events.size() + 1) + at[r];
  return code;
}

void Exploring::decode(uint64_t code, Positions &at) const {
  for (size_t r = trace.replicas.size(); r-- > 0;) {
    uint64_t radix = trace.replicas[r].events.size() + 1;
    at[r] = uint32_t(code % radix);
    code /= radix;
  }
}

void Exploring::report(Exploration &result, const Positions &at,
                       uint32_t culprit) {
  auto describe = [&](uint32_t r) -> std::string {
    const Event &event = trace.replicas[r].events[at[r]];
    std::string text = event.op->getName().getStringRef().str();
    if (event.kind == Kind::Gather || event.kind == Kind::TakeTurn ||
        event.kind == Kind::PassTurn)
      return text;
    const PipeTrace::Channel &channel = trace.channels[event.channel];
    return text + " for slot " + std::to_string(event.turn % channel.depth) +
           " of channel '" + channel.name + "' (turn " +
           std::to_string(event.turn) + ", phase " +
           std::to_string((event.turn / channel.depth) & 1) + ")";
  };
  if (culprit != never) {
    Operation *op = trace.replicas[culprit].events[at[culprit]].op;
    result.report.give(Verdict::Race,
                       "role " + trace.replicas[culprit].name +
                           " does not wait in " + describe(culprit) +
                           " but the slot is not ready",
                       op->getLoc());
  } else {
    result.report.give(Verdict::Deadlock, "no role can go on");
  }
  for (uint32_t r = 0; r < trace.replicas.size(); ++r) {
    if (at[r] == trace.replicas[r].events.size())
      result.report.note("role " + trace.replicas[r].name + " has ended");
    else
      result.report.note("role " + trace.replicas[r].name + " is at " +
                             describe(r),
                         trace.replicas[r].events[at[r]].op->getLoc());
  }
}

Exploration Exploring::run() {
  Exploration result;
  double all = 1;
  for (const PipeTrace::Replica &replica : trace.replicas)
    all *= double(replica.events.size() + 1);
  if (all > 9e18) {
    result.report.give(Verdict::NotRun, "traces are too long to number states");
    return result;
  }
  index();
  std::unordered_set<uint64_t> seen;
  std::deque<uint64_t> queue{0};
  seen.insert(0);
  Positions at(trace.replicas.size());
  while (!queue.empty()) {
    decode(queue.front(), at);
    queue.pop_front();
    ++result.states;
    bool some = false, ended = true;
    for (uint32_t r = 0; r < at.size(); ++r) {
      if (at[r] == trace.replicas[r].events.size())
        continue;
      ended = false;
      Answer answer = canGo(r, at);
      if (answer == Answer::Violation) {
        report(result, at, r);
        return result;
      }
      if (answer == Answer::No)
        continue;
      some = true;
      ++at[r];
      uint64_t code = encode(at);
      if (seen.size() < maxStates) {
        if (seen.insert(code).second)
          queue.push_back(code);
      } else if (!seen.count(code)) {
        return result;
      }
      --at[r];
    }
    if (!some && !ended) {
      report(result, at, never);
      return result;
    }
  }
  result.complete = true;
  return result;
}

Exploration attn::sim::explorePipe(const PipeTrace &trace, uint64_t maxStates) {
  return Exploring(trace, maxStates).run();
}
