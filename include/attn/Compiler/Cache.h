//===- Cache.h - compiled bundles by content --------------------*- C++ -*-===//
//
// A folder of bundle files named by what they were compiled from:
//
//   key   = XXH3-128(source text, options, this build of the compiler, ptxas)
//   hit   <folder>/<key>.attn is there and intact: its bytes
//   miss  compile, publish by rename, give the bytes
//
// Invariant: a reader sees a whole file or none, whoever else writes, is killed or
// runs out of disk; a file that is not intact is compiled anew and replaced.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_CACHE_H
#define ATTN_COMPILER_CACHE_H

#include "attn/Compiler/Compiler.h"

namespace attn {

/// The bundle file of a module.  `folder` is made if it is missing; empty: no
/// cache.  A cache that cannot be written is a warning, not an error.
mlir::FailureOr<std::vector<char>> compileToFile(mlir::ModuleOp source,
                                                 const CompileOptions &options,
                                                 llvm::StringRef folder,
                                                 StageTimes &times);

} // namespace attn

#endif // ATTN_COMPILER_CACHE_H
