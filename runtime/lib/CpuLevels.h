//===- CpuLevels.h - instruction-set levels of the processor ----*- C++ -*-===//
//
// "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4": level n runs the code of all
// levels below.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNRT_LIB_CPULEVELS_H
#define ATTNRT_LIB_CPULEVELS_H

namespace attnrt {

/// 1 .. 4 for a known name, else 0.
int cpuLevelOf(const char *arch);
const char *cpuLevelName(int level);
/// The highest level that the processor and the system run; 0: none known.
int highestCpuLevel();

} // namespace attnrt

#endif // ATTNRT_LIB_CPULEVELS_H
