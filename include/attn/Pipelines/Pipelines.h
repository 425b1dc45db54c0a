//===- Pipelines.h - the road from level to level ---------------*- C++ -*-===//
//
//   L0 -- addProblemPasses + addTilePasses --> L1 -- addCPUPasses --> llvm
//                                              |
//                                       addRolePasses --> L2
//                                              |
//                                   addFragmentPasses --> L3 -- addNVVMPasses
//                                   --> L4
//
// Each step ends in the level's verifier, in release builds too.  The pipelines
// are registered by name (attn-to-tiles, attn-to-pipe, attn-to-frag,
// attn-to-nvvm, attn-to-cpu-llvm), so that a reproducer's pipeline replays in
// attn-opt.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_PIPELINES_PIPELINES_H
#define ATTN_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

#include <string>

namespace attn {

/// L0 with a target to L0 with block map and schedule.
void addProblemPasses(mlir::OpPassManager &pm, llvm::StringRef overrides = "");
/// To L1: tiles, verified.
void addTilePasses(mlir::OpPassManager &pm);
/// L1 to L2: roles and channels, verified after each step.
void addRolePasses(mlir::OpPassManager &pm);
/// L2 to L3: fragments, verified.
void addFragmentPasses(mlir::OpPassManager &pm);
/// L3 to L4: llvm and nvvm only.
void addNVVMPasses(mlir::OpPassManager &pm);
/// L1 to LLVM for the CPU.
void addCPUPasses(mlir::OpPassManager &pm, unsigned vectorBits);

void registerPipelines();

} // namespace attn

#endif // ATTN_PIPELINES_PIPELINES_H
