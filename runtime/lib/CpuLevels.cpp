//===- CpuLevels.cpp - instruction-set levels of the processor ------------===//
//
// By cpuid, and by xgetbv for the registers that the system must save.
//
//===----------------------------------------------------------------------===//
#include "CpuLevels.h"

#include <cstdint>
#include <cstring>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace attnrt {

static const char *const levelNames[] = {"none", "x86-64", "x86-64-v2",
                                         "x86-64-v3", "x86-64-v4"};

int cpuLevelOf(const char *arch) {
  for (int level = 1; level <= 4; ++level)
    if (strcmp(arch, levelNames[level]) == 0)
      return level;
  return 0;
}

const char *cpuLevelName(int level) { return levelNames[level]; }

#if defined(__x86_64__)
int highestCpuLevel() {
  auto has = [](uint32_t word, std::initializer_list<int> bits) {
    for (int bit : bits)
      if (!(word >> bit & 1))
        return false;
    return true;
  };
  uint32_t a, b, c, d, b7 = 0, cExt = 0, saved = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d))
    return 1;
  uint32_t c1 = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
    b7 = b;
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d))
    cExt = c;
  if (has(c1, {27})) { // osxsave
    uint32_t high;
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  }
  // v2: sse3, ssse3, cmpxchg16b, sse4.1, sse4.2, popcnt.
  if (!has(c1, {0, 9, 13, 19, 20, 23}))
    return 1;
  // v3: fma, movbe, avx, f16c; bmi, avx2, bmi2; lzcnt; xmm and ymm saved.
  if (!has(c1, {12, 22, 28, 29}) || !has(b7, {3, 5, 8}) || !has(cExt, {5}) ||
      (saved & 0x6) != 0x6)
    return 2;
  // v4: avx512 f, dq, cd, bw, vl; mask and zmm registers saved.
  if (!has(b7, {16, 17, 28, 30, 31}) || (saved & 0xe6) != 0xe6)
    return 3;
  return 4;
}
#else
int highestCpuLevel() { return 0; }
#endif

} // namespace attnrt
