"""Damages a bundle at random and runs attn-plan on it: each time an error, no crash.

usage: damage.py BUNDLE SCRATCH COUNT
"""

import random
import subprocess
import sys

bundle, scratch, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
whole = open(bundle, "rb").read()
command = ["attn-plan", scratch, "--summary", "--batch=q=1;kv=1"]
random.seed(7)


def damaged(i):
    if i % 4 == 0:
        return whole[:random.randrange(len(whole))]
    data = bytearray(whole)
    # Half of the flips hit the header and the tables, which is where a reader
    # could be led astray; the rest hit anywhere.
    limit = 4096 if i % 2 else len(data)
    for _ in range(random.choice([1, 1, 1, 8])):
        data[random.randrange(min(limit, len(data)))] ^= 1 << random.randrange(8)
    return bytes(data) if bytes(data) != whole else whole[:-1]


open(scratch, "wb").write(whole)
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
for i in range(count):
    open(scratch, "wb").write(damaged(i))
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 1 or "attn-plan: error: " not in run.stderr or run.stdout:
        print(f"case {i}: exit status {run.returncode}, {run.stderr!r}, {run.stdout!r}")
        sys.exit(1)
