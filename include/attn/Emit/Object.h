//===- Object.h - LLVM dialect to a shared object ---------------*- C++ -*-===//
//
// The CPU half of a bundle: one position-independent shared object a level,
// with the kernels' entries as its only exported symbols.
//
//   module { llvm.func @prefill(...) }  --emitSharedObject(m, "x86-64-v3")-->
//   ELF bytes that export `prefill`
//
// Invariant: the object names no needed library; libm's functions are resolved
// when it is loaded into a process that has them.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_EMIT_OBJECT_H
#define ATTN_EMIT_OBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace attn::emit {

/// The levels that emitSharedObject knows, as LLVM spells the CPU.
llvm::ArrayRef<llvm::StringRef> cpuLevels();

/// Bits of the vectors that attn-to-cpu should use for a level: 256 or 512.
unsigned vectorBitsOf(llvm::StringRef level);

/// LLVM IR after optimisation for a level, e.g. for --emit=llvm.
std::unique_ptr<llvm::Module> translateForCPU(mlir::ModuleOp module,
                                              llvm::StringRef level,
                                              llvm::LLVMContext &context);

/// Bytes of a shared object; errors are reported at the module.
mlir::FailureOr<llvm::SmallVector<char>>
emitSharedObject(mlir::ModuleOp module, llvm::StringRef level);

} // namespace attn::emit

#endif // ATTN_EMIT_OBJECT_H
