//===- CPULowering.h - the CPU's way down to the LLVM dialect ---*- C++ -*-===//
//
// attn-to-cpu leaves vector, scf, arith and math inside llvm.func; this
// pipeline brings the module to the LLVM dialect alone, the input of
// emitSharedObject.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_CONVERSION_CPULOWERING_H
#define ATTN_CONVERSION_CPULOWERING_H

namespace mlir {
class OpPassManager;
}

namespace attn {

/// Appends the passes after attn-to-cpu to a pipeline over modules.
void buildCPULoweringPipeline(mlir::OpPassManager &pm);

} // namespace attn

#endif // ATTN_CONVERSION_CPULOWERING_H
