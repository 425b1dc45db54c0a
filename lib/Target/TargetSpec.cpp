//===- TargetSpec.cpp - questions about a target --------------------------===//

#include "attn/Target/TargetSpec.h"

#include <algorithm>

using namespace attn;

std::string_view attn::featureName(Feature feature) {
  switch (feature) {
  case Feature::MmaSync:
    return "mma_sync";
  case Feature::Ldmatrix:
    return "ldmatrix";
  case Feature::CpAsync:
    return "cp_async";
  case Feature::MBarrier:
    return "mbarrier";
  case Feature::TMA:
    return "tma";
  case Feature::Stmatrix:
    return "stmatrix";
  case Feature::Wgmma:
    return "wgmma";
  case Feature::SetMaxNReg:
    return "setmaxnreg";
  case Feature::Cluster:
    return "cluster";
  case Feature::Elect:
    return "elect";
  case Feature::Tcgen05:
    return "tcgen05";
  case Feature::TensorMemory:
    return "tensor_memory";
  case Feature::PackedF32:
    return "packed_f32";
  case Feature::Fp8Mma:
    return "fp8_mma";
  case Feature::SharedObject:
    return "shared_object";
  case Feature::Count:
    break;
  }
  return "unknown";
}

unsigned TargetSpec::occupancy(unsigned threads, unsigned sharedBytes,
                               unsigned registers) const {
  if (!isGpu())
    return 1;
  if (threads == 0 || threads > maxThreads || sharedBytes > sharedBytesPerCta ||
      registers > registersPerThread)
    return 0;
  unsigned warps = (threads + warpSize - 1) / warpSize;
  unsigned granules =
      (std::max(registers, 1u) + registerGranule - 1) / registerGranule;
  unsigned registersPerCta = granules * registerGranule * warps * warpSize;
  unsigned ctas = std::min(maxCtasPerSM, maxThreadsPerSM / (warps * warpSize));
  ctas = std::min(ctas, registersPerSM / registersPerCta);
  return std::min(ctas,
                  sharedBytesPerSM / (sharedBytes + sharedReservedPerCta));
}

const TargetSpec *attn::findTarget(std::string_view name, std::string &error) {
  for (const TargetSpec &target : knownTargets())
    if (target.name == name)
      return &target;
  error = "unknown target '" + std::string(name) + "' (known: ";
  const char *separator = "";
  for (const TargetSpec &target : knownTargets()) {
    error += separator;
    error += target.name;
    separator = ", ";
  }
  error += ")";
  return nullptr;
}

static bool check(const TargetSpec &target, std::string_view what,
                  uint64_t needed, std::string_view of, uint64_t available,
                  std::string &error) {
  if (needed <= available)
    return true;
  error = std::string(what) + " needs " + std::to_string(needed) + " " +
          std::string(of) + " but " + std::string(target.name) + " has " +
          std::to_string(available);
  return false;
}

bool attn::checkSharedMemory(const TargetSpec &target, uint64_t bytes,
                             std::string &error) {
  return check(target, "tile", bytes, "bytes of shared memory",
               target.sharedBytesPerCta, error);
}

bool attn::checkThreads(const TargetSpec &target, uint64_t threads,
                        std::string &error) {
  return check(target, "kernel", threads, "threads a block", target.maxThreads,
               error);
}

bool attn::checkRegisters(const TargetSpec &target, uint64_t registers,
                          std::string &error) {
  return check(target, "kernel", registers, "registers a thread",
               target.registersPerThread, error);
}
