//===- AttnInterp.h - handlers of attn and pipe -----------------*- C++ -*-===//
//
// Private to the simulator: the state that the tile ops share in one CTA, and
// the handlers of the two dialects of levels L1 and L2.
//
// Invariant: global memory is reached only through the parameter struct.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_SIM_ATTNINTERP_H
#define ATTN_LIB_SIM_ATTNINTERP_H

#include "attn/ABI/KernelParams.h"
#include "attn/ABI/WorkItem.h"
#include "attn/Analysis/ParamLayout.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Oracle/Element.h"
#include "attn/Sim/Interp.h"
#include "attn/Sim/Tiles.h"

#include <map>
#include <optional>

namespace attn::sim {

/// A tensor argument: where its rows lie.
struct TensorHandle : Object {
  oracle::Element element = oracle::Element::F32;
  char *base = nullptr;
  attn_strides strides{};
  int32_t dim = 0;

  int64_t offset(int32_t request, int64_t token, int32_t head) const {
    return request * strides.batch + token * strides.token +
           head * strides.head;
  }
};

struct PlanHandle : Object {
  const attn_plan_header *header = nullptr;
  const char *bytes() const { return reinterpret_cast<const char *>(header); }
};

/// A hook of the kernel's variant, ready to run on scalars.
struct CompiledHook {
  ScalarProgram program;
  std::vector<Word> slots;
  Word run() {
    program.run(slots.data());
    return program.result(slots.data());
  }
};

struct AttnState : HandlerState {
  KernelOp kernel;
  attn_kernel_params params{};
  std::optional<ParamLayout> layout;
  std::map<HookKind, CompiledHook> hooks;
  /// What attn.length and attn.element read.
  int32_t qLen = 0, kvLen = 0;
  const float *vector = nullptr;
  int32_t vectorSize = 0;
};

/// The tile that `value` holds, or null after a failure: a slot's payload that
/// was given back must not be read.
Tile *tileOf(mlir::Operation *op, mlir::Value value, Interp &interp);

/// The kernel's hook, or null after a failure.
CompiledHook *getHook(mlir::Operation *op, HookKind kind, Interp &interp);

/// Value of attn.param `name`, or of a table element.
ExternFn resolveHookOp(mlir::Operation *op, Interp &interp);

oracle::Element elementOf(mlir::Type type);

mlir::LogicalResult runAttnOp(mlir::Operation *op, Interp &interp);
mlir::LogicalResult runPipeOp(mlir::Operation *op, Interp &interp);
mlir::LogicalResult runHookedOp(mlir::Operation *op, Interp &interp);
mlir::LogicalResult runMemoryOp(mlir::Operation *op, Interp &interp);

/// Writes a tile of Q, K or V into a channel's slot (PipeInterp.cpp).
mlir::LogicalResult writeSlot(mlir::Operation *op, mlir::Value slot,
                              Tile &&tile, Interp &interp);

/// One CTA of an attn.kernel at level L1 or L2.
mlir::LogicalResult runAttnKernel(mlir::Operation *kernel, Interp &interp);

} // namespace attn::sim

#endif // ATTN_LIB_SIM_ATTNINTERP_H
