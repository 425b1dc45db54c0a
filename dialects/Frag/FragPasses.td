//===- FragPasses.td - passes of level L3 ---------------------------------===//

#ifndef FRAG_PASSES
#define FRAG_PASSES

include "mlir/Pass/PassBase.td"

def FragAllocateSmem : Pass<"frag-allocate-smem", "::attn::frag::KernelOp"> {
  let summary = "offsets of rings, words and barriers, and the kernel's shared memory";
  let description = [{
    **Requires:** rings, words and barriers without offset.
    **Establishes:** aligned offsets (rings 1024 bytes, a swizzle's period; words and
    barriers 16) without overlap; `smem` of the kernel is their sum.
  }];
}

def FragJoinMaps : Pass<"frag-join-maps", "::attn::frag::KernelOp"> {
  let summary = "a map joins the map that alone reads its result";
  let description = [{
    What a hook computes and what the softmax makes of it become one region, if no
    effect stands between the two maps.
  }];
}

def FragFoldAffine : Pass<"frag-fold-affine", "::attn::frag::KernelOp"> {
  let summary = "scale * element + base + slope * column in two FMAs";
  let description = [{
    Coefficients that all columns of a row share are worked out once a row.  Rounds
    them, and terms of the sum, at other places than the text did: a relative error
    of 2^-24 each.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FragVerify : Pass<"frag-verify", "::attn::frag::KernelOp"> {
  let summary = "level verifier of L3";
  let description = [{
    Layouts of operands are those of the atom; every copy is committed and waited
    for, with a CTA barrier between the wait and the first read of its slot; nothing
    in shared memory without an offset; offsets do not overlap; barriers
    are initialised once, before their use; the bytes that a barrier expects are
    those of the copies beside it; every product of a warpgroup is waited for in its
    block by a count that covers it; no CTA barrier in a role; only the dialects of
    L3.  Phases, arrivals and races are the simulator's.
  }];
}

#endif // FRAG_PASSES
