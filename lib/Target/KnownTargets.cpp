//===- KnownTargets.cpp - the table of targets ----------------------------===//
//
// The only place where an architecture is spelt out.  To add a target, add an
// entry; everything else asks has() and the numbers.
//
//===----------------------------------------------------------------------===//

#include "attn/Target/TargetSpec.h"

using namespace attn;

static uint64_t set(std::initializer_list<Feature> features) {
  uint64_t bits = 0;
  for (Feature f : features)
    bits |= uint64_t(1) << static_cast<unsigned>(f);
  return bits;
}

/// What all GPU entries share.
static TargetSpec gpu() {
  TargetSpec t;
  t.triple = "nvptx64-nvidia-cuda";
  t.warpSize = 32;
  t.maxThreads = 1024;
  t.maxThreadsPerSM = 2048;
  t.maxCtasPerSM = 32;
  t.sharedReservedPerCta = 1024;
  t.registersPerSM = 65536;
  t.registersPerThread = 255;
  t.registerGranule = 8;
  t.exp2PerSMClock = 16;
  return t;
}

static TargetSpec cpu() {
  TargetSpec t;
  t.name = "cpu";
  t.features = set({Feature::SharedObject});
  t.triple = "x86_64-unknown-linux-gnu";
  t.cpuLevels = {{"x86-64-v3", 32, 16}, {"x86-64-v4", 64, 32}};
  return t;
}

// A100 80 GB.
static TargetSpec sm80() {
  TargetSpec t = gpu();
  t.name = "sm_80";
  t.features = set({Feature::MmaSync, Feature::Ldmatrix, Feature::CpAsync});
  t.chip = "sm_80";
  // 7.7: the address of a grid-constant parameter may be taken (cvta.param);
  // below it such a parameter is copied to local memory.
  t.chipFeatures = "+ptx77";
  t.ptxVersion = 77;
  t.sharedBytesPerCta = 166912;
  t.sharedBytesPerSM = 167936;
  // The swizzle is plain addressing here, no copy engine has to know it.
  t.maxSwizzleBytes = 128;
  t.sms = 108;
  t.clockHz = 1.41e9;
  t.peakFlops = 312e12;
  t.memoryBytesPerSecond = 2.039e12;
  t.l2Bytes = 40ull << 20;
  return t;
}

// H200.
static TargetSpec sm90a() {
  TargetSpec t = gpu();
  t.name = "sm_90a";
  t.features = set({Feature::MmaSync, Feature::Ldmatrix, Feature::CpAsync,
                    Feature::MBarrier, Feature::TMA, Feature::Stmatrix,
                    Feature::Wgmma, Feature::SetMaxNReg, Feature::Cluster,
                    Feature::Elect, Feature::Fp8Mma});
  t.chip = "sm_90a";
  // 8.6: TMA into the CTA's own shared memory (.shared::cta).
  t.chipFeatures = "+ptx86";
  t.ptxVersion = 86;
  t.sharedBytesPerCta = 232448;
  t.sharedBytesPerSM = 233472;
  t.maxSwizzleBytes = 128;
  t.sms = 132;
  t.clockHz = 1.83e9;
  t.peakFlops = 989e12;
  t.memoryBytesPerSecond = 4.8e12;
  t.l2Bytes = 50ull << 20;
  return t;
}

// B200.
static TargetSpec sm100a() {
  TargetSpec t = gpu();
  t.name = "sm_100a";
  t.features = set({Feature::MmaSync, Feature::Ldmatrix, Feature::CpAsync,
                    Feature::MBarrier, Feature::TMA, Feature::Stmatrix,
                    Feature::SetMaxNReg, Feature::Cluster, Feature::Elect,
                    Feature::Tcgen05, Feature::TensorMemory, Feature::PackedF32,
                    Feature::Fp8Mma});
  t.chip = "sm_100a";
  t.chipFeatures = "+ptx86";
  t.ptxVersion = 86;
  t.sharedBytesPerCta = 232448;
  t.sharedBytesPerSM = 233472;
  t.tensorMemoryColumns = 512;
  t.maxSwizzleBytes = 128;
  t.sms = 148;
  t.clockHz = 1.85e9;
  t.peakFlops = 2250e12;
  t.memoryBytesPerSecond = 8e12;
  t.l2Bytes = 126ull << 20;
  return t;
}

const std::vector<TargetSpec> &attn::knownTargets() {
  static const std::vector<TargetSpec> targets = {cpu(), sm80(), sm90a(),
                                                  sm100a()};
  return targets;
}
