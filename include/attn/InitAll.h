//===- InitAll.h - every dialect and pass of the compiler -------*- C++ -*-===//
//
// The only file of the compiler that knows everything; one line a library.
//
//   DialectRegistry registry;
//   registerDialects(registry, levels::all);
//   registerPasses();
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_INITALL_H
#define ATTN_INITALL_H

#include "attn/Conversion/Passes.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Dialect/Frag/Transforms/Passes.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Dialect/Pipe/Transforms/Passes.h"
#include "attn/Emit/PTX.h"
#include "attn/Pipelines/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace attn {

/// A level of the compiler, as a set of bits.
namespace levels {
enum Level : unsigned {
  L0 = 1,  // attn problem ops
  L1 = 2,  // attn tile ops
  L2 = 4,  // pipe
  L3 = 8,  // frag
  L4 = 16, // llvm, nvvm
  all = 31
};
} // namespace levels

/// Registers what is legal at one of the given levels.
inline void registerDialects(mlir::DialectRegistry &registry, unsigned level) {
  using namespace mlir;
  constexpr unsigned belowL4 =
      levels::L0 | levels::L1 | levels::L2 | levels::L3;
  if (level & belowL4)
    registry.insert<arith::ArithDialect, math::MathDialect>();
  if (level & (levels::L0 | levels::L1 | levels::L2))
    registry.insert<AttnDialect>();
  if (level & levels::L0)
    registry.insert<func::FuncDialect>();
  if (level & (levels::L1 | levels::L2 | levels::L3))
    registry.insert<scf::SCFDialect>();
  // L1 kernels carry the schedule, whose pipe part is an attribute of pipe.
  if (level & (levels::L1 | levels::L2))
    registry.insert<pipe::PipeDialect>();
  if (level & levels::L3)
    registry.insert<frag::FragDialect>();
  if (level & levels::L4)
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  if (level == levels::all)
    registry
        .insert<cf::ControlFlowDialect, ub::UBDialect, vector::VectorDialect>();
}

/// Registers every pass and pipeline.
inline void registerPasses() {
  registerAttnPasses();
  pipe::registerPipePasses();
  frag::registerFragPasses();
  registerPipeAssignRoles();
  registerPipeInsertChannels();
  registerPipeSplitRoles();
  registerPipeIssueProducts();
  registerPipeSkewProducts();
  registerPipeHandOver();
  registerPipeRevisit();
  registerPipeSkew();
  registerPipeReceiveEarly();
  registerPipeToFrag();
  registerFragToNVVM();
  registerAttnToCPU();
  registerPipelines();
}

} // namespace attn

#endif // ATTN_INITALL_H
