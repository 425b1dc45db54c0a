//===- InitAll.h - every dialect and pass of the compiler ---------*- C++ -*-===//
//
// One line a library.  ATTN_HAS_<LIBRARY> is defined by a tool's CMakeLists.txt
// for each library it links, so that a tool lists what it links and no more.
//
//   DialectRegistry registry;
//   registerDialects(registry, levels::all);
//   registerPasses();
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_INITALL_H
#define ATTN_INITALL_H

#include "attn/Dialect/Attn/IR/Attn.h"
#ifdef ATTN_HAS_AttnTransforms
#include "attn/Dialect/Attn/Transforms/Passes.h"
#endif
#ifdef ATTN_HAS_AttnPipeDialect
#include "attn/Dialect/Pipe/IR/Pipe.h"
#endif
#ifdef ATTN_HAS_AttnPipeTransforms
#include "attn/Dialect/Pipe/Transforms/Passes.h"
#endif
#ifdef ATTN_HAS_AttnFragDialect
#include "attn/Dialect/Frag/IR/Frag.h"
#endif
#ifdef ATTN_HAS_AttnFragTransforms
#include "attn/Dialect/Frag/Transforms/Passes.h"
#endif
#include "attn/Conversion/Passes.h"

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
  L0 = 1, // attn problem ops
  L1 = 2, // attn tile ops
  L2 = 4, // pipe
  L3 = 8, // frag
  L4 = 16, // llvm, nvvm
  all = 31
};
} // namespace levels

/// Registers what is legal at one of the given levels.
inline void registerDialects(mlir::DialectRegistry &registry, unsigned level) {
  using namespace mlir;
  constexpr unsigned belowL4 = levels::L0 | levels::L1 | levels::L2 | levels::L3;
  if (level & belowL4)
    registry.insert<arith::ArithDialect, math::MathDialect>();
  if (level & (levels::L0 | levels::L1 | levels::L2))
    registry.insert<AttnDialect>();
  if (level & levels::L0)
    registry.insert<func::FuncDialect>();
  if (level & (levels::L1 | levels::L2 | levels::L3))
    registry.insert<scf::SCFDialect>();
#ifdef ATTN_HAS_AttnPipeDialect
  // L1 kernels carry the schedule, whose pipe part is an attribute of pipe.
  if (level & (levels::L1 | levels::L2))
    registry.insert<pipe::PipeDialect>();
#endif
#ifdef ATTN_HAS_AttnFragDialect
  if (level & levels::L3)
    registry.insert<frag::FragDialect>();
#endif
  if (level & levels::L4)
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  if (level == levels::all)
    registry.insert<cf::ControlFlowDialect, ub::UBDialect,
                    vector::VectorDialect>();
}

/// Registers every pass that is linked.
inline void registerPasses() {
#ifdef ATTN_HAS_AttnTransforms
  registerAttnPasses();
#endif
#ifdef ATTN_HAS_AttnPipeTransforms
  pipe::registerPipePasses();
#endif
#ifdef ATTN_HAS_AttnFragTransforms
  frag::registerFragPasses();
#endif
#ifdef ATTN_HAS_AttnAttnToPipe
  registerPipeAssignRoles();
  registerPipeInsertChannels();
  registerPipeSkew();
#endif
#ifdef ATTN_HAS_AttnPipeToFrag
  registerPipeToFrag();
#endif
#ifdef ATTN_HAS_AttnFragToNVVM
  registerFragToNVVM();
#endif
#ifdef ATTN_HAS_AttnAttnToCPU
  registerAttnToCPU();
#endif
}

} // namespace attn

#endif // ATTN_INITALL_H
