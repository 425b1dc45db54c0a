"""Counts instructions of a kernel with wgmma, and of its blocks with two products.

usage: count_sm90.py ENTRY < kernel.ptx
"""

import re
import sys

text = sys.stdin.read()
body = text[text.index(".entry " + sys.argv[1] + "("):]
body = body.split(".visible")[0]  # blocks of assembly end with braces too


def count(kind, part):
    return len(re.findall(r"\n\s*(?:@!?%p\d+ )?" + re.escape(kind), part))


kinds = {"fence": "wgmma.fence", "wgmma": "wgmma.mma_async", "commit": "wgmma.commit_group",
         "wait_group": "wgmma.wait_group", "setmaxnreg": "setmaxnreg",
         "mbarrier.init": "mbarrier.init", "try_wait": "mbarrier.try_wait",
         "expect_tx": "mbarrier.arrive.expect_tx", "tensor": "cp.async.bulk.tensor"}
print("entry:", *(f"{name} {count(kind, body)}" for name, kind in kinds.items()))
kinds = {"products": "wgmma.mma_async", "ex2": "ex2.", "fma": "fma.rn", "add": "add.rn.ftz",
         "sub": "sub.", "max": "max.ftz", "shfl": "shfl.", "cvt": "cvt.rn.bf16x2", "mov": "mov.b32"}
for block in re.split(r"\n\$L__\w+:", body):
    if count("wgmma.fence", block) == 2:
        print(*(f"{name} {count(kind, block)}" for name, kind in kinds.items()))
