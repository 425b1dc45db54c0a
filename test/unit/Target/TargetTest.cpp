//===- TargetTest.cpp -----------------------------------------------------===//

#include "attn/Target/SmTiming.h"
#include "attn/Target/TargetSpec.h"

#include <gtest/gtest.h>

#include <set>

using namespace attn;

static const TargetSpec &get(std::string_view name) {
  std::string error;
  const TargetSpec *target = findTarget(name, error);
  EXPECT_NE(target, nullptr) << error;
  return target ? *target : knownTargets().front();
}

TEST(Target, FindKnowsItsNames) {
  std::set<std::string_view> names;
  for (const TargetSpec &target : knownTargets()) {
    EXPECT_TRUE(names.insert(target.name).second);
    std::string error;
    EXPECT_EQ(findTarget(target.name, error), &target);
    EXPECT_EQ(error, "");
  }
  std::string error;
  EXPECT_EQ(findTarget("sm_70", error), nullptr);
  EXPECT_EQ(error,
            "unknown target 'sm_70' (known: cpu, sm_80, sm_90a, sm_100a)");
  EXPECT_EQ(findTarget("", error), nullptr);
  EXPECT_EQ(error, "unknown target '' (known: cpu, sm_80, sm_90a, sm_100a)");
}

TEST(Target, TimingAgreesWithThePeaks) {
  EXPECT_EQ(findTiming("cpu"), nullptr);
  EXPECT_EQ(findTiming("sm_100a"), nullptr);
  for (std::string_view name : {"sm_80", "sm_90a"}) {
    const TargetSpec &target = get(name);
    const SmTiming *timing = findTiming(name);
    ASSERT_NE(timing, nullptr);
    double peak = timing->tensorFlops * target.sms * target.clockHz;
    EXPECT_NEAR(peak / target.peakFlops, 1, 0.01) << name;
    double exp2 = timing->quadrants * 32 / timing->mufu;
    EXPECT_EQ(exp2, target.exp2PerSMClock) << name;
  }
}

TEST(Target, Features) {
  EXPECT_TRUE(get("sm_80").has(Feature::CpAsync));
  EXPECT_TRUE(get("sm_80").has(Feature::MmaSync));
  EXPECT_TRUE(get("sm_80").has(Feature::Ldmatrix));
  EXPECT_FALSE(get("sm_80").has(Feature::TMA));
  EXPECT_FALSE(get("sm_80").has(Feature::Stmatrix));
  EXPECT_TRUE(get("sm_90a").has(Feature::TMA));
  EXPECT_TRUE(get("sm_90a").has(Feature::Wgmma));
  EXPECT_FALSE(get("sm_90a").has(Feature::Tcgen05));
  // Wgmma did not survive into the next generation.
  EXPECT_FALSE(get("sm_100a").has(Feature::Wgmma));
  EXPECT_TRUE(get("sm_100a").has(Feature::Tcgen05));
  EXPECT_TRUE(get("sm_100a").has(Feature::TensorMemory));
  EXPECT_TRUE(get("cpu").has(Feature::SharedObject));
  EXPECT_FALSE(get("cpu").has(Feature::MmaSync));
}

TEST(Target, FeatureNamesAreDistinct) {
  std::set<std::string_view> names;
  for (unsigned i = 0; i < static_cast<unsigned>(Feature::Count); ++i) {
    std::string_view name = featureName(static_cast<Feature>(i));
    EXPECT_NE(name, "unknown");
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(featureName(Feature::Count), "unknown");
  EXPECT_EQ(featureName(Feature::CpAsync), "cp_async");
}

TEST(Target, TableIsConsistent) {
  EXPECT_EQ(get("sm_80").sharedBytesPerCta, 166912u);
  EXPECT_EQ(get("sm_90a").sharedBytesPerCta, 232448u);
  EXPECT_EQ(get("sm_100a").sharedBytesPerCta, 232448u);
  for (const TargetSpec &t : knownTargets()) {
    if (!t.isGpu())
      continue;
    EXPECT_EQ(t.chip, t.name);
    EXPECT_EQ(t.chipFeatures, "+ptx" + std::to_string(t.ptxVersion));
    // One CTA may take all but what the driver keeps.
    EXPECT_EQ(t.sharedBytesPerCta + t.sharedReservedPerCta, t.sharedBytesPerSM);
    EXPECT_EQ(t.registersPerSM, 65536u);
    // Peak rate = FLOPs a clock and SM (a power of two) x clock x SMs.
    double perClock = t.peakFlops / (t.clockHz * t.sms);
    double nearest = perClock < 3000 ? 2048 : perClock < 6000 ? 4096 : 8192;
    EXPECT_NEAR(perClock / nearest, 1.0, 0.01) << t.name;
    EXPECT_GT(t.memoryBytesPerSecond, 1e12);
  }
  const TargetSpec &cpu = get("cpu");
  ASSERT_EQ(cpu.cpuLevels.size(), 2u);
  EXPECT_EQ(cpu.cpuLevels[0].name, "x86-64-v3");
  EXPECT_EQ(cpu.cpuLevels[0].vectorBytes, 32u);
  EXPECT_EQ(cpu.cpuLevels[1].name, "x86-64-v4");
  EXPECT_EQ(cpu.cpuLevels[1].vectorBytes, 64u);
}

TEST(Target, Occupancy) {
  const TargetSpec &t = get("sm_80");
  // 65536 / (256 * 168) = 1, / (128 * 168) = 3.
  EXPECT_EQ(t.occupancy(256, 0, 168), 1u);
  EXPECT_EQ(t.occupancy(128, 0, 168), 3u);
  // Registers are handed out in eights: 161 counts as 168.
  EXPECT_EQ(t.occupancy(128, 0, 161), 3u);
  EXPECT_EQ(t.occupancy(128, 0, 160), 3u);
  EXPECT_EQ(t.occupancy(128, 0, 128), 4u);
  // 167936 / (82944 + 1024) = 2.
  EXPECT_EQ(t.occupancy(128, 82944, 32), 2u);
  EXPECT_EQ(t.occupancy(128, 82945, 32), 1u);
  EXPECT_EQ(t.occupancy(128, 166912, 32), 1u);
  EXPECT_EQ(t.occupancy(128, 166913, 32), 0u);
  EXPECT_EQ(t.occupancy(32, 0, 16), 32u);
  EXPECT_EQ(t.occupancy(1024, 0, 32), 2u);
  EXPECT_EQ(t.occupancy(1056, 0, 32), 0u);
  EXPECT_EQ(t.occupancy(0, 0, 32), 0u);
  EXPECT_EQ(t.occupancy(128, 0, 256), 0u);
  EXPECT_EQ(get("cpu").occupancy(256, 1 << 20, 1000), 1u);
}

TEST(Target, LimitsAreErrorsWithBothNumbers) {
  std::string error;
  const TargetSpec &t = get("sm_80");
  EXPECT_TRUE(checkSharedMemory(t, 166912, error));
  EXPECT_EQ(error, "");
  EXPECT_FALSE(checkSharedMemory(t, 245760, error));
  EXPECT_EQ(error, "tile needs 245760 bytes of shared memory but sm_80 has "
                   "166912");
  EXPECT_TRUE(checkThreads(t, 1024, error));
  EXPECT_FALSE(checkThreads(t, 2048, error));
  EXPECT_EQ(error, "kernel needs 2048 threads a block but sm_80 has 1024");
  EXPECT_TRUE(checkRegisters(t, 255, error));
  EXPECT_FALSE(checkRegisters(t, 300, error));
  EXPECT_EQ(error, "kernel needs 300 registers a thread but sm_80 has 255");
}
