"""Counts instructions of the blocks with MMAs, one line a block, in text order.

usage: count_ptx.py ENTRY < kernel.ptx
"""

import re
import sys

text = sys.stdin.read()
body = text[text.index(".entry " + sys.argv[1]):]
body = body[:body.index("\n}\n")]
kinds = ("mma.sync", "ex2.", "fma.rn", "sub.", "max.", "shfl.", "redux.")
for block in re.split(r"\n\$L__\w+:", body):
    counts = [len(re.findall(r"\n\s*(?:@!?%p\d+ )?" + re.escape(kind) + r"\S*", block))
              for kind in kinds]
    if counts[0]:
        print(*(f"{kind.rstrip('.')} {count}" for kind, count in zip(kinds, counts)))
print("votes", len(re.findall(r"red\.or|red\.popc|barrier\S*\.red", body)))
