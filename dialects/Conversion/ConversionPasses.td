//===- ConversionPasses.td - passes that cross dialects -------------------===//

#ifndef ATTN_CONVERSION_PASSES
#define ATTN_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// L1 -> L2
//===----------------------------------------------------------------------===//

def PipeAssignRoles : Pass<"pipe-assign-roles", "::attn::KernelOp"> {
  let summary = "work loops into roles: for_work becomes a loop over words";
  let description = [{
    **Requires:** expanded tiles and a `#pipe.schedule`.
    **Establishes:** every tile op is in the one role of one `pipe.roles`; items are
    taken by `next_work`; `for_kv` is `scf.for`; a merge takes its rows in turns.
  }];
  let dependentDialects = ["::attn::pipe::PipeDialect", "::mlir::scf::SCFDialect"];
}

def PipeInsertChannels : Pass<"pipe-insert-channels", "::attn::KernelOp"> {
  let summary = "tile loads to channels: acquire, issue, commit; wait, release";
  let description = [{
    **Requires:** roles.
    **Establishes:** no `load_query` or `load_kv`; every tile from memory goes through
    a channel of the schedule's depth and is released after its last use.
  }];
  let dependentDialects = ["::attn::pipe::PipeDialect"];
}

def PipeSplitRoles : Pass<"pipe-split-roles", "::attn::KernelOp"> {
  let summary = "one role into two, along its channels";
  let description = [{
    **Requires:** one role with channels; a schedule with two roles, else nothing to do.
    **Establishes:** the role of `load_kv` hands out items and fills the channels, the
    default role computes, a share of the rows in each replica; work goes as words, and
    verdicts come back where the kernel speculates.
  }];
  let dependentDialects = ["::attn::pipe::PipeDialect", "::mlir::scf::SCFDialect"];
}

def PipeIssueProducts : Pass<"pipe-issue-products", "::attn::KernelOp"> {
  let summary = "products of an agent: issue and join";
  let description = [{
    **Requires:** channels; agents of `qk` and `pv` in the schedule, else nothing to do.
    **Establishes:** a product of an agent is issued and joined, and releases name it.
  }];
  let dependentDialects = ["::attn::pipe::PipeDialect"];
}

def PipeSkewProducts : Pass<"pipe-skew-products", "::attn::KernelOp"> {
  let summary = "the second product one visit later";
  let description = [{
    **Requires:** two roles, issued products; `skew = {pv = 1}`, else nothing to do.
    **Establishes:** the first visit stands before the loops, each visit issues its QK
    and the PV of the visit before, and copies come in that order.
  }];
  let dependentDialects = ["::attn::pipe::PipeDialect", "::mlir::scf::SCFDialect"];
}

def PipeSkew : Pass<"pipe-skew", "::attn::KernelOp"> {
  let summary = "issue the copies of the next visit in this one";
  let description = [{
    **Requires:** channels; `skew = {load_kv = -1}` in the schedule, else nothing to do.
    **Establishes:** the first visit's copies stand before the loops, each visit issues
    the copies of the visit after it if there is one.
  }];
  let dependentDialects = ["::attn::pipe::PipeDialect", "::mlir::scf::SCFDialect"];
}

def PipeHandOver : Pass<"pipe-hand-over", "::attn::KernelOp"> {
  let summary = "replicas issue their products in turn";
  let description = [{
    **Requires:** issued products; `handover = "ring"`, else nothing to do.
    **Establishes:** each run of products is issued between take_turn and pass_turn.
  }];
  let dependentDialects = ["::attn::pipe::PipeDialect"];
}

def PipeRevisit : Pass<"pipe-revisit", "::attn::KernelOp"> {
  let summary = "a visit whose frozen weights overflow is done again, exactly";
  let description = [{
    **Requires:** roles, products one visit apart; `redo = visit` in the schedule, else
    nothing to do.
    **Establishes:** the frozen loop ends at the first visit whose sums reach the limit;
    that visit is done again with the row maximum, and all after it by the exact loop.
  }];
  let dependentDialects = ["::attn::pipe::PipeDialect", "::mlir::scf::SCFDialect"];
}

def PipeReceiveEarly : Pass<"pipe-receive-early", "::attn::KernelOp"> {
  let summary = "the next item's words are read beside an item's last product";
  let description = [{
    **Requires:** roles, issued products.
    **Establishes:** words that are received behind a branch that ends with a join are
    received in front of that join, and in the other branch.
  }];
  let dependentDialects = ["::attn::pipe::PipeDialect", "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// L2 -> L3
//===----------------------------------------------------------------------===//

def PipeToFrag : Pass<"pipe-to-frag", "::mlir::ModuleOp"> {
  let summary = "tiles to fragments, channels to rings, hooks to maps";
  let description = [{
    **Requires:** L2.
    **Establishes:** only frag, scf, arith, math; every layout comes from an atom of
    the schedule and the warps of a role.
  }];
  let dependentDialects = ["::attn::frag::FragDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// L3 -> L4
//===----------------------------------------------------------------------===//

def FragToNVVM : Pass<"frag-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "fragments to LLVM and NVVM";
  let description = [{
    **Requires:** L3 with allocated shared memory; warps of a role are a power of two
    from a multiple of it on.
    **Establishes:** only llvm and nvvm; math that the back end cannot select is gone;
    a kernel with roles has one CTA an SM at least, one with tensor maps a parameter
    struct aligned to 64 bytes.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// L1 -> CPU
//===----------------------------------------------------------------------===//

def AttnToCPU : Pass<"attn-to-cpu", "::mlir::ModuleOp"> {
  let summary = "tiles to vector loops over a scratch buffer, one function a kernel";
  let description = [{
    **Requires:** L1 with expanded softmax and segments.
    **Establishes:** only upstream dialects; `llvm.func @kernel(ptr record, ptr params,
    ptr scratch)` with the scratch bytes as attribute `attn.scratch_bytes`.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int", "256", "vector width">,
    Option<"forceExact", "force-exact", "bool", "false", "run speculations with exact = true">,
    Option<"failCheck", "fail-check", "bool", "false", "every speculation's check says no">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect",
                           "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::math::MathDialect"];
}

#endif // ATTN_CONVERSION_PASSES
