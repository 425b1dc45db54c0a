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
// Groups of warps that share out the keys of a block (include/attn/Layout/KeyGroups.h)
// have O and Q of all rows each, and meet in shared memory at the end of an item,
// where Q, K and V were.
//
// Columns are padded ones: head dim 72 has 80 in products, and in shared memory
// 96, panels of 32.
//
// With roles S, P and O are those of the computing threads, Q stays in shared
// memory, each slot has two barriers, and a role of one warp is launched as a
// whole warpgroup:
//
//   3 x 128 threads, launch 65536 / 384 -> 168 registers
//   load 128 * 24 + compute 256 * 240 = 64512 of 384 * 168 = 64512
//
// Invariant: the sums are lower bounds of what the generated code uses in
// shared memory, and estimates for registers.
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"
#include "Wgmma.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Layout/KeyGroups.h"
#include "attn/Layout/Swizzle.h"
#include "attn/Schedule/Schedule.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Calibrated on examples/document_mask.mlir.
static constexpr uint64_t opaqueMaskRegisters = 2;

static uint64_t bytesOf(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

/// What a row takes in shared memory, which is whole panels.
static uint64_t rowBytes(uint64_t bytes) {
  return llvm::alignTo(bytes, layout::Swizzle::tightest(unsigned(bytes)));
}

bool attn::hasRoles(Attribute pipe) {
  auto schedule = dyn_cast<pipe::ScheduleAttr>(pipe);
  return schedule && schedule.getRoles().size() > 1;
}

uint32_t attn::keyGroupsOf(ScheduleAttr schedule) {
  auto pipe = dyn_cast<pipe::ScheduleAttr>(schedule.getPipe());
  if (!pipe || hasRoles(pipe))
    return 1;
  auto role = cast<pipe::RoleAttr>(pipe.getRoles()[0]);
  return layout::keyGroups(unsigned(std::max(schedule.getTileQ(), 0)),
                           unsigned(role.getWarps() * role.getReplicas()));
}

Resources attn::resourcesOf(const ProblemFacts &facts, ScheduleAttr schedule) {
  Resources r;
  auto pipe = dyn_cast<pipe::ScheduleAttr>(schedule.getPipe());
  if (!pipe)
    return r;
  bool roles = hasRoles(pipe);
  uint64_t computing = 0;
  for (Attribute attr : pipe.getRoles()) {
    auto role = cast<pipe::RoleAttr>(attr);
    uint64_t threads = uint64_t(32) * role.getWarps() * role.getReplicas();
    bool computes = role.getName().getValue() == pipe.getRoleOf("default");
    if (computes) {
      computing = threads;
      r.registersOfRole = role.getRegs();
    }
    if (roles)
      threads = llvm::alignTo(threads, 32 * warpgroupWarps);
    r.threads += threads;
    r.registersSet += threads * role.getRegs();
  }
  uint64_t tileQ = schedule.getTileQ(), tileK = schedule.getTileK();
  uint64_t dim = facts.columns(), valueDim = facts.valueColumns();
  uint64_t in = bytesOf(facts.query.getElement());
  uint64_t row = rowBytes(dim * in);
  r.sharedBytes = tileQ * row * pipe.getDepth("q") +
                  tileK * row * pipe.getDepth("k") +
                  tileK * rowBytes(valueDim * in) * pipe.getDepth("v");
  // An impossible tile has none; the check of legality names it.
  uint64_t groups = std::max(1u, keyGroupsOf(schedule));
  if (facts.outputReadsOthers) // 8 rows of O at a time for each warp
    r.sharedBytes += computing / 32 * 8 * valueDim * 4;
  if (groups > 1) // O in f32, m and l
    r.sharedBytes =
        std::max(r.sharedBytes,
                 groups * tileQ * (llvm::alignTo(valueDim * 4, 128) + 16));
  if (roles)
    for (StringRef channel : {"q", "k", "v", "work", "verdict"})
      r.sharedBytes += 16 * uint64_t(pipe.getDepth(channel));
  uint64_t rows = tileQ * groups;                   // of all groups together
  uint64_t words = tileQ * tileK + rows * valueDim; // S, O
  if (roles) // beside the next S; else it takes the place of S
    words += tileQ * tileK * bytesOf(schedule.getPType()) / 4; // P
  else if (pipe.getAtom("qk") != mmaSharedAtom)
    words += rows * dim * in / 4; // Q
  r.tileRegisters = (words + computing - 1) / computing;
  r.registersPerThread =
      r.tileRegisters +
      (r.registersOfRole ? registerOverheadOfRole : registerOverhead);
  // Four threads share a row, with either product.
  r.hookRegisters = rows * 4 / computing * uint64_t(facts.hookValues.rows) +
                    tileK / groups / 4 * uint64_t(facts.hookValues.columns);
  // Evaluated on both sides of the whole blocks.
  if (facts.hasOpaqueMask && r.hookRegisters)
    r.hookRegisters += opaqueMaskRegisters;
  return r;
}

uint64_t attn::registersAtLaunch(const Resources &resources,
                                 const TargetSpec &target) {
  if (!resources.registersSet)
    return resources.registersPerThread;
  uint64_t each = target.registersPerSM / resources.threads;
  each = std::min<uint64_t>(each, target.registersPerThread);
  return each - each % target.registerGranule;
}

bool attn::checkResources(const Resources &resources, const TargetSpec &target,
                          std::string &error) {
  if (!target.isGpu())
    return true;
  if (!checkThreads(target, resources.threads, error) ||
      !checkSharedMemory(target, resources.sharedBytes, error) ||
      !checkRegisters(target, resources.registersPerThread, error))
    return false;
  auto refuse = [&](const char *what, uint64_t needs, const char *but,
                    uint64_t has) {
    error = what + std::to_string(needs) + but + std::to_string(has);
    return false;
  };
  if (resources.registersSet) {
    uint64_t launched =
        registersAtLaunch(resources, target) * resources.threads;
    if (resources.registersPerThread > resources.registersOfRole)
      return refuse("tiles need ", resources.registersPerThread,
                    " registers a thread but the role sets ",
                    resources.registersOfRole);
    if (resources.registersSet > launched)
      return refuse("roles set ", resources.registersSet,
                    " registers a block but the launch gives ", launched);
    return true;
  }
  uint64_t total = resources.registersPerThread * resources.threads;
  if (total <= target.registersPerSM)
    return true;
  error = "kernel needs " + std::to_string(total) + " registers a block but " +
          std::string(target.name) + " has " +
          std::to_string(target.registersPerSM);
  return false;
}
