//===- FragPasses.td - passes of level L3 ---------------------------------===//

#ifndef FRAG_PASSES
#define FRAG_PASSES

include "mlir/Pass/PassBase.td"

def FragAllocateSmem : Pass<"frag-allocate-smem", "::attn::frag::KernelOp"> {
  let summary = "offsets of the rings and the kernel's shared memory";
  let description = [{
    **Requires:** rings without offset.
    **Establishes:** aligned offsets (1024 bytes, a swizzle's period) without overlap;
    `smem` of the kernel is their sum.
  }];
}

def FragVerify : Pass<"frag-verify", "::attn::frag::KernelOp"> {
  let summary = "level verifier of L3";
  let description = [{
    Layouts of operands are those of the atom; every copy is committed and waited
    for, with a CTA barrier between the wait and the first read of its slot; no ring
    without an offset; offsets do not overlap; only the dialects of L3.
  }];
}

#endif // FRAG_PASSES
