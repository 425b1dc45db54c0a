//===- Resources.cpp - what a block of threads needs ----------------------===//
//
// Sums over the tiles, before any register allocation:
//
//   shared     Q 128x128 bf16 * 1  32768     registers  S    128*64/256   32
//              K  64x128 bf16 * 2  32768                P (16 bit)        16
//              V  64x128 bf16 * 2  32768                O    128*128/256  64
//              sum                 98304                Q (16 bit)        32
//                                                       the rest          40
//
// Invariant: the sums are lower bounds of what the generated code uses in
// shared memory, and estimates for registers.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Schedule/Schedule.h"

using namespace mlir;
using namespace attn;

static uint64_t bytesOf(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

Resources attn::resourcesOf(const ProblemFacts &facts, ScheduleAttr schedule) {
  Resources r;
  auto pipe = dyn_cast<pipe::ScheduleAttr>(schedule.getPipe());
  if (!pipe)
    return r;
  for (Attribute attr : pipe.getRoles()) {
    auto role = cast<pipe::RoleAttr>(attr);
    r.threads += uint64_t(32) * role.getWarps() * role.getReplicas();
  }
  uint64_t tileQ = schedule.getTileQ(), tileK = schedule.getTileK();
  uint64_t dim = facts.query.getDim(), valueDim = facts.value.getDim();
  uint64_t in = bytesOf(facts.query.getElement());
  r.sharedBytes = tileQ * dim * in * pipe.getDepth("q") +
                  tileK * dim * in * pipe.getDepth("k") +
                  tileK * valueDim * in * pipe.getDepth("v");
  uint64_t words = tileQ * tileK                                      // S
                   + tileQ * tileK * bytesOf(schedule.getPType()) / 4 // P
                   + tileQ * valueDim                                 // O
                   + tileQ * dim * in / 4;                            // Q
  r.registersPerThread = (words + r.threads - 1) / r.threads + registerOverhead;
  return r;
}

bool attn::checkResources(const Resources &resources, const TargetSpec &target,
                          std::string &error) {
  if (!target.isGpu())
    return true;
  if (!checkThreads(target, resources.threads, error) ||
      !checkSharedMemory(target, resources.sharedBytes, error) ||
      !checkRegisters(target, resources.registersPerThread, error))
    return false;
  uint64_t total = resources.registersPerThread * resources.threads;
  if (total <= target.registersPerSM)
    return true;
  error = "kernel needs " + std::to_string(total) + " registers a block but " +
          std::string(target.name) + " has " +
          std::to_string(target.registersPerSM);
  return false;
}
