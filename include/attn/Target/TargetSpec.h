//===- TargetSpec.h - what a target has -------------------------*- C++ -*-===//
//
// Plain data, one entry a target.  Code asks for features and numbers, never
// for an architecture number:
//
//   std::string error;
//   const attn::TargetSpec *t = attn::findTarget("sm_80", error);
//   if (t && t->has(attn::Feature::CpAsync)) ...
//
// Invariant: names are unique; every number of a GPU entry is that of the
// largest data-centre part with that instruction set.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TARGET_TARGETSPEC_H
#define ATTN_TARGET_TARGETSPEC_H

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

enum class Feature : unsigned {
  // GPU
  MmaSync,      ///< mma.sync m16n8k16, f16 and bf16
  Ldmatrix,     ///< ldmatrix
  CpAsync,      ///< cp.async with commit groups and zero fill
  MBarrier,     ///< mbarrier in shared memory with transaction counts
  TMA,          ///< cp.async.bulk.tensor
  Stmatrix,     ///< stmatrix
  Wgmma,        ///< wgmma.mma_async
  SetMaxNReg,   ///< setmaxnreg
  Cluster,      ///< thread block clusters
  Elect,        ///< elect.sync
  Tcgen05,      ///< tcgen05.mma
  TensorMemory, ///< tensor memory and its loads and stores
  PackedF32,    ///< two f32 operations in one instruction
  Fp8Mma,       ///< e4m3 operands
  // CPU
  SharedObject, ///< code is a shared object, one a CPU level
  Count
};

std::string_view featureName(Feature feature);

/// One instruction-set level of the cpu target.
struct CpuLevel {
  std::string_view name; ///< "x86-64-v3": also the LLVM cpu name
  unsigned vectorBytes;
  unsigned vectorRegisters;
};

struct TargetSpec {
  std::string_view name;
  uint64_t features = 0;

  // Code generation.
  std::string_view triple;
  std::string_view chip;         ///< LLVM cpu name; empty: see cpuLevels
  std::string_view chipFeatures; ///< LLVM feature string
  unsigned ptxVersion = 0;       ///< 77 = PTX 7.7, the lowest that is enough
  std::vector<CpuLevel> cpuLevels;

  // Limits.
  unsigned warpSize = 1;
  unsigned maxThreads = 1; ///< of a CTA
  unsigned maxThreadsPerSM = 1;
  unsigned maxCtasPerSM = 1;
  unsigned sharedBytesPerCta = 0; ///< with opt-in
  unsigned sharedBytesPerSM = 0;
  unsigned sharedReservedPerCta = 0; ///< taken by the driver, per CTA
  unsigned registersPerSM = 0;       ///< 32-bit
  unsigned registersPerThread = 0;   ///< that code may use
  unsigned registerGranule = 1;      ///< a thread's allocation is a multiple
  unsigned tensorMemoryColumns = 0;
  unsigned maxSwizzleBytes = 0; ///< that copy engine and MMA know

  // Speeds, for models and reports.
  unsigned sms = 1;
  double clockHz = 0;   ///< boost
  double peakFlops = 0; ///< dense bf16 with f32 accumulation; CPU: 0, unknown
  double memoryBytesPerSecond = 0;
  uint64_t l2Bytes = 0;
  double exp2PerSMClock = 0; ///< special function unit results a clock

  bool has(Feature f) const {
    return (features >> static_cast<unsigned>(f)) & 1;
  }
  bool isGpu() const { return warpSize > 1; }
  /// CTAs of this shape that fit on an SM at once; 0 if one does not fit.
  unsigned occupancy(unsigned threads, unsigned sharedBytes,
                     unsigned registers) const;
};

/// All of them: cpu, sm_80, sm_90a, sm_100a.
const std::vector<TargetSpec> &knownTargets();

/// Null with "unknown target 'x' (known: cpu, sm_80, ...)" in `error`.
const TargetSpec *findTarget(std::string_view name, std::string &error);

/// "tile needs N bytes of shared memory but T has M" if it does not fit.
bool checkSharedMemory(const TargetSpec &target, uint64_t bytes,
                       std::string &error);
/// "kernel needs N threads a block but T has M".
bool checkThreads(const TargetSpec &target, uint64_t threads,
                  std::string &error);
/// "kernel needs N registers a thread but T has M".
bool checkRegisters(const TargetSpec &target, uint64_t registers,
                    std::string &error);

} // namespace attn

#endif // ATTN_TARGET_TARGETSPEC_H
