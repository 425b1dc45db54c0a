//===- AttnPasses.td - passes of levels L0 and L1 -------------------------===//

#ifndef ATTN_PASSES
#define ATTN_PASSES

include "mlir/Pass/PassBase.td"

def AttnResolveVariant : Pass<"attn-resolve-variant", "::mlir::ModuleOp"> {
  let summary = "clone the variant into each kernel that names it";
  let description = [{
    **Requires:** L0.
    **Establishes:** every kernel owns its variant; its text is self-contained, and
    the passes below run kernel by kernel.
  }];
}

def AttnVerifyProblem : Pass<"attn-verify-problem", "::attn::KernelOp"> {
  let summary = "refuse what a target cannot do, with the numbers";
  let description = [{
    **Requires:** resolved variants, the kernel's `target`.
    **Establishes:** shapes, element types, storage and hooks are legal for the
    target; everything not built is refused by name.
  }];
}

def AttnDeriveBlockMap : Pass<"attn-derive-block-map", "::attn::KernelOp"> {
  let summary = "derive the block map from the mask hook";
  let description = [{
    **Requires:** resolved variants.
    **Establishes:** the kernel carries a `block_map`: `closed` with bounds, or
    `opaque` and a remark that says what could not be analysed.
  }];
  let dependentDialects = ["::attn::AttnDialect"];
}

def AttnSelectSchedule : Pass<"attn-select-schedule", "::attn::KernelOp"> {
  let summary = "choose every scheduling decision once";
  let description = [{
    **Requires:** `target` and `block_map`.
    **Establishes:** a complete `schedule`; no later pass makes a choice.
  }];
  let options = [Option<"overrides", "override", "std::string", "\"\"",
                        "comma-separated field=value pairs">];
  let dependentDialects = ["::attn::pipe::PipeDialect"];
}

def AttnCheckResources : Pass<"attn-check-resources", "::attn::KernelOp"> {
  let summary = "shared memory, registers and threads of the schedule fit the target";
  let description = [{
    **Requires:** a complete `schedule`.
    **Establishes:** the sums are within the target's limits; else an error with both
    numbers.
  }];
}

def AttnTile : Pass<"attn-tile", "::mlir::ModuleOp"> {
  let summary = "attention to tiles: one for_kv over all visible blocks";
  let description = [{
    Appends output, lse and plan to the kernel's arguments and adds the merge
    kernel.
    **Requires:** `block_map`, `schedule`.
    **Establishes:** only tile ops; work by `for_work`, `segments`, `for_kv`.
  }];
}

def AttnPeelClasses : Pass<"attn-peel-classes", "::attn::KernelOp"> {
  let summary = "one for_kv a block class";
  let description = [{
    **Requires:** tiles.
    **Establishes:** full loops have no `apply_mask`, partial loops exactly one.
  }];
}

def AttnSplitKV : Pass<"attn-split-kv", "::attn::KernelOp"> {
  let summary = "an item with a slot stores a partial instead of the result";
  let description = [{
    **Requires:** tiles.
    **Establishes:** every item owns a slice of keys; partials exclude the sink and
    the output hook, which move to the merge kernel for split items.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def AttnExpandSoftmax : Pass<"attn-expand-softmax", "::attn::KernelOp"> {
  let summary = "the state's steps to row_max, exp, row_sum, pv";
  let description = [{
    **Requires:** peeled classes.
    **Establishes:** no value of state type; scale * log2 e is computed once; with
    `softmax = frozen` the speculation is explicit, with `softmax = lazy` the
    threshold by which a row keeps its reference.
  }];
}

def AttnExpandSegments : Pass<"attn-expand-segments", "::attn::KernelOp"> {
  let summary = "segments to integer arithmetic on the row map's inputs";
  let description = [{
    **Requires:** tiles.
    **Establishes:** no `attn.segments`; block bounds are arith.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnVerifyTiles : Pass<"attn-verify-tiles", "::attn::KernelOp"> {
  let summary = "level verifier of L1";
  let description = [{
    Full loops without mask, partial loops with one; states used linearly; one
    store on each path of an item; only the dialects of L1.
  }];
}

#endif // ATTN_PASSES
