#!/usr/bin/env python3
"""Breaks kernels in every way that the simulator knows; each must be found.

usage: mutants.py --inputs=DIR --examples=DIR

Each kernel is small and runs on inputs that reach all of it: visits of each
segment, ragged and full blocks, items that are redone, rows whose reference is
unusable after the first block.  A mutant counts as the same as its kernel only
if every interleaving on every input is right (include/attn/Verify/Mutants.h),
if a reason below says why, and if these are at most one in twenty of all.

Prints the mutants that are the same, with the reason, and a line a kernel;
exits with 1 if a rule is broken.
"""

import fnmatch
import re
import subprocess
import sys

MUTANTS = 700
ONE_IN = 20

# Kernel and name without the place -> why it is no mistake.
SAME = [
    ("*: a slot ahead mbar_wait '*.empty'",
     "the copy waits for a later release of the same readers, as with a ring of one slot less"),
    ("*: a slot ahead mbar_wait 'verdict.full'",
     "the warps that judge the next word have judged this one"),
    ("*: flipped phase of pos", "a writer without an empty barrier: nobody waits there"),
    ("*: early mbar_arrive 'q.empty'",
     "the next copy of Q lies behind one of V that waits for the last product of Q"),
    ("*: drop cta_sync", "a visit's barrier lies behind all reads of what the next item copies over"),
    ("*: early cp_async_commit", "an empty group for K: the first wait is for Q, the next for all"),
    ("documents: * cp_async_commit", "Q is read with the first K, whose wait is for all"),
    ("documents: * cp_async_wait", "Q is read with the first K, whose wait is for all"),
    ("groups: * cp_async_commit", "Q is read with the first K, whose wait is for all"),
    ("groups: * cp_async_wait", "Q is read with the first K, whose wait is for all"),
    ("*: drop any", "both loops have the same copies and barriers, so warps may differ"),
    ("lowered for sm_90a*: depth less of channel *", "a ring of one slot less: later, not otherwise"),
    ("lowered for sm_90a*: swap visits of channel 'q'",
     "Q and the first block of K are copied in either order: the product waits for both"),
    ("lowered for sm_90a*: late mbar_wait '?.full'",
     "what it moved behind is the replica's turn; the product still lies behind both"),
    ("lowered for sm_90a*: drop st_words 'verdict'",
     "a replica writes its word before each arrival, whether it failed or not"),
    ("lowered for sm_90a*: early mbar_arrive 'work.empty'",
     "the words that overwrite wait for this item's verdict, which lies behind what is read"),
    ("lowered for sm_90a*: unsynced mbar_arrive 'work.empty'",
     "the words that overwrite wait for this item's verdict, which all warps vote on"),
    ("vector hooks, roles: depth less of channel *", "a ring of one slot less: later, not otherwise"),
    ("vector hooks, roles: swap visits of channel 'q'",
     "Q and the first block of K are copied in either order: the product waits for both"),
    ("vector hooks, roles: drop fence",
     "readers have a fence behind what they rewrite themselves, in front of each product"),
    ("vector hooks, roles: drop barrier_sync", "the replicas meet behind K, in front of the product"),
    ("vector hooks, roles: other barrier of barrier_sync", "nobody else is at either of the two"),
]

EXACT = ["q=150,5;kv=400,37", "q=5,0,70;kv=9,3,70"]
FROZEN = ["q=40,5;kv=400,37", "q=40;kv=700"]


def kernels(inputs, examples):
    """name, arguments, lengths, factors of the scores"""
    worked = [f"{inputs}/prefill-sm90.mlir", f"--lowered={inputs}/prefill-sm90.frag.mlir",
              "--target=sm_80", "--schedule=roles=all:8,tile_k=128", "--kv-heads=0", "--seeds=1"]
    yield ("worked SM90 prefill", worked,
           ["q=1,1,1;kv=9,9,9", "q=32,5;kv=159,0", "q=40;kv=400", "q=130;kv=256"], [0, 0, 4, 0])
    roles = [f"{inputs}/prefill-sm90.mlir", "--target=sm_90a", "--kv-heads=1", "--seeds=3"]
    yield ("lowered for sm_90a", roles,
           ["q=1,1,1;kv=9,9,9", "q=32,5;kv=159,0", "q=40;kv=400", "q=130;kv=256"], [0, 0, 4, 0])
    yield ("lowered for sm_90a, visits redone", [*roles, "--schedule=redo=visit"],
           ["q=1,1,1;kv=9,9,9", "q=32,5;kv=159,0", "q=40;kv=700", "q=130;kv=256"], [0, 0, 4, 0])
    # Q in registers, and as it is by default where it stays in shared memory.
    held = "--schedule=roles=all:8,tile_k=64,atoms.qk=mma.m16n8k16"
    default = ["--target=sm_80", "--kv-heads=1", "--seeds=3"]
    one = [*default, held]
    causal = [f"{inputs}/causal.mlir", *one]
    yield ("causal, exact", [f"{inputs}/causal.mlir", *default, held + ",softmax=exact"], EXACT,
           [0])
    yield ("causal, lazy", [f"{inputs}/causal.mlir", *default, held + ",softmax=lazy"], EXACT,
           [0, 4])
    yield ("causal, frozen", causal, ["q=150,5;kv=400,37", "q=64;kv=191", "q=150,5;kv=400,300"],
           [0, 0, 4])
    # Warps that share out the keys.
    few = "--schedule=tile_q=16,tile_k=64,roles=all:4"
    yield ("groups", [f"{inputs}/causal.mlir", *default, few],
           ["q=5,0,1;kv=150,3,70", "q=3;kv=400", "q=16,2;kv=600,191"], [0, 8, 4])
    yield "window", [f"{examples}/mistral_window.mlir", *one, "--seed=3"], FROZEN, [0, 4]
    yield "sink", [f"{examples}/gpt_oss_sink.mlir", *one], FROZEN, [0, 4]
    yield "sigmoid", [f"{examples}/sigmoid.mlir", *one], FROZEN, [0]
    yield ("documents", [f"{examples}/document_mask.mlir", *default],
           ["q=64;kv=2000", "q=64;kv=1500", "q=150,5;kv=700,300", "q=40,5;kv=40,5"],
           [0, 4, 4, 0])
    rows = [f"{inputs}/vector-hooks.mlir", "--kv-heads=1", "--seeds=1"]
    yield ("vector hooks", [*rows, "--target=sm_80",
                            "--schedule=roles=all:4,tile_q=64,tile_k=32,softmax=exact"],
           ["q=40,5;kv=130,37", "q=5,0,33;kv=9,3,33"], [0])
    shape = "roles=load:1:1:24+compute:4:2:240,tile_q=128,tile_k=64,channels.k=2,channels.v=2"
    yield ("vector hooks, roles", [*rows, "--target=sm_90a", f"--schedule={shape},softmax=exact"],
           ["q=1,1,1,1,1,1;kv=9,9,9,9,9,9", "q=1,2,3,4,5;kv=0,0,0,0,9", "q=70,5;kv=231,0",
            "q=130,1,3;kv=256,5,70"], [0])


def reason(kernel, edit):
    return next((why for pattern, why in SAME if fnmatch.fnmatchcase(f"{kernel}: {edit}", pattern)),
                None)


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:])
    mutants = same = wrong = 0
    for name, arguments, batches, scales in kernels(options["inputs"], options["examples"]):
        command = ["attn-sim", "--ctas=1", "--mutants", *arguments]
        command += [f"--batch={b}" for b in batches] + [f"--scale={s}" for s in scales]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        counts = re.match(r"(\d+) mutants: (\d+) caught, (\d+) equivalent, (\d+) not found",
                          lines[-1] if lines else "")
        if done.returncode or not counts:
            print(f"{name}: wrong\n{done.stdout}{done.stderr}")
            wrong += 1
            continue
        print(f"{name}: {lines[-1]}")
        for line in lines[:-1]:
            edit = re.search(r"(?:pipe|frag) +(.*?) \(.*:\d+:\d+\) +equivalent", line)
            why = reason(name, edit.group(1)) if edit else None
            print(f"  {edit.group(1)}: {why}" if why else f"  no reason is known: {line}")
            wrong += not why
        mutants += int(counts[1])
        same += int(counts[3])
    print(f"{mutants} mutants, {same} the same as their kernel")
    return 1 if wrong or mutants < MUTANTS or same * ONE_IN > mutants else 0


if __name__ == "__main__":
    sys.exit(main())
