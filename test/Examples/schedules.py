#!/usr/bin/env python3
"""Runs examples under each schedule of a target and under many of the simulator's.

usage: schedules.py [--target=NAME] [--with=FIELDS] [--seeds=N] [--forced] EXAMPLE...

For each example: every choice of the schedule below, with the fields given, x whole and split keys x
random, adversarial and round-robin order in turn, at every level, on small
ragged batches (requests without queries or keys, tails of tiles, 0, 1, 2 and
many visits).  Large scores make a frozen reference fail, so that items are
redone.  --forced adds runs in which every speculation is decided: exact at
once, or redone.  A choice that a kernel cannot take must be refused with its
text.

Prints a line a run and exits with 1 if one is not right.
"""

import argparse
import subprocess
import sys
from pathlib import Path

KINDS = ["random", "adversarial", "rr"]
ROLES = ["softmax=frozen,redo=visit"]  # with roles only
CHOICES = ["softmax=frozen", "softmax=lazy", "softmax=exact"]
# (example, what is tried) -> what the compiler says
REFUSED = {("sigmoid", f"softmax={kind}{redo}"):
           f"softmax = {kind} needs normaliser softmax but the variant has none"
           for kind in ("frozen", "lazy") for redo in ("", ",redo=visit")}
# name, arguments, (lengths, factor of the scores)
WHOLE = ("whole", [], [("q=5,0,1,40,3;kv=9,3,130,70,0", 0), ("q=40;kv=300", 4)])
SPLIT = ("split", ["--split=64"], [("q=5,0,40;kv=130,3,300", 0), ("q=40;kv=300", 4)])
FORCED = [("exact at once", ["--force-exact"], WHOLE[2][:1]),
          ("redone", ["--fail-check"], WHOLE[2][:1])]


def run(example, target, choice, arguments, batches, seeds):
    """Whether all levels were right, and the output."""
    command = ["attn-sim", str(example), f"--target={target}", f"--schedule={choice}",
               "--kv-heads=1", "--ctas=2", f"--seeds={seeds}", *arguments]
    command += [f"--schedule={kind}" for kind in KINDS]
    for batch, scale in batches:
        command += [f"--batch={batch}", f"--scale={scale}"]
    done = subprocess.run(command, capture_output=True, text=True)
    ok = [line.split()[1] for line in done.stdout.splitlines() if " ok " in line]
    concurrent = done.stdout.count(f"{seeds} schedules")
    right = (done.returncode == 0 and concurrent == 2 * len(batches) and
             all(ok.count(level) == len(batches) for level in ("tiles", "pipe", "frag")))
    return right, done.stdout + done.stderr


def ways(target, seeds, forced):
    """choice, name, arguments, batches, schedules of the simulator"""
    for choice in CHOICES + ROLES * (target == "sm_90a"):
        for way in (WHOLE, SPLIT):
            yield (choice, *way, seeds)
    if forced:
        for way in FORCED:
            yield (CHOICES[0], *way, len(KINDS))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--with", dest="fields", default="")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--forced", action="store_true")
    parser.add_argument("examples", nargs="+", type=Path)
    options = parser.parse_args()
    runs = wrong = 0
    for example in options.examples:
        for choice, name, arguments, batches, seeds in ways(options.target, options.seeds, options.forced):
            refusal = REFUSED.get((example.stem, choice))
            fields = ",".join(filter(None, [options.fields, choice]))
            right, output = run(example, options.target, fields, arguments, batches, seeds)
            if refusal:
                right = refusal in output
            runs += 1
            wrong += not right
            print(f"{example.stem} {options.target} {choice} {name}: "
                  f"{'wrong' if not right else 'refused' if refusal else 'ok'}", flush=True)
            if not right:
                print(output)
    print(f"{runs} runs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
